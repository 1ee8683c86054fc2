/* mod_route.c: the last modifier of the chain. It turns a client's frame into a frame for workers,
 * which is encoded once and sent to all workers that need it.
 *
 * If a frame is for the client's home worker alone and the chain changed no instruction, it is
 * forwarded by reference. As soon as an instruction is for other workers, or was changed, the frame
 * is rewritten. In a rewritten frame, every instruction that has a place names its group (`on`),
 * even if that is the home worker. Instructions without a place are for every recipient. Repeated
 * instructions are written as hot bodies (outgoing.h). A frame with large payloads goes only to
 * workers that need them.
 *
 * A `scope` reaches only the workers that get its frame. So other workers may have an older state
 * of Client.compiles. Such a worker first gets a `scope` with the present state, in a frame of its
 * own, and then its next frame.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/chain/mod_route.h"
#include "dispatcher/chain/modifier.h"
#include "dispatcher/chain/outgoing.h"
#include "dispatcher/state/send.h"
#include "dispatcher/state/tape.h"
#include <assert.h>
#include <string.h>

enum { OPERANDS = 16 }; /* this many operands count as much work as one instruction */

/* Call this before a frame that begins at seq is sent to `to`. before: Client.compiles at its
 * beginning. Sends a `scope` with that state to the workers in `to` that have another one. Then
 * records the state after the frame, which is Client.compiles now. */
static void send_scope(Dispatcher *d, Client *c, const RankSet *to, bool before, uint64_t seq) {
    RankSet wrong;
    bool is_any = false;
    for (int i = 0; i < RANKSET_WORDS; i++) {
        uint64_t on = c->compiling.bits[i];
        wrong.bits[i] = to->bits[i] & (before ? ~on : on);
        is_any |= wrong.bits[i] != 0;
        c->compiling.bits[i] = c->compiles ? on | to->bits[i] : on & ~to->bits[i];
    }
    if (!is_any) return;
    Attr attr = {.key = ATTR_COMPILE, .b = before};
    FrameWriter w = {.edge_id = UINT64_MAX};
    frame_begin(&w, c->id, seq);
    frame_insert(&w, &(Inst){.op = OP_SCOPE, .n_attr = 1, .attr = &attr});
    route_send(d, c, &w, &wrong, seq, 0);
}

void route_send(Dispatcher *d, Client *c, FrameWriter *w, const RankSet *to, uint64_t seq_end,
                uint64_t bytes) {
    Msg m;
    uint32_t count = w->count;
    w->number = d->next_number;
    d->next_number += count;
    d->sent_bytes += frame_bytes(w);
    frame_end(w, &m);
    dispatcher_send_frame(d, c, to, &m, seq_end, count, bytes);
}

/* Sends d->frame, if there is one. Then everything before frame_seq has been sent. */
static void flush(Dispatcher *d, Client *c, uint64_t bytes) {
    FrameWriter *w = &d->frame;
    if (!w->head) return;
    outgoing_define(d, c);
    send_scope(d, c, &d->frame_to, d->frame_compiles, w->seq);
    route_send(d, c, w, &d->frame_to, d->frame_seq, bytes);
    d->frame_to = (RankSet){{0}};
    d->frame_group = NULL;
}

void route_flush(Dispatcher *d, Client *c) { flush(d, c, 0); }

static FrameWriter *writer(Dispatcher *d, Client *c) {
    FrameWriter *w = &d->frame;
    if (w->head && frame_is_full(w)) flush(d, c, 0);
    if (!w->head) {
        frame_begin(w, c->id, d->frame_seq);
        d->frame_compiles = c->compiles;
        w->edge_id = UINT64_MAX; /* changed instructions are written without distances */
        if (c->checks_nan) {     /* some recipients may not know that the client does */
            Attr nan = {.key = ATTR_NAN, .b = true};
            Inst check = {.op = OP_CHECK, .n_attr = 1, .attr = &nan};
            frame_insert(w, &check);
        }
    }
    return w;
}

/* Adds the workers that must get f to *to. *g: the group that was added last, which is not added
 * again. */
static void add_recipients(const Flow *f, bool has_place, RankSet *to, const Members **g) {
    const Members *home = f->client->home, *group = f->group ? f->group : home;
    if (f->has_to) ranks_join(to, &f->to);
    if (!has_place && f->has_to) return;
    if (!has_place) group = home;
    if (*g != group) ranks_join(to, &group->set);
    *g = group;
}

/* True if f goes to other workers than the frame being written. */
static bool is_for_others(const Flow *f, bool has_place) {
    RankSet to = {{0}};
    const Members *g = NULL;
    add_recipients(f, has_place, &to, &g);
    return memcmp(&to, &f->d->frame_to, sizeof to) != 0;
}

void route_locate(const Flow *f, Located *out) {
    Layout whole = layout_replicate();
    bool ok = f->group ? inst_locate(&f->inst, f->group->id, &f->layout, out)
                       : inst_locate(&f->inst, f->client->home->id, &whole, out);
    assert(ok); /* validate leaves room for the attributes */
}

