/* variants.h: the variants of a position of a hot body, one per set of types of its operands: in a
 * loop over parameters there is a Variant for each shape. The key of a variant is a hash of the
 * types of the leads, the operands that were seen to change. A new lead changes all keys, so all
 * variants of the position are dropped. Positions share room through one Lru, which evicts the
 * variant least recently used. SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_VARIANTS_H
#define GT_RUNTIME_WIRE_VARIANTS_H
#include "runtime/base/map.h"
#include "runtime/inst/inst.h"
#include "runtime/wire/lru.h"

enum { LEADS_MAX = 4 };

typedef struct Lead {
    int64_t at;     /* offset of its id among the arguments; < 0: an earlier result, at ... */
    uint64_t delta; /* ... this distance from the first result, modulo 2^64 */
} Lead;

typedef struct Variants Variants;
typedef struct Variant Variant;
struct Variant {
    LruItem item;  /* first */
    Variant *next; /* of its key */
    Variants *of;
    uint64_t key;
    uint32_t length; /* of one key the longest comes first; of equal ones the youngest */
};

/* One position. */
struct Variants {
    Lru *all;                /* of all positions; set by the owner, as is: */
    void (*free)(Variant *); /* called for an evicted variant */
    Map map;                 /* by key: the first of a list */
    uint32_t n, n_leads;
    Lead lead[LEADS_MAX], next;
    bool has_next; /* `next` is a lead from the next key on */
};

/* Returns the key for these arguments and the first result `base`. add(ctx, id, key) returns the
 * key combined with the type of that tensor, or `key` if there is none. */
uint64_t variants_key(Variants *t, const uint8_t *args, const uint8_t *end, uint64_t base,
                      uint64_t (*add)(const void *ctx, uint64_t id, uint64_t key), const void *ctx);
uint64_t variants_hash(uint64_t key, const TensorType *type);
static inline uint64_t variants_mix(uint64_t key, uint64_t v) {
    return (key ^ key >> 32 ^ v) * UINT64_C(0x9e3779b97f4a7c15);
}
static inline Variant *variants_get(const Variants *t, uint64_t key) {
    return map_get(&t->map, key);
}
/* Adds i as the most recently used. Evicts others until all have `most` bytes or less; i alone
 * does not exceed that. */
void variants_add(Variants *t, Variant *i, uint64_t bytes, uint64_t most);
void variants_drop(Variant *i);
/* The tensor there has another type than before: it may become a lead. */
void variants_changed(Variants *t, int64_t at, uint64_t delta);
void variants_fini(Variants *t); /* drops all of them */
#endif
