/* exec_test.c: instructions through exec, on the reference engine and on one that finishes calls
 * later and out of order (delayed_engine.h): poison, memory, views, order of effects, cancel,
 * hostile frames, and random programs that must give the same replies on both.
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "random.h"
#include "tests/unit/make_inst.h"
#include "delayed_engine.h"
#include "worker/exec/exec.h"
#include "worker/exec/stats.h"
#include "worker/exec/watch.h"
#include "worker/worker.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire_peer.h"
#include "runtime/wire/wire_watch.h"
#include <unistd.h>

/* ---- A client that writes frames and reads replies ---- */

enum { CLIENT = 7, REPLIES = 4096, FAILURES = 256 };

typedef struct Got {
    uint64_t seq;
    uint32_t n;
    uint8_t status;
    uint32_t edge;
    TensorType type;
    double value[64];
    uint64_t hash;
} Got;
typedef struct Talk {
    Exec *x;
    FrameWriter w;
    uint32_t client;
    uint64_t seq;
    Got got[REPLIES];
    int n_got;
    Failure failure[FAILURES];
    int n_failure;
    Ack ack;
    int n_ack;
    int out_of_order;
    uint64_t last_seq;
} Talk;

static Talk *talk_new(const EngineOps *ops, uint64_t memory) {
    Talk *t = xcalloc(1, sizeof *t);
    Err err = {0};
    t->x = worker_exec(ops, &(EngineConfig){.memory_bytes = memory, .threads = 1}, &err);
    CHECK_MSG(t->x != NULL, "%s", err.text);
    t->client = CLIENT;
    frame_begin(&t->w, CLIENT, 0);
    t->w.edge_id = UINT64_MAX;
    return t;
}

static void flush(Talk *t) {
    Msg m = {0};
    frame_end(&t->w, &m);
    exec_on_frame(t->x, &m);
    frame_begin(&t->w, t->client, t->seq);
}

static void emit(Talk *t, const Inst *in) {
    frame_add(&t->w, in);
    t->seq++;
    if (frame_is_full(&t->w)) flush(t);
}

static void keep_reply(Talk *t, const Reply *r) {
    Got *g = &t->got[t->n_got++ % REPLIES];
    *g = (Got){.seq = r->seq, .n = r->n, .hash = r->n};
    t->out_of_order += r->seq < t->last_seq;
    t->last_seq = r->seq;
    for (uint32_t i = 0; i < r->n; i++) {
        const ReplyValue *v = &r->value[i];
        if (i == 0) g->status = v->status, g->edge = v->edge, g->type = v->type;
        g->hash = g->hash * 31 + v->status;
        if (v->status) continue;
        g->hash = hash_bytes(v->data, v->bytes, g->hash);
        int64_t n = (int64_t)reply_value_numel(&v->type, v->edge);
        View view = {.type = {.dtype = v->type.dtype}, .data = (void *)v->data};
        for (int64_t k = 0; i == 0 && k < n && k < 64; k++)
            g->value[k] = dtype_is_float((DType)v->type.dtype) ? ref_float(&view, k)
                                                               : (double)ref_int(&view, k);
    }
}

/* Takes all messages that are available. */
static void take(Talk *t) {
    Msg m = {0};
    Arena a = {0};
    Reply r;
    while (exec_next(t->x, &m)) {
        switch (wire_kind(&m)) {
        case MSG_REPLY:
            CHECK(wire_read_reply(&m, &a, &r, NULL));
            if (r.client == t->client) keep_reply(t, &r);
            break;
        case MSG_ERROR:
            CHECK(wire_read_failure(&m, &t->failure[t->n_failure++ % FAILURES], NULL));
            break;
        case MSG_ACK:
            CHECK(wire_read_ack(&m, &t->ack, NULL));
            t->n_ack++;
            break;
        default: CHECK_MSG(0, "a message of kind %d", wire_kind(&m));
        }
        msg_fini(&m);
        arena_reset(&a);
    }
    arena_fini(&a);
}

static void run(Talk *t) {
    flush(t);
    for (int i = 0; i < 1000000 && exec_step(t->x, 1000); i++) {}
    take(t);
    CHECK_INT(t->out_of_order, 0);
    CHECK_INT(t->ack.seq, t->seq);
}

static void talk_free(Talk *t) {
    Msg m = {0};
    frame_end(&t->w, &m);
    msg_fini(&m);
    exec_free(&t->x);
    free(t);
}

static uint64_t used_bytes(const Talk *t) {
    uint64_t used, peak, total;
    t->x->ops->memory(t->x->engine, &used, &peak, &total);
    return used;
}
static const Got *last_got(const Talk *t) { return &t->got[(t->n_got - 1) % REPLIES]; }
static const Failure *last_failure(const Talk *t) {
    return &t->failure[(t->n_failure - 1) % FAILURES];
}

/* ---- Short spellings ---- */

static void op_n(Talk *t, Op op, uint64_t out, const Attr *attr, int n_attr, int n_in,
                 const uint64_t *id) {
    Operand in[16];
    for (int i = 0; i < n_in; i++) in[i] = of_tensor(id[i]);
    Inst inst = {.op = op,
                 .n_in = (uint16_t)n_in,
                 .in = in,
                 .attr = attr,
                 .n_attr = (uint16_t)n_attr,
                 .pos = {1, 2, 3}};
    if (out) inst.n_out = 1, inst.out[0] = out;
    emit(t, &inst);
}
#define IDS(...)                                                                                   \
    (int)(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)), (uint64_t[]) { __VA_ARGS__ }
