/* move_test.c: located instructions and moves on 2 to 8 workers in one process: step functions
 * wired by queues, everything delivered at random times, in order per pair. Random programs
 * (layouts, groups, odd sizes, terms of every REDUCE row) on the reference engine, the cpu one and
 * the one that finishes late; memory of peers readable or not; poison, cancel, clients and peers
 * that go in the middle, tiny memory. What lies on the workers at the end must be the parts of what
 * the program says, nothing may be stuck, and memory returns to its baseline.
 *
 *   move_test [SEED [ROUNDS]]
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "delayed_engine.h"
#include "random.h"
#include "runtime/element.h"
#include "worker/exec.h"

#include <math.h>
#include <time.h>

enum { WORKERS_MAX = 8, GROUPS = 6, TENSORS = 24, CLIENTS = 2, QUEUE = 1 << 16 };

static Rand rng;
static int below(int n) { return rand_below(&rng, n); }
static bool chance(int percent) { return below(100) < percent; }

/* ---- Wires ---- */

typedef struct Fifo {
    Msg *m;
    int n, cap, at;
} Fifo;
static void push(Fifo *f, Msg *m) {
    if (f->n == f->cap) {
        f->cap = f->cap ? 2 * f->cap : 16;
        f->m = xrealloc(f->m, sizeof *f->m * (size_t)f->cap);
    }
    msg_move(&f->m[f->n++], m);
}
static bool pop(Fifo *f, Msg *m) {
    if (f->at == f->n) {
        f->at = f->n = 0;
        return false;
    }
    msg_move(m, &f->m[f->at++]);
    return true;
}
static void fifo_fini(Fifo *f) {
    Msg m = {0};
    while (pop(f, &m)) msg_fini(&m);
    free(f->m);
    *f = (Fifo){0};
}

typedef struct Grp {
    int n;
    int32_t rank[WORKERS_MAX];
} Grp;

/* A tensor as the program knows it. */
typedef struct Known {
    uint64_t id;
    uint32_t group; /* 0: none */
    Layout layout;
    TensorType type;
    double *value; /* of the whole; NULL: poisoned */
    bool is_made;  /* terms that were made so have any sum; else whole values on place 0 */
} Known;

typedef struct Cli {
    uint32_t id;
    FrameWriter w;
    uint64_t seq, next_id;
    unsigned ranks; /* that the open frame concerns */
    Known t[TENSORS];
    bool is_gone;
    uint64_t acked[WORKERS_MAX], sent[WORKERS_MAX];
} Cli;

typedef struct World {
    const char *name;
    int n;
    uint64_t seed, number;
    Exec *x[WORKERS_MAX];
    bool is_dead[WORKERS_MAX];
    Fifo to[WORKERS_MAX], peer[WORKERS_MAX][WORKERS_MAX];
    Grp group[GROUPS + 1];
    Cli c[CLIENTS];
    int n_errors, n_unexpected;
    bool expects_errors;
} World;

/* ---- Making and running ---- */

static void tell_all(World *w, void (*write)(World *w, int i, Msg *m, const void *ctx),
                     const void *ctx) {
    for (int i = 0; i < w->n; i++) {
        Msg m = {0};
        write(w, i, &m, ctx);
        push(&w->to[i], &m);
    }
}

static void write_group(World *w, int i, Msg *m, const void *ctx) {
    (void)i;
    uint32_t id = *(const uint32_t *)ctx;
    wire_group(id, w->group[id].rank, w->group[id].n, m);
}

static void make_group(World *w, uint32_t id) {
    Grp *g = &w->group[id];
    g->n = id == 1 ? w->n : 1 + below(w->n);
    for (int i = 0; i < w->n; i++) g->rank[i] = i;
    for (int i = w->n - 1; i > 0; i--) {
        int k = below(i + 1);
        int32_t r = g->rank[i];
        g->rank[i] = g->rank[k], g->rank[k] = r;
    }
    tell_all(w, write_group, &id);
}

static void open_frame(World *w, Cli *c) {
    frame_begin(&c->w, c->id, c->seq);
    c->w.edge_id = UINT64_MAX;
    c->ranks = 0;
    (void)w;
}

