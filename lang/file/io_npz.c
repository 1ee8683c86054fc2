/* io_npz.c: NumPy's .npz: a zip archive whose members are .npy files, stored or deflated (format:
 * PKWARE's APPNOTE 6.3, sections 4.3 and 4.5). Host values are JSON in one more member, gt.json,
 * which NumPy shows as bytes. Files are written stored, with elements on 64-byte boundaries, so
 * that reading shares the file's bytes; ZIP64 fields are written where sizes need them. Sizes are
 * read from the central directory, so data descriptors can be ignored. No encryption, no multi-part
 * archives.
 * SPDX-License-Identifier: MIT */
#include "lang/error/interrupt.h"
#include "lang/file/file_map.h"
#include "lang/file/io_npz.h"
#include "lang/file/io_format.h"
#include "lang/file/io_npy.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum {
    LOCAL_BYTES = 30,
    CENTRAL_BYTES = 46,
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    MAX_COMMENT = 65535,
    STORED = 0,
    DEFLATED = 8,
    MAX_RATIO = 1032, /* deflate's maximum */
    ALIGN = 64,
    PAD_ID = 0xd935, /* the extra field that other writers use for alignment */
};
#define META_MEMBER "gt.json"

typedef struct Member {
    const char *name; /* points into the directory, not terminated; when writing: terminated */
    size_t n_name;
    uint32_t flags, method, crc;
    uint64_t packed, size, at;
} Member;

static uint32_t u16(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }
static uint32_t u32(const uint8_t *p) { return u16(p) | u16(p + 2) << 16; }
static uint64_t u64(const uint8_t *p) { return u32(p) | (uint64_t)u32(p + 4) << 32; }

/* ---- Reading ---- */

/* bytes: a copy, because a mapped file may change. */
typedef struct Directory {
    uint64_t at, size, count;
    Buf *bytes;
} Directory;

static bool find_directory(const Buf *b, Directory *d, Err *err) {
    const uint8_t *p = b->data;
    size_t at = b->n < END_BYTES ? 0 : b->n - END_BYTES;
    size_t least = at > MAX_COMMENT ? at - MAX_COMMENT : 0;
    if (b->n < END_BYTES || memcmp(p, "PK", 2))
        return err_set(err, ERR_PARSE, "this is no .npz file: it does not begin like a zip");
    while (memcmp(p + at, "PK\5\6", 4) || at + END_BYTES + u16(p + at + 20) != b->n)
        if (at-- == least)
            return err_set(err, ERR_PARSE, "the zip archive is cut off: it has no directory");
    *d = (Directory){u32(p + at + 16), u32(p + at + 12), u16(p + at + 10), NULL};
    if (at >= LOCATOR_BYTES && !memcmp(p + at - LOCATOR_BYTES, "PK\6\7", 4)) {
        uint64_t end64 = u64(p + at - LOCATOR_BYTES + 8);
        if (end64 > at || at - end64 < END64_BYTES || memcmp(p + end64, "PK\6\6", 4))
            return err_set(err, ERR_PARSE, "the zip archive's ZIP64 end is damaged");
        *d = (Directory){u64(p + end64 + 48), u64(p + end64 + 40), u64(p + end64 + 32), NULL};
    }
    if (d->at > b->n || d->size > b->n - d->at || d->count > d->size / CENTRAL_BYTES)
        return err_set(err, ERR_PARSE, "the zip archive's directory is outside of the file");
    d->bytes = buf_copy(p + d->at, (size_t)d->size);
    return true;
}

/* ZIP64 sizes are in an extra field, which has only those whose 32-bit field is all ones. */
static bool read_zip64(Member *m, const uint8_t *p, const uint8_t *end) {
    uint64_t *const field[] = {&m->size, &m->packed, &m->at};
    while (end - p >= 4 && end - p - 4 >= (ptrdiff_t)u16(p + 2)) {
        const uint8_t *q = p + 4, *stop = q + u16(p + 2);
        bool is_zip64 = u16(p) == 1;
        p = stop;
        for (int i = 0; is_zip64 && i < 3; i++) {
            if (*field[i] != UINT32_MAX) continue;
            if (stop - q < 8) return false;
            *field[i] = u64(q);
            q += 8;
        }
        if (is_zip64) return true;
    }
    return true;
}

