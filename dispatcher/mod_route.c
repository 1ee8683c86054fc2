/* mod_route.c: the end of the chain: an instruction goes into the frame of the worker that it is
 * for. A frame of which nothing was changed goes on as it came, by reference; else records that
 * nobody changed are copied as they are. What a client's frame has become is sent when that frame
 * ends.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state.h"
#include <assert.h>

static FrameWriter *writer(Dispatcher *d, int rank, uint32_t client, uint64_t seq) {
    assert(rank >= 0 && rank < d->n_ranks && d->worker[rank]);
    FrameWriter *w = &d->worker[rank]->frame;
    if (!w->head) {
        frame_begin(w, client, seq);
        w->edge_id = UINT64_MAX; /* A changed instruction is written without distances. */
    }
    return w;
}

/* The frame is not to go on as it came after all: its instructions so far are copied. */
static void unfold(Dispatcher *d, const Client *c) {
    const Msg *m = d->whole;
    d->whole = NULL;
    FrameReader r;
    Inst inst;
    const void *record;
    size_t record_bytes;
    bool ok = frame_open(&r, m, NULL);
    assert(ok); /* It was read before. */
    for (; d->n_whole > 0; d->n_whole--) {
        int more = frame_next(&r, &d->scratch, &inst, &record, &record_bytes, NULL);
        assert(more == 1);
        frame_add_raw(writer(d, c->rank, c->id, r.seq), &inst, record, record_bytes);
    }
}

void route_open(Dispatcher *d, const Client *c, Msg *m, uint32_t claimed_client) {
    bool is_ours = claimed_client == c->id;
    if (!is_ours && atomic_load(&m->part[0]->refs) == 1) {
        wire_set_client(m, c->id);
        is_ours = true;
    }
    d->whole = is_ours ? m : NULL;
    d->n_whole = 0;
}

static void process(Flow *f, int stage) {
    (void)stage;
    Dispatcher *d = f->d;
    f->rank = f->client->rank;
    if (d->whole && f->record) {
        d->n_whole++;
        return;
    }
    if (d->whole) unfold(d, f->client);
    FrameWriter *w = writer(d, f->rank, f->client->id, f->seq);
    if (f->record)
        frame_add_raw(w, &f->inst, f->record, f->record_bytes);
    else
        frame_add(w, &f->inst);
}

void route_close(Dispatcher *d, const Client *c, bool is_complete) {
    if (d->whole && is_complete && d->n_whole > 0) {
        dispatcher_post(d, d->worker[c->rank]->peer, d->whole, false);
        d->whole = NULL;
        return;
    }
    if (d->whole) unfold(d, c); /* It broke off in the middle. */
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
            bytes_printf(out, "w%d.queue=%llu\nw%d.clients=%d\n", i,
                         (unsigned long long)d->worker[i]->insts, i, d->worker[i]->n_clients);
}

const Modifier modifier_route = {"route", process, stats};
