/* shard_test: instructions in scopes through the dispatcher: the group and layout of each, and the
 * conversions that are inserted. A client's lines go in as instruction text; the frames that
 * workers get come out as text, each with its recipients first. A table holds programs and their
 * expected frames; `shard_test -v` prints the actual ones.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/cluster_words.h"
#include "dispatcher/dispatcher.h"
#include "dispatcher/state/handle.h"
#include "runtime/wire/body.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire.h"
#include "tests/unit/check.h"

enum { CLIENT = 100, WORKERS = 4, LINES_MAX = 64 };

static Dispatcher *d;
static Bodies placed[WORKERS]; /* of the dispatcher's groups, as workers know them */
static Bytes to_workers;       /* frames for workers, as text                      */
static Bytes to_client;        /* messages to the client: errors and replies */
static uint64_t seq;
static uint64_t done[WORKERS]; /* groups of workers; each worker acknowledges all before */

static void hear_frame(int rank, const Msg *m, char *to, const uint8_t **last) {
    /* A frame for several workers is printed once, after its recipients. */
    FrameReader r;
    Arena a = {0};
    Inst in;
    char number[16];
    snprintf(number, sizeof number, "w%d ", rank);
    if (*last == m->part[0]->data) {
        strcat(to, number);
        return;
    }
    *last = m->part[0]->data;
    strcpy(to, number);
    CHECK(frame_open(&r, m, NULL));
    r.placed = &placed[rank];
    int more;
    while ((more = frame_next(&r, &a, &in, NULL, NULL, NULL)) > 0) {
        if (in.op == OP_SIGNAL_ENTER || in.op == OP_SIGNAL_EXIT || in.op == OP_SIGNAL_DEFINE)
            continue;
        bytes_puts(&to_workers, r.is_inserted ? "+ " : "");
        InstPrint how = {0};
        inst_print(&in, &how, &to_workers);
        bytes_putc(&to_workers, '\n');
    }
    CHECK_INT(more, 0);
    arena_fini(&a);
}

/* Takes all messages of the dispatcher; with `acks` workers acknowledge at the end. */
static void listen(bool acks) {
    PeerId to;
    Msg m;
    bool drop;
    char who[128] = "";
    const uint8_t *last = NULL;
    uint64_t end[WORKERS] = {0};
    while (dispatcher_go_on(d)) continue;
    while (dispatcher_next(d, &to, &m, &drop)) {
        if (to >= 1 && to <= WORKERS && wire_kind(&m) == MSG_FRAME) {
            FrameReader r;
            Arena a = {0};
            Inst in;
            CHECK(frame_open(&r, &m, NULL));
            r.placed = &placed[to - 1];
            while (frame_next(&r, &a, &in, NULL, NULL, NULL) > 0) continue;
            end[to - 1] = r.seq_next;
            arena_fini(&a);
            if (last && last != m.part[0]->data) bytes_printf(&to_workers, "-> %s\n", who);
            hear_frame((int)to - 1, &m, who, &last);
        } else if (to == CLIENT && wire_kind(&m) == MSG_ERROR) {
            Failure f;
            CHECK(wire_read_failure(&m, &f, NULL));
            bytes_printf(&to_client, "%llu: %s%s%s\n", (unsigned long long)f.seq, f.err.text,
                         f.err.hint[0] ? " | " : "", f.err.hint);
        } else if (to == CLIENT && wire_kind(&m) == MSG_REPLY) {
            bytes_puts(&to_client, "reply\n");
        } else if (to == CLIENT && wire_kind(&m) == MSG_STATS_REPLY) {
            const char *text;
            size_t n;
            CHECK(wire_read_text(&m, &text, &n, NULL));
            bytes_add(&to_client, text, n);
        } else if (to == CLIENT && wire_kind(&m) == MSG_REFUSE) {
            Err err, bad;
            CHECK(wire_read_refuse(&m, &err, &bad));
            bytes_printf(&to_client, "ended: %s\n", err.text);
        } else if (to == CLIENT && wire_kind(&m) == MSG_ACK) {
            Ack ack;
            CHECK(wire_read_ack(&m, &ack, NULL));
            bytes_printf(&to_client, "ack %llu\n", (unsigned long long)ack.seq);
        }
        msg_fini(&m);
    }
    if (last) bytes_printf(&to_workers, "-> %s\n", who);
    for (int k = 0; k < WORKERS; k++)
        if (end[k]) done[k] = end[k];
    for (int k = 0; acks && k < WORKERS; k++) {
        if (!end[k]) continue;
        Ack ack = {.client = 1, .seq = end[k]};
        Msg out;
        wire_ack(&ack, &out);
        dispatcher_on_message(d, (PeerId)k + 1, &out, 0);
    }
}