/* Reads the entry at *at of the directory and moves *at past it. m->at becomes the offset of the
 * data in the file. */
static bool read_member(const Buf *b, const Directory *d, uint64_t *at, Member *m, Err *err) {
    const uint8_t *p = d->bytes->data + *at;
    uint8_t local[LOCAL_BYTES];
    uint64_t left = d->size - *at;
    if (left < CENTRAL_BYTES || memcmp(p, "PK\1\2", 4) ||
        left - CENTRAL_BYTES < (uint64_t)u16(p + 28) + u16(p + 30) + u16(p + 32))
        return err_set(err, ERR_PARSE, "the zip archive's directory is damaged");
    *m = (Member){(const char *)p + CENTRAL_BYTES,
                  u16(p + 28),
                  u16(p + 8),
                  u16(p + 10),
                  u32(p + 16),
                  u32(p + 20),
                  u32(p + 24),
                  u32(p + 42)};
    const uint8_t *extra = p + CENTRAL_BYTES + m->n_name;
    int n = m->n_name < 100 ? (int)m->n_name : 100;
    *at += CENTRAL_BYTES + m->n_name + u16(p + 30) + u16(p + 32);
    if (memchr(m->name, 0, m->n_name))
        return err_set(err, ERR_PARSE, "a member's name has a zero byte in it");
    if (!read_zip64(m, extra, extra + u16(p + 30)) || m->at > b->n || b->n - m->at < LOCAL_BYTES ||
        memcmp(memcpy(local, b->data + m->at, LOCAL_BYTES), "PK\3\4", 4))
        return err_set(err, ERR_PARSE, "member '%.*s' does not begin where the directory says", n,
                       m->name);
    m->at += LOCAL_BYTES + u16(local + 26) + u16(local + 28);
    if (m->at > b->n || m->packed > b->n - m->at)
        return err_set(err, ERR_PARSE, "member '%.*s' is cut off", n, m->name);
    if (m->flags & 1) return err_set(err, ERR_PARSE, "member '%.*s' is encrypted", n, m->name);
    if (m->method != STORED && m->method != DEFLATED)
        return err_set(err, ERR_PARSE, "member '%.*s' is compressed by method %u, not by deflate",
                       n, m->name, m->method);
    return true;
}

static bool inflate_member(const Buf *b, const Member *m, Buf **out) {
    z_stream z = {0};
    if (inflateInit2(&z, -15) != Z_OK) return false;
    Buf *to = buf_new((size_t)m->size + 1); /* one byte more, to detect excess data */
    uint64_t taken = 0;
    int rc = Z_OK;
    while (rc == Z_OK && to->n <= m->size && !interrupt_count) {
        if (z.avail_in == 0) {
            z.next_in = b->data + m->at + taken;
            z.avail_in = (uInt)(m->packed - taken < (1u << 30) ? m->packed - taken : (1u << 30));
            taken += z.avail_in;
        }
        size_t room = (size_t)m->size + 1 - to->n;
        if (room > IO_STEP_BYTES) room = IO_STEP_BYTES;
        z.next_out = to->data + to->n;
        z.avail_out = (uInt)room;
        rc = inflate(&z, Z_NO_FLUSH);
        to->n += room - z.avail_out;
    }
    inflateEnd(&z);
    *out = to;
    return rc == Z_STREAM_END && to->n == m->size;
}

static uint32_t crc_of(uint32_t crc, const void *p, size_t n) {
    const uint8_t *at = p;
    for (size_t part; n && !interrupt_count; at += part, n -= part) {
        part = n < IO_STEP_BYTES ? n : IO_STEP_BYTES;
        crc = (uint32_t)crc32_z(crc, at, part);
        meanwhile();
    }
    return crc;
}

/* Verifies a checksum; the pages of a mapped member are given back. */
static bool is_of_crc(const Buf *b, uint32_t crc) {
    uint32_t is = 0;
    for (size_t at = 0, n; at < b->n; at += n) {
        n = b->n - at < IO_STEP_BYTES ? b->n - at : IO_STEP_BYTES;
        is = crc_of(is, b->data + at, n);
        file_map_forget(b->data + at, n);
    }
    return is == crc;
}