static World *world_new(uint64_t seed, const EngineOps *ops, int n, uint64_t memory, int readable) {
    World *w = xcalloc(1, sizeof *w);
    w->seed = seed;
    w->n = n;
    w->number = 1;
    for (int i = 0; i < n; i++) {
        Err err = {0};
        w->x[i] = exec_new(ops, &(EngineConfig){.memory_bytes = memory, .threads = 1}, &err);
        CHECK_MSG(w->x[i] != NULL, "%s", err.text);
        exec_set_rank(w->x[i], (uint32_t)i);
        if (ops == &engine_delayed) delayed_seed(exec_engine(w->x[i]), seed * 31 + (uint64_t)i);
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            void *base;
            uint64_t bytes;
            int fd;
            Engine *e = exec_engine(w->x[k]);
            e->ops->arena(e, &base, &bytes, &fd);
            if (i != k)
                exec_peer_memory(w->x[i], (uint32_t)k, chance(readable) ? base : NULL, bytes);
        }
    for (uint32_t g = 1; g <= GROUPS; g++) make_group(w, g);
    for (int i = 0; i < CLIENTS; i++) {
        w->c[i].id = 5 + (uint32_t)i;
        w->c[i].next_id = 1;
        open_frame(w, &w->c[i]);
    }
    return w;
}

static void collect(World *w, int i) {
    Msg m = {0};
    uint32_t rank;
    Ack ack;
    Failure f;
    while (exec_next(w->x[i], &m)) {
        if (wire_kind(&m) == MSG_ACK && wire_read_ack(&m, &ack, NULL))
            for (int k = 0; k < CLIENTS; k++)
                if (w->c[k].id == ack.client) w->c[k].acked[i] = ack.seq;
        if (wire_kind(&m) == MSG_ERROR && wire_read_failure(&m, &f, NULL)) {
            if (!w->expects_errors && w->n_unexpected++ < 3)
                fprintf(stderr, "seed %llu: w%d: %s: %s\n", (unsigned long long)w->seed, i,
                        op_info[f.op].name, f.err.text);
            w->n_errors++;
        }
        msg_fini(&m);
    }
    while (exec_next_peer(w->x[i], &rank, &m)) {
        CHECK(rank < (uint32_t)w->n && rank != (uint32_t)i);
        push(&w->peer[i][rank], &m);
    }
}

static void hear(World *w, int i, Msg *m) {
    Cancel cancel;
    uint32_t id, rank;
    int32_t ranks[MAX_INTS];
    int n;
    if (wire_kind(m) == MSG_FRAME)
        exec_on_frame(w->x[i], m);
    else if (wire_read_group(m, &id, ranks, &n, NULL))
        exec_on_group(w->x[i], id, ranks, n);
    else if (wire_read_cancel(m, &cancel, NULL))
        exec_on_cancel(w->x[i], cancel.client, cancel.seq);
    else if (wire_read_gone(m, &id, NULL))
        exec_on_gone(w->x[i], id);
    else if (wire_read_peer_gone(m, &rank, NULL))
        exec_on_peer_gone(w->x[i], rank);
    msg_fini(m);
}

/* One event at a random place; false: that place had none. */
static bool event(World *w, int i, int kind) {
    Msg m = {0};
    if (w->is_dead[i]) return false;
    if (kind == 0) {
        if (!pop(&w->to[i], &m)) return false;
        hear(w, i, &m);
    } else if (kind == 1) {
        int from = below(w->n);
        if (!pop(&w->peer[from][i], &m)) return false;
        exec_on_peer(w->x[i], (uint32_t)from, &m);
    } else if (!exec_step(w->x[i], below(3) * 20)) {
        collect(w, i);
        return false;
    }
    collect(w, i);
    return true;
}

static void churn(World *w, int events) {
    while (events-- > 0) event(w, below(w->n), below(3));
}

/* Until nothing moves any more. */
static void settle(World *w) {
    for (bool moved = true; moved;) {
        churn(w, 200);
        moved = false;
        for (int i = 0; i < w->n; i++) {
            moved |= event(w, i, 0);
            moved |= event(w, i, 2);
        }
        for (int i = 0; i < w->n; i++)
            for (int from = 0; from < w->n; from++)
                moved |= !w->is_dead[i] && w->peer[from][i].at < w->peer[from][i].n;
    }
}

