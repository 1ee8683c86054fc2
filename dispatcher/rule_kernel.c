/* rule_kernel.c: layout rules of the hand-written kernels, by name; the table is at the end. A
 * kernel without a row is computed on whole operands.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/rule.h"
#include <string.h>

static int64_t axis_of(const Inst *inst) {
    const Attr *a = inst_attr(inst, ATTR_AXIS);
    return a && a->n == 1 ? a->ints[0] : -1;
}

/* The operand of most elements that is split, or -1. */
static int largest_split(const Rule *r) {
    int best = -1;
    for (int i = 0; i < r->inst->n_in; i++)
        if (rule_is_split(r, i) && (best < 0 || type_numel(&r->in[i]) > type_numel(&r->in[best])))
            best = i;
    return best;
}

/* ---- One operand, each line along an axis by itself ---- */

static void rule_cast(Rule *r) {
    if (rule_is_split(r, 0))
        r->need[0] = r->give[0] = r->have[0];
    else
        rule_whole(r);
}

/* Lines along `axis` stay whole; any other axis may be split. */
static void rule_lines(Rule *r, int64_t axis) {
    if (!rule_is_split(r, 0)) {
        rule_whole(r);
        return;
    }
    const TensorType *x = &r->in[0];
    Layout l = r->have[0];
    if (l.axis == axis) { /* The longest other axis takes its place, if there is one. */
        int other = -1;
        for (int a = 0; a < x->rank; a++)
            if (a != axis && x->shape[a] >= 2 && (other < 0 || x->shape[a] > x->shape[other]))
                other = a;
        if (other < 0) {
            rule_whole(r);
            return;
        }
        l = layout_split(x, other, r->n);
    }
    r->need[0] = l;
    for (int k = 0; k < r->n_out; k++) r->give[k] = l;
}

static void rule_along(Rule *r) { rule_lines(r, axis_of(r->inst)); }

static void rule_arg_reduce(Rule *r) {
    int64_t axis = axis_of(r->inst);
    if (axis < 0) {
        rule_whole(r);
        return;
    }
    rule_lines(r, axis);
    if (r->give[0].kind == LAYOUT_SPLIT && r->give[0].axis > axis &&
        !inst_bool(r->inst, ATTR_KEEPDIMS, false))
        r->give[0].axis--;
}

/* ---- Products ---- */

/* The axes of a and b by their part in the product; -1 where an operand lacks it. */
static bool is_inner_a(const TensorType *a, int axis) { return axis == a->rank - 1; }
static bool is_inner_b(const TensorType *b, int axis) {
    return axis == (b->rank > 1 ? b->rank - 2 : 0);
}

static void matmul_inner(Rule *r, int64_t block) {
    const TensorType *a = &r->in[0], *b = &r->in[1];
    r->need[0] = rule_split(a->rank - 1, block);
    r->need[1] = rule_split(b->rank > 1 ? b->rank - 2 : 0, block);
    r->give[0] = layout_partial(OP_SUM);
}

/* Operand i keeps its split, which is of its own axis (rows of a, columns of b) or of a batch axis;
 * the other one follows along batch axes and is whole otherwise. */
static void matmul_outer(Rule *r, int i) {
    const TensorType *x = &r->in[i], *y = &r->in[1 - i], *o = &r->out[0];
    Layout l = r->have[i];
    int from_end = x->rank - l.axis; /* 1: columns, 2: rows, more: batch */
    r->need[i] = l;
    r->need[1 - i] = layout_replicate();
    if (from_end <= 2) { /* a vector on the other side leaves no axis behind */
        bool is_row = i == 0;
        int after = is_row && y->rank > 1 ? 1 : 0;
        r->give[0] = rule_split(o->rank - 1 - after, l.block);
        return;
    }
    int gone = (r->in[0].rank == 1) + (r->in[1].rank == 1);
    int axis_o = o->rank - (from_end - gone);
    int axis_y = y->rank - from_end;
    if (x->shape[l.axis] != o->shape[axis_o]) { /* size 1, repeated */
        rule_whole(r);
        return;
    }
    r->give[0] = rule_split(axis_o, l.block);
    if (y->rank > 2 && axis_y >= 0 && y->shape[axis_y] == x->shape[l.axis])
        r->need[1 - i] = rule_split(axis_y, l.block);
}

/* Terms of a sum times a whole operand are terms of the product. */
static bool matmul_keeps_partial(Rule *r) {
    for (int i = 0; i < 2; i++) {
        if (r->have[i].kind != LAYOUT_PARTIAL || r->have[i].op != OP_SUM ||
            r->have[1 - i].kind != LAYOUT_REPLICATE)
            continue;
        /* Only where the product is not larger than what would be summed now. */
        if (type_numel(&r->out[0]) > type_numel(&r->in[i])) continue;
        r->need[0] = r->have[0], r->need[1] = r->have[1];
        r->give[0] = r->have[i];
        return true;
    }
    return false;
}