/* The bytes of a member, checksum verified: one reference. */
static bool unpack(Buf *b, const Member *m, Buf **out, Err *err) {
    int n = m->n_name < 100 ? (int)m->n_name : 100;
    *out = NULL;
    bool ok = true;
    if (m->method == STORED) {
        ok = m->size == m->packed;
        if (ok) *out = buf_part(b, b->data + m->at, (size_t)m->size);
    } else {
        ok = m->size / MAX_RATIO <= m->packed && inflate_member(b, m, out);
    }
    if (ok && is_of_crc(*out, m->crc)) return true;
    buf_unref(out);
    return err_set(err, ERR_PARSE, "member '%.*s' is damaged: %s", n, m->name,
                   ok ? "its checksum is wrong" : "it is not of the size that it claims");
}

/* A member that this program has no type for: the others can still be read. */
static void put_bad(const Member *m, size_t n_key, const char *why, IoValue *out) {
    Bytes text = {0};
    bytes_printf(&text, "member '%.*s'%s", m->n_name < 100 ? (int)m->n_name : 100, m->name, why);
    *io_put(out, m->name, n_key) = (IoValue){.kind = IO_BAD, .str = text.data, .n_str = text.n};
}

static bool read_one(Buf *b, const Member *m, IoValue *out, Err *err) {
    size_t n = m->n_name, n_meta = sizeof META_MEMBER - 1;
    bool is_meta = n == n_meta && !memcmp(m->name, META_MEMBER, n);
    bool is_array = n >= 4 && !memcmp(m->name + n - 4, ".npy", 4);
    if (n && m->name[n - 1] == '/') return true; /* a directory */
    if (!is_meta && !is_array) return put_bad(m, n, " is no .npy array", out), true;
    Buf *part;
    TRY(unpack(b, m, &part, err));
    bool ok = true;
    if (is_meta) {
        Buf *json = buf_copy(part->data, part->n);
        ok = io_put_meta((const char *)json->data, json->n, out, err);
        buf_unref(&json);
    } else {
        Err inner = {0};
        char why[320];
        IoValue array = {0};
        bool is_read = npy_decode(part, &array, &inner);
        snprintf(why, sizeof why, ": %.300s", inner.text);
        if (is_read)
            *io_put(out, m->name, n - 4) = array;
        else
            put_bad(m, n - 4, why, out);
    }
    buf_unref(&part);
    return ok;
}

static bool read_members(Buf *bytes, const Directory *d, IoValue *out, Err *err) {
    uint64_t at = 0, packed = 0, inflated = 0;
    size_t limit = io_inflate_limit(bytes->n);
    *out = (IoValue){.kind = IO_MAP};
    for (uint64_t i = 0; i < d->count; i++) {
        Member m;
        TRY(read_member(bytes, d, &at, &m, err));
        packed += m.packed;
        if (packed > bytes->n) return err_set(err, ERR_PARSE, "members of the zip archive overlap");
        if (m.size > limit || inflated + m.size > limit) {
            err_set(err, ERR_LIMIT, "the arrays inflate to more than %zu MiB from %zu bytes",
                    limit >> 20, bytes->n);
            return err_hint(err, "if that is meant: write them uncompressed");
        }
        inflated += m.size;
        TRY(read_one(bytes, &m, out, err));
    }
    return true;
}

bool npz_decode(Buf *bytes, IoValue *out, Err *err) {
    Directory d = {0};
    TRY(find_directory(bytes, &d, err));
    bool ok = read_members(bytes, &d, out, err);
    buf_unref(&d.bytes);
    if (ok) io_nest(out);
    return ok;
}

/* ---- Writing ---- */

static void put(Bytes *b, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) bytes_putc(b, (char)(v >> (8 * i)));
}

static uint32_t low(uint64_t v) { return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX; }

/* The fields from "version needed" to the sizes, equal in both headers. */
static void put_common(Bytes *b, const Member *m, bool is_64) {
    put(b, is_64 ? 45 : 20, 2);
    put(b, 1 << 11, 2); /* names are UTF-8 */
    put(b, STORED, 2);
    put(b, 0, 2);
    put(b, 0x21, 2); /* 1980-01-01: equal values give equal files */
    put(b, m->crc, 4);
    put(b, low(m->size), 4);
    put(b, low(m->size), 4);
    put(b, m->n_name, 2);
}

