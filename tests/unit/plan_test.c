/* plan_test: plans of hot bodies (plan.h) never change results. Random bodies repeat, with numbers,
 * slices and random keys that change, tensors from outside that change their shapes or become
 * views, indices out of range, effects in the middle, frames that end anywhere: a worker with plans
 * and one without must send the same bytes in the same order. Then the same with cancels, in little
 * memory, and on an engine that finishes later; there only crashes, leaks and effects without a
 * reply are errors. With GT_TEST_ENGINE=cuda: random bodies on that engine, by plans and graphs,
 * against the engine cpu without plans. Usage: plan_test [BODIES [SEED]], or, on such an engine,
 * plan_test graphs MADE LAUNCHED: how many graphs are made of one body, and launched.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/cluster_words.h"
#include "check.h"
#include "delayed_engine.h"
#include "runtime/wire/body.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire.h"
#include "tests/unit/make_inst.h"
#include "tests/unit/random.h"
#include "worker/exec/exec.h"
#include "worker/exec/stats.h"
#include "worker/worker.h"

#include <time.h>

enum { CLIENT = 3, CARRIED = 5, LINES = 64, INDEX = CARRIED - 1 };

/* ---- A body: instructions with symbolic operands ---- */

typedef struct Line {
    Op op;
    int n_in, in[3]; /* index of a carried value, then of a result of the body; -1: a number */
    int n_free, free[8];
    int made;    /* by those before it */
    bool is_int; /* its number */
    int n_attr;
    Attr attr[4];
    int64_t ints[4][2];
    int64_t start_max[2]; /* of slice */
} Line;
typedef struct Loop {
    Line line[2 * LINES];
    int n, n_made;
    TensorType type[CARRIED + LINES];
    int next[CARRIED]; /* the result that replaces it in the next iteration; -1: none */
} Loop;

static Rand r;
static uint64_t seed;
static int below(int n) { return rand_below(&r, n); }

static void ints(Line *l, AttrKey key, int n, int64_t a, int64_t b) {
    int i = l->n_attr++;
    l->ints[i][0] = a, l->ints[i][1] = b;
    l->attr[i] = (Attr){.key = (uint8_t)key, .n = (uint32_t)n};
}
static void dtype(Line *l, DType d) {
    l->attr[l->n_attr++] = (Attr){.key = ATTR_DTYPE, .dtype = d};
}
/* Lists are in the line's memory, which may have moved. */
static Attr *attrs(Line *l) {
    for (int i = 0; i < l->n_attr; i++)
        if (attr_info[l->attr[i].key].type == AT_INTS) l->attr[i].ints = l->ints[i];
    return l->attr;
}

static int any(const Loop *b) { return below(CARRIED - 1 + b->n_made + 1) % (CARRIED + b->n_made); }

