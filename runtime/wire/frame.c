/* frame.c: encodes and decodes frames and their records. All input may be hostile: a record is
 * decoded through a cursor that never passes the record's end, and numbers are checked against
 * limits.h and the tables before they are used as sizes or indices. Decoding copies
 * operands, attribute heads and hot records into the scratch arena, and lists and payloads that are
 * not 8-byte aligned. Other lists and payloads, and strings, stay in place. The layout is in
 * frame.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/wire/frame.h"
#include "runtime/wire/body.h"
#include "runtime/wire/frame_hot.h"
#include "runtime/wire/wire.h"
#include <assert.h>
#include <stddef.h>

enum { DISTANCE_MAX = (1 << 30) - 1 };

/* ---- Encoding ---- */

void frame_begin(FrameWriter *w, uint32_t client, uint64_t seq) {
    assert(!w->head);
    w->head = buf_new(4096);
    w->head->n = FRAME_HEAD;
    w->client = client, w->seq = seq, w->count = w->records = 0, w->number = 0;
    w->hot_at = w->form_at = 0;
}

size_t frame_bytes(const FrameWriter *w) { return w->head ? w->head->n : 0; }

bool frame_is_full(const FrameWriter *w) {
    uint64_t bytes = 0;
    for (int i = 0; i < w->n_parts; i++) bytes += w->parts[i]->n;
    return bytes >= FRAME_PART_BYTES || w->records >= FRAME_INSTS || w->count >= HOT_INSTS ||
           frame_bytes(w) >= FRAME_BYTES || w->n_parts >= MAX_MSG_PARTS - 1;
}

void frame_end(FrameWriter *w, Msg *out) {
    assert(w->head);
    FrameHead h = {.kind = MSG_FRAME,
                   .client = w->client,
                   .seq = w->seq,
                   .count = w->count,
                   .number = w->number};
    h.body_bytes = (uint32_t)(w->head->n - FRAME_HEAD);
    memcpy(w->head->data, &h, sizeof h);
    out->n = 0;
    msg_push(out, w->head);
    for (int i = 0; i < w->n_parts; i++) msg_push(out, w->parts[i]);
    w->head = NULL, w->n_parts = 0, w->count = 0;
}

static inline uint8_t *put_u32(uint8_t *p, uint32_t v) { return memcpy(p, &v, 4), p + 4; }
static inline uint8_t *put_u64(uint8_t *p, uint64_t v) { return memcpy(p, &v, 8), p + 8; }
static inline uint8_t *put_pad(uint8_t *p, const uint8_t *start) {
    while ((p - start) & 7) *p++ = 0;
    return p;
}

static size_t attr_bytes(uint32_t key, uint32_t n) {
    AttrType type = attr_info[key].type;
    return ATTR_HEAD + (type == AT_STR ? pad8((size_t)n + 1) : type == AT_INTS ? 8 * (size_t)n : 8);
}

static uint8_t *put_attr(uint8_t *p, const Attr *a) {
    AttrType type = attr_info[a->key].type;
    uint32_t n = type == AT_STR || type == AT_INTS ? a->n : 0;
    p = put_u32(p, a->key);
    p = put_u32(p, n);
    switch (type) {
    case AT_BOOL: return put_u64(p, a->b);
    case AT_INT: return put_u64(p, (uint64_t)a->i);
    case AT_FLOAT: return memcpy(p, &a->f, 8), p + 8;
    case AT_DTYPE: return put_u64(p, a->dtype);
    case AT_INTS:
        assert(n <= MAX_INTS);
        if (n) memcpy(p, a->ints, 8 * (size_t)n);
        return p + 8 * (size_t)n;
    case AT_STR: break;
    }
    assert(n <= MAX_STR);
    memset(p + (n & ~7u), 0, 8); /* the NUL and the padding */
    if (n) memcpy(p, a->str, n);
    return p + pad8((size_t)n + 1);
}

static uint8_t *put_attrs(uint8_t *p, const Inst *in, AttrPart part, uint8_t *count) {
    int n = 0;
    *count = 0;
    if (in->n_attr == 0) return p; /* the most common case */
    for (int i = 0; i < in->n_attr; i++) {
        if (attr_info[in->attr[i].key].part != part) continue;
        p = put_attr(p, &in->attr[i]);
        n++;
    }
    *count = (uint8_t)n;
    return p;
}