static void hello(PeerId peer, Role role) {
    Msg m = make_hello(role);
    dispatcher_on_message(d, peer, &m, 0);
}

static void clear(Bytes *b) {
    b->n = 0;
    if (b->data) b->data[0] = 0;
}

static void start(void) {
    for (int k = 0; k < WORKERS; k++) placed[k].may_insert = true;
    d = dispatcher_new(&(DispatcherConfig){.workers_wanted = WORKERS});
    for (int k = 0; k < WORKERS; k++) hello((PeerId)k + 1, ROLE_WORKER);
    hello(CLIENT, ROLE_CLIENT);
    seq = 0;
    listen(true);
    clear(&to_workers), clear(&to_client);
}

static void stop(void) {
    dispatcher_free(&d);
    for (int k = 0; k < WORKERS; k++) bodies_fini(&placed[k]);
    bytes_fini(&to_workers);
    bytes_fini(&to_client);
}

/* Sends lines of instruction text as one frame. */
static void say(const char *text) {
    FrameWriter w = {0};
    Arena a = {0};
    frame_begin(&w, 0, seq);
    for (const char *line = text; *line;) {
        const char *nl = strchr(line, '\n');
        size_t n = nl ? (size_t)(nl - line) : strlen(line);
        InstLine parsed;
        Err err = {0};
        bool ok = inst_parse(line, n, &a, &parsed, &err);
        CHECK_MSG(ok, "%.*s: %s", (int)n, line, err.text);
        if (ok && !parsed.is_empty) frame_add(&w, &parsed.inst), seq++;
        line += n + (nl != NULL);
    }
    Msg m;
    frame_end(&w, &m);
    dispatcher_on_message(d, CLIENT, &m, 0);
    arena_fini(&a);
}

#include "tests/unit/shard_cases.h"

static void test_programs(bool verbose) {
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        start();
        say(programs[i].text);
        listen(true);
        const char *got = to_workers.data ? to_workers.data : "";
        if (verbose)
            printf("=== %s\n%s%s\n", programs[i].name, got, to_client.data ? to_client.data : "");
        CHECK_MSG(!strcmp(got, programs[i].want), "%s gives\n%snot\n%s", programs[i].name, got,
                  programs[i].want);
        stop();
    }
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *at = text ? text : ""; (at = strstr(at, what)); at++) n++;
    return n;
}

static void fail(int rank, uint64_t at, const char *text) {
    Failure f = {.client = 1, .seq = at, .op = OP_ADD, .worker = (uint16_t)rank};
    err_set(&f.err, ERR_MEMORY, "%s", text);
    Msg m;
    wire_failure(&f, &m);
    dispatcher_on_message(d, (PeerId)rank + 1, &m, 0);
}

static void ack(int rank, uint64_t at) {
    Ack a = {.client = 1, .seq = at};
    Msg m;
    wire_ack(&a, &m);
    dispatcher_on_message(d, (PeerId)rank + 1, &m, 0);
}

static void reply(int rank, uint64_t at, ErrCode status, uint32_t n) {
    ReplyValue v = {.status = (uint8_t)status,
                    .type = {.dtype = DT_F32},
                    .data = "\0\0\0\0",
                    .bytes = status ? 0 : 4};
    Reply r = {.client = 1, .seq = at, .n = n, .value = &v};
    Buf *none[1] = {NULL};
    Msg m;
    wire_reply(&r, none, &m);
    dispatcher_on_message(d, (PeerId)rank + 1, &m, 0);
}

static const char split_all[] = "signal define a axis=0\n"
                                "signal enter a\n"
                                "t0 = full 1 [8,2] f32\n";

/* Errors are reported in stream order, once per instruction, when all workers are past it. */
static void test_order(void) {
    start();
    say(split_all);
    say("t1 = add t0 t0\nfetch t1\n");
    listen(false);
    clear(&to_client);
    fail(2, 4, "second");
    fail(3, 3, "third rank");
    fail(1, 3, "first rank");
    reply(0, 4, ERR_MEMORY, 1);
    ack(0, 5), ack(1, 5), ack(2, 5);
    listen(false);
    CHECK_STR(to_client.data ? to_client.data : "", "");
    ack(3, 5);
    listen(false);
    CHECK_STR(to_client.data, "3: first rank\n4: second\nreply\nack 5\n");
    clear(&to_client);
    say("fetch t0\n"); /* A success is reported at once. */
    listen(false);
    reply(0, 5, ERR_NONE, 1);
    listen(false);
    CHECK_STR(to_client.data, "reply\n");
    stop();
}

