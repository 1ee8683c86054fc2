/* mapv.c: maps in insertion order; keys are strings, ints or lists. The entries are compact, with a
 * separate open-addressed index (none up to 8 entries, where a scan of the hashes is as fast). A
 * removal leaves a hole. The next growth or the next access by position closes it.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/map.h"
#include "lang/value/mapv.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCAN_MAX = 8 };
#define HOLE UINT32_MAX

/* Hashes are odd for strings and even for other keys, so the two never collide. */
static uint32_t name_hash(uint64_t h) { return (uint32_t)(h ^ h >> 29) | 1; }

/* Hash of an element of a list that is a key. Equal values have equal hashes, 2 and 2.0 too. Values
 * that cannot be keys hash like none. */
static uint64_t element_hash(Value v, int depth) {
    uint64_t h = 0;
    switch (v.kind) {
    case V_STR: return str_hash(v.str);
    case V_BOOL: return v.b;
    case V_INT: return (uint64_t)v.i;
    case V_FLOAT:
        if (v.f == floor(v.f) && fabs(v.f) < 0x1p63) return (uint64_t)(int64_t)v.f;
        memcpy(&h, &v.f, sizeof h);
        return h;
    case V_LIST:
        for (uint32_t i = 0; i < v.list->n && depth < KEY_DEPTH; i++)
            h = (h ^ element_hash(v.list->v[i], depth + 1)) * 0x9E3779B97F4A7C15u + 1;
        return h ^ h >> 29;
    default: return 0;
    }
}

static uint32_t key_hash(Value key) {
    if (key.kind == V_STR) return name_hash(str_hash(key.str));
    uint64_t h = element_hash(key, 0) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h ^ h >> 32) << 1;
}

static bool is_key(Value v) { return v.kind == V_STR || v.kind == V_INT || v.kind == V_LIST; }

void key_text(Value key, Bytes *out) {
    if (key.kind == V_STR) bytes_add(out, key.str->s, key.str->n);
    if (key.kind == V_INT) bytes_printf(out, "%lld", (long long)key.i);
    if (key.kind == V_FLOAT) bytes_printf(out, "%.17g", key.f);
    if (key.kind == V_BOOL) bytes_puts(out, key.b ? "true" : "false");
    if (key.kind == V_NONE) bytes_puts(out, "none");
    if (key.kind != V_LIST) return;
    bytes_putc(out, '[');
    for (uint32_t i = 0; i < key.list->n; i++) {
        if (i) bytes_puts(out, ", ");
        key_text(key.list->v[i], out);
    }
    bytes_putc(out, ']');
}

static uint32_t first_place(uint32_t hash, uint32_t mask) { return hash >> 1 & mask; }

static bool key_equal(const MapEntry *en, Value key, uint32_t hash) {
    if (en->hash != hash || en->key.kind != key.kind) return false;
    if (key.kind == V_INT) return en->key.i == key.i;
    if (key.kind == V_LIST) return value_equal(en->key, key);
    return str_equal(en->key.str, key.str);
}

Value v_map(Interp *in) {
    return (Value){.kind = V_MAP, .map = container_new(in, V_MAP, sizeof(MapV))};
}

Value v_set(Interp *in) {
    return (Value){.kind = V_SET, .map = container_new(in, V_SET, sizeof(MapV))};
}

size_t map_count(const MapV *m) { return m->n_live; }

static uint32_t find(const MapV *m, Value key, uint32_t hash) {
    if (!m->index) {
        for (uint32_t i = 0; i < m->n; i++)
            if (key_equal(&m->entry[i], key, hash)) return i;
        return HOLE;
    }
    uint32_t mask = m->index_cap - 1;
    for (uint32_t s = first_place(hash, mask);; s = (s + 1) & mask) {
        uint32_t i = m->index[s];
        if (!i) return HOLE;
        if (i != HOLE && key_equal(&m->entry[i - 1], key, hash)) return i - 1;
    }
}

