/* store.c: see store.h.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Cells ---- */

enum { CELLS_PER_CHUNK = 64 };

void *cell_get(Cells *c) {
    if (!c->free) {
        char *chunk =
            xmalloc(64 + c->size * CELLS_PER_CHUNK); /* the first 64 bytes link the chunks */
        *(void **)chunk = c->chunks;
        c->chunks = chunk;
        for (int i = CELLS_PER_CHUNK - 1; i >= 0; i--)
            cell_put(c, chunk + 64 + c->size * (size_t)i);
    }
    void *p = c->free;
    c->free = *(void **)p;
    return p;
}

void cell_put(Cells *c, void *p) {
    *(void **)p = c->free;
    c->free = p;
}

void cells_fini(Cells *c) {
    while (c->chunks) {
        void *chunk = c->chunks;
        c->chunks = *(void **)chunk;
        free(chunk);
    }
    c->free = NULL;
}

/* ---- Storages ---- */

void doubt_drop(Doubt **owner) {
    Doubt *d = *owner;
    if (!d) return;
    d->next->prev = d->prev, d->prev->next = d->next;
    *owner = NULL;
    free(d);
}

void store_init(Store *s, Engine *e) {
    *s = (Store){.ops = e->ops,
                 .engine = e,
                 .storages = {.size = sizeof(Storage)},
                 .tensors = {.size = sizeof(Tensor)},
                 .wholes = {.size = sizeof(Whole)}};
}

void store_fini(Store *s) {
    assert(s->n_storages == 0);
    cells_fini(&s->storages);
    cells_fini(&s->tensors);
    cells_fini(&s->wholes);
}

static void count_bytes(Names *owner, uint64_t bytes) {
    owner->bytes += bytes;
    if (owner->bytes > owner->bytes_peak) owner->bytes_peak = owner->bytes;
}

static Storage *storage_make(Store *s, Names *owner, void *data, uint64_t bytes, ErrCode poison) {
    Storage *st = cell_get(&s->storages);
    *st = (Storage){.data = data, .bytes = bytes, .refs = 1, .poison = poison, .owner = owner};
    s->n_storages++;
    owner->n_storages++;
    if (data) count_bytes(owner, bytes);
    return st;
}

Storage *storage_new(Store *s, Names *owner, uint64_t bytes) {
    void *data = s->ops->alloc(s->engine, bytes);
    return data ? storage_make(s, owner, data, bytes, ERR_NONE) : NULL;
}

Storage *storage_poisoned(Store *s, Names *owner, ErrCode why) {
    return storage_make(s, owner, NULL, 0, why);
}

Storage *storage_deferred(Store *s, Names *owner, uint64_t bytes, struct Job *maker) {
    Storage *st = storage_make(s, owner, NULL, bytes, ERR_NONE);
    st->maker = maker;
    return st;
}

bool storage_fill(Store *s, Storage *st) {
    assert(!st->data);
    st->data = s->ops->alloc(s->engine, st->bytes);
    if (st->data) count_bytes(st->owner, st->bytes);
    return st->data != NULL;
}

void storage_empty(Store *s, Storage *st) {
    s->ops->free(s->engine, st->data, st->bytes);
    st->owner->bytes -= st->bytes;
    st->data = NULL;
}

void *store_alloc(Store *s, Names *owner, uint64_t bytes) {
    void *data = s->ops->alloc(s->engine, bytes);
    if (data) count_bytes(owner, bytes);
    return data;
}

void store_free(Store *s, Names *owner, void *data, uint64_t bytes) {
    s->ops->free(s->engine, data, bytes);
    owner->bytes -= bytes;
}

Storage *storage_adopt(Store *s, Names *owner, void *data, uint64_t bytes) {
    owner->bytes -= bytes; /* storage_make counts them again */
    return storage_make(s, owner, data, bytes, ERR_NONE);
}

void *storage_give(Storage *st) {
    void *data = st->data;
    st->data = NULL;
    return data;
}

void storage_unref(Store *s, Storage *st) {
    assert(st->refs > 0);
    if (--st->refs) return;
    assert(!st->waits && !st->maker);
    if (__builtin_expect(st->doubt != NULL, 0)) doubt_drop(&st->doubt);
    Names *owner = st->owner;
    if (st->data) {
        s->ops->free(s->engine, st->data, st->bytes);
        owner->bytes -= st->bytes;
        s->n_changes++;
    }
    s->n_storages--;
    cell_put(&s->storages, st);
    if (--owner->n_storages == 0 && owner->is_left) free(owner);
}

