/* kernels.h: the table of the cpu engine's inner loops, one per instruction set (base, v3, v4 of
 * x86-64). All give the same bits, except where base has no fma (prologue.h). They are generated
 * from ops.def (genkernels.c, kernel_loops.h), but for the hand-written ones at the end
 * (kernel_dense.h, kernel_lines.h, kernel_random.h). They know no shapes: cpu_*.c splits calls into
 * runs for them. Pointers are aligned to their element; `out` may equal an operand, otherwise
 * nothing overlaps. Halves have casts to and from f32, and keys: cpu_half.c.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_KERNELS_H
#define GT_WORKER_KERNEL_KERNELS_H
#include "runtime/base/tree.h"
#include "runtime/inst/hash.h"
#include <stdbool.h>

/* out[i] = f(in[0][i], in[1][i], ...) for i < n. Bit k of scalars: operand k is a single value. */
typedef void (*MapFn)(int64_t n, void *out, const void *const *in, unsigned scalars);

enum { REDUCE_BLOCK = 4096, REDUCE_LANES = 16 };
/* One block of a reduction, for `rows` results: out[r] = the elements x[i * stride + r *
 * row_stride], i < n <= REDUCE_BLOCK, lane i mod 16 by lane, the lanes then combined by a binary
 * tree. Either stride == 1 (or n <= 1), or row_stride == 1 (or rows <= 1). Strides count elements.
 * out holds accumulators (emit_accumulator). */
typedef void (*ReduceFn)(int64_t n, int64_t rows, const void *x, int64_t stride, int64_t row_stride,
                         void *out);
/* a[i] = f(a[i], b[i]), i < n: combines two accumulators. */
typedef void (*MergeFn)(int64_t n, void *a, const void *b);

/* out (M,N) = a (M,K) @ b (K,N), K >= 1; strides in elements; the columns of out are adjacent.
 * side: gemm_side() bytes, aligned to 64. next: what the next call reads, to be prefetched; NULL:
 * nothing. Floats are added in the order of runtime/base/tree.h. The other dtypes, which wrap, take
 * M <= GEMM_M, N <= GEMM_N. */
typedef struct GemmNext {
    const char *a, *b;
    int64_t a_bytes, b_bytes;
} GemmNext;
typedef void (*GemmFn)(int64_t M, int64_t N, int64_t K, const void *a, int64_t a_m, int64_t a_k,
                       const void *b, int64_t b_k, int64_t b_n, void *out, int64_t out_m,
                       void *side, const GemmNext *next);
/* GEMM_LONG: up to so many rows of floats read adjacent columns of b in runs as long as the block.
 */
enum { GEMM_M = 64, GEMM_N = 128, GEMM_LONG = 4 };
/* Enough for blocks up to (M,N) of any dtype, on any instruction set. */
static inline size_t gemm_side(int64_t M, int64_t N, int64_t K) {
    enum { TALL = 14, WIDE = 32, PANEL = 8 * 16, DEPTH = 4 * LEAF + 1 }; /* of a tile; of k */
    int64_t levels = tree_depth(tree_leaves(K)) * (M + TALL) * (N + WIDE);
    return (size_t)(levels + DEPTH * (M + 2 * PANEL + WIDE) + GEMM_M * GEMM_N) * 8;
}

/* c (m, n) -= a (m, 1) @ b (1, n); b and the columns of c are adjacent. */
typedef void (*Rank1Fn)(int64_t m, int64_t n, void *c, int64_t c_m, const void *a, int64_t a_m,
                        const void *b);

/* ---- Looking for a place (kernel_lines.h) ---- */

/* Returns the index of the best of n >= 1 adjacent elements: a nan before all others, else the
 * largest (or smallest); of equals the first. */
