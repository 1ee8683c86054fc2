/* mod_route.c: the end of the chain: writes instructions into the frame made from a client's
 * frame, and sends it, encoded once, to all workers that need it.
 *
 * A frame that is for the client's home worker alone and is unchanged is forwarded by reference.
 * As soon as one of its instructions is for others, or was changed, the frame is rewritten:
 * every instruction that has a place names its group (`on`), the home worker's too; the others
 * are for every recipient. Repeated instructions are written as hot bodies (outgoing.h).
 * A frame with large payloads goes only to workers that need them. A `scope` reaches only the
 * workers that get its frame. Before a frame goes to one that another `scope` reached last, the
 * one in force goes there in a frame of its own.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/chain/mod_route.h"
#include "dispatcher/chain/modifier.h"
#include "dispatcher/chain/outgoing.h"
#include <assert.h>
#include <string.h>

enum { OPERANDS = 16 }; /* operands that count as much work as an instruction */

/* A frame of instructions from seq on goes to `to`, with Client.compiles `before` and after it:
 * first sends a `scope` to the workers that do not know it. */
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

/* Sends the frame that was written. With it everything before frame_seq has been sent. */
static void flush(Dispatcher *d, Client *c, uint64_t bytes) {
    FrameWriter *w = &d->frame;
    if (!w->head) return;
    outgoing_tell(d, c);
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
        w->edge_id = UINT64_MAX; /* Changed instructions are written without distances. */
        if (c->checks_nan) {     /* Some recipients may not know that it checks for nan. */
            Attr nan = {.key = ATTR_NAN, .b = true};
            Inst check = {.op = OP_CHECK, .n_attr = 1, .attr = &nan};
            frame_insert(w, &check);
        }
    }
    return w;
}

/* Adds the workers that must get it to *to. *g: the group that was added last. */
static void add_recipients(const Flow *f, bool has_place, RankSet *to, const Members **g) {
    const Members *home = f->client->home, *group = f->group ? f->group : home;
    if (f->has_to) ranks_join(to, &f->to);
    if (!has_place && f->has_to) return;
    if (!has_place) group = home;
    if (*g != group) ranks_join(to, &group->set);
    *g = group;
}

/* True if f goes to other workers than the frame being written: large payloads must not reach
 * workers that do not need them. */
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
    /* Bodies go to the home worker alone, which must know all of them, or a prefix of them
     * (dispatcher.c, move_home). */
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
    /* Instructions inserted behind f (frees) belong to f: they must not advance frame_seq. */
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
    assert(ok); /* It was read before, without error. */
    r.bodies = &c->bodies;
    r.reads_again = true; /* a body that it defines may have replaced one that it uses */
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
    if (d->whole) unfold(d, c); /* It was malformed in the middle. */
    if (d->frame.head)
        flush(d, c, bytes);
    else
        c->bytes -= bytes; /* None of it is in flight. */
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
