/* stream_test: the client's stream against a real embedded worker, against real workers behind a
 * dispatcher in a thread (ipc and tcp), and against a simulated worker that answers late, out of
 * order, or never.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/cluster_words.h"
#include "lang/stream/stream.h"
#include "runtime/base/clock.h"
#include "tests/unit/check.h"
#include "worker/worker.h"
#include "tests/unit/patience.h"
#include <arpa/inet.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { HAS_QUARANTINE = 1 }; /* freed memory is kept, so resident memory says nothing */
#else
enum { HAS_QUARANTINE = 0 };
#endif

static char directory[] = "/tmp/gt-stream-test-XXXXXX";
static const Source source = {
    .name = "a.gt", .text = "one\ntwo two\nthree\n", .n = 18, .first_line = 1, .id = 3};

/* ---- Short forms of the interpreter's calls ---- */

static LangError error;
static Span at(uint32_t line) { return (Span){&source, line, 5, 3}; }

static Handle *full(Stream *s, int64_t n, double v, uint32_t line) {
    Attr attr[] = {{.key = ATTR_SHAPE, .n = 1, .ints = &n}, {.key = ATTR_DTYPE, .dtype = DT_F32}};
    Operand value = {.kind = IN_IMM_FLOAT, .f = v};
    Handle *out[MAX_OUT] = {NULL};
    int n_out;
    error = (LangError){0};
    stream_op(s, OP_FULL, &value, NULL, 1, attr, 2, at(line), out, &n_out, &error);
    return out[0];
}

static Handle *binary(Stream *s, Op op, const Handle *a, const Handle *b, uint32_t line) {
    Operand in[] = {operand_of(a), operand_of(b)};
    const Handle *handle[] = {a, b};
    Attr axis = {.key = ATTR_AXIS, .n = 1, .ints = (const int64_t[]){0}};
    Handle *out[MAX_OUT] = {NULL};
    int n_out;
    error = (LangError){0};
    stream_op(s, op, in, handle, 2, &axis, op == OP_INDEX, at(line), out, &n_out, &error);
    return out[0];
}

static Handle *ints(Stream *s, int64_t a, int64_t b, uint32_t line) {
    int64_t v[] = {a, b};
    TensorType t = {.dtype = DT_I64, .rank = 1, .shape = {2}};
    error = (LangError){0};
    return stream_data(s, &t, v, NULL, at(line), &error);
}

/* First element of a float32 tensor, or -1 with `error` set. */
static double value(Stream *s, const Handle *h) {
    void *data;
    error = (LangError){0};
    if (!stream_value(s, h, at(9), &data, &error)) return -1;
    float v;
    memcpy(&v, data, sizeof v);
    free(data);
    return v;
}

/* An effect that appends its name and the first value of each operand to a text. */
static char story[4096];
typedef struct Teller {
    char name[16];
    bool fails;
} Teller;
static int n_dropped;

static bool tell(void *ctx, const Reply *r, Err *err) {
    Teller *t = ctx;
    size_t n = strlen(story);
    n += (size_t)snprintf(story + n, sizeof story - n, "%s", t->name);
    for (uint32_t i = 0; i < r->n; i++) {
        float v;
        memcpy(&v, r->value[i].data, sizeof v);
        n += (size_t)snprintf(story + n, sizeof story - n, " %g", v);
    }
    snprintf(story + n, sizeof story - n, "; ");
    return !t->fails || err_set(err, ERR_IO, "the disk is full");
}

static void drop(void *ctx) {
    n_dropped++;
    free(ctx);
}

static bool effect(Stream *s, const char *name, Handle *h, uint32_t line) {
    Teller *t = calloc(1, sizeof *t);
    snprintf(t->name, sizeof t->name, "%s", name);
    t->fails = !strcmp(name, "full");
    Attr format = {.key = ATTR_FORMAT, .n = 2, .str = "{}"};
    Effect ef = {.op = OP_PRINT,
                 .attr = &format,
                 .n_attr = 1,
                 .handle = &h,
                 .n = h ? 1 : 0,
                 .done = tell,
                 .drop = drop,
                 .ctx = t};
    error = (LangError){0};
    return stream_effect(s, &ef, at(line), &error);
}

static Stream *open_stream(const char *endpoint) {
    StreamConfig c = {.mode = STREAM_LIVE,
                      .workers = 1,
                      .threads = 1,
                      .engine = "reference",
                      .memory_bytes = 64 << 20,
                      .endpoint = endpoint};
    return stream_new(&c);
}

/* Returns the number after name= in stats. */
static long stat_of(Stream *s, const char *name) {
    Bytes text = {0};
    error = (LangError){0};
    CHECK(stream_stats(s, &text, &error));
    return figure_of(&text, name);
}

/* ---- With real workers, embedded or behind a dispatcher ---- */

