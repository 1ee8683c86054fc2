/* variants.h: what is kept of a position of a hot body, once for each set of types that its
 * operands had: a loop over parameters has a Variant for each shape. The key of a variant is a hash
 * of the types of the leads, which are operands that were seen to change. With a new lead all keys
 * would be others, so all variants of the position go. Positions share room through one Lru: the
 * variant
 * used least recently goes first. SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_VARIANTS_H
#define GT_RUNTIME_WIRE_VARIANTS_H
#include "runtime/base/map.h"
#include "runtime/inst/inst.h"
#include "runtime/wire/lru.h"

enum { LEADS_MAX = 4 };

typedef struct Lead {
    int64_t at;     /* its id stands there among the arguments, bytes; < 0: it is made so far ... */
    uint64_t delta; /* ... from the first result, modulo 2^64 */
} Lead;

typedef struct Variants Variants;
typedef struct Variant Variant;
struct Variant {
    LruItem item;  /* first */
    Variant *next; /* of its key */
    Variants *of;
    uint64_t key;
    uint32_t length; /* of one key, the longest comes first; of those, the youngest */
};

/* One position. */
struct Variants {
    Lru *all;                /* of all positions; set by the owner, as is: */
    void (*free)(Variant *); /* it was taken out */
    Map map;                 /* by key: the first of a list */
    uint32_t n, n_leads;
    Lead lead[LEADS_MAX], next;
    bool has_next; /* `next` is a lead from the next key on */
};

/* The key of what comes with these arguments, the first result being `base`. add(ctx, id, key) is
 * the key with the type of that tensor, or `key` where there is none. */
uint64_t variants_key(Variants *t, const uint8_t *args, const uint8_t *end, uint64_t base,
                      uint64_t (*add)(const void *ctx, uint64_t id, uint64_t key), const void *ctx);
uint64_t variants_hash(uint64_t key, const TensorType *type);
static inline uint64_t variants_mix(uint64_t key, uint64_t v) {
    return (key ^ key >> 32 ^ v) * UINT64_C(0x9e3779b97f4a7c15);
}
static inline Variant *variants_get(const Variants *t, uint64_t key) {
    return map_get(&t->map, key);
}
/* As the one used last. Others go until all have `most` bytes or less; i has no more than that. */
void variants_add(Variants *t, Variant *i, uint64_t bytes, uint64_t most);
void variants_drop(Variant *i);
/* The tensor there is of another type than it was: that may be what tells variants apart. */
void variants_changed(Variants *t, int64_t at, uint64_t delta);
void variants_fini(Variants *t); /* all of them go */
#endif
