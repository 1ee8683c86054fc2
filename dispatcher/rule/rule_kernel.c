/* rule_kernel.c: layout rules of the hand-written kernels. A kernel whose rule is `whole` runs
 * on whole operands.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/rule/rule.h"
#include "runtime/layout/nodes.h"

static int64_t axis_of(const Inst *inst) {
    const Attr *a = inst_attr(inst, ATTR_AXIS);
    return a && a->n == 1 ? a->ints[0] : -1;
}

int rule_largest_split(const Rule *r) {
    int best = -1;
    for (int i = 0; i < r->inst->n_in; i++)
        if (rule_is_split(r, i) && (best < 0 || type_numel(&r->in[i]) > type_numel(&r->in[best])))
            best = i;
    return best;
}

/* ---- One operand, each line along an axis by itself ---- */

void rule_cast(Rule *r) {
    Layout l = layout_replicate();
    if (rule_is_split(r, 0))
        l = r->have[0];
    else if (rule_is_wanted(r, &r->out[0]))
        l = layout_split(&r->out[0], r->want_axis, r->n);
    r->need[0] = r->give[0] = l;
}

/* The longest axis outside first .. end - 1 that can be split, or -1. */
static int longest_axis(const TensorType *t, int first, int end) {
    int best = -1;
    for (int a = 0; a < t->rank; a++)
        if ((a < first || a >= end) && t->shape[a] >= 2 &&
            (best < 0 || t->shape[a] > t->shape[best]))
            best = a;
    return best;
}

static void all_like(Rule *r, Layout l) {
    for (int i = 0; i < r->inst->n_in; i++) r->need[i] = l;
    for (int k = 0; k < r->n_out; k++) r->give[k] = l;
}

void rule_lines(Rule *r, int first, int end) {
    int i = rule_largest_split(r), axis = -1;
    if (i >= 0 && (r->have[i].axis < first || r->have[i].axis >= end)) {
        all_like(r, r->have[i]);
        return;
    }
    if (i >= 0)
        axis = longest_axis(&r->in[i], first, end);
    else if (rule_is_wanted(r, &r->in[0]) && (r->want_axis < first || r->want_axis >= end))
        axis = r->want_axis;
    all_like(r, axis < 0 ? layout_replicate() : layout_split(&r->in[0], axis, r->n));
}

void rule_along(Rule *r) {
    int axis = (int)axis_of(r->inst);
    rule_lines(r, axis, axis + 1);
}

void rule_arg_reduce(Rule *r) {
    int axis = (int)axis_of(r->inst);
    bool goes = !inst_bool(r->inst, ATTR_KEEPDIMS, false);
    if (axis < 0) {
        rule_whole(r);
        return;
    }
    if (goes && r->want_axis >= axis) r->want_axis++; /* as an axis of x */
    rule_lines(r, axis, axis + 1);
    if (goes && r->give[0].kind == LAYOUT_SPLIT && r->give[0].axis > axis) r->give[0].axis--;
}

/* Each value is searched by itself. The leading axes of rows and values agree if rows have any. */
void rule_searchsorted(Rule *r) {
    const TensorType *x = &r->in[0], *v = &r->in[1];
    Layout l;
    if (rule_is_split(r, 1))
        l = r->have[1];
    else if (rule_is_split(r, 0) && r->have[0].axis < x->rank - 1)
        l = r->have[0];
    else {
        int axis = rule_is_wanted(r, v)  ? r->want_axis
                   : rule_is_split(r, 0) ? longest_axis(v, 0, 0)
                                         : -1;
        if (axis < 0) {
            rule_whole(r);
            return;
        }
        l = layout_split(v, axis, r->n);
    }
    r->need[0] = l.axis < x->rank - 1 ? l : layout_replicate();
    r->need[1] = r->give[0] = l;
}

/* ---- Products ---- */

