/* mod_route.c: the end of the chain: an instruction goes into the frame of the worker that it is for. Records that nobody
 * changed are copied as they are. A frame is closed when the client's frame, from which it comes, ends.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state.h"
#include <assert.h>

static void process(Flow *f, int stage) {
    (void)stage;
    Dispatcher *d = f->d;
    f->rank = f->client->rank;
    assert(f->rank >= 0 && f->rank < d->n_ranks && d->worker[f->rank]);
    FrameWriter *w = &d->worker[f->rank]->frame;
    if (!w->head) {
        frame_begin(w, f->client->id, f->seq);
        w->edge_id = UINT64_MAX; /* A changed instruction is written without distances. */
    }
    if (f->record) frame_add_raw(w, &f->inst, f->record, f->record_bytes);
    else frame_add(w, &f->inst);
}

void route_close(Dispatcher *d, Client *c) {
    for (int i = 0; i < d->n_ranks; i++) {
        WorkerPeer *w = d->worker[i];
        if (!w || !w->frame.head) continue;
        assert(w->frame.client == c->id);
        Msg m;
        frame_end(&w->frame, &m);
        dispatcher_post(d, w->peer, &m, false);
    }
}

static void stats(const struct Dispatcher *d, Bytes *out) {
    for (int i = 0; i < d->n_ranks; i++)
        if (d->worker[i])
            bytes_printf(out, "w%d.queue=%llu\nw%d.clients=%d\n", i, (unsigned long long)d->worker[i]->insts, i,
                         d->worker[i]->n_clients);
}

const Modifier modifier_route = {"route", process, stats};