/* Closes holes, makes room for one more entry and rebuilds the index. */
static void rebuild(MapV *m) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n; i++)
        if (m->entry[i].key.kind != V_UNDEF) m->entry[n++] = m->entry[i];
    m->n = n;
    assert(n == m->n_live);
    /* A quarter stays free; otherwise alternating removal and insertion would rebuild each time. */
    if (n >= m->cap - m->cap / 4) {
        assert(m->cap < UINT32_MAX / 4);
        m->cap = m->cap ? m->cap * 2 : 4;
        m->entry = xrealloc(m->entry, m->cap * sizeof *m->entry);
    }
    free(m->index);
    m->index = NULL;
    if (m->cap <= SCAN_MAX) return;
    for (m->index_cap = 16; m->index_cap < m->cap * 2; m->index_cap *= 2) {}
    m->index = xcalloc(m->index_cap, sizeof *m->index);
    uint32_t mask = m->index_cap - 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t s = first_place(m->entry[i].hash, mask);
        while (m->index[s]) s = (s + 1) & mask;
        m->index[s] = i + 1;
    }
}

Value *map_find(const MapV *m, Value key) {
    if (!is_key(key)) return NULL;
    uint32_t i = find(m, key, key_hash(key));
    return i == HOLE ? NULL : &m->entry[i].value;
}

Value *map_find_name(const MapV *m, const char *interned) {
    size_t n = strlen(interned);
    uint32_t hash = name_hash(hash_bytes(interned, n, 0) | 1);
    if (!m->index) {
        for (uint32_t i = 0; i < m->n; i++) {
            const MapEntry *en = &m->entry[i];
            if (en->hash == hash && en->key.kind == V_STR && en->key.str->n == n &&
                !memcmp(en->key.str->s, interned, n))
                return &m->entry[i].value;
        }
        return NULL;
    }
    Value key = v_str(interned, n);
    Value *v = map_find(m, key);
    value_drop(key);
    return v;
}

void mapv_put(MapV *m, Value key, Value v) {
    assert(key.kind == V_LIST ? key.list->is_key : is_key(key));
    uint32_t hash = key_hash(key);
    uint32_t i = find(m, key, hash);
    if (i != HOLE) {
        value_drop(key);
        value_set(&m->entry[i].value, v);
        return;
    }
    if (m->n == m->cap) rebuild(m);
    m->entry[m->n] = (MapEntry){.key = key, .value = v, .hash = hash};
    m->n++;
    m->n_live++;
    m->version++;
    if (!m->index) return;
    uint32_t mask = m->index_cap - 1, s = first_place(hash, mask);
    while (m->index[s] && m->index[s] != HOLE) s = (s + 1) & mask;
    m->index[s] = m->n;
}

bool mapv_remove(MapV *m, Value key, Value *old) {
    if (!is_key(key)) return false;
    uint32_t hash = key_hash(key);
    uint32_t i = find(m, key, hash);
    if (i == HOLE) return false;
    if (m->index) {
        uint32_t mask = m->index_cap - 1, s = first_place(hash, mask);
        while (m->index[s] != i + 1) s = (s + 1) & mask;
        m->index[s] = HOLE;
    }
    MapEntry *en = &m->entry[i];
    *old = en->value;
    Value gone = en->key;
    *en = (MapEntry){.key = {.kind = V_UNDEF}};
    m->n_live--;
    m->version++;
    value_drop(gone);
    return true;
}

bool mapv_at(const MapV *m, size_t i, Value *key, Value *value) {
    if (m->n != m->n_live) rebuild((MapV *)m); /* logically const: keys, values and order stay */
    if (i >= m->n) return false;
    *key = m->entry[i].key;
    *value = m->entry[i].value;
    return true;
}

bool value_kid(Value v, size_t i, Value *key, Value *kid) {
    if (v.kind == V_MAP) return mapv_at(v.map, i, key, kid);
    if (v.kind != V_LIST || i >= v.list->n) return false;
    *key = v_int((int64_t)i);
    *kid = v.list->v[i];
    return true;
}

void mapv_clear(MapV *m) {
    MapEntry *entry = m->entry;
    uint32_t n = m->n;
    free(m->index);
    m->entry = NULL;
    m->index = NULL;
    m->n = m->n_live = m->cap = 0;
    m->version++;
    for (uint32_t i = 0; i < n; i++) {
        value_drop(entry[i].key);
        value_drop(entry[i].value);
    }
    free(entry);
}