/* Distance of a tensor made since the edge; 0: it is external. */
static inline uint32_t distance_of(const FrameWriter *w, uint64_t base, uint64_t id) {
    if (id < w->edge_id || id >= base || base - id > DISTANCE_MAX) return 0;
    return (uint32_t)(base - id);
}

/* True if the payload is not stored in the head. */
static bool has_part(const FrameWriter *w, const Inst *in) {
    return in->payload_bytes > INLINE_BYTES && w->n_parts < MAX_MSG_PARTS - 1;
}

/* Returns a part with the payload, or NULL if it is stored in the head. The writer owns the
 * reference. */
static Buf *payload_part(const FrameWriter *w, const Inst *in) {
    if (!has_part(w, in)) return NULL;
    Buf *b = in->payload_buf;
    if (b && b->data == in->payload && b->n == in->payload_bytes) return buf_ref(b);
    return buf_copy(in->payload, in->payload_bytes);
}

static uint8_t *put_payload(FrameWriter *w, uint8_t *p, const Inst *in, uint8_t *flags) {
    Buf *part = payload_part(w, in);
    if (part) {
        w->parts[w->n_parts++] = part;
        *flags |= HAS_PART;
        return put_u64(p, (uint64_t)w->n_parts);
    }
    *flags |= HAS_INLINE;
    p = put_u64(p, in->payload_bytes);
    size_t padded = pad8(in->payload_bytes);
    if (padded) memset(p + padded - 8, 0, 8);
    if (in->payload_bytes) memcpy(p, in->payload, in->payload_bytes);
    return p + padded;
}

/* An upper bound of the record's bytes. */
static size_t record_bound(const FrameWriter *w, const Inst *in) {
    size_t n = RECORD_HEAD + pad8(4 * (size_t)in->n_in) + 8 + 8 * (size_t)in->n_in;
    for (int i = 0; i < in->n_attr; i++) n += attr_bytes(in->attr[i].key, in->attr[i].n);
    if (in->payload) n += 16 + (has_part(w, in) ? 0 : pad8(in->payload_bytes));
    return n;
}

/* Precondition: the record is well-formed. */
static uint32_t form_bytes(const uint8_t *record) {
    RecordHead h;
    memcpy(&h, record, sizeof h);
    const uint8_t *p = record + RECORD_HEAD + pad8(4 * (size_t)h.n_in);
    for (int i = 0; i < h.n_attr_form; i++) {
        uint32_t head[2];
        memcpy(head, p, sizeof head);
        p += attr_bytes(head[0], head[1]);
    }
    return (uint32_t)(p - record);
}

/* Keeps the record at `start`, after the last one, in full. */
static void add_full(FrameWriter *w, const Inst *in, const uint8_t *start, size_t length,
                     uint8_t flags) {
    w->hot_at = 0;
    w->last_at = w->head->n;
    w->form_at = (uint32_t)(start - w->head->data);
    w->head->n += length;
    w->count++, w->records++;
    if (!in->n_out) return;
    *(flags & IS_INSERTED ? &w->next_added : &w->next_id) = in->out[0] + in->n_out;
}

static void add(FrameWriter *w, const Inst *in, uint8_t flags) {
    assert(w->head && in->n_in <= MAX_IN && in->n_out <= MAX_OUT && in->n_attr <= MAX_ATTRS);
    for (int i = 1; i < in->n_out; i++) assert(in->out[i] == in->out[0] + (uint64_t)i);
    size_t bound = record_bound(w, in);
    assert(bound < INT32_MAX); /* a large payload goes into the head of a full frame only */
    buf_reserve(w->head, bound + HOT_HEAD + HOT_ADDED);
    uint8_t *start = w->head->data + w->head->n, *p = start + RECORD_HEAD;
    RecordHead h = {.op = (uint16_t)in->op,
                    .n_out = in->n_out,
                    .flags = flags,
                    .n_in = in->n_in,
                    .file = in->pos.file,
                    .col = in->pos.col,
                    .line = in->pos.line};
    uint64_t base = in->n_out ? in->out[0] : w->next_id;
    if (base > UINT64_MAX - MAX_OUT) base = UINT64_MAX - MAX_OUT; /* the limit of readers */
    for (int i = 0; i < in->n_in; i++) {
        const Operand *o = &in->in[i];
        uint32_t distance = o->kind == IN_TENSOR ? distance_of(w, base, o->id) : 0;
        p = put_u32(p, (uint32_t)o->kind | distance << 2);
    }
    p = put_pad(p, start);
    p = put_attrs(p, in, PART_FORM, &h.n_attr_form);
    size_t form_bytes = (size_t)(p - start);
    p = put_u64(p, base);
    for (int i = 0; i < in->n_in; i++) {
        const Operand *o = &in->in[i];
        if (o->kind == IN_TENSOR && distance_of(w, base, o->id)) continue;
        p = put_u64(p, o->kind == IN_IMM_BOOL ? o->b : o->id); /* floats and ids share their bits */
    }
    p = put_attrs(p, in, PART_ARG, &h.n_attr_arg);
    if (in->payload) p = put_payload(w, p, in, &h.flags);
    h.length = (uint32_t)(p - start);
    memcpy(start, &h, sizeof h);
    w->form_at = 0;
    if (w->body && hot_fold(w, start)) return;
    w->form_bytes = (uint32_t)form_bytes;
    add_full(w, in, start, h.length, flags);
}

