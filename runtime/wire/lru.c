/* lru.c: see lru.h. SPDX-License-Identifier: MIT */
#include "runtime/wire/lru.h"
#include <stddef.h>

enum {
    LONG_AGO = 4, /* uses since an item's last one, per item of the list: it is not needed soon */
    ONE_OF = 16   /* new items, of which one is admitted all the same */
};

bool lru_admits(Lru *l, uint64_t key, uint64_t bytes, uint64_t most) {
    key *= UINT64_C(0x9e3779b97f4a7c15);
    uint16_t *seen = &l->seen[key >> 50], tag = (uint16_t)(key >> 20) | 1;
    bool is_new = *seen != tag;
    *seen = tag;
    if (is_new || bytes > most) return false;
    if (l->bytes + bytes <= most) return true;
    return l->clock - l->oldest->used_at > LONG_AGO * l->n || ++l->refused % ONE_OF == 0;
}

static void put_newest(Lru *l, LruItem *i) {
    i->older = l->newest, i->newer = NULL;
    *(l->newest ? &l->newest->newer : &l->oldest) = i;
    l->newest = i;
    i->used_at = ++l->clock;
}

static void take_out(Lru *l, LruItem *i) {
    *(i->older ? &i->older->newer : &l->oldest) = i->newer;
    *(i->newer ? &i->newer->older : &l->newest) = i->older;
}

void lru_add(Lru *l, LruItem *i, uint64_t bytes) {
    i->bytes = bytes;
    l->n++, l->bytes += bytes;
    put_newest(l, i);
}

void lru_use(Lru *l, LruItem *i) {
    take_out(l, i);
    put_newest(l, i);
}

void lru_remove(Lru *l, LruItem *i) {
    take_out(l, i);
    l->n--, l->bytes -= i->bytes;
}