/* A random instruction; drawn again if inference refuses it. */
static void draw(Loop *b, Line *l) {
    static const Op unary[] = {OP_NEG, OP_EXP, OP_TANH, OP_RELU, OP_SQUARE, OP_SIGMOID};
    static const Op binary[] = {OP_ADD, OP_SUB, OP_MUL, OP_MAXIMUM, OP_LT};
    *l = (Line){.n_in = 1, .in = {any(b), -2, -2}};
    const TensorType *t = &b->type[l->in[0]];
    switch (below(16)) {
    case 0:
    case 1: l->op = unary[below(6)]; break;
    case 2:
    case 3:
    case 4:
    case 5: l->op = binary[below(5)], l->n_in = 2, l->in[1] = below(4) ? any(b) : -1; break;
    case 6: l->op = OP_WHERE, l->n_in = 3, l->in[1] = any(b), l->in[2] = -1; break;
    case 7:
        l->op = below(3) ? OP_SUM : OP_MAX;
        ints(l, ATTR_AXIS, 1, below(2), 0);
        l->attr[l->n_attr++] = (Attr){.key = ATTR_KEEPDIMS, .b = true};
        break;
    case 8: l->op = OP_MATMUL, l->n_in = 2, l->in[1] = any(b); break;
    case 9: l->op = OP_PERMUTE, ints(l, ATTR_AXES, 2, 1, 0); break;
    case 10:
        l->op = OP_RESHAPE;
        ints(l, ATTR_SHAPE, 2, t->rank == 2 ? t->shape[1] : 1, t->rank == 2 ? t->shape[0] : 1);
        break;
    case 11:
        if (t->rank != 2 || t->shape[0] < 2) break;
        l->op = OP_SLICE;
        l->start_max[0] = t->shape[0] / 2, l->start_max[1] = 0;
        ints(l, ATTR_START, 2, 0, 0);
        ints(l, ATTR_SIZE, 2, t->shape[0] - t->shape[0] / 2, t->shape[1]);
        ints(l, ATTR_STEP, 2, 1, 1);
        break;
    case 12: l->op = OP_INDEX, l->n_in = 2, l->in[1] = INDEX, ints(l, ATTR_AXIS, 1, 0, 0); break;
    case 13: l->op = OP_CAST, dtype(l, below(2) ? DT_F64 : DT_F32); break;
    case 14:
        l->op = below(2) ? OP_FULL : OP_RAND;
        l->n_in = l->op == OP_FULL, l->in[0] = -1;
        ints(l, ATTR_SHAPE, 2, 4, 6), dtype(l, DT_F32);
        if (l->op == OP_RAND) ints(l, ATTR_RNG, 2, 7, 0);
        break;
    default: l->op = OP_DATA, l->n_in = 0, ints(l, ATTR_SHAPE, 2, 4, 6), dtype(l, DT_F32);
    }
    l->is_int = below(4) == 0;
}

static int line_operands(const Line *l, const uint64_t *id, Operand *in) {
    if (l->op == OP_FREE) {
        for (int i = 0; i < l->n_free; i++) in[i] = of_tensor(id[l->free[i]]);
        return l->n_free;
    }
    for (int i = 0; i < l->n_in; i++)
        in[i] = l->in[i] >= 0 ? of_tensor(id[l->in[i]]) : l->is_int ? of_int(2) : of_float(0.5);
    return l->n_in;
}

static bool is_right(const Loop *b, Line *l, TensorType *out) {
    uint64_t none[CARRIED + LINES] = {0};
    Operand in[8];
    TensorType types[3];
    int n_out;
    char payload[96] = {0};
    if (!l->op) return false;
    Inst inst = {.op = l->op, .n_out = 1, .in = in, .attr = attrs(l), .payload = payload};
    inst.n_in = (uint16_t)line_operands(l, none, in);
    inst.n_attr = (uint16_t)l->n_attr;
    inst.payload_bytes = l->op == OP_DATA ? 96 : 0;
    for (int i = 0; i < l->n_in; i++)
        if (l->in[i] >= 0) types[i] = b->type[l->in[i]];
    TensorType result[MAX_OUT];
    if (!inst_infer(&inst, types, result, &n_out, NULL) || type_numel(&result[0]) > 4000)
        return false;
    *out = result[0];
    return true;
}

static const TensorType table = {.dtype = DT_F32, .rank = 2, .shape = {4, 6}};

static void draw_loop(Loop *b) {
    *b = (Loop){0};
    Line raw[LINES];
    int last[CARRIED + LINES] = {0}, n = 2 + below(below(3) ? 12 : LINES - 2);
    for (int i = 0; i < CARRIED; i++) b->type[i] = table;
    b->type[INDEX] = (TensorType){.dtype = DT_I64, .rank = 1, .shape = {5}};
    for (int i = 0; i < n; i++) {
        TensorType out;
        do draw(b, &raw[i]);
        while (!is_right(b, &raw[i], &out));
        for (int k = 0; k < raw[i].n_in; k++)
            if (raw[i].in[k] >= 0) last[raw[i].in[k]] = i;
        last[CARRIED + i] = i;
        b->type[CARRIED + b->n_made++] = out;
    }
    /* Chooses what is carried to the next iteration; the rest is freed at or after its last use. */
    bool goes_on[CARRIED + LINES] = {0};
    for (int c = 0; c < CARRIED; c++) {
        b->next[c] = -1;
        for (int k = n - 1; k >= 0 && c != INDEX && below(8); k--) {
            int v = CARRIED + k;
            if (goes_on[v] || !type_equal(&b->type[v], &b->type[c])) continue;
            b->next[c] = v;
            goes_on[v] = true;
            break;
        }
    }
    int end[CARRIED + LINES];
    for (int v = 0; v < CARRIED + n; v++) {
        end[v] = below(2) ? last[v] : last[v] + below(n - last[v]);
        if (v < CARRIED ? b->next[v] < 0 : goes_on[v]) end[v] = -1;
    }
    for (int i = 0; i < n; i++) {
        raw[i].made = i;
        b->line[b->n++] = raw[i];
        if (below(40) == 0)
            b->line[b->n++] = (Line){.op = OP_FETCH, .n_in = 1, .in = {CARRIED + i}, .made = i + 1};
        Line gone = {.op = OP_FREE, .made = i + 1};
        for (int v = 0; v <= CARRIED + n; v++) {
            if (v < CARRIED + n && end[v] == i) gone.free[gone.n_free++] = v;
            if (gone.n_free == 8 || (v == CARRIED + n && gone.n_free)) {
                b->line[b->n++] = gone;
                gone.n_free = 0;
            }
            if (b->n >= 2 * LINES - 3) break;
        }
    }
}

