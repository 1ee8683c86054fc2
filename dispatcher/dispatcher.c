/* dispatcher.c: the step function: a handler for each kind of message, arrivals and departures,
 * and the queue of outgoing messages.
 *
 * It trusts no peer. The first message of a peer must be hello. A client speaks only for itself,
 * whatever client number its frames carry; a worker only for the clients whose frames it got. A
 * forbidden message ends the connection with an error text. Other connections are not affected.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/chain/mod_scope.h"
#include "dispatcher/chain/modifier.h"
#include "dispatcher/chain/outgoing.h"
#include "dispatcher/hot/finder.h"
#include "dispatcher/ingest.h"
#include "dispatcher/question.h"
#include "dispatcher/state/listener.h"
#include "dispatcher/state/member.h"
#include "dispatcher/state/recorder.h"
#include "dispatcher/state/home.h"
#include "dispatcher/state/send.h"
#include "dispatcher/state/tape.h"
#include "runtime/base/clock.h"
#include "runtime/wire/wire_peer.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Making and unmaking ---- */

Dispatcher *dispatcher_new(const DispatcherConfig *config) {
    Dispatcher *d = xcalloc(1, sizeof *d);
    d->config = *config;
    d->frame.is_placed = true;
    d->hot = detector_config();
    d->born_us = now_us();
    d->next_number = 1; /* 0: for frames of clients, which have no number */
    if (d->config.slice == 0) d->config.slice = SLICE;
    if (d->config.workers_wanted < 1) d->config.workers_wanted = 1;
    return d;
}

static void free_client(Dispatcher *d, Client *c) {
    ingest_free(d, c);
    finder_free(&c->finder);
    outgoing_free(&c->outgoing);
    client_free(&c);
}

static void free_worker(WorkerPeer *w) {
    if (w) free(w->usage.op);
    free(w);
}

void dispatcher_free(Dispatcher **dp) {
    Dispatcher *d = *dp;
    *dp = NULL;
    if (!d) return;
    for (MapItem it = {0}; map_next(&d->client_by_id, &it);) free_client(d, it.value);
    for (int i = 0; i < d->n_ranks; i++) free_worker(d->worker[i]);
    listener_fini(d);
    recorder_fini(d);
    questions_fini(d);
    for (; d->out.n > 0; fifo_pop(&d->out)) msg_fini(&((OutMsg *)fifo_at(&d->out, 0))->msg);
    tape_fini(d);
    map_fini(&d->client_by_peer);
    map_fini(&d->client_by_id);
    map_fini(&d->worker_by_peer);
    arena_fini(&d->scratch);
    groups_fini(&d->groups);
    bytes_fini(&d->reports);
    free(d->worker);
    fifo_fini(&d->out);
    free(d);
}

int dispatcher_workers(const Dispatcher *d) { return d->n_workers; }
struct Door *dispatcher_door(const Dispatcher *d) {
    return d->config.door;
}

/* ---- Reports of arrivals and departures ---- */

bool dispatcher_take_reports(Dispatcher *d, Bytes *out) {
    if (d->reports.n == 0) return false;
    bytes_add(out, d->reports.data, d->reports.n);
    d->reports.n = 0;
    return true;
}

/* ---- Messages out ---- */

bool dispatcher_next(Dispatcher *d, PeerId *to, Msg *out, bool *drop) {
    if (d->out.n == 0) return false;
    OutMsg *l = fifo_at(&d->out, 0);
    *to = l->to, *drop = l->drop;
    msg_move(out, &l->msg);
    fifo_pop(&d->out);
    return true;
}

static void refuse_peer(Dispatcher *d, PeerId peer, const Err *err) {
    Msg m;
    wire_refuse(err, &m);
    dispatcher_post(d, peer, &m, true);
}

/* ---- Clients ---- */

/* Workers of a signal that names none: all that were present at the client's welcome and still
 * are. */
static void choose_all(Dispatcher *d, Client *c) {
    int32_t rank[MAX_INTS];
    int n = 0;
    for (int i = 0; i < d->n_ranks && n < MAX_INTS; i++)
        if (d->worker[i] && (!c->all || ranks_has(&c->all->set, i))) rank[n++] = i;
    const Members *all = n > 0 ? dispatcher_group(d, rank, n) : NULL;
    c->all = all ? all : c->home;
    dispatcher_hold_group(d, c, c->all);
    scope_refresh(d, c);
}

