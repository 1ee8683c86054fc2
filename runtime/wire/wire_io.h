/* wire_io.h: writes and reads the bytes of a message, private to wire*.c. The writer appends to a
 * Buf; the reader never passes the end and records an attempt to do so. A function NAME_fields
 * lists the fields of a message once, for both directions.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_WIRE_IO_H
#define GT_RUNTIME_WIRE_WIRE_IO_H
#include "runtime/wire/wire.h"
#include <assert.h>
#include <string.h>

enum { HEAD = 8 };

/* ---- Writing ---- */

static inline Buf *head_new(MsgKind kind, uint32_t client, size_t room) {
    Buf *b = buf_new(HEAD + room);
    memset(b->data, 0, HEAD);
    b->data[0] = (uint8_t)kind;
    memcpy(b->data + 4, &client, 4);
    b->n = HEAD;
    return b;
}

static inline void put(Buf *b, const void *p, size_t n) {
    buf_reserve(b, n);
    if (n) memcpy(b->data + b->n, p, n);
    b->n += n;
}

static inline void put_u8(Buf *b, uint8_t v) { put(b, &v, 1); }
static inline void put_u16(Buf *b, uint16_t v) { put(b, &v, 2); }
static inline void put_u32(Buf *b, uint32_t v) { put(b, &v, 4); }
static inline void put_u64(Buf *b, uint64_t v) { put(b, &v, 8); }
static inline void put_pad(Buf *b) {
    while (b->n & 7) put_u8(b, 0);
}
static inline void put_str(Buf *b, const char *s) {
    size_t n = strlen(s);
    put_u32(b, (uint32_t)n);
    put(b, s, n);
}

static inline void finish(Buf *head, Msg *out) {
    out->n = 0;
    msg_push(out, head);
}

/* ---- Reading ---- */

typedef struct Reader {
    const uint8_t *start, *at, *end;
    bool bad;
} Reader;

static inline bool reader_open(Reader *r, const Msg *m, MsgKind kind, Err *err) {
    *r = (Reader){0};
    if (wire_kind(m) != kind) return err_set(err, ERR_PARSE, "a message of the wrong kind");
    const Buf *b = m->part[0];
    if (b->n < HEAD) return err_set(err, ERR_PARSE, "a message of %zu bytes", b->n);
    *r = (Reader){.start = b->data, .at = b->data + HEAD, .end = b->data + b->n};
    return true;
}

static inline const uint8_t *take(Reader *r, size_t n) {
    if ((size_t)(r->end - r->at) < n) {
        r->bad = true;
        return NULL;
    }
    const uint8_t *p = r->at;
    r->at += n;
    return p;
}

static inline void take_into(Reader *r, void *to, size_t n) {
    const uint8_t *p = take(r, n);
    if (p)
        memcpy(to, p, n);
    else
        memset(to, 0, n);
}

static inline uint8_t take_u8(Reader *r) {
    uint8_t v;
    take_into(r, &v, 1);
    return v;
}
static inline uint32_t take_u32(Reader *r) {
    uint32_t v;
    take_into(r, &v, 4);
    return v;
}
static inline uint64_t take_u64(Reader *r) {
    uint64_t v;
    take_into(r, &v, 8);
    return v;
}
static inline void take_pad(Reader *r) {
    size_t n = (size_t)(r->at - r->start) & 7;
    if (n) take(r, 8 - n);
}

/* Reads a string that fits into buf with its NUL and contains none. */
static inline void take_str(Reader *r, char *buf, size_t size) {
    uint32_t n = take_u32(r);
    buf[0] = 0;
    if (n >= size) r->bad = true;
    if (r->bad) return;
    const uint8_t *p = take(r, n);
    if (!p) return;
    memcpy(buf, p, n);
    buf[n] = 0;
    if (memchr(buf, 0, n)) r->bad = true;
}

static inline bool done(const Reader *r, Err *err) {
    static const char *const name[] = {
#define MSG(id, name, doc) [MSG_##id] = name,
#include "runtime/wire/msgs.def"
    };
    if (!r->bad && r->at == r->end) return true;
    return err_set(err, ERR_PARSE, "malformed %s message", name[r->start[0]]);
}