/* ---- Two workers that get the same frames ---- */

typedef struct World {
    FrameWriter w;
    Bodies bodies;
    Bytes forms;
    Exec *x[2]; /* without plans, with */
    Bytes sent[2];
    uint64_t seq, next_id, number;
    uint64_t id[CARRIED + LINES];
    bool is_loose; /* they are not compared */
    int n_effects, n_answers[2];
    bool keeps_forms;
    bool has_ends;   /* frames end where the test ends them, not anywhere */
    uint32_t client; /* 0: CLIENT */
} World;

static void receive(World *w, int i) {
    Msg m;
    while (exec_next(w->x[i], &m)) {
        MsgKind kind = wire_kind(&m);
        w->n_answers[i] += kind == MSG_REPLY;
        for (int k = 0; kind != MSG_ACK && k < m.n; k++)
            bytes_add(&w->sent[i], m.part[k]->data, m.part[k]->n);
        msg_fini(&m);
    }
}

static void send(World *w, int steps) {
    Msg m;
    if (!w->w.head) return;
    frame_end(&w->w, &m);
    for (int i = 0; i < 2; i++) {
        Msg copy = {.n = m.n};
        for (int k = 0; k < m.n; k++) copy.part[k] = buf_copy(m.part[k]->data, m.part[k]->n);
        exec_on_frame(w->x[i], &copy);
        for (int s = 0; s < steps && exec_step(w->x[i], 1000); s++) {}
        receive(w, i);
    }
    msg_fini(&m);
}

static void emit(World *w, const Inst *in) {
    bool ends = frame_is_full(&w->w) || (!w->has_ends && below(300) == 0);
    if (w->w.head && ends) send(w, 1000000);
    if (!w->w.head) frame_begin(&w->w, w->client ? w->client : CLIENT, w->seq);
    frame_add(&w->w, in);
    w->seq++;
    w->n_effects += in->op == OP_FETCH;
    if (in->n_out) w->next_id = in->out[0] + in->n_out;
    size_t n;
    const void *form = frame_form(&w->w, &n);
    if (!form || !w->keeps_forms) return;
    size_t at = w->forms.n;
    uint32_t length = (uint32_t)n;
    bytes_add(&w->forms, form, n);
    memcpy(w->forms.data + at, &length, 4);
}