static void world_free(World *w) {
    for (int i = 0; i < w->n; i++) {
        exec_free(&w->x[i]);
        fifo_fini(&w->to[i]);
        for (int k = 0; k < w->n; k++) fifo_fini(&w->peer[i][k]);
    }
    for (int i = 0; i < CLIENTS; i++) {
        Msg m = {0};
        frame_end(&w->c[i].w, &m);
        msg_fini(&m);
        for (int k = 0; k < TENSORS; k++) free(w->c[i].t[k].value);
    }
    free(w);
}

/* ---- Programs ---- */

static void flush(World *w, Cli *c) {
    Msg m = {0};
    c->w.number = w->number;
    w->number += c->w.count + (uint64_t)below(2); /* numbers of other workers' instructions */
    frame_end(&c->w, &m);
    for (int i = 0; i < w->n; i++) {
        if (!(c->ranks >> i & 1) || w->is_dead[i]) continue;
        Msg copy = {0};
        for (int p = 0; p < m.n; p++) msg_push(&copy, buf_ref(m.part[p]));
        push(&w->to[i], &copy);
        c->sent[i] = c->seq;
    }
    msg_fini(&m);
    open_frame(w, c);
}

static void add_ranks(World *w, Cli *c, uint32_t group) {
    for (int i = 0; i < w->group[group].n; i++) c->ranks |= 1u << w->group[group].rank[i];
}

static void emit(World *w, Cli *c, const Inst *in, bool is_inserted) {
    if (is_inserted)
        frame_insert(&c->w, in);
    else
        frame_add(&c->w, in), c->seq++;
    if (frame_is_full(&c->w) || chance(20)) flush(w, c);
}

static void emit_on(World *w, Cli *c, const Inst *in, uint32_t group, const Layout *l) {
    Located at;
    CHECK(inst_locate(in, group, l, &at));
    add_ranks(w, c, group);
    emit(w, c, &at.inst, false);
}

static Layout some_layout(const TensorType *t, int n, bool is_bool) {
    static const Op rows[] = {OP_SUM, OP_MAX, OP_MIN, OP_PROD};
    if (t->rank > 0 && chance(60)) {
        int axis = below(t->rank);
        Layout l = layout_split(t, axis, n);
        if (chance(25)) l.block += below((int)l.block + 1);
        return l;
    }
    if (chance(35)) return layout_partial(is_bool ? OP_ANY + (Op)below(2) : rows[below(4)]);
    return layout_replicate();
}

static Known *slot(Cli *c, bool used) {
    int at = below(TENSORS);
    for (int i = 0; i < TENSORS; i++) {
        Known *k = &c->t[(at + i) % TENSORS];
        if ((k->group != 0) == used) return k;
    }
    return NULL;
}

static void *payload_of(const Known *k, uint64_t *bytes) {
    int64_t n = type_numel(&k->type), size = dtype_info[k->type.dtype].size_bytes;
    char *p = xmalloc((size_t)(n * size) + 1);
    for (int64_t i = 0; i < n; i++)
        if (dtype_is_float((DType)k->type.dtype))
            element_set_float((DType)k->type.dtype, p + i * size, k->value[i]);
        else
            element_set_int((DType)k->type.dtype, p + i * size, (int64_t)k->value[i]);
    *bytes = (uint64_t)(n * size);
    return p;
}

static void make_data(World *w, Cli *c, int extent) {
    static const DType dtypes[] = {DT_F32, DT_F64, DT_I64, DT_I32, DT_BOOL, DT_BF16};
    Known *k = slot(c, false);
    if (!k) return;
    *k = (Known){.id = c->next_id++, .group = 1 + (uint32_t)below(GROUPS)};
    k->type.dtype = (uint8_t)dtypes[below(6)];
    k->type.rank = (uint8_t)below(4);
    for (int d = 0; d < k->type.rank; d++)
        k->type.shape[d] = chance(5) ? 0 : 1 + below(k->type.rank == 1 ? 9 * extent : extent);
    bool is_bool = k->type.dtype == DT_BOOL;
    k->layout = some_layout(&k->type, w->group[k->group].n, is_bool);
    int64_t n = type_numel(&k->type);
    k->value = xmalloc(sizeof(double) * (size_t)(n + 1));
    for (int64_t i = 0; i < n; i++) k->value[i] = is_bool ? below(2) : below(13) - 6;
    uint64_t bytes;
    void *payload = payload_of(k, &bytes);
    Attr attr[] = {{.key = ATTR_SHAPE, .n = k->type.rank, .ints = k->type.shape},
                   {.key = ATTR_DTYPE, .dtype = (DType)k->type.dtype}};
    Inst in = {.op = OP_DATA,
               .n_attr = 2,
               .attr = attr,
               .n_out = 1,
               .out = {k->id},
               .payload = payload,
               .payload_bytes = bytes};
    emit_on(w, c, &in, k->group, &k->layout);
    free(payload);
}

