/* rule.c: see rule.h: pointwise operations, reductions, views, sources.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/rule/rule.h"
#include "runtime/layout/nodes.h"
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

int64_t rule_rows(int64_t leaf, int64_t inner) {
    int64_t a = leaf, b = inner;
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return leaf / a;
}

int64_t rule_received(const Rule *r, int i, int axis, int64_t block) {
    const TensorType *x = &r->in[i];
    const int64_t rows = x->shape[axis], had = r->have[i].block;
    int64_t most = 0;
    if (!rule_is_split(r, i) || rows == 0) return 0;
    if (r->have[i].axis != axis) return type_numel(x) / r->n;
    for (int64_t k = 0; k < r->n && k * block < rows; k++) {
        int64_t end = (k + 1) * block < rows ? (k + 1) * block : rows;
        int64_t first = k * (block > had ? block : had);
        int64_t after = (k + 1) * had < end ? (k + 1) * had : end;
        int64_t n = end - k * block - (after > first ? after - first : 0);
        if (n > most) most = n;
    }
    return most * (type_numel(x) / rows);
}

bool rule_has_leaves(const Rule *r, int64_t leaf, int64_t extent) {
    return r->n > 1 && extent / r->n >= leaf;
}

/* The first reduced axis, without those of size 1 before another one. */
static int first_of(unsigned reduced, const TensorType *x) {
    int first = __builtin_ctz(reduced);
    for (int a = first; a < x->rank && x->shape[first] == 1; a++)
        if (reduced >> a & 1) first = a;
    return first;
}

/* For floats, whose sums depend on the order: each rank computes nodes of the sum's tree. Its rows
 * must be whole leaves, and rows of the first reduced axis, so that they are adjacent in the sum's
 * order; else they are moved. If that moves more than the nodes are worth, or there are too few
 * leaves, a kept axis is split. */
static void reduce_nodes(Rule *r, unsigned reduced, int64_t leaf, int axis, int64_t block) {
    const TensorType *x = &r->in[0], *o = &r->out[0];
    int first = first_of(reduced, x), kept = -1;
    bool is_wanted = rule_is_wanted(r, o), has_best = false;
    int64_t inner = 1, results = type_numel(o);
    for (int a = 0; a < x->rank; a++) {
        bool goes = reduced >> a & 1;
        if (a > first && goes) inner *= x->shape[a];
        if (goes || x->shape[a] < r->n) continue;
        bool is_best = is_wanted && kept_axis(r, reduced, a) == r->want_axis;
        if (is_best || (!has_best && (kept < 0 || x->shape[a] > x->shape[kept]))) kept = a;
        has_best |= is_best;
    }
    int64_t extent = inner * x->shape[first], rows = rule_rows(leaf, inner);
    bool stays = axis == first && block % rows == 0;
    if (!stays) block = (x->shape[first] + r->n - 1) / r->n;
    block = (block + rows - 1) / rows * rows;
    Layout terms = nodes_layout(r->inst->op, leaf, block * inner, extent);
    int64_t nodes = layout_is_stacked(&terms) ? nodes_of(&terms, 0, NULL) : 1;
    int64_t by_nodes = (nodes - 1) * results + rule_received(r, 0, first, block);
    bool fits = kept < 0 ? extent > 0
                         : rule_has_leaves(r, leaf, extent) && by_nodes <= type_numel(x) / r->n;
    if (fits && o->rank < MAX_DIMS) {
        r->need[0] = rule_split(first, block);
        r->give[0] = terms;
    } else if (kept >= 0) {
        reduce_split(r, reduced, kept, layout_split(x, kept, r->n).block);
    } else {
        rule_whole(r);
    }
}

static void reduce_along(Rule *r, unsigned reduced, int axis, int64_t block) {
    int64_t leaf = nodes_leaf(r->inst, &r->in[0]);
    if (leaf && reduced >> axis & 1)
        reduce_nodes(r, reduced, leaf, axis, block);
    else
        reduce_split(r, reduced, axis, block);
}

void rule_reduce(Rule *r) {
    const TensorType *x = &r->in[0];
    unsigned reduced = nodes_reduced(r->inst, x->rank);
    if (rule_is_split(r, 0)) {
        reduce_along(r, reduced, r->have[0].axis, r->have[0].block);
    } else if (rule_is_wanted(r, &r->out[0])) {
        int a = 0;
        while (reduced >> a & 1 || kept_axis(r, reduced, a) != r->want_axis) a++;
        reduce_split(r, reduced, a, layout_split(x, a, r->n).block);
    } else if (rule_is_wanted(r, x)) { /* the axis is reduced: then its terms are spread */
        reduce_along(r, reduced, r->want_axis, layout_split(x, r->want_axis, r->n).block);
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

/* Views of whole tensors are whole. Views of terms are terms, unless the view has more elements, or
 * the terms several nodes. Views of extremes are seldom read as such, so they are whole. */
static bool view_of_unsplit(Rule *r) {
    Layout l = r->have[0];
    bool keeps = l.kind == LAYOUT_PARTIAL && l.op == OP_SUM && r->inst->op != OP_EXPAND &&
                 !layout_is_stacked(&l);
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