/* True if the product sums over this axis of a (b). */
static bool is_inner_a(const TensorType *a, int axis) { return axis == a->rank - 1; }
static bool is_inner_b(const TensorType *b, int axis) {
    return axis == (b->rank > 1 ? b->rank - 2 : 0);
}

/* Operand i keeps its split. If that is along a batch axis, the other operand is split along it
 * too. If it is along the operand's own axis (rows of a, columns of b), the other one is whole. */
static void matmul_outer(Rule *r, int i) {
    const TensorType *x = &r->in[i], *y = &r->in[1 - i], *o = &r->out[0];
    Layout l = r->have[i];
    int from_end = x->rank - l.axis; /* 1: columns, 2: rows, more: batch */
    r->need[i] = l;
    r->need[1 - i] = layout_replicate();
    if (from_end <= 2) { /* a vector on the other side contributes no axis */
        bool is_row = i == 0;
        int after = is_row && y->rank > 1 ? 1 : 0;
        r->give[0] = rule_split(o->rank - 1 - after, l.block);
        return;
    }
    int gone = (r->in[0].rank == 1) + (r->in[1].rank == 1);
    int axis_o = o->rank - (from_end - gone);
    int axis_y = y->rank - from_end;
    if (x->shape[l.axis] != o->shape[axis_o]) { /* size 1, broadcast */
        rule_whole(r);
        return;
    }
    r->give[0] = rule_split(axis_o, l.block);
    if (y->rank > 2 && axis_y >= 0 && y->shape[axis_y] == x->shape[l.axis])
        r->need[1 - i] = rule_split(axis_y, l.block);
}

/* Splits operand i along `axis`, whatever its layout was, and chooses the rest as matmul_outer. */
static void matmul_split(Rule *r, int i, int axis) {
    Layout have[2] = {layout_replicate(), layout_replicate()};
    const Layout *before = r->have;
    have[i] = layout_split(&r->in[i], axis, r->n);
    r->have = have;
    matmul_outer(r, i);
    r->have = before;
}

/* Splits operand i, whose inner axis is split, along its rows (columns) instead. */
static void matmul_turned(Rule *r, int i) { matmul_split(r, i, r->in[i].rank - (i ? 1 : 2)); }

/* Elements that a rank receives if matmul_turned splits operand i and the other one becomes whole.
 * -1: operand i has too few rows (columns). */
static int64_t cost_of_turning(const Rule *r, int i) {
    const TensorType *x = &r->in[i];
    int64_t cost = 0;
    if (x->rank < 2 || x->shape[i == 0 ? x->rank - 2 : x->rank - 1] < r->n) return -1;
    if (rule_is_split(r, i)) cost += type_numel(x) / r->n;
    if (rule_is_split(r, 1 - i)) cost += type_numel(&r->in[1 - i]);
    return cost;
}

/* Elements that a rank receives if it computes the terms of one block of the inner axis: what it
 * lacks of both operands, and the other ranks' nodes of the product's sums. */
static int64_t cost_of_nodes(const Rule *r, const Layout *terms) {
    const TensorType *a = &r->in[0], *b = &r->in[1];
    int64_t nodes = layout_is_stacked(terms) ? nodes_of(terms, (r->n - 1) / 2, NULL) : 1;
    return nodes * type_numel(&r->out[0]) + rule_received(r, 0, a->rank - 1, terms->block) +
           rule_received(r, 1, b->rank > 1 ? b->rank - 2 : 0, terms->block);
}

/* Returns the terms that cost least. Their blocks are `block` rounded up to whole leaves, or to
 * whole nodes of a higher level: a rank then has fewer nodes to send. Such a block is at most a
 * quarter larger than an equal share of K. */
static Layout best_nodes(const Rule *r, int64_t leaf, int64_t block, int64_t K) {
    Layout best = {0};
    int64_t least = 0;
    for (int64_t node = leaf; node < K; node *= 2) {
        int64_t whole = (block + node - 1) / node * node;
        if (best.block && (whole > (K + K / 4) / r->n || best.block == whole)) continue;
        Layout terms = nodes_layout(OP_SUM, leaf, whole, K);
        int64_t cost = cost_of_nodes(r, &terms);
        if (!best.block || cost < least) best = terms, least = cost;
    }
    return best;
}