static void rule_matmul(Rule *r) {
    const TensorType *a = &r->in[0], *b = &r->in[1];
    bool split_a = rule_is_split(r, 0), split_b = rule_is_split(r, 1);
    bool inner_a = split_a && is_inner_a(a, r->have[0].axis);
    bool inner_b = split_b && is_inner_b(b, r->have[1].axis);
    if (matmul_keeps_partial(r)) return;
    if (inner_a && (inner_b || !split_b)) {
        matmul_inner(r, r->have[0].block);
    } else if (inner_b && !split_a) {
        matmul_inner(r, r->have[1].block);
    } else if (split_a && !inner_a && (!split_b || inner_b)) {
        matmul_outer(r, 0);
    } else if (split_b && !inner_b && (!split_a || inner_a)) {
        matmul_outer(r, 1);
    } else if (split_a && split_b) { /* rows and columns: the larger one stays where it is */
        matmul_outer(r, type_numel(a) >= type_numel(b) ? 0 : 1);
    } else if (r->want_axis >= 0 && r->want_axis < r->out[0].rank &&
               r->out[0].shape[r->want_axis] >= 2) {
        const TensorType *o = &r->out[0];
        bool columns = b->rank > 1 && r->want_axis == o->rank - 1;
        bool rows = a->rank > 1 && r->want_axis == o->rank - 1 - (b->rank > 1);
        Layout have[2] = {layout_replicate(), layout_replicate()};
        int i = columns ? 1 : 0;
        const TensorType *x = &r->in[i];
        int gone = (a->rank == 1) + (b->rank == 1);
        int axis = columns ? x->rank - 1
                   : rows  ? x->rank - 2
                           : x->rank - (o->rank - r->want_axis + gone);
        if (!columns && !rows && (axis < 0 || x->shape[axis] != o->shape[r->want_axis])) {
            i = 1;
            x = b;
            axis = x->rank - (o->rank - r->want_axis + gone);
        }
        have[i] = layout_split(x, axis, r->n);
        const Layout *before = r->have;
        r->have = have;
        matmul_outer(r, i);
        r->have = before;
    } else {
        rule_whole(r);
    }
}

/* ---- Joining and replacing ---- */

static void rule_cat(Rule *r) {
    int i = largest_split(r);
    if (i < 0 || r->have[i].axis == axis_of(r->inst))
        rule_whole(r);
    else
        rule_aligned(r, r->have[i].axis, r->have[i].block);
}

static void rule_slice_put(Rule *r) {
    int a = r->have[0].axis;
    const Inst *inst = r->inst;
    bool keeps = rule_is_split(r, 0) && inst_attr(inst, ATTR_START)->ints[a] == 0 &&
                 inst_attr(inst, ATTR_STEP)->ints[a] == 1 &&
                 inst_attr(inst, ATTR_SIZE)->ints[a] == r->in[0].shape[a];
    if (keeps)
        rule_aligned(r, a, r->have[0].block);
    else
        rule_whole(r);
}

/* ---- Indexing ---- */

/* Indices from operand `first` on stand for axes axis .. axis + k - 1 of x; together they have the
 * shape b. */
static TensorType index_shape(const Rule *r, int first) {
    TensorType b = r->in[first];
    for (int i = first + 1; i < r->inst->n_in; i++) {
        TensorType before = b;
        shape_broadcast(&before, &r->in[i], &b);
    }
    return b;
}

/* An axis of the indices' common shape along which one of them is split: then all follow, those
 * that have it. */
static bool split_of_indices(const Rule *r, int first, const TensorType *b, int *axis,
                             int64_t *block) {
    for (int i = first; i < r->inst->n_in; i++) {
        if (!rule_is_split(r, i)) continue;
        int a = r->have[i].axis + b->rank - r->in[i].rank;
        if (r->in[i].shape[r->have[i].axis] != b->shape[a]) continue;
        *axis = a, *block = r->have[i].block;
        return true;
    }
    return false;
}

static void follow(Rule *r, int i, const TensorType *whole, int axis, int64_t block) {
    int a = axis - (whole->rank - r->in[i].rank);
    bool has = a >= 0 && r->in[i].shape[a] == whole->shape[axis];
    r->need[i] = has ? rule_split(a, block) : layout_replicate();
}

static void rule_index(Rule *r) {
    int64_t axis = axis_of(r->inst);
    int k = r->inst->n_in - 1, b_axis;
    int64_t block;
    TensorType b = index_shape(r, 1);
    bool x_outside = rule_is_split(r, 0) && (r->have[0].axis < axis || r->have[0].axis >= axis + k);
    rule_whole(r);
    if (x_outside) {
        int a = r->have[0].axis;
        r->need[0] = r->have[0];
        r->give[0] = rule_split(a < axis ? a : a - k + b.rank, r->have[0].block);
    } else if (split_of_indices(r, 1, &b, &b_axis, &block)) {
        for (int i = 1; i <= k; i++) follow(r, i, &b, b_axis, block);
        r->give[0] = rule_split((int)axis + b_axis, block);
    }
}

