/* rule.c: see rule.h: pointwise operations, reductions, views, sources.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/rule/rule.h"
#include <assert.h>

void rule_whole(Rule *r) {
    for (int i = 0; i < r->inst->n_in; i++) r->need[i] = layout_replicate();
    for (int k = 0; k < r->n_out; k++) r->give[k] = layout_replicate();
}

void rule_aligned(Rule *r, int axis, int64_t block) {
    const TensorType *o = &r->out[0];
    for (int i = 0; i < r->inst->n_in; i++) {
        int a = rule_is_tensor(r, i) ? axis - (o->rank - r->in[i].rank) : -1;
        bool follows = a >= 0 && r->in[i].shape[a] == o->shape[axis];
        r->need[i] = follows ? rule_split(a, block) : layout_replicate();
    }
    for (int k = 0; k < r->n_out; k++) r->give[k] = rule_split(axis, block);
}

/* ---- Pointwise ---- */

/* True for a number other than 0: 0 / 0 is nan, but the sum of the terms / 0 may be infinite. */
static bool is_divisor(const Operand *o) {
    return (o->kind == IN_IMM_FLOAT && o->f != 0) || (o->kind == IN_IMM_INT && o->i != 0);
}

/* True if terms of a sum can stay terms. They can when something is added (rank 0 adds what is
 * whole), and, if they are single numbers (losses, seldom read), also when they are scaled.
 * Larger terms that are scaled, or from which something whole is subtracted (Adam's g - m), are
 * gradients of weights on their way into an optimiser, which reads them more than once: they are
 * combined first, once. */
static bool map_keeps_partial(Rule *r) {
    const Inst *inst = r->inst;
    const Layout terms = layout_partial(OP_SUM);
    int n_terms = 0, n_tensors = 0;
    bool others_whole = true, grows = false;
    for (int i = 0; i < inst->n_in; i++) {
        if (!rule_is_tensor(r, i)) continue;
        n_tensors++;
        if (layout_equal(&r->have[i], &terms))
            n_terms++, grows = grows || type_numel(&r->in[i]) != type_numel(&r->out[0]);
        else
            others_whole = others_whole && r->have[i].kind == LAYOUT_REPLICATE;
    }
    if (n_terms == 0 || !others_whole || grows) return false;
    bool is_one = type_numel(&r->out[0]) == 1, adds = false, scales = false;
    switch (inst->op) {
    case OP_ADD: adds = n_tensors == 2; break;
    case OP_SUB: adds = n_tensors == 2 && (n_terms == 2 || is_one); break;
    case OP_NEG: scales = is_one; break;
    case OP_MUL: scales = is_one && n_terms == 1; break;
    case OP_DIV: scales = is_one && n_terms == 1 && is_divisor(&inst->in[1]); break;
    default: break;
    }
    if (!adds && !scales) return false;
    for (int i = 0; i < inst->n_in; i++) {
        bool is_term = rule_is_tensor(r, i) && (adds || layout_equal(&r->have[i], &terms));
        r->need[i] = is_term ? terms : layout_replicate();
    }
    r->give[0] = terms;
    return true;
}

/* p op= e keeps the layout of p. */
static bool map_keeps_place(Rule *r) {
    if (!rule_is_tensor(r, 0) || r->have[0].kind == LAYOUT_PARTIAL) return false;
    if (r->in[0].rank != r->out[0].rank) return false;
    for (int a = 0; a < r->out[0].rank; a++)
        if (r->in[0].shape[a] != r->out[0].shape[a]) return false;
    if (rule_is_split(r, 0))
        rule_aligned(r, r->have[0].axis, r->have[0].block);
    else
        rule_whole(r);
    return true;
}

/* The split of the largest operand decides. If operands are split along different axes, one
 * along the scope's axis wins (a batch of offsets and a range of steps give a batch). */
