/* kernel_product.h: matrix products of floats, on one thread, in the order of runtime/base/tree.h.
 * Only build/gen/kernels.c includes it, so that it is compiled for each instruction set. This file
 * has what depends on the instruction set; kernel_tile_body.h, included once per type, is the rest.
 *
 * A tile of the result, some rows by one or two vectors, is held in registers while a leaf of K is
 * added to it: each element by one chain of fma, k upwards. (base has no fma: it multiplies, then
 * adds, and so has bits of its own.)
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_KERNEL_PRODUCT_H
#define GT_WORKER_KERNEL_KERNEL_PRODUCT_H
#include "runtime/base/tree.h"
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

/* TILE_M: rows of a tile if a row of a's transpose is adjacent in memory, so that one address
 * serves all; TILE_ROWS: rows if each has an address of its own (ROWS_1: of a product of one vector
 * of columns); such that all accumulators stay in registers. Blocks of up to WIDE_ROWS rows have
 * wide panels, or of WIDE_M rows if b is larger than the caches, and WIDE_ROWS rows per tile.
 * PANELS panels of b are packed at a time. PACKS: a is packed if more than 8 panels read it: its
 * rows may lie in more pages than the TLB holds, or share few sets of a small second-level cache.
 * UNROLLED: k's of a tile's loop.
 * EACH_TILE(X), EACH_ROWS(X): (rows, vectors) of every kernel of the two kinds. */
#define TILES_4(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(1, 2) X(2, 2) X(3, 2) X(4, 2)
#define TILES_6(X) TILES_4(X) X(5, 1) X(6, 1) X(5, 2) X(6, 2)
#define TILES_8(X) TILES_6(X) X(7, 1) X(8, 1) X(7, 2) X(8, 2)
#define TILES_14(X)                                                                                \
    TILES_8(X)                                                                                     \
    X(9, 1)                                                                                        \
    X(10, 1)                                                                                       \
    X(11, 1) X(12, 1) X(13, 1) X(14, 1) X(9, 2) X(10, 2) X(11, 2) X(12, 2) X(13, 2) X(14, 2)
#if defined __AVX512F__
enum { VECTOR_BYTES = 64, TILE_M = 14, TILE_ROWS = 8, ROWS_1 = 8, WIDE_ROWS = 4, WIDE_M = 8 };
enum { PANELS = 8, PACKS = 0, UNROLLED = 1 };
#define EACH_TILE               TILES_14
#define EACH_ROWS(X)            TILES_8(X) X(1, 4) X(2, 4) X(3, 4) X(4, 4) X(1, 8) X(2, 8)
#define FMA_f32(a, b, c)        ((vec_f32)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define FMA_f64(a, b, c)        ((vec_f64)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define SPLAT_f32(s)            ((vec_f32)_mm512_set1_ps(s))
#define SPLAT_f64(s)            ((vec_f64)_mm512_set1_pd(s))
#define HEAD(n)                 ((1u << (n)) - 1)
#define LOAD_HEAD_f32(p, n)     ((vec_f32)_mm512_maskz_loadu_ps((__mmask16)HEAD(n), p))
#define LOAD_HEAD_f64(p, n)     ((vec_f64)_mm512_maskz_loadu_pd((__mmask8)HEAD(n), p))
#define STORE_HEAD_f32(p, n, v) _mm512_mask_storeu_ps(p, (__mmask16)HEAD(n), (__m512)(v))
#define STORE_HEAD_f64(p, n, v) _mm512_mask_storeu_pd(p, (__mmask8)HEAD(n), (__m512d)(v))
#elif defined __AVX2__
enum { VECTOR_BYTES = 32, TILE_M = 6, TILE_ROWS = 6, ROWS_1 = 8, WIDE_ROWS = 2, WIDE_M = 2 };
enum { PANELS = 4, PACKS = 1, UNROLLED = 4 };
#define EACH_TILE        TILES_6
#define EACH_ROWS(X)     TILES_6(X) X(7, 1) X(8, 1) X(1, 4) X(2, 4) X(1, 8)
#define FMA_f32(a, b, c) ((vec_f32)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define FMA_f64(a, b, c) ((vec_f64)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define SPLAT_f32(s)     ((vec_f32)_mm256_set1_ps(s))
#define SPLAT_f64(s)     ((vec_f64)_mm256_set1_pd(s))
#else
enum { VECTOR_BYTES = 16, TILE_M = 4, TILE_ROWS = 4, ROWS_1 = 4, WIDE_ROWS = 2, WIDE_M = 2 };
enum { PANELS = 4, PACKS = 1, UNROLLED = 4 };
#define EACH_TILE        TILES_4
#define EACH_ROWS(X)     TILES_4(X) X(1, 4) X(2, 4) X(1, 8)
#define FMA_f32(a, b, c) ((a) * (b) + (c))
#define FMA_f64(a, b, c) ((a) * (b) + (c))
#define SPLAT_f32(s)     ((vec_f32)_mm_set1_ps(s))
#define SPLAT_f64(s)     ((vec_f64)_mm_set1_pd(s))
#endif
#ifdef __FMA__
#define FMA_1_f32(a, b, c) __builtin_fmaf(a, b, c)
#define FMA_1_f64(a, b, c) __builtin_fma(a, b, c)
#else
#define FMA_1_f32 FMA_f32
#define FMA_1_f64 FMA_f64
#endif
/* A tile adds up a node of this many k's, from a panel of b that fits the first-level cache, before
 * the next tile does. */