/* Adding at indices that are spread gives terms of the result; x counts once (partial). */
static void rule_index_put(Rule *r) {
    int64_t axis = axis_of(r->inst);
    int k = r->inst->n_in - 2, b_axis;
    int64_t block;
    TensorType b = index_shape(r, 2), part = {.rank = 0};
    const TensorType *x = &r->in[0];
    for (int i = 0; i < axis; i++) part.shape[part.rank++] = x->shape[i];
    for (int i = 0; i < b.rank; i++) part.shape[part.rank++] = b.shape[i];
    for (int i = (int)axis + k; i < x->rank; i++) part.shape[part.rank++] = x->shape[i];
    rule_whole(r);
    if (rule_is_split(r, 0) && (r->have[0].axis < axis || r->have[0].axis >= axis + k)) {
        int a = r->have[0].axis;
        r->need[0] = r->give[0] = r->have[0];
        follow(r, 1, &part, a < axis ? a : a - k + b.rank, r->have[0].block);
    } else if (inst_bool(r->inst, ATTR_ACCUMULATE, false) && x->dtype != DT_BOOL &&
               split_of_indices(r, 2, &b, &b_axis, &block)) {
        for (int i = 2; i < r->inst->n_in; i++) follow(r, i, &b, b_axis, block);
        r->need[0] = r->give[0] = layout_partial(OP_SUM);
        follow(r, 1, &part, (int)axis + b_axis, block);
    }
}

/* Along axes that all operands share in full, each row is by itself. */
static bool shared_axis(const Rule *r, int axis) {
    for (int i = 1; i < r->inst->n_in; i++)
        if (r->in[i].shape[axis] != r->in[0].shape[axis]) return false;
    return true;
}

static void rule_gather(Rule *r) {
    int64_t axis = axis_of(r->inst);
    int i = rule_is_split(r, 1) ? 1 : 0;
    rule_whole(r);
    if (!rule_is_split(r, i)) return;
    Layout l = r->have[i];
    if (l.axis != axis && shared_axis(r, l.axis))
        r->need[0] = r->need[1] = r->give[0] = l;
    else if (i == 1 && l.axis == axis)
        r->need[1] = r->give[0] = l;
}

static void rule_scatter(Rule *r) {
    int64_t axis = axis_of(r->inst);
    int i = largest_split(r);
    rule_whole(r);
    if (i < 0) return;
    Layout l = r->have[i];
    if (l.axis != axis && shared_axis(r, l.axis)) {
        r->need[0] = r->need[1] = r->need[2] = r->give[0] = l;
    } else if (i > 0 && r->inst->op == OP_SCATTER_ADD &&
               r->in[1].shape[l.axis] == r->in[2].shape[l.axis] && l.axis == axis) {
        r->need[1] = r->need[2] = l;
        r->need[0] = r->give[0] = layout_partial(OP_SUM);
    }
}

/* ---- Batches of matrices ---- */

static void rule_batch(Rule *r) {
    int i = largest_split(r);
    rule_whole(r);
    if (i < 0) return;
    Layout l = r->have[i];
    int from_end = r->in[i].rank - l.axis;
    for (int k = 0; k < r->inst->n_in; k++) /* All operands must have that batch axis in full. */
        if (!rule_is_tensor(r, k) || from_end <= 2 || r->in[k].rank != r->in[i].rank ||
            r->in[k].shape[l.axis] != r->in[i].shape[l.axis])
            return;
    for (int k = 0; k < r->n_out; k++)
        if (r->out[k].rank <= l.axis || r->out[k].shape[l.axis] != r->in[i].shape[l.axis]) return;
    for (int k = 0; k < r->inst->n_in; k++) r->need[k] = l;
    for (int k = 0; k < r->n_out; k++) r->give[k] = l;
}

static const RuleFn rules[OP_COUNT] = {
    [OP_CAST] = rule_cast,
    [OP_MATMUL] = rule_matmul,
    [OP_CAT] = rule_cat,
    [OP_SLICE_PUT] = rule_slice_put,
    [OP_INDEX] = rule_index,
    [OP_INDEX_PUT] = rule_index_put,
    [OP_GATHER] = rule_gather,
    [OP_SCATTER_ADD] = rule_scatter,
    [OP_SCATTER_REDUCE] = rule_scatter,
    [OP_ARGMAX] = rule_arg_reduce,
    [OP_ARGMIN] = rule_arg_reduce,
    [OP_CUMSUM] = rule_along,
    [OP_CUMMAX] = rule_along,
    [OP_SORT] = rule_along,
    [OP_ARGSORT] = rule_along,
    [OP_TOPK] = rule_along,
    [OP_CHOLESKY] = rule_batch,
    [OP_LU] = rule_batch,
    [OP_SOLVE] = rule_batch,
    [OP_SOLVE_TRIANGULAR] = rule_batch,
};

RuleFn rule_of_kernel(Op op) { return rules[op]; }
