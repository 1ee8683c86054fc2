/* source.h: the arguments of source.cu, which includes this text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_SOURCE_H
#define GT_WORKER_CUDA_SOURCE_H
#include <stdint.h>

/* Element i of the part is element (i / row * rows + begin) * inner + i % row of the whole. */
typedef struct SourceArgs {
    char *out;
    int64_t n, row, rows, begin, inner;
    uint64_t seed, counter;
    int64_t low, high;  /* randint; arange of ints: start and step */
    double start, step; /* arange of floats */
} SourceArgs;
#endif
