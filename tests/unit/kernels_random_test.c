/* kernels_random_test.c: random numbers of the kernels, on every instruction set, beside
 * runtime/base/rng.h: to the bit for words, uniform numbers and ints; normal numbers beside the
 * formula in double, and by a hash of 16 million, which a new way to make them must not change.
 * Blocks near 2^32, where the upper word of a block's number changes, are in reach of few tensors.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/map.h"
#include "runtime/base/rng.h"
#include "tests/unit/check.h"
#include "tests/unit/random.h"
#include "worker/kernel/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const Kernels *const isas[] = {&kernels_base, &kernels_v3, &kernels_v4};
static bool runs_here(const Kernels *k) {
    const Kernels *best = kernels_find();
    return k == &kernels_base || k == best || (k == &kernels_v3 && best == &kernels_v4);
}

enum { MOST = 700, GUARD = 0x5a };
static uint32_t word[2 * MOST + 4];
static double memory[MOST + 1]; /* results of any dtype, and what must stay */

static const void *number_of(DType d, int64_t i, int64_t low, int64_t high) {
    static union {
        float f;
        double g;
        int64_t whole; /* little-endian: the narrower ints as well */
    } x;
    int64_t v = dtype_info[d].size_bytes == 8 ? rng_int64(word[2 * i], word[2 * i + 1], low, high)
                                              : rng_int32(word[i], low, high);
    x.whole = v;
    if (d == DT_F32) x.f = (float)v;
    if (d == DT_F64) x.g = (double)v;
    return &x;
}
static void begin(void) { memset(memory, GUARD, sizeof memory); }
/* True if nothing was written behind n elements. */
static bool is_kept(int64_t n, int size) {
    const unsigned char *p = (const unsigned char *)memory;
    for (size_t i = (size_t)(n * size); i < sizeof memory; i++)
        if (p[i] != GUARD) return false;
    return true;
}

static int64_t n_compared;

static void test_ints(const Kernels *k, const RandomAt *at, int64_t n) {
    static const int64_t ranges[][2] = {
        {0, 1},
        {0, 10},
        {-5, 250},
        {-7, INT32_MAX},
        {5, 1LL << 32},
        {-(1LL << 31), 1LL << 31},
        {0, INT64_MAX},
        {1LL << 60, (1LL << 60) + 77},
        {INT64_MIN, 3},
        {INT64_MIN, INT64_MIN + 9},
        {INT64_MAX - 9, INT64_MAX},
    };
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
        for (DType d = 0; d < DT_COUNT; d++) {
            if (!k->random_int[d]) continue;
            int64_t low = ranges[r][0], high = ranges[r][1];
            int size = dtype_info[d].size_bytes, wrong = 0;
            begin();
            k->random_int[d](at, n, low, high, memory);
            for (int64_t i = 0; i < n; i++)
                wrong += memcmp((char *)memory + i * size, number_of(d, i, low, high),
                                (size_t)size) != 0;
            CHECK_MSG(wrong == 0, "%s: %d of %lld ints in [%lld, %lld) as %s are wrong", k->isa,
                      wrong, (long long)n, (long long)low, (long long)high, dtype_info[d].name);
            CHECK(is_kept(n, size));
            n_compared += n;
        }
}

static void test_floats(const Kernels *k, const RandomAt *at, int64_t n) {
    static const int bits[] = {24, RNG_F16_BITS, RNG_BF16_BITS};
    const float *f = (const float *)memory;
    for (int b = 0; b < 3; b++) {
        int wrong = 0;
        begin();
        k->random_uniform(at, n, bits[b], (float *)memory);
        for (int64_t i = 0; i < n; i++) wrong += f[i] != rng_half(word[i], bits[b]);
        CHECK_MSG(wrong == 0, "%s: %d of %lld uniform numbers are wrong", k->isa, wrong,
                  (long long)n);
        CHECK(is_kept(n, 4));
    }
    int wrong = 0;
    begin();
    k->random_uniform_f64(at, n, memory);
    for (int64_t i = 0; i < n; i++) wrong += memory[i] != rng_double(word[2 * i], word[2 * i + 1]);
    CHECK_MSG(wrong == 0, "%s: %d of %lld uniform doubles are wrong", k->isa, wrong, (long long)n);
    CHECK(is_kept(n, 8));
    begin(), wrong = 0;
    k->random_normal(at, n, (float *)memory);
    for (int64_t i = 0; i < n; i++) {
        double u = rng_float(word[i & ~1]), v = rng_float(word[i | 1]);
        double r = sqrt(-2 * log(1 - u)), turn = 2 * M_PI * v;
        double want = r * (i & 1 ? sin(turn) : cos(turn));
        wrong += !(fabs(f[i] - want) <= 3e-7 * fabs(want) + 1e-15);
    }
    CHECK_MSG(wrong == 0, "%s: %d of %lld normal numbers are wrong", k->isa, wrong, (long long)n);
    CHECK(is_kept(n, 4));
    n_compared += 5 * n;
}

static void test_draw(const RandomAt *at, int64_t n) {
    for (int64_t b = 0; b < n / 2 + 1; b++) {
        Philox p = philox(at->seed, at->counter, at->block + (uint64_t)b);
        memcpy(word + 4 * b, p.w, sizeof p.w);
    }
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        if (!runs_here(isas[i])) continue;
        begin();
        isas[i]->random_words(at, n, (uint32_t *)memory);
        CHECK_MSG(!memcmp(memory, word, (size_t)n * 4), "%s: words are wrong", isas[i]->isa);
        CHECK(is_kept(n, 4));
        test_floats(isas[i], at, n);
        test_ints(isas[i], at, n);
    }
}

/* The second numbers of some pairs lie between two quarter turns, which is rare. */
static void test_hash(void) {
    enum { PARTS = 16, N = 1 << 20 };
    float *x = malloc(N * sizeof *x);
    for (size_t i = 0; x && i < sizeof isas / sizeof *isas; i++) {
        if (!runs_here(isas[i])) continue;
        uint64_t hash = 0;
        for (int p = 0; p < PARTS; p++) {
            isas[i]->random_normal(&(RandomAt){1, 2, (uint64_t)(p * (N / 4))}, N, x);
            hash = hash_bytes(x, N * sizeof *x, hash);
        }
        CHECK_MSG(hash == UINT64_C(0xbdce0a159cb85a1b), "%s: the hash is %llx", isas[i]->isa,
                  (unsigned long long)hash);
    }
    free(x);
}

int main(int argc, char **argv) {
    Rand r = {rand_seed(argc, argv)};
    int draws = rand_rounds(40);
    for (int i = 0; i < draws; i++) {
        RandomAt at = {rand_u64(&r), rand_u64(&r), rand_u64(&r)};
        if (i % 2) at.block = (at.block & ~UINT64_C(0xffffffff)) - (uint64_t)rand_below(&r, 100);
        if (i % 4 == 0) at.counter &= 0xffff, at.block &= 0xffff;
        test_draw(&at, 1 + rand_below(&r, i % 3 ? MOST : 9));
    }
    test_hash();
    printf("  %lld numbers compared\n", (long long)n_compared);
    return check_report("kernels_random");
}
