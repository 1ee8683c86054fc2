/* path_bench: the cost of a small op on the whole path, client -> dispatcher -> worker, embedded,
 * and of a fetch against the bare wake-up of two threads, in one run.
 *
 *   client      the stream alone, with a hub that only acknowledges; in full and hot, and the cost
 *               of looking for hot bodies in vain: loops that never repeat
 *   dispatcher  its step function alone, on the frames of the same program, in full and hot, with
 *               bodies that it has to find, or looks for in vain
 *   worker      CPU time of its thread on the whole path, kernel included
 *   whole path  64x64 adds: t = t + x, the old t freed; then with an edge for each; and its
 *               allocations, locks and system calls: per frame, not per instruction
 *
 * Usage: path_bench [ADDS]
 * SPDX-License-Identifier: MIT */
#include "tests/unit/cluster_words.h"
#include "dispatcher/dispatcher.h"
#include "lang/stream/stream.h"
#include "tests/bench/count.h"
#include "tests/bench/figure.h"
#include "worker/worker.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double clock_us(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}
static double now_us(void) { return clock_us(CLOCK_MONOTONIC); }
static double cpu_us(void) { return clock_us(CLOCK_THREAD_CPUTIME_ID); }

static LangError error;
static _Noreturn void stop(const char *what) {
    fprintf(stderr, "path_bench: %s: %s\n", what, error.what);
    exit(1);
}

static Handle *full(Stream *s, int64_t side) {
    int64_t shape[] = {side, side};
    Attr attr[] = {{.key = ATTR_SHAPE, .n = 2, .ints = shape},
                   {.key = ATTR_DTYPE, .dtype = DT_F32}};
    Operand value = {.kind = IN_IMM_FLOAT, .f = 1};
    Handle *out[MAX_OUT];
    int n_out;
    if (!stream_op(s, OP_FULL, &value, NULL, 1, attr, 2, (Span){0}, out, &n_out, &error))
        stop("full");
    return out[0];
}

/* t = t op x, n times; op differs each time if `varies`. With an edge after every `edges` adds (0:
 * none). */
static void ops(Stream *s, Handle **t, const Handle *x, int n, int edges, bool varies) {
    static const Op op[] = {OP_ADD, OP_SUB, OP_MUL, OP_MAXIMUM};
    static uint64_t random = 1;
    for (int i = 0; i < n; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        Operand in[] = {operand_of(*t), operand_of(x)};
        const Handle *handle[] = {*t, x};
        Handle *out[MAX_OUT];
        int n_out;
        if (!stream_op(s, op[varies ? random >> 62 : 0], in, handle, 2, NULL, 0, (Span){0}, out,
                       &n_out, &error))
            stop("add");
        handle_unref(s, t);
        *t = out[0];
        if (edges && i % edges == edges - 1 && !stream_edge(s, &error)) stop("edge");
    }
}

static void adds(Stream *s, Handle **t, const Handle *x, int n, int edges) {
    ops(s, t, x, n, edges, false);
}

static void settle(Stream *s) {
    if (!stream_sync(s, &error)) stop("sync");
}

/* ---- The client alone: its hub is in another thread, which acknowledges ---- */

typedef struct Sink {
    Hub *hub;
    _Atomic bool stop;
    Msg kept[512];
    int n_kept;
} Sink;

static void *sink_main(void *ctx) {
    Sink *k = ctx;
    PeerId from;
    Msg m, out;
    while (!atomic_load(&k->stop)) {
        if (hub_recv(k->hub, &from, &m) != 1) {
            hub_wait(k->hub, 10);
            continue;
        }
        FrameReader r;
        if (wire_kind(&m) == MSG_HELLO) {
            Welcome w = {.id = 1,
                         .n_workers = 1,
                         .window_insts = WINDOW_INSTS,
                         .window_bytes = WINDOW_BYTES};
            wire_welcome(&w, &out);
            hub_send(k->hub, from, &out);
        } else if (frame_open(&r, &m, NULL)) {
            Ack a = {.client = 1, .seq = r.seq + r.count};
            wire_ack(&a, &out);
            hub_send(k->hub, from, &out);
            if (k->n_kept < 512) {
                msg_move(&k->kept[k->n_kept++], &m);
                continue;
            }
        }
        msg_fini(&m);
    }
    return NULL;
}