void rule_map(Rule *r) {
    const TensorType *o = &r->out[0];
    int axis = -1;
    int64_t block = 0, most = -1;
    bool is_wanted = false;
    if (inst_bool(r->inst, ATTR_KEEP, false) && map_keeps_place(r)) return;
    if (map_keeps_partial(r)) return;
    for (int i = 0; i < r->inst->n_in; i++) {
        if (!rule_is_split(r, i)) continue;
        int a = r->have[i].axis + o->rank - r->in[i].rank;
        int64_t n = type_numel(&r->in[i]);
        bool wants = a == r->want_axis;
        if (r->in[i].shape[r->have[i].axis] != o->shape[a]) continue;
        if (wants == is_wanted ? n <= most : is_wanted) continue;
        most = n, axis = a, block = r->have[i].block, is_wanted = wants;
    }
    if (axis < 0 && rule_is_wanted(r, o))
        axis = r->want_axis, block = layout_split(o, axis, r->n).block;
    if (axis < 0)
        rule_whole(r);
    else
        rule_aligned(r, axis, block);
}

/* ---- Reductions ---- */

static unsigned reduced_axes(const Inst *inst, const TensorType *t) {
    const Attr *a = inst_attr(inst, ATTR_AXIS);
    if (!a) return (1u << t->rank) - 1;
    unsigned set = 0;
    for (uint32_t k = 0; k < a->n; k++) set |= 1u << a->ints[k];
    return set;
}

/* Where axis a of the operand is in the result. */
static int kept_axis(const Rule *r, unsigned reduced, int a) {
    if (inst_bool(r->inst, ATTR_KEEPDIMS, false)) return a;
    return a - __builtin_popcount(reduced & ((1u << a) - 1));
}

static void reduce_split(Rule *r, unsigned reduced, int axis, int64_t block) {
    r->need[0] = rule_split(axis, block);
    r->give[0] = reduced >> axis & 1 ? layout_partial(r->inst->op)
                                     : rule_split(kept_axis(r, reduced, axis), block);
}

void rule_reduce(Rule *r) {
    const TensorType *x = &r->in[0];
    unsigned reduced = reduced_axes(r->inst, x);
    const Layout terms = layout_partial(OP_SUM);
    /* Not for narrow integers: their terms wrap, each by itself, but the i64 result does not. */
    bool is_one =
        r->inst->op == OP_SUM && type_numel(&r->out[0]) == 1 && x->dtype == r->out[0].dtype;
    if (is_one && layout_equal(&r->have[0], &terms)) {
        r->need[0] = r->give[0] = terms;
    } else if (rule_is_split(r, 0)) {
        reduce_split(r, reduced, r->have[0].axis, r->have[0].block);
    } else if (rule_is_wanted(r, &r->out[0])) {
        int a = 0;
        while (reduced >> a & 1 || kept_axis(r, reduced, a) != r->want_axis) a++;
        reduce_split(r, reduced, a, layout_split(x, a, r->n).block);
    } else if (rule_is_wanted(r, x)) { /* the axis is reduced: then its terms are spread */
        reduce_split(r, reduced, r->want_axis, layout_split(x, r->want_axis, r->n).block);
    } else {
        rule_whole(r);
    }
}

/* ---- Views ---- */

static int64_t product(const int64_t *shape, int begin, int end) {
    int64_t n = 1;
    for (int i = begin; i < end; i++) n *= shape[i];
    return n;
}

/* Maps rows of axis l->axis of `from` to rows of one axis of `to` with the same elements in the
 * same order. False if a rank's block is not whole rows of any axis. The axes before must hold
 * as many elements in both, and within that part the block must be contiguous. */