#define OPS(t, op, out, ...) op_n(t, op, out, NULL, 0, IDS(__VA_ARGS__))
#define INTS(k, ...)                                                                               \
    {                                                                                              \
        .key = k, .n = sizeof((int64_t[]){__VA_ARGS__}) / 8, .ints = (int64_t[]) { __VA_ARGS__ }   \
    }

static void full(Talk *t, uint64_t out, double v, DType d, int64_t rows, int64_t cols) {
    emit(t, &FULL(out, 2, ((int64_t[]){rows, cols}), d, v));
}
static void arange(Talk *t, uint64_t out, DType d, int64_t n) {
    emit(t,
         &(Inst){.op = OP_ARANGE, OPERANDS(of_int(0), of_int(1)), SHAPED(1, &n, d), RESULTS(out)});
}
static void reshape(Talk *t, uint64_t out, uint64_t in, int64_t rows, int64_t cols) {
    Attr attr[] = {INTS(ATTR_SHAPE, rows, cols)};
    op_n(t, OP_RESHAPE, out, attr, 1, IDS(in));
}
static void expand(Talk *t, uint64_t out, uint64_t in, int64_t rows, int64_t cols) {
    Attr attr[] = {INTS(ATTR_SHAPE, rows, cols)};
    op_n(t, OP_EXPAND, out, attr, 1, IDS(in));
}
static void transpose(Talk *t, uint64_t out, uint64_t in) {
    Attr attr[] = {INTS(ATTR_AXES, 1, 0)};
    op_n(t, OP_PERMUTE, out, attr, 1, IDS(in));
}
static void slice(Talk *t, uint64_t out, uint64_t in, int64_t r0, int64_t rows, int64_t c0,
                  int64_t cols) {
    Attr attr[] = {INTS(ATTR_START, r0, c0), INTS(ATTR_SIZE, rows, cols), INTS(ATTR_STEP, 1, 1)};
    op_n(t, OP_SLICE, out, attr, 3, IDS(in));
}
static void index_op(Talk *t, uint64_t out, uint64_t x, uint64_t idx) {
    Attr attr[] = {INTS(ATTR_AXIS, 0)};
    op_n(t, OP_INDEX, out, attr, 1, IDS(x, idx));
}
static void assert_op(Talk *t, uint64_t in, const char *text) {
    emit(t, &(Inst){.op = OP_ASSERT,
                    OPERANDS(of_tensor(in)),
                    ATTRS(attr_text(ATTR_FORMAT, text)),
                    .pos = {1, 2, 3}});
}

/* ---- Tests, each on both engines ---- */

static void test_values(const EngineOps *ops) {
    Talk *t = talk_new(ops, 64 << 20);
    full(t, 1, 1.5, DT_F32, 2, 3);
    OPS(t, OP_ADD, 2, 1, 1);
    OPS(t, OP_FREE, 0, 1);
    emit(t, &(Inst){.op = OP_SUB, OPERANDS(of_int(10), of_tensor(2)), RESULTS(3)});
    OPS(t, OP_FETCH, 0, 3);
    OPS(t, OP_FREE, 0, 2);
    OPS(t, OP_FREE, 0, 3);
    run(t);
    CHECK_INT(t->n_failure, 0);
    CHECK_INT(t->n_got, 1);
    CHECK(last_got(t)->value[0] == 7 && last_got(t)->value[5] == 7);
    CHECK_INT(used_bytes(t), 0);
    /* data: inline and in a message part of its own */
    static double big[20000];
    for (int i = 0; i < 20000; i++) big[i] = i;
    for (int64_t n = 3; n <= 20000; n += 19997) {
        emit(t, &(Inst){.op = OP_DATA,
                        SHAPED(1, &n, DT_F64),
                        RESULTS(10 + (uint64_t)n),
                        BYTES(big, 8 * (uint64_t)n)});
        OPS(t, OP_FETCH, 0, 10 + (uint64_t)n);
        OPS(t, OP_FREE, 0, 10 + (uint64_t)n);
        run(t);
        CHECK(last_got(t)->value[2] == 2 && last_got(t)->type.shape[0] == n);
    }
    CHECK_INT(used_bytes(t), 0);
    talk_free(t);
}

static void test_poison(const EngineOps *ops) {
    Talk *t = talk_new(ops, 64 << 20);
    arange(t, 1, DT_F32, 10);
    full(t, 2, 12, DT_I64, 1, 1);
    index_op(t, 3, 1, 2); /* fails in the engine */
    OPS(t, OP_ADD, 4, 3, 3);
    transpose(t, 5, 4);
    OPS(t, OP_FREE, 0, 3);
    OPS(t, OP_NEG, 6, 5);
    OPS(t, OP_FETCH, 0, 6);
    OPS(t, OP_FETCH, 0, 1);
    assert_op(t, 6, "never said");
    OPS(t, OP_PRINT, 0, 1); /* no format: refused by inference */
    run(t);
    CHECK_INT(t->n_failure, 2);
    CHECK_INT(t->failure[0].err.code, ERR_INDEX);
    CHECK_STR(t->failure[0].err.text,
              "index 12 at position [0, 0] is out of range for axis 0 of size 10");
    CHECK_INT(t->failure[0].seq, 2);
    CHECK_INT(t->failure[0].op, OP_INDEX);
    CHECK_INT(t->failure[0].pos.line, 3);
    CHECK_INT(t->n_got, 4);
    CHECK_INT(t->got[0].status, ERR_INDEX);
    CHECK_INT(t->got[1].status, 0);
    CHECK_INT(t->got[2].status, ERR_INDEX);
    CHECK_INT(t->got[3].status, ERR_ARG);
    /* Shapes that do not match; an unknown id; a duplicate id: each is reported once, and execution
     * continues. */
    full(t, 20, 1, DT_F32, 2, 3);
    full(t, 21, 1, DT_F32, 3, 2);
    OPS(t, OP_ADD, 22, 20, 21);
    OPS(t, OP_NEG, 23, 22);
    OPS(t, OP_ADD, 24, 20, 999);
    full(t, 20, 5, DT_F32, 9, 9);
    OPS(t, OP_FREE, 0, 998);
    OPS(t, OP_FETCH, 0, 20);
    run(t);
    CHECK_INT(t->n_failure, 6);
    CHECK_INT(t->failure[2].err.code, ERR_SHAPE);
    CHECK_INT(t->failure[3].err.code, ERR_ID);
    CHECK_INT(t->failure[4].err.code, ERR_ID);
    CHECK_INT(t->failure[5].err.code, ERR_ID);
    CHECK(last_got(t)->value[0] == 1);
    /* the dispatcher's own poison */
    emit(t, &(Inst){.op = OP_POISON, .n_out = 2, .out = {30, 31}});
    OPS(t, OP_ADD, 32, 31, 20);
    OPS(t, OP_FETCH, 0, 32);
    run(t);
    CHECK_INT(t->n_failure, 6);
    CHECK(last_got(t)->status != 0);
    exec_on_gone(t->x, CLIENT);
    while (exec_step(t->x, 1000)) {}
    CHECK_INT(used_bytes(t), 0);
    CHECK_INT(t->x->store.n_storages, 0);
    talk_free(t);
}

