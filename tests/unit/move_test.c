/* move_test.c: located instructions and moves on 2 to 8 workers in one process: step functions
 * connected by queues, messages delivered at random times, in order per pair. Random programs
 * (layouts, groups, odd sizes, terms of every REDUCE row) on the reference engine, the cpu one and
 * the one that finishes late; memory of peers readable or not; poison, cancel, clients and peers
 * that go in the middle, little memory. At the end the workers must hold the parts of what the
 * program computes, nothing may be stuck, and memory must return to its baseline.
 *
 *   move_test [SEED [ROUNDS]]
 * SPDX-License-Identifier: MIT */
#include "tests/unit/make_inst.h"
#include "move_world.h"
#include "worker/engine/box.h"
#include "worker/exec/mark.h"
#include "runtime/inst/element.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire_peer.h"
#include "worker/exec/watch.h"

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
    Inst in = {.op = OP_DATA,
               SHAPED(k->type.rank, k->type.shape, (DType)k->type.dtype),
               RESULTS(k->id),
               BYTES(payload, bytes)};
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

/* k = a + a, or -a if a has terms. */
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
    Inst in = {.op = OP_NEG, OPERANDS(of_tensor(a->id)), RESULTS(k->id)};
    emit_on(w, c, &in, k->group, &k->layout);
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
static double fold_first(Op op, double a) { return op == OP_ANY || op == OP_ALL ? a != 0 : a; }

/* A reduction along the split axis: each rank has a term of it. */
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
    Inst in = {.op = op,
               OPERANDS(of_tensor(a->id)),
               ATTRS(attr_ints(ATTR_AXIS, 1, &axis)),
               RESULTS(k->id)};
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
    add_ranks(w, c, k->group);
    emit(w, c, &(Inst){.op = OP_FREE, OPERANDS(of_tensor(k->id))}, chance(50));
    free(k->value);
    *k = (Known){0};
}

/* With its block's head, and rounded up. */
static uint64_t cost_of(const Known *k) {
    return k->group ? (type_bytes(&k->type) + 127) / 64 * 64 + 64 : 0;
}

static void count_live(World *w) {
    w->live = 0;
    for (int i = 0; i < CLIENTS; i++)
        for (int k = 0; k < TENSORS; k++) w->live += cost_of(&w->c[i].t[k]);
}

