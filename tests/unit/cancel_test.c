/* cancel_test.c: calls that a cancel, or their client's end, ends while they run. Each kind of
 * kernel that may take long must end early; its result is poisoned; one error reports all lost
 * instructions; later ones before the cancel are dropped without being started; and the
 * instructions after it run normally. The engine polls before the first part that it may skip,
 * because it has never polled before: nothing here depends on time.
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "worker/exec/cancel.h"
#include "worker/exec/exec.h"
#include "worker/worker.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire.h"

enum { CLIENT = 3, OTHER = 4, THREADS = 3 };

typedef struct Talk {
    Exec *x;
    uint64_t seq;
    int n_polls;     /* how often the engine polled */
    uint32_t names;  /* the client to cancel then */
    uint64_t before; /* its instructions below this; 0: none */
    int replies, failures;
    uint8_t status; /* of the last reply */
    double value;
    Failure failure;
} Talk;

static void poll_messages(void *ctx) {
    Talk *t = ctx;
    t->n_polls++;
    if (t->before) exec_cancel_running(t->x, t->names, t->before);
}

static void take(Talk *t) {
    Msg m = {0};
    Arena a = {0};
    Reply r;
    while (exec_next(t->x, &m)) {
        if (wire_kind(&m) == MSG_REPLY && wire_read_reply(&m, &a, &r, NULL) && ++t->replies) {
            t->status = r.value[0].status;
            float f = 0;
            if (!t->status) memcpy(&f, r.value[0].data, sizeof f);
            t->value = (double)f;
        }
        if (wire_kind(&m) == MSG_ERROR && wire_read_failure(&m, &t->failure, NULL)) t->failures++;
        msg_fini(&m);
        arena_reset(&a);
    }
    arena_fini(&a);
}

/* Sends instruction text, one per line, as one frame. */
static void send_text(Talk *t, uint32_t client, const char *text) {
    Arena a = {0};
    FrameWriter w = {0};
    frame_begin(&w, client, t->seq);
    for (const char *end; *text; text = end + 1) {
        end = strchr(text, '\n');
        InstLine line = {0};
        Err err = {0};
        bool ok = inst_parse(text, (size_t)(end - text), &a, &line, &err);
        CHECK_MSG(ok, "%.*s: %s", (int)(end - text), text, err.text);
        if (!ok) break;
        frame_add(&w, &line.inst);
        t->seq++;
    }
    Msg m = {0};
    frame_end(&w, &m);
    exec_on_frame(t->x, &m);
    for (int i = 0; i < 100000 && exec_step(t->x, 1000); i++) {}
    take(t);
    arena_fini(&a);
}

/* With one thread the engine is certain to poll before the first part; with several the other
 * threads may have done their parts by then. */
static void talk_open(Talk *t, const EngineOps *ops, int threads) {
    *t = (Talk){0};
    Err err = {0};
    t->x = worker_exec(ops, &(EngineConfig){.memory_bytes = 256 << 20, .threads = threads}, &err);
    CHECK_MSG(t->x != NULL, "%s", err.text);
}

/* t1 is the result of the long instruction, or one of them. */
typedef struct Case {
    const char *before, *text;
} Case;
#define EXPANDED "t0 = full 1 [1] f32\nt8 = expand t0 [68719476736]\n"
#define LINE     "t0 = full 1 [1100000] f32\n"
static const Case cases[] = {
    {EXPANDED, "t1 = sum t8\n"},
    {EXPANDED, "t1 = max t8\n"},
    {LINE, "t1 = add t0 1\nt2 = exp t1\nt3 = mul t1 t2\n"},
    {"", "t1 = rand [1100000] f32 rng=1:0\n"},
    {LINE, "t1 = sort t0 axis=0 descending=false\n"},
    {LINE, "t1 = argsort t0 axis=0 descending=true\n"},
    {LINE, "t1,t2 = topk t0 1000 axis=0\n"},
    {"t0 = full 1 [1100000] f64\n", "t1 = sort t0 axis=0 descending=false\n"},
    {LINE, "t1 = cumsum t0 axis=0\n"},
    {LINE, "t1 = recurrence t0 t0 axis=0\n"},
    {LINE, "t1,t2 = cummax t0 axis=0\n"},
    {"t0 = full 1 [1100000] f16\n", "t1,t2 = cummax t0 axis=0\n"},
    {"t0 = full 1 [1100000] f16\n", "t1 = argmax t0 keepdims=false\n"},
    {"t0 = full 1 [1000,1000] f32\n", "t1 = matmul t0 t0\n"},
    {"t0 = full 1 [500,500] f64\n", "t1 = matmul t0 t0\n"},
    {"t0 = full 1 [300,300] f32\n", "t1,t2 = lu t0\n"},
    {"t0 = full 1 [300,300] f32\n", "t1 = cholesky t0\n"},
    {"t0 = full 1 [200,40,40] f32\n", "t1,t2 = lu t0\n"},
    {"t0 = full 1 [16,8,32,32] f32\nt5 = full 1 [8,8,3,3] f32\n",
     "t1 = conv t0 t5 stride=[1,1] padding=[1,1] dilation=[1,1] groups=1\n"},
    {LINE "t5 = full 0 [1100000] i64\n", "t1 = index t0 t5 axis=0\n"},
    {LINE "t5 = full 0 [1100000] i64\n", "t1 = gather t0 t5 axis=0\n"},
    {LINE "t5 = full 0 [1100000] i64\n", "t1 = scatter_add t0 t5 t0 axis=0\n"},
    {LINE "t5 = full 0 [1100000] i64\n", "t1 = scatter_reduce t0 t5 t0 axis=0 reduce=amax\n"},
    {LINE "t5 = full 0 [1100000] i64\n", "t1 = index_put t0 t0 t5 axis=0 accumulate=true\n"},
};