/* Many calls may fail, and some do: each failure is reported once, in order, and exactly what is
 * computed from its result is poisoned. A call that reads such a result has no failure of its own.
 */
static void test_failures(const EngineOps *ops) {
    enum { CALLS = 150, ID = 1000 };
    Talk *t = talk_new(ops, 64 << 20);
    arange(t, 1, DT_I64, 10);
    for (int i = 0; i < CALLS; i++) {
        uint64_t id = ID + 10 * (uint64_t)i;
        bool is_bad = i % 7 == 3;
        full(t, id, is_bad ? 12 + i : 4, DT_I64, 1, 1);
        index_op(t, id + 1, 1, id);
        OPS(t, OP_ADD, id + 2, id + 1, id + 1);
        index_op(t, id + 3, id + 2, id); /* (1, 1): all but the bad ones are out of range */
        index_op(t, id + 4, 1, id + 2);
        OPS(t, OP_ADD, id + 5, id, id);
        if (i % 5 == 0) OPS(t, OP_FETCH, 0, id + 2);
        if (i % 5 == 0) OPS(t, OP_FETCH, 0, id + 5);
        OPS(t, OP_FREE, 0, id + 1, id + 3, id + 4);
    }
    for (int i = 0; i < CALLS; i++) OPS(t, OP_FETCH, 0, ID + 10 * (uint64_t)i + 2);
    run(t);
    CHECK_INT(t->n_failure, CALLS);
    uint64_t last = 0;
    for (int i = 0; i < CALLS; i++) {
        const Failure *f = &t->failure[i];
        CHECK(f->seq > last && f->err.code == ERR_INDEX);
        last = f->seq;
        bool is_bad = i % 7 == 3;
        char text[80];
        snprintf(text, sizeof text,
                 "index %d at position [0, 0] is out of range for axis 0 of size %d",
                 is_bad ? 12 + i : 4, is_bad ? 10 : 1);
        CHECK_STR(f->err.text, text);
    }
    for (int i = 0, k = 0; i < CALLS; i++) {
        const Got *g = &t->got[t->n_got - CALLS + i];
        CHECK_INT(g->status, i % 7 == 3 ? ERR_INDEX : 0);
        if (i % 7 != 3) CHECK(g->value[0] == 8);
        if (i % 5) continue;
        CHECK_INT(t->got[k].status, g->status);
        CHECK_INT(t->got[k + 1].status, 0);
        k += 2;
    }
    exec_on_gone(t->x, CLIENT);
    while (exec_step(t->x, 1000)) {}
    CHECK_INT(used_bytes(t), 0);
    talk_free(t);
}

static void test_views(const EngineOps *ops) {
    Talk *t = talk_new(ops, 64 << 20);
    arange(t, 1, DT_I64, 24);
    reshape(t, 2, 1, 4, 6);
    slice(t, 3, 2, 1, 2, 2, 3); /* [[8 9 10] [14 15 16]] */
    OPS(t, OP_FREE, 0, 1);
    OPS(t, OP_FREE, 0, 2);
    transpose(t, 4, 3);
    OPS(t, OP_FREE, 0, 3);
    uint64_t before = t->x->kernels;
    reshape(t, 5, 4, 1, 6); /* a copy: 8 14 9 15 10 16 */
    OPS(t, OP_FETCH, 0, 5);
    OPS(t, OP_FETCH, 0, 4);
    run(t);
    CHECK_INT(t->x->kernels, before + 2); /* arange and the copy */
    double want[] = {8, 14, 9, 15, 10, 16};
    for (int i = 0; i < 6; i++) {
        CHECK_INT(t->got[0].value[i], want[i]);
        CHECK_INT(t->got[1].value[i], want[i]);
    }
    CHECK(t->got[1].type.shape[0] == 3 && t->got[1].type.shape[1] == 2);
    CHECK(used_bytes(t) > 0);
    OPS(t, OP_FREE, 0, 4);
    OPS(t, OP_FREE, 0, 5);
    run(t);
    CHECK_INT(used_bytes(t), 0);
    CHECK_INT(t->x->store.n_storages, 0);
    /* a dying operand is overwritten only if nothing else refers to it */
    arange(t, 10, DT_I64, 24);
    reshape(t, 11, 10, 4, 6);
    OPS(t, OP_NEG, 12, 10);
    OPS(t, OP_FREE, 0, 10);
    OPS(t, OP_FETCH, 0, 11);
    OPS(t, OP_NEG, 13, 12);
    OPS(t, OP_FREE, 0, 12);
    OPS(t, OP_FETCH, 0, 13);
    run(t);
    CHECK_INT(t->got[2].value[23], 23);
    CHECK_INT(t->got[3].value[23], 23);
    CHECK_INT(t->n_failure, 0);
    talk_free(t);
}

