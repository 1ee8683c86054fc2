/* rand.h: random numbers from a seed, for samples. (runtime/base/rng.h has those of tensors.)
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PROVE_RAND_H
#define GT_WORKER_PROVE_RAND_H
#include <stdint.h>
#include <string.h>

typedef struct Rand {
    uint64_t state;
} Rand;

/* splitmix64 (Steele, Lea, Flood). */
static inline uint64_t rand_u64(Rand *r) {
    uint64_t z = r->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}
static inline int rand_below(Rand *r, int n) { return (int)(rand_u64(r) % (uint64_t)n); }
static inline void rand_fill(Rand *r, char *p, uint64_t bytes) {
    for (uint64_t i = 0, u; i < bytes; i += 8) {
        u = rand_u64(r);
        memcpy(p + i, &u, bytes - i < 8 ? bytes - i : 8);
    }
}
#endif