const void *frame_form(FrameWriter *w, size_t *n) {
    if (!w->head || !w->form_at) return NULL;
    const uint8_t *form = w->head->data + w->form_at;
    if (!w->form_bytes) w->form_bytes = form_bytes(form);
    *n = w->form_bytes;
    return form;
}

void frame_add(FrameWriter *w, const Inst *in) { add(w, in, 0); }
void frame_insert(FrameWriter *w, const Inst *in) { add(w, in, IS_INSERTED); }

void frame_add_raw(FrameWriter *w, const Inst *in, const void *record, size_t record_bytes) {
    assert(w->head && record_bytes >= RECORD_HEAD);
    RecordHead h;
    memcpy(&h, record, sizeof h);
    if ((h.flags & HAS_PART) && w->n_parts >= MAX_MSG_PARTS - 1) {
        frame_add(w, in); /* no part is left: the payload goes into the head */
        return;
    }
    buf_reserve(w->head, record_bytes + HOT_HEAD + HOT_ADDED);
    uint8_t *start = w->head->data + w->head->n;
    w->form_at = 0;
    bool has_part = (h.flags & HAS_PART) != 0;
    if (w->body && !has_part && hot_fold(w, record)) return;
    memcpy(start, record, record_bytes);
    if (has_part) {
        assert(in->payload_buf);
        w->parts[w->n_parts++] = buf_ref(in->payload_buf);
        put_u64(start + record_bytes - 8, (uint64_t)w->n_parts);
        if (w->body && hot_fold(w, start)) return;
    }
    w->form_bytes = 0; /* computed on demand */
    add_full(w, in, start, record_bytes, h.flags);
}

/* ---- In place ---- */

void frame_set_number(Msg *m, uint64_t number) {
    Buf *b = m->part[0];
    assert(b->n >= FRAME_HEAD && atomic_load(&b->refs) == 1);
    memcpy(b->data + offsetof(FrameHead, number), &number, sizeof number);
}

/* ---- Decoding ---- */

bool frame_open(FrameReader *r, const Msg *m, Err *err) {
    *r = (FrameReader){.m = m};
    if (wire_kind(m) != MSG_FRAME) return err_set(err, ERR_PARSE, "not a frame");
    const Buf *b = m->part[0];
    if (b->n < FRAME_HEAD) return err_set(err, ERR_PARSE, "a frame of %zu bytes", b->n);
    FrameHead h;
    memcpy(&h, b->data, sizeof h);
    if (h.body_bytes != b->n - FRAME_HEAD)
        return err_set(err, ERR_PARSE, "a frame declares %u bytes, but has %zu", h.body_bytes,
                       b->n - FRAME_HEAD);
    r->at = b->data + FRAME_HEAD, r->end = b->data + b->n;
    r->client = h.client, r->count = h.count, r->seq = r->seq_next = h.seq;
    r->number = h.number;
    return true;
}

/* The rest of a record. Every read is checked; a failed one sets bad. */
typedef struct Cursor {
    const uint8_t *at, *end;
    bool bad;
} Cursor;

static inline const uint8_t *take(Cursor *c, size_t n) {
    if ((size_t)(c->end - c->at) < n) {
        c->bad = true;
        return NULL;
    }
    const uint8_t *p = c->at;
    c->at += n;
    return p;
}

static inline uint64_t take_u64(Cursor *c) {
    const uint8_t *p = take(c, 8);
    uint64_t v = 0;
    if (p) memcpy(&v, p, 8);
    return v;
}

