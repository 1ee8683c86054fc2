/* peer.c: groups of ranks, where peers' memory can be read, and the messages between workers.
 *
 * An owner offers a box by its descriptor (SHARD). A small box is sent along. The storage of a
 * large one is pinned for the reader until that sends TAKEN or dies. A pin outlives the client: the
 * owner may learn that the client left before the reader does.
 *
 * A reader may get a descriptor before the instruction. It keeps such an early descriptor by number
 * and rank. If no instruction will wait for it (the client has left), it replies TAKEN at once. The
 * early descriptors of a peer are limited: a peer that sends more than any program needs is treated
 * as dead.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/peer.h"
#include "worker/exec/exec.h"
#include "worker/exec/mark.h"
#include "worker/exec/move.h"
#include "runtime/base/log.h"
#include "runtime/wire/wire_peer.h"

#include <stdlib.h>
#include <string.h>

enum { EARLY_MAX = 1 << 20, EARLY_BYTES = 256 << 20 }; /* early descriptors of one peer */

typedef struct Pin {
    Storage *st; /* referenced */
    View box;
    uint64_t number, bytes, served;
    uint32_t rank;
} Pin;

typedef struct Early {
    Shard shard; /* data: owned */
    uint32_t rank;
} Early;

static uint64_t key_of(uint64_t number, uint32_t rank) { return number << 10 | rank; }

/* ---- Messages out ---- */

void outbox_put(Outbox *o, uint32_t rank, Msg *m) {
    Outgoing *to = fifo_push(o, sizeof *to);
    to->rank = rank;
    msg_move(&to->m, m);
}

bool outbox_take(Outbox *o, uint32_t *rank, Msg *m) {
    if (!o->n) return false;
    Outgoing *first = fifo_at(o, 0);
    *rank = first->rank;
    msg_move(m, &first->m);
    fifo_pop(o);
    return true;
}

void outbox_fini(Outbox *o) {
    Msg m = {0};
    uint32_t rank;
    while (outbox_take(o, &rank, &m)) msg_fini(&m);
    fifo_fini(o);
}

static bool is_gone(const Exec *x, uint32_t rank) {
    return rank < x->n_peers && x->peers[rank].is_gone;
}

/* Messages to dead peers are dropped. */
bool exec_next_peer(Exec *x, uint32_t *rank, Msg *out) {
    while (outbox_take(&x->peer_out, rank, out)) {
        if (!is_gone(x, *rank)) return true;
        msg_fini(out);
    }
    return false;
}

/* ---- Groups and peers ---- */

void exec_on_group(Exec *x, uint32_t id, const int32_t *rank, int n) {
    if (id == 0 || n < 1 || n > MAX_INTS || map_get(&x->groups, id)) return;
    if (x->groups.n >= MAX_GROUPS) return;
    Group *g = xmalloc(sizeof *g + sizeof g->rank[0] * (size_t)n);
    g->id = id;
    g->n = n;
    memcpy(g->rank, rank, sizeof g->rank[0] * (size_t)n);
    map_put(&x->groups, id, g);
}

void exec_on_group_gone(Exec *x, uint32_t id) { free(map_remove(&x->groups, id)); }

Peer *peer_of(Exec *x, uint32_t rank) {
    if (rank >= MAX_WORKERS) return NULL;
    if (rank >= x->n_peers) {
        x->peers = xrealloc(x->peers, sizeof *x->peers * (rank + 1));
        memset(x->peers + x->n_peers, 0, sizeof *x->peers * (rank + 1 - x->n_peers));
        x->n_peers = rank + 1;
    }
    return &x->peers[rank];
}

void exec_peer_memory(Exec *x, uint32_t rank, const void *base, uint64_t bytes) {
    Peer *p = peer_of(x, rank);
    if (!p || p->is_direct) return;
    p->base = base;
    p->bytes = base ? bytes : 0;
}

void exec_reach_peer(Exec *x, uint32_t rank, const void *base, uint64_t bytes,
                     const EngineHandle *handle) {
    Peer *p = peer_of(x, rank);
    if (!p || p->is_direct || p->is_gone || rank == x->rank || !x->ops->reach) return;
    const void *at = x->ops->reach(x->engine, base, bytes, handle);
    if (at) *p = (Peer){.base = at, .bytes = bytes, .is_direct = true};
}

