/* wire_peer.c: messages about groups, peers and times, and those between workers.
 * SPDX-License-Identifier: MIT */
#include "runtime/wire/wire_peer.h"
#include "runtime/wire/wire_watch.h"
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
    return done(&r, err);
}

static void group_gone_fields(Fields *f, uint32_t *id) { FIELD(f, *id); }
MESSAGE(group_gone, uint32_t, MSG_GROUP_GONE)

static void peer_fields(Fields *f, PeerInfo *p) {
    FIELD(f, p->rank);
    FIELD(f, p->token);
    data_plane_fields(f, &p->data);
    field_check(f, p->rank < MAX_WORKERS);
}
MESSAGE(peer, PeerInfo, MSG_PEER)

static void peer_gone_fields(Fields *f, uint32_t *rank) {
    FIELD(f, *rank);
    field_check(f, *rank < MAX_WORKERS);
}
MESSAGE(peer_gone, uint32_t, MSG_PEER_GONE)

/* ---- Times ---- */

static void watch_fields(Fields *f, WatchAsk *ask) {
    FIELD(f, ask->past_ms);
    FIELD(f, ask->what);
    field_pad(f);
    field_check(f, ask->what <= (WATCH_TIMES | WATCH_USAGE | WATCH_HASHES | WATCH_ALL));
}
MESSAGE(watch, WatchAsk, MSG_WATCH)

enum { ROW_BYTES = 64 };

static void times_row_fields(Fields *f, TimeRow *row) {
    FIELD(f, row->number);
    FIELD(f, row->id);
    FIELD(f, row->begin_ns);
    FIELD(f, row->ns);
    FIELD(f, row->bytes);
    FIELD(f, row->moved);
    FIELD(f, row->from);
    FIELD(f, row->client);
    FIELD(f, row->op);
    FIELD(f, row->kind);
    FIELD(f, row->n_out);
    bool is_idle = row->kind == TIME_IDLE;
    field_check(f, row->kind < TIME_KINDS && row->op < OP_COUNT + is_idle &&
                       row->n_out < (is_idle ? (int)IDLE_WHYS : MAX_OUT + 1));
}

/* The fields before the rows. */
static void times_fields(Fields *f, Times *t) {
    uint8_t is_past = t->is_past, is_end = t->is_end;
    FIELD(f, t->now_ns);
    FIELD(f, t->n);
    FIELD(f, is_past);
    FIELD(f, is_end);
    field_pad(f);
    field_check(f, is_past <= 1 && is_end <= 1);
    t->is_past = is_past, t->is_end = is_end;
}
MESSAGE_ROWS(times, Times, MSG_TIMES, row, TIMES_MAX, ROW_BYTES)

/* ---- Between workers ---- */

static void peer_hello_fields(Fields *f, PeerHello *h) {
    FIELD(f, h->rank);
    FIELD(f, h->token);
    field_check(f, h->rank < MAX_WORKERS);
}
MESSAGE(peer_hello, PeerHello, MSG_PEER_HELLO)

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

/* The fields before the shape. */
static void shard_fields(Fields *f, Shard *s, uint8_t *has_data) {
    field_client(f, &s->client);
    FIELD(f, s->number);
    FIELD(f, s->status);
    FIELD(f, s->box.dtype);
    FIELD(f, s->box.rank);
    FIELD(f, *has_data);
    field_pad(f);
    FIELD(f, s->offset);
    FIELD(f, s->bytes);
    field_check(f, s->status < ERR_COUNT && s->box.dtype < DT_COUNT && s->box.rank <= MAX_DIMS &&
                       *has_data <= 1);
    if (f->in.bad) return;
    field(f, s->box.shape, 8 * (size_t)s->box.rank);
    field(f, s->stride, 8 * (size_t)s->box.rank);
}

void wire_shard(const Shard *s, Msg *out) {
    uint8_t has_data = s->data != NULL;
    Fields f = {.out = head_new(MSG_SHARD, 0, 48 + 16 * (size_t)s->box.rank + s->bytes)};
    shard_fields(&f, (Shard *)s, &has_data);
    if (s->data) put(f.out, s->data, s->bytes);
    finish(f.out, out);
}

/* Products of extents must not overflow, and data must be as long as the box. The reader, which
 * knows the arena, checks the range of offset and strides. */
bool wire_read_shard(const Msg *m, Shard *s, Err *err) {
    Fields f = {0};
    Reader *r = &f.in;
    uint8_t has_data;
    *s = (Shard){0};
    TRY(reader_open(r, m, MSG_SHARD, err));
    shard_fields(&f, s, &has_data);
    int64_t numel = 1;
    for (int d = 0; d < s->box.rank && !r->bad; d++) {
        int64_t n = s->box.shape[d];
        if (n < 0 || (n > 0 && numel > MAX_NUMEL / n)) r->bad = true;
        if (n > 0 && !r->bad) numel *= n;
    }
    if (!r->bad && s->bytes != type_bytes(&s->box)) r->bad = true;
    if (!r->bad && has_data) s->data = take(r, s->bytes);
    return done(r, err);
}

static void get_fields(Fields *f, Get *g) {
    field_client(f, &g->client);
    FIELD(f, g->number);
    FIELD(f, g->begin);
    FIELD(f, g->bytes);
}
MESSAGE(get, Get, MSG_GET)

static void piece_fields(Fields *f, Piece *p) {
    field_client(f, &p->client);
    FIELD(f, p->number);
    FIELD(f, p->begin);
}

void wire_piece(const Piece *p, Buf *data, Msg *out) {
    Fields f = {.out = head_new(MSG_PIECE, 0, 16)};
    piece_fields(&f, (Piece *)p);
    finish(f.out, out);
    msg_push(out, data);
}

bool wire_read_piece(const Msg *m, Piece *p, const void **data, uint64_t *bytes, Err *err) {
    Fields f = {0};
    *p = (Piece){0};
    TRY(reader_open(&f.in, m, MSG_PIECE, err));
    piece_fields(&f, p);
    field_check(&f, m->n == 2);
    TRY(done(&f.in, err));
    *data = m->part[1]->data, *bytes = m->part[1]->n;
    return true;
}

static void taken_fields(Fields *f, Taken *g) {
    field_client(f, &g->client);
    FIELD(f, g->number);
}
MESSAGE(taken, Taken, MSG_TAKEN)