static void welcome_client(Dispatcher *d, Client *c) {
    WorkerPeer *home = home_pick(d);
    assert(home && c->rank < 0);
    c->rank = home->rank;
    home->n_clients++;
    c->home = dispatcher_group(d, &(int32_t){home->rank}, 1); /* exists since the worker came */
    choose_all(d, c);
    Welcome w = {.id = c->id,
                 .rank = (uint32_t)home->rank,
                 .n_workers = (uint32_t)d->n_workers,
                 .window_insts = WINDOW_INSTS,
                 .window_bytes = WINDOW_BYTES};
    memcpy(w.engine, home->engine, sizeof w.engine);
    Msg m;
    wire_welcome(&w, &m);
    dispatcher_post(d, c->peer, &m, false);
}

/* The workers already know that the client is gone. */
static void release_groups(Dispatcher *d, Client *c) {
    for (uint32_t i = 0; i < c->n_groups; i++) {
        if (!groups_release(&d->groups, c->group[i])) continue;
        for (int r = 0; r < d->n_ranks; r++) {
            Msg m;
            if (!d->worker[r]) continue;
            wire_group_gone(&c->group[i], &m);
            dispatcher_post(d, d->worker[r]->peer, &m, false);
        }
    }
    c->n_groups = 0;
}

/* Forgets a client and frees its tensors and groups. The caller sends messages to the peer. */
static void client_remove(Dispatcher *d, Client *c) {
    for (int r = -1; (r = ranks_next(&c->used, r + 1)) >= 0;) {
        WorkerPeer *w = d->worker[r];
        if (!w) continue;
        Msg m;
        wire_gone(&c->id, &m);
        dispatcher_post(d, w->peer, &m, false);
        w->insts -= client_in_flight(c, r);
    }
    for (int r = 0; r < d->n_ranks && c->is_profiled; r++) { /* others know it by send_profile_on */
        Msg m;
        if (!d->worker[r] || ranks_has(&c->used, r)) continue;
        wire_gone(&c->id, &m);
        dispatcher_post(d, d->worker[r]->peer, &m, false);
    }
    if (c->rank >= 0 && d->worker[c->rank]) d->worker[c->rank]->n_clients--;
    dispatcher_report(d, "client c%u disconnected after %llu instructions", c->id,
                      (unsigned long long)c->next_seq);
    recorder_needs(d, c);
    recorder_note(d, note_client(c, false));
    map_remove(&d->client_by_peer, c->peer);
    map_remove(&d->client_by_id, c->id);
    release_groups(d, c);
    free_client(d, c);
}

static void disconnect(Dispatcher *d, Client *c, const Err *err) {
    refuse_peer(d, c->peer, err);
    dispatcher_report(d, "ended client c%u: %s", c->id, err->text);
    if (d->tape) tape_disconnect(d, c, err);
    d->n_disconnected++;
    client_remove(d, c);
}

static bool has_workers(Dispatcher *d) {
    if (d->n_workers >= d->config.workers_wanted) d->is_open = true;
    return d->is_open && d->n_workers > 0;
}

static void welcome_waiting(Dispatcher *d) {
    if (!has_workers(d)) return;
    for (MapItem it = {0}; map_next(&d->client_by_id, &it);) {
        Client *c = it.value;
        if (c->rank < 0) welcome_client(d, c);
    }
}

static void client_add(Dispatcher *d, PeerId peer, const Hello *h) {
    Client *c = client_new(peer, ++d->last_client, d->config.seed);
    memcpy(c->name, h->name, sizeof c->name);
    memcpy(c->user, h->origin, sizeof c->user);
    Err err = {0};
    ConfigAt at;
    if (d->config.signals) config_merge(&c->signals, d->config.signals, &at, &err);
    map_put(&d->client_by_peer, peer, c);
    map_put(&d->client_by_id, c->id, c);
    recorder_note(d, note_client(c, true));
    dispatcher_report(d, "client c%u connected%s", c->id,
                      has_workers(d) ? "" : ", waiting for workers");
    if (has_workers(d)) welcome_client(d, c);
}

/* ---- Workers ---- */

/* Tells a worker to add up the times of a client's instructions by source line. */
static void send_profile_on(Dispatcher *d, const WorkerPeer *w, const Client *c) {
    char text[32];
    Msg m;
    snprintf(text, sizeof text, "profile on %u", c->id);
    wire_text(MSG_STATS, text, strlen(text), &m);
    dispatcher_post(d, w->peer, &m, false);
}

