/* ingest.c: see ingest.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/ingest.h"
#include "dispatcher/chain/mod_route.h"
#include "dispatcher/chain/modifier.h"
#include "dispatcher/hot/finder.h"
#include "dispatcher/hot/mod_hot.h"
#include "dispatcher/question.h"
#include "dispatcher/state/recorder.h"
#include "dispatcher/state/home.h"
#include "dispatcher/state/send.h"
#include "dispatcher/state/tape.h"
#include "runtime/base/log.h"
#include "runtime/inst/inst_debug.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAME_WORK = SLICE / 8 }; /* work of reading a frame, added to that of writing */

typedef struct Ingest {
    Msg m;              /* the frame being read: the client's, or one that finder.c wrote */
    FrameReader r;      /* of m, while is_open */
    uint64_t frame_seq; /* Dispatcher.frame_seq, saved while other clients have their slices */
    uint64_t bytes;     /* of the client's frame: the credit that it took */
    bool is_open;       /* r is reading m */
    bool is_anew;       /* finder.c has rewritten the client's frame as one or more frames */
    bool is_hot;        /* the tape has the beginning of the current hot record */
    Err err;            /* code not 0: the client's frame is malformed after the rewritten part */
    Msg *queue;         /* later frames and questions: ... */
    size_t at, n, cap;  /* ... those in [at, n) */
    Cancel cancel;      /* sent to workers again when nothing waits any more; seq 0: none */
} Ingest;

/* ---- The queue ---- */

static Ingest *ingest_of(Client *c) {
    if (!c->ingest) c->ingest = xcalloc(1, sizeof *c->ingest);
    return c->ingest;
}

bool ingest_waits(const Client *c) {
    const Ingest *t = c->ingest;
    return t && (t->is_open || t->is_anew || t->at < t->n);
}

void ingest_later(Client *c, Msg *m) {
    Ingest *t = ingest_of(c);
    if (t->at > t->cap / 2) { /* rare: amortised O(1) */
        for (size_t i = t->at; i < t->n; i++) msg_move(&t->queue[i - t->at], &t->queue[i]);
        t->n -= t->at, t->at = 0;
    }
    ARRAY_ROOM(t->queue, t->n, t->cap, 1);
    msg_move(&t->queue[t->n++], m);
}

void ingest_cancel(Client *c, const Cancel *cancel) {
    if (ingest_waits(c) && cancel->seq > c->ingest->cancel.seq) c->ingest->cancel = *cancel;
}

static void stand_in_line(Dispatcher *d, Client *c) {
    Client **last = &d->waiting;
    while (*last) last = &(*last)->next_waiting;
    *last = c;
}

static void leave_line(Dispatcher *d, Client *c) {
    Client **at = &d->waiting;
    while (*at && *at != c) at = &(*at)->next_waiting;
    if (*at) *at = c->next_waiting;
    c->next_waiting = NULL;
}

void ingest_free(Dispatcher *d, Client *c) {
    Ingest *t = c->ingest;
    leave_line(d, c);
    c->ingest = NULL;
    if (!t) return;
    msg_fini(&t->m);
    for (; t->at < t->n; t->at++) msg_fini(&t->queue[t->at]);
    free(t->queue);
    free(t);
}

/* ---- A frame ---- */

static bool frame_is_fair(const Client *c, const FrameReader *r, Err *err) {
    if (c->rank < 0) return err_set(err, ERR_PARSE, "frames are not allowed before the welcome");
    if (r->seq != c->next_seq)
        return err_set(err, ERR_PARSE, "a frame out of order: instruction %llu, not %llu",
                       (unsigned long long)r->seq, (unsigned long long)c->next_seq);
    return r->count <= HOT_INSTS ||
           err_set(err, ERR_LIMIT, "%u instructions in one frame", r->count);
}

static void log_client_inst(const Client *c, const Inst *inst) {
    char prefix[32];
    snprintf(prefix, sizeof prefix, "c%u > ", c->id);
    inst_debug("DISPATCHER", prefix, inst, NULL, 0);
}

static void move_home(Dispatcher *d, Client *c) {
    WorkerPeer *w = d->n_workers > 1 ? home_better(d, c) : NULL;
    if (!w) return;
    d->worker[c->rank]->n_clients--;
    w->n_clients++;
    c->rank = w->rank;
    c->home = dispatcher_group(d, &(int32_t){w->rank}, 1);
    for (uint64_t i = c->bodies.oldest; i < c->bodies.next; i++) {
        const Body *b = bodies_get(&c->bodies, i);
        Msg m;
        if (!b) continue;
        wire_body(c->id, i, b->bytes, b->n_bytes, &m);
        dispatcher_post(d, w->peer, &m, false);
    }
}

/* Reads instructions until the frame or the slice ends. Returns 1 if the frame has more, 0 if it
 * ended, -1 if it is malformed; err says how. */