static double client_alone(Sink *k, int n, int edges, bool varies, const char *threshold) {
    Err err;
    setenv("GT_HOTPATH_THRESHOLD", threshold, 1);
    atomic_store(&k->stop, false);
    k->hub = hub_open("ring://sink", &err);
    pthread_t thread;
    pthread_create(&thread, NULL, sink_main, k);
    StreamConfig c = {.mode = STREAM_LIVE, .endpoint = "ring://sink"};
    Stream *s = stream_new(&c);
    Handle *x = full(s, 64), *t = full(s, 64);
    ops(s, &t, x, 20000, edges, varies);
    settle(s);
    uint64_t before = stream_count(s);
    double start = cpu_us();
    ops(s, &t, x, n, edges, varies);
    double us = (cpu_us() - start) / (double)(stream_count(s) - before);
    settle(s);
    handle_unref(s, &x), handle_unref(s, &t);
    stream_free(&s);
    atomic_store(&k->stop, true);
    hub_wake(k->hub);
    pthread_join(thread, NULL);
    hub_close(&k->hub);
    return us;
}

/* ---- The dispatcher alone: the recorded frames, from many clients in turn ---- */

static void swallow(Dispatcher *d) {
    PeerId to;
    Msg m;
    bool drop;
    while (dispatcher_next(d, &to, &m, &drop)) msg_fini(&m);
}

/* is_shared: the frames' bytes have another owner too, so they are copied record by record; looks:
 * for hot bodies. */
static double dispatcher_alone(const Sink *k, int n, PeerId workers, bool is_shared, bool looks) {
    DispatcherConfig config = {0};
    if (looks) config.hot = (DetectorConfig){2, 2, 16384, .expand_max = 256};
    Dispatcher *d = dispatcher_new(&config);
    Msg m;
    for (PeerId peer = 1; peer <= workers; peer++) {
        m = make_hello(ROLE_WORKER);
        dispatcher_on_message(d, peer, &m, 0);
    }
    double us = 0;
    uint64_t insts = 0;
    for (PeerId peer = workers + 1; insts < (uint64_t)n; peer++) {
        m = make_hello(ROLE_CLIENT);
        dispatcher_on_message(d, peer, &m, 0);
        swallow(d);
        uint64_t seq = 0;
        for (int i = 0; i < k->n_kept; i++) {
            m = (Msg){.n = 1, .part = {buf_copy(k->kept[i].part[0]->data, k->kept[i].part[0]->n)}};
            FrameReader r;
            frame_open(&r, &m, NULL);
            Buf *shared = is_shared ? buf_ref(m.part[0]) : NULL;
            double start = cpu_us();
            dispatcher_on_message(d, peer, &m, 0);
            swallow(d);
            us += cpu_us() - start;
            buf_unref(&shared);
            insts += r.count, seq += r.count;
            Ack a = {.client = peer - workers, .seq = seq};
            wire_ack(&a, &m);
            dispatcher_on_message(d, 1, &m, 0);
            swallow(d);
        }
        dispatcher_on_gone(d, peer, 0);
        swallow(d);
    }
    dispatcher_free(&d);
    return us / (double)insts;
}

/* ---- The whole path ---- */

static double process_us(void) { return clock_us(CLOCK_PROCESS_CPUTIME_ID); }

/* Per instruction: us, and how often. */
typedef struct Path {
    double elapsed, client, worker;
    double allocations, locks, system_calls;
} Path;

static Path whole_path(Stream *s, int64_t side, int n, int edges) {
    Handle *x = full(s, side), *t = full(s, side);
    adds(s, &t, x, 20000, edges);
    settle(s);
    uint64_t before = stream_count(s);
    Counts c = counts_now();
    double start = now_us(), client = cpu_us(), process = process_us();
    adds(s, &t, x, n, edges);
    settle(s);
    double insts = (double)(stream_count(s) - before);
    Path p = {.elapsed = (now_us() - start) / insts, .client = (cpu_us() - client) / insts};
    Counts d = counts_now();
    p.allocations = (double)(d.allocations - c.allocations) / insts;
    p.locks = (double)(d.locks - c.locks) / insts;
    p.system_calls = (double)(d.system_calls - c.system_calls) / insts;
    p.worker = (process_us() - process) / insts - p.client;
    handle_unref(s, &x), handle_unref(s, &t);
    settle(s);
    return p;
}

