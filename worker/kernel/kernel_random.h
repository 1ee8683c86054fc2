/* kernel_random.h: random numbers as runtime/base/rng.h defines them, many at a time. Philox keeps
 * each word of a block in a lane of 64 bits, where one multiplication gives both halves of a
 * product; the upper halves of the words that are multiplied do not count. Words become numbers
 * while they are in the nearest cache. Only build/gen/kernels.c includes this file.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_KERNEL_RANDOM_H
#define GT_WORKER_KERNEL_KERNEL_RANDOM_H
#include "worker/kernel/kernels.h"
#include "worker/kernel/prologue.h"
#include "runtime/base/rng.h"

#define RANDOM_FN static inline __attribute__((always_inline))

/* ---- Philox ---- */

enum { WORDS_ROWS = 4, WORDS_ROUNDS = 10 };
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

/* What the rounds add. Of blocks with the same upper word, c1, c2 and c3 begin equal; so half of
 * round 0 and of round 1, and a word of round 2, are one number for all: those are in here too. */
typedef struct WordsKey {
    WordsLanes a[WORDS_ROUNDS], b[WORDS_ROUNDS];
} WordsKey;

static void words_key(WordsKey *key, const RandomAt *at, uint64_t block) {
    uint64_t a[WORDS_ROUNDS], b[WORDS_ROUNDS];
    uint32_t k0 = (uint32_t)at->seed, k1 = (uint32_t)(at->seed >> 32);
    for (int i = 0; i < WORDS_ROUNDS; i++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
        a[i] = k0, b[i] = k1;
    uint64_t p1 = UINT64_C(0xCD9E8D57) * (uint32_t)at->counter;
    uint64_t p0 = UINT64_C(0xD2511F53) * (uint32_t)(p1 >> 32 ^ block >> 32 ^ a[0]);
    b[0] ^= at->counter >> 32, a[1] ^= (uint32_t)p1;
    b[1] ^= p0 >> 32, b[2] ^= (uint32_t)p0;
    for (int i = 0; i < WORDS_ROUNDS; i++)
        key->a[i] = (WordsLanes)WORDS_ALL((int64_t)a[i]),
        key->b[i] = (WordsLanes)WORDS_ALL((int64_t)b[i]);
}

RANDOM_FN WordsLanes words_mul(WordsLanes a, WordsLanes b) {
    return (WordsLanes)WORDS_OF(mul_epu32)((WordsRow)a, (WordsRow)b);
}
/* The upper word of p, ^ c ^ k: a word of the next round. */
RANDOM_FN WordsLanes words_mix(WordsLanes p, WordsLanes c, WordsLanes k) {
#if defined __AVX512F__
    enum { XOR_3 = 0x96 };
    return (WordsLanes)_mm512_ternarylogic_epi64((WordsRow)(p >> 32), (WordsRow)c, (WordsRow)k,
                                                 XOR_3);
#else
    return p >> 32 ^ (c ^ k);
#endif
}
/* The same in the lower half of a lane, and the lower word of p in the upper. */
RANDOM_FN WordsRow words_last(WordsLanes p, WordsLanes c, WordsLanes k) {
    enum { SWAP = 0xb1 };
    WordsRow swapped = (WordsRow)WORDS_OF(shuffle_epi32)((WordsRow)p, SWAP);
    return (WordsRow)((WordsLanes)swapped ^ ((c ^ k) & 0xffffffff));
}
/* Writes four rows of blocks, the first from `block` on, which have the upper word of `key`. The
 * lanes of a row have its blocks in such an order (WORDS_ORDER) that unpacking gives them in their
 * own. */
RANDOM_FN void words_rows(const WordsKey *key, uint64_t block, uint32_t *out) {
    const WordsLanes m0 = (WordsLanes)WORDS_ALL(0xD2511F53), m1 = (WordsLanes)WORDS_ALL(0xCD9E8D57);
    WordsLanes c0[WORDS_ROWS], c1[WORDS_ROWS], c2[WORDS_ROWS], c3[WORDS_ROWS];
    for (int r = 0; r < WORDS_ROWS; r++) {
        WordsLanes first = (WordsLanes){WORDS_ORDER} + (block + (uint64_t)(r * ROW_BLOCKS));
        WordsLanes p0 = words_mul(first, m0);
        WordsLanes p1 = words_mul(p0 >> 32 ^ key->b[0], m1);
        c0[r] = p1 >> 32 ^ key->a[1], c1[r] = p1, c2[r] = p0 ^ key->b[1];
    }
    for (int r = 0; r < WORDS_ROWS; r++) {
        WordsLanes p0 = words_mul(c0[r], m0), p1 = words_mul(c2[r], m1);
        c0[r] = words_mix(p1, c1[r], key->a[2]), c2[r] = p0 >> 32 ^ key->b[2];
        c1[r] = p1, c3[r] = p0;
    }
#pragma GCC unroll 10
    for (int i = 3; i < WORDS_ROUNDS - 1; i++)
        for (int r = 0; r < WORDS_ROWS; r++) {
            WordsLanes p0 = words_mul(c0[r], m0), p1 = words_mul(c2[r], m1);
            c0[r] = words_mix(p1, c1[r], key->a[i]), c2[r] = words_mix(p0, c3[r], key->b[i]);
            c1[r] = p1, c3[r] = p0;
        }
    for (int r = 0; r < WORDS_ROWS; r++) {
        WordsLanes p0 = words_mul(c0[r], m0), p1 = words_mul(c2[r], m1);
        WordsRow x = words_last(p1, c1[r], key->a[WORDS_ROUNDS - 1]);
        WordsRow y = words_last(p0, c3[r], key->b[WORDS_ROUNDS - 1]);
        WordsRow both[2] = {WORDS_OF(unpacklo_epi64)(x, y), WORDS_OF(unpackhi_epi64)(x, y)};
        __builtin_memcpy(out + r * ROW_BLOCKS * 4, both, sizeof both);
    }
}
#else
enum { ROW_BLOCKS = 2 };
typedef RandomAt WordsKey;
static void words_key(WordsKey *key, const RandomAt *at, uint64_t block) { *key = *at; }
RANDOM_FN void words_rows(const WordsKey *key, uint64_t block, uint32_t *out) {
    for (int i = 0; i < WORDS_ROWS * ROW_BLOCKS; i++) {
        Philox p = philox(key->seed, key->counter, block + (uint64_t)i);
        __builtin_memcpy(out + 4 * i, p.w, sizeof p.w);
    }
}
#endif

/* Makes n numbers, from number `first` on, of the words; WORDS_CHUNK words are there. */
typedef void (*RandomMake)(const void *ctx, const uint32_t *word, int64_t first, int64_t n);
enum { WORDS_BLOCKS = WORDS_ROWS * ROW_BLOCKS, WORDS_CHUNK = 4 * WORDS_BLOCKS };

/* Makes n numbers of as many or twice as many words. */
RANDOM_FN void random_each(const RandomAt *at, int64_t n, int words_each, RandomMake make,
                           const void *ctx) {
    const int64_t per_block = 4 / words_each;
    uint32_t word[WORDS_CHUNK] __attribute__((aligned(64)));
    WordsKey key;
    uint64_t block = at->block;
    words_key(&key, at, block);
    for (int64_t i = 0, count; i < n; i += count) {
        uint64_t blocks = (UINT64_C(1) << 32) - (uint32_t)block; /* with this upper word */
        if (blocks > WORDS_BLOCKS) blocks = WORDS_BLOCKS;
        count = (int64_t)blocks * per_block < n - i ? (int64_t)blocks * per_block : n - i;
        words_rows(&key, block, word);
        if (count == WORDS_BLOCKS * per_block)
            make(ctx, word, i, WORDS_BLOCKS * per_block);
        else
            make(ctx, word, i, count);
        block += blocks;
        if ((uint32_t)block == 0) words_key(&key, at, block);
    }
}

/* ---- Numbers ---- */

RANDOM_FN uint64_t random_wide(const uint32_t *word, int64_t i) { /* words 2i and 2i + 1 */
    return (uint64_t)word[2 * i + 1] << 32 | word[2 * i];
}
RANDOM_FN void make_words(const void *ctx, const uint32_t *word, int64_t first, int64_t n) {
    __builtin_memcpy(*(uint32_t *const *)ctx + first, word, (size_t)n * sizeof *word);
}
static void random_words(const RandomAt *at, int64_t n, uint32_t *out) {
    random_each(at, n, 1, make_words, &out);
}

/* rng_float and rng_half: products with a power of two are exact, as quotients are. */
typedef struct Uniform {
    int shift;
    float unit, *out;
} Uniform;
RANDOM_FN void make_uniform(const void *ctx, const uint32_t *word, int64_t first, int64_t n) {
    const Uniform *u = ctx;
    float *out = u->out + first;
    for (int64_t i = 0; i < n; i++) out[i] = (float)(int32_t)(word[i] >> u->shift) * u->unit;
}
static void random_uniform(const RandomAt *at, int64_t n, int bits, float *out) {
    const Uniform u = {32 - bits, 1 / (float)(INT32_C(1) << bits), out};
    random_each(at, n, 1, make_uniform, &u);
}
/* rng_double: the upper 21 of 53 bits as digits of 2^84, the lower 32 as digits of 2^52. */
RANDOM_FN void make_uniform_f64(const void *ctx, const uint32_t *word, int64_t first, int64_t n) {
    double *out = *(double *const *)ctx + first;
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = random_wide(word, i) >> 11;
        double upper = f64_of_bits((int64_t)(v >> 32 | UINT64_C(0x4530000000000000)));
        double lower = f64_of_bits((int64_t)((v & 0xffffffff) | UINT64_C(0x4330000000000000)));
        out[i] = ((upper - 0x1p84) + (lower - 0x1p52)) * 0x1p-53;
    }
}
static void random_uniform_f64(const RandomAt *at, int64_t n, double *out) {
    random_each(at, n, 2, make_uniform_f64, &out);
}

