/* plane.c: see plane.h. Three tables: peers by rank (as the dispatcher announced them), connections
 * by PeerId (whose rank is verified), and pending connections (whose hello arrived before the
 * dispatcher announced them), with the messages received from them.
 * SPDX-License-Identifier: MIT */
#include "worker/plane/plane.h"
#include "runtime/base/env.h"
#include "runtime/base/log.h"
#include "runtime/base/map.h"
#include "worker/plane/onesided.h"
#include "worker/plane/reach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PENDING_MAX = 64,    /* pending connections ... */
    PENDING_MS = 10000,  /* ... each for at most this time ... */
    HELD_MSGS = 4096,    /* ... and with so many messages in all ... */
    PEER_LOST_MS = 15000 /* of a broken connection: the dispatcher notices deaths within 10 s */
};
static const uint64_t held_bytes = UINT64_C(64) << 20; /* ... of so many bytes in all */

typedef struct PlanePeer {
    bool is_known;           /* between PEER and PEER_GONE */
    bool is_memory_reported; /* plane_memory has returned it */
    bool is_lost;            /* it cannot be reached */
    uint64_t token;
    DataPlane data;
    Link *link; /* to its hub; NULL: not opened yet, or broken */
    int64_t opened_ms;
    PeerId incoming; /* its connection to our hub; 0: none yet */
    bool is_broken;  /* one of the two broke ... */
    int64_t when_ms; /* ... at this time */
    PeerMemory memory;
} PlanePeer;

typedef struct Pending {
    struct Pending *next;
    PeerId id;
    uint32_t rank;
    uint64_t token;
    int64_t since_ms;
    bool is_admitted; /* verified: its messages are being delivered */
    Msg *msgs;
    size_t at, n, cap;
    uint64_t bytes;
} Pending;

struct Plane {
    Hub *hub;
    DataPlane data;
    uint32_t rank;
    uint64_t token;
    bool is_welcome, is_copying;
    Onesided *onesided; /* NULL: GET is sent like other messages */
    uint64_t n_sent, bytes_sent;
    bool is_refusal_logged, is_copying_logged; /* each is logged once */
    PlanePeer *peers;                          /* by rank */
    uint32_t n_peers;
    Map ranks; /* PeerId -> rank + 1 */
    Pending *pending;
    size_t n_pending, n_held;
    uint64_t held_bytes;
};

/* ---- Opening and closing ---- */

static void wake_hub(void *hub) { hub_wake(hub); }

/* Sets up the transport that GT_DATA_PLANE names. Returns false, with err set, if it is unknown or
 * not available. */
static bool choose_transport(Plane *p, const PlaneConfig *config, Err *err) {
    const char *way = env_word("GT_DATA_PLANE");
    if (!*way || !strcmp(way, "memfd")) return true;
    p->is_copying = true;
    if (!strcmp(way, "zmq")) return true;
    if (strcmp(way, "ucx")) {
        err_set(err, ERR_ARG, "GT_DATA_PLANE is '%.40s'", way);
        return err_hint(err, "memfd, zmq or ucx");
    }
    if (!config->arena) return true; /* an engine without memory */
    p->onesided = onesided_open(config->arena, config->arena_bytes, wake_hub, p->hub, err);
    return p->onesided != NULL;
}

Plane *plane_open(const PlaneConfig *config, Err *err) {
    Endpoint at, public;
    if (config->endpoint)
        TRY(endpoint_find(config->endpoint, &at, err));
    else
        TRY(reach_endpoint(config->dispatcher, &at, err));
    Hub *hub = hub_open(at.text, err);
    if (!hub) return NULL;
    Plane *p = xcalloc(1, sizeof *p);
    p->hub = hub;
    if (!choose_transport(p, config, err)) {
        plane_close(&p);
        return NULL;
    }
    snprintf(public.text, sizeof public.text, "%s", hub_endpoint(hub));
    reach_public(&public);
    reach_describe(public.text, config->arena, config->arena_bytes, config->arena_fd, &p->data);
    return p;
}

static void pending_free(Plane *p, Pending *g) {
    Pending **at = &p->pending;
    while (*at != g) at = &(*at)->next;
    *at = g->next;
    p->n_pending--;
    p->n_held -= g->n - g->at;
    p->held_bytes -= g->bytes;
    for (; g->at < g->n; g->at++) msg_fini(&g->msgs[g->at]);
    free(g->msgs);
    free(g);
}

