/* peer.c: what this worker knows of the others: groups of ranks, where a peer's memory can be read,
 * and the messages on their way to peers.
 * SPDX-License-Identifier: MIT */
#include "worker/exec.h"

#include <stdlib.h>
#include <string.h>

/* ---- Groups ---- */

void exec_on_group(Exec *x, uint32_t id, const int32_t *rank, int n) {
    if (id == 0 || n < 1 || n > MAX_INTS || map_get(&x->groups, id)) return;
    if (x->groups.n >= MAX_GROUPS) return;
    Group *g = xmalloc(sizeof *g + sizeof g->rank[0] * (size_t)n);
    g->id = id;
    g->n = n;
    memcpy(g->rank, rank, sizeof g->rank[0] * (size_t)n);
    map_put(&x->groups, id, g);
}

/* ---- Peers ---- */

/* NULL: no worker can have this rank. */
static Peer *peer_of(Exec *x, uint32_t rank) {
    if (rank >= MAX_WORKERS) return NULL;
    if (rank >= x->n_peers) {
        x->peers = xrealloc(x->peers, sizeof *x->peers * (rank + 1));
        memset(x->peers + x->n_peers, 0, sizeof *x->peers * (rank + 1 - x->n_peers));
        x->n_peers = rank + 1;
    }
    return &x->peers[rank];
}

void exec_peer_memory(Exec *x, uint32_t rank, const void *base, uint64_t bytes) {
    Peer *p = peer_of(x, rank);
    if (p) p->base = base, p->bytes = base ? bytes : 0;
}

void exec_on_peer(Exec *x, uint32_t rank, Msg *m) {
    (void)x, (void)rank;
    msg_fini(m);
}

bool exec_next_peer(Exec *x, uint32_t *rank, Msg *out) {
    (void)x, (void)rank, (void)out;
    return false;
}

void exec_on_peer_gone(Exec *x, uint32_t rank) { exec_peer_memory(x, rank, NULL, 0); }

void peer_fini(Exec *x) {
    size_t i = 0;
    void *g;
    while (map_next(&x->groups, &i, NULL, &g)) free(g);
    map_fini(&x->groups);
    free(x->peers);
}