/* Box-Muller: each pair of uniform numbers u, v gives two normal ones: sqrt(-2 log(1 - u)) times
 * the cosine and the sine of v turns. As f32_log and f32_quarter compute them: 1 - u is neither
 * denormal nor 0, and v in quarter turns is a whole number by 2^-22; half a quarter gives the same
 * bits, whichever way it is rounded. One loop for each, because a processor's window holds few
 * iterations of long ones. */
RANDOM_FN void normal_pairs(const uint32_t *word, float *out) {
    enum { PAIRS = WORDS_CHUNK / 2 };
    uint32_t w[2][PAIRS];
    float r[PAIRS], x[PAIRS], y[PAIRS];
    for (int l = 0; l < PAIRS; l++) w[0][l] = word[2 * l], w[1][l] = word[2 * l + 1];
    for (int l = 0; l < PAIRS; l++) {
        int32_t i = f32_bits(1 - rng_float(w[0][l])), e = (i - 0x3f2aaaab) >> 23;
        float m = f32_of_bits(i - (int32_t)((uint32_t)e << 23));
        r[l] = f32_sqrt(-2 * f32_log_sum(m - 1, (float)e));
    }
    for (int l = 0; l < PAIRS; l++) {
        int32_t v = (int32_t)(w[1][l] >> 8), q = (v + 0x200000) >> 22;
        double cosine, sine = f32_sin_cos((double)(v - (q << 22)) * 0x1p-22, &cosine);
        int32_t c = f32_bits((float)cosine), s = f32_bits((float)sine), other = (c ^ s) & -(q & 1);
        x[l] = r[l] * f32_of_bits((c ^ other) ^ (int32_t)((uint32_t)((q + 1) & 2) << 30));
        y[l] = r[l] * f32_of_bits((s ^ other) ^ (int32_t)((uint32_t)(q & 2) << 30));
    }
    for (int l = 0; l < PAIRS; l++) out[2 * l] = x[l], out[2 * l + 1] = y[l];
}
RANDOM_FN void make_normal(const void *ctx, const uint32_t *word, int64_t first, int64_t n) {
    float *out = *(float *const *)ctx + first, some[WORDS_CHUNK];
    if (n == WORDS_CHUNK) {
        normal_pairs(word, out);
        return;
    }
    normal_pairs(word, some);
    __builtin_memcpy(out, some, (size_t)n * sizeof *out);
}
static void random_normal(const RandomAt *at, int64_t n, float *out) {
    random_each(at, n, 1, make_normal, &out);
}

