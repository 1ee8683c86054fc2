/* rng.h: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
 * SC11). Counter-based: element i of the k-th random instruction of seed s is a pure function of
 * (s, k, i), so numbers do not depend on threads, workers, sharding or replay. The key is the
 * 64-bit seed; the counter's words are {block low, block high, instruction low, instruction high}.
 * Element i of a float32 or 32-bit integer source takes word i % 4 of block i / 4; 64-bit kinds
 * take words {2j, 2j+1} with j = i % 2 of block i / 2. `randint` of narrower ints draws as i32
 * does. Halves draw as f32 does and round the result, except that `rand` takes fewer bits, to stay
 * below 1. Normals (Box, Muller, 1958) come in pairs of elements 2k, 2k+1, made of the two
 * uniforms u, v that `rand` would give these elements: r = sqrt(-2 log(1 - u)), z = r cos(2 pi v)
 * for 2k and r sin(2 pi v) for 2k+1. All functions are static inline: the worker's kernels and
 * the client's random() share them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_RNG_H
#define GT_RUNTIME_BASE_RNG_H
#include <stdint.h>

typedef struct Philox {
    uint32_t w[4];
} Philox;

static inline Philox philox(uint64_t seed, uint64_t instruction, uint64_t block) {
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32);
    uint32_t c2 = (uint32_t)instruction, c3 = (uint32_t)(instruction >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1, c3 = (uint32_t)p0, c0 = n0, c2 = n2;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    Philox p = {{c0, c1, c2, c3}};
    return p;
}

/* Uniform in [0, 1): 24 bits for float, 53 for double; multiples of 2^-24 and 2^-53. */
static inline float rng_float(uint32_t w) { return (float)(w >> 8) * 0x1p-24f; }
static inline double rng_double(uint32_t lo, uint32_t hi) {
    return (double)(((uint64_t)hi << 32 | lo) >> 11) * 0x1p-53;
}
/* Halves get as many bits as they have digits (float16 11, bfloat16 8). */
enum { RNG_F16_BITS = 11, RNG_BF16_BITS = 8 };
static inline float rng_half(uint32_t w, int bits) {
    return (float)(w >> (32 - bits)) / (float)(1 << bits);
}
/* Integer in [0, n), n >= 1, from 64 random bits: the high word of the 128-bit product (bias
 * below n / 2^64). */
static inline uint64_t rng_below(uint64_t bits, uint64_t n) {
#ifdef __CUDACC__
    return __umul64hi(bits, n);
#else
    return (uint64_t)(((unsigned __int128)bits * n) >> 64);
#endif
}
/* randint in [low, high), low < high: from 32 random bits for dtypes up to 32 bits, from 64 for
 * i64 and f64. */
static inline int64_t rng_int32(uint32_t w, int64_t low, int64_t high) {
    return (int64_t)((uint64_t)low + rng_below((uint64_t)w << 32, (uint64_t)high - (uint64_t)low));
}
static inline int64_t rng_int64(uint32_t lo, uint32_t hi, int64_t low, int64_t high) {
    uint64_t n = (uint64_t)high - (uint64_t)low;
    return (int64_t)((uint64_t)low + rng_below((uint64_t)hi << 32 | lo, n));
}
#endif
