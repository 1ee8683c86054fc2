/* index.h: the arguments of index.cu, which includes this text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_INDEX_H
#define GT_WORKER_CUDA_INDEX_H
#include "worker/cuda/index_record.h"

enum { INDEX_AXES = 8 };
/* Element (line, turn) of the space goes through the indices to an element of x, or of the result
 * of a scatter: a line's axes come first in `shape`, then those of its turns. Strides in elements.
 * `own`, `value`: of x and of the values put. */
typedef struct IndexArgs {
    char *out;
    const char *x, *from;
    const char *idx[INDEX_AXES];
    IndexRecord *record;
    int64_t lines, turns, line_rank, rank, shape[INDEX_AXES];
    int64_t own[INDEX_AXES], value[INDEX_AXES];
    int64_t stride[INDEX_AXES][INDEX_AXES];     /* [operand][axis] */
    int64_t size[INDEX_AXES], step[INDEX_AXES]; /* of the indexed axes */
    int64_t idx_bytes, from_zero;               /* of an index; -1: an unsigned byte */
    int64_t unit, buckets; /* scatters: elements of a destination; threads that share a line */
    /* The indices' own shape, which the check walks: stride as above. */
    int64_t common_rank, common_n, common[INDEX_AXES], common_stride[INDEX_AXES][INDEX_AXES];
} IndexArgs;
#endif
