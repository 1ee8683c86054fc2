/* blocked.h: the arguments of blocked.cu, which includes this text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_BLOCKED_H
#define GT_WORKER_CUDA_BLOCKED_H
#include "worker/cuda/index_record.h"

enum { BLOCKED_AXES = 8 };
/* What `run` of blocked.cu does: STEP is one of these. */
enum {
    STEP_CHOLESKY = 1, /* of the block a (n, n), n <= 32 */
    STEP_CLEAR,        /* the upper triangle of a (n, n) becomes 0 */
    STEP_SOLVE,        /* a (n, k) := T^-1 a, n <= 32 */
    STEP_ELIMINATE,    /* columns first .. first + n - 1 of a (order, order), n <= 16 */
    STEP_COUNT,        /* perm (n) of LU := 0 .. n - 1 */
    STEP_CHECK,        /* notes zeros on the diagonal of t, and a perm that is none */
    STEP_PERMUTE       /* a (n, k) := rows of b in another order */
};
/* Strides in elements. In a batch of `count` matrices those of a and b lie a_batch apart; those of
 * t and perm follow the batch's shape. */
typedef struct BlockedArgs {
    char *a;
    const char *b, *t, *perm;
    int64_t *order_out; /* of LU: (count, order) */
    uint32_t *seen;     /* (count, n), zeros */
    IndexRecord *record;
    int64_t count, rank, shape[BLOCKED_AXES], t_batch[BLOCKED_AXES], perm_batch[BLOCKED_AXES];
    int64_t a_batch, a_row, a_col, t_row, t_col, perm_step;
    int64_t n, k, first, order;
    int32_t upper, unit, scatter;
} BlockedArgs;
#endif