static void test_memory(const EngineOps *ops) {
    Talk *t = talk_new(ops, 1 << 20);
    full(t, 1, 1, DT_F32, 64, 1024);  /* 256 KiB */
    full(t, 2, 1, DT_F32, 512, 1024); /* 2 MiB: too much */
    OPS(t, OP_FETCH, 0, 2);
    run(t);
    CHECK_INT(t->n_failure, 1);
    CHECK_INT(t->failure[0].err.code, ERR_MEMORY);
    CHECK_STR(t->failure[0].err.text,
              "worker w0 is out of memory: 'full' needs 2.0 MiB, 768 KiB of 1.0 MiB free");
    CHECK_STR(t->failure[0].err.hint,
              "the result is (512, 1024) f32; largest here: t1 (64, 1024) f32 256 KiB");
    CHECK_INT(last_got(t)->status, ERR_MEMORY);
    /* far more than fits, one after another: calls in flight are waited for */
    uint64_t id = 100;
    for (int i = 0; i < 300; i++, id += 2) {
        OPS(t, OP_ADD, id, 1, 1);
        OPS(t, OP_ADD, id + 1, id, 1);
        OPS(t, OP_FREE, 0, id);
        OPS(t, OP_FREE, 0, id + 1);
    }
    run(t);
    CHECK_INT(t->n_failure, 1);
    OPS(t, OP_FREE, 0, 1);
    OPS(t, OP_FREE, 0, 2);
    run(t);
    CHECK_INT(used_bytes(t), 0);
    talk_free(t);
}

static void test_effects(const EngineOps *ops) {
    Talk *t = talk_new(ops, 64 << 20);
    arange(t, 1, DT_F32, 4000);
    reshape(t, 2, 1, 40, 100);
    Attr print[] = {{.key = ATTR_FORMAT, .str = "{}", .n = 2},
                    {.key = ATTR_EDGE, .i = 2},
                    {.key = ATTR_THRESHOLD, .i = 50}};
    op_n(t, OP_PRINT, 0, print, 3, IDS(2));
    slice(t, 3, 2, 0, 1, 0, 2);
    op_n(t, OP_PRINT, 0, print, 3, IDS(3));
    op_n(t, OP_PEEK, 0, NULL, 0, IDS(2));
    OPS(t, OP_FETCH, 0, 2);
    emit(t, &(Inst){.op = OP_SYNC});
    slice(t, 4, 2, 0, 1, 0, 1);
    assert_op(t, 4, "zero is not true");
    slice(t, 5, 2, 0, 1, 1, 1);
    assert_op(t, 5, "one is");
    Attr track[] = {{.key = ATTR_KEYS, .str = "a\nb", .n = 3}};
    op_n(t, OP_TRACK, 0, track, 1, IDS(4, 5));
    run(t);
    CHECK_INT(t->n_got, 8);
    CHECK_INT(t->got[0].edge, 2);
    double corner[] = {0,    1,    98,   99,   100,  101,  198,  199,
                       3800, 3801, 3898, 3899, 3900, 3901, 3998, 3999};
    for (int i = 0; i < 16; i++) CHECK_INT(t->got[0].value[i], corner[i]);
    CHECK_INT(t->got[1].edge, 0);
    CHECK_INT(t->got[2].edge, 3); /* default of peek */
    CHECK_INT(t->got[2].value[35], 0 + 3999);
    CHECK_INT(t->got[3].edge, 0);
    CHECK_INT(t->got[4].n, 0);
    CHECK_INT(t->n_failure, 1);
    CHECK_INT(last_failure(t)->err.code, ERR_ASSERT);
    CHECK_STR(last_failure(t)->err.text, "zero is not true");
    CHECK_INT(t->got[5].status, ERR_ASSERT);
    CHECK_INT(t->got[6].status, 0);
    CHECK_INT(t->got[7].n, 2);
    talk_free(t);
}

/* A tensor without axes has no edges, whatever the threshold. */
static void test_edges_of_scalar(const EngineOps *ops) {
    Talk *t = talk_new(ops, 1 << 20);
    Attr attr[] = {{.key = ATTR_EDGE, .n = 1, .i = 1}, {.key = ATTR_THRESHOLD, .n = 1, .i = 0}};
    arange(t, 1, DT_F32, 4);
    OPS(t, OP_MATMUL, 2, 1, 1);
    op_n(t, OP_PEEK, 0, attr, 2, IDS(1));
    op_n(t, OP_PEEK, 0, attr, 2, IDS(2));
    run(t);
    CHECK_INT(t->n_got, 2);
    CHECK_INT(t->got[0].edge, 1);
    CHECK_INT(t->got[1].edge, 0);
    CHECK_INT(t->got[1].type.rank, 0);
    CHECK_INT(t->got[1].value[0], 14);
    talk_free(t);
}

/* A view of four bytes with 2^48 elements: copying it out is refused, its edges are printed. */
static void test_huge_view(const EngineOps *ops) {
    Talk *t = talk_new(ops, 1 << 20);
    full(t, 1, 3, DT_F32, 1, 1);
    expand(t, 2, 1, 1 << 23, 1 << 23);
    OPS(t, OP_FETCH, 0, 2);
    op_n(t, OP_PEEK, 0, NULL, 0, IDS(2));
    reshape(t, 3, 2, 1 << 22, 1 << 24);
    OPS(t, OP_FREE, 0, 1, 2, 3);
    run(t);
    CHECK_INT(t->n_failure, 1);
    CHECK_STR(t->failure[0].err.text, "fetch: no memory on the host for a value of 256 TiB");
    CHECK_INT(t->got[0].status, ERR_MEMORY);
    CHECK_INT(t->got[1].status, 0);
    CHECK_INT(t->got[1].value[35], 3);
    CHECK_INT(used_bytes(t), 0);
    talk_free(t);
}

