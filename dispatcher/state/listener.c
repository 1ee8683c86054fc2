/* listener.c: see listener.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/listener.h"
#include "runtime/wire/wire_peer.h"
#include "runtime/wire/wire_watch.h"
#include <stdlib.h>
#include <string.h>

enum { LISTENERS_MAX = 64 };

struct Listener {
    Listener *next;
    PeerId peer;
    uint64_t unread; /* bytes sent and not acknowledged */
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
    if (d->tape) what |= WATCH_TIMES;
    if (what == d->watching) return;
    d->watching = what;
    for (int i = 0; i < d->n_ranks; i++)
        if (d->worker[i]) tell(d, d->worker[i]);
}

void listener_on_usage(Dispatcher *d, WorkerPeer *w, const Msg *m) {
    Usage u;
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
        return err_set(err, ERR_LIMIT, "%d programs watch already, and no more can", n);
    Listener *l = xcalloc(1, sizeof *l);
    l->peer = peer;
    l->next = d->listeners;
    d->listeners = l;
    if (!l->next) d->snapshot_ms = 0;
    listener_watch(d);
    return true;
}

static void drop(Dispatcher *d, Listener *l) {
    Listener **at = &d->listeners;
    while (*at != l) at = &(*at)->next;
    *at = l->next;
    free(l);
    listener_watch(d);
}

void listener_fini(Dispatcher *d) {
    while (d->listeners) {
        Listener *l = d->listeners;
        d->listeners = l->next;
        free(l);
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
    case LISTEN_CANCEL: cancel(d, ask.client); break;
    default: break;
    }
}

void listener_on_message(Dispatcher *d, PeerId peer, const Msg *m) {
    Listener *l = find(d, peer);
    uint32_t none;
    uint64_t bytes = 0;
    switch (m ? wire_kind(m) : MSG_BYE) {
    case MSG_CREDIT:
        if (wire_read_credit(m, &none, &bytes, NULL) && bytes <= l->unread)
            l->unread -= bytes;
        else
            refuse(d, l, "it acknowledged more than it was sent");
        break;
    case MSG_LISTEN: on_listen(d, l, m); break;
    case MSG_BEAT: break;
    case MSG_BYE: drop(d, l); break;
    default: refuse(d, l, "watchers may not send this kind of message");
    }
}

/* ---- Snapshots ---- */

void listener_on_tick(Dispatcher *d) {
    if (!d->listeners || (d->snapshot_ms && d->now_ms - d->snapshot_ms < SNAPSHOT_MS)) return;
    d->snapshot_ms = d->now_ms ? d->now_ms : 1;
    Bytes text = {0};
    snapshot_write(d, &text);
    for (Listener *l = d->listeners; l; l = l->next) {
        Msg m;
        wire_text(MSG_SNAPSHOT, text.data, text.n, &m);
        send(d, l, &m);
    }
    bytes_fini(&text);
}
