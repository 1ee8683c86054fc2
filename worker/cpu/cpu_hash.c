/* cpu_hash.c: hashes of results (runtime/inst/hash.h), on all threads. The sum is modulo 2^64, so
 * its order does not matter.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"

#include <stdatomic.h>

/* Elements of one part: about 4 us. A multiple of HASH_BLOCK. */
enum { HASH_PART = 64 << 10 };

typedef struct Hash {
    const Cpu *c;
    const char *data;
    int size;
    uint64_t first;
    uint16_t sample;
    _Atomic uint64_t sum;
} Hash;

static void hash_range(void *ctx, int64_t begin, int64_t end, int thread) {
    Hash *h = ctx;
    atomic_fetch_add(&h->sum,
                     hash_elements(h->c->kernels->hash, h->data + begin * h->size, end - begin,
                                   h->size, h->first + (uint64_t)begin, h->sample));
}

uint64_t cpu_hash(Engine *e, const void *data, int64_t n, int size, uint64_t first,
                  uint16_t sample) {
    Cpu *c = (Cpu *)e;
    Hash h = {.c = c, .data = data, .size = size, .first = first, .sample = sample};
    cpu_ranges(c, n, (int64_t)HASH_PART * sample, hash_range, &h);
    return atomic_load(&h.sum);
}
