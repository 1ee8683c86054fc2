/* exec.c: frames, clients and scheduling. A client's frames are issued in order. The client that
 * has used least of the worker's time is next, for one time slice, so that no client starves
 * another. A frame is acknowledged when it and all before it are done. Acknowledgements are
 * cumulative and are written only when exec_next is called: a burst of frames costs one message.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/exec.h"
#include "runtime/base/clock.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire.h"
#include "worker/exec/cancel.h"
#include "worker/exec/hash.h"
#include "worker/exec/issue.h"
#include "worker/exec/mark.h"
#include "worker/exec/peer.h"
#include "worker/exec/profile.h"
#include "worker/exec/queue.h"
#include "worker/exec/stage.h"
#include "worker/exec/watch.h"

#include <assert.h>
#include <stdlib.h>

enum {
    SLICE_NS = 500000,
    LOOK_COST = 16,      /* instructions between readings of the clock */
    LARGE_CALL = 1 << 16 /* a result of more bytes is worth a reading of the clock */
};

int64_t exec_now_ns(const Exec *x) {
    return __builtin_expect(x->clock != NULL, 0) ? x->clock() : now_ns();
}

/* ---- Making and freeing ---- */

Exec *exec_new(const EngineOps *ops, const EngineConfig *config, Err *err) {
    Engine *e = ops->open(config, err);
    if (!e) return NULL;
    Exec *x = xcalloc(1, sizeof *x);
    x->engine = e;
    x->ops = ops;
    x->threads = config->threads;
    if (ops->is_ordered) x->marks = marks_new();
    x->jobs.size = sizeof(Job);
    x->waits.size = WAIT_BYTES;
    x->pace = exec_first_pace;
    store_init(&x->store, e);
    void *base;
    uint64_t bytes;
    int fd;
    ops->arena(e, &base, &bytes, &fd);
    x->arena = base;
    watch_start(x);
    return x;
}

static void frame_free(Frame *f) {
    msg_fini(&f->msg);
    arena_fini(&f->arena);
    free(f);
}

/* Puts a frame onto the free list. */
static void frame_recycle(Exec *x, Frame *f) {
    if (f->ahead) cell_put(&x->jobs, f->ahead);
    f->ahead = NULL;
    msg_fini(&f->msg);
    arena_reset(&f->arena);
    f->next = x->spare;
    x->spare = f;
}

/* Frees a client with an empty queue. */
static void client_free(Exec *x, Client *c) {
    Client **at = &x->clients;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    while (c->first) {
        Frame *f = c->first;
        c->first = f->next;
        frame_recycle(x, f);
    }
    names_leave(&x->store, &c->names); /* storages that peers still read stay */
    bodies_fini(&c->bodies);
    bodies_fini(&c->placed);
    profile_free(&c->profile);
    free(c);
}

void exec_free(Exec **at) {
    Exec *x = *at;
    if (!x) return;
    exec_end(x);
    stages_end(x, NULL);
    while (x->first) exec_retire(x, true);
    if (x->marks) marks_settle(x);
    assert(!marks_are_awaited(x)); /* a mark refers to its client's job */
    while (x->clients) {
        x->clients->is_gone = true;
        queue_drop(x, x->clients);
        client_free(x, x->clients);
    }
    while (x->spare) {
        Frame *f = x->spare;
        x->spare = f->next;
        frame_free(f);
    }
    exec_hash(x, 0);
    marks_free(x);
    watch_end(x);
    peer_fini(x);
    outbox_fini(&x->out);
    store_fini(&x->store);
    cells_fini(&x->jobs);
    cells_fini(&x->waits);
    arena_fini(&x->scratch);
    stages_free(x);
    x->ops->close(&x->engine);
    free(x);
    *at = NULL;
}

void exec_set_rank(Exec *x, uint32_t rank) { x->rank = rank; }
Engine *exec_engine(Exec *x) { return x->engine; }

Client *exec_client(Exec *x, uint32_t id, bool creates) {
    for (Client *c = x->clients; c; c = c->next)
        if (c->id == id && !c->is_gone) return c;
    if (!creates) return NULL;
    Client *c = xcalloc(1, sizeof *c);
    c->id = id;
    c->names = names_new();
    c->placed.may_insert = true;
    /* A new client starts with the virtual time of the one that has used least. */
    int64_t least = INT64_MAX;
    for (const Client *o = x->clients; o; o = o->next)
        if (o->used_ns < least) least = o->used_ns;
    c->used_ns = x->clients ? least : 0;
    c->next = x->clients;
    return x->clients = c;
}

/* ---- Messages in ---- */

static void refuse(Exec *x, uint32_t client, uint64_t seq, const Err *err) {
    Failure f = {
        .client = client, .seq = seq, .op = OP_NOTE, .worker = (uint16_t)x->rank, .err = *err};
    Msg m = {0};
    wire_failure(&f, &m);
    exec_send(x, &m);
}