/* Tells a worker that joins late which clients are profiled. */
static void send_profiled(Dispatcher *d, const WorkerPeer *w) {
    for (MapItem it = {0}; map_next(&d->client_by_id, &it);)
        if (((const Client *)it.value)->is_profiled) send_profile_on(d, w, it.value);
}

static void worker_add(Dispatcher *d, PeerId peer, const Hello *h) {
    int rank = 0;
    while (rank < d->n_ranks && d->worker[rank]) rank++;
    if (rank == WORKERS_MAX) {
        Err err = {0};
        err_set(&err, ERR_LIMIT, "at most %d workers are supported", WORKERS_MAX);
        refuse_peer(d, peer, &err);
        return;
    }
    if (rank == d->n_ranks)
        d->worker = xrealloc(d->worker, (size_t)++d->n_ranks * sizeof d->worker[0]);
    WorkerPeer *w = d->worker[rank] = xcalloc(1, sizeof *w);
    w->peer = peer;
    w->seen_ms = d->now_ms;
    w->rank = rank;
    w->threads = h->threads;
    w->memory_bytes = h->memory_bytes;
    w->token = member_token();
    w->data = h->data;
    w->spawned = h->spawned;
    memcpy(w->engine, h->name, sizeof w->engine);
    memcpy(w->host, h->origin, sizeof w->host);
    map_put(&d->worker_by_peer, peer, w);
    d->n_workers++;
    dispatcher_report(d, "worker w%d (%s) connected", rank, w->engine);
    Welcome welcome = {.id = (uint32_t)rank,
                       .rank = (uint32_t)rank,
                       .n_workers = (uint32_t)d->n_workers,
                       .token = w->token};
    Msg m;
    wire_welcome(&welcome, &m);
    dispatcher_post(d, peer, &m, false);
    recorder_note(d, note_worker(w, true));
    listener_on_worker(d, w);
    member_add(d, w);
    for (const Members *g = d->groups.first; g; g = g->younger) dispatcher_send_group(d, w, g);
    send_profiled(d, w);
    dispatcher_group(d, &(int32_t){rank}, 1);
    welcome_waiting(d);
}

/* Returns the number of a client's tensors that lie there, wholly or in part. */
static size_t tensors_at(const Client *c, int rank) {
    size_t n = 0;
    for (size_t i = 0; i < c->tensors.cap; i++)
        if (c->tensors.key[i] && !c->tensors.value[i].is_poisoned)
            n += ranks_has(&c->tensors.value[i].group->set, rank);
    return n;
}

/* From now on its messages are ignored, and it gets no new clients. */
static void worker_stops(Dispatcher *d, WorkerPeer *w) {
    map_remove(&d->worker_by_peer, w->peer);
    d->n_workers--;
}

/* Ends its clients with this reason. */
static void worker_remove(Dispatcher *d, WorkerPeer *w, const char *why) {
    while (d->questions) { /* It will not answer any of them. */
        Question *q = d->questions;
        while (q && !q->owed[w->rank]) q = q->next;
        if (!q) break;
        question_answer(d, w, "", 0);
    }
    dispatcher_report(d, "worker w%d is gone: %s", w->rank, why);
    recorder_note(d, note_worker(w, false));
    if (!w->is_lost) worker_stops(d, w);
    d->worker[w->rank] = NULL;
    member_remove(d, w);
    for (MapItem it = {0}; map_next(&d->client_by_id, &it);) {
        Client *c = it.value;
        if (c->rank != w->rank && !ranks_has(&c->used, w->rank)) continue;
        Err err = {0};
        size_t n = tensors_at(c, w->rank);
        err_set(&err, ERR_GONE, "worker w%d is gone, and with it %zu tensor%s: %s", w->rank, n,
                n == 1 ? "" : "s", why);
        disconnect(d, c, &err);
        it.at = 0; /* The map has changed: start again. */
    }
    for (MapItem it = {0}; map_next(&d->client_by_id, &it);)
        if (((Client *)it.value)->rank >= 0) choose_all(d, it.value);
    free_worker(w);
}

