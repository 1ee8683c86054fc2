/* wire.c: all messages except frames and those between workers. Heads begin with u8 kind, u8
 * 0, u16 0, u32 client, so that a relay can change the client in place. wire.h has the meaning
 * of the messages.
 * SPDX-License-Identifier: MIT */
#include "runtime/wire/wire.h"
#include "runtime/wire/wire_io.h"

#include <assert.h>

MsgKind wire_kind(const Msg *m) {
    if (m->n < 1 || m->part[0]->n < 1 || m->part[0]->data[0] >= MSG_COUNT) return MSG_COUNT;
    return (MsgKind)m->part[0]->data[0];
}

/* ---- Greeting ---- */

/* Another version may continue differently after the hash, so the rest is not read. */
static void hello_fields(Fields *f, Hello *h) {
    FIELD(f, h->version);
    FIELD(f, h->table_hash);
    if (!f->out && !f->in.bad && h->version != WIRE_VERSION) {
        f->in.at = f->in.end;
        return;
    }
    FIELD(f, h->role);
    FIELD(f, h->memory_bytes);
    FIELD(f, h->threads);
    FIELD_STR(f, h->name);
    FIELD_STR(f, h->origin);
    data_plane_fields(f, &h->data);
    FIELD(f, h->spawned);
    field_check(f, h->role <= ROLE_WATCHER);
}
MESSAGE(hello, Hello, MSG_HELLO)

static void welcome_fields(Fields *f, Welcome *w) {
    field_client(f, &w->id);
    FIELD(f, w->rank);
    FIELD(f, w->n_workers);
    FIELD(f, w->window_insts);
    FIELD(f, w->window_bytes);
    FIELD(f, w->token);
    FIELD_STR(f, w->engine);
}
MESSAGE(welcome, Welcome, MSG_WELCOME)

/* ---- Errors ---- */

static void refuse_fields(Fields *f, Err *e) {
    uint32_t code = e->code;
    FIELD(f, code);
    field_check(f, code < ERR_COUNT);
    if (!f->out) e->code = code < ERR_COUNT ? (ErrCode)code : ERR_INTERNAL;
    FIELD(f, e->at);
    FIELD(f, e->count);
    FIELD_STR(f, e->text);
    FIELD_STR(f, e->hint);
}
MESSAGE(refuse, Err, MSG_REFUSE)

static void failure_fields(Fields *f, Failure *e) {
    field_client(f, &e->client);
    FIELD(f, e->seq);
    FIELD(f, e->pos.file);
    FIELD(f, e->pos.col);
    FIELD(f, e->pos.line);
    FIELD(f, e->op);
    FIELD(f, e->worker);
    refuse_fields(f, &e->err);
    field_check(f, e->op < OP_COUNT);
}
MESSAGE(failure, Failure, MSG_ERROR)

/* ---- Flow ---- */

static void ack_fields(Fields *f, Ack *a) {
    field_client(f, &a->client);
    FIELD(f, a->seq);
    FIELD(f, a->bytes);
}
MESSAGE(ack, Ack, MSG_ACK)

static void cancel_fields(Fields *f, Cancel *c) {
    field_client(f, &c->client);
    FIELD(f, c->seq);
}
MESSAGE(cancel, Cancel, MSG_CANCEL)

static void credit_fields(Fields *f, Credit *c) {
    field_client(f, &c->client);
    FIELD(f, c->bytes);
}
MESSAGE(credit, Credit, MSG_CREDIT)

static void gone_fields(Fields *f, uint32_t *client) { field_client(f, client); }
MESSAGE(gone, uint32_t, MSG_GONE)

void wire_body(uint32_t client, uint64_t number, const void *forms, size_t n, Msg *out) {
    Buf *b = head_new(MSG_BODY, client, 16 + n);
    put_u64(b, number);
    put_u64(b, n);
    put(b, forms, n);
    finish(b, out);
}

bool wire_read_body(const Msg *m, uint32_t *client, uint64_t *number, const void **forms, size_t *n,
                    Err *err) {
    Reader r;
    TRY(reader_open(&r, m, MSG_BODY, err));
    *client = client_of(&r);
    *number = take_u64(&r);
    *n = take_u64(&r);
    *forms = take(&r, *n);
    return done(&r, err);
}

static bool is_text(MsgKind kind) {
    return kind == MSG_STATS || kind == MSG_STATS_REPLY || kind == MSG_BYE || kind == MSG_BEAT ||
           kind == MSG_SNAPSHOT;
}

void wire_text(MsgKind kind, const char *s, size_t n, Msg *out) {
    assert(is_text(kind));
    Buf *b = head_new(kind, 0, n);
    put(b, s, n);
    finish(b, out);
}

bool wire_read_text(const Msg *m, const char **s, size_t *n, Err *err) {
    Reader r;
    MsgKind kind = wire_kind(m);
    if (!is_text(kind)) return err_set(err, ERR_PARSE, "a message of the wrong kind");
    TRY(reader_open(&r, m, kind, err));
    *s = (const char *)r.at, *n = (size_t)(r.end - r.at);
    return true;
}

