/* part_graphs.c: calls recorded as a graph (engine.h, capture_begin). A graph of a few calls on
 * matrices is launched, brought up to date with other addresses and numbers, and launched again,
 * while earlier launches may still run, with calls and reads between. The oracle carries out the
 * same calls one by one.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/part.h"

#include <stdlib.h>

enum { POOL = 8, CALLS = 6, ROWS = 33, COLUMNS = 40, TEMPS = 1 << 20, NO_MATRIX = -1 };

/* A call: places in the pool, which are not the same; in[1] NO_MATRIX: the number. */
typedef struct Step {
    Op op;
    int n_in, in[2], out;
    int64_t number;
} Step;

typedef struct Graphs {
    Part *p;
    Engine *engine[2]; /* to be proved; the oracle */
    TensorType type;
    void *pool[2][POOL], *temps;
    int launches;
} Graphs;

static int below(Graphs *g, int n) { return rand_below(&g->p->rand, n); }

static View view_of(const Graphs *g, int which, int at) {
    return view_dense(&g->type, g->pool[which][at]);
}

static bool open_pool(Graphs *g) {
    uint64_t bytes = type_bytes(&g->type);
    int64_t *from = xmalloc(bytes);
    bool ok = (g->temps = g->engine[0]->ops->alloc(g->engine[0], TEMPS)) != NULL;
    for (int k = 0; k < POOL; k++) {
        for (int i = 0; i < ROWS * COLUMNS; i++) from[i] = (int64_t)rand_u64(&g->p->rand);
        for (int w = 0; w < 2 && ok; w++) {
            Engine *e = g->engine[w];
            ok = (g->pool[w][k] = e->ops->alloc(e, bytes)) != NULL;
            if (ok) e->ops->copy_in(e, g->pool[w][k], from, bytes);
        }
    }
    free(from);
    if (!ok) part_fail(g->p, "no memory for small matrices");
    return ok;
}

static void close_pool(Graphs *g) {
    for (int w = 0; w < 2; w++)
        for (int k = 0; k < POOL; k++)
            if (g->pool[w][k])
                g->engine[w]->ops->free(g->engine[w], g->pool[w][k], type_bytes(&g->type));
    if (g->temps) g->engine[0]->ops->free(g->engine[0], g->temps, TEMPS);
}

/* ---- Calls ---- */

static Step draw(Graphs *g) {
    static const Op ops[] = {OP_ADD, OP_SUB, OP_MUL, OP_MAXIMUM, OP_NEG, OP_CUMSUM, OP_SORT};
    Step s = {.op = ops[below(g, 7)], .n_in = 1};
    if (op_info[s.op].class_ != CLASS_MAP || s.op == OP_NEG) return s;
    s.n_in = 2;
    if (below(g, 2)) s.in[1] = NO_MATRIX;
    return s;
}

/* Gives it other operands, which changes no kernel: none is there twice. */
static void place(Graphs *g, Step *s) {
    s->out = below(g, POOL);
    s->number = below(g, 2001) - 1000;
    int apart = 1 + below(g, POOL - 2);
    s->in[0] = (s->out + apart) % POOL;
    if (s->in[1] != NO_MATRIX) s->in[1] = (s->out + apart + 1 + below(g, POOL - 1 - apart)) % POOL;
}

static bool submit(Graphs *g, int which, const Step *s) {
    int64_t axis = 1;
    Attr attr = {.key = ATTR_AXIS, .n = 1, .ints = &axis};
    Inst inst = {.op = s->op};
    int64_t number = s->number;
    View in[2], out = view_of(g, which, s->out);
    if (op_info[s->op].class_ != CLASS_MAP) inst.attr = &attr, inst.n_attr = 1;
    for (int i = 0; i < s->n_in; i++)
        in[i] = s->in[i] == NO_MATRIX
                    ? (View){.type = {.dtype = DT_I64}, .is_scalar = true, .data = &number}
                    : view_of(g, which, s->in[i]);
    return call_engine(g->engine[which], &inst, in, s->n_in, &out, NULL) == 1;
}

