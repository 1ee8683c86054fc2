/* heap.h: the heap part of values: containers, maps, ranges (value.c, mapv.c, cycles.c).
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_VALUE_HEAP_H
#define GT_LANG_VALUE_HEAP_H
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
void *container_new(Interp *in, ValueKind kind, size_t size_bytes); /* zeroed, refs 1, linked */
void container_clear(Container *c);                                 /* drops its contents */
void mapv_clear(MapV *m);
uint64_t str_hash(Str *s); /* odd, never 0 */
int64_t range_count(const Range *r);
int64_t range_at(const Range *r, int64_t i);
int number_compare(Value a, Value b); /* -1, 0, 1, or 2 if unordered (nan); exact */
static inline double value_double(Value v) {
    return v.kind == V_FLOAT ? v.f : v.kind == V_INT ? (double)v.i : v.b;
}
static inline bool value_is_callable(Value v) {
    return v.kind == V_FN || v.kind == V_BUILTIN || v.kind == V_BOUND || v.kind == V_MODULE ||
           v.kind == V_OBJECT;
}
static inline int64_t sequence_count(Value v) {
    return v.kind == V_LIST ? v.list->n : range_count(v.range);
}
Value sequence_at(Value v, int64_t i); /* new reference; V_LIST or V_RANGE */
void cycles_collect(Interp *in);       /* frees containers reachable only from cycles */
#endif
