/* thin.cu: products of up to THIN rows with a matrix, with the bits of the engine cpu. A warp adds
 * a leaf of K for COLUMNS columns, a block WARPS leaves at a time, up to the leaves of its chunk:
 * then it adds their sums. `finish` adds the chunks. All memory is read once.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/product_args.h"

enum {
    THIN = 16 / sizeof(ACC), /* as in product.c */
    COLUMNS = 32,
    WARPS = 8,
    STRETCH = 64 / sizeof(ACC), /* elements of K of a column that are in shared memory at a time */
    APART = STRETCH + PACK
};
struct Thin {
    ACC at[THIN];
};

/* Adds `deep` products to each sum: x has the rows' elements, LEAF_K apart; of the column, element
 * k is b[k * step]. */
__device__ __forceinline__ void add_products(const ACC *x, const T *b, int64_t step, int deep,
                                             Thin &s) {
#pragma unroll 8
    for (int k = 0; k < deep; k++) {
        const ACC y = IN(b[k * step]);
#pragma unroll
        for (int r = 0; r < THIN; r++) s.at[r] = STEP(x[r * LEAF_K + k], y, s.at[r]);
    }
}

/* The same for columns whose elements along K lie nearer than columns: the warp brings STRETCH
 * elements of each column into shared memory, 16 bytes at a time if they are aligned. */
template <int W>
__device__ __forceinline__ void add_columns(const ACC *x, const T *b, int64_t apart, int64_t step,
                                            int columns, int deep, ACC *room, Thin &s) {
    enum { ACROSS = STRETCH / W, ITEMS = COLUMNS * ACROSS };
    const int lane = threadIdx.x % COLUMNS;
    for (int k0 = 0; k0 < deep; k0 += STRETCH) {
        __syncwarp();
#pragma unroll(ITEMS <= COLUMNS ? 1 : 2)
        for (int i = lane; i < ITEMS; i += COLUMNS) {
            const int c = i / ACROSS, k = i % ACROSS * W;
            const T *from = b + c * apart + (k0 + k) * step;
            const int left = c < columns ? deep - k0 - k : 0;
            const Wide<T, W> w = load_some<W>(from, left);
#pragma unroll
            for (int j = 0; j < W; j++) room[c * APART + k + j] = IN(w.at[j]);
        }
        __syncwarp();
#pragma unroll 1
        for (int k = 0; k < STRETCH; k += PACK) {
            ACC y[PACK], z[PACK];
            *(Pack *)y = *(const Pack *)(room + lane * APART + k);
#pragma unroll
            for (int r = 0; r < THIN; r++) {
                *(Pack *)z = *(const Pack *)(x + r * LEAF_K + k0 + k);
#pragma unroll
                for (int j = 0; j < PACK; j++) s.at[r] = STEP(z[j], y[j], s.at[r]);
            }
        }
    }
}

/* Returns the sum of the first n of WARPS nodes, `apart` elements from one to the next. */
__device__ __forceinline__ ACC add_nodes(const ACC *node, int apart, int n) {
    ACC t[WARPS];
#pragma unroll
    for (int i = 0; i < WARPS; i++) t[i] = i < n ? node[i * apart] : (ACC)0;
#pragma unroll
    for (int s = 1; s < WARPS; s *= 2) {
#pragma unroll
        for (int b = 0; b < WARPS; b += 2 * s)
            if (b + s < n) t[b] = ADD(t[b], t[b + s]);
    }
    return t[0];
}

extern "C" __global__ void __launch_bounds__(COLUMNS *WARPS, 4)
    FUSED(run)(const __grid_constant__ ProductArgs args) {
    const ProductArgs *const P = &args;
    __shared__ __align__(16) ACC rows[WARPS][THIN * LEAF_K], room[WARPS][COLUMNS * APART];
    __shared__ ACC leaf_sums[WARPS][THIN][COLUMNS], nodes[WARPS][THIN][COLUMNS];
    const int x = threadIdx.x % COLUMNS, y = threadIdx.x / COLUMNS;
    const int64_t across = (P->N + COLUMNS - 1) / COLUMNS, units = P->batch * P->chunks * across;
    for (int64_t unit = blockIdx.x; unit < units; unit += gridDim.x) {
        const int64_t n0 = unit % across * COLUMNS, chunk = unit / across % P->chunks,
                      matrix = unit / across / P->chunks;
        const int64_t first = chunk * P->chunk * LEAF_K;
        const int K = (int)(chunk == P->chunks - 1 ? P->K - first : P->chunk * LEAF_K),
                  columns = P->N - n0 < COLUMNS ? (int)(P->N - n0) : COLUMNS,
                  leaves = (K + LEAF_K - 1) / LEAF_K;
        const T *a, *b;
        find_matrix(P, matrix, &a, &b);
        a += (first + y * LEAF_K) * P->a_k;
        b += (first + y * LEAF_K) * P->b_k + n0 * P->b_n;
        for (int leaf = y; leaf - y < leaves; leaf += WARPS) {
            const int deep = K - leaf * LEAF_K < LEAF_K ? K - leaf * LEAF_K : LEAF_K;
            Thin s;
#pragma unroll
            for (int r = 0; r < THIN; r++) s.at[r] = 0;
            if (deep > 0) {
#pragma unroll 2
                for (int i = x; i < THIN * LEAF_K; i += COLUMNS) {
                    const int r = i / LEAF_K, k = i % LEAF_K;
                    rows[y][i] = r < P->M && k < deep ? IN(a[r * P->a_m + k * P->a_k]) : (ACC)0;
                }
                __syncwarp();
                if (P->read_b == WIDE_BY_K)
                    add_columns<VECTOR>(rows[y], b, P->b_n, 1, columns, deep, room[y], s);
                else if (P->read_b == BY_K)
                    add_columns<1>(rows[y], b, P->b_n, P->b_k, columns, deep, room[y], s);
                else if (x < columns)
                    add_products(rows[y], b + x * P->b_n, P->b_k, deep, s);
                __syncwarp();
                a += WARPS * LEAF_K * P->a_k, b += WARPS * LEAF_K * P->b_k;
            }
#pragma unroll
            for (int r = 0; r < THIN; r++) leaf_sums[y][r][x] = s.at[r];
            __syncthreads();
            if (y < THIN)
                nodes[leaf / WARPS][y][x] =
                    add_nodes(&leaf_sums[0][y][x], THIN * COLUMNS, leaves - (leaf - y));
            __syncthreads();
        }
        if (y >= P->M || y >= THIN || x >= columns) continue;
        const ACC sum = add_nodes(&nodes[0][y][x], THIN * COLUMNS, (leaves + WARPS - 1) / WARPS);
        if (P->chunks == 1)
            store(P, matrix, y, n0 + x, sum);
        else
            ((ACC *)P->parts)[((chunk * P->batch + matrix) * P->M + y) * P->N + n0 + x] = sum;
    }
}