/* Of many errors in flight each instruction's is reported once, in any order of arrival; errors of
 * instructions that were never sent, or are done, are ignored. */
static void test_many_errors(void) {
    enum { N = 60000, FRAME = 250 };
    start();
    say(split_all);
    for (int i = 0; i < N / FRAME; i++) {
        Bytes text = {0};
        for (int k = 1; k <= FRAME; k++) bytes_printf(&text, "t%d = exp t0\n", i * FRAME + k);
        say(text.data);
        bytes_fini(&text);
    }
    listen(false);
    clear(&to_client);
    for (int rank = WORKERS; rank-- > 0;)
        for (uint64_t i = 0; i < N; i++) fail(rank, rank % 2 ? 2 + N - i : 3 + i, "x");
    fail(1, 3 + N, "never sent");
    fail(1, UINT64_MAX, "never sent");
    for (int rank = 0; rank < WORKERS; rank++) ack(rank, UINT64_MAX), ack(rank, 3 + N);
    fail(1, 5, "done");
    listen(false);
    CHECK_INT(count(to_client.data, ": x\n"), N);
    CHECK_INT(count(to_client.data, "never sent") + count(to_client.data, "done"), 0);
    CHECK_MSG(!strncmp(to_client.data, "3: x\n4: x\n5: x\n", 15), "%.40s", to_client.data);
    stop();
}

/* A sync is answered when all workers are past it; a frame is done when all its recipients are. */
static void test_sync(void) {
    start();
    say(split_all);
    listen(false);
    say("sync\n");
    listen(false);
    clear(&to_client);
    ack(0, 3), ack(1, 3);
    reply(0, 3, ERR_NONE, 0);
    ack(0, 4);
    ack(2, 3);
    listen(false);
    CHECK_STR(to_client.data ? to_client.data : "", "");
    ack(3, 3);
    listen(false);
    CHECK_STR(to_client.data, "reply\nack 4\n");
    stop();
    start(); /* in the first frame that others get */
    say("signal define a axis=0\nsignal enter a\nt0 = full 1 [8,2] f32\nsync\n");
    listen(false);
    clear(&to_client);
    reply(0, 3, ERR_NONE, 0);
    ack(0, 4);
    listen(false);
    CHECK_STR(to_client.data ? to_client.data : "", "");
    ack(1, 4), ack(2, 4), ack(3, 4);
    listen(false);
    CHECK_STR(to_client.data, "reply\nack 4\n");
    stop();
}

/* A worker that dies ends the clients that used it; the error says how much is lost. */
static void test_death(void) {
    start();
    say("signal define a axis=0 workers=[0,2]\nsignal enter a\nt0 = full 1 [8,2] f32\n"
        "signal exit a\nt1 = full 1 [2] f32\n");
    listen(true);
    clear(&to_client);
    dispatcher_on_gone(d, 4, 0); /* w3: not used */
    listen(true);
    CHECK_INT(count(to_client.data, "ended"), 0);
    dispatcher_on_gone(d, 3, 0);
    listen(true);
    CHECK_INT(count(to_client.data, "ended: worker w2 is gone, and with it 1 tensor: it ended"), 1);
    hello(CLIENT, ROLE_CLIENT);
    seq = 0;
    listen(true);
    clear(&to_client);
    say("signal define a axis=0 workers=[0,2]\nsignal enter a\nt0 = full 1 [8,2] f32\n");
    listen(true);
    CHECK_MSG(to_client.data && strstr(to_client.data, "signal 'a': there is no worker 2"), "%s",
              to_client.data);
    stop();
}

/* Only the dispatcher may say where an instruction runs. */
static void test_claims(void) {
    static const char *const claims[] = {
        "t0 = full 1 [2] f32 on=1\n",
        "t0 = rand [4] f32 rng=[1,2] window=[0,0,4]\n",
        "t0 = full 1 [2] f32\nt1 = all_gather t0 on=1 from=1 shape=[2] dtype=f32\n",
        "t0 = full 1 [2] f32 split=[0,1]\n",
    };
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        start();
        say(claims[i]);
        listen(true);
        CHECK_MSG(to_client.data && strstr(to_client.data, "clients may not"), "%s", claims[i]);
        CHECK_MSG(strstr(to_workers.data, "poison") != NULL, "%s", to_workers.data);
        stop();
    }
}

