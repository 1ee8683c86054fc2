/* listener.c: see listener.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/listener.h"
#include "dispatcher/state/recorder.h"
#include "dispatcher/state/send.h"
#include "dispatcher/state/tape.h"
#include "runtime/base/clock.h"
#include "runtime/wire/wire_peer.h"
#include "runtime/wire/wire_watch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LISTENERS_MAX = 64,
    PAST_OWED_MS = 3000,    /* how long workers have to send their rows */
    ROWS_BYTES = 64 << 20,  /* most bytes of these rows that are kept for one listener */
    LINES_BYTES = 64 << 10, /* a message is sent when the tape's lines fill so many bytes */
};

struct Listener {
    Listener *next;
    PeerId peer;
    uint64_t unread;  /* bytes sent and not acknowledged */
    bool has_events;  /* it gets the lines of the tape */
    uint64_t dropped; /* lines of the tape that were not sent since the last one that was */
    /* The past: */
    uint32_t past_ms;  /* how much it asked for; 0: none, or is_past */
    bool is_past;      /* the past is being sent */
    Fifo past;         /* of Buf *: what is sent when it has read the messages before */
    size_t rows_bytes; /* bytes of workers' rows in `past` */
    RankSet owed;      /* workers that have not sent all their rows */
    int64_t owed_ms;   /* when to stop waiting for `owed` */
};

static Listener *find(const Dispatcher *d, PeerId peer) {
    Listener *l = d->listeners;
    while (l && l->peer != peer) l = l->next;
    return l;
}

bool listener_has(const Dispatcher *d, PeerId peer) { return find(d, peer) != NULL; }

/* ---- What workers report ---- */

static void tell(Dispatcher *d, const WorkerPeer *w) {
    Msg m;
    wire_watch(&(WatchAsk){.what = d->watching}, &m);
    dispatcher_post(d, w->peer, &m, false);
}

void listener_on_worker(Dispatcher *d, const WorkerPeer *w) {
    if (d->watching) tell(d, w);
}

void listener_watch(Dispatcher *d) {
    uint8_t what = d->listeners ? WATCH_USAGE : 0;
    if (d->tape) what |= WATCH_TIMES | d->config.hashing;
    if (what == d->watching) return;
    d->watching = what;
    for (int i = 0; i < d->n_ranks; i++) {
        if (!d->worker[i]) continue;
        tell(d, d->worker[i]);
        /* A worker counts anew for the next one that watches. */
        if (!(what & WATCH_USAGE)) d->worker[i]->usage.now_ns = 0;
    }
}

/* The kernel's boot id: equal on two processes of one machine. */
static void read_host(char host[64]) {
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f || !fgets(host, 64, f)) strcpy(host, "?");
    if (f) fclose(f);
    host[strcspn(host, "\n")] = 0;
}

void listener_look_at_clock(Dispatcher *d, WorkerPeer *w, int64_t sent_ns) {
    int64_t ahead;
    if (!d->host[0]) read_host(d->host);
    if (!strcmp(d->host, w->data.host) || __builtin_sub_overflow(now_ns(), sent_ns, &ahead)) return;
    if (w->is_clock_known && ahead >= w->ahead_ns) return;
    w->ahead_ns = ahead;
    w->is_clock_known = true;
}

void listener_on_usage(Dispatcher *d, WorkerPeer *w, const Msg *m) {
    Usage u;
    if (!(d->watching & WATCH_USAGE)) return; /* it is late */
    arena_reset(&d->scratch);
    if (!wire_read_usage(m, &d->scratch, &u, NULL)) return;
    OpUsage *op = xrealloc(w->usage.op, (u.n + 1) * sizeof *op);
    if (u.n) memcpy(op, u.op, u.n * sizeof *op);
    u.op = op;
    w->usage = u;
}

/* ---- Coming and going ---- */

bool listener_add(Dispatcher *d, PeerId peer, Err *err) {
    int n = 0;
    for (const Listener *l = d->listeners; l; l = l->next) n++;
    if (n >= LISTENERS_MAX)
        return err_set(err, ERR_LIMIT, "%d programs watch this run already, which is the limit", n);
    Listener *l = xcalloc(1, sizeof *l);
    l->peer = peer;
    l->next = d->listeners;
    d->listeners = l;
    if (!l->next) d->snapshot_ms = 0;
    listener_watch(d);
    return true;
}

static void listener_free(Listener *l) {
    for (; l->past.n > 0; fifo_pop(&l->past)) buf_unref(fifo_at(&l->past, 0));
    fifo_fini(&l->past);
    free(l);
}