enum { CHUNK_LEVELS = 2, CHUNK_LEAVES = 1 << CHUNK_LEVELS, CHUNK = CHUNK_LEAVES * LEAF, WIDE = 8 };
enum {
    TILES = 8,             /* of a, packed at a time */
    ROWS_AHEAD = 4,        /* rows of b by which a packed or large b is prefetched */
    LINE = 64,             /* of a cache */
    FEW = 8,               /* rows of a that share one read of a column-major b ... */
    AHEAD = 512,           /* ... bytes by which its columns are prefetched ... */
    SHORT = 2 * LEAF,      /* ... and elements of columns that are read side by side with others */
    MOST_LONG = GEMM_LONG, /* rows of a that share one read of a b of long rows ... */
    MOST_DEEP = 8,         /* ... of which so many are read side by side, at most ... */
    LONG = 1 << 14,        /* ... and bytes of sums, which stay in the first-level cache */
    WAYS = 16,             /* leaves of a dot product, at a time */
    WAYS_LEVEL = 4,        /* ... the level of whose sum is this */
};
#define EACH_LONG(X) X(1, 8) X(2, 8) X(3, 4) X(4, 4) /* (rows of a, of b at a time) */
#define EACH_FEW(X)  X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
/* Elements of a b that stays in the last cache. */
enum { CACHED = 1 << 21 };

/* Prefetches part i of n parts of what the next call reads. Few lines at a time: a processor waits
 * for no more than about twenty, and stands still at the next one. */
static inline void prefetch_next(const GemmNext *next, int64_t i, int64_t n) {
    const int64_t a = next->a_bytes / n, b = next->b_bytes / n;
    for (int64_t j = 0; j < a; j += LINE) __builtin_prefetch(next->a + i * a + j);
    for (int64_t j = 0; j < b; j += LINE) __builtin_prefetch(next->b + i * b + j);
}

/* Transposes n vectors x of n elements, with y as temporary memory. Each step is one instruction
 * per vector (unpack, shuf32x4, perm2f128): it interleaves two vectors, `apart` from each other,
 * by elements or pairs within lanes of 16 bytes, or parts their even lanes from their odd ones. */
#define LIST(...) __VA_ARGS__
#define MIX_(n, x, y, apart, low, high)                                                            \
    _Pragma("GCC unroll 16") for (int r = 0; r < n; r++) if (!(r & apart)) {                       \
        y[r] = __builtin_shufflevector(x[r], x[r | apart], low);                                   \
        y[r | apart] = __builtin_shufflevector(x[r], x[r | apart], high);                          \
    }
