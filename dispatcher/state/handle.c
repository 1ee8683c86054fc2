/* handle.c: open addressing with linear probing over keys id + 1 (0 is free). A removal shifts
 * later entries back.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/handle.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CAP_MIN = 64 };

/* Finaliser of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators",
 * OOPSLA 2014). */
static inline uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline size_t home(const Handles *t, uint64_t key) {
    return mix(key ^ t->seed) & (t->cap - 1);
}

/* Returns the slot of the key, or the free slot where it would go. */
static size_t slot_of(const Handles *t, uint64_t key) {
    size_t i = home(t, key);
    while (t->key[i] && t->key[i] != key) i = (i + 1) & (t->cap - 1);
    return i;
}

uint64_t handles_bytes(const Handles *t) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < t->cap; i++)
        if (t->key[i] && !t->value[i].is_poisoned) bytes += type_bytes(&t->value[i].type);
    return bytes;
}

static void resize(Handles *t, size_t cap) {
    Handles old = *t;
    t->cap = cap;
    t->key = xcalloc(cap, sizeof t->key[0]);
    t->value = xmalloc(cap * sizeof t->value[0]);
    for (size_t i = 0; i < old.cap; i++) {
        if (!old.key[i]) continue;
        size_t to = slot_of(t, old.key[i]);
        t->key[to] = old.key[i];
        t->value[to] = old.value[i];
    }
    free(old.key);
    free(old.value);
}

TensorHandle *handles_find(const Handles *t, uint64_t id) {
    if (t->n == 0) return NULL;
    size_t i = slot_of(t, id + 1);
    return t->key[i] ? &t->value[i] : NULL;
}

TensorHandle *handles_add(Handles *t, uint64_t id) {
    if (2 * (t->n + 1) > t->cap) resize(t, t->cap ? 2 * t->cap : CAP_MIN);
    size_t i = slot_of(t, id + 1);
    assert(!t->key[i]);
    t->key[i] = id + 1;
    t->n++;
    memset(&t->value[i], 0, sizeof t->value[i]);
    return &t->value[i];
}

bool handles_remove(Handles *t, uint64_t id, TensorHandle *old) {
    if (t->n == 0) return false;
    size_t mask = t->cap - 1, hole = slot_of(t, id + 1);
    if (!t->key[hole]) return false;
    if (old)
        *old = t->value[hole];
    else
        converted_free(&t->value[hole].converted);
    for (size_t i = (hole + 1) & mask; t->key[i]; i = (i + 1) & mask) {
        /* Move it back unless its home lies cyclically after the hole. */
        if (((i - home(t, t->key[i])) & mask) < ((i - hole) & mask)) continue;
        t->key[hole] = t->key[i];
        t->value[hole] = t->value[i];
        hole = i;
    }
    t->key[hole] = 0;
    t->n--;
    if (t->cap > CAP_MIN && 8 * t->n < t->cap) resize(t, t->cap / 2);
    return true;
}

void converted_free(Converted **list) {
    while (*list) {
        Converted *c = *list;
        *list = c->next;
        free(c);
    }
}

void handles_fini(Handles *t) {
    for (size_t i = 0; i < t->cap; i++)
        if (t->key[i]) converted_free(&t->value[i].converted);
    free(t->key);
    free(t->value);
    *t = (Handles){.seed = t->seed};
}
