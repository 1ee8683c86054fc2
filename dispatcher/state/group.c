/* group.c: see group.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/group.h"
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
    for (uint32_t i = (uint32_t)(uintptr_t)map_get(&g->by_hash, key_of(rank, n)); i;
         i = g->next[i - 1]) {
        const Members *m = g->member[i - 1];
        if (m->n == n && !memcmp(m->rank, rank, (size_t)n * sizeof rank[0])) return m;
    }
    return NULL;
}

const Members *groups_get(Groups *g, const int32_t *rank, int n, bool *is_new) {
    size_t bytes = (size_t)n * sizeof rank[0];
    const Members *known = groups_find(g, rank, n);
    *is_new = false;
    if (known) return known;
    if (g->n == MAX_GROUPS) return NULL;
    uint64_t key = key_of(rank, n);
    uint32_t first = (uint32_t)(uintptr_t)map_get(&g->by_hash, key);
    if (g->n == g->cap) {
        g->cap = g->cap ? 2 * g->cap : 16;
        g->member = xrealloc(g->member, g->cap * sizeof g->member[0]);
        g->next = xrealloc(g->next, g->cap * sizeof g->next[0]);
    }
    Members *m = xcalloc(1, sizeof *m + bytes);
    m->id = g->n + 1;
    m->n = n;
    memcpy(m->rank, rank, bytes);
    for (int i = 0; i < n; i++) ranks_add(&m->set, rank[i]);
    g->next[g->n] = first;
    g->member[g->n++] = m;
    map_put(&g->by_hash, key, (void *)(uintptr_t)m->id);
    *is_new = true;
    return m;
}

void groups_fini(Groups *g) {
    for (uint32_t i = 0; i < g->n; i++) free(g->member[i]);
    free(g->member);
    free(g->next);
    map_fini(&g->by_hash);
    *g = (Groups){0};
}