/* True if f is at a hot record, which a stage may execute. */
static bool is_hot_next(const Exec *x, Frame *f) {
    return x->looks && !f->is_bad && frame_peek(&f->reader) == FRAME_HOT;
}

/* Decodes the next instruction into f->ahead; NULL at the end, or if it is malformed. */
static void look_ahead(Exec *x, Frame *f) {
    Job *j = cell_get(&x->jobs);
    const FrameReader *at = &f->reader;
    j->body = is_hot_next(x, f) ? at->hot_body : NULL;
    j->args = NULL;
    if (j->body) j->body_at = at->hot_at, j->args = at->hot_args, j->args_base = at->hot_base;
    if (j->body) j->args_added = at->hot_added;
    f->is_ahead = true;
    int r = f->is_bad ? 0 : frame_next(&f->reader, &f->arena, &j->inst, NULL, NULL, &f->bad);
    f->is_bad |= r < 0;
    f->ahead = r > 0 ? j : NULL;
    if (r <= 0) {
        cell_put(&x->jobs, j);
        return;
    }
    j->frame = f;
    j->seq = at->inst_seq;
    j->number = at->number ? at->number + at->next - 1 : 0;
}

void exec_on_frame(Exec *x, Msg *m) {
    Frame *f = x->spare;
    if (f)
        x->spare = f->next;
    else
        f = xcalloc(1, sizeof *f);
    Arena arena = f->arena;
    *f = (Frame){.arena = arena};
    msg_move(&f->msg, m);
    Err err = {0};
    if (!frame_open(&f->reader, &f->msg, &err)) {
        refuse(x, 0, 0, &err);
        frame_recycle(x, f);
        return;
    }
    f->arrival = ++x->n_frames;
    uint64_t last = f->reader.number + f->reader.count - (f->reader.count > 0);
    if (f->reader.number && last > x->seen) x->seen = last;
    Client *c = f->client = exec_client(x, f->reader.client, true);
    if (c->last)
        c->last->next = f;
    else
        c->first = f;
    c->last = f;
    if (!c->at) {
        c->at = f;
        /* A client that was idle gets no credit for that time. */
        int64_t least = INT64_MAX;
        for (const Client *o = x->clients; o; o = o->next)
            if (o != c && o->at && o->used_ns < least) least = o->used_ns;
        if (least != INT64_MAX && c->used_ns < least) c->used_ns = least;
    }
    f->reader.bodies = &c->bodies, f->reader.placed = &c->placed;
    if (x->early.n && ++x->n_sweep > x->early.n) peer_sweep(x, 0);
}

void exec_on_body(Exec *x, const Msg *m) {
    uint32_t client;
    uint64_t number;
    const void *forms;
    size_t n;
    Err err;
    if (!wire_read_body(m, &client, &number, &forms, &n, &err)) return;
    Client *c = exec_client(x, client, true);
    stages_end(x, c);
    bodies_sweep(&c->bodies);
    bodies_define(&c->bodies, number, forms, n, &err); /* if it fails, so do records that use it */
}

void exec_on_cancel(Exec *x, uint32_t client, uint64_t seq) {
    Client *c = exec_client(x, client, false);
    if (!c || seq < c->cancel_end || (seq == c->cancel_end && !c->has_pending_cancel)) return;
    stages_end(x, c);
    if (seq > c->cancel_end)
        c->is_cancel_reported = false; /* else a cancelled call has reported it */
    c->cancel_end = seq;
    c->is_draining = false;
    exec_cancel_done(x, c);
    queue_cancel(x, c);
}

void exec_on_credit(Exec *x, uint32_t client, uint64_t bytes) {
    Client *c = exec_client(x, client, false);
    if (!c) return;
    bool was_full = client_is_full(c);
    c->unread -= bytes < c->unread ? bytes : c->unread;
    if (was_full && !client_is_full(c)) queue_settle(x, c);
}

void exec_on_gone(Exec *x, uint32_t client) {
    Client *c = exec_client(x, client, false);
    if (!c) {
        peer_sweep(x, client);
        return;
    }
    stages_end(x, c);
    if (x->marks) marks_settle(x); /* the engine may fill the client's replies */
    c->is_gone = true;
    exec_cancel_done(x, c);
    c->at = NULL;
    c->has_ack = false;
    queue_drop(x, c);
    peer_sweep(x, client);
    if (!c->n_jobs) client_free(x, c);
}

/* ---- Turns ---- */

void exec_frame_done(Exec *x, Frame *f) {
    Client *c = f->client;
    if (c->is_gone) {
        if (!c->n_jobs) client_free(x, c);
        return;
    }
    while ((f = c->first) && f->is_issued && !f->pending) {
        c->has_ack = true;
        c->ack_seq = f->reader.seq_next;
        c->ack_bytes += f->msg.part[0]->n;
        c->first = f->next;
        if (!c->first) c->last = NULL;
        frame_recycle(x, f);
    }
}

