/* onesided.c: see onesided.h. For each peer: the connection made from its card, and the boxes that
 * it has offered and that are not taken yet.
 * SPDX-License-Identifier: MIT */
#include "worker/plane/onesided.h"
#include "runtime/net/dp_ucx.h"
#include "runtime/base/map.h"
#include "runtime/wire/wire_peer.h"

#include <stdlib.h>
#include <string.h>

enum {
    RUNS_MAX = 1 << 14, /* per request: a box in more runs is sent instead ... */
    RUN_BYTES = 2048    /* ... and so is one in shorter runs */
};

typedef struct Owner {
    UcxPeer *peer;
    uint64_t epoch; /* of this rank: replies of former workers are dropped */
    Map boxes;      /* number -> Shard */
} Owner;

typedef struct Request {
    Get get;
    uint32_t rank;
    uint64_t epoch;
} Request;

struct Onesided {
    Ucx *ucx;
    Owner *owner; /* by rank */
    uint32_t n_owners;
    uint64_t bytes;
};

Onesided *onesided_open(const void *arena, uint64_t bytes, void (*wake)(void *ctx), void *ctx,
                        Err *err) {
    Ucx *ucx = ucx_open(arena, bytes, wake, ctx, err);
    if (!ucx) return NULL;
    Onesided *o = xcalloc(1, sizeof *o);
    o->ucx = ucx;
    return o;
}

void onesided_forget(Onesided *o, uint32_t rank) {
    if (rank >= o->n_owners) return;
    Owner *w = &o->owner[rank];
    for (MapItem it = {0}; map_next(&w->boxes, &it);) free(it.value);
    map_fini(&w->boxes);
    ucx_peer_close(o->ucx, &w->peer);
    *w = (Owner){.epoch = w->epoch + 1};
}

/* Takes the next completed GET. One whose peer is gone is dropped. */
static bool next_completed(Onesided *o, Request **q, Buf **b, bool *ok) {
    uint64_t name;
    while (ucx_next(o->ucx, &name, b, ok)) {
        *q = (Request *)(uintptr_t)name;
        if (o->owner[(*q)->rank].epoch == (*q)->epoch) return true;
        buf_unref(b);
        free(*q);
    }
    return false;
}

void onesided_close(Onesided **op) {
    Onesided *o = *op;
    *op = NULL;
    if (!o) return;
    for (uint32_t i = 0; i < o->n_owners; i++) onesided_forget(o, i);
    ucx_stop(o->ucx);
    Request *q;
    Buf *b;
    bool ok;
    while (next_completed(o, &q, &b, &ok)) {
        buf_unref(&b);
        free(q);
    }
    ucx_close(&o->ucx);
    free(o->owner);
    free(o);
}

void onesided_hello(const Onesided *o, Msg *out) {
    size_t n;
    const void *card = ucx_card(o->ucx, &n);
    wire_card(card, n, out);
}

uint64_t onesided_bytes(const Onesided *o) { return o->bytes; }

static Owner *owner_of(Onesided *o, uint32_t rank) {
    if (rank >= o->n_owners) {
        size_t n = (size_t)rank + 1;
        o->owner = xrealloc(o->owner, n * sizeof *o->owner);
        memset(o->owner + o->n_owners, 0, (n - o->n_owners) * sizeof *o->owner);
        o->n_owners = (uint32_t)n;
    }
    return &o->owner[rank];
}

bool onesided_on_message(Onesided *o, uint32_t rank, Msg *m) {
    Owner *w = owner_of(o, rank);
    const void *card;
    size_t n;
    Shard s;
    switch (wire_kind(m)) {
    case MSG_CARD:
        if (!w->peer && wire_read_card(m, &card, &n, NULL))
            w->peer = ucx_peer_open(o->ucx, card, n);
        msg_fini(m);
        return true;
    case MSG_SHARD:
        if (w->peer && wire_read_shard(m, &s, NULL) && !s.status && !s.data) {
            Shard *box = map_get(&w->boxes, s.number);
            if (!box) map_put(&w->boxes, s.number, box = xmalloc(sizeof *box));
            *box = s;
        }
        return false;
    default: return false;
    }
}

/* Writes the memory runs of the bytes [begin, begin + n) of a box, in row-major order; returns
 * their number, at most RUNS_MAX. 0: there are too many or they are too short. ucx_read
 * checks that they are inside the owner's memory. */
static size_t find_runs(const Shard *s, uint64_t begin, uint64_t n, UcxRun *run) {
    uint64_t size = (uint64_t)dtype_info[s->box.dtype].size_bytes, whole = size;
    int outer = s->box.rank; /* axes before it are walked; those from it on are contiguous */
    while (outer > 0) {
        int64_t extent = s->box.shape[outer - 1];
        if (extent != 1 && (uint64_t)s->stride[outer - 1] * size != whole) break;
        whole *= (uint64_t)extent;
        outer--;
    }
    if (whole == 0 || (outer > 0 && whole < RUN_BYTES)) return 0;
    size_t k = 0;
    for (uint64_t at = begin; at < begin + n; k++) {
        uint64_t inside = at % whole, index = at / whole, from = s->offset + inside;
        uint64_t left = begin + n - at, length = whole - inside < left ? whole - inside : left;
        for (int d = outer - 1; d >= 0; d--) {
            uint64_t extent = (uint64_t)s->box.shape[d];
            from += index % extent * (uint64_t)s->stride[d] * size;
            index /= extent;
        }
        if (k == RUNS_MAX) return 0;
        run[k] = (UcxRun){.from = from, .to = at - begin, .n = length};
        at += length;
    }
    return k;
}

static bool ask(Onesided *o, Owner *w, uint32_t rank, const Get *get) {
    const Shard *box = map_get(&w->boxes, get->number);
    if (!w->peer || !box || get->bytes == 0 || get->begin > box->bytes ||
        get->bytes > box->bytes - get->begin)
        return false;
    UcxRun *run = xmalloc(RUNS_MAX * sizeof *run);
    size_t n = find_runs(box, get->begin, get->bytes, run);
    if (n) {
        Request *q = xmalloc(sizeof *q);
        *q = (Request){*get, rank, w->epoch};
        Buf *b = buf_new(get->bytes);
        b->n = get->bytes;
        ucx_read(o->ucx, w->peer, run, n, b, (uint64_t)(uintptr_t)q);
    }
    free(run);
    return n > 0;
}

bool onesided_on_send(Onesided *o, uint32_t rank, Msg *m) {
    Owner *w = owner_of(o, rank);
    Get get;
    Taken taken;
    switch (wire_kind(m)) {
    case MSG_GET:
        if (!wire_read_get(m, &get, NULL) || !ask(o, w, rank, &get)) return false;
        msg_fini(m);
        return true;
    case MSG_TAKEN:
        if (wire_read_taken(m, &taken, NULL)) free(map_remove(&w->boxes, taken.number));
        return false;
    default: return false;
    }
}

int onesided_next(Onesided *o, uint32_t *rank, Msg *m) {
    Request *q;
    Buf *b;
    bool ok;
    if (!next_completed(o, &q, &b, &ok)) return 0;
    *rank = q->rank;
    if (ok) {
        Piece piece = {.client = q->get.client, .number = q->get.number, .begin = q->get.begin};
        o->bytes += b->n;
        wire_piece(&piece, b, m);
    } else {
        buf_unref(&b);
        wire_get(&q->get, m);
    }
    free(q);
    return ok ? 1 : -1;
}
