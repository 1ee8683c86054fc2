/* member.c: introduces workers to one another. Each worker gets a token of its own, the
 * addresses of all others (PEER), and a notice when one is gone (PEER_GONE). Tensors go from
 * worker to worker directly, never through the dispatcher.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/member.h"
#include "dispatcher/state/send.h"
#include "runtime/wire/wire_peer.h"
#include <sys/random.h>

uint64_t member_token(void) {
    uint64_t token = 0;
    while (token == 0)
        if (getrandom(&token, sizeof token, 0) != sizeof token) token = 0;
    return token;
}

static void introduce(Dispatcher *d, const WorkerPeer *to, const WorkerPeer *w) {
    PeerInfo p = {.rank = (uint32_t)w->rank, .token = w->token, .data = w->data};
    Msg m;
    wire_peer(&p, &m);
    dispatcher_post(d, to->peer, &m, false);
}

void member_add(Dispatcher *d, const WorkerPeer *w) {
    for (int i = 0; i < d->n_ranks; i++) {
        const WorkerPeer *other = d->worker[i];
        if (!other || other == w) continue;
        introduce(d, other, w);
        introduce(d, w, other);
    }
}

void member_remove(Dispatcher *d, const WorkerPeer *w) {
    for (int i = 0; i < d->n_ranks; i++) {
        const WorkerPeer *other = d->worker[i];
        if (!other || other == w) continue;
        Msg m;
        wire_peer_gone(&(uint32_t){(uint32_t)w->rank}, &m);
        dispatcher_post(d, other->peer, &m, false);
    }
}