static Known *copy_of(Cli *c, const Known *from) {
    Known *k = slot(c, false);
    if (!k) return NULL;
    *k = *from;
    k->id = c->next_id++;
    size_t n = sizeof(double) * (size_t)(type_numel(&from->type) + 1);
    if (from->value) k->value = memcpy(xmalloc(n), from->value, n);
    return k;
}

static void make_move(World *w, Cli *c) {
    Known *a = slot(c, true), *k = a ? copy_of(c, a) : NULL;
    if (!k) return;
    bool is_bool = a->type.dtype == DT_BOOL;
    if (chance(60)) k->group = 1 + (uint32_t)below(GROUPS);
    k->layout = some_layout(&k->type, w->group[k->group].n, is_bool);
    Move m = {.in = a->id,
              .out = k->id,
              .type = a->type,
              .from = {a->group, a->layout},
              .to = {k->group, k->layout}};
    MoveInst in;
    move_inst(&m, (SrcPos){1, 2, 3}, &in);
    add_ranks(w, c, a->group);
    add_ranks(w, c, k->group);
    emit(w, c, &in.inst, chance(50));
}

/* k = a + a, or -a where terms let it. */
static void make_map(World *w, Cli *c) {
    Known *a = slot(c, true);
    if (!a || a->type.dtype == DT_BOOL) return;
    if (a->layout.kind == LAYOUT_PARTIAL && a->layout.op != OP_SUM) return;
    Known *k = copy_of(c, a);
    if (!k) return;
    for (int64_t i = 0, n = type_numel(&k->type); k->value && i < n; i++) {
        k->value[i] = -k->value[i];
        if (k->value[i] == 0) k->value[i] = 0;
    }
    Operand in = {.kind = IN_TENSOR, .id = a->id};
    emit_on(w, c, &(Inst){.op = OP_NEG, .n_in = 1, .in = &in, .n_out = 1, .out = {k->id}}, k->group,
            &k->layout);
}

static double fold(Op op, double a, double b) {
    switch (op) {
    case OP_SUM: return a + b;
    case OP_PROD: return a * b;
    case OP_MAX: return a > b ? a : b;
    case OP_MIN: return a < b ? a : b;
    case OP_ANY: return a != 0 || b != 0;
    default: return a != 0 && b != 0;
    }
}
static double fold_first(Op op, double a) {
    return op == OP_ANY || op == OP_ALL ? a != 0 : a;
}

/* A reduction along the axis that is split: a term of it on each rank. */
static void make_terms(World *w, Cli *c) {
    static const Op rows[] = {OP_SUM, OP_MAX, OP_MIN, OP_ANY, OP_ALL};
    Known *a = slot(c, true);
    if (!a || a->layout.kind != LAYOUT_SPLIT || a->type.shape[a->layout.axis] == 0) return;
    Op op = rows[below(5)];
    if (op == OP_SUM && (a->type.dtype == DT_BF16)) return; /* rounds */
    Known *k = slot(c, false);
    if (!k) return;
    int64_t axis = a->layout.axis, outer = 1, inner = 1, n = a->type.shape[axis];
    *k = (Known){.id = c->next_id++, .group = a->group, .layout = layout_partial(op)};
    Attr attr = {.key = ATTR_AXIS, .n = 1, .ints = &axis};
    Operand operand = {.kind = IN_TENSOR, .id = a->id};
    Inst in = {.op = op,
               .n_in = 1,
               .in = &operand,
               .n_attr = 1,
               .attr = &attr,
               .n_out = 1,
               .out = {k->id}};
    TensorType out[MAX_OUT];
    int n_out;
    Err err = {0};
    CHECK_MSG(inst_infer(&in, &a->type, out, &n_out, &err), "%s", err.text);
    k->type = out[0];
    for (int d = 0; d < a->type.rank; d++)
        if (d != axis) *(d < axis ? &outer : &inner) *= a->type.shape[d];
    if (a->value) k->value = xmalloc(sizeof(double) * (size_t)(outer * inner + 1));
    for (int64_t o = 0; a->value && o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            const double *v = a->value + o * n * inner + i;
            double acc = fold_first(op, v[0]);
            for (int64_t r = 1; r < n; r++) acc = fold(op, acc, v[r * inner]);
            k->value[o * inner + i] = acc;
        }
    emit_on(w, c, &in, k->group, &k->layout);
}

