/* window.h: the arguments of window.cu, which includes this text: Window's fields (runtime/infer)
 * on three axes.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_WINDOW_H
#define GT_WORKER_CUDA_WINDOW_H
#include <stdint.h>

enum { SPACE_AXES = 3 };
typedef struct WindowArgs {
    const char *x;
    char *y, *place;
    int64_t n, in[SPACE_AXES], out[SPACE_AXES], kernel[SPACE_AXES];
    int64_t stride[SPACE_AXES], padding[SPACE_AXES], dilation[SPACE_AXES];
    int64_t count_pad, divisor;
} WindowArgs;
#endif