static bool reshape_split(const TensorType *from, const Layout *l, const TensorType *to,
                          Layout *out) {
    int64_t before = product(from->shape, 0, l->axis);
    int64_t elements = l->block * product(from->shape, l->axis + 1, from->rank);
    if (type_numel(from) == 0) return false;
    for (int b = 0; b < to->rank; b++) {
        int64_t inner = product(to->shape, b + 1, to->rank);
        if (product(to->shape, 0, b) != before || elements % inner != 0) continue;
        /* (1, 6) and (6): take the axis that has all the rows, not an axis of size 1 before it. */
        if (to->shape[b] == 1 && from->shape[l->axis] != 1) continue;
        *out = rule_split(b, elements / inner);
        return true;
    }
    return false;
}

void rule_reshape(Rule *r) {
    Layout out, fresh;
    if (rule_is_split(r, 0) && reshape_split(&r->in[0], &r->have[0], &r->out[0], &out)) {
        r->need[0] = r->have[0];
        r->give[0] = out;
        return;
    }
    /* The view would break up its rows. Rows of the first axis stay together, so it is split
     * there. */
    int a = 0;
    while (a < r->in[0].rank && r->in[0].shape[a] == 1) a++;
    bool has_rows = rule_is_split(r, 0) && a < r->in[0].rank && a != r->have[0].axis;
    if (has_rows) fresh = layout_split(&r->in[0], a, r->n);
    if (has_rows && reshape_split(&r->in[0], &fresh, &r->out[0], &out)) {
        r->need[0] = fresh;
        r->give[0] = out;
        return;
    }
    rule_whole(r);
}

void rule_permute(Rule *r) {
    const Attr *axes = inst_attr(r->inst, ATTR_AXES);
    for (uint32_t k = 0; k < axes->n; k++) {
        if (axes->ints[k] != r->have[0].axis) continue;
        r->need[0] = r->have[0];
        r->give[0] = rule_split((int)k, r->have[0].block);
    }
}

void rule_expand(Rule *r) {
    const TensorType *x = &r->in[0], *o = &r->out[0];
    int a = r->have[0].axis + o->rank - x->rank;
    if (x->shape[r->have[0].axis] != o->shape[a])
        rule_whole(r);
    else
        rule_aligned(r, a, r->have[0].block);
}

/* Views of whole tensors are whole. Views of terms are terms, unless the view has more elements.
 * Views of extremes are seldom read as such, so they are whole. */
static bool view_of_unsplit(Rule *r) {
    Layout l = r->have[0];
    bool keeps = l.kind == LAYOUT_PARTIAL && l.op == OP_SUM && r->inst->op != OP_EXPAND;
    if (l.kind == LAYOUT_SPLIT) return false;
    r->need[0] = r->give[0] = keeps ? l : layout_replicate();
    return true;
}

/* ---- Sources ---- */

/* A source made like a model has the model's layout. */
void rule_source(Rule *r) {
    bool has_model = r->inst->n_in > 0 && rule_is_tensor(r, 0);
    rule_whole(r);
    if (has_model) {
        r->need[0] = r->have[0];
        if (rule_is_split(r, 0)) r->give[0] = r->have[0];
    } else if (rule_is_wanted(r, &r->out[0])) {
        r->give[0] = layout_split(&r->out[0], r->want_axis, r->n);
    }
}

static void (*const rules[OP_COUNT])(Rule *r) = {
#define OP(id, name, class_, arity, in, out, shape, grad, rule, ...) [OP_##id] = rule_##rule,
#include "runtime/inst/ops.def"
};

void rule_apply(Rule *r) {
    for (int i = 0; i < r->inst->n_in; i++)
        assert(!rule_is_split(r, i) || layout_covers(&r->have[i], &r->in[i], r->n));
    bool is_view = op_info[r->inst->op].class_ == CLASS_VIEW;
    if (!is_view || !view_of_unsplit(r)) rules[r->inst->op](r);
    for (int k = 0; k < r->n_out; k++) { /* an instruction names one layout for all its results */
        assert(layout_equal(&r->give[k], &r->give[0]));
        assert(r->give[k].kind != LAYOUT_SPLIT || layout_covers(&r->give[k], &r->out[k], r->n));
    }
}