static inline uint32_t client_of(const Reader *r) {
    uint32_t client;
    memcpy(&client, r->start + 4, 4);
    return client;
}

/* ---- Fields, written or read ---- */

typedef struct Fields {
    Buf *out;  /* to write to; NULL: the fields are read ... */
    Reader in; /* ... from here */
} Fields;

/* A field of n bytes. Writing leaves it as it is. */
static inline void field(Fields *f, void *p, size_t n) {
    if (f->out)
        put(f->out, p, n);
    else
        take_into(&f->in, p, n);
}
/* The size of x is that on the wire. */
#define FIELD(f, x)     field(f, &(x), sizeof(x))
#define FIELD_STR(f, x) field_str(f, x, sizeof(x))

static inline void field_str(Fields *f, char *s, size_t size) {
    if (f->out)
        put_str(f->out, s);
    else
        take_str(&f->in, s, size);
}

/* Zeros up to a multiple of 8. */
static inline void field_pad(Fields *f) {
    if (f->out)
        put_pad(f->out);
    else
        take_pad(&f->in);
}

/* The client in the head. */
static inline void field_client(Fields *f, uint32_t *client) {
    if (f->out)
        memcpy(f->out->data + 4, client, 4);
    else
        *client = client_of(&f->in);
}

/* A message is malformed unless this holds. */
static inline void field_check(Fields *f, bool is_sound) {
    if (!is_sound) f->in.bad = true;
}

/* Defines wire_NAME and wire_read_NAME of a message whose fields NAME_fields lists. A message that
 * cannot be read leaves zeros where its fields are missing. */
#define MESSAGE(name, Type, kind)                                                                  \
    void wire_##name(const Type *message, Msg *out) {                                              \
        Fields f = {.out = head_new(kind, 0, 64)};                                                 \
        name##_fields(&f, (Type *)message);                                                        \
        finish(f.out, out);                                                                        \
    }                                                                                              \
    bool wire_read_##name(const Msg *m, Type *message, Err *err) {                                 \
        Fields f = {0};                                                                            \
        *message = (Type){0};                                                                      \
        TRY(reader_open(&f.in, m, kind, err));                                                     \
        name##_fields(&f, message);                                                                \
        return done(&f.in, err);                                                                   \
    }

/* As MESSAGE, of a message with up to `max` rows: NAME_fields lists the fields before them, with
 * their number `n`, and NAME_row_fields those of a row, row_bytes on the wire. The rows lie in the
 * member `rows` of Type, which after reading is in the arena. */
#define MESSAGE_ROWS(name, Type, kind, rows, max, row_bytes)                                       \
    void wire_##name(const Type *message, Msg *out) {                                              \
        assert(message->n <= (max));                                                               \
        Fields f = {.out = head_new(kind, 0, 128 + (row_bytes) * (size_t)message->n)};             \
        name##_fields(&f, (Type *)message);                                                        \
        for (uint32_t i = 0; i < message->n; i++) name##_row_fields(&f, &message->rows[i]);        \
        finish(f.out, out);                                                                        \
    }                                                                                              \
    bool wire_read_##name(const Msg *m, Arena *arena, Type *message, Err *err) {                   \
        Fields f = {0};                                                                            \
        Reader *r = &f.in;                                                                         \
        *message = (Type){0};                                                                      \
        TRY(reader_open(r, m, kind, err));                                                         \
        name##_fields(&f, message);                                                                \
        size_t n = message->n;                                                                     \
        field_check(&f, n <= (max) && (size_t)(r->end - r->at) == (row_bytes)*n);                  \
        if (!r->bad) message->rows = arena_zalloc(arena, n * sizeof *message->rows);               \
        for (size_t i = 0; i < n && !r->bad; i++) name##_row_fields(&f, &message->rows[i]);        \
        return done(r, err);                                                                       \
    }

static inline void data_plane_fields(Fields *f, DataPlane *d) {
    FIELD(f, d->process);
    FIELD(f, d->arena_at);
    FIELD(f, d->arena_bytes);
    FIELD(f, d->pid);
    FIELD(f, d->fd);
    FIELD(f, d->inode);
    for (int k = 0; k < 8; k++) FIELD(f, d->lent[k]);
    FIELD_STR(f, d->host);
    FIELD_STR(f, d->endpoint);
}
#endif