static void emit_line(World *w, Line *l, int round) {
    Operand in[8];
    float payload[24];
    Inst inst = {.op = l->op, .in = in, .attr = attrs(l), .pos = {.line = (uint32_t)(l->made + 1)}};
    inst.n_in = (uint16_t)line_operands(l, w->id, in);
    inst.n_attr = (uint16_t)l->n_attr;
    if (l->op != OP_FREE && below(60) == 0) /* another tensor from outside, of the same form */
        for (int i = 0; i < l->n_in; i++)
            if (l->in[i] >= 0 && l->in[i] < INDEX) in[i].id = w->id[below(INDEX)];
    for (int i = 0; i < inst.n_in; i++) {
        if (in[i].kind == IN_IMM_INT) in[i].i = round % 3;
        if (in[i].kind == IN_IMM_FLOAT) in[i].f = round % 4 ? 0.25 : 0.25 * (below(5) - 2);
    }
    for (int i = 0; i < l->n_attr; i++) {
        if (l->attr[i].key == ATTR_START) l->ints[i][0] = below((int)l->start_max[0] + 1);
        if (l->attr[i].key == ATTR_RNG) l->ints[i][1] = round;
        if (l->attr[i].key == ATTR_START && below(200) == 0) l->ints[i][0] += 9; /* too far */
    }
    if (l->op == OP_DATA) {
        for (int i = 0; i < 24; i++) payload[i] = (float)(below(100) - 50) / 16;
        inst.payload = payload, inst.payload_bytes = sizeof payload;
    }
    if (l->op != OP_FREE && l->op != OP_FETCH) {
        inst.n_out = 1;
        inst.out[0] = w->id[CARRIED + l->made] = w->next_id;
    }
    emit(w, &inst);
}

static void edge(World *w) {
    emit(w, &(Inst){.op = OP_EDGE});
    w->w.edge_id = w->w.next_id = w->next_id;
}

static void define(World *w) {
    bool ok = bodies_define(&w->bodies, w->number, w->forms.data, w->forms.n, NULL);
    CHECK(ok);
    w->keeps_forms = false;
    emit(w, &(Inst){.op = OP_BODY,
                    OPERANDS(of_int((int64_t)w->number)),
                    BYTES(w->forms.data, w->forms.n)});
}

static void free_id(World *w, uint64_t id) {
    emit(w, &(Inst){.op = OP_FREE, OPERANDS(of_tensor(id))});
}

/* Replaces carried tensor c by one of this shape, with these values. */
static void fill(World *w, int c, int64_t rows, double v) {
    int64_t shape[] = {c == INDEX ? 5 : rows, 6};
    DType d = c == INDEX ? DT_I64 : DT_F32;
    w->id[c] = w->next_id;
    emit(w, &FULL(w->id[c], c == INDEX ? 1 : 2, shape, d, v));
}

/* Replaces a tensor from outside. */
static void disturb(World *w) {
    int c = below(CARRIED), d = below(INDEX);
    uint64_t old = w->id[c];
    if (c == INDEX) {
        fill(w, c, 0, below(3) ? below(4) : 99); /* out of range */
    } else if (below(2)) {
        fill(w, c, below(3) ? 4 : 1 + below(5), 0.5);
    } else { /* the same memory as d */
        static const int64_t axes[] = {0, 1};
        Operand in = of_tensor(w->id[d]);
        w->id[c] = w->next_id;
        emit(w, &(Inst){.op = OP_PERMUTE,
                        OPERANDS(in),
                        ATTRS(attr_ints(ATTR_AXES, 2, axes)),
                        RESULTS(w->id[c])});
    }
    free_id(w, old);
}

/* Replaces all carried tensors: poison would stay for ever. */
static void refresh(World *w) {
    for (int c = 0; c < CARRIED; c++) {
        uint64_t old = w->id[c];
        fill(w, c, 4, c == INDEX ? c % 4 : 0.25 * c);
        free_id(w, old);
    }
}

static void fetch_all(World *w) {
    for (int c = 0; c < CARRIED; c++)
        emit(w, &(Inst){.op = OP_FETCH, OPERANDS(of_tensor(w->id[c]))});
}

static void go_round(World *w, Loop *b, int round) {
    for (int i = 0; i < b->n; i++) emit_line(w, &b->line[i], round);
    for (int c = 0; c < CARRIED; c++)
        if (b->next[c] >= 0) w->id[c] = w->id[b->next[c]];
    edge(w);
}

/* Frees what is neither carried on nor freed in the body (there was no room). */
static uint64_t used(const World *w, int i) {
    uint64_t bytes, peak, total;
    const Exec *x = w->x[i];
    x->ops->memory(x->engine, &bytes, &peak, &total);
    return bytes;
}

static uint64_t figure(const World *w, const char *key) {
    Bytes text = {0};
    exec_stats(w->x[1], &text);
    return (uint64_t)figure_of(&text, key);
}

