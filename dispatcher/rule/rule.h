/* rule.h: which layouts an operation can work with, and which one its result then has.
 *
 * A rule sees one instruction whose operands lie on one group of n ranks. It chooses the layout
 * that each operand needs (converting is up to the caller), such that every rank can compute its
 * part alone, and the layout of the results. The rows of ops.def name their rules. rule_whole
 * computes everything on every rank, from whole operands, which is always right. The cost does
 * not grow with n. Rules know neither signals nor clients: the split that a scope requests for the
 * result is passed as `want_axis`.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_RULE_RULE_H
#define GT_DISPATCHER_RULE_RULE_H
#include "runtime/layout/layout.h"

typedef struct Rule {
    const Inst *inst;
    const TensorType *in, *out; /* whole types; in[i] is read for tensor operands only */
    int n_out;
    int n; /* ranks of the group                                         */
    /* Layouts of the operands in this group; read for tensors only. For a partial tensor with a
     * combined copy, the layout of the copy. */
    const Layout *have;
    /* The axis along which the scope wants the result split; -1: none. Used if no operand is
     * split, and for pointwise operations if the split operands disagree. */
    int want_axis;
    Layout *need; /* written: n_in layouts */
    Layout give[MAX_OUT];
} Rule;
void rule_apply(Rule *r);

/* ---- for the files rule*.c ---- */
void rule_whole(Rule *r); /* every rank computes all of it */
/* Splits all operands and results that have the axes of `out[0]` (right-aligned, size 1
 * broadcast) alike. */
void rule_aligned(Rule *r, int axis, int64_t block);
/* For operations that compute along the axes [first, end), for each position on the other axes by
 * itself; all operands and results have these other axes. Splits along one of them. */
void rule_lines(Rule *r, int first, int end);
/* The split operand with the most elements, or -1. */
int rule_largest_split(const Rule *r);
/* Returns the fewest rows of `inner` summed elements each that are whole leaves. */
int64_t rule_rows(int64_t leaf, int64_t inner);
/* Returns the most elements that a rank receives if operand i, split or not, is split along this
 * axis in such blocks. */
int64_t rule_received(const Rule *r, int i, int axis, int64_t block);
/* True if a sum over so many elements has enough leaves for all ranks. */
bool rule_has_leaves(const Rule *r, int64_t leaf, int64_t extent);
/* True if the scope wants a tensor of this type split, and it can be. */
static inline bool rule_is_wanted(const Rule *r, const TensorType *t) {
    return r->want_axis >= 0 && r->want_axis < t->rank && t->shape[r->want_axis] >= 2 && r->n > 1;
}
/* One rule per word of the column `rule` of ops.def. Rules of views see split operands only. */
#define OP(id, name, class_, arity, in, out, shape, grad, rule, ...) void rule_##rule(Rule *r);
#include "runtime/inst/ops.def"
static inline bool rule_is_tensor(const Rule *r, int i) { return r->inst->in[i].kind == IN_TENSOR; }
static inline bool rule_is_split(const Rule *r, int i) {
    return rule_is_tensor(r, i) && r->have[i].kind == LAYOUT_SPLIT;
}
static inline Layout rule_split(int axis, int64_t block) {
    return (Layout){.kind = LAYOUT_SPLIT, .axis = (uint8_t)axis, .block = block};
}
#endif
