/* hash_test.c: hashes of values: parts add up to the whole for any split and order, each
 * instruction set gives the sums of plain loops, and any change of one element changes the hash.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/hash.h"
#include "tests/unit/check.h"
#include "tests/unit/random.h"
#include "worker/kernel/kernels.h"
#include <stdlib.h>

enum { BYTES = 40000 };

static uint64_t whole(const void *data, int64_t n, int size, uint16_t sample) {
    return hash_elements(hash_sums, data, n, size, 0, sample);
}

static uint8_t *random_bytes(Rand *r) {
    uint8_t *p = malloc(BYTES);
    for (int i = 0; i < BYTES; i++) p[i] = (uint8_t)rand_below(r, 256);
    return p;
}

static void test_parts(Rand *r, int size) {
    uint8_t *data = random_bytes(r);
    int64_t n = BYTES / size;
    for (int turn = 0; turn < 40; turn++) {
        uint16_t sample = (uint16_t)(1 + rand_below(r, 3));
        uint64_t sum = 0;
        for (int64_t at = 0, step; at < n; at += step) {
            step = 1 + rand_below(r, turn % 2 ? 3000 : 50);
            if (step > n - at) step = n - at;
            sum += hash_elements(hash_sums, data + at * size, step, size, (uint64_t)at, sample);
        }
        CHECK(sum == whole(data, n, size, sample));
    }
    free(data);
}

static void test_kernels(Rand *r, int size) {
    uint8_t *data = random_bytes(r);
    const Kernels *const tables[] = {&kernels_base, kernels_find(), &kernels_v3};
    for (int i = 0; i < (__builtin_cpu_supports("avx2") ? 3 : 2); i++)
        for (int turn = 0; turn < 20; turn++) {
            int64_t n = rand_below(r, BYTES / size), first = rand_below(r, 5000);
            CHECK(hash_elements(tables[i]->hash, data, n, size, (uint64_t)first, 1) ==
                  hash_elements(hash_sums, data, n, size, (uint64_t)first, 1));
        }
    free(data);
}

/* A bit, an element, two that change places, two that change by opposite amounts. */
static void test_changes(Rand *r, int size) {
    uint8_t *data = random_bytes(r);
    int64_t n = BYTES / size;
    uint64_t hash = whole(data, n, size, 1);
    for (int turn = 0; turn < 200; turn++) {
        int bit = rand_below(r, 8 * BYTES);
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(whole(data, n, size, 1) != hash);
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        int64_t i = rand_below(r, (int)n), j = rand_below(r, (int)n);
        if (turn % 2) j = (i + HASH_BLOCK * 4 / (size < 4 ? 4 : size)) % n; /* in the next block */
        uint8_t *p = data + i * size, *q = data + j * size, kept[8];
        if (!memcmp(p, q, (size_t)size)) continue;
        memcpy(kept, p, (size_t)size), memcpy(p, q, (size_t)size), memcpy(q, kept, (size_t)size);
        CHECK(whole(data, n, size, 1) != hash);
        memcpy(kept, p, (size_t)size), memcpy(p, q, (size_t)size), memcpy(q, kept, (size_t)size);
        CHECK(whole(data, n, size, 1) == hash);
        if (*p == 255 || *q == 0) continue;
        ++*p, --*q;
        CHECK(whole(data, n, size, 1) != hash);
        --*p, ++*q;
    }
    free(data);
}

/* Tensors of few distinct values: a hash that is linear in the place would often repeat. */
static void test_collisions(void) {
    enum { N = 6, VALUES = 4, ALL = 4096 };
    uint64_t *seen = malloc(ALL * sizeof *seen);
    for (int code = 0; code < ALL; code++) {
        float x[N];
        for (int i = 0, c = code; i < N; i++, c /= VALUES) x[i] = (float)(c % VALUES);
        seen[code] = whole(x, N, 4, 1);
    }
    int repeated = 0;
    for (int i = 0; i < ALL; i++)
        for (int j = 0; j < i; j++) repeated += seen[i] == seen[j];
    CHECK_INT(repeated, 0);
    free(seen);
}

static void test_samples(void) {
    TensorType small = {DT_F32, 2, {64, 256}}, large = {DT_F32, 2, {4096, 1024}};
    TensorType wide = {DT_F64, 1, {1 << 17}};
    CHECK_INT(hash_sample(&small, false), 1);
    CHECK_INT(hash_sample(&large, false), 256);
    CHECK_INT(hash_sample(&large, true), 1);
    CHECK_INT(hash_sample(&wide, false), 16);
    int64_t n = 4096 * 1024;
    float *x = calloc((size_t)n, sizeof *x);
    int covered = 0; /* blocks in which a change is seen */
    for (int64_t i = 0; i < n; i += HASH_BLOCK) {
        x[i] = 1;
        covered += hash_elements(hash_sums, x + i, 1, 4, (uint64_t)i, 256) != 0;
        x[i] = 0;
    }
    CHECK_MSG(covered > 3 && covered < 48, "%d of 4096 blocks are hashed", covered);
    free(x);
}

int main(int argc, char **argv) {
    Rand r = {rand_seed(argc, argv)};
    for (int size = 1; size <= 8; size *= 2) {
        test_parts(&r, size);
        test_kernels(&r, size);
        test_changes(&r, size);
    }
    test_collisions();
    test_samples();
    return check_report("hash");
}
