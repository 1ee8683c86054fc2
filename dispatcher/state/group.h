/* group.h: the groups of ranks that instructions name (place.h), and sets of ranks. Each group
 * exists once. A group lives until its last holder releases it, the group of a single worker as
 * long as the dispatcher. Its pointer is stable, and its number is never reused. All workers
 * know all groups: whatever creates or ends a group tells them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_STATE_GROUP_H
#define GT_DISPATCHER_STATE_GROUP_H
#include "runtime/base/map.h"
#include "runtime/layout/place.h"

enum { RANKSET_WORDS = MAX_WORKERS / 64 };
typedef struct RankSet {
    uint64_t bits[RANKSET_WORDS];
} RankSet;

static inline bool ranks_has(const RankSet *s, int rank) {
    return s->bits[rank / 64] >> (rank % 64) & 1;
}
static inline void ranks_add(RankSet *s, int rank) {
    s->bits[rank / 64] |= UINT64_C(1) << (rank % 64);
}
static inline void ranks_remove(RankSet *s, int rank) {
    s->bits[rank / 64] &= ~(UINT64_C(1) << (rank % 64));
}
static inline void ranks_join(RankSet *s, const RankSet *other) {
    for (int i = 0; i < RANKSET_WORDS; i++) s->bits[i] |= other->bits[i];
}
static inline bool ranks_covers(const RankSet *s, const RankSet *part) {
    uint64_t missing = 0;
    for (int i = 0; i < RANKSET_WORDS; i++) missing |= part->bits[i] & ~s->bits[i];
    return !missing;
}
int ranks_count(const RankSet *s);
/* Returns the first rank of s from `rank` on; -1: none.
 *      for (int r = -1; (r = ranks_next(s, r + 1)) >= 0;) */
int ranks_next(const RankSet *s, int rank);

typedef struct Members {
    uint32_t id;
    uint32_t holders; /* clients */
    int n;
    struct Members *same_hash, *older, *younger;
    RankSet set;
    int32_t rank[]; /* in order */
} Members;

/* "w0", "w0 w2", "w0..w71", "w3 w1 w4 ... (12 in all)"; buf >= 64 bytes. */
const char *members_text(const Members *m, char *buf);

/* Zero-initialised is valid and empty. */
typedef struct Groups {
    Map by_id;
    Map by_hash;    /* -> the last one of equal hash */
    Members *first; /* oldest; then `younger` */
    Members *last;
    uint32_t last_id;
} Groups;
/* Returns the group of these distinct ranks in this order. *is_new: true if it was created now.
 * NULL: there are MAX_GROUPS already. */
const Members *groups_get(Groups *g, const int32_t *rank, int n, bool *is_new);
/* NULL if it does not exist. */
const Members *groups_find(const Groups *g, const int32_t *rank, int n);
const Members *groups_by_id(const Groups *g, uint64_t id); /* NULL if it does not exist */
void groups_hold(Groups *g, uint32_t id);
/* True if that was the last holder: the group is freed. */
bool groups_release(Groups *g, uint32_t id);
void groups_fini(Groups *g);
#endif
