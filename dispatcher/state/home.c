/* home.c: which worker gets new work: load per worker. A client's home, the worker of its new
 * tensors, is chosen at its hello, and again whenever the client has no tensors. So its tensors
 * stay together, and clients spread.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/home.h"

/* Fewest clients first, then fewest instructions in flight, then lowest rank. */
static bool is_less_loaded(const WorkerPeer *a, const WorkerPeer *b) {
    if (a->n_clients != b->n_clients) return a->n_clients < b->n_clients;
    return a->insts < b->insts;
}

WorkerPeer *home_pick(const Dispatcher *d) {
    WorkerPeer *best = NULL;
    for (int i = 0; i < d->n_ranks; i++) {
        WorkerPeer *w = d->worker[i];
        if (w && !w->is_lost && (!best || is_less_loaded(w, best))) best = w;
    }
    return best;
}

WorkerPeer *home_better(const Dispatcher *d, const Client *c) {
    const WorkerPeer *home = d->worker[c->rank];
    bool is_busy = c->tensors.n > 0 || c->sent.n > 0 || c->depth > 0 || c->held.n > 0;
    if (is_busy || c->checks_nan) return NULL; /* its home knows that it checks */
    if (home->n_clients == 1 || home->insts == 0) return NULL;
    for (int i = 0; i < d->n_ranks; i++)
        if (d->worker[i] && !d->worker[i]->is_lost && d->worker[i]->insts == 0 &&
            d->worker[i]->n_clients < home->n_clients)
            return d->worker[i];
    return NULL;
}