static void worker_lost(Dispatcher *d, WorkerPeer *w, bool is_silent) {
    char why[128];
    snprintf(why, sizeof why, "%s",
             is_silent ? "it was silent for 10 s" : "it ended, or its connection broke");
    bool is_known = !d->config.lost || !w->spawned ||
                    d->config.lost(d->config.ctx, w->spawned, is_silent, why, sizeof why);
    if (is_known || (w->is_lost && d->now_ms >= w->lost_ms + WORKER_END_MS)) {
        worker_remove(d, w, why);
    } else if (!w->is_lost) {
        worker_stops(d, w);
        w->is_lost = true, w->is_silent = is_silent;
        w->lost_ms = d->now_ms;
    }
}

/* Asks the shell again about workers whose process had not ended yet (DispatcherConfig.lost). */
static void retry_lost(Dispatcher *d) {
    for (int i = 0; i < d->n_ranks; i++) {
        WorkerPeer *w = d->worker[i];
        if (w && w->is_lost) worker_lost(d, w, w->is_silent);
    }
}

/* ---- Messages of any peer ---- */

static size_t n_peers(const Dispatcher *d) { return d->client_by_id.n + (size_t)d->n_workers; }

static void on_hello(Dispatcher *d, PeerId from, const Msg *m) {
    Hello h;
    Err err = {0};
    bool is_read = wire_read_hello(m, &h, &err); /* if false, err says why */
    if (is_read && h.version != WIRE_VERSION) {
        err_set(&err, ERR_VERSION, "the dispatcher speaks protocol version %u, not %u",
                WIRE_VERSION, h.version);
        err_hint(&err, "run the same build of gtsh, gt-dispatcher and gt-worker");
    } else if (is_read && h.table_hash != op_table_hash()) {
        err_set(&err, ERR_VERSION, "the dispatcher has another table of operations");
        err_hint(&err, "run the same build of gtsh, gt-dispatcher and gt-worker");
    } else if (is_read && d->config.peers_max > 0 && n_peers(d) >= (size_t)d->config.peers_max) {
        err_set(&err, ERR_LIMIT, "the dispatcher has %zu clients and workers and no room for more",
                n_peers(d));
        err_hint(&err, "each takes an open file: start gt-dispatcher with a larger ulimit -n");
    } else if (is_read && h.role == ROLE_WORKER) {
        worker_add(d, from, &h);
    } else if (is_read && h.role == ROLE_WATCHER) {
        listener_add(d, from, &err);
    } else if (is_read && from & PEER_OUTSIDE) {
        err_set(&err, ERR_ARG, "this program runs alone: it can be watched, and not used");
    } else if (is_read && d->is_draining) {
        err_set(&err, ERR_GONE, "the dispatcher is stopping");
    } else if (is_read) {
        client_add(d, from, &h);
    }
    if (!err.code) return;
    dispatcher_report(d, "refused a peer: %s", err.text);
    refuse_peer(d, from, &err);
}

/* ---- Messages of clients ---- */

static void on_cancel(Dispatcher *d, Client *c, Msg *m) {
    Cancel cancel;
    if (c->rank < 0 || !wire_read_cancel(m, &cancel, NULL)) return;
    cancel.client = c->id;
    dispatcher_cancel(d, c, &cancel);
    ingest_cancel(c, &cancel);
}

void dispatcher_cancel_all(Dispatcher *d, Client *c) {
    Cancel cancel = {.client = c->id, .seq = c->next_seq};
    if (c->rank < 0) return;
    dispatcher_cancel(d, c, &cancel);
    ingest_cancel(c, &cancel);
}

/* The client has read answers, so their workers may send more, and it may ask more itself. Each
 * worker gets one message, however many answers there were and in whatever order. */
static bool on_credit(Dispatcher *d, Client *c, const Msg *m, Err *err) {
    Credit credit;
    uint64_t of_rank, unread = 0;
    TRY(wire_read_credit(m, &credit, err));
    arena_reset(&d->scratch);
    uint64_t *taken = arena_zalloc(&d->scratch, (size_t)d->n_ranks * sizeof *taken);
    for (int rank; (rank = client_read(c, &credit.bytes, &of_rank)) >= 0;)
        *(rank < d->n_ranks ? &taken[rank] : &unread) += of_rank;
    c->unread -= unread;
    for (int rank = 0; rank < d->n_ranks; rank++) {
        Msg out;
        if (!taken[rank] || !d->worker[rank]) continue;
        wire_credit(&(Credit){c->id, taken[rank]}, &out);
        dispatcher_post(d, d->worker[rank]->peer, &out, false);
    }
    return credit.bytes == 0 ||
           err_set(err, ERR_PARSE, "it acknowledged more answers than it was sent");
}