/* The inner axis is split. Each rank computes terms: nodes of the sum's tree, for which its part
 * must be whole leaves. If the parts are not, or hold several nodes, splitting the rows (columns)
 * instead may move fewer elements. With fewer leaves than ranks it is the only way. */
static void matmul_inner(Rule *r, int64_t block) {
    const TensorType *a = &r->in[0], *b = &r->in[1], *o = &r->out[0];
    int64_t leaf = nodes_leaf(r->inst, a), K = a->shape[a->rank - 1];
    Layout terms = layout_partial(OP_SUM);
    bool is_inner = !leaf || (rule_has_leaves(r, leaf, K) && o->rank < MAX_DIMS);
    if (leaf && is_inner) {
        terms = best_nodes(r, leaf, block, K);
        bool stays = terms.block == block && !layout_is_stacked(&terms);
        block = terms.block;
        for (int i = 0; i < 2 && !stays; i++) {
            int64_t cost = cost_of_turning(r, i);
            is_inner &= cost < 0 || cost_of_nodes(r, &terms) <= cost;
        }
    }
    if (is_inner) {
        r->need[0] = rule_split(a->rank - 1, block);
        r->need[1] = rule_split(b->rank > 1 ? b->rank - 2 : 0, block);
        r->give[0] = terms;
        return;
    }
    int64_t rows = cost_of_turning(r, 0), columns = cost_of_turning(r, 1);
    if (rows < 0 && columns < 0)
        rule_whole(r);
    else
        matmul_turned(r, columns < 0 || (rows >= 0 && rows <= columns) ? 0 : 1);
}

/* Splits the operand that has the wanted axis of the product along that axis: a conversion of the
 * operand moves less than one of the product. */
static void matmul_wanted(Rule *r) {
    const TensorType *a = &r->in[0], *b = &r->in[1], *o = &r->out[0];
    int from_end = o->rank - r->want_axis; /* counts as if neither were a vector */
    if (b->rank == 1) from_end++;
    if (a->rank == 1 && from_end > 1) from_end++;
    int i = from_end == 1, axis = r->in[i].rank - from_end;
    if (from_end > 2 && (axis < 0 || a->shape[axis] != o->shape[r->want_axis]))
        i = 1, axis = b->rank - from_end;
    matmul_split(r, i, axis);
}

void rule_matmul(Rule *r) {
    const TensorType *a = &r->in[0], *b = &r->in[1];
    bool split_a = rule_is_split(r, 0), split_b = rule_is_split(r, 1);
    bool inner_a = split_a && is_inner_a(a, r->have[0].axis);
    bool inner_b = split_b && is_inner_b(b, r->have[1].axis);
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
    } else if (rule_is_wanted(r, &r->out[0])) {
        matmul_wanted(r);
    } else {
        rule_whole(r);
    }
}

/* ---- Indexing ---- */

/* The indices from operand `first` on replace axes axis .. axis + k - 1 of x. Returns their common
 * shape. */
static TensorType index_shape(const Rule *r, int first) {
    TensorType b = r->in[first];
    for (int i = first + 1; i < r->inst->n_in; i++) {
        TensorType before = b;
        shape_broadcast(&before, &r->in[i], &b);
    }
    return b;
}

/* Finds an axis of the indices' common shape along which one of them is split. All that have it
 * follow. */
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

/* Splits x along its axis a, which no index replaces. */
static void index_outside(Rule *r, int axis, int k, int rank_b, int a, int64_t block) {
    r->need[0] = rule_split(a, block);
    r->give[0] = rule_split(a < axis ? a : a - k + rank_b, block);
}

