/* map.h: a hash map from u64 to pointers, open addressing, for ids and the like. Callers need
 * not hash the keys. The order of iteration is unspecified and must never affect a result.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_MAP_H
#define GT_RUNTIME_BASE_MAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct MapSlot {
    uint64_t key;
    void *value;
} MapSlot; /* value NULL: empty */
typedef struct Map {
    MapSlot *slots;
    size_t n, cap;
} Map; /* zero-initialised is valid, empty */

void *map_get(const Map *m, uint64_t key);       /* NULL if absent */
void map_put(Map *m, uint64_t key, void *value); /* value != NULL; replaces          */
void *map_remove(Map *m, uint64_t key);          /* the old value, or NULL           */
/* for (MapItem it = {0}; map_next(m, &it);) ... it.key ... it.value ... The map must not change
 * during the loop. */
typedef struct MapItem {
    size_t at;
    uint64_t key;
    void *value;
} MapItem;
bool map_next(const Map *m, MapItem *it);
void map_fini(Map *m);
uint64_t hash_bytes(const void *p, size_t n, uint64_t seed); /* FNV-1a, for names and tables */
#endif
