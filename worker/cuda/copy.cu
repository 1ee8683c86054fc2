/* copy.cu: copies elements between views. T: an unsigned type of an element's size.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/copy.h"

extern "C" __global__ void __launch_bounds__(256)
    FUSED(run)(const __grid_constant__ CopyArgs args) {
    const CopyArgs *const A = &args;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (int64_t i = first; i < A->n; i += threads) {
        int64_t rest = i + A->begin, to = 0, from = 0;
        for (int64_t d = A->rank - 1; d >= 0; d--) {
            const int64_t all = rest / A->shape[d], j = rest - all * A->shape[d];
            to += j * A->to_stride[d], from += j * A->from_stride[d];
            rest = all;
        }
        ((T *)A->to)[to] = ((const T *)A->from)[from];
    }
}
