/* op_rule.h: the rules of an operation in words, from rules.def.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_OP_RULE_H
#define GT_RUNTIME_INST_OP_RULE_H
#include "runtime/inst/op.h"

/* Each returns one sentence, static; NULL if rules.def has none for the op's word. */
const char *op_shape_rule(Op op); /* shape and dtype of the result */
const char *op_grad_rule(Op op);  /* gradients of the operands     */
/* True for operations that may be computed in one loop with others. */
bool op_may_fuse(Op op);
/* Whether and how it fuses, in words that follow "yes: " or "no: "; static. */
const char *op_fuse_rule(Op op);
#endif