/* Takes the request "profile on", which has no answer; false: m is another request. */
static bool begin_profile(Dispatcher *d, Client *c, const Msg *m) {
    const char *text;
    size_t n;
    if (c->is_profiled || !wire_read_text(m, &text, &n, NULL) ||
        !question_is(text, n, "profile on"))
        return false;
    c->is_profiled = true;
    for (int i = 0; i < d->n_ranks; i++)
        if (d->worker[i]) send_profile_on(d, d->worker[i], c);
    return true;
}

/* A question waits behind the client's frames that wait: it may be about their results. */
static void on_stats(Dispatcher *d, Client *c, Msg *asked) {
    Err err = {0};
    if (begin_profile(d, c, asked)) return;
    if (c->unread > REPLY_BYTES)
        err_set(&err, ERR_LIMIT, "it asks questions but does not take the answers");
    else if (++c->n_questions > QUESTIONS_MAX)
        err_set(&err, ERR_LIMIT, "more than %d questions at once", QUESTIONS_MAX);
    if (err.code)
        disconnect(d, c, &err);
    else if (ingest_waits(c))
        ingest_later(c, asked);
    else
        question_ask(d, c, asked);
}

/* False: too many messages of a kind that takes no credit. */
static bool is_in_rate(Dispatcher *d, Client *c, const Msg *m, Err *err) {
    FrameReader r;
    switch (wire_kind(m)) {
    case MSG_BEAT: return client_rate(c, FREE_BEAT, d->now_ms, err);
    case MSG_CANCEL: return client_rate(c, FREE_CANCEL, d->now_ms, err);
    case MSG_FRAME:
        return !frame_open(&r, m, NULL) || r.count > 0 ||
               client_rate(c, FREE_FRAME, d->now_ms, err);
    default: return true;
    }
}

/* Consumes m. */
static void on_client_message(Dispatcher *d, Client *c, Msg *m) {
    Err err = {0};
    if (!is_in_rate(d, c, m, &err)) {
        disconnect(d, c, &err);
        msg_fini(m);
        return;
    }
    switch (wire_kind(m)) {
    case MSG_FRAME:
        if (ingest_frame(d, c, m, &err) < 0) disconnect(d, c, &err);
        break;
    case MSG_CANCEL: on_cancel(d, c, m); break;
    case MSG_STATS: on_stats(d, c, m); break;
    case MSG_CREDIT:
        if (!on_credit(d, c, m, &err)) disconnect(d, c, &err);
        break;
    case MSG_BEAT: break;
    case MSG_BYE: client_remove(d, c); break;
    default:
        err_set(&err, ERR_PARSE, "clients may not send this kind of message");
        disconnect(d, c, &err);
    }
    msg_fini(m);
}

/* ---- Messages of workers ---- */

/* Returns the client that a worker's message names, or NULL if it has left or never used the
 * worker. */
static Client *client_of(Dispatcher *d, const WorkerPeer *w, const Msg *m) {
    uint32_t id;
    Client *c = wire_client(m, &id) ? map_get(&d->client_by_id, id) : NULL;
    return c && ranks_has(&c->used, w->rank) ? c : NULL;
}

/* Sends the errors and replies that are due, then an ack of what all its workers have done. */
static void send_progress(Dispatcher *d, Client *c) {
    Msg m;
    while (client_due(c, &m)) dispatcher_post(d, c->peer, &m, false);
    Ack ack = {.client = c->id, .seq = c->acked_seq};
    wire_ack(&ack, &m);
    dispatcher_post(d, c->peer, &m, false);
}

/* May consume m. */
static void on_ack(Dispatcher *d, Client *c, WorkerPeer *w, Msg *m) {
    Ack ack;
    uint64_t before = c->acked_seq, insts;
    if (!wire_read_ack(m, &ack, NULL) || !client_ack(c, w->rank, ack.seq, &insts)) return;
    w->insts -= insts;
    if (c->acked_seq == ack.seq && c->held.n == 0)
        dispatcher_post(d, c->peer, m, false);
    else if (c->acked_seq != before)
        send_progress(d, c);
}