/* A kernel may need far more memory than there is for temporaries: that is an ordinary error. */
static void test_huge_operand(void) {
    Talk *t = talk_new(&engine_cpu, 64 << 20);
    const int64_t n = INT64_C(1) << 40;
    Attr axis = INTS(ATTR_AXIS, 1);
    full(t, 1, 0, DT_I64, 1, 1);
    full(t, 2, 1, DT_F32, 1, 1);
    expand(t, 3, 1, 1, n);
    expand(t, 4, 2, 2, n);
    expand(t, 5, 2, n, 2);
    op_n(t, OP_SCATTER_ADD, 6, &axis, 1, IDS(1, 3, 3));
    OPS(t, OP_ARGMAX, 7, 4);
    OPS(t, OP_MATMUL, 8, 4, 5);
    OPS(t, OP_SUM, 9, 4);
    OPS(t, OP_FETCH, 0, 8);
    run(t);
    CHECK_INT(t->n_failure, 4);
    for (int i = 0; i < t->n_failure && i < FAILURES; i++) {
        CHECK_INT(t->failure[i].err.code, ERR_MEMORY);
        CHECK_MSG(strstr(t->failure[i].err.text, " in addition to its result, ") != NULL, "%s",
                  t->failure[i].err.text);
    }
    CHECK_INT(last_got(t)->status, ERR_MEMORY);
    OPS(t, OP_FREE, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    run(t);
    CHECK_INT(used_bytes(t), 0);
    talk_free(t);
}

static void test_cancel(const EngineOps *ops) {
    Talk *t = talk_new(ops, 64 << 20);
    full(t, 1, 1, DT_F32, 4, 4);
    run(t);
    OPS(t, OP_ADD, 2, 1, 1); /* seq 1 */
    OPS(t, OP_ADD, 3, 2, 2);
    OPS(t, OP_FETCH, 0, 3); /* seq 3 */
    OPS(t, OP_FREE, 0, 1);
    OPS(t, OP_FETCH, 0, 2); /* seq 5 */
    uint64_t end = t->seq;
    full(t, 10, 2, DT_F32, 2, 2); /* not cancelled */
    OPS(t, OP_FETCH, 0, 10);
    exec_on_cancel(t->x, CLIENT, end);
    exec_on_cancel(t->x, 12345, end); /* nobody */
    run(t);
    CHECK_INT(t->n_failure, 1);
    CHECK_INT(t->failure[0].err.code, ERR_CANCELLED);
    CHECK_INT(t->failure[0].seq, 1);
    CHECK_INT(t->n_got, 3);
    CHECK_INT(t->got[0].status, ERR_CANCELLED);
    CHECK_INT(t->got[1].status, ERR_CANCELLED);
    CHECK_INT(t->got[2].status, 0);
    OPS(t, OP_FREE, 0, 2, 3, 10);
    run(t);
    CHECK_INT(t->n_failure, 1);
    CHECK_INT(used_bytes(t), 0);
    talk_free(t);
}

/* A cancel waits only for calls in flight, and those are limited. */
static void test_cancel_soon(void) {
    enum { N = 200 };
    Talk *t = talk_new(&engine_delayed, 64 << 20);
    full(t, 1, 1, DT_F32, 128, 128);
    for (uint64_t i = 2; i < N; i++) OPS(t, OP_MATMUL, i, 1, 1);
    flush(t);
    exec_step(t->x, 50000);
    exec_on_cancel(t->x, CLIENT, t->seq);
    run(t);
    CHECK_MSG(t->x->kernels < N / 2, "%llu calls", (unsigned long long)t->x->kernels);
    CHECK_INT(t->n_failure, 1);
    CHECK_INT(t->failure[0].err.code, ERR_CANCELLED);
    talk_free(t);
}

/* Answers wait here while REPLY_BYTES of them are not taken: those that are asked for later, and
 * those that wait behind a slow operation already. */
static void test_unread(const EngineOps *ops) {
    enum { SIDE = 1024, BYTES = 4 * SIDE * SIDE, FETCHES = 10, MOST = REPLY_BYTES / BYTES };
    Talk *t = talk_new(ops, 64 << 20);
    full(t, 1, 1, DT_F32, SIDE, SIDE);
    full(t, 2, 1, DT_F32, 64, 64);
    for (uint64_t i = 3; i < 40; i++) OPS(t, OP_MATMUL, i, i - 1, i - 1);
    OPS(t, OP_FETCH, 0, 39);
    for (int i = 0; i < FETCHES; i++) OPS(t, OP_FETCH, 0, 1);
    flush(t);
    for (int want = 1; want < 1 + FETCHES;) {
        for (int i = 0; i < 100000 && exec_step(t->x, 1000); i++) {}
        take(t);
        want = want + MOST > 1 + FETCHES ? 1 + FETCHES : want + MOST;
        CHECK_MSG(t->n_got == want, "%d answers, %d are asked for", t->n_got, want);
        exec_on_credit(t->x, CLIENT, UINT32_MAX);
    }
    CHECK(t->out_of_order == 0 && t->ack.seq == t->seq);
    talk_free(t);
}

/* Goes on as another client, from its instruction `seq` on. */
static void become(Talk *t, uint32_t client, uint64_t seq) {
    Msg m = {0};
    frame_end(&t->w, &m);
    msg_fini(&m);
    t->client = client, t->seq = seq, t->last_seq = 0;
    frame_begin(&t->w, client, seq);
}

static void test_clients(const EngineOps *ops) {
    Talk *t = talk_new(ops, 64 << 20);
    full(t, 1, 1, DT_F32, 4, 4);
    OPS(t, OP_FETCH, 0, 1);
    run(t);
    /* the same id of another client is another tensor */
    uint64_t seq = t->seq;
    become(t, 8, 0);
    full(t, 1, 2, DT_F32, 4, 4);
    OPS(t, OP_FETCH, 0, 1);
    run(t);
    CHECK_INT(last_got(t)->value[0], 2);
    Bytes text = {0};
    exec_stats(t->x, &text);
    CHECK(strstr(text.data, "client.7.tensors=1\n") && strstr(text.data, "client.8.bytes=64\n"));
    CHECK(strstr(text.data, "\nkernels=2\n") && strstr(text.data, "clients=2\n"));
    bytes_fini(&text);
    /* a client leaves in the middle of a frame: nothing of it is kept or answered */
    for (uint64_t i = 2; i < 100; i++) OPS(t, OP_ADD, i, i - 1, 1);
    OPS(t, OP_FETCH, 0, 99);
    flush(t);
    exec_step(t->x, 0);
    int before = t->n_got;
    take(t);
    exec_on_gone(t->x, 8);
    while (exec_step(t->x, 1000)) {}
    take(t);
    CHECK_INT(t->n_got, before);
    become(t, CLIENT, seq);
    OPS(t, OP_FREE, 0, 1);
    run(t);
    CHECK_INT(used_bytes(t), 0);
    CHECK_INT(t->n_failure, 0);
    talk_free(t);
}

/* Drops the rows of waits and memory. */
static void keep_done(Times *t) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (t->row[i].kind == TIME_DONE) t->row[n++] = t->row[i];
    t->n = n;
}

