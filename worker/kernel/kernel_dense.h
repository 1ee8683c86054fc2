/* kernel_dense.h: hand-written kernels: matrix products of whole numbers. Only build/gen/kernels.c
 * includes it, so that they are compiled for each instruction set like the rest.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_KERNEL_DENSE_H
#define GT_WORKER_KERNEL_KERNEL_DENSE_H
#include "worker/kernel/kernel_loops.h"
#include "worker/kernel/kernel_product.h"

/* ---- Matrix product of one tile: C (M,N) = A (M,K) @ B (K,N), any strides ---- */

enum {
    GEMM_ROWS = VECTOR_BYTES == 64 ? 8 : 4, /* of a tile, which is two vectors wide */
    DEPTH = 256,                            /* k's per packing, so that panels stay in the caches */
};

/* S: the stored type; T: the type of the arithmetic (unsigned for ints, which wrap). side: memory
 * for packing, DEPTH * (GEMM_M + GEMM_N) and GEMM_M * GEMM_N values of T. */
#define GEMM(NAME, S, T)                                                                           \
    typedef T NAME##_vector __attribute__((vector_size(VECTOR_BYTES)));                            \
    enum { NAME##_V = VECTOR_BYTES / sizeof(T), NAME##_N = 2 * NAME##_V };                         \
    /* acc (GEMM_ROWS, 2 vectors) += a (depth, GEMM_ROWS) @ b (depth, 2 vectors), at c. */         \
    static inline void NAME##_tile(int64_t depth, const T *a, const T *b, T *c) {                  \
        NAME##_vector acc[GEMM_ROWS][2];                                                           \
        _Pragma("GCC unroll 8") for (int i = 0; i < GEMM_ROWS; i++)                                \
            __builtin_memcpy(acc[i], c + i * GEMM_N, sizeof acc[i]);                               \
        for (int64_t k = 0; k < depth; k++) {                                                      \
            NAME##_vector v[2];                                                                    \
            __builtin_memcpy(v, b + k * NAME##_N, sizeof v);                                       \
            _Pragma("GCC unroll 8") for (int i = 0; i < GEMM_ROWS; i++) {                          \
                T s = a[k * GEMM_ROWS + i];                                                        \
                acc[i][0] = acc[i][0] + v[0] * s;                                                  \
                acc[i][1] = acc[i][1] + v[1] * s;                                                  \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 8") for (int i = 0; i < GEMM_ROWS; i++)                                \
            __builtin_memcpy(c + i * GEMM_N, acc[i], sizeof acc[i]);                               \
    }                                                                                              \
    static void NAME(int64_t M, int64_t N, int64_t K, const void *a_, int64_t a_m, int64_t a_k,    \
                     const void *b_, int64_t b_k, int64_t b_n, void *out_, int64_t out_m,          \
                     void *side, const GemmNext *next) {                                           \
        (void)next;                                                                                \
        const S *a = a_, *b = b_;                                                                  \
        S *out = out_;                                                                             \
        T *c = side, *pa = c + GEMM_M * GEMM_N, *pb = pa + DEPTH * GEMM_M;                         \
        int64_t down = (M + GEMM_ROWS - 1) / GEMM_ROWS * GEMM_ROWS;                                \
        for (int64_t i = 0; i < down; i++)                                                         \
            __builtin_memset(c + i * GEMM_N, 0,                                                    \
                             sizeof(T) * (size_t)((N + NAME##_N - 1) / NAME##_N * NAME##_N));      \
        for (int64_t k0 = 0; k0 < K; k0 += DEPTH) {                                                \
            int64_t depth = K - k0 < DEPTH ? K - k0 : DEPTH;                                       \
            for (int64_t i = 0; i < M; i += GEMM_ROWS)                                             \
                for (int64_t k = 0; k < depth; k++)                                                \
                    for (int64_t l = 0; l < GEMM_ROWS; l++)                                        \
                        pa[i * depth + k * GEMM_ROWS + l] =                                        \
                            i + l < M ? (T)a[(i + l) * a_m + (k0 + k) * a_k] : 0;                  \
            for (int64_t j = 0; j < N; j += NAME##_N) {                                            \
                int64_t width = N - j < NAME##_N ? N - j : NAME##_N;                               \
                for (int64_t k = 0; k < depth; k++) {                                              \
                    T *row = pb + j * depth + k * NAME##_N;                                        \
                    const S *from = b + (k0 + k) * b_k + j * b_n;                                  \
                    for (int64_t l = 0; l < width; l++) row[l] = (T)from[l * b_n];                 \
                    for (int64_t l = width; l < NAME##_N; l++) row[l] = 0;                         \
                }                                                                                  \
            }                                                                                      \
            for (int64_t j = 0; j < N; j += NAME##_N)                                              \
                for (int64_t i = 0; i < M; i += GEMM_ROWS)                                         \
                    NAME##_tile(depth, pa + i * depth, pb + j * depth, c + i * GEMM_N + j);        \
        }                                                                                          \
        for (int64_t i = 0; i < M; i++)                                                            \
            for (int64_t j = 0; j < N; j++) out[i * out_m + j] = (S)c[i * GEMM_N + j];             \
    }
GEMM(gemm_u8, uint8_t, uint32_t)
GEMM(gemm_i8, int8_t, uint32_t)
GEMM(gemm_i32, int32_t, uint32_t)
GEMM(gemm_i64, int64_t, uint64_t)

/* ---- Outer product ---- */

#define RANK1(NAME, T)                                                                             \
    static void NAME(int64_t m, int64_t n, void *c_, int64_t c_m, const void *a_, int64_t a_m,     \
                     const void *b_) {                                                             \
        T *restrict c = c_;                                                                        \
        const T *a = a_, *restrict b = b_;                                                         \
        for (int64_t i = 0; i < m; i++)                                                            \
            for (int64_t j = 0; j < n; j++) c[i * c_m + j] -= a[i * a_m] * b[j];                   \
    }
RANK1(rank1_f32, float)
RANK1(rank1_f64, double)

#define KERNELS_WRITTEN                                                                            \
    .gemm = {[DT_U8] = gemm_u8,   [DT_I8] = gemm_i8,   [DT_I32] = gemm_i32,                        \
             [DT_I64] = gemm_i64, [DT_F32] = gemm_f32, [DT_F64] = gemm_f64},                       \
    .rank1 = {[DT_F32] = rank1_f32, [DT_F64] = rank1_f64},
#endif
