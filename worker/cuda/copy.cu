/* copy.cu: copies elements between views. T: an unsigned type of an element's size.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/copy_args.h"

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

/* The same of views of which one has adjacent elements along axis `across` and the other along
 * `along`: by tiles in shared memory, which are read along the one and written along the other. */
extern "C" __global__ void __launch_bounds__(256)
    FUSED(tiled)(const __grid_constant__ CopyArgs args) {
    const CopyArgs *const A = &args;
    __shared__ T tile[CUDA_TILE][CUDA_TILE + 1]; /* a column more, against bank conflicts */
    const int tx = threadIdx.x % CUDA_TILE, ty = threadIdx.x / CUDA_TILE;
    const int64_t P = A->shape[A->along], Q = A->shape[A->across];
    const int64_t wide = (P + CUDA_TILE - 1) / CUDA_TILE, high = (Q + CUDA_TILE - 1) / CUDA_TILE;
    for (int64_t unit = blockIdx.x; unit < A->n / P / Q * wide * high; unit += gridDim.x) {
        int64_t rest = unit / wide, to = 0, from = 0;
        const int64_t p0 = (unit - rest * wide) * CUDA_TILE, q0 = rest % high * CUDA_TILE;
        rest /= high;
        for (int64_t d = A->rank - 1; d >= 0; d--) {
            if (d == A->along || d == A->across) continue;
            const int64_t all = rest / A->shape[d], j = rest - all * A->shape[d];
            to += j * A->to_stride[d], from += j * A->from_stride[d];
            rest = all;
        }
#pragma unroll
        for (int k = 0; k < CUDA_TILE; k += 8) {
            const int64_t p = p0 + ty + k, q = q0 + tx;
            if (p < P && q < Q)
                tile[ty + k][tx] = ((const T *)A->from)[from + p * A->from_stride[A->along] + q];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < CUDA_TILE; k += 8) {
            const int64_t p = p0 + tx, q = q0 + ty + k;
            if (p < P && q < Q)
                ((T *)A->to)[to + q * A->to_stride[A->across] + p] = tile[tx][ty + k];
        }
        __syncthreads();
    }
}