/* percent of the tensors that are poisoned */
static void program(World *w, Cli *c, int length, int extent, int percent) {
    for (int i = 0; i < length; i++) {
        uint64_t most = (uint64_t)(extent * extent * extent * 8 + 192);
        for (count_live(w); w->live_max && w->live + most > w->live_max; count_live(w)) {
            uint64_t before = w->live;
            drop(w, c);
            count_live(w);
            if (w->live == before) break;
        }
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

/* ---- Checking values ---- */

static const Tensor *tensor_on(World *w, const Cli *c, int rank, uint64_t id) {
    const Client *client = exec_client(w->x[rank], c->id, false);
    return client ? store_get(client->names, id) : NULL;
}

/* All that x was asked for is done. */
static void wait_for_engine(Exec *x) {
    if (x->marks) marks_settle(x);
}

/* The values on place i, as doubles; NULL: poisoned or absent. */
static double *part_on(World *w, const Cli *c, const Known *k, int i, bool *is_poisoned) {
    int rank = w->group[k->group].rank[i];
    const Tensor *t = tensor_on(w, c, rank, k->id);
    wait_for_engine(w->x[rank]);
    *is_poisoned = t && t->storage->poison;
    if (!t || *is_poisoned || w->is_dead[rank]) return NULL;
    TensorType want = layout_local(&k->layout, &k->type, i);
    CHECK(type_equal(&t->view.type, &want));
    View v;
    tensor_view(t, &v);
    int64_t n = type_numel(&v.type), size = dtype_info[v.type.dtype].size_bytes;
    char *bytes = xmalloc((size_t)(n * size) + 1);
    if (n) w->x[rank]->ops->copy_out(w->x[rank]->engine, bytes, &v);
    wait_for_engine(w->x[rank]);
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
    if (check_failed) return; /* it may never be made */
    for (int i = 0; i < CLIENTS; i++)
        for (int k = 0; k < TENSORS && !w->c[i].is_gone; k++)
            if (w->c[i].t[k].group) look_at(w, &w->c[i], &w->c[i].t[k], may_fail);
}

static void write_gone(World *w, int i, Msg *m, const void *ctx) { wire_gone(ctx, m); }

static void leave(World *w, Cli *c) {
    c->is_gone = true;
    broadcast(w, write_gone, &c->id);
}

/* Prints what each worker waits for. */
static void print_stuck(World *w, int i) {
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
        CHECK_MSG(done, "seed %llu: %s: w%d of %d is stuck", (unsigned long long)w->seed, w->name,
                  i, w->n);
        if (!done) print_stuck(w, i);
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
        CHECK_INT(x->n_waiting, 0);
        CHECK(!x->clients && !x->first);
    }
}

/* ---- Times ---- */

static void watch_all(World *w) {
    for (int i = 0; i < w->n; i++) {
        exec_watch(w->x[i], WATCH_USAGE);
        w->x[i]->watch->taken = 0;
    }
    w->began_ns = now_ns();
}

/* A worker's operations took no longer than the program: a move's time does not include that of
 * calls during it. Of one that began before the move it does not lose more than there is. */
static void check_times(World *w) {
    double most = (double)(now_ns() - w->began_ns) * 1.01;
    for (int i = 0; i < w->n; i++) {
        Arena a = {0};
        Msg m = {0};
        Usage u;
        w->x[i]->watch->usage_ns = 0;
        CHECK(exec_next(w->x[i], &m) && wire_read_usage(&m, &a, &u, NULL));
        double sum = 0;
        uint64_t ticks = w->x[i]->watch->idle[IDLE_DEVICE];
        for (uint32_t k = 0; k < u.n; k++) sum += (double)u.op[k].ns;
        for (int k = 0; k < OP_COUNT; k++) ticks += w->x[i]->watch->op[k].ns;
        CHECK_MSG(sum <= most, "seed %llu: w%d worked %.0f ns of %.0f", (unsigned long long)w->seed,
                  i, sum, most);
        CHECK_INT(ticks, w->x[i]->watch->taken); /* it waits for nothing else here */
        msg_fini(&m);
        arena_fini(&a);
    }
}

/* ---- Scenarios ---- */

static const EngineOps *some_engine(void) {
    const EngineOps *all[] = {&engine_reference, &engine_cpu, &engine_delayed, &engine_late};
    return all[below(4)];
}

static int some_size(void) { return 2 + below(WORKERS_MAX - 1); }
static int some_reach(void) { return (int[]){0, 50, 100}[below(3)]; }

static void test_program(uint64_t seed, int percent) {
    World *w = world_new(seed, some_engine(), some_size(), 256 << 20, some_reach());
    w->name = "program";
    watch_all(w);
    program(w, &w->c[0], 60 + below(100), chance(30) ? 40 : 9, percent);
    program(w, &w->c[1], below(60), 5, percent);
    settle(w);
    check_done(w);
    look(w, false);
    CHECK_INT(w->n_errors, 0);
    check_times(w);
    check_baseline(w);
    world_free(w);
}

static void write_cancel(World *w, int i, Msg *m, const void *ctx) {
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
        broadcast(w, write_cancel, &w->c[0]);
    }
    settle(w);
    check_done(w);
    for (int k = 0; k < TENSORS; k++) /* the other client loses nothing */
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

static void write_peer_gone(World *w, int i, Msg *m, const void *ctx) { wire_peer_gone(ctx, m); }

static void test_peer_gone(uint64_t seed) {
    World *w = world_new(seed, some_engine(), some_size(), 256 << 20, some_reach());
    w->name = "peer_gone";
    w->expects_errors = true;
    program(w, &w->c[0], 80, 30, 2);
    churn(w, below(400));
    uint32_t dead = (uint32_t)below(w->n);
    w->is_dead[dead] = true;
    churn(w, below(100));
    broadcast(w, write_peer_gone, &dead);
    program(w, &w->c[1], 40, 9, 0); /* issued with the dead worker in its groups */
    settle(w);
    check_done(w);
    look(w, true);
    check_baseline(w);
    world_free(w);
}

/* Memory for a few tensors only: errors, but no wrong value and nothing stuck. */
static void test_tiny(uint64_t seed) {
    World *w =
        world_new(seed, some_engine(), some_size(), 40000 + (uint64_t)below(200000), some_reach());
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

/* Peers that send damaged messages: values may be wrong, and instructions may wait until the peers
 * are declared dead; but nothing crashes and nothing is left. Their memory is not read here: their
 * descriptors may be wrong. */
static void test_hostile(uint64_t seed) {
    World *w = world_new(seed, some_engine(), some_size(), 256 << 20, 0);
    w->name = "hostile";
    w->expects_errors = w->is_hostile = true;
    program(w, &w->c[0], 80, 40, 2);
    program(w, &w->c[1], 40, 9, 0);
    settle(w);
    for (int i = 0; i < CLIENTS; i++) leave(w, &w->c[i]);
    settle(w);
    for (uint32_t i = 0; i < (uint32_t)w->n; i++) broadcast(w, write_peer_gone, &i);
    check_baseline(w);
    world_free(w);
}

/* Compares element by element. */
static void test_within(void) {
    for (int round = 0; round < 20000; round++) {
        TensorType t = {.dtype = DT_F32, .rank = (uint8_t)below(4)};
        int64_t stride[MAX_DIMS], bytes = 64 * below(4), offset = 4 * below(60);
        offset += chance(3);
        for (int d = 0; d < t.rank; d++) t.shape[d] = below(5), stride[d] = below(9) - 3;
        bool is_in = offset % 4 == 0 && offset <= bytes;
        int64_t n = type_numel(&t);
        for (int64_t e = 0; e < n; e++) {
            int64_t rest = e, at = offset;
            for (int d = t.rank - 1; d >= 0; d--) {
                at += rest % t.shape[d] * stride[d] * 4;
                rest /= t.shape[d];
            }
            is_in &= at >= 0 && at + 4 <= bytes;
        }
        CHECK(box_lies_within(&t, stride, (uint64_t)offset, (uint64_t)bytes) == is_in);
    }
    TensorType t = {.dtype = DT_F64, .rank = 2, .shape = {3, INT64_C(1) << 40}};
    int64_t far[2] = {INT64_MAX / 2, INT64_MAX / 4}, back[2] = {INT64_MIN, -1};
    CHECK(!box_lies_within(&t, far, 0, UINT64_C(1) << 40));
    CHECK(!box_lies_within(&t, back, 0, UINT64_C(1) << 40));
    CHECK(!box_lies_within(&t, far, UINT64_MAX - 7, UINT64_C(1) << 40));
}

/* ---- Instructions that wait delay no others ---- */

/* Two workers; the second gets no messages for a while. */
typedef struct Pair {
    World *w;
    Cli *a, *b;
} Pair;

static Pair pair_new(const EngineOps *ops) {
    World *w = world_new(1, ops, 2, 64 << 20, 100);
    w->name = "pair";
    settle(w);
    w->group[1] = (Grp){2, {0, 1}};
    w->group[2] = (Grp){1, {0}};
    for (uint32_t g = 1; g <= 2; g++)
        for (int i = 0; i < 2; i++)
            exec_on_group(w->x[i], 100 + g, w->group[g].rank, w->group[g].n);
    w->is_dead[1] = true;
    return (Pair){w, &w->c[0], &w->c[1]};
}

static void add_data(Pair p, Cli *c, uint64_t id, uint32_t group, const Layout *l, int64_t rows) {
    Known k = {.type = {.dtype = DT_F32, .rank = 1, .shape = {rows}}};
    k.value = xcalloc((size_t)rows, sizeof(double));
    for (int64_t i = 0; i < rows; i++) k.value[i] = (double)(i % 100);
    uint64_t bytes;
    void *payload = payload_of(&k, &bytes);
    Inst in = {.op = OP_DATA, SHAPED(1, k.type.shape, DT_F32), RESULTS(id), BYTES(payload, bytes)};
    Located at;
    inst_locate(&in, 100 + group, l, &at);
    frame_add(&c->w, &at.inst), c->seq++;
    free(payload);
    free(k.value);
}

static void add_op(Cli *c, Op op, uint64_t out, uint64_t in, uint32_t group) {
    Layout whole = layout_replicate();
    Operand operand = {.kind = IN_TENSOR, .id = in};
    Inst inst = {.op = op, .n_in = in > 0, .in = &operand, .n_out = out > 0, .out = {out}};
    Located at;
    inst_locate(&inst, 100 + group, &whole, &at);
    frame_add(&c->w, &at.inst), c->seq++;
}

static void add_move(Cli *c, uint64_t out, uint64_t in, int64_t rows, Place from, Place to) {
    from.group += 100, to.group += 100;
    Move m = {in, out, {.dtype = DT_F32, .rank = 1, .shape = {rows}}, from, to};
    MoveInst inst;
    move_inst(&m, (SrcPos){1, 1, 1}, &inst);
    frame_insert(&c->w, &inst.inst);
}

static void send(Pair p, Cli *c) {
    c->ranks = 3;
    p.w->is_dead[1] = false; /* its frames are held back */
    flush(p.w, c);
    p.w->is_dead[1] = true;
}

static int step_all(World *w, int i, uint64_t *seq, int most) {
    int n = 0;
    Msg m = {0}, peer = {0};
    uint32_t rank;
    Arena arena = {0};
    Reply r;
    while (event(w, i, 0)) {}
    while (exec_step(w->x[i], 1000)) {}
    while (exec_next(w->x[i], &m)) {
        if (wire_kind(&m) == MSG_REPLY && wire_read_reply(&m, &arena, &r, NULL) && n < most)
            seq[n++] = r.client * 1000 + r.seq;
        CHECK(wire_kind(&m) != MSG_ERROR);
        msg_fini(&m);
    }
    while (exec_next_peer(w->x[i], &rank, &peer)) push(&w->peer[i][rank], &peer);
    arena_fini(&arena);
    return n;
}

static void test_overlap(const EngineOps *ops) {
    enum { ROWS = 200000 };
    Pair p = pair_new(ops);
    Exec *x = p.w->x[0];
    Layout whole = layout_replicate();
    Layout half = {.kind = LAYOUT_SPLIT, .axis = 0, .block = ROWS / 2};
    uint64_t seq[16], used, peak, total;
    add_data(p, p.a, 1, 1, &half, ROWS);
    add_data(p, p.a, 2, 2, &whole, 10);
    add_move(p.a, 3, 1, ROWS, (Place){1, half}, (Place){1, whole});
    add_op(p.a, OP_NEG, 4, 3, 1);   /* waits */
    add_op(p.a, OP_NEG, 5, 2, 2);   /* does not */
    add_op(p.a, OP_FETCH, 0, 5, 2); /* its answer does: seq 4 */
    add_op(p.a, OP_FREE, 0, 3, 1);  /* the name only */
    add_op(p.a, OP_FETCH, 0, 4, 2);
    add_data(p, p.b, 1, 2, &whole, 10);
    add_op(p.b, OP_FETCH, 0, 1, 2);
    send(p, p.a);
    send(p, p.b);
    int n = step_all(p.w, 0, seq, 16);
    CHECK_INT(n, 1); /* the other client's */
    CHECK_INT(seq[0], 6001);
    const Tensor *t5 = tensor_on(p.w, p.a, 0, 5);
    CHECK(t5 && !t5->storage->maker && t5->storage->made == 0);
    CHECK(tensor_on(p.w, p.a, 0, 4)->storage->maker != NULL);
    x->ops->memory(x->engine, &used, &peak, &total);
    CHECK_MSG(used < ROWS * 4, "%llu bytes for what waits", (unsigned long long)used);
    CHECK_INT(x->n_waiting, 2);
    CHECK_INT(x->pins.n, 1);
    p.w->is_dead[1] = false;
    for (int round = 0; round < 20; round++) {
        step_all(p.w, 1, seq, 0);
        while (event(p.w, 0, 1) || event(p.w, 1, 1)) {}
        n = step_all(p.w, 0, seq, 16);
        if (n) break;
    }
    CHECK_INT(n, 2);
    CHECK_INT(seq[0], 5004);
    CHECK_INT(seq[1], 5006);
    settle(p.w);
    CHECK_INT(x->pins.n, 0);
    CHECK_INT(x->bytes_in, ROWS / 2 * 4);
    CHECK_INT(x->bytes_out, ROWS / 2 * 4);
    Bytes text = {0};
    exec_placement(x, 5, 1, &text);
    CHECK_STR(text.data, "shape=[100000]\nlayout=split 0 / 100000\ngroup=101\n");
    text.n = 0;
    exec_placement(x, 5, 5, &text);
    CHECK_STR(text.data, "shape=[10]\nlayout=replicate\ngroup=102\n");
    text.n = 0;
    exec_placement(x, 5, 3, &text);
    CHECK_STR(text.data, "absent=1\n");
    text.n = 0;
    exec_stats(x, &text);
    CHECK(strstr(text.data, "\nmoves=1\n") && strstr(text.data, "\nwaiting=0\n"));
    bytes_fini(&text);
    check_baseline(p.w);
    world_free(p.w);
}

/* A new worker gets the dead one's rank. */
static void test_rank_again(void) {
    Pair p = pair_new(&engine_cpu);
    Exec *x = p.w->x[0];
    Layout whole = layout_replicate();
    Layout half = {.kind = LAYOUT_SPLIT, .axis = 0, .block = 5000};
    for (int round = 0; round < 3; round++) {
        uint64_t seq[4], id = 10 * (uint64_t)round;
        add_data(p, p.a, id + 1, 1, &half, 10000);
        add_move(p.a, id + 2, id + 1, 10000, (Place){1, half}, (Place){1, whole});
        p.a->ranks = 1;
        flush(p.w, p.a);
        if (round == 1) exec_on_peer_gone(x, 1);
        if (round == 2) exec_on_peer_there(x, 1);
        step_all(p.w, 0, seq, 0);
        CHECK_INT(x->pins.n, round != 1);
        const Tensor *t = tensor_on(p.w, p.a, 0, id + 2);
        CHECK_INT(t->storage->poison, round == 1 ? ERR_GONE : ERR_NONE);
        if (round == 0) {
            exec_on_peer_gone(x, 1);
            step_all(p.w, 0, seq, 0);
            CHECK_INT(t->storage->poison, ERR_GONE);
        }
        CHECK_INT(x->n_waiting, round == 2);
    }
    exec_on_peer_gone(x, 1);
    check_baseline(p.w);
    world_free(p.w);
}

/* Moves t3, an indexing of t1 by t2 (all `index`), and t4, computed from it, to the other worker as
 * t5 and t6. */
static void move_indexed(Pair p, int64_t rows, int64_t index, ErrCode want) {
    Layout whole = layout_replicate();
    static const int64_t axis = 0;
    const Attr attr[] = {{.key = ATTR_AXIS, .n = 1, .ints = &axis}};
    const Operand in[] = {of_tensor(1), of_tensor(2)};
    const Inst full = {
        .op = OP_FULL, OPERANDS(of_int(index)), SHAPED(1, &rows, DT_I64), RESULTS(2)};
    const Inst take = {
        .op = OP_INDEX, .n_in = 2, .in = in, .n_attr = 1, .attr = attr, .n_out = 1, .out = {3}};
    Located at;
    add_data(p, p.a, 1, 2, &whole, rows);
    inst_locate(&full, 102, &whole, &at), frame_add(&p.a->w, &at.inst), p.a->seq++;
    inst_locate(&take, 102, &whole, &at), frame_add(&p.a->w, &at.inst), p.a->seq++;
    add_op(p.a, OP_NEG, 4, 3, 2);
    add_move(p.a, 5, 3, rows, (Place){2, whole}, (Place){3, whole});
    add_move(p.a, 6, 4, rows, (Place){2, whole}, (Place){3, whole});
    for (uint64_t id = 1; id <= 4; id++) add_op(p.a, OP_FREE, 0, id, 2);
    p.a->ranks = 3;
    flush(p.w, p.a);
    settle(p.w);
    for (uint64_t id = 5; id <= 6; id++) {
        const Tensor *t = tensor_on(p.w, p.a, 1, id);
        CHECK(t && !tensor_on(p.w, p.a, 0, id));
        if (t) CHECK_INT(t->storage->poison, want);
        add_op(p.a, OP_FREE, 0, id, 3);
    }
    p.a->ranks = 3;
    flush(p.w, p.a);
    settle(p.w);
    CHECK_INT(p.w->x[0]->pins.n, 0);
}

/* A failure of the owner poisons what is computed from it on other workers too. */
static void test_failed(const EngineOps *ops) {
    Pair p = pair_new(ops);
    p.w->is_dead[1] = false;
    p.w->expects_errors = true;
    p.w->group[3] = (Grp){1, {1}};
    for (int i = 0; i < 2; i++) exec_on_group(p.w->x[i], 103, p.w->group[3].rank, 1);
    for (int64_t rows = 10; rows <= 100000; rows *= 100) {
        int before = p.w->n_errors;
        move_indexed(p, rows, rows - 1, ERR_NONE);
        CHECK_INT(p.w->n_errors, before);
        move_indexed(p, rows, rows, ERR_INDEX);
        CHECK_INT(p.w->n_errors, before + 1);
    }
    check_baseline(p.w);
    world_free(p.w);
}

/* A box that the other worker's engine reads where it is stays until that has read it: though its
 * owner drops it, its memory is free and filled with NaN no sooner. */
static void test_taken(void) {
    enum { ROWS = 5000 };
    Pair p = pair_new(&engine_late);
    Layout whole = layout_replicate();
    uint64_t seq[4];
    p.w->is_dead[1] = false;
    p.w->group[3] = (Grp){1, {1}};
    for (int i = 0; i < 2; i++) exec_on_group(p.w->x[i], 103, p.w->group[3].rank, 1);
    add_data(p, p.a, 1, 2, &whole, ROWS);
    add_move(p.a, 2, 1, ROWS, (Place){2, whole}, (Place){3, whole});
    add_op(p.a, OP_FREE, 0, 1, 2);
    p.a->ranks = 3;
    flush(p.w, p.a);
    step_all(p.w, 0, seq, 0); /* offers the box */
    for (int i = 0; i < 20 && !p.w->peer[0][1].n; i++) exec_step(p.w->x[0], 0), collect(p.w, 0);
    CHECK_INT(p.w->peer[0][1].n, 1);
    while (event(p.w, 1, 0)) {}
    while (!event(p.w, 1, 1)) {}
    for (int i = 0; i < 20 && !p.w->peer[1][0].n; i++) exec_step(p.w->x[1], 0), collect(p.w, 1);
    CHECK_INT(p.w->peer[1][0].n, 1);
    while (p.w->peer[1][0].n) event(p.w, 0, 1);
    wait_for_engine(p.w->x[0]);
    Known moved = {.id = 2, .group = 3, .layout = whole};
    moved.type = (TensorType){.dtype = DT_F32, .rank = 1, .shape = {ROWS}};
    bool is_poisoned;
    double *value = part_on(p.w, p.a, &moved, 0, &is_poisoned);
    for (int64_t e = 0; value && e < ROWS && !check_failed; e++)
        CHECK(value[e] == (double)(e % 100));
    CHECK(value && !is_poisoned && p.w->x[1]->direct_bytes == ROWS * 4);
    free(value);
    settle(p.w);
    CHECK_INT(p.w->x[0]->pins.n, 0);
    check_baseline(p.w);
    world_free(p.w);
}

/* A result that a rank takes from itself alone is a view; also in another group. */
static void test_views(void) {
    enum { ROWS = 1000 };
    Pair p = pair_new(&engine_cpu);
    Exec *x = p.w->x[0];
    Layout whole = layout_replicate();
    Layout half = {.kind = LAYOUT_SPLIT, .axis = 0, .block = 600};
    uint64_t seq[4];
    p.w->is_dead[1] = false;
    add_data(p, p.a, 1, 1, &whole, ROWS);
    add_move(p.a, 2, 1, ROWS, (Place){1, whole}, (Place){1, half});
    add_move(p.a, 3, 2, ROWS, (Place){1, half}, (Place){1, half});
    add_move(p.a, 4, 1, ROWS, (Place){1, whole}, (Place){2, whole});
    p.a->ranks = 3;
    flush(p.w, p.a);
    step_all(p.w, 0, seq, 0), step_all(p.w, 1, seq, 0);
    settle(p.w);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(p.w->x[i]->store.n_storages, 1);
        CHECK_INT(tensor_on(p.w, p.a, i, 3)->view.type.shape[0], i ? 400 : 600);
        CHECK_INT(tensor_on(p.w, p.a, i, 3)->offset, i ? 2400 : 0);
        CHECK_INT(p.w->x[i]->bytes_in + p.w->x[i]->bytes_out, 0);
    }
    CHECK(x->moves == 3 && tensor_on(p.w, p.a, 0, 4) && !tensor_on(p.w, p.a, 1, 4));
    check_baseline(p.w);
    world_free(p.w);
}

/* There is enough memory, with some to spare, for all that is live at a time: letting younger jobs
 * pass and waiting for readers must not cause an error. */
static void test_tight(uint64_t seed) {
    World *w = world_new(seed, some_engine(), some_size(), 96 << 10, some_reach());
    w->name = "tight";
    w->live_max = (96 << 10) * 60 / 100;
    for (int i = 0; i < 8; i++) {
        program(w, &w->c[0], 40, 14, 0);
        program(w, &w->c[1], 20, 14, 0);
    }
    settle(w);
    check_done(w);
    CHECK_INT(w->n_errors, 0);
    look(w, false);
    check_baseline(w);
    world_free(w);
}

int main(int argc, char **argv) {
    uint64_t seed = rand_seed(argc, argv);
    int rounds = argc > 2 ? atoi(argv[2]) : rand_rounds(20);
    rng.state = seed;
    test_within();
    test_overlap(&engine_reference);
    test_overlap(&engine_delayed);
    test_failed(&engine_reference);
    test_failed(&engine_delayed);
    test_failed(&engine_late);
    test_taken();
    test_rank_again();
    test_views();
    for (int i = 0; i < rounds; i++, seed++) {
        rng.state = seed * 7919;
        test_program(seed, seed % 3 ? 0 : 8);
        test_cancel(seed);
        test_client_gone(seed);
        test_peer_gone(seed);
        test_tiny(seed);
        test_tight(seed);
        test_hostile(seed);
        if (check_failed) break;
    }
    CHECK_INT(delayed_violations, 0);
    return check_report("move");
}