void exec_on_peer_there(Exec *x, uint32_t rank) {
    Peer *p = peer_of(x, rank);
    if (p) p->is_gone = false;
}

/* ---- The owner's side ---- */

static void unpin(Exec *x, Pin *p) {
    map_remove(&x->pins, key_of(p->number, p->rank));
    storage_unref(&x->store, p->st);
    free(p);
    x->store.n_changes++;
}

/* An offer that waits for an ordered engine. */
typedef struct Offer {
    Shard shard;
    uint32_t rank;
    Buf *data; /* NULL: the box is pinned */
    ErrCode poison;
    Doubt *doubt;
} Offer;

static void send_offer(Exec *x, void *ctx) {
    Offer *o = ctx;
    Msg m = {0};
    if (o->data) o->shard.data = o->data->data;
    if (o->poison) {
        Pin *p = o->data ? NULL : map_get(&x->pins, key_of(o->shard.number, o->rank));
        if (p) unpin(x, p);
        o->shard.status = (uint8_t)o->poison;
        o->shard.data = NULL;
    }
    wire_shard(&o->shard, &m);
    outbox_put(&x->peer_out, o->rank, &m);
    buf_unref(&o->data);
    free(o);
}

/* Sends the descriptor when the box's values are there (if they are sent along or may be read where
 * they are) and known to be good. */
static void offer_late(Exec *x, uint32_t rank, const Storage *st, const View *box, const Shard *s) {
    Offer *o = xcalloc(1, sizeof *o);
    o->shard = *s;
    o->rank = rank;
    if (s->data) {
        o->data = buf_new(SMALL_BOX);
        x->ops->copy_out(x->engine, o->data->data, box);
    }
    doubt_add(x, &o->doubt, &o->poison, doubt_bits(st->doubt));
    if (o->data || o->doubt || x->ops->reach) /* the reader may read the box where it is */
        marks_put(x, send_offer, o);
    else
        send_offer(x, o);
}

void peer_offer(Exec *x, const Job *j, uint32_t rank, Storage *st, const View *box,
                ErrCode poison) {
    uint64_t key = key_of(j->number, rank);
    if (is_gone(x, rank) || map_get(&x->pins, key)) return;
    Shard s = {.client = j->frame->client->id,
               .number = j->number,
               .status = (uint8_t)poison,
               .box = box->type,
               .bytes = type_bytes(&box->type)};
    if (!poison && s.bytes <= SMALL_BOX) {
        void *data = arena_alloc(&x->scratch, SMALL_BOX);
        if (!x->marks) x->ops->copy_out(x->engine, data, box);
        s.data = data;
        x->inline_bytes += s.bytes;
    } else if (!poison) {
        s.offset = (uint64_t)((char *)box->data - x->arena);
        memcpy(s.stride, box->stride, sizeof s.stride);
        Pin *p = xmalloc(sizeof *p);
        *p = (Pin){storage_ref(st), *box, j->number, s.bytes, 0, rank};
        map_put(&x->pins, key, p);
    }
    if (!poison) x->bytes_out += s.bytes;
    if (x->marks && !poison) {
        offer_late(x, rank, st, box, &s);
    } else {
        Msg m = {0};
        wire_shard(&s, &m);
        outbox_put(&x->peer_out, rank, &m);
    }
    arena_reset(&x->scratch);
}

static void send_later(Exec *x, void *ctx) {
    Outgoing *o = ctx;
    outbox_put(&x->peer_out, o->rank, &o->m);
    free(o);
}