/* Bytes to be read as int64 or double. Copied if the transport did not align them. */
static const void *aligned8(const uint8_t *p, size_t n, Arena *scratch) {
    if (!p || !((uintptr_t)p & 7)) return p;
    return memcpy(arena_alloc(scratch, n), p, n);
}

static const char *read_str(Cursor *c, Attr *a) {
    if (a->n > MAX_STR) return "a string is too long";
    a->str = (const char *)take(c, pad8((size_t)a->n + 1));
    if (!a->str) return "a string is cut off";
    return a->str[a->n] == 0 ? NULL : "a string is not terminated";
}

/* Returns NULL, or what is wrong. */
static const char *read_attr(Cursor *c, AttrPart part, Arena *scratch, Attr *a) {
    uint64_t head = take_u64(c);
    if (c->bad) return "an attribute is cut off";
    uint32_t key = (uint32_t)head;
    if (key >= ATTR_COUNT) return "unknown attribute";
    if (attr_info[key].part != part) return "an attribute in the wrong part";
    *a = (Attr){.key = (uint8_t)key, .n = (uint32_t)(head >> 32)};
    AttrType type = attr_info[key].type;
    if (type == AT_STR) return read_str(c, a);
    if (type == AT_INTS) {
        if (a->n > MAX_INTS) return "a list is too long";
        size_t n = 8 * (size_t)a->n;
        a->ints = aligned8(take(c, n), n, scratch);
        return c->bad ? "a list is cut off" : NULL;
    }
    if (a->n != 0) return "a single value with a length";
    uint64_t v = take_u64(c);
    switch (type) {
    case AT_BOOL: a->b = v == 1; return v <= 1 ? NULL : "a bool is neither 0 nor 1";
    case AT_DTYPE:
        a->dtype = v < DT_COUNT ? (DType)v : DT_NONE;
        return v < DT_COUNT ? NULL : "unknown dtype";
    case AT_FLOAT: memcpy(&a->f, &v, 8); return NULL;
    default: a->i = (int64_t)v; return NULL;
    }
}

/* n attributes of one part, each key once. */
static const char *read_attrs(Cursor *c, AttrPart part, int n, Arena *scratch, Attr *a) {
    uint64_t seen = 0;
    for (int i = 0; i < n; i++) {
        const char *bad = read_attr(c, part, scratch, &a[i]);
        if (bad) return bad;
        if (seen >> a[i].key & 1) return "an attribute twice";
        seen |= UINT64_C(1) << a[i].key;
    }
    return NULL;
}

static const char *read_operands(Cursor *c, const uint8_t *kinds, int n, uint64_t base,
                                 Operand *o) {
    for (int i = 0; i < n; i++) {
        uint32_t k;
        memcpy(&k, kinds + 4 * (size_t)i, 4);
        uint32_t distance = k >> 2;
        o[i].kind = (InKind)(k & 3);
        if (distance) {
            if (o[i].kind != IN_TENSOR || distance > base) return "a distance to no tensor";
            o[i].id = base - distance;
            continue;
        }
        uint64_t v = take_u64(c);
        o[i].id = v;
        if (o[i].kind != IN_IMM_BOOL) continue;
        if (v > 1) return "a bool is neither 0 nor 1";
        o[i].b = v == 1;
    }
    return c->bad ? "operands are cut off" : NULL;
}

static const char *read_payload(Cursor *c, const Msg *m, uint8_t flags, Arena *scratch, Inst *in) {
    uint64_t v = take_u64(c);
    if (c->bad) return "a payload is cut off";
    if (flags == HAS_PART) {
        if (v < 1 || v >= (uint64_t)m->n) return "a payload in a missing part";
        in->payload_buf = m->part[v];
        in->payload = in->payload_buf->data, in->payload_bytes = in->payload_buf->n;
        return NULL;
    }
    if (v > (uint64_t)(c->end - c->at)) return "a payload is cut off";
    in->payload_bytes = v;
    in->payload = aligned8(take(c, pad8(v)), v, scratch);
    return c->bad ? "a payload is cut off" : NULL;
}

