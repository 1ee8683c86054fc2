/* kernel_random.h: random numbers as runtime/base/rng.h defines them, many at a time. Philox keeps
 * each word of a block in a lane of 64 bits, where one multiplication gives both halves of a
 * product; the upper halves of the words that are multiplied do not count. Only build/gen/kernels.c
 * includes this file.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_KERNEL_RANDOM_H
#define GT_WORKER_KERNEL_KERNEL_RANDOM_H
#include "worker/kernel/kernels.h"
#include "worker/kernel/prologue.h"
#include "runtime/base/rng.h"

/* ---- Philox ---- */

#if defined __x86_64__
#include <immintrin.h>
#if defined __AVX512F__
#define WORDS_OF(f) _mm512_##f
#define WORDS_ALL   _mm512_set1_epi64
typedef __m512i WordsRow;
#define WORDS_ORDER 0, 4, 1, 5, 2, 6, 3, 7
enum { ROW_BLOCKS = 8 };
#elif defined __AVX2__
#define WORDS_OF(f) _mm256_##f
#define WORDS_ALL   _mm256_set1_epi64x
typedef __m256i WordsRow;
#define WORDS_ORDER 0, 2, 1, 3
enum { ROW_BLOCKS = 4 };
#else
#define WORDS_OF(f) _mm_##f
#define WORDS_ALL   _mm_set1_epi64x
typedef __m128i WordsRow;
#define WORDS_ORDER 0, 1
enum { ROW_BLOCKS = 2 };
#endif
typedef uint64_t WordsLanes
    __attribute__((vector_size(ROW_BLOCKS * 8), may_alias)); /* for + ^ << >> and | */

/* Writes two rows of blocks, the first from `block` on. The lanes of a row have its blocks in such
 * an order (WORDS_ORDER) that unpacking gives them in their own. */
static inline __attribute__((always_inline)) void words_rows(uint64_t seed, uint64_t counter,
                                                             uint64_t block, uint32_t *out) {
    enum { ROWS = 4 };
    const WordsRow m0 = WORDS_ALL(0xD2511F53), m1 = WORDS_ALL(0xCD9E8D57);
    WordsLanes c0[ROWS], c1[ROWS], c2[ROWS], c3[ROWS];
    for (int r = 0; r < ROWS; r++) {
        c0[r] = (WordsLanes){WORDS_ORDER} + (block + (uint64_t)(r * ROW_BLOCKS));
        c1[r] = c0[r] >> 32;
        c2[r] = (WordsLanes)WORDS_ALL((int64_t)counter), c3[r] = c2[r] >> 32;
    }
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
        for (int r = 0; r < ROWS; r++) {
            WordsLanes p0 = (WordsLanes)WORDS_OF(mul_epu32)((WordsRow)c0[r], m0);
            WordsLanes p1 = (WordsLanes)WORDS_OF(mul_epu32)((WordsRow)c2[r], m1);
            c0[r] = p1 >> 32 ^ c1[r] ^ (uint64_t)k0;
            c2[r] = p0 >> 32 ^ c3[r] ^ (uint64_t)k1;
            c1[r] = p1, c3[r] = p0;
        }
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    for (int r = 0; r < ROWS; r++) {
        WordsRow a = (WordsRow)((c0[r] & 0xffffffff) | c1[r] << 32);
        WordsRow b = (WordsRow)((c2[r] & 0xffffffff) | c3[r] << 32);
        WordsRow both[2] = {WORDS_OF(unpacklo_epi64)(a, b), WORDS_OF(unpackhi_epi64)(a, b)};
        __builtin_memcpy(out + r * ROW_BLOCKS * 4, both, sizeof both);
    }
}
enum { WORDS_BLOCKS = 4 * ROW_BLOCKS };
static void random_words(uint64_t seed, uint64_t counter, uint64_t block, int64_t n_blocks,
                         uint32_t *out) {
    int64_t i = 0;
    for (; i + WORDS_BLOCKS <= n_blocks; i += WORDS_BLOCKS)
        words_rows(seed, counter, block + (uint64_t)i, out + 4 * i);
    if (i == n_blocks) return;
    uint32_t last[WORDS_BLOCKS * 4];
    words_rows(seed, counter, block + (uint64_t)i, last);
    __builtin_memcpy(out + 4 * i, last, (size_t)(n_blocks - i) * 16);
}
#else
static void random_words(uint64_t seed, uint64_t counter, uint64_t block, int64_t n_blocks,
                         uint32_t *out) {
    for (int64_t i = 0; i < n_blocks; i++, out += 4) {
        Philox p = philox(seed, counter, block + (uint64_t)i);
        __builtin_memcpy(out, p.w, sizeof p.w);
    }
}
#endif