static void put_local(Bytes *b, const Member *m) {
    bool is_64 = m->size >= UINT32_MAX;
    size_t fixed = LOCAL_BYTES + m->n_name + (is_64 ? 20 : 0) + 4,
           pad = (ALIGN - (size_t)((m->at + fixed) % ALIGN)) % ALIGN;
    bytes_add(b, "PK\3\4", 4);
    put_common(b, m, is_64);
    put(b, (is_64 ? 20 : 0) + 4 + pad, 2);
    bytes_add(b, m->name, m->n_name);
    if (is_64) {
        put(b, 1, 2);
        put(b, 16, 2);
        put(b, m->size, 8);
        put(b, m->size, 8);
    }
    put(b, PAD_ID, 2);
    put(b, pad, 2);
    for (size_t i = 0; i < pad; i++) bytes_putc(b, 0);
}

static void put_central(Bytes *b, const Member *m) {
    bool wide = m->size >= UINT32_MAX, far = m->at >= UINT32_MAX;
    int n = (wide ? 16 : 0) + (far ? 8 : 0);
    bytes_add(b, "PK\1\2", 4);
    put(b, 45, 2);
    put_common(b, m, n != 0);
    put(b, n ? n + 4 : 0, 2);
    put(b, 0, 2 + 2 + 2); /* comment length, disk number, internal attributes */
    put(b, 0, 4);
    put(b, low(m->at), 4);
    bytes_add(b, m->name, m->n_name);
    if (!n) return;
    put(b, 1, 2);
    put(b, (uint64_t)n, 2);
    if (wide) put(b, m->size, 8);
    if (wide) put(b, m->size, 8);
    if (far) put(b, m->at, 8);
}

static void put_end(Bytes *b, uint64_t at, uint64_t size, uint64_t count) {
    if (at >= UINT32_MAX || size >= UINT32_MAX || count >= UINT16_MAX) {
        bytes_add(b, "PK\6\6", 4);
        put(b, END64_BYTES - 12, 8);
        put(b, 45, 2);
        put(b, 45, 2);
        put(b, 0, 8);
        put(b, count, 8);
        put(b, count, 8);
        put(b, size, 8);
        put(b, at, 8);
        bytes_add(b, "PK\6\7", 4);
        put(b, 0, 4);
        put(b, at + size, 8);
        put(b, 1, 4);
    }
    bytes_add(b, "PK\5\6", 4);
    put(b, 0, 4);
    put(b, count < UINT16_MAX ? count : UINT16_MAX, 2);
    put(b, count < UINT16_MAX ? count : UINT16_MAX, 2);
    put(b, low(size), 4);
    put(b, low(at), 4);
    put(b, 0, 2);
}

static void put_member(IoSink *s, const char *name, const Bytes *head, const void *data, size_t n,
                       Bytes *central) {
    Bytes local = {0};
    Member m = {.name = name, .n_name = strlen(name), .size = head->n + n, .at = s->at};
    m.crc = crc_of(crc_of(0, head->data, head->n), data, n);
    put_local(&local, &m);
    put_central(central, &m);
    io_put_bytes(s, local.data, local.n);
    io_put_bytes(s, head->data, head->n);
    io_put_bytes(s, data, n);
    bytes_fini(&local);
}

bool npz_encode(IoSink *s, const IoItem *item, int n, const char *meta, size_t n_meta, Err *err) {
    Bytes central = {0}, head = {0}, name = {0};
    bool ok = true;
    for (int i = 0; i < n && ok; i++) {
        name.n = head.n = 0;
        bytes_printf(&name, "%s.npy", item[i].name);
        ok = name.n <= UINT16_MAX ||
             err_set(err, ERR_LIMIT, "the name '%.60s...' is too long", item[i].name);
        ok = ok && npy_header(&item[i], &head, err);
        if (ok)
            put_member(s, name.data, &head, item[i].data, (size_t)type_bytes(&item[i].type),
                       &central);
    }
    head.n = 0;
    if (ok && n_meta) put_member(s, META_MEMBER, &head, meta, n_meta, &central);
    uint64_t at = s->at, size = central.n;
    put_end(&central, at, size, (uint64_t)n + (n_meta != 0));
    if (ok) io_put_bytes(s, central.data, central.n);
    bytes_fini(&central);
    bytes_fini(&head);
    bytes_fini(&name);
    return ok;
}
