/* copy_args.h: the arguments of copy.cu, which includes this text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_COPY_ARGS_H
#define GT_WORKER_CUDA_COPY_ARGS_H
#include <stdint.h>

enum { COPY_AXES = 8 };
/* Elements [begin, begin + n) in row-major order of two views of one shape; strides in elements. */
typedef struct CopyArgs {
    char *to;
    const char *from;
    int64_t begin, n, rank;
    int64_t shape[COPY_AXES], to_stride[COPY_AXES], from_stride[COPY_AXES];
    int64_t along, across; /* of `tiled`: the axes with adjacent elements, of the result and of x */
} CopyArgs;
#endif