static void peer_forget(Plane *p, PlanePeer *o) {
    link_close(&o->link);
    peer_memory_close(&o->memory);
    if (p->onesided) onesided_forget(p->onesided, (uint32_t)(o - p->peers));
    if (o->incoming) {
        map_remove(&p->ranks, o->incoming);
        hub_drop(p->hub, o->incoming);
    }
    *o = (PlanePeer){0};
}

void plane_close(Plane **pp) {
    Plane *p = *pp;
    *pp = NULL;
    if (!p) return;
    while (p->pending) pending_free(p, p->pending);
    for (uint32_t i = 0; i < p->n_peers; i++) peer_forget(p, &p->peers[i]);
    onesided_close(&p->onesided); /* it calls wake_hub(hub) */
    hub_close(&p->hub);
    map_fini(&p->ranks);
    free(p->peers);
    free(p);
}

Hub *plane_hub(Plane *p) { return p->hub; }
const DataPlane *plane_data(const Plane *p) { return &p->data; }

/* ---- Peers ---- */

static PlanePeer *peer_find(Plane *p, uint32_t rank) {
    return rank < p->n_peers && p->peers[rank].is_known ? &p->peers[rank] : NULL;
}

static void lose(Plane *p, PlanePeer *o, const char *why) {
    if (o->is_lost) return;
    o->is_lost = true;
    link_close(&o->link);
    log_line("WORKER", "w%u cannot reach w%u at %s: %s; transfers between them fail", p->rank,
             (unsigned)(o - p->peers), o->data.endpoint, why);
}

static void break_off(PlanePeer *o, int64_t now_ms) {
    link_close(&o->link);
    if (!o->is_broken) o->is_broken = true, o->when_ms = now_ms;
}

/* Compares in constant time. */
static bool token_is(uint64_t a, uint64_t b) {
    volatile uint64_t differ = a ^ b;
    return differ == 0;
}

static void refuse(Plane *p, PeerId id, const char *why) {
    hub_drop(p->hub, id);
    if (p->is_refusal_logged && !log_is(LOG_VERBOSE)) return;
    p->is_refusal_logged = true;
    log_line("WORKER", "w%u refused a connection to %s: %s", p->rank, p->data.endpoint, why);
}

/* The connection's rank is verified. A peer that reconnects replaces its former connection. */
static void admit(Plane *p, PlanePeer *o, PeerId id) {
    if (o->incoming) {
        map_remove(&p->ranks, o->incoming);
        hub_drop(p->hub, o->incoming);
    }
    o->incoming = id;
    map_put(&p->ranks, id, (void *)(uintptr_t)(o - p->peers + 1));
}

void plane_on_welcome(Plane *p, uint32_t rank, uint64_t token) {
    p->rank = rank;
    p->token = token;
    p->is_welcome = true;
}

void plane_on_peer(Plane *p, const PeerInfo *peer, int64_t now_ms) {
    (void)now_ms;
    if (peer->rank >= MAX_WORKERS) return;
    if (peer->rank >= p->n_peers) {
        size_t n = peer->rank + 1;
        p->peers = xrealloc(p->peers, n * sizeof *p->peers);
        memset(p->peers + p->n_peers, 0, (n - p->n_peers) * sizeof *p->peers);
        p->n_peers = (uint32_t)n;
    }
    PlanePeer *o = &p->peers[peer->rank];
    peer_forget(p, o);
    o->is_known = true;
    o->token = peer->token;
    o->data = peer->data;
    if (!reach_is_mutual(&p->data, &o->data)) {
        lose(p, o, "one of them listens on its own machine only (gt-worker --data-endpoint)");
        return;
    }
    for (Pending *g = p->pending; g; g = g->next) {
        if (g->is_admitted || g->rank != peer->rank || !token_is(g->token, o->token)) continue;
        g->is_admitted = true;
        admit(p, o, g->id);
    }
}

void plane_on_peer_gone(Plane *p, uint32_t rank) {
    PlanePeer *o = peer_find(p, rank);
    if (!o) return;
    for (Pending *g = p->pending, *next; g; g = next) {
        next = g->next;
        if (g->is_admitted && g->rank == rank) pending_free(p, g);
    }
    peer_forget(p, o);
}