#define ELEMENTS_16(x, y, apart)                                                                   \
    MIX_(16, x, y, apart, LIST(0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29),          \
         LIST(2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31))
#define PAIRS_16(x, y, apart)                                                                      \
    MIX_(16, x, y, apart, LIST(0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),          \
         LIST(2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
#define LANES_16(x, y, apart)                                                                      \
    MIX_(16, x, y, apart, LIST(0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27),          \
         LIST(4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31))
#define ELEMENTS_8(x, y, apart)                                                                    \
    MIX_(8, x, y, apart, LIST(0, 8, 1, 9, 4, 12, 5, 13), LIST(2, 10, 3, 11, 6, 14, 7, 15))
#define PAIRS_8(x, y, apart)                                                                       \
    MIX_(8, x, y, apart, LIST(0, 1, 8, 9, 4, 5, 12, 13), LIST(2, 3, 10, 11, 6, 7, 14, 15))
#define LANES_8(x, y, apart)                                                                       \
    MIX_(8, x, y, apart, LIST(0, 1, 2, 3, 8, 9, 10, 11), LIST(4, 5, 6, 7, 12, 13, 14, 15))
#define ELEMENTS_4(x, y, apart) MIX_(4, x, y, apart, LIST(0, 4, 1, 5), LIST(2, 6, 3, 7))
#define PAIRS_4(x, y, apart)    MIX_(4, x, y, apart, LIST(0, 1, 4, 5), LIST(2, 3, 6, 7))
#define DOUBLES_8(x, y, apart)                                                                     \
    MIX_(8, x, y, apart, LIST(0, 8, 2, 10, 4, 12, 6, 14), LIST(1, 9, 3, 11, 5, 13, 7, 15))
#define DOUBLE_LANES_8(x, y, apart)                                                                \
    MIX_(8, x, y, apart, LIST(0, 1, 4, 5, 8, 9, 12, 13), LIST(2, 3, 6, 7, 10, 11, 14, 15))
#define DOUBLES_4(x, y, apart)      MIX_(4, x, y, apart, LIST(0, 4, 2, 6), LIST(1, 5, 3, 7))
#define DOUBLE_LANES_4(x, y, apart) MIX_(4, x, y, apart, LIST(0, 1, 4, 5), LIST(2, 3, 6, 7))
#define DOUBLES_2(x, y, apart)      MIX_(2, x, y, apart, LIST(0, 2), LIST(1, 3))
/* After elements and pairs the columns 1 and 2 of each four are exchanged. */
#define PLACE_(n, x, y, by) _Pragma("GCC unroll 16") for (int r = 0; r < n; r++) x[r] = y[by];
#define IN_FOURS(r)         (((r) & ~3) | ((r)&1) << 1 | ((r) >> 1 & 1))
#define TRANSPOSE_16(x, y)                                                                         \
    ELEMENTS_16(x, y, 1)                                                                           \
    PAIRS_16(y, x, 2)                                                                              \
    LANES_16(x, y, 4) LANES_16(y, x, 8) PLACE_(16, y, x, IN_FOURS(r)) PLACE_(16, x, y, r)
#define TRANSPOSE_8(x, y)                                                                          \
    ELEMENTS_8(x, y, 1) PAIRS_8(y, x, 2) LANES_8(x, y, 4) PLACE_(8, x, y, IN_FOURS(r))
#define TRANSPOSE_4(x, y)                                                                          \
    ELEMENTS_4(x, y, 1) PAIRS_4(y, x, 2) PLACE_(4, y, x, IN_FOURS(r)) PLACE_(4, x, y, r)
#define TRANSPOSE_D8(x, y)                                                                         \
    DOUBLES_8(x, y, 1) DOUBLE_LANES_8(y, x, 2) DOUBLE_LANES_8(x, y, 4) PLACE_(8, x, y, r)
#define TRANSPOSE_D4(x, y) DOUBLES_4(x, y, 1) DOUBLE_LANES_4(y, x, 2)
#define TRANSPOSE_D2(x, y) DOUBLES_2(x, y, 1) PLACE_(2, x, y, r)
#if defined __AVX512F__
#define TRANSPOSE_f32 TRANSPOSE_16
#define TRANSPOSE_f64 TRANSPOSE_D8
#elif defined __AVX2__
#define TRANSPOSE_f32 TRANSPOSE_8
#define TRANSPOSE_f64 TRANSPOSE_D4
#else
#define TRANSPOSE_f32 TRANSPOSE_4
#define TRANSPOSE_f64 TRANSPOSE_D2
#endif

/* A vector of parts of 16 bytes, which begin at p, p + apart, p + 2 apart ... Loads alone: they
 * cost less than the shuffles that would put whole vectors together so. */
#if defined __AVX512F__
static inline __m512 parts_from(const float *p, int64_t apart) {
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(p));
    v = _mm512_mask_broadcast_f32x4(v, 0x00f0, _mm_loadu_ps(p + apart));
    v = _mm512_mask_broadcast_f32x4(v, 0x0f00, _mm_loadu_ps(p + 2 * apart));
    return _mm512_mask_broadcast_f32x4(v, 0xf000, _mm_loadu_ps(p + 3 * apart));
}
#define PARTS_FROM_f32(p, apart) ((vec_f32)parts_from(p, apart))
#define PARTS_FROM_f64(p, apart) ((vec_f64)parts_from((const float *)(p), 2 * (apart)))
#elif defined __AVX2__
static inline __m256 parts_from(const float *p, int64_t apart) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + apart),
                                1);
}
#define PARTS_FROM_f32(p, apart) ((vec_f32)parts_from(p, apart))
#define PARTS_FROM_f64(p, apart) ((vec_f64)parts_from((const float *)(p), 2 * (apart)))
#else
#define PARTS_FROM_f32(p, apart) ((vec_f32)_mm_loadu_ps(p))
#define PARTS_FROM_f64(p, apart) ((vec_f64)_mm_loadu_pd(p))
#endif
/* Transposes the squares that the parts of a few vectors x make, with y as temporary memory. The
 * columns of floats are left in x, 1 and 2 exchanged, and those of doubles in y. */
