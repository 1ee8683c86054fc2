/* product_args.h: the arguments of product.cu, which includes this text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_PRODUCT_ARGS_H
#define GT_WORKER_CUDA_PRODUCT_ARGS_H
#include "worker/cuda/tile.h"
#include <stdint.h>

enum { PRODUCT_AXES = 8 };
/* out (batch, M, N) = a (batch, M, K) @ b (batch, K, N); strides in elements. The leaves of K are
 * cut into `chunks` parts of `chunk` leaves, a power of two; if there are several, each one's sum
 * goes to parts (chunk, batch, M, N), and the kernel `finish` adds them. */
struct ProductArgs {
    const char *a, *b;
    char *out;
    int64_t M, N, K, a_m, a_k, b_k, b_n, out_m, out_n, out_batch;
    int64_t batch, rank, shape[PRODUCT_AXES], a_batch[PRODUCT_AXES], b_batch[PRODUCT_AXES];
    int64_t chunk, chunks;
    char *parts;
    char *waits; /* see tile.h; `levels` areas for each thread block */
    int64_t levels;
    int32_t read_a, read_b, is_wide; /* is_wide: four results are stored at a time */
};
typedef struct ProductArgs ProductArgs;

/* For product.cu and thin.cu. RESULT is an element of the result, and OUT(x) makes one of a sum;
 * with SUBTRACTS (of floats that are no halves) the product is subtracted from the result; tile.h
 * says what else a dtype defines. */
#ifdef __CUDACC__
/* What element `was` of the result becomes. */
#if SUBTRACTS
#define RESULT_OF(was, sum) ((was) - (RESULT)ADD(sum, (ACC)0))
#else
#define RESULT_OF(was, sum) OUT(ADD(sum, (ACC)0))
#endif

/* Sets a and b to the operands of a matrix of the batch. */
__device__ __forceinline__ void find_matrix(const ProductArgs *P, int64_t matrix, const T **a,
                                            const T **b) {
    *a = (const T *)P->a, *b = (const T *)P->b;
    for (int64_t d = P->rank - 1; d >= 0; d--) {
        const int64_t all = matrix / P->shape[d], j = matrix - all * P->shape[d];
        *a += j * P->a_batch[d], *b += j * P->b_batch[d];
        matrix = all;
    }
}

/* Element (m, n) of a matrix of the batch gets the sum x. */
__device__ __forceinline__ void store(const ProductArgs *P, int64_t matrix, int64_t m, int64_t n,
                                      ACC x) {
    RESULT *const to = (RESULT *)P->out + matrix * P->out_batch + m * P->out_m + n * P->out_n;
    *to = RESULT_OF(*to, x);
}

/* Adds the sums of chunks, in the order of the tree above them: warp y of a block adds every 8th
 * pair of the sums of 32 elements. */
extern "C" __global__ void __launch_bounds__(256)
    FUSED(finish)(const __grid_constant__ ProductArgs args) {
    const ProductArgs *const P = &args;
    enum { ELEMENTS = 32, WARPS = 8 };
    const int64_t n = P->batch * P->M * P->N;
    const int x = threadIdx.x % ELEMENTS, y = threadIdx.x / ELEMENTS;
    for (int64_t e0 = (int64_t)blockIdx.x * ELEMENTS; e0 < n; e0 += (int64_t)gridDim.x * ELEMENTS) {
        const int64_t e = e0 + x;
        ACC *sum = (ACC *)P->parts + e;
        for (int64_t s = 1; s < P->chunks; s *= 2) {
            for (int64_t b = y * 2 * s; e < n && b + s < P->chunks; b += WARPS * 2 * s)
                sum[b * n] = ADD(sum[b * n], sum[(b + s) * n]);
            __syncthreads();
        }
        if (y == 0 && e < n) store(P, e / (P->M * P->N), e / P->N % P->M, e % P->N, sum[0]);
    }
}
#endif
#endif