static void test_values(Stream *s) {
    Handle *a = full(s, 4, 1.5, 1), *b = full(s, 4, 2, 1);
    CHECK_MSG(a && b, "%s", error.what);
    if (!a || !b) return;
    CHECK(value(s, a) == 1.5);
    Handle *c = binary(s, OP_ADD, a, b, 2);
    CHECK(value(s, c) == 3.5);
    for (int i = 0; i < 1000; i++) { /* b = b + a; the old b is freed */
        Handle *next = binary(s, OP_ADD, b, a, 2);
        handle_unref(s, &b);
        b = next;
        CHECK(stream_edge(s, &error));
    }
    CHECK(value(s, b) == 2 + 1000 * 1.5);
    CHECK(stream_sync(s, &error));
    CHECK_INT(stat_of(s, "your_tensors"), 3);
    /* Invalid arguments are reported before anything is sent. */
    Handle *d = full(s, 5, 1, 1);
    uint64_t count = stream_count(s);
    CHECK(!binary(s, OP_ADD, a, d, 2));
    CHECK(error.kind == E_RUN && error.at.line == 2 && error.at.len == 3 &&
          stream_count(s) == count);
    handle_unref(s, &a), handle_unref(s, &b), handle_unref(s, &c), handle_unref(s, &d);
    CHECK(stream_sync(s, &error));
    CHECK_INT(stat_of(s, "your_tensors"), 0);
}

static void test_large(Stream *s) {
    enum { N = 300000 };
    TensorType t = {.dtype = DT_F32, .rank = 1, .shape = {N}};
    Buf *buf = buf_new(N * sizeof(float));
    buf->n = N * sizeof(float);
    for (int i = 0; i < N; i++) ((float *)buf->data)[i] = (float)i;
    Handle *h = stream_data(s, &t, NULL, buf, at(1), &error);
    void *data = NULL;
    CHECK(h && stream_value(s, h, at(2), &data, &error) && !memcmp(data, buf->data, buf->n));
    free(data);
    buf_unref(&buf);
    handle_unref(s, &h);
    t.shape[0] = 0; /* without elements */
    h = stream_data(s, &t, NULL, NULL, at(1), &error);
    CHECK(h && stream_value(s, h, at(2), &data, &error));
    free(data);
    handle_unref(s, &h);
}

static void test_effects(Stream *s) {
    story[0] = 0, n_dropped = 0;
    CHECK(stream_sync(s, &error));    /* what came before, including frees */
    CHECK(effect(s, "now", NULL, 1)); /* nothing is pending: runs at once */
    CHECK_STR(story, "now; ");
    Handle *h[20];
    for (int i = 0; i < 20; i++) {
        h[i] = full(s, 2, i, 1);
        CHECK(effect(s, "t", h[i], 1));
        if (i % 5 == 0) CHECK(effect(s, "host", NULL, 1));
        handle_unref(s, &h[i]); /* The effect keeps its operands. */
    }
    CHECK(stream_sync(s, &error));
    CHECK_STR(story, "now; t 0; host; t 1; t 2; t 3; t 4; t 5; host; t 6; t 7; t 8; t 9; t 10; "
                     "host; t 11; t 12; t 13; "
                     "t 14; t 15; host; t 16; t 17; t 18; t 19; ");
    CHECK_INT(n_dropped, 25);
    /* The worker refuses: reported once, at the effect; later effects are not executed until that
     * is reported. */
    story[0] = 0;
    h[0] = full(s, 2, 7, 1);
    CHECK(effect(s, "full", h[0], 2) && effect(s, "after", h[0], 3));
    error = (LangError){0};
    CHECK(!stream_sync(s, &error));
    CHECK_STR(error.what, "the disk is full");
    CHECK_INT(error.at.line, 2);
    CHECK_STR(story, "full 7; ");
    CHECK(stream_sync(s, &error));
    CHECK(effect(s, "after", h[0], 3) && stream_sync(s, &error));
    CHECK_STR(story, "full 7; after 7; ");
    CHECK(!effect(s, "full", NULL, 4)); /* without operands: at once */
    CHECK_INT(error.at.line, 4);
    handle_unref(s, &h[0]);
}

/* Issuing an instruction runs no effect, even if it waits for the window; the end of a statement
 * does. */
static void test_safepoints(Stream *s) {
    story[0] = 0;
    Handle *x = full(s, 4, 1, 1);
    CHECK(effect(s, "told", x, 1));
    uint64_t end = stream_count(s) + WINDOW_INSTS + 1000;
    while (stream_count(s) < end) {
        Handle *y = full(s, 4, 2, 2);
        if (!y) break;
        handle_unref(s, &y);
    }
    CHECK(stream_count(s) >= end && stream_done(s) > 2);
    CHECK_STR(story, "");
    stream_step(s);
    CHECK_STR(story, "told 1; ");
    handle_unref(s, &x);
    CHECK(stream_sync(s, &error));
}