typedef int64_t (*BestFn)(int64_t n, const void *x, bool largest);
/* As BestFn for each of `columns` <= BEST_COLUMNS columns of n < 2^31 rows `stride` apart. */
enum { BEST_COLUMNS = 256 };
typedef void (*BestColumnsFn)(int64_t n, int64_t columns, const void *x, int64_t stride,
                              bool largest, int64_t *place);
/* key[i] = cpu_key(x[i]) ^ flip, i < n: 64 bits for elements of 8 bytes, 32 for all others. */
typedef void (*KeysFn)(int64_t n, const void *x, uint64_t flip, void *key);
/* Returns the first i, from `begin` on, with key[i] < limit, or n. */
typedef int64_t (*BelowFn)(int64_t begin, int64_t n, const void *key, uint64_t limit);
/* Sets best[i], place[i] to x[i * step], at + i * step if that is larger, or nan. */
typedef void (*PoolMaxFn)(int64_t n, const void *x, int64_t step, int64_t at, void *best,
                          int64_t *place);
/* pool_add: y[i] += x[i * step]; pool_spread: y[i * step] += x[i]. */
typedef void (*PoolAddFn)(int64_t n, const void *x, int64_t step, void *y);
/* y[i] = x[i] / (others * scale[i]); y may be x. */
typedef void (*PoolShareFn)(int64_t n, const void *x, double others, const double *scale, void *y);

/* out[c] = the sum of x[i * stride + c], i < n <= REDUCE_BLOCK, n >= 1, in the order of
 * runtime/base/tree.h. */
typedef void (*RowsFn)(int64_t n, int64_t columns, const void *x, int64_t stride, void *out);

/* Where random numbers begin: with the first word of a block of philox(). */
typedef struct RandomAt {
    uint64_t seed, counter, block;
} RandomAt;

typedef struct Kernels {
    const char *isa; /* "base", "v3", "v4" */
    /* Of a half: NULL, or a shorter form of the row from float32 to float32, for operands that are
     * halves and a result that is rounded to the half. */
    MapFn map[OP_COUNT][DT_COUNT];
    ReduceFn reduce[OP_COUNT][DT_COUNT];
    MergeFn merge[OP_COUNT][DT_COUNT];
    MapFn cast[DT_COUNT][DT_COUNT]; /* [from][to]; any pair: cpu_cast */
    GemmFn gemm[DT_COUNT];          /* all but bool and halves */
    Rank1Fn rank1[DT_COUNT];        /* f32, f64 */
    BestFn best[DT_COUNT];          /* these three: all but halves */
    BestColumnsFn best_columns[DT_COUNT];
    PoolMaxFn pool_max[DT_COUNT];
    KeysFn keys[DT_COUNT];
    BelowFn below_32, below_64;
    PoolAddFn pool_add[DT_COUNT], pool_spread[DT_COUNT]; /* f32, f64 */
    PoolShareFn pool_share[DT_COUNT];
    RowsFn sum_rows[DT_COUNT]; /* f32, f64 */
    /* n random numbers from `at` on. Words of philox(); rng_float or rng_half by `bits` <= 24 bits;
     * rng_double; normal ones, the last without its pair if n is odd. */
    void (*random_words)(const RandomAt *at, int64_t n, uint32_t *out);
    void (*random_uniform)(const RandomAt *at, int64_t n, int bits, float *out);
    void (*random_uniform_f64)(const RandomAt *at, int64_t n, double *out);
    void (*random_normal)(const RandomAt *at, int64_t n, float *out);
    /* rng_int32, or rng_int64 for dtypes of 8 bytes; all dtypes but halves. */
    void (*random_int[DT_COUNT])(const RandomAt *at, int64_t n, int64_t low, int64_t high,
                                 void *out);
    HashSumFn hash[3];
} Kernels;

extern const Kernels kernels_base, kernels_v3, kernels_v4;
/* Returns the best table for this machine; GT_ISA=base|v3|v4 in the environment limits the
 * choice. */
const Kernels *kernels_find(void);
#endif
