/* plan_make.c: makes a plan of a recording (plan.h): decides where each value lies in memory, and
 * when that memory is allocated and freed.
 *
 * A slot is a value in memory. A region is a place in memory that several slots use one after
 * another: a result uses the region of an operand that the same step reads last, if the engine can
 * overwrite it. A region that begins with a tensor from outside is that tensor's memory. Any other
 * region has memory of its own if its last value still has a name at the end; if not, it is in the
 * block of temporaries, at the lowest place that is free from its first step to its last.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/mem.h"
#include "worker/exec/mark.h"
#include "worker/plan/plan_make.h"
#include "worker/plan/plan_graph.h"
#include "worker/plan/plan_record.h"

#include <stdlib.h>
#include <string.h>

typedef struct Make {
    Recorder *r;
    Plan *p;
    RecRegion *region;
    int n_regions;
    int safe; /* the step after the last one that may fail because of values; 0: none may */
} Make;

/* ---- Names that are left at the end ---- */

static int add_kept(Plan *p, const RecSlot *slot, int root, const Storage *st) {
    for (int i = 0; i < p->n_kept; i++)
        if (p->kept[i].region == root) return i; /* a slot, until name_regions */
    p->kept[p->n_kept] = (Kept){.region = root,
                                .external = slot->external,
                                .bytes = slot->bytes,
                                .filled = st->filled,
                                .op = st->op,
                                .kernel = st->kernel};
    return p->n_kept++;
}

static bool find_kept(Make *m) {
    Recorder *r = m->r;
    Plan *p = m->p;
    size_t most = (size_t)(r->n_values_made + 1);
    p->left = arena_alloc(&p->arena, most * sizeof *p->left);
    p->kept = arena_alloc(&p->arena, most * sizeof *p->kept);
    for (int i = 0; i < r->n_values_made; i++) {
        RecValue *v = r->made[i];
        if (v->is_dropped || v->is_away) continue;
        const Tensor *t = store_get(r->client->names, v->id);
        int64_t offset;
        int slot = t ? recorder_place(r, v, &offset) : PLAN_NONE;
        if (slot < 0 || t->storage->poison || t->storage->maker || t->storage->made) return false;
        int root = r->slot[slot].root;
        r->slot[root].is_kept = true;
        Left *l = &p->left[p->n_left++];
        *l = (Left){.group = t->group, .region = slot, .offset = offset, .view = t->view};
        l->is_added = v->id >= INSERTED_ID;
        l->delta = v->id - (l->is_added ? r->added : r->base);
        l->has_whole = t->whole != NULL;
        if (t->whole) l->whole = *t->whole;
        l->kept = add_kept(p, &r->slot[root], root, t->storage);
    }
    return true;
}

/* ---- Regions ---- */

static int new_region(Make *m, const RecSlot *s) {
    RecRegion *g = &m->region[m->n_regions];
    *g = (RecRegion){.first = s->first,
                     .last = s->last,
                     .bytes = s->bytes,
                     .is_kept = s->is_kept,
                     .external = s->external,
                     .place = PLAN_NONE};
    return m->n_regions++;
}

/* True if a result of so many bytes may overwrite input i of the step, of view v: the input fills
 * its slot, and nothing reads the slot later or beside it. */
static bool ends_here(const Make *m, int step, int i, const View *v, uint64_t bytes) {
    const Recorder *r = m->r;
    const Step *s = &r->step[step];
    int slot = s->patch[i].region;
    const RecSlot *a = &r->slot[slot];
    if (a->root != slot || s->patch[i].offset || a->last != step || a->is_kept ||
        a->bytes != bytes || !view_covers(v, bytes))
        return false;
    if (a->external >= 0) {
        const External *e = &r->external[a->external];
        if (!e->is_dropped || !e->is_sole || step < m->safe) return false;
    }
    for (int k = 0; k < s->n_read; k++)
        if (k != i && r->slot[s->patch[k].region].root == slot) return false;
    for (int k = s->n_read; k < s->n_patch; k++) /* another result overwrites it */
        if (r->slot[s->patch[k].region].region == a->region) return false;
    return true;
}

