/* io_tree.c: trees of values: made, freed, and nested by the "/" in their names.
 * SPDX-License-Identifier: MIT */
#include "lang/file/io.h"
#include "lang/error/interrupt.h"
#include "runtime/base/map.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NEST = 32 }; /* levels of "/" in a name that save writes */

/* ---- Trees ---- */

static void drop_value(IoValue *v) {
    if (v->kind == IO_STR || v->kind == IO_BAD) free(v->str);
    if (v->kind == IO_TENSOR) {
        buf_unref(&v->tensor->buf);
        free(v->tensor);
    }
    if (v->kind == IO_LIST || v->kind == IO_MAP) {
        for (uint32_t i = 0; i < v->n; i++) {
            drop_value(&v->kid[i]);
            if (v->key) free(v->key[i]);
        }
        free(v->kid);
        free(v->key);
    }
    *v = (IoValue){0};
}

static void *drop_tree(void *tree) {
    drop_value(tree);
    free(tree);
    return NULL;
}

/* After Ctrl-C a thread frees the tree, which may have millions of nodes. */
void io_fini(IoValue *v) {
    pthread_t thread;
    if (interrupt_count && (v->kind == IO_LIST || v->kind == IO_MAP)) {
        IoValue *copy = xmalloc(sizeof *copy);
        *copy = *v;
        if (!pthread_create(&thread, NULL, drop_tree, copy)) {
            *v = (IoValue){0};
            pthread_detach(thread);
            return;
        }
        free(copy);
    }
    drop_value(v);
}

static IoValue *grow(IoValue *v) {
    if (v->n == v->cap) {
        v->cap = v->cap ? 2 * v->cap : 4;
        v->kid = xrealloc(v->kid, v->cap * sizeof *v->kid);
        if (v->kind == IO_MAP) v->key = xrealloc(v->key, v->cap * sizeof *v->key);
    }
    v->kid[v->n] = (IoValue){0};
    return &v->kid[v->n++];
}

IoValue *io_push(IoValue *list) { return grow(list); }

IoValue *io_put(IoValue *map, const char *key, size_t n) {
    IoValue *v = grow(map);
    map->key[map->n - 1] = xstrndup(key, n);
    return v;
}

IoValue *io_get(const IoValue *map, const char *key) {
    for (uint32_t i = 0; map->kind == IO_MAP && i < map->n; i++)
        if (!strcmp(map->key[i], key)) return &map->kid[i];
    return NULL;
}

/* ---- Nesting by "/" ---- */

/* A tree under construction, linked by first child and next sibling. Nodes are found by the hash of
 * the whole path. A complete tree is converted to IoValues. */
typedef struct NestNode {
    const char *path;
    size_t n_path, name_at;
    uint32_t first, last, next;
    IoValue *leaf;
} NestNode;
typedef struct Nest {
    NestNode *node;
    uint32_t n, cap;
    Map by_path;
} Nest;

static uint32_t nest_add(Nest *t, uint32_t parent, const char *path, size_t n, size_t name_at) {
    ARRAY_ROOM(t->node, t->n, t->cap, 64);
    uint32_t i = t->n++;
    t->node[i] = (NestNode){.path = path, .n_path = n, .name_at = name_at};
    if (i) {
        NestNode *p = &t->node[parent];
        if (p->last)
            t->node[p->last].next = i;
        else
            p->first = i;
        p->last = i;
        map_put(&t->by_path, hash_bytes(path, n, 0), (void *)(uintptr_t)i);
    }
    return i;
}

static bool is_empty(const IoValue *v) {
    return (v->kind == IO_LIST || v->kind == IO_MAP) && !v->n;
}

/* False if the name is not a valid path: an empty part, too many levels, or a leaf where another
 * name needs a level. An empty map or list may be both leaf and level: it gives the level's
 * type. */
static bool nest_name(Nest *t, const char *name, IoValue *leaf) {
    uint32_t at = 0;
    size_t begin = 0;
    for (int depth = 0; name[0]; depth++) {
        size_t end = begin + strcspn(name + begin, "/");
        if (end == begin || depth == MAX_NEST) return false;
        if (t->node[at].leaf && !is_empty(t->node[at].leaf)) return false;
        uint32_t i = (uint32_t)(uintptr_t)map_get(&t->by_path, hash_bytes(name, end, 0));
        if (i && (t->node[i].n_path != end || memcmp(t->node[i].path, name, end))) return false;
        if (!i) i = nest_add(t, at, name, end, begin);
        at = i;
        if (!name[end]) break;
        begin = end + 1;
    }
    if (t->node[at].leaf || (t->node[at].first && !is_empty(leaf))) return false;
    t->node[at].leaf = leaf;
    return true;
}

/* The number that a canonical decimal key stands for, or -1. */
static int64_t key_number(const char *s) {
    if (!*s || (s[0] == '0' && s[1])) return -1;
    int64_t n = 0;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || n > INT32_MAX) return -1;
        n = 10 * n + (*s - '0');
    }
    return n;
}

static void list_if_numbered(IoValue *v) {
    if (v->n == 0) return;
    IoValue *sorted = xcalloc(v->n, sizeof *sorted);
    bool *seen = xcalloc(v->n, sizeof *seen), ok = true;
    for (uint32_t i = 0; i < v->n && ok; i++) {
        int64_t k = key_number(v->key[i]);
        ok = k >= 0 && k < v->n && !seen[k];
        if (ok) {
            seen[k] = true;
            sorted[k] = v->kid[i];
        }
    }
    if (ok) {
        for (uint32_t i = 0; i < v->n; i++) free(v->key[i]);
        free(v->key);
        free(v->kid);
        *v = (IoValue){.kind = IO_LIST, .kid = sorted, .n = v->n, .cap = v->n};
    } else {
        free(sorted);
    }
    free(seen);
}

static void nest_build(const Nest *t, uint32_t i, IoValue *out) {
    IoValue *leaf = t->node[i].leaf;
    if (leaf && !t->node[i].first) {
        *out = *leaf;
        *leaf = (IoValue){0};
        return;
    }
    *out = (IoValue){.kind = IO_MAP};
    for (uint32_t k = t->node[i].first; k; k = t->node[k].next) {
        const NestNode *n = &t->node[k];
        nest_build(t, k, io_put(out, n->path + n->name_at, n->n_path - n->name_at));
    }
    if (!leaf || leaf->kind == IO_LIST) list_if_numbered(out);
}

void io_nest(IoValue *flat) {
    Nest t = {0};
    nest_add(&t, 0, "", 0, 0);
    bool ok = true;
    for (uint32_t i = 0; i < flat->n && ok; i++) ok = nest_name(&t, flat->key[i], &flat->kid[i]);
    if (ok) {
        IoValue nested;
        nest_build(&t, 0, &nested);
        io_fini(flat);
        *flat = nested;
    }
    map_fini(&t.by_path);
    free(t.node);
}
