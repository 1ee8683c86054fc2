/* lru.h: a bounded cache with least-recently-used eviction: a list through the items themselves.
 * The caller finds items (with a Map); this decides admission and eviction.
 *
 * If more items are in use in turn than fit, each new one would evict the one needed next, and
 * nothing would be reused. So a new item is admitted only if its key was wanted before, and
 * there is room or the oldest item has not been used for long; otherwise one in several is
 * admitted.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_LRU_H
#define GT_RUNTIME_WIRE_LRU_H
#include <stdbool.h>
#include <stdint.h>

enum { LRU_SEEN = 16384 };

typedef struct LruItem LruItem;
struct LruItem {
    LruItem *older, *newer;
    uint64_t used_at, bytes;
};

typedef struct Lru {
    LruItem *oldest, *newest;
    uint64_t n, bytes;
    uint64_t clock;          /* counts uses */
    uint32_t refused;        /* new items that were not admitted */
    uint16_t seen[LRU_SEEN]; /* keys that were wanted, by some of their bits */
} Lru;                       /* zero-initialised is empty */

/* Should a new item of this size be admitted, if `most` bytes may be kept? If so the caller
 * removes the oldest until it fits. key: any hash of what the item is for. */
bool lru_admits(Lru *l, uint64_t key, uint64_t bytes, uint64_t most);
void lru_add(Lru *l, LruItem *i, uint64_t bytes); /* used now; not in a list */
void lru_use(Lru *l, LruItem *i);
void lru_remove(Lru *l, LruItem *i);
#endif