/* Returns the patch of an operand whose memory result w may overwrite; PLAN_NONE: there is none. */
static int overwritable(const Make *m, int step, int w) {
    const Step *s = &m->r->step[step];
    uint64_t bytes = m->r->slot[s->patch[w].region].bytes;
    if (s->kind == STEP_FUSED) {
        const char *const *first = s->fuse->args.in;
        int64_t output = s->patch[w].to - s->fuse->args.out;
        if (w == s->host || output < 0 || output >= FUSED_OUTPUTS) return PLAN_NONE;
        for (int i = 0; i < s->n_read; i++) {
            int64_t input = (const char *const *)s->patch[i].to - first;
            if (input < 0 || input >= FUSED_INPUTS) break; /* it belongs to the product */
            const View *v = &s->fuse->input[input];
            if (s->kernel->reuse[output] >> input & 1 && v->type.rank == s->fuse->space.rank &&
                ends_here(m, step, i, v, bytes) &&
                !memcmp(v->type.shape, s->fuse->space.shape,
                        sizeof v->type.shape[0] * (size_t)v->type.rank))
                return i;
        }
        return PLAN_NONE;
    }
    if (s->kind != STEP_CALL || op_info[s->call->inst->op].class_ != CLASS_MAP) return PLAN_NONE;
    for (int a = 0, i = 0; a < s->call->n_in; a++) {
        const View *v = &s->call->in[a];
        if (v->is_scalar) continue;
        if (type_equal(&v->type, &s->call->out[0].type) && ends_here(m, step, i, v, bytes))
            return i;
        i++;
    }
    return PLAN_NONE;
}

static void place_results(Make *m, int step) {
    Recorder *r = m->r;
    Step *s = &r->step[step];
    for (int w = s->n_read; w < s->n_patch; w++) {
        RecSlot *slot = &r->slot[s->patch[w].region];
        if (slot->region >= 0) continue; /* the product has two patches, or a result's memory */
        int i = overwritable(m, step, w);
        if (i < 0) {
            slot->region = new_region(m, slot);
            continue;
        }
        slot->region = r->slot[s->patch[i].region].region;
        RecRegion *g = &m->region[slot->region];
        g->last = slot->last;
        g->is_kept |= slot->is_kept;
        g->is_taken |= g->external >= 0;
        s->gives |= g->external >= 0;
    }
}

static void make_regions(Make *m) {
    Recorder *r = m->r;
    m->region = xmalloc((size_t)(r->n_slots + 1) * sizeof *m->region);
    for (int i = 0; i < r->n_slots; i++) {
        RecSlot *s = &r->slot[i];
        s->region = PLAN_NONE;
        if (s->external < 0 && s->root == i) continue; /* place_results finds its region */
        s->region = new_region(m, s);
        m->region[s->region].is_shift = s->root != i;
        if (s->external >= 0) r->external[s->external].region = s->region;
    }
    for (int i = 0; i < r->seen.n_steps; i++) place_results(m, i);
}

/* ---- The block ---- */

static bool is_temporary(const RecRegion *g) {
    return g->external < 0 && !g->is_kept && !g->is_shift;
}

