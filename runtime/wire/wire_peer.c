/* wire_peer.c: messages about groups, peers and times, and those between workers.
 * SPDX-License-Identifier: MIT */
#include "runtime/wire/wire_peer.h"
#include "runtime/wire/wire_io.h"
#include <assert.h>

/* ---- Dispatcher to workers ---- */

void wire_group(uint32_t id, const int32_t *rank, int n, Msg *out) {
    Buf *b = head_new(MSG_GROUP, 0, 8 + 4 * (size_t)n);
    assert(n > 0 && n <= MAX_INTS);
    put_u32(b, id);
    put_u32(b, (uint32_t)n);
    for (int i = 0; i < n; i++) put_u32(b, (uint32_t)rank[i]);
    finish(b, out);
}

bool wire_read_group(const Msg *m, uint32_t *id, int32_t *rank, int *n, Err *err) {
    Reader r;
    TRY(reader_open(&r, m, MSG_GROUP, err));
    *id = take_u32(&r);
    uint32_t count = take_u32(&r);
    if (count < 1 || count > MAX_INTS || *id == 0) r.bad = true;
    for (uint32_t i = 0; i < count && !r.bad; i++) {
        uint32_t k = take_u32(&r);
        rank[i] = (int32_t)k;
        if (k >= MAX_WORKERS) r.bad = true;
        for (uint32_t j = 0; j < i; j++)
            if (rank[j] == rank[i]) r.bad = true;
    }
    *n = (int)count;
    return done(&r, "group", err);
}

void wire_group_gone(uint32_t id, Msg *out) {
    Buf *b = head_new(MSG_GROUP_GONE, 0, 8);
    put_u32(b, id);
    finish(b, out);
}

bool wire_read_group_gone(const Msg *m, uint32_t *id, Err *err) {
    Reader r;
    TRY(reader_open(&r, m, MSG_GROUP_GONE, err));
    *id = take_u32(&r);
    return done(&r, "group_gone", err);
}

void wire_peer(const PeerInfo *p, Msg *out) {
    Buf *b = head_new(MSG_PEER, 0, 256);
    put_u32(b, p->rank);
    put_u64(b, p->token);
    put_data_plane(b, &p->data);
    finish(b, out);
}

bool wire_read_peer(const Msg *m, PeerInfo *p, Err *err) {
    Reader r;
    *p = (PeerInfo){0};
    TRY(reader_open(&r, m, MSG_PEER, err));
    p->rank = take_u32(&r);
    p->token = take_u64(&r);
    take_data_plane(&r, &p->data);
    if (p->rank >= MAX_WORKERS) r.bad = true;
    return done(&r, "peer", err);
}

void wire_peer_gone(uint32_t rank, Msg *out) {
    Buf *b = head_new(MSG_PEER_GONE, 0, 8);
    put_u32(b, rank);
    finish(b, out);
}

bool wire_read_peer_gone(const Msg *m, uint32_t *rank, Err *err) {
    Reader r;
    TRY(reader_open(&r, m, MSG_PEER_GONE, err));
    *rank = take_u32(&r);
    if (*rank >= MAX_WORKERS) r.bad = true;
    return done(&r, "peer_gone", err);
}

/* ---- Times ---- */

void wire_watch(bool on, Msg *out) {
    Buf *b = head_new(MSG_WATCH, 0, 8);
    put_u8(b, on);
    finish(b, out);
}

bool wire_read_watch(const Msg *m, bool *on, Err *err) {
    Reader r;
    TRY(reader_open(&r, m, MSG_WATCH, err));
    uint8_t v = take_u8(&r);
    if (v > 1) r.bad = true;
    *on = v == 1;
    return done(&r, "watch", err);
}

enum { ROW_BYTES = 48 };

void wire_times(const Times *t, Msg *out) {
    assert(t->n <= TIMES_MAX);
    Buf *b = head_new(MSG_TIMES, t->client, 16 + ROW_BYTES * (size_t)t->n);
    put_u64(b, (uint64_t)t->now_ns);
    put_u32(b, t->n);
    put_u32(b, 0);
    for (uint32_t i = 0; i < t->n; i++) {
        const TimeRow *row = &t->row[i];
        put_u64(b, row->number);
        put_u64(b, row->id);
        put_u64(b, (uint64_t)row->begin_ns);
        put_u64(b, row->ns);
        put_u64(b, row->bytes);
        put_u16(b, row->op);
        put_u8(b, row->n_out);
        put_pad(b);
    }
    finish(b, out);
}

bool wire_read_times(const Msg *m, Arena *arena, Times *t, Err *err) {
    Reader r;
    *t = (Times){0};
    TRY(reader_open(&r, m, MSG_TIMES, err));
    t->client = client_of(&r);
    t->now_ns = (int64_t)take_u64(&r);
    t->n = take_u32(&r);
    take_u32(&r);
    if (t->n > TIMES_MAX || (size_t)(r.end - r.at) != ROW_BYTES * (size_t)t->n) r.bad = true;
    if (!r.bad) t->row = arena_zalloc(arena, t->n * sizeof *t->row);
    for (uint32_t i = 0; i < t->n && !r.bad; i++) {
        TimeRow *row = &t->row[i];
        row->number = take_u64(&r);
        row->id = take_u64(&r);
        row->begin_ns = (int64_t)take_u64(&r);
        row->ns = take_u64(&r);
        row->bytes = take_u64(&r);
        row->op = take_u16(&r);
        row->n_out = take_u8(&r);
        take_pad(&r);
        if (row->op >= OP_COUNT || row->n_out > MAX_OUT) r.bad = true;
    }
    return done(&r, "times", err);
}

