/* product.cu: matrix products in the order of runtime/base/tree.h, so that they have the bits of
 * the engine cpu. T is an element, A its accumulator; OUT(x) makes an element of a sum, IN(x) an
 * accumulator of an element, STEP(x, y, z) is x * y + z, and ADD(x, y) a sum.
 *
 * A block computes TILE x TILE results, one for each thread, leaf by leaf: it reads the leaf's
 * columns of a and rows of b into shared memory. Sums that wait for their right half are kept by
 * level, as in a binary counter.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/product.h"

enum { TILE = 16, LEAF_K = 64, LEVELS = 40 };

extern "C" __global__ void __launch_bounds__(256)
    FUSED(run)(const __grid_constant__ ProductArgs args) {
    const ProductArgs *const P = &args;
    __shared__ ACC left[TILE][LEAF_K + 1], right[LEAF_K][TILE];
    const int x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    const int64_t down = (P->M + TILE - 1) / TILE, across = (P->N + TILE - 1) / TILE;
    const int64_t leaves = (P->K + LEAF_K - 1) / LEAF_K;
    for (int64_t unit = blockIdx.x; unit < P->batch * down * across; unit += gridDim.x) {
        int64_t rest = unit / (down * across);
        const int64_t matrix = rest, m0 = unit / across % down * TILE, n0 = unit % across * TILE;
        const T *a = (const T *)P->a, *b = (const T *)P->b;
        for (int64_t d = P->rank - 1; d >= 0; d--) {
            const int64_t all = rest / P->shape[d], j = rest - all * P->shape[d];
            a += j * P->a_batch[d], b += j * P->b_batch[d];
            rest = all;
        }
        ACC waits[LEVELS], sum = 0;
        for (int64_t leaf = 0; leaf < leaves; leaf++) {
            const int64_t k0 = leaf * LEAF_K;
            const int n = P->K - k0 < LEAF_K ? (int)(P->K - k0) : LEAF_K;
            __syncthreads();
            for (int i = threadIdx.x; i < TILE * LEAF_K; i += blockDim.x) {
                /* Threads side by side read elements that are. */
                const int r = P->a_k == 1 ? i / LEAF_K : i % TILE,
                          k = P->a_k == 1 ? i % LEAF_K : i / TILE;
                if (m0 + r < P->M && k < n)
                    left[r][k] = IN(a[(m0 + r) * P->a_m + (k0 + k) * P->a_k]);
                const int c = P->b_n == 1 ? i % TILE : i / LEAF_K,
                          l = P->b_n == 1 ? i / TILE : i % LEAF_K;
                if (n0 + c < P->N && l < n)
                    right[l][c] = IN(b[(k0 + l) * P->b_k + (n0 + c) * P->b_n]);
            }
            __syncthreads();
            if (m0 + y >= P->M || n0 + x >= P->N) continue;
            ACC s = 0;
            for (int k = 0; k < n; k++) s = STEP(left[y][k], right[k][x], s);
            /* Of the last leaf all sums that wait are on the left. */
            int level = 0;
            for (; leaf < leaves - 1 ? leaf >> level & 1 : leaf >> level > 0; level++)
                if (leaf >> level & 1) s = ADD(waits[level], s);
            waits[level] = s;
            sum = s;
        }
        if (m0 + y < P->M && n0 + x < P->N)
            ((RESULT *)P->out)[(matrix * P->M + m0 + y) * P->N + n0 + x] = OUT(ADD(sum, (ACC)0));
    }
}