static uint64_t planned, instructions, undone, graphs, launches;

/* One body on an engine, and with plans on `with`; how: 'c' with cancels. */
static void try_both(const EngineOps *ops, const EngineOps *with, uint64_t memory, char how,
                     bool is_loose) {
    World w = {.next_id = 1, .is_loose = is_loose, .keeps_forms = true};
    Err err;
    for (int i = 0; i < 2; i++) {
        setenv("GT_PLAN", i ? "1" : "0", 1);
        EngineConfig config = {.memory_bytes = memory, .threads = 1};
        w.x[i] = worker_exec(i ? with : ops, &config, &err);
        if (ops == &engine_delayed) delayed_seed(exec_engine(w.x[i]), seed);
    }
    Loop b;
    draw_loop(&b);
    for (int c = 0; c < CARRIED; c++) fill(&w, c, 4, c == INDEX ? 3 : 0.5 * c - 0.5);
    edge(&w);
    w.forms.n = 0;
    go_round(&w, &b, 0);
    define(&w);
    int rounds = 10 + below(60), shake = 3 + below(30);
    for (int round = 1; round < rounds; round++) {
        frame_expect(&w.w, bodies_get(&w.bodies, 0), 0);
        go_round(&w, &b, round);
        if (below(shake)) continue;
        frame_expect(&w.w, NULL, 0);
        if (below(2))
            disturb(&w);
        else if (below(2))
            refresh(&w);
        else
            fetch_all(&w);
        if (how == 'c' && below(2)) {
            send(&w, below(3));
            for (int i = 0; i < 2; i++) exec_on_cancel(w.x[i], CLIENT, w.seq - (uint64_t)below(9));
        }
    }
    frame_expect(&w.w, NULL, 0);
    fetch_all(&w);
    for (int c = 0; c < CARRIED; c++) free_id(&w, w.id[c]);
    send(&w, 1000000);
    for (int i = 0; i < 2; i++) {
        for (int s = 0; s < 1000000 && exec_step(w.x[i], 1000); s++) {}
        receive(&w, i);
        CHECK_MSG(w.n_answers[i] == w.n_effects, "seed %llu, worker %d: %d answers to %d effects",
                  (unsigned long long)seed, i, w.n_answers[i], w.n_effects);
    }
    bool same = w.sent[0].n == w.sent[1].n &&
                (!w.sent[0].n || !memcmp(w.sent[0].data, w.sent[1].data, w.sent[0].n));
    CHECK_MSG(is_loose || same, "seed %llu: they differ (%zu bytes and %zu)",
              (unsigned long long)seed, w.sent[0].n, w.sent[1].n);
    CHECK_MSG(used(&w, 0) == used(&w, 1), "seed %llu: %llu bytes left, not %llu",
              (unsigned long long)seed, (unsigned long long)used(&w, 1),
              (unsigned long long)used(&w, 0));
    planned += figure(&w, "plan.instructions=");
    undone += figure(&w, "plan.undone=");
    graphs += figure(&w, "plan.graphs=");
    launches += figure(&w, "plan.graph_launches=");
    instructions += w.seq;
    for (int i = 0; i < 2; i++) {
        exec_on_gone(w.x[i], CLIENT);
        for (int s = 0; s < 1000000 && exec_step(w.x[i], 1000); s++) {}
        CHECK_MSG(used(&w, i) == 0, "seed %llu, worker %d: %llu bytes are left",
                  (unsigned long long)seed, i, (unsigned long long)used(&w, i));
        exec_free(&w.x[i]);
        bytes_fini(&w.sent[i]);
    }
    bytes_fini(&w.forms);
    bodies_fini(&w.bodies);
}

static void try_body(const EngineOps *ops, uint64_t memory, char how, bool is_loose) {
    try_both(ops, ops, memory, how, is_loose);
}

/* ---- Plans of many kinds ---- */

static void world_open(World *w, World *beside) {
    Err err;
    *w = (World){.next_id = 1, .keeps_forms = true, .client = beside ? CLIENT + 1 : CLIENT};
    for (int i = 0; i < 2; i++) {
        setenv("GT_PLAN", i ? "1" : "0", 1);
        EngineConfig config = {.memory_bytes = 256 << 20, .threads = 1};
        w->x[i] = beside ? beside->x[i] : worker_exec(&engine_cpu, &config, &err);
    }
}