/* Only the worker detects an index out of range. */
static void test_failure(Stream *s) {
    story[0] = 0;
    Handle *x = full(s, 4, 1, 1), *good = ints(s, 0, 3, 1), *bad = ints(s, 0, 4, 1);
    Handle *y = binary(s, OP_INDEX, x, good, 1), *z = binary(s, OP_INDEX, x, bad, 2),
           *w = binary(s, OP_ADD, z, y, 3);
    CHECK_MSG(x && y && z && w, "%s", error.what);
    if (!w) return;
    CHECK(effect(s, "skipped", w, 3) && effect(s, "done", y, 3));
    error = (LangError){0};
    CHECK(!stream_sync(s, &error));
    CHECK(error.kind == E_RUN && error.at.src == &source);
    CHECK_INT(error.at.line, 2);
    CHECK_INT(error.at.col, 5);
    CHECK_INT(error.at.len, 3);
    CHECK_STR(story, ""); /* after the failure, though its own operand is valid */
    CHECK(z->is_failed);
    CHECK(stream_sync(s, &error)); /* reported once */
    CHECK(effect(s, "done", y, 3) && stream_sync(s, &error));
    CHECK_STR(story, "done 1; ");
    CHECK(value(s, w) == -1); /* asked for by name: reported again, with its position */
    CHECK(error.kind == E_RUN && strstr(error.what, "earlier error") && error.at.line == 9);
    CHECK(value(s, y) == 1);
    /* If the cause was not reported yet, the answer is the cause itself. */
    Handle *v = binary(s, OP_INDEX, x, bad, 2);
    CHECK(value(s, v) == -1);
    CHECK(error.at.line == 2);
    error = (LangError){0};
    CHECK(stream_edge(s, &error));
    handle_unref(s, &x), handle_unref(s, &y), handle_unref(s, &z), handle_unref(s, &w),
        handle_unref(s, &v);
    handle_unref(s, &good), handle_unref(s, &bad);
    /* A loop reports it at its edge. */
    x = full(s, 4, 1, 1), bad = ints(s, 9, 9, 1), z = binary(s, OP_INDEX, x, bad, 2);
    error = (LangError){0};
    int64_t end = now_ms() + patient_ms(5000);
    while (stream_edge(s, &error) && now_ms() < end) continue;
    CHECK(error.kind == E_RUN && error.at.line == 2);
    handle_unref(s, &x), handle_unref(s, &bad), handle_unref(s, &z);
    CHECK(stream_sync(s, &error));
    CHECK_INT(stat_of(s, "your_tensors"), 0);
}

/* Long texts fill the window by bytes before they fill it by number; too long ones are refused. */
static void test_texts(Stream *s) {
    Attr format = {.key = ATTR_FORMAT, .n = MAX_STR - 8, .str = malloc(MAX_STR)};
    memset((char *)format.str, 'x', MAX_STR);
    Handle *h = full(s, 2, 1, 1);
    for (int i = 0; i < 60; i++) {
        Effect ef = {.op = OP_PRINT, .attr = &format, .n_attr = 1, .handle = &h, .n = 1};
        CHECK(stream_effect(s, &ef, at(1), &error));
    }
    error = (LangError){0};
    CHECK_MSG(stream_sync(s, &error), "%s", error.what);
    format.n = MAX_STR + 1;
    Effect ef = {.op = OP_PRINT, .attr = &format, .n_attr = 1, .handle = &h, .n = 1};
    CHECK(!stream_effect(s, &ef, at(1), &error) && error.kind == E_RUN);
    free((char *)format.str);
    static Operand in[MAX_IN + 1];
    static const Handle *handle[MAX_IN + 1];
    for (int i = 0; i <= MAX_IN; i++) in[i] = operand_of(h), handle[i] = h;
    Attr axis = {.key = ATTR_AXIS, .n = 1, .ints = (const int64_t[]){0}};
    Handle *out[MAX_OUT];
    int n_out;
    error = (LangError){0};
    CHECK(!stream_op(s, OP_CAT, in, handle, MAX_IN + 1, &axis, 1, at(1), out, &n_out, &error));
    CHECK(error.kind == E_RUN);
    CHECK(stream_op(s, OP_CAT, in, handle, MAX_IN, &axis, 1, at(1), out, &n_out, &error));
    CHECK(value(s, out[0]) == 1);
    handle_unref(s, &h), handle_unref(s, &out[0]);
}

/* One error in a loop is reported once; when it occurs again, again. The end of a script reports
 * the first failure; instructions that have not started are dropped. */
static void test_repeats(Stream *s) {
    Handle *x = full(s, 4, 1, 1), *bad = ints(s, 0, 4, 1);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100; i++) {
            Handle *y = binary(s, OP_INDEX, x, bad, 2);
            handle_unref(s, &y);
        }
        error = (LangError){0};
        CHECK(!stream_sync(s, &error) && error.is_late && error.at.line == 2);
        CHECK(stream_sync(s, &error));
    }
    CHECK(stream_finish(s, false, &error));
    Handle *y = binary(s, OP_INDEX, x, bad, 2), *z = binary(s, OP_INDEX, x, bad, 3);
    error = (LangError){0};
    CHECK(!stream_finish(s, false, &error));
    CHECK_INT(error.at.line, 2);
    CHECK(stream_sync(s, &error));
    handle_unref(s, &y), handle_unref(s, &z);
    z = binary(s, OP_INDEX, x, bad, 3);
    error = (LangError){0};
    CHECK(stream_finish(s, true, &error) && error.kind == E_NONE);
    handle_unref(s, &x), handle_unref(s, &bad), handle_unref(s, &z);
}

static void test_memory(Stream *s) {
    Handle *big = full(s, 100 << 20, 1, 2); /* 400 MiB of 64 */
    error = (LangError){0};
    CHECK(big && !stream_sync(s, &error));
    CHECK(error.kind == E_RUN && error.at.line == 2 && strstr(error.what, "out of memory"));
    handle_unref(s, &big);
    Handle *small = full(s, 1 << 20, 3, 1);
    CHECK(value(s, small) == 3);
    handle_unref(s, &small);
}

