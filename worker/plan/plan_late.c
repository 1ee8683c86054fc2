/* plan_late.c: a plan on an ordered engine (worker/exec/mark.h). Steps that may fail for values
 * take slots, and each region has the doubt of the value in it, until the plan's results get it.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/mark.h"
#include "worker/plan/plan_late.h"

#include <string.h>

void late_begin(Exec *x, Plan *p) {
    p->is_doubtful = false;
    if (!x->marks) return;
    for (int i = 0; i < p->n_steps && !p->is_doubtful; i++) p->is_doubtful = p->step[i].n_fails;
    for (int i = 0; i < p->n_externals && !p->is_doubtful; i++)
        p->is_doubtful = p->external[i].tensor->storage->doubt;
    if (!p->is_doubtful) return;
    if (!p->doubt) p->doubt = arena_zalloc(&p->arena, sizeof(Doubt *) * (size_t)(p->n_regions + 1));
    memset(p->bad, 0, sizeof *p->bad * (size_t)p->n_regions);
    for (int i = 0; i < p->n_externals; i++) {
        const External *e = &p->external[i];
        uint64_t bits = doubt_bits(e->tensor->storage->doubt);
        doubt_add(x, &p->doubt[e->region], &p->bad[e->region], bits);
    }
}

void late_end(Plan *p) {
    for (int i = 0; i < p->n_regions && p->is_doubtful; i++) doubt_drop(&p->doubt[i]);
}

/* What is known of a value. */
typedef struct Known {
    uint64_t bits;
    ErrCode bad;
} Known;

static void join(Known *a, Known b) {
    a->bits |= b.bits;
    if (!a->bad) a->bad = b.bad;
}

static Known known_of(const Plan *p, int region) {
    return (Known){doubt_bits(p->doubt[region]), p->bad[region]};
}

static void set_known(Exec *x, Plan *p, int region, Known k) {
    doubt_drop(&p->doubt[region]);
    p->bad[region] = k.bad;
    doubt_add(x, &p->doubt[region], &p->bad[region], k.bits);
}

/* Returns what is known of a value computed from these reads (bits of `depends`) of the step, and
 * by calls with slots. */
static Known known_from(const Plan *p, const Step *s, uint64_t depends, const uint64_t *slot) {
    Known k = {0, ERR_NONE};
    bool is_all =
        (depends & STEP_ALL) == STEP_ALL; /* a call may have more reads than there are bits */
    for (int i = 0; i < s->n_read; i++)
        if (is_all || depends >> i & 1) join(&k, known_of(p, s->patch[i].region));
    for (int i = 0; i < s->n_fails; i++)
        if (depends >> (STEP_HALF + i) & 1) k.bits |= slot[i];
    return k;
}

static void fused_results(Exec *x, Plan *p, const Step *s, const uint64_t *slot) {
    Known result[FUSED_OUTPUTS], product = known_from(p, s, s->of_product, slot);
    for (int i = 0; i < s->n_depends; i++) result[i] = known_from(p, s, s->depends[i], slot);
    for (int i = 0; i < s->n_depends; i++)
        set_known(x, p, s->patch[s->n_read + i].region, result[i]);
    if (s->product && s->host < 0) /* else a result lies there now */
        set_known(x, p, s->patch[s->n_read + s->n_depends].region, product);
}

void late_step(Exec *x, Frame *f, uint64_t seq, Plan *p, const Step *s) {
    uint64_t slot[STEP_HALF];
    if (s->kind != STEP_SHIFT) marks_count(x, 2 * (double)s->made);
    if (!p->is_doubtful) return;
    if (s->kind == STEP_SHIFT) {
        set_known(x, p, s->shift->region, known_of(p, s->shift->from));
        return;
    }
    for (int i = 0; i < s->n_fails; i++) {
        const StepFail *e = &s->fail[i];
        Job j = {.frame = f, .seq = seq + e->seq, .inst = {.op = e->op, .pos = e->pos}};
        Known k = known_from(p, s, e->depends, slot);
        slot[i] = doubt_open(x, &j, e->node, k.bits, k.bad, false);
    }
    if (s->kind == STEP_FUSED) {
        fused_results(x, p, s, slot);
        return;
    }
    Known k = known_from(p, s, UINT64_MAX, slot);
    for (int i = s->n_read; i < s->n_patch; i++) set_known(x, p, s->patch[i].region, k);
}

void late_result(Exec *x, const Plan *p, const Kept *k) {
    Storage *st = k->storage;
    if (p->is_doubtful && !st->poison)
        doubt_add(x, &st->doubt, &st->poison, doubt_bits(p->doubt[k->region]));
}