/* If x is split along an axis that no index replaces, the result is split along it too. Else split
 * indices decide; then the axis that the scope wants. Else a split x is split along another axis,
 * which moves least, or, if it has none, the result along an axis of the indices. */
void rule_index(Rule *r) {
    int axis = (int)axis_of(r->inst), k = r->inst->n_in - 1, b_axis = -1;
    int64_t block = 0;
    TensorType b = index_shape(r, 1);
    bool is_split = rule_is_split(r, 0);
    rule_whole(r);
    if (is_split && (r->have[0].axis < axis || r->have[0].axis >= axis + k)) {
        index_outside(r, axis, k, b.rank, r->have[0].axis, r->have[0].block);
        return;
    }
    if (!split_of_indices(r, 1, &b, &b_axis, &block)) {
        bool is_wanted = rule_is_wanted(r, &r->out[0]);
        int a = -1;
        if (is_wanted && r->want_axis >= axis && r->want_axis < axis + b.rank)
            b_axis = r->want_axis - axis;
        else if (is_wanted)
            a = r->want_axis < axis ? r->want_axis : r->want_axis - b.rank + k;
        else if (is_split && (a = longest_axis(&r->in[0], axis, axis + k)) < 0)
            b_axis = longest_axis(&b, 0, 0);
        if (a >= 0) index_outside(r, axis, k, b.rank, a, layout_split(&r->in[0], a, r->n).block);
        if (b_axis < 0) return;
        block = layout_split(&b, b_axis, r->n).block;
    }
    for (int i = 1; i <= k; i++) follow(r, i, &b, b_axis, block);
    r->give[0] = rule_split(axis + b_axis, block);
}

/* The axis of x along which the values of an index_put are split, if no index replaces it; else
 * -1. */
static int axis_of_x(const Rule *r, const TensorType *part, int axis, int k, int rank_b) {
    int a = r->have[1].axis + part->rank - r->in[1].rank;
    if (r->in[1].shape[r->have[1].axis] != part->shape[a]) return -1;
    return a < axis ? a : a >= axis + rank_b ? a - rank_b + k : -1;
}

/* Values at equal indices are added in the order of the indices. So every rank gets all indices,
 * and the values for its part of x. */
void rule_index_put(Rule *r) {
    int axis = (int)axis_of(r->inst), k = r->inst->n_in - 2, b_axis;
    int64_t block;
    TensorType b = index_shape(r, 2), part = {.rank = 0};
    const TensorType *x = &r->in[0];
    for (int i = 0; i < axis; i++) part.shape[part.rank++] = x->shape[i];
    for (int i = 0; i < b.rank; i++) part.shape[part.rank++] = b.shape[i];
    for (int i = axis + k; i < x->rank; i++) part.shape[part.rank++] = x->shape[i];
    bool adds = inst_bool(r->inst, ATTR_ACCUMULATE, false) && x->dtype != DT_BOOL;
    bool is_split = rule_is_split(r, 0);
    Layout l = r->have[0];
    bool is_outside = is_split && (l.axis < axis || l.axis >= axis + k);
    rule_whole(r);
    int a = is_outside ? l.axis : -1;
    if (!is_outside && (is_split || (adds && split_of_indices(r, 2, &b, &b_axis, &block))))
        a = longest_axis(x, axis, axis + k);
    else if (!is_split && rule_is_split(r, 1))
        a = axis_of_x(r, &part, axis, k, b.rank);
    else if (!is_split && rule_is_wanted(r, x) && (r->want_axis < axis || r->want_axis >= axis + k))
        a = r->want_axis;
    if (a < 0) return;
    if (!is_outside) l = layout_split(x, a, r->n);
    r->need[0] = r->give[0] = l;
    follow(r, 1, &part, a < axis ? a : a - k + b.rank, l.block);
}

/* Gather, scatter: along any axis but `axis`, row i of the result depends on rows i of the operands
 * alone. Splits result and operands along such an axis: that of the largest operand split along
 * one; else, if an operand is split, the longest; else the wanted one. False: there is none. */