static void make_poison(World *w, Cli *c) {
    Known *k = slot(c, false);
    if (!k) return;
    *k = (Known){.id = c->next_id++, .group = 1 + (uint32_t)below(GROUPS)};
    k->type = (TensorType){.dtype = DT_F32, .rank = 2, .shape = {30, 50}};
    k->layout = layout_split(&k->type, below(2), w->group[k->group].n);
    emit_on(w, c, &(Inst){.op = OP_POISON, .n_out = 1, .out = {k->id}}, k->group, &k->layout);
}

static void drop(World *w, Cli *c) {
    Known *k = slot(c, true);
    if (!k) return;
    Operand in = {.kind = IN_TENSOR, .id = k->id};
    add_ranks(w, c, k->group);
    emit(w, c, &(Inst){.op = OP_FREE, .n_in = 1, .in = &in}, chance(50));
    free(k->value);
    *k = (Known){0};
}

/* percent: of poisoned tensors among those made */
static void program(World *w, Cli *c, int length, int extent, int percent) {
    for (int i = 0; i < length; i++) {
        switch (below(9)) {
        case 0:
        case 1:
            if (chance(percent))
                make_poison(w, c);
            else
                make_data(w, c, extent);
            break;
        case 2:
        case 3:
        case 4: make_move(w, c); break;
        case 5: make_map(w, c); break;
        case 6: make_terms(w, c); break;
        default: drop(w, c); break;
        }
        if (chance(10)) churn(w, 30);
    }
    flush(w, c);
}

/* ---- Looking ---- */

static const Tensor *tensor_on(World *w, const Cli *c, int rank, uint64_t id) {
    const Client *client = exec_client(w->x[rank], c->id, false);
    return client ? store_get(client->names, id) : NULL;
}

/* What lies on place i, as doubles; NULL: poisoned or absent. */
static double *part_on(World *w, const Cli *c, const Known *k, int i, bool *is_poisoned) {
    int rank = w->group[k->group].rank[i];
    const Tensor *t = tensor_on(w, c, rank, k->id);
    *is_poisoned = t && t->storage->poison;
    if (!t || *is_poisoned || w->is_dead[rank]) return NULL;
    TensorType want = layout_local(&k->layout, &k->type, i);
    CHECK(type_equal(&t->view.type, &want));
    View v;
    tensor_view(t, &v);
    int64_t n = type_numel(&v.type), size = dtype_info[v.type.dtype].size_bytes;
    char *bytes = xmalloc((size_t)(n * size) + 1);
    if (n) w->x[rank]->ops->copy_out(w->x[rank]->engine, bytes, &v);
    double *value = xmalloc(sizeof(double) * (size_t)(n + 1));
    for (int64_t e = 0; e < n; e++) value[e] = element_float((DType)v.type.dtype, bytes + e * size);
    free(bytes);
    return value;
}

static int shown;
static void differ(World *w, const Known *k, int i, int64_t e, double got, double want) {
    char lay[48], text[256];
    CHECK(!"the value");
    if (shown++ < 10)
        fprintf(stderr, "seed %llu: t%llu %s %s on group %u place %d: element %lld is %g, not %g\n",
                (unsigned long long)w->seed, (unsigned long long)k->id, type_text(&k->type, text),
                layout_text(&k->layout, lay), k->group, i, (long long)e, got, want);
}