/* ---- Numbers ---- */

/* rng_float and rng_half: products with a power of two are exact, as quotients are. */
static void random_uniform(int64_t n, const uint32_t *word, int bits, float *out) {
    const float unit = 1 / (float)(INT32_C(1) << bits);
    for (int64_t i = 0; i < n; i++) out[i] = (float)(int32_t)(word[i] >> (32 - bits)) * unit;
}
/* rng_double: the upper 21 of 53 bits, and the lower 32 as the last digits of 2^52. */
static void random_uniform_f64(int64_t n, const uint32_t *word, double *out) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t low = word[2 * i] >> 11 | word[2 * i + 1] << 21;
        double upper = (double)(int32_t)(word[2 * i + 1] >> 11) * 0x1p32;
        double lower = f64_of_bits((int64_t)(low | UINT64_C(0x4330000000000000))) - 0x1p52;
        out[i] = (upper + lower) * 0x1p-53;
    }
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
/* rng_int32 and rng_int64. In a range of 32 bits the product of 128 bits is one or two of 64, and
 * numbers that fit are made as int32, which every processor converts. */
#define RANDOM_INT(NAME, T, ANY, WORD)                                                             \
    static void random_int_##NAME(int64_t n, const uint32_t *word, int64_t low, int64_t high,      \
                                  void *out_) {                                                    \
        T *out = out_;                                                                             \
        const uint64_t range = (uint64_t)high - (uint64_t)low;                                     \
        const uint32_t few = (uint32_t)range, from = (uint32_t)low;                                \
        if (range == few && low >= INT32_MIN && high <= INT32_MAX)                                 \
            for (int64_t i = 0; i < n; i++) out[i] = (T)(int32_t)(from + (uint32_t)(WORD >> 32));  \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++) out[i] = (T)ANY;                                       \
    }
#define WORD_32 ((uint64_t)word[i] * few)
#define WORD_64 ((uint64_t)word[2 * i + 1] * few + ((uint64_t)word[2 * i] * few >> 32))
#define ANY_32  rng_int32(word[i], low, high)
#define ANY_64  rng_int64(word[2 * i], word[2 * i + 1], low, high)
RANDOM_INT(u8, uint8_t, ANY_32, WORD_32)
RANDOM_INT(i32, int32_t, ANY_32, WORD_32)
RANDOM_INT(f32, float, ANY_32, WORD_32)
RANDOM_INT(i64, int64_t, ANY_64, WORD_64)
RANDOM_INT(f64, double, ANY_64, WORD_64)

#define KERNELS_RANDOM                                                                             \
    .random_words = random_words, .random_uniform = random_uniform,                                \
    .random_uniform_f64 = random_uniform_f64, .random_normal = random_normal,                      \
    .random_int = {                                                                                \
        [DT_BOOL] = random_int_u8, [DT_U8] = random_int_u8,   [DT_I8] = random_int_u8,             \
        [DT_I32] = random_int_i32, [DT_F32] = random_int_f32, [DT_I64] = random_int_i64,           \
        [DT_F64] = random_int_f64},
#endif