static void world_close(World *w, bool is_last) {
    bool same = w->sent[0].n == w->sent[1].n &&
                (!w->sent[0].n || !memcmp(w->sent[0].data, w->sent[1].data, w->sent[0].n));
    CHECK(same);
    for (int i = 0; i < 2; i++) {
        exec_on_gone(w->x[i], w->client);
        for (int s = 0; s < 1000000 && exec_step(w->x[i], 1000); s++) {}
        if (is_last) exec_free(&w->x[i]);
        bytes_fini(&w->sent[i]);
    }
    bytes_fini(&w->forms);
    bodies_fini(&w->bodies);
}

static uint64_t source(World *w, int64_t rows, DType d, double v) {
    uint64_t id = w->next_id;
    emit(w, &FULL(id, 1, &rows, d, v));
    return id;
}

/* exp(-(w * x)), and, if there is an index, x[index]; both are freed. */
static void round_of(World *w, uint64_t by, uint64_t x, uint64_t index) {
    uint64_t at = w->next_id;
    Operand made[4];
    for (int i = 0; i < 4; i++) made[i] = of_tensor(at + (uint64_t)i);
    Attr axis = attr_ints(ATTR_AXIS, 1, (int64_t[]){0});
    if (!w->keeps_forms) frame_expect(&w->w, bodies_get(&w->bodies, 0), 0);
    emit(w, &(Inst){.op = OP_MUL, OPERANDS(of_tensor(by), of_tensor(x)), RESULTS(at)});
    emit(w, &(Inst){.op = OP_NEG, OPERANDS(made[0]), RESULTS(at + 1)});
    emit(w, &(Inst){.op = OP_EXP, OPERANDS(made[1]), RESULTS(at + 2)});
    if (index)
        emit(w, &(Inst){.op = OP_INDEX,
                        OPERANDS(of_tensor(x), of_tensor(index)),
                        ATTRS(axis),
                        RESULTS(at + 3)});
    emit(w, &(Inst){.op = OP_FREE, .n_in = index ? 4 : 3, .in = made});
    edge(w);
    if (w->keeps_forms) define(w);
}

static uint64_t by_plans(World *w) {
    frame_expect(&w->w, NULL, 0);
    send(w, 1000000);
    return figure(w, "plan.instructions=");
}

/* The test's clock: a recording that takes too long is cut, as if each reading of the clock were a
 * step after the last. */
static int64_t clock_ns, clock_step_ns;
static int64_t step_clock(void) { return clock_ns += clock_step_ns; }
static void use_clock(World *w, int64_t step_ns) {
    clock_step_ns = step_ns;
    for (int i = 0; i < 2; i++) w->x[i]->clock = step_clock;
}
/* No kernels: they would become ready at any time. */
static void world_open_exact(World *w, int64_t step_ns) {
    setenv("GT_FUSE", "0", 1);
    world_open(w, NULL);
    unsetenv("GT_FUSE");
    use_clock(w, step_ns);
}

/* A body over tensors of many shapes has a plan for each, found by the operand that changes. */
static void test_kinds(void) {
    enum { KINDS = 60, TIMES = 20, INSTS = 5 };
    World w;
    world_open(&w, NULL);
    use_clock(&w, 1000);
    uint64_t by = source(&w, 1, DT_F32, 2), x[KINDS], before = 0;
    for (int k = 0; k < KINDS; k++) x[k] = source(&w, k + 1, DT_F32, 0.5);
    edge(&w);
    w.forms.n = 0;
    round_of(&w, by, x[0], 0);
    for (int t = 0; t < TIMES; t++) {
        if (t == TIMES / 2) before = by_plans(&w);
        for (int k = 0; k < KINDS; k++) round_of(&w, by, x[k], 0);
    }
    uint64_t n = by_plans(&w) - before, all = TIMES / 2 * KINDS * INSTS;
    CHECK_MSG(n > all * 7 / 10, "%llu of %llu", (unsigned long long)n, (unsigned long long)all);
    world_close(&w, true);
}