static int read_on(Dispatcher *d, Client *c, Ingest *t, Err *err) {
    FrameReader *r = &t->r;
    Flow f;
    f.d = d;
    f.client = c;
    while (d->work < d->config.slice) {
        bool is_hot = frame_peek(r) == FRAME_HOT;
        if (is_hot && d->tape && !t->is_hot) tape_hot(d, c, r, t->is_hot = true);
        if (is_hot) c->at = r->hot_body->form[r->hot_at].pos;
        if (is_hot && hot_pass(d, c, r)) continue;
        f.body = is_hot ? r->hot_body : NULL;
        f.body_at = r->hot_at;
        f.args = r->hot_args;
        int more = frame_next(r, &d->scratch, &f.inst, &f.record, &f.record_bytes, err);
        if (more <= 0) return more;
        if (f.body) f.args_bytes = (size_t)(r->hot_args - f.args);
        if (r->is_inserted && !t->is_anew)
            return err_set(err, ERR_PARSE, "clients do not insert instructions") - 1;
        f.seq = r->inst_seq;
        f.n_out = 0;
        f.group = NULL;
        f.is_inserted = r->is_inserted;
        f.is_for_all = f.has_to = f.is_located = false;
        if (f.inst.pos.line) c->at = f.inst.pos;
        if (f.inst.op == OP_FILE) client_learn_file(c, &f.inst);
        if (c->finder && !t->is_anew) finder_sees(c, &f.inst);
        if (log_is(LOG_DISPATCHER)) log_client_inst(c, &f.inst);
        if (d->tape) tape_received(&f);
        chain_next(&f, STAGE_HOT);
        if (!t->is_hot || r->hot_left) continue;
        t->is_hot = false;
        if (d->tape) tape_hot(d, c, r, false);
    }
    return 1;
}

/* ---- Slices ---- */

static void open_frame(Dispatcher *d, Client *c, Ingest *t) {
    bool is_open = frame_open(&t->r, &t->m, NULL);
    assert(is_open); /* ingest_frame has checked the frame, or finder.c wrote it */
    t->is_open = true;
    t->is_hot = false;
    t->r.bodies = &c->bodies;
    bodies_sweep(&c->bodies);
    arena_reset(&d->scratch);
    route_open(d, c, &t->m, t->r.seq);
}

/* Ends the reading of a frame for this slice. rc, also returned: what read_on returned. */
static int close_frame(Dispatcher *d, Client *c, Ingest *t, int rc) {
    if (rc > 0) {
        t->frame_seq = route_pause(d, c);
        return rc;
    }
    bool brings_credit = !t->is_anew || finder_is_empty(c);
    route_close(d, c, t->r.seq_next, brings_credit ? t->bytes : 0, rc == 0);
    msg_fini(&t->m);
    t->is_open = false;
    d->work += FRAME_WORK;
    return rc;
}

/* t->m is the client's next frame. Opens it, or lets finder.c rewrite it (is_anew). */
static void begin_frame(Dispatcher *d, Client *c, Ingest *t) {
    t->bytes = t->m.part[0]->n;
    move_home(d, c);
    t->is_anew = finder_look(d, c, &t->m);
    if (!t->is_anew) {
        open_frame(d, c, t);
        return;
    }
    FrameReader r;
    bool is_open = frame_open(&r, &t->m, NULL);
    assert(is_open);
    arena_reset(&d->scratch);
    finder_write(d, c, &r, &t->err); /* an error is reported after the instructions before it */
    if (finder_is_empty(c)) c->bytes -= t->bytes; /* nothing of the frame is in flight */
    msg_fini(&t->m);
}

/* Opens the next frame, unless one is open. Returns 1 if one is open, 0 if nothing waits, -1 if the
 * client's frame is malformed; err says how. */
static int begin_next(Dispatcher *d, Client *c, Ingest *t, Err *err) {
    while (!t->is_open) {
        if (t->is_anew && finder_next(c, &t->m)) {
            open_frame(d, c, t);
            break;
        }
        t->is_anew = false;
        if (t->err.code) {
            *err = t->err;
            return -1;
        }
        if (t->at == t->n) {
            t->at = t->n = 0;
            return 0;
        }
        msg_move(&t->m, &t->queue[t->at++]);
        if (wire_kind(&t->m) == MSG_FRAME) {
            begin_frame(d, c, t);
        } else {
            question_ask(d, c, &t->m);
            msg_fini(&t->m);
        }
    }
    return 1;
}

int ingest_slice(Dispatcher *d, Client *c, Err *err) {
    Ingest *t = c->ingest;
    int rc = 1;
    leave_line(d, c);
    d->work = 0;
    if (t->is_open) {
        arena_reset(&d->scratch);
        route_open(d, c, NULL, t->frame_seq);
    }
    while (d->work < d->config.slice && (rc = begin_next(d, c, t, err)) > 0) {
        rc = close_frame(d, c, t, read_on(d, c, t, err));
        if (rc == 0 && c->n_errors > ERRORS_MAX)
            rc = err_set(err, ERR_LIMIT, "%d instructions refused", ERRORS_MAX) - 1;
        if (rc < 0) break;
    }
    if (rc < 0) return rc;
    if (rc > 0 || ingest_waits(c)) {
        stand_in_line(d, c);
    } else if (t->cancel.seq) {
        dispatcher_cancel(d, c, &t->cancel);
        t->cancel.seq = 0;
    }
    return 0;
}

int ingest_frame(Dispatcher *d, Client *c, Msg *m, Err *err) {
    FrameReader r;
    if (!frame_open(&r, m, err) || !frame_is_fair(c, &r, err) ||
        !client_credit(c, r.count, m->part[0]->n, err))
        return -1;
    uint64_t bytes = m->part[0]->n;
    d->n_frames++;
    d->n_insts += r.count;
    d->frame_bytes += bytes;
    d->payload_bytes_in += msg_bytes(m) - bytes;
    recorder_frame(d, c, m);
    bool waits = ingest_waits(c);
    ingest_later(c, m);
    return waits ? 0 : ingest_slice(d, c, err);
}