/* Ids reserved for the dispatcher; `on` of a free; too many attributes. */
static void test_hostile(void) {
    start();
    say(split_all);
    say("t9223372036854775808 = full 1 [2] f32\n");
    say("t1 = add t0 t0 keepdims=true k=1 largest=true descending=true accumulate=true upper=true "
        "unit=true transposed=true reverse=true right=true reduce=x backward=x replicated=true "
        "compile=true nan=true as=x path=x keys=x append=true\n");
    say("free t0 on=1\n");
    listen(true);
    CHECK_MSG(strstr(to_client.data, "t9223372036854775808 is out of range"), "%s", to_client.data);
    CHECK_MSG(strstr(to_client.data, "19 attributes, but at most 17 are allowed"), "%s",
              to_client.data);
    CHECK_MSG(strstr(to_workers.data, "\nfree t0\n"), "%s", to_workers.data);
    stop();
}

/* Instructions before `check` are not checked on any worker; later ones are on all. */
static void test_check(void) {
    start();
    say("signal define a axis=0\nt0 = full 1 [8,2] f32\ncheck nan=true\n"
        "signal enter a\nt1 = exp t0\n");
    say("t2 = exp t1\n");
    listen(true);
    CHECK_STR(to_workers.data, "t0 = full 1 [8,2] f32 on=1\ncheck nan=true\n"
                               "+ t9223372036854775808 = full 1 [8,2] f32 on=5 split=[0,2]\n"
                               "t1 = exp t9223372036854775808 on=5 split=[0,2]\n-> w0 w1 w2 w3 \n"
                               "+ check nan=true\nt2 = exp t1 on=5 split=[0,2]\n-> w0 w1 w2 w3 \n");
    stop();
}

/* A `scope` is inserted where compilation at first request begins and where it ends; the innermost
 * scope that sets it counts. Other frames are forwarded unchanged. A worker that did not get the
 * last `scope` gets it before its next frame. */
static void test_compile(void) {
    start();
    say("signal define a compile=true\nsignal define b compile=false\nsignal define c axis=0 "
        "workers=[1,2]\nt0 = full 1 [8,2] f32\nsignal enter a\nt1 = exp t0\nsignal enter b\n"
        "t2 = exp t0\nsignal exit b\nt3 = exp t0\n");
    say("t4 = exp t0\n");
    say("t5 = exp t0\nsignal enter c\nt6 = full 1 [8,2] f32\n");
    say("t7 = exp t6\nsignal exit c\nsignal exit a\nt8 = exp t0\n");
    say("t9 = exp t0\n");
    say("signal enter b\nsignal define b compile=true\nt10 = exp t0\nsignal exit b\n"
        "t11 = exp t0\n");
    say("signal enter a\nsignal enter c\nt12 = exp t6\n");
    say("signal exit c\nsignal exit a\n");
    say("t13 = exp t6\n");
    listen(true);
    CHECK_STR(to_workers.data,
              "t0 = full 1 [8,2] f32 on=1\n+ scope compile=true\nt1 = exp t0 on=1\n"
              "+ scope compile=false\nt2 = exp t0 on=1\n+ scope compile=true\n"
              "t3 = exp t0 on=1\n-> w0 \n"
              "t4 = exp t0\n-> w0 \n"
              "+ scope compile=true\n-> w1 w2 \n"
              "t5 = exp t0 on=1\nt6 = full 1 [8,2] f32 on=6 split=[0,4]\n-> w0 w1 w2 \n"
              "t7 = exp t6 on=6 split=[0,4]\n+ scope compile=false\nt8 = exp t0 on=1\n"
              "-> w0 w1 w2 \n"
              "t9 = exp t0\n-> w0 \n"
              "+ scope compile=true\nt10 = exp t0 on=1\n+ scope compile=false\n"
              "t11 = exp t0 on=1\n-> w0 \n"
              "+ scope compile=true\nt12 = exp t6 on=6 split=[0,4]\n-> w0 w1 w2 \n"
              "+ scope compile=false\n-> w0 \n"
              "+ scope compile=false\n-> w1 w2 \n"
              "t13 = exp t6 on=6 split=[0,4]\n-> w1 w2 \n");
    clear(&to_workers), clear(&to_client);
    say("scope compile=true\n");
    listen(true);
    CHECK(strstr(to_client.data, "30: clients may not send 'scope'\n"));
    stop();
}

