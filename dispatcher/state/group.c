/* group.c: see group.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/group.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ranks_count(const RankSet *s) {
    int n = 0;
    for (int i = 0; i < RANKSET_WORDS; i++) n += __builtin_popcountll(s->bits[i]);
    return n;
}

int ranks_next(const RankSet *s, int rank) {
    for (int i = rank / 64; i < RANKSET_WORDS; i++) {
        uint64_t left = s->bits[i] & (i == rank / 64 ? ~UINT64_C(0) << (rank % 64) : ~UINT64_C(0));
        if (left) return i * 64 + __builtin_ctzll(left);
    }
    return -1;
}

const char *members_text(const Members *m, char *buf) {
    enum { SIZE = 64, SHOWN = 4 };
    bool is_run = m->n > 2;
    for (int i = 1; i < m->n; i++) is_run = is_run && m->rank[i] == m->rank[0] + i;
    if (is_run) {
        snprintf(buf, SIZE, "w%d..w%d", m->rank[0], m->rank[m->n - 1]);
        return buf;
    }
    int n = 0, shown = m->n <= SHOWN ? m->n : SHOWN - 1;
    for (int i = 0; i < shown; i++)
        n += snprintf(buf + n, (size_t)(SIZE - n), "%sw%d", i ? " " : "", m->rank[i]);
    if (shown < m->n) snprintf(buf + n, (size_t)(SIZE - n), " ... (%d in all)", m->n);
    return buf;
}

static uint64_t key_of(const int32_t *rank, int n) {
    return hash_bytes(rank, (size_t)n * sizeof rank[0], (uint64_t)n) | 1;
}

const Members *groups_find(const Groups *g, const int32_t *rank, int n) {
    const Members *m = map_get(&g->by_hash, key_of(rank, n));
    while (m && (m->n != n || memcmp(m->rank, rank, (size_t)n * sizeof rank[0]))) m = m->same_hash;
    return m;
}

const Members *groups_by_id(const Groups *g, uint64_t id) { return map_get(&g->by_id, id); }

const Members *groups_get(Groups *g, const int32_t *rank, int n, bool *is_new) {
    size_t bytes = (size_t)n * sizeof rank[0];
    const Members *known = groups_find(g, rank, n);
    *is_new = false;
    if (known) return known;
    if (g->by_id.n >= MAX_GROUPS || g->last_id == UINT32_MAX) return NULL;
    uint64_t key = key_of(rank, n);
    Members *m = xcalloc(1, sizeof *m + bytes);
    m->id = ++g->last_id;
    m->n = n;
    memcpy(m->rank, rank, bytes);
    for (int i = 0; i < n; i++) ranks_add(&m->set, rank[i]);
    m->same_hash = map_get(&g->by_hash, key);
    map_put(&g->by_hash, key, m);
    map_put(&g->by_id, m->id, m);
    m->older = g->last;
    *(g->last ? &g->last->younger : &g->first) = m;
    g->last = m;
    *is_new = true;
    return m;
}

void groups_hold(Groups *g, uint32_t id) {
    Members *m = map_get(&g->by_id, id);
    m->holders++;
}

bool groups_release(Groups *g, uint32_t id) {
    Members *m = map_get(&g->by_id, id);
    assert(m->holders > 0);
    if (--m->holders > 0) return false;
    uint64_t key = key_of(m->rank, m->n);
    Members *first = map_get(&g->by_hash, key), **at = &first;
    while (*at != m) at = &(*at)->same_hash;
    *at = m->same_hash;
    if (first)
        map_put(&g->by_hash, key, first);
    else
        map_remove(&g->by_hash, key);
    map_remove(&g->by_id, id);
    *(m->older ? &m->older->younger : &g->first) = m->younger;
    *(m->younger ? &m->younger->older : &g->last) = m->older;
    free(m);
    return true;
}

void groups_fini(Groups *g) {
    for (Members *m = g->first, *next; m; m = next) {
        next = m->younger;
        free(m);
    }
    map_fini(&g->by_hash);
    map_fini(&g->by_id);
    *g = (Groups){0};
}
