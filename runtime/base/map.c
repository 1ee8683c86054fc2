/* map.c: linear probing in a power of two of slots, at most 5/8 full. Removal shifts the run
 * after the hole back, so there are no tombstones and a long-lived table does not degrade.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/map.h"
#include "runtime/base/err.h"

#include <assert.h>
#include <stdlib.h>

/* The preferred slot of a key. Ids are consecutive, hence the finaliser of MurmurHash3
 * (Appleby). */
static size_t home(const Map *m, uint64_t k) {
    k ^= k >> 33, k *= 0xff51afd7ed558ccdu;
    k ^= k >> 33, k *= 0xc4ceb9fe1a85ec53u;
    k ^= k >> 33;
    return (size_t)k & (m->cap - 1);
}

/* Returns the slot of key, or the empty one where it would go; cap > 0. */
static MapSlot *slot_of(const Map *m, uint64_t key) {
    size_t i = home(m, key);
    while (m->slots[i].value && m->slots[i].key != key) i = (i + 1) & (m->cap - 1);
    return &m->slots[i];
}

static void grow(Map *m) {
    Map old = *m;
    m->cap = old.cap ? old.cap * 2 : 16;
    m->slots = xcalloc(m->cap, sizeof *m->slots);
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].value) *slot_of(m, old.slots[i].key) = old.slots[i];
    free(old.slots);
}

void *map_get(const Map *m, uint64_t key) { return m->n ? slot_of(m, key)->value : NULL; }

void map_put(Map *m, uint64_t key, void *value) {
    assert(value);
    if (8 * (m->n + 1) > 5 * m->cap) grow(m);
    MapSlot *s = slot_of(m, key);
    if (!s->value) m->n++;
    *s = (MapSlot){key, value};
}

void *map_remove(Map *m, uint64_t key) {
    if (m->n == 0) return NULL;
    MapSlot *s = slot_of(m, key);
    void *value = s->value;
    if (!value) return NULL;
    size_t mask = m->cap - 1, hole = (size_t)(s - m->slots);
    for (size_t i = (hole + 1) & mask; m->slots[i].value; i = (i + 1) & mask) {
        /* An entry may move into the hole unless its home lies after the hole, cyclically. */
        size_t from_home = (i - home(m, m->slots[i].key)) & mask, from_hole = (i - hole) & mask;
        if (from_home < from_hole) continue;
        m->slots[hole] = m->slots[i];
        hole = i;
    }
    m->slots[hole] = (MapSlot){0};
    m->n--;
    return value;
}

bool map_next(const Map *m, MapItem *it) {
    while (it->at < m->cap && !m->slots[it->at].value) it->at++;
    if (it->at >= m->cap) return false;
    it->key = m->slots[it->at].key;
    it->value = m->slots[it->at++].value;
    return true;
}

void map_fini(Map *m) {
    free(m->slots);
    *m = (Map){0};
}

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed) {
    const unsigned char *s = p;
    uint64_t h = 0xcbf29ce484222325u ^ seed;
    for (size_t i = 0; i < n; i++) h = (h ^ s[i]) * 0x100000001b3u;
    return h;
}