/* Begins or ends what is done only for those that want the lines of the tape. */
static void see_events(Dispatcher *d) {
    d->has_events = false;
    for (const Listener *l = d->listeners; l; l = l->next) d->has_events |= l->has_events;
    if (!d->has_events) bytes_fini(&d->lines);
    tape_for_listeners(d);
    listener_watch(d);
}

static void drop(Dispatcher *d, Listener *l) {
    Listener **at = &d->listeners;
    while (*at != l) at = &(*at)->next;
    *at = l->next;
    listener_free(l);
    see_events(d);
}

void listener_fini(Dispatcher *d) {
    bytes_fini(&d->lines);
    while (d->listeners) {
        Listener *l = d->listeners;
        d->listeners = l->next;
        listener_free(l);
    }
}

void listener_bye(Dispatcher *d) {
    for (const Listener *l = d->listeners; l; l = l->next) {
        Msg m;
        wire_text(MSG_BYE, "", 0, &m);
        dispatcher_post(d, l->peer, &m, false);
    }
}

/* ---- Messages ---- */

/* Sends m, unless the listener has too much unread. Consumes m. */
static bool send(Dispatcher *d, Listener *l, Msg *m) {
    uint64_t bytes = msg_bytes(m);
    if (l->unread > 0 && l->unread + bytes > LISTEN_BYTES) {
        msg_fini(m);
        return false;
    }
    l->unread += bytes;
    dispatcher_post(d, l->peer, m, false);
    return true;
}

static uint64_t count_lines(const char *text, size_t n) {
    uint64_t lines = 0;
    for (const char *end = text + n; (text = memchr(text, '\n', (size_t)(end - text))); text++)
        lines++;
    return lines;
}

/* Sends the lines that were collected to all that want them. */
static void send_lines(Dispatcher *d) {
    if (d->lines.n == 0) return;
    for (Listener *l = d->listeners; l; l = l->next) {
        Msg m;
        if (!l->has_events) continue;
        Events e = {.dropped = l->dropped, .text = d->lines.data, .n = d->lines.n};
        wire_events(&e, &m);
        l->dropped = send(d, l, &m) ? 0 : l->dropped + count_lines(d->lines.data, d->lines.n);
    }
    d->lines.n = 0;
}

void listener_line(Dispatcher *d, const char *line, size_t n) {
    if (d->lines.n == 0) d->lines_ms = d->now_ms;
    bytes_add(&d->lines, line, n);
    if (d->lines.n >= LINES_BYTES) send_lines(d);
}

/* ---- The past ---- */

/* One at a time, because a worker does not say for whom its rows are. */
static bool has_past(const Dispatcher *d) {
    for (const Listener *l = d->listeners; l; l = l->next)
        if (l->is_past) return true;
    return false;
}

static void push_past(Listener *l, Buf *b) { *(Buf **)fifo_push(&l->past, sizeof b) = b; }

static void begin_past(Dispatcher *d, Listener *l) {
    uint32_t past_ms = l->past_ms;
    l->past_ms = 0;
    l->rows_bytes = 0;
    l->is_past = true;
    l->owed = (RankSet){{0}};
    l->owed_ms = d->now_ms + PAST_OWED_MS;
    push_past(l, recorder_preface(d, past_ms));
    size_t n = recorder_chunks(d);
    for (size_t i = 0; i < n; i++) push_past(l, recorder_chunk(d, i));
    for (int i = 0; i < d->n_ranks; i++) {
        Msg m;
        if (!d->worker[i]) continue;
        ranks_add(&l->owed, i);
        wire_watch(&(WatchAsk){.what = d->watching, .past_ms = past_ms}, &m);
        dispatcher_post(d, d->worker[i]->peer, &m, false);
    }
}

static void end_past(Dispatcher *d, Listener *l) {
    Msg m;
    wire_events(&(Events){.is_past = true, .is_end = true, .text = ""}, &m);
    l->unread += msg_bytes(&m);
    dispatcher_post(d, l->peer, &m, false);
    fifo_fini(&l->past);
    l->is_past = false;
}

