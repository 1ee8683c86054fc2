/* window.h: the sliding window of convolutions and poolings: kernel, stride, padding and
 * dilation of 1 to 3 spatial axes, the last ones of a tensor. Kernels always see three (missing
 * leading ones have one element), so they handle one case. The shape rules (shape_conv.c) have
 * checked the attributes read here.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INFER_WINDOW_H
#define GT_RUNTIME_INFER_WINDOW_H
#include "runtime/inst/inst.h"

enum { WINDOW_AXES = 3 };

/* Element k of window o along an axis is in[o * stride - padding + k * dilation], if that is
 * inside. */
typedef struct Window {
    int n; /* number of axes, without the missing leading ones */
    int64_t in[WINDOW_AXES], out[WINDOW_AXES], kernel[WINDOW_AXES];
    int64_t stride[WINDOW_AXES], padding[WINDOW_AXES], dilation[WINDOW_AXES];
} Window;

/* The number of windows that fit on an axis; 0 or less: none. ceil: the last may be cut off if
 * it begins inside. Exact for all arguments below 2^60. */
int64_t window_count(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                     bool ceil);

static inline int64_t window_volume(const int64_t v[WINDOW_AXES]) { return v[0] * v[1] * v[2]; }

/* ---- Convolution: x (N, C, in...) with w (O, C / groups, kernel...) gives (N, O, out...) ---- */

typedef struct ConvShape {
    int64_t N, C, O, groups;
    Window window;
} ConvShape;
/* A weight gradient is a sum over images, in a tree like that of runtime/base/tree.h. Returns the
 * number of images in a leaf: so many that adding two gradients takes little time beside computing
 * them. */
static inline int64_t conv_leaf(int64_t out_volume) {
    enum { MOST = 32, RESULTS = 4096 };
    int64_t n = 1;
    while (n < MOST && n * out_volume < RESULTS) n *= 2;
    return n;
}
/* For an instruction that inst_infer has accepted; so is pool_shape. */
void conv_shape(ConvShape *c, const Inst *inst, const TensorType *x, const TensorType *w,
                const TensorType *y);

/* ---- Pooling over planes ---- */

typedef struct PoolShape {
    int64_t planes; /* product of the leading axes */
    Window window;
    bool count_pad;
    int64_t divisor; /* 0: none */
} PoolShape;
void pool_shape(PoolShape *p, const Inst *inst, const TensorType *x, const TensorType *y);
/* The divisor of the average of window o. */
double pool_divisor(const PoolShape *p, const int64_t o[WINDOW_AXES]);
/* Element k of a window is inside if first <= k < last. */
static inline void window_inside(const Window *w, int axis, int64_t o, int64_t *first,
                                 int64_t *last) {
    int64_t start = o * w->stride[axis] - w->padding[axis], d = w->dilation[axis];
    int64_t end = w->in[axis] - start; /* below this distance */
    *first = start >= 0 ? 0 : (-start + d - 1) / d;
    *last = end <= 0 ? 0 : (end + d - 1) / d;
    if (*last > w->kernel[axis]) *last = w->kernel[axis];
    if (*first > *last) *first = *last;
}
#endif