/* With a single worker, messages are passed on in the order of arrival. */
static void on_error(Dispatcher *d, Client *c, const WorkerPeer *w, Msg *m) {
    Failure f;
    if (c->n_used > 1 && wire_read_failure(m, &f, NULL))
        client_hold_error(c, &f, w->rank, m);
    else
        dispatcher_post(d, c->peer, m, false);
}

static bool has_failure(const Client *c, const Reply *r) {
    for (uint32_t i = 0; i < r->n; i++)
        if (r->value[i].status) return true;
    return r->n == 0 && client_expects_sync(c, r->seq);
}

static void on_reply(Dispatcher *d, Client *c, Msg *m) {
    Reply r;
    arena_reset(&d->scratch);
    if (c->n_used > 1 && wire_read_reply(m, &d->scratch, &r, NULL) && has_failure(c, &r) &&
        r.seq >= c->acked_seq)
        client_hold_answer(c, r.seq, m);
    else
        dispatcher_post(d, c->peer, m, false);
}

static void record_failure(Dispatcher *d, const Msg *m) {
    Failure f;
    if (!d->tape && !d->config.record_bytes) return;
    if (wire_read_failure(m, &f, NULL)) recorder_note(d, note_failure(d, &f));
}

/* Consumes m. */
static void on_worker_message(Dispatcher *d, WorkerPeer *w, Msg *m) {
    Client *c = NULL;
    const char *text;
    size_t n;
    w->seen_ms = d->now_ms;
    if (wire_kind(m) != MSG_REPLY) d->control_bytes += msg_bytes(m);
    switch (wire_kind(m)) {
    case MSG_ACK:
        if ((c = client_of(d, w, m))) on_ack(d, c, w, m); /* else it has left in the meantime */
        break;
    case MSG_REPLY:
        if (!(c = client_of(d, w, m))) break;
        d->reply_bytes_out += msg_bytes(m);
        client_answered(c, w->rank, msg_bytes(m));
        on_reply(d, c, m);
        break;
    case MSG_ERROR:
        if (!(c = client_of(d, w, m))) break;
        record_failure(d, m);
        on_error(d, c, w, m);
        break;
    case MSG_STATS_REPLY:
        if (wire_read_text(m, &text, &n, NULL)) question_answer(d, w, text, n);
        break;
    case MSG_TIMES: listener_on_times(d, w, m); break;
    case MSG_HASHES:
        if (d->tape) tape_hashes(d, w, m);
        break;
    case MSG_USAGE: listener_on_usage(d, w, m); break;
    case MSG_BYE: worker_remove(d, w, "it was stopped"); break;
    default: break;
    }
    msg_fini(m);
}

/* ---- Events ---- */

void dispatcher_on_message(Dispatcher *d, PeerId from, Msg *m, int64_t now_ms) {
    d->now_ms = now_ms;
    Client *c = map_get(&d->client_by_peer, from);
    WorkerPeer *w = c ? NULL : map_get(&d->worker_by_peer, from);
    if (c) {
        on_client_message(d, c, m);
    } else if (w) {
        on_worker_message(d, w, m);
    } else if (d->listeners && listener_has(d, from)) {
        listener_on_message(d, from, m);
        msg_fini(m);
    } else {
        MsgKind kind = wire_kind(m);
        Err err = {0};
        if (kind == MSG_HELLO) {
            on_hello(d, from, m);
        } else if (kind != MSG_BYE) {
            err_set(&err, ERR_PARSE, "the first message must be hello");
            refuse_peer(d, from, &err);
        }
        msg_fini(m);
    }
}

bool dispatcher_go_on(Dispatcher *d) {
    Err err = {0};
    Client *c = d->waiting;
    if (c && ingest_slice(d, c, &err) < 0) disconnect(d, c, &err);
    return d->waiting != NULL;
}

void dispatcher_on_gone(Dispatcher *d, PeerId peer, int64_t now_ms) {
    d->now_ms = now_ms;
    Client *c = map_get(&d->client_by_peer, peer);
    WorkerPeer *w = map_get(&d->worker_by_peer, peer);
    if (c)
        client_remove(d, c);
    else if (w)
        worker_lost(d, w, false);
    else if (listener_has(d, peer))
        listener_on_message(d, peer, NULL);
}

