/* frame_hot.c: writes and reads hot records (body.h). hot_fold shortens the record that was just
 * encoded to its arguments; hot_record expands them to the full record again.
 * SPDX-License-Identifier: MIT */
#include "runtime/wire/frame_hot.h"
#include "runtime/wire/body.h"
#include <assert.h>
#include <stddef.h>

/* ---- Writing ---- */

/* True if ids are counted from the record's base: results, or operands known by distance. If
 * neither is, the base is not read. */
static bool has_base(const FrameWriter *w, const BodyForm *f) {
    return !w->is_placed || f->n_out || f->n_external < f->n_in;
}

static uint64_t *next_id_of(FrameWriter *w, const BodyForm *f) {
    return f->is_inserted && f->n_out ? &w->next_added : &w->next_id;
}

/* Begins a hot record after the last record, with no instructions yet, before n bytes of
 * arguments. */
static void begin_hot(FrameWriter *w, const uint8_t *args, size_t n, uint64_t base) {
    const Body *b = w->body;
    const BodyForm *f = &b->form[w->body_at];
    uint8_t *start = w->head->data + w->head->n;
    size_t head = HOT_HEAD + (w->is_placed ? HOT_ADDED : 0);
    memmove(start + head, args, n);
    w->hot_at = w->head->n;
    HotHead *h = (HotHead *)(void *)start; /* frames are aligned to 8 bytes */
    *h = (HotHead){.head = {.length = (uint32_t)head, .op = RECORD_HOT},
                   .number = (uint32_t)b->number,
                   .from = w->body_at};
    if (has_base(w, f)) *next_id_of(w, f) = base;
    h->base = w->next_id;
    if (w->is_placed) {
        h->head.flags = IS_INSERTED;
        memcpy(start + HOT_HEAD, &w->next_added, HOT_ADDED);
    }
    w->head->n += head;
    w->records++;
}

bool hot_fold(FrameWriter *w, const uint8_t *record) {
    const Body *b = w->body;
    const BodyForm *f = &b->form[w->body_at];
    uint32_t length;
    uint64_t base;
    memcpy(&length, record, sizeof length);
    if (length < f->bytes + 8 || memcmp(record + 4, b->bytes + f->at + 4, f->bytes - 4))
        return false;
    memcpy(&base, record + f->bytes, sizeof base);
    bool begins_anywhere = w->is_placed && !w->hot_at;
    if (has_base(w, f) && !begins_anywhere && base != *next_id_of(w, f)) return false;
    size_t n_args = length - f->bytes - 8;
    const uint8_t *args = record + f->bytes + 8;
    if (!w->hot_at)
        begin_hot(w, args, n_args, base);
    else
        memmove(w->head->data + w->head->n, args, n_args);
    HotHead *h = (HotHead *)(void *)(w->head->data + w->hot_at);
    h->head.length += (uint32_t)n_args;
    h->count++;
    w->head->n += n_args;
    w->count++;
    *next_id_of(w, f) += f->n_out;
    if (++w->body_at == b->n) w->body_at = 0;
    return true;
}

void frame_edge(FrameWriter *w, uint64_t next_id) {
    if (w->next_id != next_id) w->hot_at = 0; /* in a record results are numbered without gaps */
    w->edge_id = w->next_id = next_id;
}

void frame_expect(FrameWriter *w, const struct Body *body, uint32_t at) {
    assert(!body || at < body->n);
    if (w->body != body || w->body_at != at) w->hot_at = 0;
    w->body = body;
    w->body_at = at;
}

bool frame_refold(FrameWriter *w, const struct Body *body, uint32_t at) {
    size_t form_bytes;
    if (!frame_form(w, &form_bytes)) return false;
    buf_reserve(w->head, HOT_HEAD + HOT_ADDED);
    uint8_t *start = w->head->data + w->form_at;
    const RecordHead *h = (const RecordHead *)(const void *)start;
    uint64_t base;
    memcpy(&base, start + form_bytes, 8);
    FrameWriter before = *w;
    size_t n = w->head->n;
    w->head->n = w->form_at;
    w->count--, w->records--;
    if (h->n_out) *(h->flags & IS_INSERTED ? &w->next_added : &w->next_id) = base;
    w->body = body, w->body_at = at, w->hot_at = 0;
    bool ok = hot_fold(w, start);
    if (ok) {
        w->form_at = 0;
    } else {
        *w = before;
        w->head->n = n;
    }
    return ok;
}

/* ---- In place ---- */

/* Returns the record at *at and moves *at after it; NULL: the frame ends, or the rest is
 * malformed. */
static uint8_t *next_of(const Msg *m, size_t *at, RecordHead *h) {
    Buf *b = m->part[0];
    if (b->n < *at + RECORD_HEAD) return NULL;
    uint8_t *p = b->data + *at;
    memcpy(h, p, sizeof *h);
    if (h->length < RECORD_HEAD || h->length > b->n - *at || h->length % 8) return NULL;
    *at += h->length;
    return p;
}

bool frame_has_bodies(const Msg *m) {
    RecordHead h;
    for (size_t at = FRAME_HEAD; next_of(m, &at, &h);)
        if (h.op == RECORD_HOT || h.op == OP_BODY) return true;
    return false;
}