/* All tensors that a program made are freed on all workers: the ids freed are those made. */
static void test_frees(void) {
    start();
    say("signal define a axis=0\nsignal define b axis=1 workers=[3,1]\n"
        "t0 = full 1 [8,6] f32\nsignal enter a\nt1 = add t0 t0\nt2 = sum t1\nsignal exit a\n"
        "signal enter b\nt3 = mul t1 t1\nt4 = matmul t3 t1\n");
    say("free t0 t1\nfree t2 t3 t4\n");
    listen(true);
    int made = count(to_workers.data, " = "), freed = 0;
    for (const char *at = to_workers.data; (at = strstr(at, "free ")); at++)
        for (const char *c = at; *c && *c != '\n'; c++) freed += c[0] == ' ' && c[1] == 't';
    CHECK_INT(freed, made);
    stop();
}

/* A free goes to all workers that have one of its tensors, and to no others. */
static void test_free_of_groups(void) {
    start();
    say("signal define a axis=0 workers=[1]\nsignal define b axis=0 workers=[2]\nsignal enter a\n"
        "t0 = full 1 [8,6] f32\nsignal exit a\nsignal enter b\nt1 = full 1 [8,6] f32\n"
        "t2 = full 1 [8,6] f32\nsignal exit b\n");
    listen(true);
    clear(&to_workers);
    say("free t1 t0 t2\n");
    listen(true);
    CHECK_STR(to_workers.data, "free t1 t0 t2\n-> w1 w2 \n");
    stop();
}

/* A loop over slices: copies of all but the last windows are freed, and the rest with the tensor.
 * One instruction may need more of them than are kept. */
static void test_copies(void) {
    start();
    say("signal define a axis=0\nsignal enter a\nt0 = randn [64,2] f32 rng=1:0\nsignal exit a\n");
    for (int i = 1; i <= 40; i++) {
        char line[96];
        snprintf(line, sizeof line, "t%d = slice t0 [%d:%d,0:2]\nfree t%d\n", i, i, i + 8, i);
        say(line);
    }
    listen(true);
    int made = count(to_workers.data, " = all_to_all"), freed = count(to_workers.data, "+ free ");
    CHECK_INT(made, 40);
    CHECK_INT(made - freed, 16);
    Bytes text = {0};
    bytes_puts(&text, "t41 = cat");
    for (int i = 0; i < 50; i++) bytes_puts(&text, " t0");
    bytes_puts(&text, " axis=0\nfree t0\n");
    say(text.data);
    bytes_fini(&text);
    listen(true);
    made = count(to_workers.data, " = all_to_all"), freed = count(to_workers.data, "+ free ");
    CHECK_INT(made, 90);
    CHECK_INT(freed, made);
    stop();
}

/* Copies take as many bytes as tensors may, and no more: others are made again for each use. */
static void test_copy_bytes(void) {
    static const char *const names[] = {"a", "b", "c"};
    enum { EACH = 8 * 40 * 4, MAX = 11 * (EACH + TENSOR_HEAD) };
    start();
    dispatcher_free(&d);
    d = dispatcher_new(&(DispatcherConfig){.workers_wanted = WORKERS, .client_bytes_max = MAX});
    for (int k = 0; k < WORKERS; k++) hello((PeerId)k + 1, ROLE_WORKER);
    hello(CLIENT, ROLE_CLIENT);
    say("signal define a axis=0\nsignal define b axis=1\nsignal define c workers=[2,1]\n");
    for (int i = 0; i < 10; i++) {
        char line[64];
        snprintf(line, sizeof line, "t%d = randn [8,40] f32 rng=1:%d\n", i, i);
        say(line);
    }
    for (int i = 0; i < 30; i++) {
        char line[128];
        snprintf(line, sizeof line, "signal enter %s\nt%d = exp t%d\nfree t%d\nsignal exit\n",
                 names[i / 10], 10 + i, i % 10, 10 + i);
        say(line);
    }
    listen(true);
    int made = count(to_workers.data, "+ t"), freed = count(to_workers.data, "+ free ");
    CHECK_INT(made, 30);
    CHECK_MSG((made - freed) * EACH <= MAX && made - freed >= 10, "%d of %d are left", made - freed,
              made);
    CHECK_MSG(!to_client.data || !strstr(to_client.data, ": "), "%s", to_client.data);
    stop();
}