/* rng_int32 and rng_int64 without `low`, of WORDS_CHUNK words: `range` is below 2^32, so that the
 * upper word of the product with it is that of one or two products of 64 bits. */
#if defined __x86_64__
RANDOM_FN void offsets(int words_each, const uint32_t *word, uint32_t range, void *out) {
    const WordsLanes by = (WordsLanes)WORDS_ALL(range);
    for (int i = 0; i < 2 * WORDS_ROWS; i++) {
        WordsLanes w, p;
        __builtin_memcpy(&w, word + i * 2 * ROW_BLOCKS, sizeof w);
        p = words_mul(w, by) >> 32, w = words_mul(w >> 32, by);
        w = words_each == 1 ? p | (w & ~UINT64_C(0xffffffff)) : (p + w) >> 32;
        __builtin_memcpy((char *)out + i * (int)sizeof w, &w, sizeof w);
    }
}
#else
RANDOM_FN void offsets(int words_each, const uint32_t *word, uint32_t range, void *out) {
    for (int i = 0; i < WORDS_CHUNK && words_each == 1; i++)
        ((uint32_t *)out)[i] = (uint32_t)rng_below((uint64_t)word[i] << 32, range);
    for (int i = 0; i < WORDS_CHUNK / 2 && words_each == 2; i++)
        ((uint64_t *)out)[i] = rng_below(random_wide(word, i), range);
}
#endif
typedef struct Range {
    int64_t low, high;
    void *out;
} Range;
/* True if the range has at most 32 bits and a double or an int32 holds `low` and `high`. */
RANDOM_FN bool range_within(const Range *r, int64_t most) {
    uint64_t range = (uint64_t)r->high - (uint64_t)r->low;
    return range == (uint32_t)range && r->low >= -most && r->high <= most;
}
RANDOM_FN double double_of(uint64_t offset) { /* below 2^32: digits of 2^52 */
    return f64_of_bits((int64_t)(offset | UINT64_C(0x4330000000000000))) - 0x1p52;
}
/* A number of an offset o, or of any range of the words. */
#define RANDOM_INT(NAME, T, OFFSET, EACH, MOST, NUMBER, ANY)                                       \
    RANDOM_FN void make_int_##NAME(const void *ctx, const uint32_t *word, int64_t first,           \
                                   int64_t n) {                                                    \
        const Range *r = ctx;                                                                      \
        const int64_t low = r->low, high = r->high;                                                \
        T *out = (T *)r->out + first;                                                              \
        OFFSET o[WORDS_CHUNK / EACH] __attribute__((aligned(64)));                                 \
        offsets(EACH, word, (uint32_t)(high - low), o);                                            \
        for (int64_t i = 0; i < n; i++) out[i] = (T)(NUMBER);                                      \
    }                                                                                              \
    RANDOM_FN void make_any_##NAME(const void *ctx, const uint32_t *word, int64_t first,           \
                                   int64_t n) {                                                    \
        const Range *r = ctx;                                                                      \
        const int64_t low = r->low, high = r->high;                                                \
        T *out = (T *)r->out + first;                                                              \
        for (int64_t i = 0; i < n; i++) out[i] = (T)(ANY);                                         \
    }                                                                                              \
    static void random_int_##NAME(const RandomAt *at, int64_t n, int64_t low, int64_t high,        \
                                  void *out) {                                                     \
        const Range r = {low, high, out};                                                          \
        if (range_within(&r, MOST))                                                                \
            random_each(at, n, EACH, make_int_##NAME, &r);                                         \
        else                                                                                       \
            random_each(at, n, EACH, make_any_##NAME, &r);                                         \
    }
#define RANDOM_INT_32(NAME, T, MOST, NUMBER)                                                       \
    RANDOM_INT(NAME, T, uint32_t, 1, MOST, NUMBER, rng_int32(word[i], low, high))
#define RANDOM_INT_64(NAME, T, MOST, NUMBER)                                                       \
    RANDOM_INT(NAME, T, uint64_t, 2, MOST, NUMBER,                                                 \
               rng_int64(word[2 * i], word[2 * i + 1], low, high))
RANDOM_INT_32(u8, uint8_t, INT64_MAX, (uint32_t)low + o[i])
RANDOM_INT_32(i32, int32_t, INT64_MAX, (uint32_t)low + o[i])
RANDOM_INT_32(f32, float, INT32_MAX, (int32_t)((uint32_t)low + o[i]))
RANDOM_INT_64(i64, int64_t, INT64_MAX, (uint64_t)low + o[i])
RANDOM_INT_64(f64, double, INT64_C(1) << 52, (double)low + double_of(o[i]))

#define KERNELS_RANDOM                                                                             \
    .random_words = random_words, .random_uniform = random_uniform,                                \
    .random_uniform_f64 = random_uniform_f64, .random_normal = random_normal,                      \
    .random_int = {                                                                                \
        [DT_BOOL] = random_int_u8, [DT_U8] = random_int_u8,   [DT_I8] = random_int_u8,             \
        [DT_I32] = random_int_i32, [DT_F32] = random_int_f32, [DT_I64] = random_int_i64,           \
        [DT_F64] = random_int_f64},
#endif