/* Sends as much of the past as the listener may get now. */
static void go_on_past(Dispatcher *d, Listener *l) {
    if (l->past_ms && !has_past(d)) begin_past(d, l);
    if (!l->is_past) return;
    for (; l->past.n > 0; fifo_pop(&l->past)) {
        Buf *b = *(Buf **)fifo_at(&l->past, 0);
        if (l->unread > 0 && l->unread + b->n > LISTEN_BYTES) return;
        Msg m = {0};
        l->unread += b->n;
        msg_push(&m, b);
        dispatcher_post(d, l->peer, &m, false);
    }
    bool is_late = d->now_ms >= l->owed_ms; /* a worker that is in a long call, or lost */
    for (int r = -1; !is_late && (r = ranks_next(&l->owed, r + 1)) >= 0;)
        if (r < d->n_ranks && d->worker[r]) return;
    end_past(d, l);
}

static void keep_rows(Dispatcher *d, const WorkerPeer *w, const Msg *m, bool is_end) {
    for (Listener *l = d->listeners; l; l = l->next) {
        if (!l->is_past || !ranks_has(&l->owed, w->rank)) continue;
        l->rows_bytes += msg_bytes(m);
        if (l->rows_bytes <= ROWS_BYTES) push_past(l, recorder_rows(m, w->rank, w->ahead_ns));
        if (is_end) ranks_remove(&l->owed, w->rank);
        go_on_past(d, l);
    }
}

void listener_on_times(Dispatcher *d, WorkerPeer *w, const Msg *m) {
    Times times;
    if (!d->tape && !d->listeners) return;
    arena_reset(&d->scratch);
    if (!wire_read_times(m, &d->scratch, &times, NULL)) return;
    listener_look_at_clock(d, w, times.now_ns);
    if (times.is_past)
        keep_rows(d, w, m, times.is_end);
    else if (d->tape)
        tape_times(d, w, &times);
}

static void refuse(Dispatcher *d, Listener *l, const char *why) {
    Err err = {0};
    Msg m;
    err_set(&err, ERR_PARSE, "%s", why);
    wire_refuse(&err, &m);
    dispatcher_post(d, l->peer, &m, true);
    drop(d, l);
}

static void cancel(Dispatcher *d, uint32_t client) {
    Client *c = map_get(&d->client_by_id, client);
    if (!c) return;
    dispatcher_report(d, "a watcher cancelled what client c%u had queued", c->id);
    dispatcher_cancel_all(d, c);
}

static void on_listen(Dispatcher *d, Listener *l, const Msg *m) {
    Listen ask;
    if (!wire_read_listen(m, &ask, NULL)) {
        refuse(d, l, "a malformed listen message");
        return;
    }
    switch ((ListenVerb)ask.verb) {
    case LISTEN_EVENTS:
    case LISTEN_QUIET:
        send_lines(d);
        l->has_events = ask.verb == LISTEN_EVENTS;
        see_events(d);
        break;
    case LISTEN_PAST:
        if (!l->is_past) l->past_ms = ask.past_ms;
        go_on_past(d, l);
        break;
    case LISTEN_CANCEL: cancel(d, ask.client); break;
    case LISTEN_VERBS: break;
    }
}

void listener_on_message(Dispatcher *d, PeerId peer, const Msg *m) {
    Listener *l = find(d, peer);
    Credit credit;
    switch (m ? wire_kind(m) : MSG_BYE) {
    case MSG_CREDIT:
        if (!wire_read_credit(m, &credit, NULL) || credit.bytes > l->unread) {
            refuse(d, l, "it acknowledged more bytes than were sent to it");
            break;
        }
        l->unread -= credit.bytes;
        go_on_past(d, l);
        break;
    case MSG_LISTEN: on_listen(d, l, m); break;
    case MSG_BEAT: break;
    case MSG_BYE: drop(d, l); break;
    default: refuse(d, l, "watchers may not send this kind of message");
    }
}

/* ---- Snapshots ---- */

void listener_on_tick(Dispatcher *d) {
    if (d->lines.n && d->now_ms - d->lines_ms >= LISTEN_LINES_MS) send_lines(d);
    for (Listener *l = d->listeners; l; l = l->next) go_on_past(d, l);
    if (!d->listeners || (d->snapshot_ms && d->now_ms - d->snapshot_ms < SNAPSHOT_MS)) return;
    d->snapshot_ms = d->now_ms ? d->now_ms : 1;
    Bytes text = {0};
    snapshot_write(d, &text);
    for (int i = 0; i < d->n_ranks; i++)
        if (d->worker[i]) d->worker[i]->in_signal[0] = '\0';
    for (Listener *l = d->listeners; l; l = l->next) {
        Msg m;
        wire_text(MSG_SNAPSHOT, text.data, text.n, &m);
        send(d, l, &m);
    }
    bytes_fini(&text);
}