/* ---- Replies ---- */

uint64_t reply_value_numel(const TensorType *t, uint32_t edge) {
    uint64_t n = 1;
    for (int i = 0; i < t->rank; i++) {
        uint64_t extent = (uint64_t)t->shape[i];
        n *= edge > 0 && extent > 2 * (uint64_t)edge ? 2 * (uint64_t)edge : extent;
    }
    return n;
}

/* Value: u8 status, u8 dtype, u8 rank, u8 part (0: inline), u32 edge, extents, u64 bytes, then
 * data, padded to 8. */
void wire_reply(const Reply *reply, Buf **bufs, Msg *out) {
    Buf *b = head_new(MSG_REPLY, reply->client, 64 * ((size_t)reply->n + 1));
    finish(b, out);
    put_u64(b, reply->seq);
    put_u64(b, reply->n);
    for (uint32_t i = 0; i < reply->n; i++) {
        const ReplyValue *v = &reply->value[i];
        Buf *part = bufs ? bufs[i] : NULL;
        bool apart = part && v->bytes > INLINE_BYTES && out->n < MAX_MSG_PARTS;
        assert(!part || v->bytes <= part->n);
        put_u8(b, v->status);
        put_u8(b, v->type.dtype);
        put_u8(b, v->type.rank);
        put_u8(b, apart ? (uint8_t)out->n : 0);
        put_u32(b, v->edge);
        put(b, v->type.shape, 8 * (size_t)v->type.rank);
        put_u64(b, v->bytes);
        if (apart) {
            msg_push(out, part);
            continue;
        }
        put(b, v->data, v->bytes);
        put_pad(b);
        if (part) buf_unref(&part);
    }
}

/* True if inst_infer would allow the extents, and the bytes match them. */
static bool type_is_sound(const ReplyValue *v) {
    const TensorType *t = &v->type;
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] < 0) return false;
        if (t->shape[i] == 0) continue;
        if (t->shape[i] > MAX_NUMEL / n) return false;
        n *= t->shape[i];
    }
    if (v->status != 0) return v->bytes == 0;
    return v->bytes == reply_value_numel(t, v->edge) * (uint64_t)dtype_info[t->dtype].size_bytes;
}

static void take_value(Reader *r, const Msg *m, Arena *arena, ReplyValue *v) {
    *v = (ReplyValue){.status = take_u8(r)};
    v->type.dtype = take_u8(r);
    v->type.rank = take_u8(r);
    uint8_t part = take_u8(r);
    v->edge = take_u32(r);
    if (v->status >= ERR_COUNT || v->type.dtype >= DT_COUNT || v->type.rank > MAX_DIMS)
        r->bad = true;
    if (r->bad) return;
    take_into(r, v->type.shape, 8 * (size_t)v->type.rank);
    v->bytes = take_u64(r);
    if (r->bad || !type_is_sound(v)) {
        r->bad = true;
        return;
    }
    if (part) {
        if (part >= m->n || m->part[part]->n < v->bytes)
            r->bad = true;
        else
            v->data = m->part[part]->data;
        return;
    }
    v->data = take(r, v->bytes);
    take_pad(r);
    if (v->data &&
        ((uintptr_t)v->data & 7)) /* a transport without alignment: readers want int64 and double */
        v->data = memcpy(arena_alloc(arena, v->bytes), v->data, v->bytes);
}

bool wire_read_reply(const Msg *m, Arena *arena, Reply *reply, Err *err) {
    Reader r;
    *reply = (Reply){0};
    TRY(reader_open(&r, m, MSG_REPLY, err));
    reply->client = client_of(&r);
    reply->seq = take_u64(&r);
    uint64_t n = take_u64(&r);
    if (n > (uint64_t)(r.end - r.at) / 16 || n > MAX_IN)
        r.bad = true; /* a value has at least 16 bytes */
    if (!r.bad) reply->value = arena_zalloc(arena, (size_t)n * sizeof *reply->value);
    for (uint64_t i = 0; !r.bad && i < n; i++) take_value(&r, m, arena, &reply->value[i]);
    reply->n = (uint32_t)n;
    return done(&r, err);
}

/* ---- Relay ---- */

bool wire_client(const Msg *m, uint32_t *client) {
    MsgKind kind = wire_kind(m);
    if (kind != MSG_ACK && kind != MSG_REPLY && kind != MSG_ERROR && kind != MSG_CANCEL)
        return false;
    if (m->part[0]->n < HEAD) return false;
    memcpy(client, m->part[0]->data + 4, 4);
    return true;
}

void wire_set_client(Msg *m, uint32_t client) {
    Buf *b = m->part[0];
    assert(b->n >= HEAD && atomic_load(&b->refs) == 1);
    memcpy(b->data + 4, &client, 4);
}
