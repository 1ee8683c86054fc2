/* lru.h: what is kept while there is room, in the order of its last use: a list through the items
 * themselves. Finding them is somebody else's (a Map); here is only who goes, and who comes in.
 *
 * Where more goes round than there is room for, each newcomer would throw out what is needed next,
 * and all would be made and nothing used. So a newcomer is let in when it was wanted before, and
 * where there is room or the oldest has not been used for long; otherwise one of some.
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
    uint32_t refused;        /* newcomers */
    uint16_t seen[LRU_SEEN]; /* keys that were wanted, by some of their bits */
} Lru;                       /* zero-initialised is empty */

/* Is so large a newcomer to come in, where `most` bytes may be kept? Then the caller removes the
 * oldest until it fits. key: any hash of what it is for. */
bool lru_admits(Lru *l, uint64_t key, uint64_t bytes, uint64_t most);
void lru_add(Lru *l, LruItem *i, uint64_t bytes); /* used now; not in a list */
void lru_use(Lru *l, LruItem *i);
void lru_remove(Lru *l, LruItem *i);
#endif
