/* product.cu: matrix products, tile by tile, with the bits of the engine cpu. Where there are few
 * tiles, a block computes a chunk of K for one, and `finish` adds the chunks.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/product_args.h"

/* Stores the thread's sums: as results, or as those of a chunk. */
__device__ __forceinline__ void store_tile(const ProductArgs *P, int64_t matrix, int64_t chunk,
                                           int64_t m0, int64_t n0, const Sums &s) {
    enum { W = sizeof(RESULT) == 8 ? 2 : 4 };
    const int64_t n = n0 + threadIdx.x % (TILE / EACH) * EACH,
                  m = m0 + threadIdx.x / (TILE / EACH) * EACH;
    ACC *part = (ACC *)P->parts + (chunk * P->batch + matrix) * P->M * P->N;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        if (m + i >= P->M) break;
        if (P->chunks == 1 && P->is_wide && n + EACH <= P->N) {
            RESULT *to = (RESULT *)P->out + matrix * P->out_batch + (m + i) * P->out_m + n;
#pragma unroll
            for (int j = 0; j < EACH; j += W) {
                Wide<RESULT, W> w;
#pragma unroll
                for (int k = 0; k < W; k++) w.at[k] = RESULT_OF(to[j + k], s.at[i][j + k]);
                wide_store<RESULT, W>((char *)(to + j), 0, w);
            }
            continue;
        }
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            if (n + j >= P->N) break;
            if (P->chunks == 1)
                store(P, matrix, m + i, n + j, s.at[i][j]);
            else
                part[(m + i) * P->N + n + j] = s.at[i][j];
        }
    }
}

extern "C" __global__ void __launch_bounds__(TILE_THREADS, 4)
    FUSED(run)(const __grid_constant__ ProductArgs args) {
    const ProductArgs *const P = &args;
    const int64_t down = (P->M + TILE - 1) / TILE, across = (P->N + TILE - 1) / TILE;
    const int64_t units = P->batch * P->chunks * down * across;
    ACC *waits = (ACC *)P->waits + blockIdx.x * P->levels * (int64_t)(TILE * TILE);
    for (int64_t unit = blockIdx.x; unit < units; unit += gridDim.x) {
        const int64_t m0 = unit / across % down * TILE, n0 = unit % across * TILE;
        const int64_t chunk = unit / (across * down) % P->chunks,
                      matrix = unit / (across * down) / P->chunks;
        const int64_t first = chunk * P->chunk * LEAF_K;
        const T *a, *b;
        find_matrix(P, matrix, &a, &b);
        Strided left = {a + m0 * P->a_m + first * P->a_k, P->a_m, P->a_k, at_most_tile(P->M - m0),
                        P->read_a},
                right = {b + n0 * P->b_n + first * P->b_k, P->b_n, P->b_k, at_most_tile(P->N - n0),
                         P->read_b};
        Sums s;
        tile_sum(left, right, (int)(chunk == P->chunks - 1 ? P->K - first : P->chunk * LEAF_K),
                 waits, s);
        store_tile(P, matrix, chunk, m0, n0, s);
    }
}