/* ---- Names ---- */

Names *names_new(void) { return xcalloc(1, sizeof(Names)); }

static void tensor_drop(Store *s, Tensor *t) {
    storage_unref(s, t->storage);
    if (t->whole) cell_put(&s->wholes, t->whole);
    cell_put(&s->tensors, t);
}

void names_leave(Store *s, Names **n) {
    for (MapItem it = {0}; map_next(&(*n)->map, &it);) tensor_drop(s, it.value);
    map_fini(&(*n)->map);
    (*n)->is_left = true;
    if ((*n)->n_storages == 0) free(*n);
    *n = NULL;
}

Tensor *store_put(Store *s, Names *n, uint64_t id, Storage *st, const TensorType *type) {
    Tensor *t = cell_get(&s->tensors);
    t->storage = st;
    t->whole = NULL;
    t->group = 0;
    t->mark = 0;
    t->offset = 0;
    t->view.type = *type;
    t->view.data = NULL;
    t->view.is_scalar = false;
    t->view.whole_size = 0;
    view_strides(type, t->view.stride);
    map_put(&n->map, id, t);
    return t;
}

Tensor *store_put_view(Store *s, Names *n, uint64_t id, Storage *st, const View *view) {
    Tensor *t = cell_get(&s->tensors);
    t->storage = storage_ref(st);
    t->whole = NULL;
    t->group = 0;
    t->mark = 0;
    t->offset = (uint64_t)((char *)view->data - storage_base(st));
    t->view = *view;
    t->view.whole_size = 0;
    map_put(&n->map, id, t);
    return t;
}

void store_set_whole(Store *s, Tensor *t, const Whole *whole) {
    const Layout *l = &whole->layout;
    int64_t end;
    if (!t->whole) t->whole = cell_get(&s->wholes);
    *t->whole = *whole;
    if (l->kind != LAYOUT_SPLIT) return;
    t->view.part_axis = l->axis, t->view.whole_size = whole->type.shape[l->axis];
    layout_rows(l, &whole->type, whole->at, &t->view.part_begin, &end);
}

bool store_drop(Store *s, Names *n, uint64_t id) {
    Tensor *t = map_remove(&n->map, id);
    if (!t) return false;
    tensor_drop(s, t);
    return true;
}

/* ---- For messages ---- */

/* Orders by size, largest first, then by id; independent of the map's order. */
static bool comes_before(const Tensor *a, uint64_t id_a, const Tensor *b, uint64_t id_b) {
    return !b || a->storage->bytes > b->storage->bytes ||
           (a->storage->bytes == b->storage->bytes && id_a < id_b);
}

void store_largest(const Names *n, char *buf, size_t size) {
    enum { TOP = 3 };
    const Tensor *top[TOP] = {0};
    uint64_t top_id[TOP] = {0};
    for (MapItem it = {0}; map_next(&n->map, &it);) {
        const Tensor *t = it.value;
        if (t->offset || !t->storage->data || !t->storage->bytes)
            continue; /* no memory, or a view that begins inside its storage */
        int same = 0; /* of several names of one storage, the oldest is listed */
        while (same < TOP && (!top[same] || top[same]->storage != t->storage)) same++;
        if (same < TOP) {
            if (it.key < top_id[same]) top[same] = t, top_id[same] = it.key;
            continue;
        }
        for (int k = 0; k < TOP; k++) {
            if (!comes_before(t, it.key, top[k], top_id[k])) continue;
            for (int m = TOP - 1; m > k; m--) top[m] = top[m - 1], top_id[m] = top_id[m - 1];
            top[k] = t, top_id[k] = it.key;
            break;
        }
    }
    size_t at = 0;
    buf[0] = 0;
    for (int k = 0; k < TOP && top[k] && at < size; k++) {
        char shape[256], bytes[24];
        at += (size_t)snprintf(
            buf + at, size - at, "%st%llu %s %s %s", k ? ", " : "", (unsigned long long)top_id[k],
            type_shape_text(&top[k]->view.type, shape), dtype_info[top[k]->view.type.dtype].text,
            bytes_text(top[k]->storage->bytes, bytes));
    }
}
