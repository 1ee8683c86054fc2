/* rule_window.c: layout rules of slice, cat and slice_put: along a split axis each rank needs a
 * window of an operand, namely the rows that its part of the result is made of
 * (runtime/layout/layout.h).
 * SPDX-License-Identifier: MIT */
#include "dispatcher/rule/rule.h"

typedef struct Slice {
    int64_t start, step, size;
} Slice;

static Slice slice_along(const Inst *inst, int a) {
    return (Slice){inst_attr(inst, ATTR_START)->ints[a], inst_attr(inst, ATTR_STEP)->ints[a],
                   inst_attr(inst, ATTR_SIZE)->ints[a]};
}

static Layout window(int axis, int64_t block, int64_t begin) {
    Layout l = rule_split(axis, block);
    l.begin = begin;
    return l;
}

/* ---- slice ---- */

/* Rows of a split axis are distributed afresh. The layout depends on the shape alone, so that
 * two slices of one size agree. */
void rule_slice(Rule *r) {
    int a = r->have[0].axis;
    Slice s = slice_along(r->inst, a);
    r->need[0] = r->give[0] = r->have[0];
    if (s.start == 0 && s.step == 1 && s.size == r->in[0].shape[a]) return;
    r->give[0] = layout_split(&r->out[0], a, r->n);
    r->need[0] = window(a, r->give[0].block * s.step, s.start);
}

/* ---- cat ---- */

static void cat_windows(Rule *r, int axis, int64_t block) {
    int64_t before = 0;
    for (int i = 0; i < r->inst->n_in; i++) {
        r->need[i] = window(axis, block, -before);
        before += r->in[i].shape[axis];
    }
    r->give[0] = rule_split(axis, block);
}

void rule_cat(Rule *r) {
    int i = rule_largest_split(r), axis = (int)inst_attr(r->inst, ATTR_AXIS)->ints[0];
    bool is_wanted = i < 0 && rule_is_wanted(r, &r->out[0]);
    if (i < 0 && !is_wanted) {
        rule_whole(r);
        return;
    }
    Layout l = is_wanted ? layout_split(&r->out[0], r->want_axis, r->n) : r->have[i];
    if (l.axis == axis)
        cat_windows(r, axis, layout_split(&r->out[0], axis, r->n).block);
    else
        rule_aligned(r, l.axis, l.block);
}

/* ---- slice_put ---- */

/* x and the result are split along axis a of x. */
static bool put_along(Rule *r, int a, int64_t block) {
    Slice s = slice_along(r->inst, a);
    int b = a - (r->in[0].rank - r->in[1].rank);
    bool follows = b >= 0 && r->in[1].shape[b] == s.size;
    if (block % s.step != 0) return false;
    r->need[0] = r->give[0] = rule_split(a, block);
    r->need[1] = follows ? window(b, block / s.step, -(s.start / s.step)) : layout_replicate();
    return true;
}

/* x decides; if x is whole, the values do. */
void rule_slice_put(Rule *r) {
    const TensorType *x = &r->in[0];
    int a = -1, shift = x->rank - r->in[1].rank;
    int64_t block = 0;
    if (rule_is_split(r, 0)) {
        a = r->have[0].axis, block = r->have[0].block;
    } else if (rule_is_split(r, 1)) {
        a = r->have[1].axis + shift;
        Slice s = slice_along(r->inst, a);
        bool is_whole = s.start == 0 && s.step == 1 && s.size == x->shape[a];
        bool is_repeated = r->in[1].shape[r->have[1].axis] != s.size;
        block = is_whole && !is_repeated ? r->have[1].block : layout_split(x, a, r->n).block;
        if (is_repeated) a = -1;
    } else if (rule_is_wanted(r, x)) {
        a = r->want_axis, block = layout_split(x, a, r->n).block;
    }
    if (a < 0 || !put_along(r, a, block)) rule_whole(r);
}
