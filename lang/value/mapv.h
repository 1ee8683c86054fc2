/* mapv.h: maps, sets, namespaces and the fields of objects: entries in order of insertion.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_VALUE_MAPV_H
#define GT_LANG_VALUE_MAPV_H
#include "lang/value/value.h"
#include <stddef.h>

typedef struct MapEntry {
    Value key, value;
    uint32_t hash;
    uint8_t tag; /* of an object's field: a FieldTag; else 0 */
} MapEntry;      /* key V_UNDEF: a hole */
/* The tag of the entry of a slot from map_find. A key that is removed and put again has tag 0. */
static inline uint8_t *slot_tag(Value *slot) {
    return &((MapEntry *)((char *)slot - offsetof(MapEntry, value)))->tag;
}
struct MapV {
    Container c;
    uint32_t n, n_live, cap, index_cap, version;
    bool is_space;     /* a namespace (nn, an imported file): keys come before methods */
    bool has_builtins; /* a namespace that falls back to the builtins */
    const char *name;  /* of a namespace: "nn", for errors and builtins named nn.x */
    MapEntry *entry;
    uint32_t *index;
};
enum { KEY_DEPTH = 100 }; /* limit of nesting in a list that is a key */
Value v_map(Interp *in);
Value v_set(Interp *in);
/* Maps keep insertion order. Keys are strings, ints, and lists with is_key, which value_key
 * (pieces.h) makes. A lookup accepts any list. */
void key_text(Value key, Bytes *out); /* as part of a path, or as a key in JSON: a, 3, [1, 2] */
size_t map_count(const MapV *m);
Value *map_find(const MapV *m, Value key); /* borrowed slot, or NULL; valid until the map changes */
Value *map_find_name(const MapV *m, const char *interned);
void mapv_put(MapV *m, Value key, Value v);       /* consumes both */
bool mapv_remove(MapV *m, Value key, Value *old); /* *old: a new reference, if found */
/* The i-th live entry in order (borrowed). False at the end. */
bool mapv_at(const MapV *m, size_t i, Value *key, Value *value);
/* The same of a map or list, whose keys are its indices. False for any other value. */
bool value_kid(Value v, size_t i, Value *key, Value *kid);
void mapv_clear(MapV *m); /* drops its contents */
#endif