/* While watched, exec reports the time of each call and effect once, in order, by its own clock. */
static void test_watch(const EngineOps *ops) {
    Talk *t = talk_new(ops, 64 << 20);
    Arena a = {0};
    Msg m = {0};
    Times got;
    full(t, 1, 1, DT_F32, 4, 4);
    run(t); /* not watched: `take` would not know the message */
    exec_watch(t->x, WATCH_TIMES);
    int64_t before = exec_now_ns(t->x);
    OPS(t, OP_ADD, 2, 1, 1);
    OPS(t, OP_FREE, 0, 1);
    OPS(t, OP_FETCH, 0, 2);
    flush(t);
    while (exec_step(t->x, 1000)) {}
    CHECK(exec_next(t->x, &m) && wire_kind(&m) == MSG_TIMES); /* before the reply */
    CHECK(wire_read_times(&m, &a, &got, NULL) && got.row[0].client == CLIENT);
    keep_done(&got); /* on an ordered engine, waits for the device lie between */
    CHECK_INT(got.n, 2);
    CHECK(got.row[0].op == OP_ADD && got.row[0].n_out == 1 && got.row[0].id == 2);
    CHECK(got.row[1].op == OP_FETCH && got.row[1].n_out == 0);
    CHECK_INT(got.row[0].bytes, 64);
    CHECK_INT(got.row[1].bytes, 64);
    int64_t end = got.row[0].begin_ns + (int64_t)got.row[0].ns;
    CHECK(got.row[0].begin_ns >= before && end <= got.row[1].begin_ns + (int64_t)got.row[1].ns);
    CHECK(got.now_ns >= end && got.now_ns <= exec_now_ns(t->x));
    msg_fini(&m);
    exec_watch(t->x, 0);
    OPS(t, OP_ADD, 3, 2, 2);
    run(t);
    CHECK_INT(t->n_failure, 0);
    arena_fini(&a);
    talk_free(t);
}

static void add_rows(Exec *x, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++) {
        uint64_t now = watch_tick(x);
        *watch_row(x) = (WatchRow){.begin = now,
                                   .end = now,
                                   .number = i,
                                   .from = UINT32_MAX,
                                   .op = OP_COUNT,
                                   .kind = TIME_IDLE};
    }
}

/* More rows of the past than a message holds are sent one message after the other. Those that the
 * ring overwrites meanwhile are left out, and the end is said all the same. */
static void test_watch_ring(const EngineOps *ops) {
    enum { PAST = 3 * TIMES_MAX };
    Talk *t = talk_new(ops, 1 << 20);
    Arena a = {0};
    Times got = {0};
    uint64_t n = 0, last = 0;
    add_rows(t->x, 1, PAST + 1);
    exec_watch_past(t->x, 60000);
    for (int k = 0; k < 9 && !got.is_end; k++) {
        Msg m = {0};
        CHECK(exec_next(t->x, &m) && wire_read_times(&m, &a, &got, NULL) && got.is_past);
        for (uint32_t i = 0; i < got.n; i++) {
            if (got.row[i].kind != TIME_IDLE) continue; /* about memory */
            CHECK_MSG(got.row[i].number > last && got.row[i].number <= PAST, "row %llu after %llu",
                      (unsigned long long)got.row[i].number, (unsigned long long)last);
            last = got.row[i].number, n++;
        }
        msg_fini(&m);
        if (k == 0) add_rows(t->x, PAST + 1, WATCH_ROWS + TIMES_MAX + WATCH_CHECK);
    }
    CHECK(got.is_end && last == PAST && n > TIMES_MAX && n < PAST);
    CHECK(!exec_next(t->x, &(Msg){0}));
    arena_fini(&a);
    talk_free(t);
}