/* A reader requests each byte of a box once; more than that is ignored. */
static void on_get(Exec *x, uint32_t rank, const Get *g) {
    Pin *p = map_get(&x->pins, key_of(g->number, rank));
    uint64_t size = p ? (uint64_t)dtype_info[p->box.type.dtype].size_bytes : 1;
    if (!p || g->bytes == 0 || g->bytes > PIECE_BYTES || g->bytes % size || g->begin % size) return;
    if (g->begin > p->bytes || g->bytes > p->bytes - g->begin) return;
    if (g->bytes > p->bytes - p->served) return;
    p->served += g->bytes;
    Buf *data = buf_new(g->bytes);
    x->ops->read(x->engine, &p->box, g->begin, g->bytes, data->data);
    data->n = g->bytes;
    Msg m = {0};
    wire_piece(&(Piece){.client = g->client, .number = g->number, .begin = g->begin}, data, &m);
    if (x->marks) { /* the engine is still to fill it */
        Outgoing *o = xcalloc(1, sizeof *o);
        o->rank = rank;
        msg_move(&o->m, &m);
        marks_put(x, send_later, o);
        return;
    }
    outbox_put(&x->peer_out, rank, &m);
}

bool peer_has_older_pin(const Exec *x, uint64_t number) {
    for (MapItem it = {0}; map_next(&x->pins, &it);)
        if (((Pin *)it.value)->number < number) return true;
    return false;
}

/* ---- The reader's side ---- */

void peer_get(Exec *x, const Job *j, uint32_t rank, uint64_t begin, uint64_t bytes) {
    Get g = {.client = j->frame->client->id, .number = j->number, .begin = begin, .bytes = bytes};
    Msg m = {0};
    wire_get(&g, &m);
    outbox_put(&x->peer_out, rank, &m);
}

void peer_taken(Exec *x, uint32_t client, uint64_t number, uint32_t rank) {
    if (is_gone(x, rank)) return;
    Msg m = {0};
    wire_taken(&(Taken){.client = client, .number = number}, &m);
    outbox_put(&x->peer_out, rank, &m);
}

void peer_taken_late(Exec *x, uint32_t client, uint64_t number, uint32_t rank) {
    if (is_gone(x, rank)) return;
    Outgoing *o = xcalloc(1, sizeof *o);
    o->rank = rank;
    wire_taken(&(Taken){.client = client, .number = number}, &o->m);
    marks_put(x, send_later, o);
}

/* True if no instruction waits for the descriptor, now or later: its instruction was issued, or its
 * client is gone. */
static bool is_past(Exec *x, const Shard *s) {
    if (s->number > x->seen) return false;
    const Client *c = exec_client(x, s->client, false);
    if (!c || !c->at) return true;
    const Frame *f = c->at;
    return s->number < (f->ahead ? f->ahead->number : f->reader.number + f->reader.next);
}

/* Frees an early descriptor. is_lost: it was not used, so its owner must unpin the box. */
static void early_free(Exec *x, Early *e, bool is_lost) {
    Peer *p = peer_of(x, e->rank);
    map_remove(&x->early, key_of(e->shard.number, e->rank));
    p->n_early--;
    p->early_bytes -= e->shard.data ? e->shard.bytes : 0;
    if (is_lost && !e->shard.status && !e->shard.data)
        peer_taken(x, e->shard.client, e->shard.number, e->rank);
    free((void *)e->shard.data);
    free(e);
}

void peer_deliver_early(Exec *x, Job *j, uint32_t rank) {
    if (is_gone(x, rank)) {
        import_peer_gone(x, j, rank);
        return;
    }
    Early *e = map_get(&x->early, key_of(j->number, rank));
    if (e) early_free(x, e, !import_deliver(x, j, rank, &e->shard));
}

static void keep(Exec *x, uint32_t rank, const Shard *s) {
    Peer *p = peer_of(x, rank);
    uint64_t key = key_of(s->number, rank);
    if (s->number >= UINT64_C(1) << 54 || map_get(&x->early, key)) return;
    if (p->n_early >= EARLY_MAX || p->early_bytes > EARLY_BYTES) {
        if (log_is(LOG_WORKER)) log_line("WORKER", "w%u has sent too many early descriptors", rank);
        exec_on_peer_gone(x, rank);
        return;
    }
    Early *e = xmalloc(sizeof *e);
    *e = (Early){*s, rank};
    if (s->data && s->bytes > SMALL_BOX) e->shard.status = ERR_INTERNAL, e->shard.data = NULL;
    if (e->shard.data) {
        void *data = xmalloc(s->bytes + 1);
        memcpy(data, s->data, s->bytes);
        e->shard.data = data;
        p->early_bytes += s->bytes;
    }
    p->n_early++;
    map_put(&x->early, key, e);
}

