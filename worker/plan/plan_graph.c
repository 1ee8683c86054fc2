/* plan_graph.c: steps of a plan as graphs. A stretch is a run of two or more calls and kernels that
 * cannot fail because of values and carry no payload. When it has run `graph_after` times, the
 * engine records it, and launches it from then on by one call. Before each launch the calls are
 * recorded again, with the addresses and numbers of this run: the engine sets what has changed in
 * the graph. If the graph does not fit the calls any more (a view that begins elsewhere can need
 * another kernel), or the device has no memory for a launch, its calls are launched one by one from
 * then on.
 *
 * The results of a stretch are allocated before its first step.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/cancel.h"
#include "worker/plan/plan_graph.h"

/* ---- Which steps ---- */

static bool is_call(const Step *s) { return s->kind == STEP_CALL || s->kind == STEP_FUSED; }
static bool may_be_in_graph(const Plan *p, int i) {
    const Step *s = &p->step[i];
    if (s->kind == STEP_SHIFT) return true;
    return is_call(s) && !s->may_fail && !s->n_fails && !(p->is_alone && p->is_alone[i]);
}

void graphs_free(Plan *p) {
    for (int i = 0; i < p->n_stretches; i++) { /* of a plan that was not finished there are none */
        Engine *e = p->owner->stage.x->engine;
        if (p->stretch[i].graph) e->ops->graph_free(e, &p->stretch[i].graph);
    }
}

static void find_stretches(Plan *p) {
    int n = 0;
    graphs_free(p);
    p->stretch = arena_zalloc(&p->arena, sizeof *p->stretch * (size_t)(p->n_steps + 1));
    for (int i = 0, calls = 0; i < p->n_steps; i++, calls = 0) {
        int begin = i;
        for (; i < p->n_steps && may_be_in_graph(p, i); i++) calls += is_call(&p->step[i]);
        if (calls > 1) p->stretch[n++] = (Stretch){.begin = begin, .end = i};
    }
    p->n_stretches = n;
    p->has_stretches = true;
}

void graphs_look(Exec *x, Plan *p) {
    int64_t after = p->owner->graph_after;
    if (p->has_stretches || p->n_trials || !after || !x->ops->capture_begin) return;
    if (p->runs && (int64_t)p->runs + 1 >= after) find_stretches(p);
}

/* ---- Running ---- */

/* Allocates the stretch's results, and sets the addresses of its calls. */
static bool prepare(Run *u, const Stretch *g) {
    Plan *p = u->p;
    for (int i = g->begin; i < g->end; i++)
        for (int k = 0; k < p->step[i].n_begin; k++) {
            const Begin *b = &p->step[i].begin[k];
            p->base[b->region] = store_alloc(&u->x->store, u->client->names, b->bytes);
            if (!p->base[b->region]) return false;
        }
    for (int i = g->begin; i < g->end; i++) {
        const Step *s = &p->step[i];
        for (int k = 0; k < s->n_patch; k++)
            *s->patch[k].to = p->base[s->patch[k].region] + s->patch[k].offset;
        if (s->kind == STEP_SHIFT)
            p->base[s->shift->region] =
                p->base[s->shift->from] + s->shift->offset + s->shift->delta;
    }
    return true;
}

static bool record_step(Run *u, const Step *s) {
    Exec *x = u->x;
    if (s->kind == STEP_SHIFT) return true;
    if (s->kind == STEP_FUSED)
        return exec_fused(x, u->client, u->seq + s->seq, s->product, s->fuse, s->kernel);
    Ticket t = exec_call(x, u->client, u->seq + s->seq, s->call, NULL, 0);
    return x->ops->done(x->engine, t, true, NULL) > 0;
}

/* Its calls are launched one by one from now on. */
static void give_up(Engine *e, Stretch *g) {
    if (g->graph) e->ops->graph_free(e, &g->graph);
    g->is_off = true;
}

/* Records the stretch, or brings its graph up to date. If it cannot be recorded, the step that is
 * the reason is left out of stretches from now on. */
static bool record(Run *u, Stretch *g) {
    Plan *p = u->p;
    Engine *e = u->x->engine;
    uint64_t bytes;
    int i = g->begin;
    e->ops->capture_begin(e, g->graph, u->block + p->block, u->block_bytes - p->block);
    while (i < g->end && record_step(u, &p->step[i])) i++;
    EngineGraph *graph = e->ops->capture_end(e, &bytes);
    if (graph) {
        p->owner->graphs += !g->graph;
        g->graph = graph;
        return true;
    }
    if (bytes) {
        if (bytes > p->temps) p->temps = bytes; /* in the next runs */
    } else if (!g->graph && i < g->end) {
        if (!p->is_alone) p->is_alone = arena_zalloc(&p->arena, (size_t)p->n_steps);
        p->is_alone[i] = true;
        p->has_stretches = false;
    } else {
        give_up(e, g);
    }
    return false;
}

bool graph_run(Run *u, Stretch *g) {
    const Exec *x = u->x;
    if (g->is_off || !prepare(u, g) || !record(u, g)) return false;
    if (!x->ops->launch(x->engine, g->graph)) {
        give_up(x->engine, g);
        return false;
    }
    u->p->owner->graph_launches++;
    return true;
}