/* A segment that always fails, late, is soon run one by one; once it works again, by plans,
 * wherever frames end. */
static void test_in_vain(uint64_t state) {
    enum { TIMES = 2000, INSTS = 6 };
    World w;
    world_open_exact(&w, 1000);
    r.state = state;
    uint64_t by = source(&w, 1, DT_F32, 2), x = source(&w, 9, DT_F32, 1);
    uint64_t good = source(&w, 3, DT_I64, 2), bad = source(&w, 3, DT_I64, 99);
    edge(&w);
    w.forms.n = 0;
    for (int t = 0; t < 50; t++) round_of(&w, by, x, good);
    CHECK(by_plans(&w) > 0);
    for (int t = 0; t < TIMES; t++) round_of(&w, by, x, bad);
    by_plans(&w);
    uint64_t n = figure(&w, "plan.undone=");
    CHECK_MSG(n > 0 && n < 60, "%llu", (unsigned long long)n);
    uint64_t before = by_plans(&w);
    for (int t = 0; t < TIMES; t++) round_of(&w, by, x, good);
    n = by_plans(&w) - before;
    CHECK_MSG(n > INSTS * TIMES * 8 / 10, "%llu", (unsigned long long)n);
    world_close(&w, true);
}

/* On a machine so slow that no recording is complete there are no plans; nothing else differs. */
static void test_slow(void) {
    World w;
    world_open_exact(&w, 30000000);
    uint64_t by = source(&w, 1, DT_F32, 2), x = source(&w, 9, DT_F32, 1);
    edge(&w);
    w.forms.n = 0;
    for (int t = 0; t < 200; t++) round_of(&w, by, x, 0);
    CHECK_INT(by_plans(&w), 0);
    clock_step_ns = 1000;
    for (int t = 0; t < 200; t++) round_of(&w, by, x, 0);
    CHECK(by_plans(&w) > 0);
    world_close(&w, true);
}

/* One client's plans fill the room; another one's are admitted nevertheless, and stay. */
static void test_room(void) {
    enum { KINDS = 8000, TIMES = 3, ROUNDS = 2000, INSTS = 5 };
    World w, other;
    world_open(&w, NULL);
    world_open(&other, &w);
    use_clock(&w, 1000);
    uint64_t by = source(&w, 1, DT_F32, 2), first = w.next_id;
    for (int k = 0; k < KINDS; k++) source(&w, k + 1, DT_F32, 0.5);
    edge(&w);
    w.forms.n = 0;
    round_of(&w, by, first, 0);
    for (int t = 0; t < TIMES; t++)
        for (int k = 0; k < KINDS; k++) round_of(&w, by, first + (uint64_t)k, 0);
    uint64_t before = by_plans(&w), n_plans = figure(&w, "plan.plans=");
    CHECK_MSG(n_plans > 500 && n_plans < figure(&w, "plan.made="), "%llu plans",
              (unsigned long long)n_plans);
    by = source(&other, 1, DT_F32, 2), first = source(&other, 3, DT_F32, 2);
    edge(&other);
    other.forms.n = 0;
    for (int t = 0; t < ROUNDS; t++) round_of(&other, by, first, 0);
    uint64_t n = by_plans(&other) - before;
    CHECK_MSG(n > ROUNDS * INSTS * 8 / 10, "%llu", (unsigned long long)n);
    world_close(&other, false);
    world_close(&w, true);
}

/* Random bodies, of which every other one has fusions. */
static void test_device(const EngineOps *device, int n, uint64_t first) {
    for (int i = 0; i < n && !check_failed; i++) {
        char after[8];
        seed = first + (uint64_t)i;
        r.state = seed;
        snprintf(after, sizeof after, "%d", 1 + below(3));
        setenv("GT_GRAPH", after, 1);
        setenv("GT_FUSE", i % 2 ? "wait" : "0", 1);
        if (i % 8 == 7)
            try_body(device, 64 << 20, 'c', true);
        else
            try_both(&engine_cpu, device, 64 << 20, 0, false);
    }
    printf("%llu of %llu instructions by plans, %llu undone; %llu graphs, launched %llu times\n",
           (unsigned long long)planned, (unsigned long long)instructions,
           (unsigned long long)undone, (unsigned long long)graphs, (unsigned long long)launches);
    CHECK(n < 10 || launches > graphs);
}