static void look_at(World *w, const Cli *c, const Known *k, bool may_fail) {
    int n = w->group[k->group].n;
    int64_t numel = type_numel(&k->type);
    double *all = xcalloc((size_t)numel + 1, sizeof *all);
    bool is_whole = true;
    for (int i = 0; i < n; i++) {
        bool is_poisoned;
        double *part = part_on(w, c, k, i, &is_poisoned);
        if (!part) {
            TensorType here = layout_local(&k->layout, &k->type, i);
            is_whole = false;
            CHECK_MSG(is_poisoned || (may_fail && w->is_dead[w->group[k->group].rank[i]]),
                      "seed %llu: t%llu is absent", (unsigned long long)w->seed,
                      (unsigned long long)k->id);
            CHECK_MSG(!k->value || may_fail || type_numel(&here) == 0,
                      "seed %llu: t%llu is poisoned", (unsigned long long)w->seed,
                      (unsigned long long)k->id);
            continue;
        }
        Region r = layout_region(&k->layout, &k->type, i);
        TensorType box = layout_local(&k->layout, &k->type, i);
        int64_t m = type_numel(&box), index[MAX_DIMS] = {0};
        for (int64_t e = 0; e < m; e++) {
            int64_t at = 0;
            for (int d = 0; d < box.rank; d++) at = at * k->type.shape[d] + r.begin[d] + index[d];
            if (k->layout.kind == LAYOUT_PARTIAL)
                all[at] = i ? fold((Op)k->layout.op, all[at], part[e])
                            : fold_first((Op)k->layout.op, part[e]);
            else if (k->value && part[e] != k->value[at])
                differ(w, k, i, at, part[e], k->value[at]), m = 0;
            for (int d = box.rank - 1; d >= 0 && ++index[d] == box.shape[d]; d--) index[d] = 0;
        }
        free(part);
    }
    for (int64_t e = 0; k->layout.kind == LAYOUT_PARTIAL && is_whole && k->value && e < numel; e++)
        if (all[e] != k->value[e]) {
            differ(w, k, -1, e, all[e], k->value[e]);
            break;
        }
    free(all);
}

static void look(World *w, bool may_fail) {
    if (check_failed) return; /* it may not be made */
    for (int i = 0; i < CLIENTS; i++)
        for (int k = 0; k < TENSORS && !w->c[i].is_gone; k++)
            if (w->c[i].t[k].group) look_at(w, &w->c[i], &w->c[i].t[k], may_fail);
}

static void write_gone(World *w, int i, Msg *m, const void *ctx) {
    (void)w, (void)i;
    wire_gone(*(const uint32_t *)ctx, m);
}

static void leave(World *w, Cli *c) {
    c->is_gone = true;
    tell_all(w, write_gone, &c->id);
}

/* What each worker waits for. */
static void tell_stuck(World *w, int i) {
    for (const Client *c = w->x[i]->clients; c; c = c->next) {
        const Job *j = c->jobs;
        fprintf(stderr, "  client %u: %u jobs, %u waiting, %s\n", c->id, c->n_jobs, c->n_waiting,
                c->at ? "more to come" : "all issued");
        for (int k = 0; j && k < 3; k++, j = j->next)
            fprintf(stderr, "    %llu %s t%llu kind %d state %d waits for %u%s\n",
                    (unsigned long long)j->number, op_info[j->inst.op].name,
                    (unsigned long long)j->inst.out[0], j->kind, j->state, j->n_waits,
                    j->is_ready ? ", ready" : "");
    }
}

static void check_done(World *w) {
    for (int i = 0; i < w->n; i++) {
        if (w->is_dead[i]) continue;
        bool done = exec_has_done(w->x[i], exec_frames(w->x[i]), 0);
        CHECK_MSG(done, "seed %llu: %s: w%d of %d is stuck", (unsigned long long)w->seed,
                  w->name, i, w->n);
        if (!done) tell_stuck(w, i);
        for (int k = 0; k < CLIENTS; k++)
            if (!w->c[k].is_gone) CHECK_INT(w->c[k].acked[i], w->c[k].sent[i]);
    }
}

static void check_baseline(World *w) {
    for (int i = 0; i < CLIENTS; i++)
        if (!w->c[i].is_gone) leave(w, &w->c[i]);
    settle(w);
    for (int i = 0; i < w->n; i++) {
        uint64_t used, peak, total;
        Exec *x = w->x[i];
        if (w->is_dead[i]) continue;
        x->ops->memory(x->engine, &used, &peak, &total);
        CHECK_INT(used, 0);
        CHECK_INT(x->store.n_storages, 0);
        CHECK_INT(x->pins.n, 0);
        CHECK_INT(x->early.n, 0);
        CHECK_INT(x->imports.n, 0);
        CHECK_INT(x->promised, 0);
        CHECK(!x->clients && !x->first);
    }
}