/* The operands of a `body`: after the head, their kinds and the next id. */
static void number_body(uint8_t *record, const RecordHead *h, uint64_t by) {
    const size_t from = RECORD_HEAD + pad8(4 * (size_t)h->n_in) + 8;
    if (h->n_in > 2 || h->n_attr_form || h->length < from + 8 * (size_t)h->n_in) return;
    for (int i = 0; i < h->n_in; i++) {
        uint64_t number;
        memcpy(&number, record + from + 8 * i, 8);
        number = number < UINT64_MAX - by ? number + by : UINT64_MAX;
        memcpy(record + from + 8 * i, &number, 8);
    }
}

void frame_number_bodies(Msg *m, uint64_t by) {
    RecordHead h;
    uint8_t *p;
    for (size_t at = FRAME_HEAD; (p = next_of(m, &at, &h));) {
        if (h.op == OP_BODY) number_body(p, &h, by);
        if (h.op != RECORD_HOT || h.length < HOT_HEAD) continue;
        uint32_t number;
        memcpy(&number, p + offsetof(HotHead, number), 4);
        number = number < UINT32_MAX - by ? number + (uint32_t)by
                                          : UINT32_MAX; /* no body has that number */
        memcpy(p + offsetof(HotHead, number), &number, 4);
    }
}

/* ---- Reading ---- */

const char *hot_begin(FrameReader *r, const RecordHead *record) {
    HotHead h;
    bool is_placed = record->flags == IS_INSERTED;
    size_t head = HOT_HEAD + (is_placed ? HOT_ADDED : 0);
    const Bodies *t = is_placed ? r->placed : r->bodies;
    if (!t || record->length < head) return "a hot record where none is expected";
    memcpy(&h, r->at, sizeof h);
    Body *b = r->reads_again ? bodies_get_dead(t, h.number) : bodies_get(t, h.number);
    if (!b) return "a body that is not known";
    if (h.head.n_in || h.head.n_out || (h.head.flags && !is_placed) || h.head.n_attr_form ||
        h.head.n_attr_arg)
        return "a hot record with more than arguments";
    if (h.from >= b->n || h.count == 0 || h.count > r->count - r->next)
        return "a hot record of a wrong length";
    r->hot_body = b;
    r->hot_at = h.from, r->hot_left = h.count;
    r->hot_base = h.base, r->hot_added = 0;
    if (is_placed) memcpy(&r->hot_added, r->at + HOT_HEAD, HOT_ADDED);
    r->hot_args = r->at + head, r->hot_end = r->at + record->length;
    return NULL;
}

const uint8_t *hot_record(FrameReader *r, Arena *scratch, const char **bad) {
    const Body *b = r->hot_body;
    const BodyForm *f = &b->form[r->hot_at];
    const uint8_t *end = body_args_end(f, r->hot_args, r->hot_end);
    *bad = end ? NULL : "arguments are cut off";
    if (!end) return NULL;
    if (r->hot_left == 1 && end != r->hot_end) {
        *bad = "arguments left over";
        return NULL;
    }
    size_t n, n_args = (size_t)(end - r->hot_args);
    uint64_t *base = f->is_inserted && f->n_out ? &r->hot_added : &r->hot_base;
    uint8_t *p = body_record(b, f, *base, r->hot_args, n_args, scratch, &n);
    r->hot_args = end;
    *base += f->n_out;
    r->hot_left--;
    if (++r->hot_at == b->n) r->hot_at = 0;
    return p;
}

FrameNext frame_look(FrameReader *r) {
    RecordHead h;
    size_t left = (size_t)(r->end - r->at);
    if (left == 0 && r->next == r->count) return FRAME_END;
    if (left < RECORD_HEAD || r->next >= r->count || r->records >= FRAME_INSTS) return FRAME_INST;
    memcpy(&h, r->at, sizeof h);
    if (h.op != RECORD_HOT || h.length < HOT_HEAD || h.length > left || h.length % 8 ||
        hot_begin(r, &h))
        return FRAME_INST;
    r->at += h.length;
    r->records++;
    return FRAME_HOT;
}

void frame_pass_hot(FrameReader *r, uint32_t n, const uint8_t *args) {
    const Body *b = r->hot_body;
    uint32_t rounds = (r->hot_at + n) / b->n, to = (r->hot_at + n) % b->n;
    assert(n > 0 && n <= r->hot_left && args <= r->hot_end);
    const BodyForm *from = &b->form[r->hot_at], *next = &b->form[to];
    r->is_inserted = b->form[(to ? to : b->n) - 1].is_inserted;
    r->is_hot = true;
    r->hot_base += (uint64_t)rounds * b->n_made + next->n_made - from->n_made;
    r->hot_added += (uint64_t)rounds * b->n_added + next->n_added - from->n_added;
    r->hot_args = args;
    r->hot_left -= n;
    r->hot_at = to;
    r->next += n;
    r->seq_next += n - (rounds * b->n_inserted + next->n_inserted - from->n_inserted);
    r->inst_seq = r->seq_next - !r->is_inserted;
}