/* Without what malloc keeps for later: how much that is depends on how far the worker was behind */
static long resident_kb(void) {
    malloc_trim(0);
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void add_many(Stream *s, Handle **x, const Handle *one, int n) {
    for (int i = 0; i < n; i++) {
        Handle *next = binary(s, OP_ADD, *x, one, 2);
        handle_unref(s, x);
        *x = next;
        if (!next || !stream_edge(s, &error)) break;
    }
}

/* A million instructions without a fetch. */
static void test_flat(Stream *s) {
    Handle *x = full(s, 2, 0, 1), *one = full(s, 2, 1, 1);
    add_many(s, &x, one, 60000); /* all windows and tables have their final size */
    CHECK(stream_sync(s, &error));
    long before = resident_kb(), slots = stat_of(s, "\nslots");
    add_many(s, &x, one, 340000); /* with its free and its edge: three instructions each */
    CHECK(stream_sync(s, &error));
    long after = resident_kb();
    if (!HAS_QUARANTINE)
        CHECK_MSG(after - before < 4096, "resident memory grew by %ld KiB", after - before);
    CHECK_INT(stat_of(s, "\nslots"), slots);
    CHECK_INT(stat_of(s, "\ntensors"), 2);
    CHECK(value(s, x) == 400000);
    handle_unref(s, &x), handle_unref(s, &one);
}

static void test_stream(Stream *s) {
    test_values(s);
    test_large(s);
    test_effects(s);
    test_safepoints(s);
    test_failure(s);
    test_repeats(s);
    test_texts(s);
}

static void test_embedded(void) {
    Stream *s = open_stream(NULL);
    test_stream(s);
    test_memory(s);
    test_flat(s);
    stream_free(&s);
    CHECK(s == NULL);
    s = open_stream(NULL); /* No tensor was requested: no cluster is started. */
    CHECK(effect(s, "text", NULL, 1) && stream_sync(s, &error));
    Attr name = {.key = ATTR_NAME, .n = 1, .str = "a"};
    Inst enter = {.op = OP_SIGNAL_ENTER, .n_attr = 1, .attr = &name};
    Inst leave = {.op = OP_SIGNAL_EXIT, .n_attr = 1, .attr = &name};
    for (int i = 0; i < 3; i++) stream_control(s, &enter), stream_control(s, &leave);
    stream_control(s, &enter);
    CHECK_INT(stream_count(s), 0);
    Handle *h = full(s, 2, 1, 1);
    stream_control(s, &leave);
    CHECK(value(s, h) == 1);
    CHECK_INT(stream_count(s), 5); /* a name, a scope that was open, full, the end of it, fetch */
    handle_unref(s, &h);
    stream_free(&s);
    setenv("GT_NET", "inproc", 1);
    s = open_stream(NULL);
    test_stream(s);
    stream_free(&s);
    unsetenv("GT_NET");
    StreamConfig c = {.mode = STREAM_LIVE, .engine = "steam"};
    s = stream_new(&c);
    CHECK(!full(s, 2, 1, 1));
    CHECK(error.kind == E_GONE);
    stream_free(&s);
}

/* A dispatcher in a thread, with real workers or a simulated one. */
typedef struct Cluster {
    Hub *hub;
    DispatcherConfig config;
    pthread_t dispatcher, worker;
    WorkerConfig worker_config;
    _Atomic bool stop, is_frozen;
} Cluster;

static void *dispatcher_main(void *ctx) {
    Cluster *c = ctx;
    Dispatcher *d = dispatcher_new(&c->config);
    while (!atomic_load(&c->stop)) {
        if (atomic_load(&c->is_frozen))
            usleep(10000);
        else
            dispatcher_pump(d, c->hub, 20);
    }
    hub_close(&c->hub);
    dispatcher_free(&d);
    return NULL;
}

static void *worker_main(void *ctx) {
    worker_run(ctx);
    return NULL;
}

static void cluster_start(Cluster *c, const char *endpoint) {
    Err err = {0};
    *c = (Cluster){.config = {.beat_ms = 50}};
    c->hub = hub_open(endpoint, &err);
    CHECK_MSG(c->hub != NULL, "%s", err.text);
    pthread_create(&c->dispatcher, NULL, dispatcher_main, c);
}

static void cluster_stop(Cluster *c) {
    atomic_store(&c->stop, true);
    pthread_join(c->dispatcher, NULL);
}

static void test_remote(const char *endpoint) {
    Cluster c;
    cluster_start(&c, endpoint);
    char bound[200];
    snprintf(bound, sizeof bound, "%s", hub_endpoint(c.hub));
    c.worker_config = (WorkerConfig){
        .engine = "reference", .threads = 1, .memory_bytes = 64 << 20, .endpoint = bound};
    pthread_create(&c.worker, NULL, worker_main, &c.worker_config);
    Stream *s = open_stream(bound), *t = open_stream(bound);
    test_stream(s);
    test_stream(t); /* a second client */
    Handle *x = full(s, 2, 5, 1), *y = full(t, 2, 6, 1);
    CHECK(value(s, x) == 5 && value(t, y) == 6);
    stream_free(&s);
    for (int i = 0; i < 6000 && stat_of(t, "\ntensors") != 1; i++) usleep(10000);
    CHECK_INT(stat_of(t, "\ntensors"), 1); /* the other's are gone: its BYE was read */
    cluster_stop(&c);
    CHECK(value(t, y) == -1);
    CHECK(error.kind == E_GONE && strstr(error.what, bound) &&
          strstr(error.what, "1 tensor is gone"));
    CHECK(!full(t, 2, 1, 1) && error.kind == E_GONE);
    CHECK(!effect(t, "never", y, 1));
    stream_free(&t);
    pthread_join(c.worker, NULL);
}

/* ---- With a worker of our own ---- */

/* Answers a fetch with the value of the `full` that made the operand, and acknowledges and replies
 * as `how` says. `index` fails. LATE: later instructions had started when the cancel arrives, and
 * are answered then. PASSED: they are answered before the failure is reported, as by another
 * worker. */
typedef enum How { PROMPTLY, BACKWARDS, NEVER, DYING, WRONGLY, LATE, PASSED } How;
typedef struct Fake {
    char endpoint[64];
    How how;
    _Atomic bool stop;
    _Atomic uint64_t n_seen, cancelled;
    uint64_t fetched[64];
    int n_fetched; /* BACKWARDS, LATE: numbers of fetches that are not answered yet */
    uint32_t client;
    uint64_t failed, end; /* LATE, PASSED: number of an index, 0: none; after the last frame */
} Fake;

static void fake_reply(Link *link, uint32_t client, uint64_t seq, bool is_wrong) {
    static const float v[] = {4, 4, 4};
    ReplyValue one = {.type = {.dtype = DT_F32, .rank = 1, .shape = {is_wrong ? 3 : 2}},
                      .data = v,
                      .bytes = is_wrong ? 12 : 8};
    Reply r = {.client = client, .seq = seq, .n = 1, .value = &one};
    Msg m;
    wire_reply(&r, NULL, &m);
    link_send(link, &m);
}

static void fake_ack(Link *link, uint32_t client, uint64_t seq) {
    Ack a = {.client = client, .seq = seq};
    Msg m;
    wire_ack(&a, &m);
    link_send(link, &m);
}

static void fake_failure(const Fake *f, Link *link) {
    Failure failure = {.client = f->client, .seq = f->failed, .pos = {.file = 3, .line = 2}};
    err_set(&failure.err, ERR_INDEX, "out of range");
    Msg m;
    wire_failure(&failure, &m);
    link_send(link, &m);
}

static void fake_cancel(Fake *f, Link *link) {
    while (f->n_fetched > 0) fake_reply(link, f->client, f->fetched[--f->n_fetched], false);
    fake_ack(link, f->client, f->end);
}

static void fake_frame(Fake *f, Link *link, const Msg *m) {
    FrameReader r;
    Err err;
    Inst in;
    Arena arena = {0};
    if (!frame_open(&r, m, &err)) return;
    while (frame_next(&r, &arena, &in, NULL, NULL, &err) > 0) {
        f->client = r.client;
        f->end = r.seq + r.count;
        if (in.op == OP_INDEX) {
            f->failed = r.inst_seq;
            if (f->how == LATE) fake_failure(f, link);
        }
        if (in.op != OP_FETCH && in.op != OP_PRINT) continue;
        uint64_t seq = r.inst_seq;
        if (f->how == BACKWARDS || (f->how == LATE && f->failed))
            f->fetched[f->n_fetched++] = seq;
        else if (f->how != NEVER)
            fake_reply(link, r.client, seq, f->how == WRONGLY);
    }
    if (f->how == PASSED && f->failed) {
        usleep(30000);
        fake_failure(f, link);
    }
    if (f->how == BACKWARDS && f->n_fetched == 3) /* the last of the test */
        while (f->n_fetched > 0) fake_reply(link, r.client, f->fetched[--f->n_fetched], false);
    if (f->how != NEVER && f->how != LATE) fake_ack(link, r.client, r.seq + r.count);
    atomic_fetch_add(&f->n_seen, r.count);
    arena_fini(&arena);
}

static void *fake_main(void *ctx) {
    Fake *f = ctx;
    Err err = {0};
    Link *link = link_open(f->endpoint, &err);
    Hello h = {.version = WIRE_VERSION,
               .table_hash = op_table_hash(),
               .role = ROLE_WORKER,
               .name = "fake"};
    Msg m;
    wire_hello(&h, &m);
    link_send(link, &m);
    bool is_dead = false;
    while (!atomic_load(&f->stop) && !is_dead) {
        int got = link_recv(link, &m);
        if (got < 0) break;
        if (got == 0) {
            link_wait(link, 10);
            continue;
        }
        Cancel c;
        if (wire_kind(&m) == MSG_FRAME) {
            is_dead = f->how == DYING;
            if (!is_dead) fake_frame(f, link, &m);
        } else if (wire_kind(&m) == MSG_CANCEL && wire_read_cancel(&m, &c, &err)) {
            atomic_store(&f->cancelled, c.seq);
            if (f->how == LATE) fake_cancel(f, link);
        }
        msg_fini(&m);
    }
    link_close(&link);
    return NULL;
}

typedef struct Stage {
    Cluster cluster;
    Fake fake;
    Stream *s;
} Stage;

static void stage_start(Stage *g, How how, const StreamConfig *config) {
    memset(&g->fake, 0, sizeof g->fake);
    snprintf(g->fake.endpoint, sizeof g->fake.endpoint, "ring://stage");
    g->fake.how = how;
    cluster_start(&g->cluster, g->fake.endpoint);
    pthread_create(&g->cluster.worker, NULL, fake_main, &g->fake);
    StreamConfig c = config ? *config : (StreamConfig){0};
    c.mode = STREAM_LIVE;
    c.endpoint = g->fake.endpoint;
    g->s = stream_new(&c);
}

static void stage_stop(Stage *g) {
    stream_free(&g->s);
    atomic_store(&g->fake.stop, true);
    pthread_join(g->cluster.worker, NULL);
    cluster_stop(&g->cluster);
}

static void test_backwards(void) {
    Stage g;
    stage_start(&g, BACKWARDS, NULL);
    story[0] = 0;
    Handle *x = full(g.s, 2, 4, 1);
    CHECK(effect(g.s, "first", x, 1) && effect(g.s, "second", x, 1) &&
          effect(g.s, "host", NULL, 1) && effect(g.s, "third", x, 1));
    CHECK(stream_sync(g.s, &error));
    CHECK_STR(story, "first 4; second 4; host; third 4; ");
    handle_unref(g.s, &x);
    stage_stop(&g);
}

/* An effect after a failure in the stream is not executed, however late or early it is answered,
 * and its value is not returned. */
static void test_behind(void) {
    Stage g;
    for (int round = 0; round < 4; round++) {
        stage_start(&g, round == 0 ? LATE : PASSED, NULL);
        story[0] = 0;
        Handle *x = full(g.s, 2, 4, 1), *bad = ints(g.s, 9, 9, 1), *y, *z;
        CHECK(effect(g.s, "before", x, 1));
        y = binary(g.s, OP_INDEX, x, bad, 2);
        if (round == 3) {
            CHECK(value(g.s, x) == -1);
        } else {
            CHECK(effect(g.s, "behind", x, 3) && effect(g.s, "host", NULL, 3));
            error = (LangError){0};
            CHECK(round == 1 ? !stream_sync(g.s, &error) : !stream_finish(g.s, false, &error));
        }
        CHECK_STR(error.what, "out of range");
        CHECK(error.is_late && error.at.line == 2);
        CHECK_STR(story, "before 4; ");
        z = full(g.s, 2, 4, 4); /* attempt() has continued: no effect of the failure */
        if (round == 1) CHECK(effect(g.s, "on", z, 4) && stream_sync(g.s, &error));
        if (round == 1) CHECK_STR(story, "before 4; on 4; ");
        handle_unref(g.s, &x), handle_unref(g.s, &bad), handle_unref(g.s, &y);
        handle_unref(g.s, &z);
        stage_stop(&g);
    }
}

static void test_wrong(void) {
    Stage g;
    stage_start(&g, WRONGLY, NULL);
    Handle *x = full(g.s, 2, 4, 1);
    CHECK(value(g.s, x) == -1);
    CHECK(strstr(error.what, "does not fit") != NULL);
    handle_unref(g.s, &x);
    stage_stop(&g);
}

static void on_sigint(int sig) { interrupt_count = 1; }

static void *interrupt_later(void *ctx) {
    usleep(50000);
    pthread_kill(*(pthread_t *)ctx, SIGINT);
    return NULL;
}

/* Ctrl-C ends a wait on a worker that never answers, in a fetch and in a full window, and the
 * stream continues. */
static void test_interrupt(void) {
    Stage g;
    stage_start(&g, NEVER, NULL);
    Handle *x = full(g.s, 2, 4, 1);
    n_dropped = 0;
    CHECK(effect(g.s, "lost", x, 1));
    pthread_t thread, self = pthread_self();
    for (int round = 0; round < 2; round++) {
        interrupt_count = 0;
        pthread_create(&thread, NULL, interrupt_later, &self);
        int64_t start = now_ms();
        if (round == 0) {
            CHECK(value(g.s, x) == -1);
            CHECK_INT(error.at.line, 9);
        } else {
            for (int i = 0; i < WINDOW_INSTS + 1; i++) {
                Handle *y = full(g.s, 2, 1, 1);
                if (!y) break;
                handle_unref(g.s, &y);
            }
            CHECK(stream_count(g.s) <= WINDOW_INSTS && stream_count(g.s) > WINDOW_INSTS / 2);
        }
        CHECK(error.kind == E_INTERRUPT);
        CHECK_MSG(now_ms() - start < patient_ms(3000), "it took %lld ms",
                  (long long)(now_ms() - start));
        pthread_join(thread, NULL);
    }
    error = (LangError){0};
    CHECK(!stream_edge(g.s, &error) && error.kind == E_INTERRUPT);
    CHECK(!stream_sync(g.s, &error) && error.kind == E_INTERRUPT);
    interrupt_count = 0;
    stream_cancel(g.s);
    for (int i = 0; i < 6000 && !atomic_load(&g.fake.cancelled); i++) usleep(10000);
    CHECK_INT(atomic_load(&g.fake.cancelled), stream_count(g.s));
    handle_unref(g.s, &x);
    CHECK_INT(n_dropped, 0);
    stage_stop(&g);
    CHECK_INT(n_dropped, 1);
}

/* At the prompt the window is about 2 s of work: a slow worker gets a few dozen instructions, a
 * fast one as many as it can take. */
static void test_prompt_window(void) {
    StreamConfig c = {.mode = STREAM_LIVE,
                      .prompt = true,
                      .engine = "reference",
                      .threads = 1,
                      .memory_bytes = 64 << 20};
    Stream *s = stream_new(&c);
    Handle *x = full(s, 1 << 20, 0, 1), *one = full(s, 2, 1, 1);
    uint64_t count = stream_count(s);
    int64_t start = now_ms();
    for (int i = 0; i < 100000 && now_ms() - start < 300; i++) { /* some ms each */
        Handle *y = binary(s, OP_ADD, x, x, 2);
        handle_unref(s, &y);
    }
    CHECK(stream_count(s) - count > 10);
    int64_t end = now_ms();
    CHECK(stream_sync(s, &error));
    CHECK_MSG(now_ms() - end < patient_ms(8000), "%lld ms", (long long)(now_ms() - end));
    handle_unref(s, &x);
    x = full(s, 2, 0, 1);
    add_many(s, &x, one, 20000);
    CHECK(value(s, x) == 20000);
    handle_unref(s, &x), handle_unref(s, &one);
    stream_free(&s);
}

/* ... and it is full once the oldest frame has been in flight for so long. */
static void test_prompt(void) {
    Stage g;
    StreamConfig c = {.prompt = true};
    stage_start(&g, NEVER, &c);
    Handle *x = full(g.s, 2, 4, 1);
    stream_flush(g.s);
    CHECK(x != NULL);
    handle_unref(g.s, &x);
    x = full(g.s, 2, 4, 1);
    stream_flush(g.s);
    handle_unref(g.s, &x);
    stream_flush(g.s);
    usleep((PROMPT_WINDOW_MS + 100) * 1000);
    pthread_t thread, self = pthread_self();
    pthread_create(&thread, NULL, interrupt_later, &self);
    CHECK(!full(g.s, 2, 4, 1));
    CHECK(error.kind == E_INTERRUPT);
    pthread_join(thread, NULL);
    interrupt_count = 0;
    stage_stop(&g);
}

static void test_death(void) {
    Stage g;
    stage_start(&g, DYING, NULL);
    Handle *x = full(g.s, 2, 4, 1);
    int64_t start = now_ms();
    CHECK(value(g.s, x) == -1);
    CHECK(error.kind == E_GONE && strstr(error.what, "w0") && now_ms() - start < patient_ms(5000));
    error = (LangError){0};
    CHECK(!stream_edge(g.s, &error) || !stream_sync(g.s, &error) || !full(g.s, 1, 1, 1));
    CHECK(error.kind == E_GONE);
    handle_unref(g.s, &x);
    stage_stop(&g);
}

/* A slow link: a hub, and a thread that forwards PACE_BYTES of its messages every PACE_MS. */
enum { PACE_MS = 20, PACE_BYTES = 4096 };
typedef struct SlowLink {
    Hub *hub;
    int listener;
    size_t bytes;          /* of the one answer                       */
    _Atomic size_t passed; /* of what the hub has said                */
    _Atomic bool is_over;
} SlowLink;

static void pass_all(int from, int to) {
    char data[4096];
    ssize_t n = recv(from, data, sizeof data, MSG_DONTWAIT);
    if (n > 0) CHECK(send(to, data, (size_t)n, MSG_NOSIGNAL) == n);
}

static void *slow_link(void *arg) {
    SlowLink *l = arg;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    to.sin_port = htons((uint16_t)atoi(strrchr(hub_endpoint(l->hub), ':') + 1));
    int down = accept(l->listener, NULL, NULL), up = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(down >= 0 && !connect(up, (struct sockaddr *)&to, sizeof to));
    for (char data[PACE_BYTES]; !atomic_load(&l->is_over); usleep(PACE_MS * 1000)) {
        PeerId peer;
        Msg m;
        pass_all(down, up);
        ssize_t n = recv(up, data, sizeof data, MSG_DONTWAIT);
        if (n > 0 && send(down, data, (size_t)n, MSG_NOSIGNAL) == n)
            atomic_fetch_add(&l->passed, (size_t)n);
        if (hub_recv(l->hub, &peer, &m) <= 0) continue;
        msg_fini(&m);
        Bytes text = {0};
        while (text.n < l->bytes) bytes_putc(&text, '.');
        wire_text(MSG_BEAT, text.data, text.n, &m);
        hub_send(l->hub, peer, &m);
        bytes_fini(&text);
    }
    close(up);
    close(down);
    return NULL;
}

/* One answer takes longer to arrive than a dispatcher may be silent: its bytes count as signs of
 * life. When they end, and nothing else arrives, the dispatcher is gone. */
static void test_slow_link(void) {
    Err err;
    char endpoint[64];
    struct sockaddr_in at_port = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof at_port;
    int answer_ms = (int)patient_ms(100);
    SlowLink l = {.hub = hub_open("tcp://127.0.0.1:*", &err),
                  .listener = socket(AF_INET, SOCK_STREAM, 0),
                  .bytes = (size_t)(2 * answer_ms / PACE_MS * PACE_BYTES)};
    CHECK(l.hub && !bind(l.listener, (struct sockaddr *)&at_port, n) && !listen(l.listener, 1));
    CHECK(!getsockname(l.listener, (struct sockaddr *)&at_port, &n));
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%d", ntohs(at_port.sin_port));
    pthread_t thread;
    pthread_create(&thread, NULL, slow_link, &l);
    StreamConfig c = {.mode = STREAM_LIVE, .endpoint = endpoint, .answer_ms = answer_ms};
    Stream *s = stream_new(&c);
    CHECK(!full(s, 2, 1, 1));
    CHECK_MSG(error.kind == E_GONE && strstr(error.what, "no answer for"), "%s", error.what);
    size_t passed = atomic_load(&l.passed);
    CHECK_MSG(passed >= l.bytes, "%zu of %zu bytes have come", passed, l.bytes);
    stream_free(&s);
    atomic_store(&l.is_over, true);
    pthread_join(thread, NULL);
    close(l.listener);
    hub_close(&l.hub);
}

/* A program listens but sends nothing: no WELCOME. No program listens at all. Heartbeats stop. */
static void test_silence(void) {
    Err err;
    char endpoint[200];
    snprintf(endpoint, sizeof endpoint, "ipc://%s/nobody", directory);
    StreamConfig c = {.mode = STREAM_LIVE, .endpoint = endpoint, .answer_ms = 200};
    Stream *s = stream_new(&c);
    int64_t start = now_ms();
    CHECK(!full(s, 2, 1, 1));
    CHECK(error.kind == E_GONE && strstr(error.what, endpoint));
    CHECK(strstr(error.what, "there is no such socket"));
    CHECK(now_ms() - start < patient_ms(3000));
    /* connect() fails: an error, and nothing changes; then embedded workers are used. */
    StreamConfig own = {.engine = "reference", .workers = 1, .threads = 1, .answer_ms = 200};
    own.memory_bytes = 64 << 20;
    Stream *u = stream_new(&own);
    CHECK(!stream_connect(u, endpoint, at(1), &error) && error.kind == E_GONE);
    CHECK(strstr(error.what, "no dispatcher at ipc://") && strstr(error.what, "no such socket"));
    CHECK(!stream_endpoint(u) && stream_set_workers(u, 1));
    Handle *mine = full(u, 2, 7, 1);
    CHECK(value(u, mine) == 7);
    CHECK(!stream_connect(u, endpoint, at(1), &error));
    CHECK_STR(error.what, "already connected to workers of its own");
    CHECK(!stream_set_workers(u, 2));
    handle_unref(u, &mine);
    stream_free(&u);
    Hub *hub = hub_open(endpoint, &err); /* the next attempt meets a silent one */
    CHECK(!full(s, 2, 1, 1));
    CHECK(error.kind == E_GONE && strstr(error.what, "0.2 s"));
    hub_close(&hub);
    stream_free(&s);
    Stage g;
    c.endpoint = NULL, c.answer_ms = 1000;
    stage_start(&g, NEVER, &c);
    Handle *x = full(g.s, 2, 1, 1);
    stream_flush(g.s);
    usleep(300000); /* Heartbeats that are not read yet do not count against the dispatcher. */
    pthread_t thread, self = pthread_self();
    pthread_create(&thread, NULL, interrupt_later, &self);
    CHECK(value(g.s, x) == -1);
    CHECK(error.kind == E_INTERRUPT);
    pthread_join(thread, NULL);
    interrupt_count = 0;
    atomic_store(&g.cluster.is_frozen, true);
    start = now_ms();
    CHECK(value(g.s, x) == -1);
    CHECK(error.kind == E_GONE && strstr(error.what, "no heartbeat for 1 s"));
    CHECK(now_ms() - start < patient_ms(9000));
    handle_unref(g.s, &x);
    stage_stop(&g);
}

/* ---- Text ---- */

static void test_emit(void) {
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    StreamConfig c = {.mode = STREAM_EMIT, .emit_to = f, .emit_header = " prog=\"a.gt\" seed=0"};
    Stream *s = stream_new(&c);
    Handle *a = full(s, 2, 1, 1), *b = ints(s, 5, 6, 1), *d = binary(s, OP_ADD, a, a, 2);
    handle_unref(s, &a);
    CHECK(effect(s, "x", d, 2) && effect(s, "y", NULL, 3));
    CHECK(stream_edge(s, &error) && stream_edge(s, &error)); /* one is enough */
    CHECK(value(s, d) == -1);
    CHECK_STR(error.what, "control flow depends on data, and --emit computes none");
    handle_unref(s, &b), handle_unref(s, &d);
    CHECK(stream_sync(s, &error));
    stream_free(&s);
    fclose(f);
    CHECK_STR(text, "gti 1 prog=\"a.gt\" seed=0\n"
                    "t0 = full 1.0 [2] f32 -> f32[2] @a.gt:1\n"
                    "t1 = data i64 [2] 5 6 -> i64[2] @a.gt:1\n"
                    "t2 = add t0 t0 -> f32[2] @a.gt:2\n"
                    "free t0\n"
                    "print \"{}\" t2 @a.gt:2\n"
                    "print \"{}\" @a.gt:3\n"
                    "edge\n"
                    "free t1 t2\n");
    free(text);
    s = stream_new(&(StreamConfig){.mode = STREAM_CHECK});
    a = full(s, 2, 1, 1);
    CHECK(a && !full(s, -2, 1, 1) && value(s, a) == -1 && stream_sync(s, &error));
    handle_unref(s, &a);
    stream_free(&s);
}

int main(void) {
    if (!mkdtemp(directory)) return 1;
    char ipc[100];
    snprintf(ipc, sizeof ipc, "ipc://%s/d", directory);
    struct sigaction action = {.sa_handler = on_sigint};
    sigaction(SIGINT, &action, NULL);
    test_emit();
    test_embedded();
    test_remote(ipc);
    test_remote("tcp://127.0.0.1:*");
    test_backwards();
    test_behind();
    test_wrong();
    test_interrupt();
    test_prompt_window();
    test_prompt();
    test_death();
    test_silence();
    test_slow_link();
    net_fini();
    CHECK_INT(rmdir(directory), 0);
    return check_report("stream");
}