/* Issues one instruction of the client, or ends its frame. Returns the estimated cost, LOOK_COST if
 * the clock should be read. */
static int issue_next(Exec *x, Client *c) {
    Frame *f = c->at;
    if (!f->is_begun) { /* not before: bodies are defined in the order of the stream */
        bodies_sweep(&c->bodies);
        bodies_sweep(&c->placed);
        f->is_begun = true;
    }
    if (!f->is_ahead) {
        Look look = is_hot_next(x, f) ? x->looks->look(x->looks, f) : LOOK_NONE;
        c->is_draining = look == LOOK_DRAIN;
        if (look != LOOK_NONE) return look == LOOK_DONE ? LOOK_COST : 1;
        look_ahead(x, f);
    }
    Job *j = f->ahead;
    bool asks = x->observer || (j && j->body) || is_hot_next(x, f);
    bool may_look_ahead = !asks || x->looks->before(x->looks, f, j);
    if (!j) {
        if (f->is_bad) refuse(x, c->id, f->reader.seq_next, &f->bad);
        f->is_issued = true;
        c->at = f->next;
        exec_frame_done(x, f);
        return 1;
    }
    f->ahead = NULL;
    f->is_ahead = false;
    if (may_look_ahead) look_ahead(x, f);
    bool is_heavy =
        op_info[j->inst.op].class_ == CLASS_KERNEL || op_info[j->inst.op].class_ == CLASS_SOURCE;
    uint64_t before = c->names->bytes;
    exec_issue(x, j, f->ahead);
    if (x->observer) x->observer->issued(x->observer);
    return is_heavy || c->names->bytes > before + LARGE_CALL ? LOOK_COST : 1;
}

/* Starts a job that waited, or issues the next instruction; the former is older. */
static int advance(Exec *x, Client *c) {
    if (c->ready && c->stuck_at != x->store.n_changes && queue_run(x, c)) return LOOK_COST;
    return client_may_issue(c) ? issue_next(x, c) : LOOK_COST;
}

static Client *next_client(const Exec *x) {
    Client *best = NULL;
    for (Client *c = x->clients; c; c = c->next)
        if (client_has_work(x, c) && (!best || c->used_ns < best->used_ns)) best = c;
    return best;
}

bool exec_step(Exec *x, int64_t budget_us) {
    int64_t start = exec_now_ns(x), now = start, end = start + budget_us * 1000;
    if (x->first || x->marks) exec_retire(x, false);
    Client *c;
    if (x->pending_of && next_client(x)) x->takes->idle(x->takes, false);
    while ((c = next_client(x))) {
        int64_t began = now, slice_end = now + SLICE_NS < end ? now + SLICE_NS : end;
        bool is_alone = c->next == NULL && c == x->clients;
        int cost = 0;
        do {
            cost += advance(x, c);
            while (exec_is_far_ahead(x)) exec_retire(x, true);
            if (cost >= LOOK_COST) cost = 0, now = exec_now_ns(x);
        } while (client_has_work(x, c) && now < (is_alone ? end : slice_end) && !x->peer_out.n);
        now = exec_now_ns(x);
        c->used_ns += now - began;
        if (x->first || x->marks) exec_retire(x, false);
        if (now >= end || x->peer_out.n) break; /* a peer or client waits for results */
    }
    if (!next_client(x) && x->first && !x->peer_out.n) exec_retire(x, true);
    if (marks_are_awaited(x) && !next_client(x) && !x->peer_out.n && !x->out.n) marks_wait(x);
    bool has_more = next_client(x) || x->first || marks_are_awaited(x);
    if (!has_more && x->pending_of) {
        x->takes->idle(x->takes, true);
        return true;
    }
    return has_more; /* messages of peers wake the jobs that wait for them */
}

bool exec_can_sleep(const Exec *x) {
    return !x->first && !next_client(x) && x->pending_of && !marks_are_awaited(x);
}

/* ---- Messages out ---- */

void exec_send(Exec *x, Msg *m) { outbox_put(&x->out, 0, m); }

bool exec_next(Exec *x, Msg *out) {
    uint32_t none;
    Client *c = x->clients;
    while (c && !c->has_ack) c = c->next;
    if (watch_next(x, c || x->out.n, out) || hash_next(x, c || x->out.n, out)) return true;
    if (outbox_take(&x->out, &none, out)) return true;
    if (c) {
        wire_ack(&(Ack){.client = c->id, .seq = c->ack_seq, .bytes = c->ack_bytes}, out);
        c->has_ack = false;
        c->ack_bytes = 0;
        return true;
    }
    return false;
}

uint64_t exec_frames(const Exec *x) { return x->n_frames; }

bool exec_has_done(const Exec *x, uint64_t n, uint32_t client) {
    for (const Client *c = x->clients; c; c = c->next)
        if ((!client || c->id == client) && c->first && !c->is_gone && c->first->arrival <= n)
            return false;
    return true;
}
