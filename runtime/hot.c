/* hot.c: writing and reading hot records (body.h): the writer folds what it has just encoded, the
 * reader unfolds it to the record that it was. SPDX-License-Identifier: MIT */
#include "runtime/body.h"
#include "runtime/record.h"
#include <assert.h>
#include <stddef.h>

/* ---- Writing ---- */

bool hot_fold(FrameWriter *w, uint8_t *start, size_t form_bytes, uint64_t base) {
    const Body *b = w->body;
    const BodyForm *f = &b->form[w->body_at];
    if (f->bytes != form_bytes || base != w->next_id ||
        memcmp(start + 4, b->bytes + f->at + 4, form_bytes - 4))
        return false;
    uint32_t length;
    memcpy(&length, start, 4); /* of the whole record */
    size_t n_args = length - form_bytes - 8;
    HotHead *h;
    if (!w->hot_at) {
        w->hot_at = (size_t)(start - w->head->data);
        memmove(start + HOT_HEAD, start + form_bytes + 8, n_args);
        h = (HotHead *)(void *)start; /* frames are aligned to 8 bytes */
        *h = (HotHead){.head = {.length = HOT_HEAD, .op = RECORD_HOT},
                       .number = (uint32_t)b->number,
                       .from = w->body_at,
                       .base = base};
        w->head->n += HOT_HEAD;
        w->records++;
    } else {
        memmove(start, start + form_bytes + 8, n_args);
        h = (HotHead *)(void *)(w->head->data + w->hot_at);
    }
    h->head.length += (uint32_t)n_args;
    h->count++;
    w->head->n += n_args;
    w->count++;
    w->next_id += f->n_out;
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
    if (!w->head || !w->form_at) return false;
    uint8_t *start = w->head->data + w->form_at;
    uint64_t base;
    memcpy(&base, start + w->form_bytes, 8);
    FrameWriter before = *w;
    size_t n = w->head->n;
    w->head->n = w->form_at;
    w->count--, w->records--;
    if (((const RecordHead *)(const void *)start)->n_out) w->next_id = base;
    w->body = body, w->body_at = at, w->hot_at = 0;
    bool ok = hot_fold(w, start, w->form_bytes, base);
    if (ok) {
        w->form_at = 0;
    } else {
        *w = before;
        w->head->n = n;
    }
    return ok;
}

void hot_set_compiles(void *hot, const struct Body *body, uint32_t at, bool on) {
    uint8_t *to = (uint8_t *)hot + offsetof(HotHead, compiles);
    uint32_t compiles, bit = UINT32_C(1) << body->form[at].n_signals;
    memcpy(&compiles, to, sizeof compiles);
    compiles = on ? compiles | bit : compiles & ~bit;
    memcpy(to, &compiles, sizeof compiles);
}

/* ---- In place ---- */

/* The record at *at, behind which *at is then; NULL: the frame ends, or goes on malformed. */
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

/* The operands of a `body`: behind the head, their kinds and the next id. */
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
        number = number < UINT32_MAX - by ? number + (uint32_t)by : UINT32_MAX; /* is of none */
        memcpy(p + offsetof(HotHead, number), &number, 4);
    }
}

/* ---- Reading ---- */

bool hot_next_compiles(const FrameReader *r) {
    const BodyForm *f = &r->hot_body->form[r->hot_at];
    return record_is_signal(f->op) ? r->hot_compiles >> f->n_signals & 1 : r->compiles;
}

/* Length, then what the head says. */
static const char *read_head(const FrameReader *r, const RecordHead *record, HotRun *run) {
    HotHead h;
    if (!r->bodies || record->length < HOT_HEAD) return "a hot record where none is expected";
    memcpy(&h, r->at, sizeof h);
    Body *b = r->reads_again ? bodies_get_dead(r->bodies, h.number)
                             : bodies_get(r->bodies, h.number);
    if (!b) return "a body that is not known";
    if (h.head.n_in || h.head.n_out || h.head.flags || h.head.n_attr_form ||
        h.head.n_attr_arg)
        return "a hot record with more than arguments";
    if (h.from >= b->n || h.count == 0 || h.count > r->count - r->next)
        return "a hot record of a wrong length";
    *run = (HotRun){.body = b,
                    .from = h.from,
                    .count = h.count,
                    .base = h.base,
                    .compiles = h.compiles,
                    .args = r->at + HOT_HEAD,
                    .n_args = record->length - HOT_HEAD};
    return NULL;
}

const char *hot_begin(FrameReader *r, const RecordHead *h) {
    HotRun run;
    const char *bad = read_head(r, h, &run);
    if (bad) return bad;
    r->hot_body = run.body;
    r->hot_at = run.from, r->hot_left = run.count;
    r->hot_base = run.base;
    r->hot_head = r->at;
    r->hot_compiles = run.compiles;
    r->hot_args = run.args, r->hot_end = run.args + run.n_args;
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
    size_t n;
    uint8_t *p =
        body_record(b, f, r->hot_base, r->hot_args, (size_t)(end - r->hot_args), scratch, &n);
    r->hot_signal = f->n_signals;
    r->hot_args = end;
    r->hot_base += f->n_out;
    r->hot_left--;
    if (++r->hot_at == b->n) r->hot_at = 0;
    return p;
}

bool frame_hot(const FrameReader *r, struct HotRun *run) {
    RecordHead h;
    size_t left = (size_t)(r->end - r->at);
    if (r->hot_left || left < RECORD_HEAD || r->next >= r->count) return false;
    memcpy(&h, r->at, sizeof h);
    if (h.op != RECORD_HOT || h.length < HOT_HEAD || h.length > left || h.length % 8) return false;
    return read_head(r, &h, run) == NULL;
}

bool frame_enter_hot(FrameReader *r) {
    HotRun run;
    RecordHead h;
    if (r->hot_left) return true;
    if (r->records >= FRAME_INSTS || !frame_hot(r, &run)) return false;
    memcpy(&h, r->at, sizeof h);
    hot_begin(r, &h); /* frame_hot has looked */
    r->at += h.length;
    r->records++;
    return true;
}

void frame_pass_hot(FrameReader *r, uint32_t n, const uint8_t *args) {
    const Body *b = r->hot_body;
    uint32_t rounds = (r->hot_at + n) / b->n, to = (r->hot_at + n) % b->n;
    assert(n > 0 && n <= r->hot_left && args <= r->hot_end);
    uint32_t from_signal = b->form[r->hot_at].n_signals, to_signal = b->form[to].n_signals;
    if (rounds * b->n_signals + to_signal > from_signal) /* the last one that is passed */
        r->compiles = r->hot_compiles >> ((to_signal ? to_signal : b->n_signals) - 1) & 1;
    r->is_hot = true;
    r->is_inserted = false;
    r->hot_base += (uint64_t)rounds * b->n_made + b->form[to].n_made - b->form[r->hot_at].n_made;
    r->hot_args = args;
    r->hot_left -= n;
    r->hot_at = to;
    r->next += n;
    r->seq_next += n;
    r->inst_seq = r->seq_next - 1;
}