/* One body on a device, of whose driver a call may have been made to fail: so many graphs are made
 * of it, and launched so often, and the numbers are those of the engine cpu. */
static void test_graphs(const EngineOps *device, int64_t made, int64_t launched) {
    enum { ROUNDS = 81, IN_FRAME = 8 };
    World w;
    Err err;
    world_open_exact(&w, 1000);
    setenv("GT_GRAPH", "2", 1);
    setenv("GT_FUSE", "0", 1);
    exec_free(&w.x[1]);
    w.x[1] = worker_exec(device, &(EngineConfig){.memory_bytes = 64 << 20, .threads = 1}, &err);
    if (!w.x[1]) panic("%s", err.text);
    use_clock(&w, 1000);
    uint64_t by = source(&w, 1, DT_F32, 0.75), x = source(&w, 500, DT_F32, 0.5);
    edge(&w);
    w.forms.n = 0;
    w.has_ends = true;
    for (int t = 0; t < ROUNDS; t++) { /* x = exp(-(by * x)) */
        uint64_t at = w.next_id;
        Operand gone[] = {of_tensor(x), of_tensor(at), of_tensor(at + 1)};
        if (!w.keeps_forms) frame_expect(&w.w, bodies_get(&w.bodies, 0), 0);
        emit(&w, &(Inst){.op = OP_MUL, OPERANDS(of_tensor(by), gone[0]), RESULTS(at)});
        emit(&w, &(Inst){.op = OP_NEG, OPERANDS(gone[1]), RESULTS(at + 1)});
        emit(&w, &(Inst){.op = OP_EXP, OPERANDS(gone[2]), RESULTS(at + 2)});
        emit(&w, &(Inst){.op = OP_FREE, .n_in = 3, .in = gone});
        edge(&w);
        if (w.keeps_forms) define(&w);
        x = at + 2;
        if (t % IN_FRAME == 0) send(&w, 1000000);
    }
    emit(&w, &(Inst){.op = OP_FETCH, OPERANDS(of_tensor(x))});
    by_plans(&w);
    CHECK_INT(w.n_answers[1], 1);
    CHECK_INT((int64_t)figure(&w, "plan.graphs="), made);
    CHECK_INT((int64_t)figure(&w, "plan.graph_launches="), launched);
    world_close(&w, true);
}

int main(int argc, char **argv) {
    const char *device = getenv("GT_TEST_ENGINE");
    if (argc > 3 && !strcmp(argv[1], "graphs") && device) {
        test_graphs(engine_find(device), atoll(argv[2]), atoll(argv[3]));
        return check_report("plan");
    }
    int n = argc > 1 ? atoi(argv[1]) : rand_rounds(150);
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : rand_seed(1, argv);
    if (device) {
        test_device(engine_find(device), n, first);
        return check_report("plan");
    }
    for (int i = 0; i < n; i++) {
        seed = first + (uint64_t)i;
        r.state = seed;
        int kind = below(10);
        if (kind < 3) try_body(&engine_cpu, 64 << 20, 0, false);
        if (kind == 3) try_body(&engine_late, 64 << 20, 0, false);
        if (kind == 4 || kind == 5) try_both(&engine_cpu, &engine_late, 64 << 20, 0, false);
        if (kind == 6) try_body(&engine_reference, 64 << 20, 0, false);
        if (kind == 7) try_body(&engine_cpu, 64 << 20, 'c', true);
        if (kind == 8) try_body(&engine_cpu, (uint64_t)(8 + below(40)) << 10, 0, true);
        if (kind == 9) try_body(&engine_delayed, 64 << 20, below(2) ? 'c' : 0, true);
        if (check_failed) break;
    }
    printf("%llu of %llu instructions by plans, %llu undone\n", (unsigned long long)planned,
           (unsigned long long)instructions, (unsigned long long)undone);
    CHECK(n < 100 || (planned > instructions / 4 && undone > 0));
    test_kinds();
    for (uint64_t state = 0; state < 12; state++) test_in_vain(state);
    test_slow();
    test_room();
    return check_report("plan");
}
