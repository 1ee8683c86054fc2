/* fold.h: combines the terms of a partial tensor (runtime/layout/nodes.h), so that the bits do not
 * depend on timing, nor, if the terms are nodes, on the number of ranks.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_FOLD_H
#define GT_WORKER_EXEC_FOLD_H
#include "worker/exec/job.h"

/* out = the terms of n ranks, at[i] in the group, in ascending order, combined; box[i] is what rank
 * at[i] has of out's elements: one term, or with a stacked layout one for each of its nodes.
 * box[i] is in memory that the engine reads if is_here[i], else in the host's, and may then be
 * given back afterwards. out is row-major. Returns false if the engine failed. */
bool fold_terms(Exec *x, const Layout *l, int n, const View *box, const int *at,
                const bool *is_here, const View *out, Err *err);
#endif