/* Both engines, at once. */
static void call_both(Graphs *g, const Step *s) {
    for (int w = 0; w < 2; w++)
        if (!submit(g, w, s)) part_fail(g->p, "%s fails", op_info[s->op].name);
}

/* ---- Graphs ---- */

/* Records the calls and launches the graph. Returns it; NULL: it has failed. */
static EngineGraph *launch(Graphs *g, EngineGraph *graph, const Step *step, int n) {
    Engine *e = g->engine[0];
    uint64_t bytes;
    bool ok = true;
    e->ops->capture_begin(e, graph, g->temps, TEMPS);
    for (int i = 0; i < n && ok; i++) ok = submit(g, 0, &step[i]);
    EngineGraph *got = e->ops->capture_end(e, &bytes);
    if (got) {
        if (!e->ops->launch(e, got)) part_fail(g->p, "the device has no memory for a graph");
        g->launches++;
        return got;
    }
    part_fail(g->p, graph ? "the graph cannot be brought up to date" : "no graph can be recorded");
    if (graph) e->ops->graph_free(e, &graph);
    return NULL;
}

/* Compares what was read of the matrix `at`, and frees it. */
static void check(Graphs *g, int at, char *got, char *want) {
    uint64_t bytes = type_bytes(&g->type), i = 0;
    while (i < bytes && got[i] == want[i]) i++;
    if (i < bytes)
        part_fail(g->p, "matrix %d differs in element %llu", at, (unsigned long long)(i / 8));
    free(got);
    free(want);
}

/* A graph, launched some times. One matrix is read on the way, all others at the end. */
static void round_of(Graphs *g) {
    Step step[CALLS], alone;
    EngineGraph *graph = NULL;
    char *got[POOL + 1], *want[POOL + 1];
    int n = 2 + below(g, CALLS - 1), times = 2 + below(g, 6), early = below(g, times);
    int early_at = below(g, POOL);
    uint64_t bytes = type_bytes(&g->type);
    for (int k = 0; k <= POOL; k++) got[k] = xcalloc(bytes, 1), want[k] = xcalloc(bytes, 1);
    for (int i = 0; i < n; i++) step[i] = draw(g);
    for (int t = 0; t < times; t++) {
        for (int i = 0; i < n; i++) place(g, &step[i]);
        if (!(graph = launch(g, graph, step, n))) break;
        for (int i = 0; i < n; i++) submit(g, 1, &step[i]);
        if (below(g, 2)) {
            alone = draw(g);
            place(g, &alone);
            call_both(g, &alone);
        }
        for (int w = 0; w < 2 && t == early; w++) {
            View v = view_of(g, w, early_at);
            g->engine[w]->ops->copy_out(g->engine[w], (w ? want : got)[POOL], &v);
        }
    }
    bool ok = graph != NULL;
    if (graph) g->engine[0]->ops->graph_free(g->engine[0], &graph); /* launches may still run */
    for (int k = 0; k < POOL && ok; k++)
        for (int w = 0; w < 2; w++) {
            View v = view_of(g, w, k);
            g->engine[w]->ops->copy_out(g->engine[w], (w ? want : got)[k], &v);
        }
    engine_settle(g->engine[0], NULL, NULL);
    for (int k = 0; k <= POOL; k++) check(g, k < POOL ? k : early_at, got[k], want[k]);
}

void part_graphs(Part *p) {
    Graphs g = {.p = p, .type = {.dtype = DT_I64, .rank = 2, .shape = {ROWS, COLUMNS}}};
    int rounds = part_rounds(p, 12, 400), begun = 0;
    if (!p->config->ops->capture_begin) {
        part_leave_out(p, "the engine makes no graphs");
        return;
    }
    p->tally->all = (uint64_t)rounds;
    if (!(g.engine[0] = p->e = part_open(p, p->config->ops, 0))) return;
    if (!(g.engine[1] = p->oracle = part_open(p, &engine_cpu, 0))) return;
    if (open_pool(&g))
        for (; begun < rounds && part_begin(p, "graph %d", begun); begun++) round_of(&g);
    close_pool(&g);
    part_close(p, &p->e);
    part_close(p, &p->oracle);
    part_done(p, "%d graphs launched %d times, with other addresses and numbers", begun,
              g.launches);
}
