/* variants.c: see variants.h. SPDX-License-Identifier: MIT */
#include "runtime/wire/variants.h"
#include <string.h>

static void take_out(Variant *i) {
    lru_remove(i->of->all, &i->item);
    i->of->n--;
    i->of->free(i);
}

void variants_fini(Variants *t) {
    for (MapItem it = {0}; map_next(&t->map, &it);)
        for (Variant *i = it.value, *next; i; i = next) {
            next = i->next;
            take_out(i);
        }
    map_fini(&t->map);
}

void variants_drop(Variant *i) {
    Map *map = &i->of->map;
    Variant *first = map_get(map, i->key), **at = &first;
    while (*at != i) at = &(*at)->next;
    *at = i->next;
    if (first)
        map_put(map, i->key, first);
    else
        map_remove(map, i->key);
    take_out(i);
}

void variants_add(Variants *t, Variant *i, uint64_t bytes, uint64_t most) {
    while (t->all->bytes + bytes > most) variants_drop((Variant *)t->all->oldest);
    Variant *first = map_get(&t->map, i->key), **at = &first;
    while (*at && (*at)->length > i->length) at = &(*at)->next;
    i->of = t;
    i->next = *at;
    *at = i;
    map_put(&t->map, i->key, first);
    lru_add(t->all, &i->item, bytes);
    t->n++;
}

uint64_t variants_hash(uint64_t key, const TensorType *type) {
    key = variants_mix(key, (uint64_t)(type->dtype << 8 | type->rank));
    for (int d = 0; d < type->rank; d++) key = variants_mix(key, (uint64_t)type->shape[d]);
    return key;
}

uint64_t variants_key(Variants *t, const uint8_t *args, const uint8_t *end, uint64_t base,
                      uint64_t (*add)(const void *ctx, uint64_t id, uint64_t key),
                      const void *ctx) {
    if (t->has_next) {
        variants_fini(t);
        t->lead[t->n_leads++] = t->next;
        t->has_next = false;
    }
    uint64_t key = 0;
    for (const Lead *l = t->lead; l < t->lead + t->n_leads; l++) {
        uint64_t id = base + l->delta;
        if (l->at >= 0 && (size_t)(end - args) < (size_t)l->at + sizeof id) continue;
        if (l->at >= 0) memcpy(&id, args + l->at, sizeof id);
        key = add(ctx, id, key);
    }
    return key;
}

void variants_changed(Variants *t, int64_t at, uint64_t delta) {
    for (uint32_t i = 0; i < t->n_leads; i++)
        if (t->lead[i].at == at && (at >= 0 || t->lead[i].delta == delta)) return;
    if (t->n_leads == LEADS_MAX) return;
    t->next = (Lead){at, delta};
    t->has_next = true;
}