void dispatcher_on_unread(Dispatcher *d, PeerId peer) {
    Client *c = map_get(&d->client_by_peer, peer);
    Err err = {0};
    err_set(&err, ERR_LIMIT, "it does not read what it is sent");
    if (c)
        disconnect(d, c, &err);
    else
        dispatcher_on_gone(d, peer, d->now_ms);
}

void dispatcher_on_silent(Dispatcher *d, PeerId worker, int64_t now_ms) {
    d->now_ms = now_ms;
    WorkerPeer *w = map_get(&d->worker_by_peer, worker);
    if (w) worker_lost(d, w, true);
}

PeerId dispatcher_silent(Dispatcher *d, int64_t now_ms) {
    bool was_away =
        now_ms - d->silent_ms > SILENT_MS / 4; /* this process was stopped, not its peers */
    d->silent_ms = now_ms;
    for (int i = 0; i < d->n_ranks && was_away; i++)
        if (d->worker[i]) d->worker[i]->seen_ms = now_ms;
    for (int i = 0; i < d->n_ranks && d->config.beat_ms; i++) {
        WorkerPeer *w = d->worker[i];
        if (!w || w->is_lost || now_ms - w->seen_ms < SILENT_MS) continue;
        w->seen_ms = now_ms; /* so that it is reported only now and then */
        return w->peer;
    }
    return 0;
}

static void beat(Dispatcher *d, PeerId peer) {
    Msg m;
    wire_text(MSG_BEAT, "", 0, &m);
    dispatcher_post(d, peer, &m, false);
}

void dispatcher_on_tick(Dispatcher *d, int64_t now_ms) {
    d->now_ms = now_ms;
    retry_lost(d);
    if (d->tape) tape_on_tick(d, false);
    if (d->listeners) listener_on_tick(d);
    if (d->config.beat_ms == 0 || now_ms - d->beat_ms < d->config.beat_ms) return;
    d->beat_ms = now_ms;
    for (MapItem it = {0}; map_next(&d->client_by_id, &it);) beat(d, ((Client *)it.value)->peer);
    for (int i = 0; i < d->n_ranks; i++)
        if (d->worker[i]) beat(d, d->worker[i]->peer);
}

int dispatcher_due(const Dispatcher *d, int timeout_ms, int64_t now_ms) {
    if (!d->listeners) return timeout_ms;
    int64_t left = d->snapshot_ms + SNAPSHOT_MS - now_ms;
    if (d->lines.n && left > LISTEN_LINES_MS) left = LISTEN_LINES_MS;
    if (left < 0) left = 0;
    return timeout_ms < 0 || left < timeout_ms ? (int)left : timeout_ms;
}

void dispatcher_drain(Dispatcher *d) {
    d->is_draining = true;
    if (d->tape) tape_on_tick(d, true);
}

bool dispatcher_is_idle(const Dispatcher *d) {
    for (MapItem it = {0}; map_next(&d->client_by_id, &it);) {
        const Client *c = it.value;
        if (c->acked_seq < c->next_seq) return false;
    }
    return true;
}

static void bye(Dispatcher *d, PeerId peer) {
    Msg m;
    wire_text(MSG_BYE, "", 0, &m);
    dispatcher_post(d, peer, &m, false);
}

void dispatcher_bye(Dispatcher *d) {
    for (MapItem it = {0}; map_next(&d->client_by_id, &it);) bye(d, ((Client *)it.value)->peer);
    listener_bye(d);
    for (int i = 0; i < d->n_ranks; i++)
        if (d->worker[i]) bye(d, d->worker[i]->peer);
}

void dispatcher_stats(const Dispatcher *d, Bytes *out) {
    bytes_printf(out, "clients=%zu\nworkers=%d\n", d->client_by_id.n, d->n_workers);
    bytes_printf(out, "instructions=%llu\nframes=%llu\n", (unsigned long long)d->n_insts,
                 (unsigned long long)d->n_frames);
    bytes_printf(out, "cut_off=%llu\n", (unsigned long long)d->n_disconnected);
    bytes_printf(out, "frame_bytes=%llu\npayload_bytes_in=%llu\n",
                 (unsigned long long)d->frame_bytes, (unsigned long long)d->payload_bytes_in);
    bytes_printf(out, "reply_bytes_out=%llu\ncontrol_bytes=%llu\n",
                 (unsigned long long)d->reply_bytes_out, (unsigned long long)d->control_bytes);
    finder_stats(d, out);
    for (int i = 0; i < STAGES; i++) modifiers[i]->stats(d, out);
}