/* What was done is kept for those that ask later; sums and waits are reported while watched. */
static void test_watch_later(const EngineOps *ops) {
    Talk *t = talk_new(ops, 64 << 20);
    Arena a = {0};
    Msg m = {0};
    Times got;
    Usage usage;
    full(t, 1, 1, DT_F32, 4, 4);
    for (uint64_t i = 0; i < 3 * WATCH_CHECK; i++) OPS(t, OP_ADD, 2 + i, 1 + i, 1);
    run(t);
    exec_watch_past(t->x, 60000);
    CHECK(exec_next(t->x, &m) && wire_read_times(&m, &a, &got, NULL));
    CHECK(got.is_past && got.is_end && got.n > 3 * WATCH_CHECK && got.row[0].op == OP_FULL);
    CHECK(got.row[got.n - 1].begin_ns + (int64_t)got.row[got.n - 1].ns <= got.now_ns);
    int64_t end_ns = 0, n_overlaps = 0; /* of calls, by more than rounding */
    for (uint32_t i = 0; i < got.n; i++) {
        if (got.row[i].kind != TIME_DONE) continue;
        n_overlaps += got.row[i].begin_ns + 2 < end_ns;
        end_ns = got.row[i].begin_ns + (int64_t)got.row[i].ns;
    }
    CHECK_INT(n_overlaps, 0);
    msg_fini(&m);
    CHECK(!exec_next(t->x, &m)); /* once */
    exec_watch(t->x, WATCH_USAGE);
    uint64_t began = watch_tick(t->x);
    usleep(2000);
    exec_watch_slept(t->x, began);
    CHECK(exec_next(t->x, &m) && wire_read_usage(&m, &a, &usage, NULL));
    CHECK(usage.idle_ns[IDLE_STARVED] >= 2000000 && usage.idle_ns[IDLE_BLOCKED] == 0);
    CHECK(usage.n == 0 && usage.blocked_on == UINT32_MAX && usage.limit_bytes > 0);
    msg_fini(&m);
    CHECK(!exec_next(t->x, &m)); /* at most once in WATCH_USAGE_MS */
    exec_watch_past(t->x, 1);
    exec_watch_past(t->x, 60000);
    arena_reset(&a);
    CHECK(exec_next(t->x, &m) && wire_read_times(&m, &a, &got, NULL));
    const TimeRow *last = &got.row[got.n - 1];
    if (last->kind == TIME_MEMORY) last--;
    CHECK(last->kind == TIME_IDLE && last->n_out == IDLE_STARVED && last->ns >= 2000000);
    msg_fini(&m);
    arena_fini(&a);
    talk_free(t);
}

/* What the worker waits for an ordered engine is time of its device; other engines have none. */
static void test_watch_device(const EngineOps *ops) {
    Talk *t = talk_new(ops, 64 << 20);
    Arena a = {0};
    Msg m = {0};
    Usage usage = {0};
    exec_watch(t->x, WATCH_USAGE);
    full(t, 1, 1, DT_F32, 64, 64);
    for (uint64_t i = 0; i < 50; i++) OPS(t, OP_MATMUL, 2 + i, 1 + i, 1);
    OPS(t, OP_FETCH, 0, 51);
    flush(t);
    while (exec_step(t->x, 1000)) {}
    usleep((WATCH_USAGE_MS + 50) * 1000);
    exec_watch_slept(t->x, watch_tick(t->x));
    bool is_known = false;
    while (exec_next(t->x, &m)) {
        if (wire_kind(&m) == MSG_USAGE) is_known = wire_read_usage(&m, &a, &usage, NULL);
        msg_fini(&m);
    }
    CHECK(is_known);
    CHECK_INT(usage.idle_ns[IDLE_DEVICE] > 0, ops->is_ordered);
    arena_fini(&a);
    talk_free(t);
}

/* One client's thousands of products do not delay another's small request until their end. */
static void test_turns(void) {
    Talk *t = talk_new(&engine_reference, 64 << 20);
    full(t, 1, 1, DT_F32, 32, 32);
    for (uint64_t i = 0; i < 2000; i++) {
        OPS(t, OP_MATMUL, 2 + i, 1, 1);
        OPS(t, OP_FREE, 0, 2 + i);
    }
    flush(t);
    uint64_t busy_seq = t->seq;
    exec_step(t->x, 100);
    become(t, 8, 0);
    full(t, 1, 2, DT_F32, 1, 1);
    OPS(t, OP_FETCH, 0, 1);
    flush(t);
    int steps = 0;
    while (t->n_got == 0 && steps++ < 100000 && exec_step(t->x, 1000)) take(t);
    take(t);
    CHECK_INT(last_got(t)->value[0], 2);
    const Client *busy = exec_client(t->x, CLIENT, false);
    CHECK_MSG(busy->instructions < busy_seq / 2,
              "the busy client had %llu of %llu instructions done",
              (unsigned long long)busy->instructions, (unsigned long long)busy_seq);
    while (exec_step(t->x, 100000)) {}
    CHECK_INT(busy->instructions, busy_seq);
    talk_free(t);
}

/* ---- Random programs ---- */

static uint64_t state;
static uint64_t pick(uint64_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (state >> 16) % n;
}

