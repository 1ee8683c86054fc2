/* kernel_dense.h: hand-written kernels: matrix products of whole numbers and random numbers. Only
 * build/gen/kernels.c includes it, so that they are compiled for each instruction set like the
 * rest.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_KERNEL_DENSE_H
#define GT_WORKER_KERNEL_KERNEL_DENSE_H
#include "runtime/base/rng.h"
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
                     void *side) {                                                                 \
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

/* ---- Random numbers ---- */

/* Computes 16 blocks at a time, so that the rounds are vector operations. The same words as
 * philox(). */
static void random_words(uint64_t seed, uint64_t counter, uint64_t block, int64_t n_blocks,
                         uint32_t *out) {
    enum { WAYS = 16 };
    for (int64_t begin = 0; begin < n_blocks; begin += WAYS) {
        uint32_t c[4][WAYS];
        for (int l = 0; l < WAYS; l++) {
            uint64_t b = block + (uint64_t)(begin + l);
            c[0][l] = (uint32_t)b, c[1][l] = (uint32_t)(b >> 32);
            c[2][l] = (uint32_t)counter, c[3][l] = (uint32_t)(counter >> 32);
        }
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
        for (int round = 0; round < 10; round++) {
            _Pragma("GCC unroll 1") for (int l = 0; l < WAYS; l++) {
                uint64_t p0 = (uint64_t)0xD2511F53u * c[0][l], p1 = (uint64_t)0xCD9E8D57u * c[2][l];
                c[0][l] = (uint32_t)(p1 >> 32) ^ c[1][l] ^ k0;
                c[2][l] = (uint32_t)(p0 >> 32) ^ c[3][l] ^ k1;
                c[1][l] = (uint32_t)p1, c[3][l] = (uint32_t)p0;
            }
            k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
        }
        int64_t n = n_blocks - begin < WAYS ? n_blocks - begin : WAYS;
        for (int64_t l = 0; l < n; l++)
            for (int w = 0; w < 4; w++) out[(begin + l) * 4 + w] = c[w][l];
    }
}
static void random_uniform(int64_t n, const uint32_t *word, float *out) {
    for (int64_t i = 0; i < n; i++) out[i] = rng_float(word[i]);
}
/* Box-Muller: each pair of uniform numbers u, v gives two normal ones: sqrt(-2 log(1 - u)) times
 * the cosine and the sine of v turns. v in quarter turns is exact. */
static void random_normal(int64_t pairs, const uint32_t *word, float *out) {
    enum { WAYS = 16 };
    for (int64_t begin = 0; begin < pairs; begin += WAYS) {
        int64_t n = pairs - begin < WAYS ? pairs - begin : WAYS;
        uint32_t w[2][WAYS] = {{0}};
        float x[WAYS], y[WAYS];
        for (int64_t l = 0; l < n; l++)
            w[0][l] = word[2 * (begin + l)], w[1][l] = word[2 * (begin + l) + 1];
        for (int l = 0; l < WAYS; l++) {
            float u = rng_float(w[0][l]), v = rng_float(w[1][l]);
            float r = f32_sqrt(-2 * f32_log(1 - u));
            double turn = 4 * (double)v, whole = turn + 0x1.8p52;
            int32_t q = (int32_t)(f64_bits(whole) & 3);
            double f = turn - (whole - 0x1.8p52);
            x[l] = r * f32_quarter(f, q + 1);
            y[l] = r * f32_quarter(f, q);
        }
        float *to = out + 2 * begin;
        for (int64_t l = 0; l < n; l++) to[2 * l] = x[l], to[2 * l + 1] = y[l];
    }
}

#define KERNELS_WRITTEN                                                                            \
    .gemm = {[DT_U8] = gemm_u8,   [DT_I8] = gemm_i8,   [DT_I32] = gemm_i32,                        \
             [DT_I64] = gemm_i64, [DT_F32] = gemm_f32, [DT_F64] = gemm_f64},                       \
    .rank1 = {[DT_F32] = rank1_f32, [DT_F64] = rank1_f64}, .random_words = random_words,           \
    .random_uniform = random_uniform, .random_normal = random_normal,
#endif
