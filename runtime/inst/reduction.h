/* reduction.h: what the columns `init` and `pair` of a REDUCE row say.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_REDUCTION_H
#define GT_RUNTIME_INST_REDUCTION_H
#include "runtime/inst/op.h"

/* Returns the MAP row that combines two results of a REDUCE row. */
Op op_pair(Op reduce);
/* The element that changes no result of a REDUCE row: of floats, and of whole numbers of dtype d
 * (the smallest or largest that d has, for an extreme). */
double op_neutral(Op reduce);
int64_t op_neutral_int(Op reduce, DType d);
#endif