static void write(Flow *f) {
    Dispatcher *d = f->d;
    Client *c = f->client;
    bool has_place = !f->is_for_all && op_has_place(f->inst.op);
    bool is_large = f->inst.payload_bytes > INLINE_BYTES || d->frame.n_parts > 0;
    /* Large payloads must not reach workers that do not need them. Bodies go to the home worker
     * alone: a new home gets all of them from move_home (ingest.c). */
    bool is_alone = is_large || f->inst.op == OP_BODY;
    if (is_alone && d->frame.head && is_for_others(f, has_place)) flush(d, c, 0);
    FrameWriter *w = writer(d, c);
    add_recipients(f, has_place, &d->frame_to, &d->frame_group);
    Located located;
    Inst *inst = &f->inst;
    if (has_place && !f->is_located) {
        route_locate(f, &located);
        inst = &located.inst;
    }
    d->work += 1 + inst->n_in / OPERANDS;
    if (f->is_inserted)
        frame_insert(w, inst);
    else if (f->record && (!has_place || f->is_located))
        frame_add_raw(w, inst, f->record, f->record_bytes);
    else
        frame_add(w, inst);
    /* An instruction inserted after f (a free) has no number: it must not advance frame_seq. */
    if (!f->is_inserted) d->frame_seq = f->seq + 1;
    if (f->inst.op == OP_SCOPE) c->compiles = inst_bool(&f->inst, ATTR_COMPILE, false);
    if (f->inst.op == OP_BODY)
        flush(d, c, 0);
    else
        outgoing_added(d, c, f->inst.op);
}

/* The frame cannot be forwarded unchanged: writes its instructions so far. */
static void unfold(Dispatcher *d, Client *c) {
    const Msg *m = d->whole;
    d->whole = NULL;
    FrameReader r;
    Flow f = {.d = d, .client = c};
    bool ok = frame_open(&r, m, NULL);
    assert(ok); /* the frame was read before, without error */
    r.bodies = &c->bodies;
    r.reads_again = true; /* a body defined in the frame may have replaced one used in it */
    for (; d->n_whole > 0; d->n_whole--) {
        int more = frame_next(&r, &d->scratch, &f.inst, &f.record, &f.record_bytes, NULL);
        assert(more == 1);
        f.seq = r.inst_seq;
        f.is_inserted = r.is_inserted;
        write(&f);
    }
}

void route_open(Dispatcher *d, Client *c, Msg *m, uint64_t seq) {
    bool is_ours = m && atomic_load(&m->part[0]->refs) == 1;
    if (is_ours) wire_set_client(m, c->id);
    d->whole = is_ours ? m : NULL;
    d->n_whole = 0;
    d->frame_seq = seq;
    outgoing_open(d, c);
}

uint64_t route_pause(Dispatcher *d, Client *c) {
    assert(!d->whole);
    flush(d, c, 0);
    outgoing_close(d, c, false);
    return d->frame_seq;
}

static void process(Flow *f, int stage) {
    (void)stage;
    Dispatcher *d = f->d;
    if (d->tape) tape_sent(f);
    if (d->whole) {
        if (f->record && !f->group && !f->has_to) {
            d->n_whole++;
            return;
        }
        unfold(d, f->client);
    }
    write(f);
}

void route_close(Dispatcher *d, Client *c, uint64_t seq_end, uint64_t bytes, bool is_complete) {
    if (d->whole && is_complete && d->n_whole > 0) {
        send_scope(d, c, &c->home->set, c->compiles, d->frame_seq);
        frame_set_number(d->whole, d->next_number);
        d->next_number += d->n_whole;
        dispatcher_send_frame(d, c, &c->home->set, d->whole, seq_end, d->n_whole, bytes);
        d->whole = NULL;
        outgoing_close(d, c, true);
        return;
    }
    if (d->whole) unfold(d, c); /* the frame was malformed in the middle, or empty */
    if (d->frame.head)
        flush(d, c, bytes);
    else
        c->bytes -= bytes; /* nothing of the frame is in flight */
    outgoing_close(d, c, false);
}

static void stats(const struct Dispatcher *d, Bytes *out) {
    bytes_printf(out, "sent_bytes=%llu\nsent_hot_instructions=%llu\nsent_hot_bodies=%llu\n",
                 (unsigned long long)d->sent_bytes, (unsigned long long)d->n_outgoing,
                 (unsigned long long)d->n_outgoing_bodies);
    for (int i = 0; i < d->n_ranks; i++)
        if (d->worker[i])
            bytes_printf(out, "w%d.queue=%llu\nw%d.clients=%d\n", i,
                         (unsigned long long)d->worker[i]->insts, i, d->worker[i]->n_clients);
}

const Modifier modifier_route = {"route", process, stats};