/* ---- Between workers ---- */

void wire_peer_hello(uint32_t rank, uint64_t token, Msg *out) {
    Buf *b = head_new(MSG_PEER_HELLO, 0, 16);
    put_u32(b, rank);
    put_u64(b, token);
    finish(b, out);
}

bool wire_read_peer_hello(const Msg *m, uint32_t *rank, uint64_t *token, Err *err) {
    Reader r;
    TRY(reader_open(&r, m, MSG_PEER_HELLO, err));
    *rank = take_u32(&r);
    *token = take_u64(&r);
    if (*rank >= MAX_WORKERS) r.bad = true;
    return done(&r, "peer_hello", err);
}

void wire_card(const void *card, size_t n, Msg *out) {
    Buf *b = head_new(MSG_CARD, 0, n);
    put(b, card, n);
    finish(b, out);
}

bool wire_read_card(const Msg *m, const void **card, size_t *n, Err *err) {
    Reader r;
    TRY(reader_open(&r, m, MSG_CARD, err));
    *card = r.at, *n = (size_t)(r.end - r.at);
    return true;
}

void wire_shard(const Shard *s, Msg *out) {
    Buf *b = head_new(MSG_SHARD, s->client, 48 + 16 * (size_t)s->box.rank + s->bytes);
    put_u64(b, s->number);
    put_u8(b, s->status);
    put_u8(b, s->box.dtype);
    put_u8(b, s->box.rank);
    put_u8(b, s->data != NULL);
    put_pad(b);
    put_u64(b, s->offset);
    put_u64(b, s->bytes);
    put(b, s->box.shape, 8 * (size_t)s->box.rank);
    put(b, s->stride, 8 * (size_t)s->box.rank);
    if (s->data) put(b, s->data, s->bytes);
    finish(b, out);
}

/* Products of extents must not overflow, and data must be as long as the box. The reader, which
 * knows the arena, checks the range of offset and strides. */
bool wire_read_shard(const Msg *m, Shard *s, Err *err) {
    Reader r;
    *s = (Shard){0};
    TRY(reader_open(&r, m, MSG_SHARD, err));
    s->client = client_of(&r);
    s->number = take_u64(&r);
    s->status = take_u8(&r);
    s->box.dtype = take_u8(&r);
    s->box.rank = take_u8(&r);
    uint8_t has_data = take_u8(&r);
    take_pad(&r);
    s->offset = take_u64(&r);
    s->bytes = take_u64(&r);
    if (s->status >= ERR_COUNT || s->box.dtype >= DT_COUNT || s->box.rank > MAX_DIMS ||
        has_data > 1)
        r.bad = true;
    if (!r.bad) take_into(&r, s->box.shape, 8 * (size_t)s->box.rank);
    if (!r.bad) take_into(&r, s->stride, 8 * (size_t)s->box.rank);
    int64_t numel = 1;
    for (int d = 0; d < s->box.rank && !r.bad; d++) {
        int64_t n = s->box.shape[d];
        if (n < 0 || (n > 0 && numel > MAX_NUMEL / n)) r.bad = true;
        if (n > 0 && !r.bad) numel *= n;
    }
    if (!r.bad && s->bytes != type_bytes(&s->box)) r.bad = true;
    if (!r.bad && has_data) s->data = take(&r, s->bytes);
    return done(&r, "shard", err);
}

void wire_get(const Get *g, Msg *out) {
    Buf *b = head_new(MSG_GET, g->client, 24);
    put_u64(b, g->number);
    put_u64(b, g->begin);
    put_u64(b, g->bytes);
    finish(b, out);
}

bool wire_read_get(const Msg *m, Get *g, Err *err) {
    Reader r;
    *g = (Get){0};
    TRY(reader_open(&r, m, MSG_GET, err));
    g->client = client_of(&r);
    g->number = take_u64(&r);
    g->begin = take_u64(&r);
    g->bytes = take_u64(&r);
    return done(&r, "get", err);
}

void wire_piece(const Piece *p, Buf *data, Msg *out) {
    Buf *b = head_new(MSG_PIECE, p->client, 16);
    put_u64(b, p->number);
    put_u64(b, p->begin);
    finish(b, out);
    msg_push(out, data);
}

bool wire_read_piece(const Msg *m, Piece *p, const void **data, uint64_t *bytes, Err *err) {
    Reader r;
    *p = (Piece){0};
    TRY(reader_open(&r, m, MSG_PIECE, err));
    p->client = client_of(&r);
    p->number = take_u64(&r);
    p->begin = take_u64(&r);
    if (m->n != 2) r.bad = true;
    TRY(done(&r, "piece", err));
    *data = m->part[1]->data, *bytes = m->part[1]->n;
    return true;
}

void wire_taken(const Taken *g, Msg *out) {
    Buf *b = head_new(MSG_TAKEN, g->client, 8);
    put_u64(b, g->number);
    finish(b, out);
}

bool wire_read_taken(const Msg *m, Taken *g, Err *err) {
    Reader r;
    *g = (Taken){0};
    TRY(reader_open(&r, m, MSG_TAKEN, err));
    g->client = client_of(&r);
    g->number = take_u64(&r);
    return done(&r, "taken", err);
}