/* Integers, 6x6 all of them, with views and frees; some indices are out of range. */
static void random_program(Talk *t, uint64_t seed, int length) {
    state = seed;
    uint64_t live[64], id = 1;
    int n = 0;
    for (int i = 0; i < length; i++) {
        uint64_t a = n ? live[pick((uint64_t)n)] : 0, b = n ? live[pick((uint64_t)n)] : 0;
        uint64_t kind = n < 2 ? 0 : pick(12);
        uint64_t made = 0;
        switch (kind) {
        case 0: full(t, made = id++, (double)pick(9), DT_I64, 6, 6); break;
        case 1: OPS(t, OP_ADD, made = id++, a, b); break;
        case 2: OPS(t, OP_MUL, made = id++, a, b); break;
        case 3: OPS(t, OP_MATMUL, made = id++, a, b); break;
        case 4: transpose(t, made = id++, a); break;
        case 5:
            transpose(t, id, a);
            reshape(t, id + 1, id, 4, 9);
            OPS(t, OP_FREE, 0, id);
            reshape(t, made = id + 2, id + 1, 6, 6);
            OPS(t, OP_FREE, 0, id + 1);
            id += 3;
            break;
        case 6:
        case 7: OPS(t, OP_FETCH, 0, a); break;
        case 8:
            slice(t, id, a, 1, 1, 2, 4);
            OPS(t, OP_ADD, id + 1, id, id);
            OPS(t, OP_FETCH, 0, id + 1);
            OPS(t, OP_FREE, 0, id, id + 1);
            id += 2;
            break;
        case 9: OPS(t, OP_NEG, made = id++, a); break; /* then freed at once: in place */
        case 10:
            if (pick(8)) break;
            full(t, id, pick(2) ? 3 : 30, DT_I64, 1, 1);
            index_op(t, id + 1, a, id);
            OPS(t, OP_FETCH, 0, id + 1);
            OPS(t, OP_FREE, 0, id, id + 1);
            id += 2;
            break;
        case 11: emit(t, &(Inst){.op = OP_SYNC}); break;
        }
        if (kind == 9) {
            for (int k = 0; k < n; k++)
                if (live[k] == a) live[k] = live[--n];
            OPS(t, OP_FREE, 0, a);
        }
        if (made) live[n++] = made;
        while (n > 40 || (n > 2 && pick(3) == 0)) {
            int k = (int)pick((uint64_t)n);
            OPS(t, OP_FREE, 0, live[k]);
            live[k] = live[--n];
        }
    }
    for (int k = 0; k < n; k++) OPS(t, OP_FETCH, 0, live[k]);
    for (int k = 0; k < n; k++) OPS(t, OP_FREE, 0, live[k]);
}

static void test_random(uint64_t seed) {
    const EngineOps *engines[] = {&engine_reference, &engine_delayed, &engine_late};
    Talk *all[3], *a = NULL;
    for (int e = 0; e < 3; e++) {
        Talk *b = all[e] = talk_new(engines[e], 64 << 20);
        if (e == 1) delayed_seed(exec_engine(b->x), seed * 77 + 1);
        random_program(b, seed, 600);
        run(b);
        if (e == 0) a = b;
        CHECK_INT(a->n_got, b->n_got);
        CHECK_INT(a->n_failure, b->n_failure);
        CHECK(a->n_got < REPLIES);
        int differ = 0;
        for (int i = 0; i < a->n_got; i++)
            differ += a->got[i].hash != b->got[i].hash || a->got[i].seq != b->got[i].seq;
        CHECK_MSG(!differ, "seed %llu: %d replies differ", (unsigned long long)seed, differ);
        CHECK_INT(used_bytes(b), 0);
        if (e == 1) CHECK(delayed_was_late(exec_engine(b->x)) > 20);
    }
    for (int e = 0; e < 3; e++) talk_free(all[e]);
}

/* ---- Hostile frames ---- */

/* Random bytes in valid frames: errors, never a crash, and nothing is left of the client. */
static void test_hostile(uint64_t seed) {
    Talk *t = talk_new(&engine_reference, 8 << 20);
    for (int round = 0; round < 400; round++) {
        random_program(t, seed + (uint64_t)round, 20);
        Msg m = {0};
        frame_end(&t->w, &m);
        Buf *b = m.part[0];
        int flips = 1 + (int)pick(4);
        for (int i = 0; i < flips; i++) b->data[8 + pick(b->n - 8)] ^= (uint8_t)(1 << pick(8));
        if (pick(10) == 0) b->n -= pick(b->n);
        exec_on_frame(t->x, &m);
        for (int i = 0; i < 1000 && exec_step(t->x, 1000); i++) {}
        while (exec_next(t->x, &m)) msg_fini(&m);
        frame_begin(&t->w, CLIENT, t->seq);
        exec_on_gone(t->x, CLIENT);
    }
    CHECK_INT(used_bytes(t), 0);
    Msg empty = {0};
    exec_on_frame(t->x, &empty);
    CHECK(exec_next(t->x, &empty));
    Failure f;
    CHECK(wire_read_failure(&empty, &f, NULL) && f.err.code == ERR_PARSE);
    msg_fini(&empty);
    talk_free(t);
}

int main(int argc, char **argv) {
    uint64_t seed = rand_seed(argc, argv);
    const EngineOps *engines[] = {&engine_reference, &engine_delayed, &engine_late};
    for (int i = 0; i < 3; i++) {
        test_values(engines[i]);
        test_poison(engines[i]);
        test_failures(engines[i]);
        test_views(engines[i]);
        test_memory(engines[i]);
        test_effects(engines[i]);
        test_edges_of_scalar(engines[i]);
        test_huge_view(engines[i]);
        test_cancel(engines[i]);
        test_watch(engines[i]);
        test_watch_later(engines[i]);
        test_watch_device(engines[i]);
        test_watch_ring(engines[i]);
        test_unread(engines[i]);
        test_clients(engines[i]);
    }
    test_huge_operand();
    test_cancel_soon();
    test_turns();
    for (uint64_t i = 0; i < (uint64_t)rand_rounds(6); i++) test_random(seed + i * 1000 + 1);
    test_hostile(seed + 5);
    CHECK_INT(delayed_violations, 0);
    return check_report("exec");
}