#if defined __AVX512F__
#define TURN_f32(x, y)                                                                             \
    MIX_(4, x, y, 1, LIST(0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29),               \
         LIST(2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31))                         \
    MIX_(4, y, x, 2, LIST(0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),               \
         LIST(2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
#define TURN_f64(x, y)                                                                             \
    MIX_(2, x, y, 1, LIST(0, 8, 2, 10, 4, 12, 6, 14), LIST(1, 9, 3, 11, 5, 13, 7, 15))
#elif defined __AVX2__
#define TURN_f32(x, y)                                                                             \
    MIX_(4, x, y, 1, LIST(0, 8, 1, 9, 4, 12, 5, 13), LIST(2, 10, 3, 11, 6, 14, 7, 15))             \
    MIX_(4, y, x, 2, LIST(0, 1, 8, 9, 4, 5, 12, 13), LIST(2, 3, 10, 11, 6, 7, 14, 15))
#define TURN_f64(x, y) MIX_(2, x, y, 1, LIST(0, 4, 2, 6), LIST(1, 5, 3, 7))
#else
#define TURN_f32(x, y) ELEMENTS_4(x, y, 1) PAIRS_4(y, x, 2)
#define TURN_f64(x, y) MIX_(2, x, y, 1, LIST(0, 2), LIST(1, 3))
#endif

#define JOIN_(name, suffix) name##_##suffix
#define JOIN(name, suffix)  JOIN_(name, suffix)
#define NAME(name)          JOIN(name, SUFFIX)
#define T                   float
#define SUFFIX              f32
#include "worker/kernel/kernel_tile_body.h"
#undef T
#undef SUFFIX
#define T      double
#define SUFFIX f64
#include "worker/kernel/kernel_tile_body.h"
#undef T
#undef SUFFIX
#endif
