/* plan_graph.c: steps of a plan as graphs. A stretch is a run of consecutive calls and kernels that
 * cannot fail because of values and carry no payload. When it has run `graph_after` times with the
 * same addresses, the engine records it, and launches it from then on by one call. Scalars that
 * change from run to run are read again at each launch if the engine says so (EngineGraph.live).
 * All other numbers are part of the graph's key, as addresses are. A stretch has a graph for each
 * of GRAPHS keys; the least recently used one makes room for another.
 *
 * The results of a stretch are allocated before its first step, whether it has a graph or not, so
 * that the addresses are the same.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/cancel.h"
#include "worker/plan/plan_state.h"
#include <string.h>

enum { CALLS_MIN = 3 }; /* of a stretch: fewer are launched as fast one by one */

/* ---- Which steps ---- */

static bool is_call(const Step *s) { return s->kind == STEP_CALL || s->kind == STEP_FUSED; }
static bool may_be_in_graph(const Plan *p, int i) {
    const Step *s = &p->step[i];
    if (s->kind == STEP_SHIFT) return true;
    return is_call(s) && !s->may_fail && !s->n_fails && !(p->is_alone && p->is_alone[i]);
}

static void free_graphs(Plan *p, Stretch *g) {
    Engine *e = p->owner->stage.x->engine;
    for (int k = 0; k < GRAPHS; k++)
        if (g->of[k].graph) e->ops->graph_free(e, &g->of[k].graph);
}

static void find_stretches(Plan *p) {
    int n = 0;
    for (int i = 0; i < p->n_stretches; i++) free_graphs(p, &p->stretch[i]);
    p->stretch = arena_zalloc(&p->arena, sizeof *p->stretch * (size_t)(p->n_steps + 1));
    for (int i = 0, calls = 0; i < p->n_steps; i++, calls = 0) {
        int begin = i;
        for (; i < p->n_steps && may_be_in_graph(p, i); i++) calls += is_call(&p->step[i]);
        if (calls >= CALLS_MIN) p->stretch[n++] = (Stretch){.begin = begin, .end = i};
    }
    p->n_stretches = n;
    p->has_stretches = true;
}

void graphs_look(Exec *x, Plan *p) {
    if (p->has_stretches || p->n_trials || !p->owner->graph_after || !x->ops->capture_begin) return;
    if (p->runs) find_stretches(p);
}

void graphs_free(Plan *p) {
    for (int i = 0; i < p->n_stretches; i++) free_graphs(p, &p->stretch[i]);
}

/* ---- What a graph keeps ---- */

static bool has_attr(const Inst *in, const int64_t *item) {
    for (int k = 0; k < in->n_attr; k++)
        if (item >= in->attr[k].ints && item < in->attr[k].ints + in->attr[k].n) return true;
    return false;
}

/* True if step s reads v. */
static bool reads(const Step *s, const Value *v) {
    if (s->kind == STEP_SHIFT)
        return (v->item && has_attr(s->shift->inst, v->item)) ||
               (v->operand >= s->shift->inst->in &&
                v->operand < s->shift->inst->in + s->shift->inst->n_in);
    if (s->kind == STEP_FUSED) {
        const char *begin = s->fuse->args.scalar[0];
        return v->to >= begin && v->to < begin + sizeof s->fuse->args.scalar;
    }
    if (s->kind != STEP_CALL) return false;
    if (v->item && has_attr(s->call->inst, v->item)) return true;
    for (int i = 0; i < s->call->n_in; i++)
        if (s->call->in[i].is_scalar && v->to == s->call->in[i].data) return true;
    return false;
}

static bool is_live(const EngineGraph *graph, const Value *v) {
    for (int i = 0; i < graph->n_live; i++)
        if (graph->live[i] == (v->item ? (const void *)v->item : v->to)) return true;
    return false;
}

/* What a slice's start decides is an address. A value of no step is taken for one of this stretch.
 */
static void find_fixed(Plan *p, Stretch *g, const EngineGraph *graph) {
    g->fixed = arena_alloc(&p->arena, sizeof *g->fixed * (size_t)(p->n_values + 1));
    g->has_fixed = true;
    for (int k = 0; k < p->n_values; k++) {
        const Value *v = &p->value[k];
        if (is_live(graph, v)) continue;
        int i = 0;
        while (i < p->n_steps && !reads(&p->step[i], v)) i++;
        bool is_here =
            i == p->n_steps || (i >= g->begin && i < g->end && p->step[i].kind != STEP_SHIFT);
        if (is_here) g->fixed[g->n_fixed++] = k;
    }
}

static uint64_t key_of(const Run *u, const Stretch *g) {
    const Plan *p = u->p;
    uint64_t key = variants_mix(1, (uint64_t)(uintptr_t)u->block);
    for (int i = g->begin; i < g->end; i++)
        for (int k = 0; k < p->step[i].n_patch; k++)
            key = variants_mix(key, (uint64_t)(uintptr_t)*p->step[i].patch[k].to);
    for (int k = 0; k < g->n_fixed; k++) key = variants_mix(key, p->value[g->fixed[k]].last);
    return key;
}

/* Returns the graph of that key, or the least recently used one, which becomes empty. */
static struct PlanGraph *graph_at(Run *u, Stretch *g, uint64_t key) {
    struct PlanGraph *oldest = &g->of[0];
    for (int k = 0; k < GRAPHS; k++) {
        struct PlanGraph *o = &g->of[k];
        if (o->runs && o->key == key) oldest = o;
        if (o->runs && o->key == key) break;
        if (o->used_at < oldest->used_at) oldest = o;
    }
    if (!oldest->runs || oldest->key != key) {
        if (oldest->graph) u->x->ops->graph_free(u->x->engine, &oldest->graph);
        *oldest = (struct PlanGraph){.key = key};
    }
    oldest->used_at = ++g->clock;
    return oldest;
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

/* If it cannot be recorded, the step that is the reason is left out of stretches from now on. */
static EngineGraph *record(Run *u, Stretch *g) {
    Plan *p = u->p;
    Engine *e = u->x->engine;
    uint64_t bytes;
    int i = g->begin;
    e->ops->capture_begin(e, u->block + p->block, u->block_bytes - p->block);
    while (i < g->end && record_step(u, &p->step[i])) i++;
    EngineGraph *graph = e->ops->capture_end(e, &bytes);
    if (graph) {
        p->owner->graphs++;
        if (!g->has_fixed) find_fixed(p, g, graph);
    } else if (bytes) {
        p->temps = bytes > p->temps ? bytes : p->temps; /* in the next runs */
    } else if (i < g->end) {
        if (!p->is_alone) p->is_alone = arena_zalloc(&p->arena, (size_t)p->n_steps);
        p->is_alone[i] = true;
        p->has_stretches = false;
    } else {
        g->is_off = true;
    }
    return graph;
}

bool graph_run(Run *u, Stretch *g) {
    const Exec *x = u->x;
    if (g->is_off || !prepare(u, g)) return false;
    struct PlanGraph *at = graph_at(u, g, key_of(u, g));
    at->runs++;
    if (!at->graph && at->runs >= (uint64_t)u->p->owner->graph_after) {
        at->graph = record(u, g);
        at->key = key_of(u, g); /* with what is fixed */
    }
    if (!at->graph) return false;
    x->ops->launch(x->engine, at->graph);
    u->p->owner->graph_launches++;
    return true;
}