/* Places the temporaries in the block, first fit. order: the regions placed so far, by place. */
static void place_regions(Make *m) {
    int *order = xmalloc((size_t)(m->n_regions + 1) * sizeof *order), n = 0;
    for (int i = 0; i < m->n_regions; i++) {
        RecRegion *g = &m->region[i];
        if (!is_temporary(g)) continue;
        int64_t need = (int64_t)((g->bytes + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN), at = 0;
        int k = 0;
        for (; k < n; k++) {
            const RecRegion *o = &m->region[order[k]];
            if (o->first > g->last || o->last < g->first) continue;
            if (o->place >= at + need) break;
            int64_t end = o->place + (int64_t)((o->bytes + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN);
            if (end > at) at = end;
        }
        g->place = at;
        if ((uint64_t)(at + need) > m->p->block) m->p->block = (uint64_t)(at + need);
        for (k = n++; k > 0 && m->region[order[k - 1]].place > at; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    free(order);
}

/* ---- Allocating and dropping ---- */

static void add_begins(Make *m) {
    Plan *p = m->p;
    for (int i = 0; i < m->n_regions; i++) {
        const RecRegion *g = &m->region[i];
        if (!g->is_kept || g->external >= 0 || g->is_shift) continue;
        p->own += (g->bytes + 2 * MEM_ALIGN) / MEM_ALIGN * MEM_ALIGN + MEM_ALIGN;
        Step *s = &p->step[g->first];
        s->begin = s->n_begin ? s->begin : arena_alloc(&p->arena, sizeof *s->begin * s->n_patch);
        s->begin[s->n_begin++] = (Begin){i, g->bytes};
    }
}

/* A name from outside is dropped after the last step that needs it, and after the last one that may
 * fail. */
static void add_drops(Make *m) {
    Plan *p = m->p;
    p->drop = arena_alloc(&p->arena, sizeof *p->drop * (size_t)(p->n_externals + 1));
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < p->n_externals; i++) {
            const External *e = &p->external[i];
            const RecRegion *g = &m->region[e->region];
            if (!e->is_dropped) continue;
            int at = g->last > m->safe - 1 ? g->last : m->safe - 1;
            if (g->is_kept || at < 0) {
                if (pass == 0) p->drop[p->n_drops++] = i;
                continue;
            }
            Step *s = &p->step[at];
            if (pass == 0) {
                s->n_drop++;
                continue;
            }
            if (!s->drop) {
                s->drop = arena_alloc(&p->arena, sizeof *s->drop * (size_t)s->n_drop);
                s->n_drop = 0;
            }
            s->drop[s->n_drop++] = i;
        }
    }
}

/* Patches, views and storages name slots so far, and regions from here on. */
static void name_regions(Make *m) {
    const Recorder *r = m->r;
    Plan *p = m->p;
    for (int i = 0; i < p->n_steps; i++) {
        Step *s = &p->step[i];
        for (int k = 0; k < s->n_patch; k++)
            s->patch[k].region = r->slot[s->patch[k].region].region;
        if (s->kind != STEP_SHIFT) continue;
        s->shift->from = r->slot[s->shift->from].region;
        s->shift->region = r->slot[s->shift->region].region;
    }
    for (int i = 0; i < p->n_left; i++) p->left[i].region = r->slot[p->left[i].region].region;
    for (int i = 0; i < p->n_kept; i++) {
        Kept *k = &p->kept[i];
        k->region = r->slot[k->region].region;
        const RecRegion *g = &m->region[k->region];
        k->is_taken = k->external < 0 && g->external >= 0;
        if (k->is_taken) k->external = g->external;
    }
}

/* ---- All of it ---- */

void plan_hold_entries(const Step *step, int n_steps, const Trial *trial, int n_trials, bool on) {
    void (*fn)(JitEntry *) = on ? jit_hold : jit_let_go;
    for (int i = 0; i < n_steps; i++)
        if (step[i].entry) fn(step[i].entry);
    for (int i = 0; i < n_trials; i++) fn(trial[i].what.entry);
}

static void *keep(Arena *a, const void *array, int n, size_t size) {
    void *p = arena_alloc(a, (size_t)(n + 1) * size);
    return n ? memcpy(p, array, (size_t)n * size) : p;
}

static void move_lists(Recorder *r, Plan *p) {
    Arena *a = &p->arena;
    p->n_words = r->n_words, p->n_externals = r->n_externals, p->n_values = r->n_values;
    p->n_variables = r->n_variables, p->n_steps = r->seen.n_steps;
    p->word = keep(a, r->word, r->n_words, sizeof *r->word);
    p->external = keep(a, r->external, r->n_externals, sizeof *r->external);
    p->value = keep(a, r->value, r->n_values, sizeof *r->value);
    p->variable = keep(a, r->variable, r->n_variables, sizeof *r->variable);
    p->n_trials = r->n_trials;
    p->trial = keep(a, r->trial, r->n_trials, sizeof *r->trial);
    p->step = keep(a, r->step, p->n_steps, sizeof *r->step);
    plan_hold_entries(p->step, p->n_steps, p->trial, p->n_trials, true);
}

Plan *plan_make(Plans *plans, Recorder *r) {
    stages_flush(r->x); /* so that pending jobs are recorded too */
    if (r->x->first || !client_is_clear(r->client)) recorder_fail(r, "jobs wait");
    if (r->has_failed) return NULL;
    Plan *p = xcalloc(1, sizeof *p);
    Make m = {.r = r, .p = p};
    p->arena = r->arena;
    r->arena = (Arena){0};
    if (!find_kept(&m)) {
        plan_free(&p);
        recorder_fail(r, "a result is missing");
        return NULL;
    }
    for (int i = 0; i < r->seen.n_steps; i++) /* an ordered engine's failures come later */
        if (r->step[i].may_fail && !r->x->marks) m.safe = i + 1;
    make_regions(&m);
    place_regions(&m);
    move_lists(r, p);
    add_begins(&m);
    add_drops(&m);
    name_regions(&m);
    p->owner = plans;
    p->n = p->variant.length = r->n, p->n_seq = r->n_seq;
    p->n_args = (uint32_t)(r->at - r->args);
    p->compiles = r->compiles, p->compiles_after = r->client->compiles;
    p->variant.key = r->key;
    p->n_regions = m.n_regions;
    p->base = arena_zalloc(&p->arena, sizeof *p->base * (size_t)(m.n_regions + 1));
    p->bad = arena_zalloc(&p->arena, sizeof *p->bad * (size_t)(m.n_regions + 1));
    p->place = arena_alloc(&p->arena, sizeof *p->place * (size_t)(m.n_regions + 1));
    for (int i = 0; i < m.n_regions; i++) p->place[i] = m.region[i].place;
    p->beside = r->beside;
    p->kernels = r->kernels, p->fused_ops = r->fused_ops;
    p->products = r->products;
    p->unstored = r->unstored, p->bytes_saved = r->bytes_saved;
    p->size = r->size + sizeof *p + (uint64_t)r->n * 512;
    free(m.region);
    return p;
}

void plan_free(Plan **pp) {
    Plan *p = *pp;
    *pp = NULL;
    if (!p) return;
    plan_hold_entries(p->step, p->n_steps, p->trial, p->n_trials, false);
    graphs_free(p);
    arena_fini(&p->arena);
    free(p);
}
