/* outgoing.c: see outgoing.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/chain/mod_route.h"
#include "dispatcher/chain/outgoing.h"
#include "runtime/wire/detector.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct Outgoing {
    Dispatcher *d;
    Client *c;
    Detector *detector;
    Bodies bodies;                  /* as workers know them */
    RankSet known[BODIES_MAX];      /* by number: the workers that know this body */
    RankSet round;                  /* workers that got something since the last edge */
    uint64_t used[BODIES_MAX / 64]; /* by number: is this body used in d->frame? */
    /* State of the writer while another client uses it: */
    const Body *body;
    uint32_t body_at;
    uint64_t next_id, next_added;
};

/* ---- Sending definitions ---- */

static void begin(const Client *c, FrameWriter *w, uint64_t seq) {
    *w = (FrameWriter){.edge_id = UINT64_MAX};
    frame_begin(w, c->id, seq);
}

static void add_definition(FrameWriter *w, const Body *b) {
    Operand in = {.kind = IN_IMM_INT, .i = (int64_t)(b->number | BODY_PLACED)};
    frame_insert(
        w,
        &(Inst){
            .op = OP_BODY, .n_in = 1, .in = &in, .payload = b->bytes, .payload_bytes = b->n_bytes});
}

void outgoing_define(Dispatcher *d, Client *c) {
    Outgoing *o = c->outgoing;
    if (!o) return;
    ranks_join(&o->round, &d->frame_to);
    FrameWriter w = {0};
    for (int i = 0; i < BODIES_MAX; i++) {
        if (!(o->used[i / 64] >> (i % 64))) i |= 63; /* none up to the next word */
        const Body *b = o->used[i / 64] >> (i % 64) & 1 ? o->bodies.slot[i] : NULL;
        if (!b || ranks_covers(&o->known[i], &d->frame_to)) continue;
        if (w.head && frame_is_full(&w)) route_send(d, c, &w, &d->frame_to, d->frame.seq, 0);
        if (!w.head) begin(c, &w, d->frame.seq);
        add_definition(&w, b);
        ranks_join(&o->known[i], &d->frame_to);
    }
    if (w.head) route_send(d, c, &w, &d->frame_to, d->frame.seq, 0);
    memset(o->used, 0, sizeof o->used);
}

/* The detector defines a body, or renumbers one. */
static void define(void *ctx, FrameWriter *unused, const Inst *body) {
    (void)unused;
    Outgoing *o = ctx;
    Dispatcher *d = o->d;
    route_flush(d, o->c);
    uint64_t number = (uint64_t)body->in[0].i, at = number % BODIES_MAX;
    if (body->n_in == 2) {
        uint64_t old = (uint64_t)body->in[1].i;
        o->known[at] = o->known[old % BODIES_MAX];
        bodies_rename(&o->bodies, number, old);
    } else {
        bool ok = bodies_define(&o->bodies, number, body->payload, body->payload_bytes, NULL);
        assert(ok); /* made from forms that were written before */
        o->known[at] = o->round;
        d->n_outgoing_bodies++;
    }
    bodies_sweep(&o->bodies);
    FrameWriter w;
    begin(o->c, &w, d->frame_seq);
    Inst inst = *body;
    Operand in[2] = {body->in[0], body->n_in > 1 ? body->in[1] : body->in[0]};
    for (int i = 0; i < 2; i++) in[i].i |= BODY_PLACED;
    inst.in = in;
    frame_insert(&w, &inst);
    route_send(d, o->c, &w, &o->known[at], d->frame_seq, 0);
}

static void end_frame(void *ctx, FrameWriter *unused) {
    (void)unused;
    Outgoing *o = ctx;
    route_flush(o->d, o->c);
}

/* ---- Making ---- */

static Outgoing *outgoing_new(Dispatcher *d, Client *c) {
    Outgoing *o = xcalloc(1, sizeof *o);
    DetectorConfig config = d->hot;
    config.seed = d->config.seed;
    o->d = d, o->c = c;
    o->detector = detector_new(&config, &(DetectorHost){o, define, end_frame});
    o->bodies.may_insert = true;
    o->next_id = d->frame.next_id, o->next_added = d->frame.next_added;
    return o;
}

void outgoing_free(Outgoing **op) {
    Outgoing *o = *op;
    *op = NULL;
    if (!o) return;
    detector_free(&o->detector);
    bodies_fini(&o->bodies);
    free(o);
}

/* ---- Writing ---- */

void outgoing_open(Dispatcher *d, Client *c) {
    const Outgoing *o = c->outgoing;
    if (!o) return;
    FrameWriter *w = &d->frame;
    frame_expect(w, o->body, o->body_at);
    w->next_id = o->next_id, w->next_added = o->next_added;
}

void outgoing_close(Dispatcher *d, Client *c, bool passes) {
    Outgoing *o = c->outgoing;
    if (!o) return;
    FrameWriter *w = &d->frame;
    if (passes) detector_break(o->detector, w);
    o->body = w->body, o->body_at = w->body_at;
    o->next_id = w->next_id, o->next_added = w->next_added;
    frame_expect(w, NULL, 0);
}

static void edge(Dispatcher *d, Outgoing *o) {
    ranks_join(&o->round, &d->frame_to);
    detector_edge(o->detector, &d->frame, false);
    o->round = (RankSet){{0}};
}

void outgoing_round(Dispatcher *d, Client *c) {
    if (d->whole || !d->hot.threshold) return;
    if (!c->outgoing) {
        c->outgoing = outgoing_new(d, c);
        detector_break(c->outgoing->detector, &d->frame);
    }
    edge(d, c->outgoing);
}

void outgoing_added(Dispatcher *d, Client *c, Op op) {
    Outgoing *o = c->outgoing;
    FrameWriter *w = &d->frame;
    if (!o) {
        if (op == OP_EDGE) outgoing_round(d, c);
        return;
    }
    detector_added(o->detector, w);
    if (w->hot_at) {
        uint64_t at = w->body->number % BODIES_MAX;
        o->used[at / 64] |= UINT64_C(1) << (at % 64);
        d->n_outgoing++;
    }
    if (op == OP_EDGE) edge(d, o);
}