static void on_shard(Exec *x, uint32_t rank, const Shard *s) {
    Job *j = map_get(&x->imports, s->number);
    if (j && import_deliver(x, j, rank, s)) return;
    if (!j && !is_past(x, s)) {
        keep(x, rank, s);
        return;
    }
    if (!s->status && !s->data) peer_taken(x, s->client, s->number, rank);
}

void peer_sweep(Exec *x, uint32_t client) {
    x->n_sweep = 0;
    if (!x->early.n) return;
    Early **lost = xmalloc(x->early.n * sizeof *lost);
    size_t n = 0;
    for (MapItem it = {0}; map_next(&x->early, &it);) {
        Early *e = it.value;
        if (client ? e->shard.client == client : is_past(x, &e->shard)) lost[n++] = e;
    }
    for (size_t i = 0; i < n; i++) early_free(x, lost[i], true);
    free(lost);
}

/* ---- Messages in ---- */

void exec_on_peer(Exec *x, uint32_t rank, Msg *m) {
    Shard s;
    Get g;
    Piece p;
    Taken t;
    const void *data;
    uint64_t bytes;
    if (peer_of(x, rank) && !is_gone(x, rank) && rank != x->rank) {
        switch (wire_kind(m)) {
        case MSG_SHARD:
            if (wire_read_shard(m, &s, NULL)) on_shard(x, rank, &s);
            break;
        case MSG_GET:
            if (wire_read_get(m, &g, NULL)) on_get(x, rank, &g);
            break;
        case MSG_PIECE: {
            if (!wire_read_piece(m, &p, &data, &bytes, NULL)) break;
            Job *j = map_get(&x->imports, p.number);
            if (j) import_piece(x, j, rank, &p, data, bytes);
            break;
        }
        case MSG_TAKEN: {
            if (!wire_read_taken(m, &t, NULL) || t.number >= UINT64_C(1) << 54) break;
            Pin *pin = map_get(&x->pins, key_of(t.number, rank));
            if (pin) unpin(x, pin);
            break;
        }
        default: break;
        }
    }
    msg_fini(m);
}

/* Returns all values of a map in an array, which the caller frees. */
static void **values(const Map *m, size_t *n) {
    void **all = xmalloc((m->n + 1) * sizeof *all);
    *n = 0;
    for (MapItem it = {0}; map_next(m, &it);) all[(*n)++] = it.value;
    return all;
}

void exec_on_peer_gone(Exec *x, uint32_t rank) {
    size_t n;
    Peer *peer = peer_of(x, rank);
    if (!peer || rank == x->rank) return;
    const void *reached = peer->is_direct ? peer->base : NULL;
    peer->is_gone = true;
    peer->is_direct = false;
    peer->base = NULL;
    peer->bytes = 0;
    void **all = values(&x->pins, &n);
    for (size_t i = 0; i < n; i++)
        if (((Pin *)all[i])->rank == rank) unpin(x, all[i]);
    free(all);
    all = values(&x->early, &n);
    for (size_t i = 0; i < n; i++)
        if (((Early *)all[i])->rank == rank) early_free(x, all[i], false);
    free(all);
    all = values(&x->imports, &n);
    for (size_t i = 0; i < n; i++) import_peer_gone(x, all[i], rank);
    free(all);
    if (reached) x->ops->leave(x->engine, reached);
}

void peer_fini(Exec *x) {
    size_t n;
    void **all = values(&x->pins, &n);
    for (size_t i = 0; i < n; i++) unpin(x, all[i]);
    free(all);
    all = values(&x->early, &n);
    for (size_t i = 0; i < n; i++) early_free(x, all[i], false);
    free(all);
    all = values(&x->groups, &n);
    for (size_t i = 0; i < n; i++) free(all[i]);
    free(all);
    map_fini(&x->pins);
    map_fini(&x->early);
    map_fini(&x->groups);
    map_fini(&x->imports);
    outbox_fini(&x->peer_out);
    free(x->peers);
}