bool plane_memory(Plane *p, uint32_t rank, const void **base, uint64_t *bytes) {
    PlanePeer *o = peer_find(p, rank);
    if (!o || o->is_memory_reported) return false;
    o->is_memory_reported = true;
    const char *why = NULL;
    if (!p->is_copying && !peer_memory_open(&p->data, &o->data, &o->memory, &why) && why &&
        !p->is_copying_logged) {
        p->is_copying_logged = true;
        log_line("WORKER", "w%u cannot read the memory of w%u in place (%s): tensors are sent",
                 p->rank, rank, why);
    }
    *base = o->memory.base;
    *bytes = o->memory.bytes;
    return true;
}

const DataPlane *plane_lent(Plane *p, uint32_t rank) {
    PlanePeer *o = peer_find(p, rank);
    return o && o->incoming && !p->is_copying && reach_is_neighbour(&p->data, &o->data) ? &o->data
                                                                                        : NULL;
}

/* ---- Incoming connections ---- */

/* Handles a connection's first message, which verifies it, makes it pending, or refuses it. */
static void on_unknown(Plane *p, PeerId id, const Msg *m, int64_t now_ms) {
    PeerHello hello;
    if (!wire_read_peer_hello(m, &hello, NULL)) {
        refuse(p, id, "its first message is not PEER_HELLO");
        return;
    }
    PlanePeer *o = peer_find(p, hello.rank);
    if (o && token_is(hello.token, o->token)) {
        admit(p, o, id);
        return;
    }
    /* A new worker may say hello before its PEER arrives, even while its rank's former worker is
     * still known. */
    if (p->n_pending >= PENDING_MAX) {
        refuse(p, id, "too many connections are pending");
        return;
    }
    Pending *g = xcalloc(1, sizeof *g), **last = &p->pending;
    *g = (Pending){.id = id, .rank = hello.rank, .token = hello.token, .since_ms = now_ms};
    while (*last) last = &(*last)->next;
    *last = g;
    p->n_pending++;
}

static Pending *pending_find(const Plane *p, PeerId id) {
    Pending *g = p->pending;
    while (g && g->id != id) g = g->next;
    return g;
}

/* Queues a message of a pending connection. Consumes m. */
static void on_pending(Plane *p, Pending *g, Msg *m) {
    uint64_t bytes = msg_bytes(m);
    if (p->n_held >= HELD_MSGS || p->held_bytes + bytes > held_bytes) {
        msg_fini(m);
        refuse(p, g->id, "it sends too much before the dispatcher announces it");
        pending_free(p, g);
        return;
    }
    ARRAY_ROOM(g->msgs, g->n, g->cap, 8);
    msg_move(&g->msgs[g->n++], m);
    p->n_held++;
    g->bytes += bytes;
    p->held_bytes += bytes;
}

static void on_left(Plane *p, PeerId id, int64_t now_ms) {
    uint32_t rank = (uint32_t)(uintptr_t)map_remove(&p->ranks, id);
    Pending *g = pending_find(p, id);
    PlanePeer *o = rank ? peer_find(p, rank - 1) : NULL;
    if (g && !g->is_admitted) pending_free(p, g);
    if (!o || o->incoming != id) return;
    o->incoming = 0;
    break_off(o, now_ms);
}

/* Takes the next message that a verified connection sent while it was pending. */
static bool next_held(Plane *p, uint32_t *rank, Msg *m) {
    for (Pending *g = p->pending, *next; g; g = next) {
        next = g->next;
        if (!g->is_admitted) continue;
        if (g->at < g->n) {
            uint64_t bytes = msg_bytes(&g->msgs[g->at]);
            msg_move(m, &g->msgs[g->at++]);
            p->n_held--;
            g->bytes -= bytes;
            p->held_bytes -= bytes;
            *rank = g->rank;
            return true;
        }
        pending_free(p, g);
    }
    return false;
}

static bool next_received(Plane *p, uint32_t *rank, Msg *m, int64_t now_ms) {
    if (p->pending && next_held(p, rank, m)) return true;
    PeerId from;
    for (int r; (r = hub_recv(p->hub, &from, m));) {
        if (r < 0) {
            on_left(p, from, now_ms);
            continue;
        }
        uintptr_t known = (uintptr_t)map_get(&p->ranks, from);
        Pending *g = known ? NULL : pending_find(p, from);
        if (known && !p->peers[known - 1].is_lost) {
            *rank = (uint32_t)(known - 1);
            return true;
        }
        if (g) {
            on_pending(p, g, m);
            continue;
        }
        if (!known) on_unknown(p, from, m, now_ms);
        msg_fini(m);
    }
    return false;
}