/* Each call is cancelled at the first poll. */
static void each(const EngineOps *ops) {
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Talk t;
        talk_open(&t, ops, 1);
        const char *text = cases[i].text;
        send_text(&t, CLIENT, cases[i].before);
        CHECK_MSG(t.failures == 0, "%s: %s", cases[i].before, t.failure.err.text);
        exec_set_poll(t.x, poll_messages, &t);
        t.names = CLIENT;
        t.before = t.seq + 100;
        uint64_t first = t.seq;
        send_text(&t, CLIENT, text);
        send_text(&t, CLIENT, "t9 = full 5 [2] f32\nfetch t1\n");
        CHECK_MSG(t.n_polls == 1, "%s: asked %d times", text, t.n_polls);
        CHECK_MSG(t.failures == 1 && t.failure.err.code == ERR_CANCELLED, "%s: %d failures: %s",
                  text, t.failures, t.failure.err.text);
        CHECK_INT(t.failure.seq, first);
        CHECK_MSG(t.replies == 1 && t.status == ERR_CANCELLED, "%s: status %d", text, t.status);
        exec_on_cancel(t.x, CLIENT, t.before); /* the cancel that ended it arrives */
        CHECK_INT(t.failures, 1);
        t.seq = t.before;
        t.before = 0;
        send_text(&t, CLIENT, "t10 = full 5 [2] f32\nt11 = add t10 1\nt12 = sum t11\nfetch t12\n");
        CHECK_INT(t.replies, 2);
        CHECK_INT(t.status, 0);
        CHECK(t.value == 12);
        CHECK_INT(t.failures, 1);
        exec_free(&t.x);
    }
}

/* The client ends during its call: nothing is reported, and all memory is freed. */
static void gone(void) {
    Talk t;
    uint64_t used, peak, total;
    talk_open(&t, &engine_cpu, THREADS);
    exec_set_poll(t.x, poll_messages, &t);
    t.names = CLIENT, t.before = UINT64_MAX;
    send_text(&t, CLIENT, EXPANDED "t1 = sum t8\nt2 = sum t8\nfetch t2\n");
    CHECK_INT(t.n_polls, 1);
    CHECK_INT(t.failures, 0);
    exec_on_gone(t.x, CLIENT);
    t.x->ops->memory(t.x->engine, &used, &peak, &total);
    CHECK_INT(used, 0);
    t.seq = 0, t.before = 0;
    send_text(&t, OTHER, "t0 = full 2 [8] f32\nt1 = sum t0\nfetch t1\n");
    CHECK(t.status == 0 && t.value == 16);
    exec_free(&t.x);
}

/* A cancel of another client, or of earlier instructions, ends no call. */
static void others(void) {
    static const struct {
        uint32_t client;
        uint64_t before;
    } wrong[] = {{OTHER, 100}, {CLIENT, 10}};
    for (int i = 0; i < 2; i++) {
        Talk t;
        talk_open(&t, &engine_cpu, 1);
        exec_set_poll(t.x, poll_messages, &t);
        t.names = wrong[i].client, t.before = wrong[i].before, t.seq = 10;
        send_text(&t, CLIENT, LINE "t1 = cumsum t0 axis=0\nt2 = max t1\nfetch t2\n");
        CHECK(t.n_polls > 0);
        CHECK_INT(t.failures, 0);
        CHECK(t.status == 0 && t.value == 1100000);
        exec_free(&t.x);
    }
}

/* The worker shuts down. */
static void the_end(void) {
    Talk t;
    talk_open(&t, &engine_cpu, THREADS);
    exec_set_poll(t.x, poll_messages, &t);
    exec_end(t.x);
    send_text(&t, CLIENT, EXPANDED "t1 = sum t8\nfetch t1\n");
    CHECK_INT(t.status, ERR_CANCELLED);
    exec_free(&t.x);
}

/* An engine that needs long for a mark: while exec waits for it without a step, it polls. */
static int looks;
static int slow_done(Engine *e, Ticket t, bool wait, Err *err) {
    return ++looks <= 3 ? 0 : engine_late.done(e, t, wait, err);
}
static void waits(void) {
    Talk t;
    EngineOps slow = engine_late;
    slow.done = slow_done;
    talk_open(&t, &slow, 1);
    send_text(&t, CLIENT, LINE "t1 = cumsum t0 axis=0\n");
    exec_set_poll(t.x, poll_messages, &t);
    looks = 0;
    exec_on_gone(t.x, CLIENT);
    CHECK(t.n_polls >= 3);
    exec_set_poll(t.x, NULL, NULL);
    exec_free(&t.x);
}

int main(void) {
    each(&engine_cpu);
    gone();
    others();
    the_end();
    waits();
    return check_report("cancel");
}
