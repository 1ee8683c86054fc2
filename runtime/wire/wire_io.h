/* wire_io.h: writes and reads the bytes of a message, private to wire.c and wire_peer.c. The
 * writer appends to a Buf; the reader never passes the end and records an attempt to do so.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_WIRE_IO_H
#define GT_RUNTIME_WIRE_WIRE_IO_H
#include "runtime/wire/wire.h"
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
static inline uint16_t take_u16(Reader *r) {
    uint16_t v;
    take_into(r, &v, 2);
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

static inline bool done(const Reader *r, const char *what, Err *err) {
    if (!r->bad && r->at == r->end) return true;
    return err_set(err, ERR_PARSE, "malformed %s message", what);
}

static inline uint32_t client_of(const Reader *r) {
    uint32_t client;
    memcpy(&client, r->start + 4, 4);
    return client;
}
static inline void put_data_plane(Buf *b, const DataPlane *d) {
    put_u64(b, d->process);
    put_u64(b, d->arena_at);
    put_u64(b, d->arena_bytes);
    put_u32(b, d->pid);
    put_u32(b, (uint32_t)d->fd);
    put_u64(b, d->inode);
    put_str(b, d->host);
    put_str(b, d->endpoint);
}

static inline void take_data_plane(Reader *r, DataPlane *d) {
    d->process = take_u64(r);
    d->arena_at = take_u64(r);
    d->arena_bytes = take_u64(r);
    d->pid = take_u32(r);
    d->fd = (int32_t)take_u32(r);
    d->inode = take_u64(r);
    take_str(r, d->host, sizeof d->host);
    take_str(r, d->endpoint, sizeof d->endpoint);
}
#endif
