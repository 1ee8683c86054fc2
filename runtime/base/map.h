/* map.h: a hash map from u64 to pointer-sized values, open addressing, for ids and the like. Keys
 * need no hashing by the caller (mixed inside). Iteration order is unspecified and must never reach
 * a result.
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

void *map_get(const Map *m, uint64_t key);       /* NULL when absent                 */
void map_put(Map *m, uint64_t key, void *value); /* value != NULL; replaces          */
void *map_remove(Map *m, uint64_t key);          /* the old value, or NULL           */
/* for (size_t i = 0; map_next(m, &i, &k, &v);) ...    The map must not change meanwhile.  */
bool map_next(const Map *m, size_t *i, uint64_t *key, void **value);
void map_fini(Map *m);
uint64_t hash_bytes(const void *p, size_t n, uint64_t seed); /* FNV-1a, for names and tables */
#endif