static long resident_kb(void) {
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* ---- Round trips ---- */

static void *echo_main(void *ctx) {
    Link *link = ctx;
    for (Msg m;;) {
        int r = link_recv(link, &m);
        if (r < 0) return NULL;
        if (r > 0)
            link_send(link, &m);
        else
            link_wait(link, 1000);
    }
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { TRIPS = 2000 };

/* Median of a bare wake-up and its answer: a message to a sleeping thread and back. */
static double bare_trip(void) {
    static double us[TRIPS];
    Err err;
    Hub *hub = hub_open("ring://echo", &err);
    Link *link = link_open("ring://echo", &err);
    pthread_t thread;
    pthread_create(&thread, NULL, echo_main, link);
    PeerId peer = 1;
    Msg none;
    hub_recv(hub, &peer, &none); /* accepts the link */
    peer = 1;
    for (int i = 0; i < TRIPS; i++) {
        usleep(200); /* so that the other side sleeps */
        double start = now_us();
        Msg m = {0};
        msg_push(&m, buf_copy("x", 1));
        hub_send(hub, peer, &m);
        while (hub_recv(hub, &peer, &m) != 1) hub_wait(hub, 1000);
        us[i] = now_us() - start;
        msg_fini(&m);
    }
    hub_close(&hub);
    pthread_join(thread, NULL);
    link_close(&link);
    qsort(us, TRIPS, sizeof us[0], by_size);
    return us[TRIPS / 2];
}

static double fetch_trip(Stream *s) {
    static double us[TRIPS];
    Handle *x = full(s, 1);
    settle(s);
    for (int i = 0; i < TRIPS; i++) {
        usleep(200);
        double start = now_us();
        void *data;
        if (!stream_value(s, x, (Span){0}, &data, &error)) stop("fetch");
        us[i] = now_us() - start;
        free(data);
    }
    handle_unref(s, &x);
    qsort(us, TRIPS, sizeof us[0], by_size);
    return us[TRIPS / 2];
}

enum { BODY = 8 }; /* adds of a body */

/* us per instruction more, in the client and in the dispatcher: the least of three. */
static void look_in_vain(int n, double *client, double *dispatcher) {
    static Sink all, full; /* frames of a client that looks for bodies; of one that does not */
    *client = *dispatcher = 1e9;
    for (int i = 0; i < 3; i++) {
        double us = client_alone(&all, n, BODY, true, "2");
        us -= client_alone(&full, n, BODY, true, "0");
        if (us < *client) *client = us;
        us = dispatcher_alone(&full, n, 1, false, true);
        us -= dispatcher_alone(&full, n, 1, false, false);
        if (us < *dispatcher) *dispatcher = us;
    }
    for (int i = 0; i < all.n_kept; i++) msg_fini(&all.kept[i]);
    for (int i = 0; i < full.n_kept; i++) msg_fini(&full.kept[i]);
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000000;
    const char *engine = getenv("GT_BACKEND");
    static Sink sink, hot;
    double client = client_alone(&sink, n, 0, false, "0"),
           one = dispatcher_alone(&sink, n, 1, false, false);
    double hot_client = client_alone(&hot, n, BODY, false, "2");
    double hot_one = dispatcher_alone(&hot, n, 1, false, false);
    double found = dispatcher_alone(&sink, n, 1, false, true);
    double looks, looks_there;
    look_in_vain(n, &looks, &looks_there);
    unsetenv("GT_HOTPATH_THRESHOLD");
    double many = dispatcher_alone(&sink, n, 72, false, false),
           copied = dispatcher_alone(&sink, n, 72, true, false);
    for (int i = 0; i < sink.n_kept; i++) msg_fini(&sink.kept[i]);
    for (int i = 0; i < hot.n_kept; i++) msg_fini(&hot.kept[i]);
    StreamConfig c = {.mode = STREAM_LIVE,
                      .workers = 1,
                      .threads = 1,
                      .engine = engine,
                      .memory_bytes = 256 << 20};
    Stream *s = stream_new(&c);
    /* Half of the instructions are frees: per add there are two. */
    printf("per add (with its free), us         CPU   budget\n");
    printf("  client, encoding                %5.2f     0.45\n", 2 * client);
    printf("  client, hot                     %5.2f     0.45\n", 2 * hot_client);
    printf("  looking for hot bodies in vain  %5.2f     0.20\n", 2 * looks);
    printf("  dispatcher                      %5.2f     0.20\n", 2 * one);
    printf("  dispatcher, hot                 %5.2f     0.20\n", 2 * hot_one);
    printf("  dispatcher, found to be hot     %5.2f     -\n", 2 * found);
    printf("  dispatcher, looking in vain     %5.2f     0.20\n", 2 * looks_there);
    printf("  dispatcher, 72 workers          %5.2f     0.20\n", 2 * many);
    printf("  dispatcher, 72 workers, copying %5.2f     1\n", 2 * copied);
    Path tiny = whole_path(s, 1, n, 0), path = whole_path(s, 64, n, 0);
    printf("  worker, 1x1                     %5.2f     0.60\n", 2 * tiny.worker);
    printf("  worker, 64x64                   %5.2f     0.60\n", 2 * path.worker);
    printf("whole path, us per add        elapsed   client+dispatcher CPU   worker CPU   budget "
           "elapsed\n");
    printf("  1x1                           %5.2f   %21.2f   %10.2f\n", 2 * tiny.elapsed,
           2 * tiny.client, 2 * tiny.worker);
    printf("  64x64                         %5.2f   %21.2f   %10.2f             0.75\n",
           2 * path.elapsed, 2 * path.client, 2 * path.worker);
    long before = resident_kb();
    Path looped = whole_path(s, 64, n, 1); /* three instructions an add */
    printf("  64x64, an edge each           %5.2f   %21.2f   %10.2f\n", 3 * looped.elapsed,
           3 * looped.client, 3 * looped.worker);
    printf("per instruction: %.4f allocations, %.4f locks, %.4f system calls; with edges %.4f, "
           "%.4f, %.4f\n",
           path.allocations, path.locks, path.system_calls, looped.allocations, looped.locks,
           looped.system_calls);
    printf("resident memory over %d instructions: %+ld KiB\n", 3 * n, resident_kb() - before);
    double bare = bare_trip(), fetch = fetch_trip(s);
    printf("fetch of a scalar %.1f us, a bare wake-up and its answer %.1f: %.1f more   budget 6\n",
           fetch, bare, fetch - bare);
    stream_free(&s);
    figure("64x64 add: CPU of the client", 2 * client, "us", "<=0.45");
    figure("64x64 add: CPU of the dispatcher", 2 * one, "us", "<=0.2");
    figure("an instruction as expected in a hot body: CPU of the client", hot_client, "us", "-");
    figure("an instruction of a hot body: CPU of the dispatcher", hot_one, "us", "<=0.2");
    figure("looking for hot bodies in vain, an instruction", looks, "us", "<=0.1");
    figure("... in the dispatcher, for a client that does not", looks_there, "us", "<=0.1");
    figure("an instruction that the dispatcher found to be hot: its CPU", found, "us", "-");
    figure("64x64 add: CPU of the dispatcher with 72 workers", 2 * many, "us", "<=0.2");
    figure("64x64 add: CPU of the worker, kernel included", 2 * path.worker, "us", "<=0.6");
    figure("64x64 add: whole path, elapsed", 2 * path.elapsed, "us", "<=0.75");
    figure("64x64 add with an edge each: whole path, elapsed", 3 * looped.elapsed, "us", "-");
    figure("64x64 add: allocations per instruction", path.allocations, "times", "<=0.05");
    figure("64x64 add: locks taken per instruction", path.locks, "times", "<=0.05");
    figure("64x64 add: system calls per instruction", path.system_calls, "times", "<=0.05");
    figure("fetch of a scalar, more than a bare wake-up and its answer", fetch - bare, "us", "<=6");
    return 0;
}