static bool split_other(Rule *r, int axis) {
    const TensorType *o = &r->out[0];
    int best = -1, a = -1;
    bool any = false;
    for (int i = 0; i < r->inst->n_in; i++) {
        if (!rule_is_split(r, i)) continue;
        any = true;
        if (r->have[i].axis == axis) continue;
        if (best < 0 || type_numel(&r->in[i]) > type_numel(&r->in[best])) best = i;
    }
    if (best >= 0) {
        Layout l = r->have[best];
        all_like(r, layout_covers(&l, o, r->n) ? l : layout_split(o, l.axis, r->n));
        return true;
    }
    if (any)
        a = longest_axis(o, axis, axis + 1);
    else if (rule_is_wanted(r, o) && r->want_axis != axis)
        a = r->want_axis;
    if (a >= 0) all_like(r, layout_split(o, a, r->n));
    return a >= 0;
}

void rule_gather(Rule *r) {
    int axis = (int)axis_of(r->inst);
    bool by_index = rule_is_split(r, 1) && r->have[1].axis == axis && !rule_is_split(r, 0);
    if (!by_index && split_other(r, axis)) return;
    Layout l = layout_replicate();
    if (rule_is_split(r, 1) && r->have[1].axis == axis)
        l = r->have[1];
    else if (rule_is_wanted(r, &r->out[0]) && r->want_axis == axis)
        l = layout_split(&r->out[0], axis, r->n);
    rule_whole(r);
    r->need[1] = r->give[0] = l;
}

void rule_scatter(Rule *r) {
    if (!split_other(r, (int)axis_of(r->inst))) rule_whole(r);
}

/* ---- Batches of matrices ---- */

/* The number of leading axes that are batch axes, and broadcast. A matrix, or a vector of
 * permutations, follows them. */
static int batch_rank(const Rule *r, int i) {
    return r->in[i].rank - (r->inst->op == OP_SOLVE && i == 3 ? 1 : 2);
}
static int batch_rank_out(const Rule *r, int k) { return r->out[k].rank - (k == 1 ? 1 : 2); }

/* Splits along batch axis a of the first result. */
static void batch_split(Rule *r, int a, int64_t block) {
    int from_end = batch_rank_out(r, 0) - a;
    for (int i = 0; i < r->inst->n_in; i++) {
        int b = batch_rank(r, i) - from_end;
        bool has = b >= 0 && r->in[i].shape[b] == r->out[0].shape[a];
        r->need[i] = has ? rule_split(b, block) : layout_replicate();
    }
    for (int k = 0; k < r->n_out; k++)
        r->give[k] = rule_split(batch_rank_out(r, k) - from_end, block);
}

void rule_batch(Rule *r) {
    int i = rule_largest_split(r), lead = batch_rank_out(r, 0), a = -1;
    const TensorType *o = &r->out[0];
    if (i >= 0) {
        int from_end = batch_rank(r, i) - r->have[i].axis;
        a = lead - from_end;
        if (from_end > 0 && r->in[i].shape[r->have[i].axis] == o->shape[a]) {
            batch_split(r, a, r->have[i].block);
            return;
        }
        /* Columns of the right side are solved one by one. */
        bool solves = r->inst->op == OP_SOLVE || r->inst->op == OP_SOLVE_TRIANGULAR;
        if (solves && i == 1 && r->have[1].axis == r->in[1].rank - 1) {
            Layout l = r->have[1];
            rule_whole(r);
            r->need[1] = l;
            r->give[0] = rule_split(o->rank - 1, l.block);
            return;
        }
        a = longest_axis(o, lead, o->rank);
    } else if (rule_is_wanted(r, o) && r->want_axis < lead) {
        a = r->want_axis;
    }
    if (a >= 0)
        batch_split(r, a, layout_split(o, a, r->n).block);
    else
        rule_whole(r);
}