/* ---- Sending ---- */

static bool open_link(Plane *p, PlanePeer *o, int64_t now_ms) {
    Err err = {0};
    o->opened_ms = now_ms;
    o->link = link_open(o->data.endpoint, &err);
    if (!o->link) return false;
    Msg m;
    wire_peer_hello(&(PeerHello){p->rank, p->token}, &m);
    if (!link_send(o->link, &m)) return false;
    if (!p->onesided) return true;
    onesided_hello(p->onesided, &m);
    return link_send(o->link, &m);
}

static void send_or_drop(Plane *p, uint32_t rank, Msg *m, int64_t now_ms) {
    PlanePeer *o = peer_find(p, rank);
    if (!o || o->is_lost || o->is_broken || (!o->link && !open_link(p, o, now_ms))) {
        msg_fini(m);
        if (o && !o->is_lost) break_off(o, now_ms);
        return;
    }
    p->n_sent++;
    p->bytes_sent += msg_bytes(m);
    if (!link_send(o->link, m)) break_off(o, now_ms);
}

void plane_send(Plane *p, uint32_t rank, Msg *m, int64_t now_ms) {
    if (p->onesided && peer_find(p, rank) && onesided_on_send(p->onesided, rank, m)) return;
    send_or_drop(p, rank, m, now_ms);
}

/* ---- Receiving ---- */

bool plane_recv(Plane *p, uint32_t *rank, Msg *m, int64_t now_ms) {
    for (int r; p->onesided && (r = onesided_next(p->onesided, rank, m));) {
        if (r > 0) return true;
        send_or_drop(p, *rank, m, now_ms);
    }
    while (next_received(p, rank, m, now_ms))
        if (!p->onesided || !onesided_on_message(p->onesided, *rank, m)) return true;
    return false;
}

/* ---- Periodic checks ---- */

void plane_tick(Plane *p, int64_t now_ms) {
    for (Pending *g = p->pending, *next; g; g = next) {
        next = g->next;
        if (g->is_admitted || now_ms - g->since_ms < PENDING_MS) continue;
        refuse(p, g->id, "the dispatcher has announced no such worker");
        pending_free(p, g);
    }
    for (uint32_t i = 0; i < p->n_peers; i++) {
        PlanePeer *o = &p->peers[i];
        Msg m;
        int r = 0;
        if (!o->is_known) continue;
        while (o->link && (r = link_recv(o->link, &m)) > 0) msg_fini(&m); /* hubs do not answer */
        if (r < 0) break_off(o, now_ms);
        if (o->is_broken && now_ms - o->when_ms >= PEER_LOST_MS) lose(p, o, "the connection broke");
    }
}

bool plane_is_stranded(const Plane *p, int64_t now_ms, Err *err) {
    for (uint32_t i = 0; i < p->n_peers; i++) {
        const PlanePeer *o = &p->peers[i];
        if (!o->link || link_is_connected(o->link) || now_ms - o->opened_ms < PEER_LOST_MS)
            continue;
        err_set(err, ERR_GONE, "worker w%u cannot connect to w%u at %s", p->rank, i,
                o->data.endpoint);
        return !err_hint(err, "if a firewall is in between, give w%u --data-endpoint HOST:PORT", i);
    }
    return false;
}

bool plane_lost(const Plane *p, uint32_t *at, uint32_t *rank) {
    for (; *at < p->n_peers; ++*at) {
        if (!p->peers[*at].is_known || !p->peers[*at].is_lost) continue;
        *rank = (*at)++;
        return true;
    }
    return false;
}

bool plane_is_pinned(const Plane *p) { return p->onesided != NULL; }

void plane_stats(const Plane *p, Bytes *out) {
    int n_mapped = 0;
    for (uint32_t i = 0; i < p->n_peers; i++) n_mapped += p->peers[i].memory.base != NULL;
    bytes_printf(out, "peer_messages=%llu\npeer_bytes=%llu\nonesided_bytes=%llu\npeers_mapped=%d\n",
                 (unsigned long long)p->n_sent, (unsigned long long)p->bytes_sent,
                 (unsigned long long)(p->onesided ? onesided_bytes(p->onesided) : 0), n_mapped);
}
