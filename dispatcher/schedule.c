/* schedule.c: who takes new work: load per worker. A client's home is chosen once, when it says
 * hello.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state.h"

/* Few clients first, then few instructions under way, then the lowest rank. */
static bool is_less_loaded(const WorkerPeer *a, const WorkerPeer *b) {
    if (a->n_clients != b->n_clients) return a->n_clients < b->n_clients;
    return a->insts < b->insts;
}

WorkerPeer *schedule_home(const Dispatcher *d) {
    WorkerPeer *best = NULL;
    for (int i = 0; i < d->n_ranks; i++) {
        WorkerPeer *w = d->worker[i];
        if (w && (!best || is_less_loaded(w, best))) best = w;
    }
    return best;
}