/* ---- Scenarios ---- */

static const EngineOps *some_engine(void) {
    const EngineOps *all[] = {&engine_reference, &engine_cpu, &engine_delayed};
    return all[below(3)];
}

static int some_size(void) { return 2 + below(WORKERS_MAX - 1); }
static int some_reach(void) { return (int[]){0, 50, 100}[below(3)]; }

static void test_program(uint64_t seed, int percent) {
    World *w = world_new(seed, some_engine(), some_size(), 256 << 20, some_reach());
    w->name = "program";
    program(w, &w->c[0], 60 + below(100), chance(30) ? 40 : 9, percent);
    program(w, &w->c[1], below(60), 5, percent);
    settle(w);
    check_done(w);
    look(w, false);
    CHECK_INT(w->n_errors, 0);
    check_baseline(w);
    world_free(w);
}

static void write_cancel(World *w, int i, Msg *m, const void *ctx) {
    (void)w, (void)i;
    const Cli *c = ctx;
    wire_cancel(&(Cancel){.client = c->id, .seq = c->seq}, m);
}

static void test_cancel(uint64_t seed) {
    World *w = world_new(seed, some_engine(), some_size(), 256 << 20, some_reach());
    w->name = "cancel";
    w->expects_errors = true;
    for (int i = 0; i < 4; i++) {
        program(w, &w->c[0], 40, 12, 2);
        program(w, &w->c[1], 20, 9, 0);
        churn(w, below(200));
        tell_all(w, write_cancel, &w->c[0]);
    }
    settle(w);
    check_done(w);
    for (int k = 0; k < TENSORS; k++) /* of the other client nothing is lost */
        if (w->c[1].t[k].group) look_at(w, &w->c[1], &w->c[1].t[k], false);
    check_baseline(w);
    world_free(w);
}

static void test_client_gone(uint64_t seed) {
    World *w = world_new(seed, some_engine(), some_size(), 256 << 20, some_reach());
    w->name = "client_gone";
    program(w, &w->c[1], 60, 9, 0);
    program(w, &w->c[0], 80, 40, 0);
    churn(w, below(400));
    leave(w, &w->c[0]);
    settle(w);
    check_done(w);
    look(w, false);
    check_baseline(w);
    world_free(w);
}

static void write_peer_gone(World *w, int i, Msg *m, const void *ctx) {
    (void)w, (void)i;
    wire_peer_gone(*(const uint32_t *)ctx, m);
}

static void test_peer_gone(uint64_t seed) {
    World *w = world_new(seed, some_engine(), some_size(), 256 << 20, some_reach());
    w->name = "peer_gone";
    w->expects_errors = true;
    program(w, &w->c[0], 80, 30, 2);
    churn(w, below(400));
    uint32_t dead = (uint32_t)below(w->n);
    w->is_dead[dead] = true;
    churn(w, below(100));
    tell_all(w, write_peer_gone, &dead);
    program(w, &w->c[1], 40, 9, 0); /* issued with the dead in its groups */
    settle(w);
    check_done(w);
    look(w, true);
    check_baseline(w);
    world_free(w);
}

/* Memory for a few tensors only: errors, but nothing wrong and nothing stuck. */
static void test_tiny(uint64_t seed) {
    World *w = world_new(seed, some_engine(), some_size(), 40000 + (uint64_t)below(200000),
                         some_reach());
    w->name = "tiny";
    w->expects_errors = true;
    program(w, &w->c[0], 150, 14, 0);
    program(w, &w->c[1], 60, 14, 0);
    settle(w);
    check_done(w);
    look(w, true);
    check_baseline(w);
    world_free(w);
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL) * 1000;
    int rounds = argc > 2 ? atoi(argv[2]) : 30;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < rounds; i++, seed++) {
        rng.state = seed * 7919;
        test_program(seed, seed % 3 ? 0 : 8);
        test_cancel(seed);
        test_client_gone(seed);
        test_peer_gone(seed);
        test_tiny(seed);
        if (check_failed) break;
    }
    CHECK_INT(delayed_violations, 0);
    return check_report("move");
}