/* A redefinition takes effect at once in open scopes of that name, and in no others. */
static void test_redefined(void) {
    start();
    say("signal define a axis=0\nsignal define b workers=[1]\nsignal enter b\nsignal enter a\n"
        "signal enter x\nt0 = full 1 [8,2] f32\nsignal define a axis=1\nt1 = full 1 [8,2] f32\n"
        "signal define x workers=[2]\nt2 = full 1 [8,2] f32\nsignal define b workers=[3]\n"
        "t3 = full 1 [8,2] f32\nsignal exit a\nt4 = full 1 [8,2] f32\n");
    listen(true);
    CHECK_STR(to_workers.data, "t0 = full 1 [8,2] f32 on=5 split=[0,2]\n"
                               "t1 = full 1 [8,2] f32 on=5 split=[1,1]\n"
                               "t2 = full 1 [8,2] f32 on=3\n"
                               "t3 = full 1 [8,2] f32 on=3\n"
                               "t4 = full 1 [8,2] f32 on=4\n-> w0 w1 w2 w3 \n");
    stop();
}

/* A client that makes groups without end is refused more, but every new worker still gets its own
 * group, and after the client has left, another one may make as many. */
static void test_groups(void) {
    enum { ALL = 16, SESSIONS = 2, GROUPS = 300 };
    start();
    for (PeerId k = WORKERS; k < ALL; k++) hello(1000 + k, ROLE_WORKER);
    for (int session = 0; session < SESSIONS; session++) {
        dispatcher_on_gone(d, CLIENT, 0);
        hello(CLIENT, ROLE_CLIENT);
        seq = 0;
        clear(&to_client);
        for (int made = 0; made < GROUPS; made++) {
            if (made == GROUPS / 2) {
                listen(true);
                CHECK_MSG(!to_client.n, "session %d: %.99s", session, to_client.data);
            }
            char line[96];
            int a = made % ALL, b = (a + 1 + made / ALL % 15) % ALL;
            int c = (a + 1 + (made / ALL + 1 + made / ALL / 15) % 15) % ALL;
            snprintf(line, sizeof line,
                     "signal define a workers=[%d,%d,%d]\nsignal enter a\nsignal exit a\n", a, b,
                     c);
            say(line);
        }
        listen(true);
        CHECK_MSG(to_client.n &&
                      strstr(to_client.data, "more groups of workers than one client may make"),
                  "session %d: %.99s", session, to_client.n ? to_client.data : "");
    }
    for (PeerId k = ALL; k < 2 * ALL; k++) hello(1000 + k, ROLE_WORKER);
    for (PeerId k = 0; k < ALL; k++) dispatcher_on_gone(d, k < WORKERS ? k + 1 : 1000 + k, 0);
    hello(CLIENT, ROLE_CLIENT);
    seq = 0;
    listen(true);
    clear(&to_client);
    say("t0 = full 1 [8,2] f32\nt1 = exp t0\n");
    listen(true);
    CHECK_STR(to_client.data ? to_client.data : "", "");
    stop();
}

static void test_place(void) {
    start();
    say(split_all);
    Msg m;
    wire_text(MSG_STATS, "tensor 0", 8, &m);
    dispatcher_on_message(d, CLIENT, &m, 0);
    wire_text(MSG_STATS, "tensor 7", 8, &m);
    dispatcher_on_message(d, CLIENT, &m, 0);
    clear(&to_client);
    for (int k = 0; k < WORKERS; k++) {
        wire_text(MSG_STATS_REPLY, "shape=[2,2]\n", 12, &m);
        dispatcher_on_message(d, (PeerId)k + 1, &m, 0);
    }
    listen(true);
    CHECK_MSG(to_client.data && strstr(to_client.data, "absent=1\n") &&
                  strstr(to_client.data, "layout=split 0 / 2\ngroup=0,1,2,3\nw0.shape=[2,2]\n"),
              "%s", to_client.data);
    stop();
}

int main(int argc, char **argv) {
    test_programs(argc > 1 && !strcmp(argv[1], "-v"));
    test_order();
    test_many_errors();
    test_sync();
    test_death();
    test_claims();
    test_hostile();
    test_check();
    test_compile();
    test_frees();
    test_free_of_groups();
    test_copies();
    test_copy_bytes();
    test_redefined();
    test_groups();
    test_place();
    return check_report("shard");
}
