/* kernel_reduce.h: one block of a reduction over adjacent elements, in the order of all engines but
 * `reference`, and of all fusions: 16 lanes by index mod 16, then a binary tree over the lanes.
 * cpu_reduce.c says how blocks are combined.
 * The built-in kernels (kernel_loops.h) and those compiled at run time (kernel_fused.h) both
 * include this file; each defines REDUCE_REST, which ends a reduction, and REDUCE_ABREAST and
 * REDUCE_IN_TURN, several rows at a time.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_KERNEL_REDUCE_H
#define GT_WORKER_KERNEL_KERNEL_REDUCE_H
#include <stddef.h>
#include <stdint.h>

enum { LANES = 16 };
#define LANE _Pragma("GCC unroll 1") for (int l = 0; l < LANES; l++)
/* One level of the tree. Its width is a constant, so that half of it becomes vector code. */
#define FOLD_LANES(NAME, w)                                                                        \
    for (int l = 0; l < w; l++) lane[l] = NAME##_both(lane[l], lane[l + w]);

/* NAME_row: reduces n adjacent elements, at most a block. NAME_op: takes an accumulator and an
 * element, NAME_both: two accumulators. A lane without elements holds INIT, which changes no other
 * lane: the 0 of a sum would change only -0, and a sum that begins with 0 is never -0. */
#define REDUCE(NAME, A, R, INIT, EXPR)                                                             \
    REDUCE_OPS(NAME, A, R, EXPR)                                                                   \
    REDUCE_ROW(NAME, A, R, INIT)                                                                   \
    REDUCE_ABREAST(NAME, A, R, INIT)                                                               \
    REDUCE_REST(NAME, A, R, INIT)
#define REDUCE_OPS(NAME, A, R, EXPR)                                                               \
    static inline R NAME##_op(R a, A b) { return (R)(EXPR); }                                      \
    static inline R NAME##_both(R a, R b) { return (R)(EXPR); }
#define REDUCE_ROW(NAME, A, R, INIT)                                                               \
    static inline R NAME##_row(int64_t n, const A *x) {                                            \
        R lane[LANES];                                                                             \
        LANE lane[l] = INIT;                                                                       \
        int64_t i = 0;                                                                             \
        for (; i + LANES <= n; i += LANES) LANE lane[l] = NAME##_op(lane[l], x[i + l]);            \
        if (i < n) {                                                                               \
            A tail[LANES];                                                                         \
            LANE tail[l] = (A)(INIT);                                                              \
            __builtin_memcpy(tail, x + i, (size_t)(n - i) * sizeof(A));                            \
            LANE lane[l] = NAME##_op(lane[l], tail[l]);                                            \
        }                                                                                          \
        FOLD_LANES(NAME, 8)                                                                        \
        FOLD_LANES(NAME, 4) FOLD_LANES(NAME, 2) FOLD_LANES(NAME, 1) return lane[0];                \
    }
/* Sums and products of bytes in int64 are exact in any order, so narrower types serve where they
 * cannot overflow. A block has at most 4096 elements, so each of the 64 lanes of a sum adds at most
 * 64 of them and stays below 2^15. A product of eight bytes is below 2^64. */
#define REDUCE_SUM_BYTES(NAME, A, R, INIT, EXPR)                                                   \
    REDUCE_OPS(NAME, A, R, EXPR)                                                                   \
    static inline R NAME##_row(int64_t n, const A *x) {                                            \
        int16_t lane[64] = {0};                                                                    \
        int64_t i = 0, sum = 0;                                                                    \
        for (; i + 64 <= n; i += 64)                                                               \
            for (int l = 0; l < 64; l++) lane[l] = (int16_t)(lane[l] + x[i + l]);                  \
        for (int l = 0; l < 64; l++) sum += lane[l];                                               \
        for (; i < n; i++) sum += x[i];                                                            \
        return sum;                                                                                \
    }                                                                                              \
    REDUCE_IN_TURN(NAME, A, R)                                                                     \
    REDUCE_REST(NAME, A, R, INIT)
/* W, D and Q are integer types of 2, 4 and 8 bytes, signed if A is. */
#define REDUCE_PROD_BYTES(NAME, A, R, INIT, EXPR, W, D, Q)                                         \
    REDUCE_OPS(NAME, A, R, EXPR)                                                                   \
    static inline R NAME##_row(int64_t n, const A *x) {                                            \
        uint64_t lane[16], product = 1;                                                            \
        LANE lane[l] = 1;                                                                          \
        int64_t i = 0;                                                                             \
        for (; i + 128 <= n; i += 128) {                                                           \
            W w[64];                                                                               \
            D d[32];                                                                               \
            for (int l = 0; l < 64; l++) w[l] = (W)(x[i + l] * x[i + 64 + l]);                     \
            for (int l = 0; l < 32; l++) d[l] = (D)w[l] * (D)w[l + 32];                            \
            LANE lane[l] *= (uint64_t)((Q)d[l] * (Q)d[l + 16]);                                    \
        }                                                                                          \
        LANE product *= lane[l];                                                                   \
        for (; i < n; i++) product *= (uint64_t)(Q)x[i];                                           \
        return (R)product;                                                                         \
    }                                                                                              \
    REDUCE_IN_TURN(NAME, A, R)                                                                     \
    REDUCE_REST(NAME, A, R, INIT)
#endif
