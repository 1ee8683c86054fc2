/* window.cu: poolings: a thread for each element of the result, which goes through its window, or
 * through the windows that it is in, in the order of the engine cpu. ROW is one of the numbers
 * below, T the type of an element, LOWEST its least value.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/window.h"

/* The elements of window o that are inside on an axis: first <= k < last. */
PRO_FN void inside(const WindowArgs *A, int axis, int64_t o, int *first, int *last) {
    const int64_t start = o * A->stride[axis] - A->padding[axis], d = A->dilation[axis];
    const int64_t end = A->in[axis] - start, most = A->kernel[axis];
    const int64_t low = start >= 0 ? 0 : (-start + d - 1) / d,
                  high = end <= 0 ? 0 : (end + d - 1) / d;
    *last = (int)(high < most ? high : most);
    *first = low < *last ? (int)low : *last;
}
PRO_FN double extent(const WindowArgs *A, int axis, int64_t o) {
    int64_t start = o * A->stride[axis] - A->padding[axis], end = start + A->kernel[axis];
    const int64_t most = A->in[axis] + (A->count_pad ? A->padding[axis] : 0);
    if (!A->count_pad && start < 0) start = 0;
    return (double)((end > most ? most : end) - start);
}
PRO_FN double divisor(const WindowArgs *A, int64_t i, int64_t j, int64_t k) {
    return A->divisor ? (double)A->divisor : extent(A, 0, i) * extent(A, 1, j) * extent(A, 2, k);
}
/* As the engine cpu has it: the share of the last axis by itself. */
PRO_FN T share(const WindowArgs *A, T sum, int64_t i, int64_t j, int64_t k) {
    const double others = divisor(A, i, j, 0) / divisor(A, 0, 0, 0);
    return sum / (T)(others * divisor(A, 0, 0, k));
}

#define EACH(N)                                                                                    \
    const WindowArgs *const A = &args;                                                             \
    const int64_t threads_ = (int64_t)gridDim.x * blockDim.x;                                      \
    for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < (N); e += threads_)

#if ROW < 3 /* 1: the largest; 2: the mean */
extern "C" __global__ void __launch_bounds__(256, HALF_BLOCKS)
    FUSED(run)(const __grid_constant__ WindowArgs args) {
    EACH(A->n) {
        const int64_t o2 = e % A->out[2], o1 = e / A->out[2] % A->out[1];
        const int64_t o0 = e / A->out[2] / A->out[1] % A->out[0];
        const T *x = (const T *)A->x +
                     e / A->out[2] / A->out[1] / A->out[0] * A->in[0] * A->in[1] * A->in[2];
        int first[3], last[3];
        int64_t where = 0;
        bool is_first = true;
        T best = ROW == 1 ? (T)LOWEST : (T)0;
        inside(A, 0, o0, &first[0], &last[0]);
        inside(A, 1, o1, &first[1], &last[1]);
        inside(A, 2, o2, &first[2], &last[2]);
        for (int a = first[0]; a < last[0]; a++)
            for (int b = first[1]; b < last[1]; b++)
                for (int k = first[2]; k < last[2]; k++) {
                    const int64_t i0 = o0 * A->stride[0] - A->padding[0] + a * A->dilation[0];
                    const int64_t i1 = o1 * A->stride[1] - A->padding[1] + b * A->dilation[1];
                    const int64_t i2 = o2 * A->stride[2] - A->padding[2] + k * A->dilation[2];
                    const int64_t at = (i0 * A->in[1] + i1) * A->in[2] + i2;
                    const T v = x[at];
                    if (ROW == 2) {
                        best += v;
                        continue;
                    }
                    if (is_first || v > best || v != v) where = at;
                    if (v > best || v != v) best = v;
                    is_first = false;
                }
#if ROW == 1
        ((int64_t *)A->place)[e] = where;
#else
        best = share(A, best, o0, o1, o2);
#endif
        ((T *)A->y)[e] = best;
    }
}
#endif

#if ROW == 3 /* the mean's gradient */
/* Window o of an axis has element i as number k, if this returns true. */
PRO_FN bool has(const WindowArgs *A, int axis, int64_t i, int64_t o, int64_t *k) {
    const int64_t at = i + A->padding[axis] - o * A->stride[axis];
    *k = at / A->dilation[axis];
    return at >= 0 && at % A->dilation[axis] == 0 && *k < A->kernel[axis];
}
extern "C" __global__ void __launch_bounds__(256, HALF_BLOCKS)
    FUSED(run)(const __grid_constant__ WindowArgs args) {
    EACH(A->n) {
        const int64_t i2 = e % A->in[2], i1 = e / A->in[2] % A->in[1];
        const int64_t i0 = e / A->in[2] / A->in[1] % A->in[0];
        const T *dy = (const T *)A->x +
                      e / A->in[2] / A->in[1] / A->in[0] * A->out[0] * A->out[1] * A->out[2];
        int64_t k;
        T sum = 0;
        for (int64_t o0 = 0; o0 < A->out[0]; o0++)
            for (int64_t o1 = 0; has(A, 0, i0, o0, &k) && o1 < A->out[1]; o1++)
                for (int64_t o2 = A->out[2] - 1; has(A, 1, i1, o1, &k) && o2 >= 0; o2--)
                    if (has(A, 2, i2, o2, &k))
                        sum += share(A, dy[(o0 * A->out[1] + o1) * A->out[2] + o2], o0, o1, o2);
        ((T *)A->y)[e] = sum;
    }
}
#endif