static const char *read_record(const RecordHead *h, Cursor *c, const Msg *m, Arena *scratch,
                               Inst *in) {
    const char *bad = record_check(h);
    if (bad) return bad;
    const uint8_t *kinds = take(c, pad8(4 * (size_t)h->n_in));
    if (!kinds) return "operands are cut off";
    int n_attr = h->n_attr_form + h->n_attr_arg;
    Operand *operands =
        arena_alloc(scratch, h->n_in * sizeof *operands + (size_t)n_attr * sizeof(Attr));
    Attr *attrs = (Attr *)(operands + h->n_in);
    if ((bad = read_attrs(c, PART_FORM, h->n_attr_form, scratch, attrs))) return bad;
    uint64_t base = take_u64(c);
    if (c->bad) return "ids are cut off";
    if (base > UINT64_MAX - MAX_OUT) return "an id out of range";
    if ((bad = read_operands(c, kinds, h->n_in, base, operands))) return bad;
    bad = read_attrs(c, PART_ARG, h->n_attr_arg, scratch, attrs + h->n_attr_form);
    if (bad) return bad;
    *in = (Inst){.op = (Op)h->op,
                 .n_in = h->n_in,
                 .n_attr = (uint16_t)n_attr,
                 .n_out = h->n_out,
                 .pos = {h->file, h->col, h->line},
                 .in = operands,
                 .attr = attrs};
    for (int i = 0; i < h->n_out; i++) in->out[i] = base + (uint64_t)i;
    uint8_t payload = h->flags & HAS_PAYLOAD;
    if (payload && (bad = read_payload(c, m, payload, scratch, in))) return bad;
    return c->at == c->end ? NULL : "bytes left over";
}

/* The record at r->at, or the next instruction of the hot record there: *at and its head. */
static const char *next_record(FrameReader *r, Arena *scratch, const uint8_t **at, RecordHead *h) {
    size_t left = (size_t)(r->end - r->at);
    const char *bad = NULL;
    if (!r->hot_left) {
        if (left < RECORD_HEAD) return "cut off";
        if (r->next >= r->count) return "more bytes than instructions";
        if (++r->records > FRAME_INSTS) return "too many records";
        memcpy(h, r->at, sizeof *h);
        if (h->length < RECORD_HEAD || h->length > left || h->length % 8) return "a wrong length";
        *at = r->at;
        r->is_hot = h->op == RECORD_HOT;
        if (r->is_hot && (bad = hot_begin(r, h))) return bad;
        r->at += h->length;
        if (!r->is_hot) return NULL;
    }
    r->is_hot = true;
    if ((*at = hot_record(r, scratch, &bad))) memcpy(h, *at, sizeof *h);
    return bad;
}

/* Executes `body`: adds a body to the table, or (two numbers, no forms) renames one. */
static bool define(FrameReader *r, const Inst *in, Err *err) {
    const Operand *o = in->in;
    bool renames = in->n_in == 2 && o[0].kind == IN_IMM_INT && o[1].kind == IN_IMM_INT;
    if (!(renames && !in->payload) && (in->n_in != 1 || o[0].kind != IN_IMM_INT || !in->payload))
        return err_set(err, ERR_PARSE, "a body without forms");
    uint64_t number = (uint64_t)o[0].i;
    bool is_placed = number >= BODY_PLACED && number <= UINT32_MAX;
    Bodies *t = is_placed ? r->placed : r->bodies;
    if (!t) return !is_placed || err_set(err, ERR_PARSE, "a body that only a dispatcher has");
    if (is_placed) number -= BODY_PLACED;
    if (!renames) return bodies_define(t, number, in->payload, in->payload_bytes, err);
    bodies_rename(t, number, (uint64_t)o[1].i - (is_placed ? BODY_PLACED : 0));
    return true;
}

int frame_next(FrameReader *r, Arena *scratch, Inst *in, const void **record, size_t *record_bytes,
               Err *err) {
    if (r->at == r->end && r->next == r->count) return 0;
    RecordHead h;
    const uint8_t *at;
    const char *bad = next_record(r, scratch, &at, &h);
    if (!bad) {
        Cursor c = {at + RECORD_HEAD, at + h.length, false};
        bad = read_record(&h, &c, r->m, scratch, in);
    }
    Err inner; /* set only by a failing call */
    bool defines = !bad && h.op == OP_BODY && (r->bodies || r->placed);
    if (defines && !define(r, in, &inner)) bad = inner.text;
    if (bad) {
        err_set(err, r->records > FRAME_INSTS ? ERR_LIMIT : ERR_PARSE,
                "malformed frame: instruction %u of %u: %s", r->next, r->count, bad);
        return -1;
    }
    if (record) *record = at;
    if (record_bytes) *record_bytes = h.length;
    r->next++;
    r->inst_seq = r->seq_next;
    r->is_inserted = (h.flags & IS_INSERTED) != 0;
    r->seq_next += !r->is_inserted;
    return 1;
}
