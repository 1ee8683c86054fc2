/* hash.c: see hash.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/hash.h"

#include <pthread.h>

static uint32_t keys[HASH_BLOCK];

/* Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014). */
static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* No key may be 0: then the element would not count. */
static void fill_keys(void) {
    for (int i = 0; i < HASH_BLOCK; i++) {
        uint32_t key = (uint32_t)(mix((uint64_t)i) >> 32);
        keys[i] = key ? key : 1;
    }
}

static const uint32_t *hash_keys(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_keys);
    return keys;
}

HASH_SUM(sum_1, uint8_t)
HASH_SUM(sum_2, uint16_t)
HASH_SUM(sum_4, uint32_t)
const HashSumFn hash_sums[3] = {sum_1, sum_2, sum_4};

static uint64_t block_bits(uint64_t block) { return mix(block + HASH_BLOCK); }

uint64_t hash_elements(const HashSumFn sum[3], const void *data, int64_t n, int size,
                       uint64_t first, uint16_t sample) {
    const uint32_t *key = hash_keys();
    const char *at = data;
    if (size == 8) n *= 2, first *= 2, size = 4;
    HashSumFn fn = sum[size >> 1];
    uint64_t total = 0;
    while (n > 0) {
        uint64_t block = first / HASH_BLOCK, begin = first % HASH_BLOCK, bits = block_bits(block);
        int64_t here = (int64_t)(HASH_BLOCK - begin) < n ? (int64_t)(HASH_BLOCK - begin) : n;
        if (sample == 1 || (bits >> 32) % sample == 0)
            total += fn(here, at, key + begin) * (bits | 1);
        first += (uint64_t)here;
        n -= here;
        at += here * size;
    }
    return total;
}

uint16_t hash_sample(const TensorType *whole, bool all) {
    uint64_t words = (uint64_t)type_numel(whole);
    if (dtype_info[whole->dtype].size_bytes == 8) words *= 2;
    if (all || words <= HASH_WHOLE) return 1;
    uint64_t k = words / HASH_WHOLE;
    return k < UINT16_MAX ? (uint16_t)k : UINT16_MAX;
}
