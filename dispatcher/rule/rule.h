/* rule.h: which layouts an operation can work with, and which one its result then has (DESIGN 5).
 *
 * A rule is asked about one instruction whose operands lie on one group of n ranks. It chooses what
 * each operand must be laid out as (converting is the caller's), such that every rank can carry out
 * its part alone, and says how the results then lie. The rows of ops.def name their rules;
 * rule_whole computes all of it on every rank, from whole operands, which is always right. Costs
 * nothing that grows with n. It knows neither signals nor clients: a scope's wish for the result
 * comes in as `want`.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_RULE_RULE_H
#define GT_DISPATCHER_RULE_RULE_H
#include "runtime/layout/layout.h"

typedef struct Rule {
    const Inst *inst;
    const TensorType *in, *out; /* whole types; in[i] is read for tensor operands only */
    int n_out;
    int n;              /* ranks of the group                                         */
    const Layout *have; /* of the operands, in this group; read for tensors only. Of what was
                           terms and has been combined since: the combined copy            */
    int want_axis;      /* the scope would have the result split along it; -1: no wish.
                           Counts where no operand is split already, and of pointwise
                           operations where those that are do not agree                */
    Layout *need;       /* filled: n_in of them                                        */
    Layout give[MAX_OUT];
} Rule;
void rule_apply(Rule *r);

/* ---- for the files rule*.c ---- */
void rule_whole(Rule *r); /* every rank computes all of it */
/* Operands and results that have the axes of `out[0]` (right-aligned, size 1 broadcast) split
 * alike. */
void rule_aligned(Rule *r, int axis, int64_t block);
/* Each row of the axes from `first` to before `end` is by itself in all operands and results, which
 * have the other axes alike: those may be split. */
void rule_lines(Rule *r, int first, int end);
/* The operand of most elements that is split, or -1. */
int rule_largest_split(const Rule *r);
/* The scope would have a tensor of this type split, and it can be. */
static inline bool rule_is_wanted(const Rule *r, const TensorType *t) {
    return r->want_axis >= 0 && r->want_axis < t->rank && t->shape[r->want_axis] >= 2 && r->n > 1;
}
/* A rule per word of the column `rule` of ops.def; of views, for operands that are split. */
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
