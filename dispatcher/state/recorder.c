/* recorder.c: see recorder.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/recorder.h"
#include "dispatcher/state/tape.h"
#include "runtime/base/clock.h"
#include "runtime/inst/inst_print.h"
#include "runtime/inst/tape.h"
#include <string.h>

/* ---- Chunks ---- */

static Buf **chunk_at(const Dispatcher *d, size_t i) { return fifo_at(&d->recorded, i); }

static void drop_oldest(Dispatcher *d) {
    Buf **oldest = chunk_at(d, 0);
    d->recorded_bytes -= (*oldest)->cap;
    buf_unref(oldest);
    fifo_pop(&d->recorded);
}

void recorder_fini(Dispatcher *d) {
    while (d->recorded.n > 0) drop_oldest(d);
    fifo_fini(&d->recorded);
}

/* The chunk to write to, with room for an entry of n bytes; NULL: the entry is too large. */
static Buf *chunk_for(Dispatcher *d, size_t n) {
    Buf *b = d->recorded.n ? *chunk_at(d, d->recorded.n - 1) : NULL;
    size_t bytes = past_bytes(n);
    if (n > d->config.record_bytes / 8) return NULL;
    if (b && b->cap - b->n >= bytes) return b;
    b = past_new(bytes > RECORD_CHUNK ? bytes : RECORD_CHUNK);
    d->recorded_bytes += b->cap;
    *(Buf **)fifo_push(&d->recorded, sizeof b) = b;
    while (d->recorded_bytes > d->config.record_bytes && d->recorded.n > 1) drop_oldest(d);
    return b;
}

static void add(Dispatcher *d, PastEntry *e) {
    Buf *b = chunk_for(d, e->n);
    if (!e->at_ns) e->at_ns = now_ns();
    if (b) past_add(b, e);
}

size_t recorder_chunks(const Dispatcher *d) { return d->recorded.n; }

Buf *recorder_chunk(const Dispatcher *d, size_t i) {
    Buf *b = *chunk_at(d, i);
    return i + 1 < d->recorded.n ? buf_ref(b) : buf_copy(b->data, b->n);
}

/* ---- Entries ---- */

void recorder_frame(Dispatcher *d, const Client *c, const Msg *m) {
    const Buf *head = m->part[0];
    size_t sizes = 8 * (size_t)(m->n - 1);
    if (!d->config.record_bytes) return;
    PastEntry e = {.kind = PAST_FRAME, .client = c->id, .n_parts = (uint8_t)(m->n - 1)};
    e.n = sizes + head->n;
    Buf *b = chunk_for(d, e.n);
    if (!b) return;
    e.at_ns = now_ns();
    /* The parts of the entry are put together in place. */
    size_t at = b->n;
    PastEntry empty = e;
    empty.n = 0;
    past_add(b, &empty);
    memcpy(b->data + at, &(uint32_t){(uint32_t)e.n}, 4);
    for (int i = 1; i < m->n; i++) {
        uint64_t n = m->part[i]->n;
        memcpy(b->data + b->n, &n, 8);
        b->n += 8;
    }
    memcpy(b->data + b->n, head->data, head->n);
    b->n += head->n;
    while (b->n & 7) b->data[b->n++] = 0;
}

void recorder_note(Dispatcher *d, Note n) {
    n.line.kind = PAST_LINE;
    n.line.data = n.text.data;
    n.line.n = n.text.n;
    if (d->tape) tape_note(d, &n);
    if (d->config.record_bytes) add(d, &n.line);
    bytes_fini(&n.text);
}

/* Adds e to b, up to PREFACE_BYTES; NULL: to the recorder. */
static void put(Dispatcher *d, Buf *b, PastEntry *e) {
    if (!b)
        add(d, e);
    else if (b->n < PREFACE_BYTES)
        past_add(b, e);
}

/* Puts what is needed to read a client's frames: the names of its files, its bodies. */
static void put_needs(Dispatcher *d, Buf *b, const Client *c) {
    PastEntry e = {.client = c->id, .at_ns = now_ns()};
    for (int k = 0; k < c->n_files; k++) {
        if (!c->file[k]) continue;
        e.kind = PAST_FILE, e.number = (uint32_t)k;
        e.data = c->file[k], e.n = strlen(c->file[k]);
        put(d, b, &e);
    }
    for (uint64_t i = c->bodies.oldest; i < c->bodies.next && i < UINT32_MAX; i++) {
        const Body *body = bodies_get(&c->bodies, i);
        if (!body) continue;
        e.kind = PAST_BODY, e.number = (uint32_t)i;
        e.data = body->bytes, e.n = body->n_bytes;
        put(d, b, &e);
    }
}

void recorder_needs(Dispatcher *d, const Client *c) {
    if (d->config.record_bytes) put_needs(d, NULL, c);
}

/* ---- For a reader ---- */

static void put_line(Buf *b, int64_t at_ns, Note n) {
    n.line.kind = PAST_LINE;
    n.line.at_ns = at_ns;
    n.line.data = n.text.data, n.line.n = n.text.n;
    past_add(b, &n.line);
    bytes_fini(&n.text);
}

Buf *recorder_preface(Dispatcher *d, uint32_t past_ms) {
    Buf *b = past_new(4096);
    int64_t start = d->born_us * 1000, since = now_ns() - (int64_t)past_ms * 1000000;
    PastEntry e = {.kind = PAST_SINCE, .at_ns = since, .data = &start, .n = sizeof start};
    past_add(b, &e);
    for (int i = 0; i < d->n_ranks; i++)
        if (d->worker[i]) put_line(b, since, note_worker(d->worker[i], true));
    for (const Members *g = d->groups.first; g; g = g->younger)
        if (g->n > 1) put_line(b, since, note_group(g));
    for (MapItem it = {0}; map_next(&d->client_by_id, &it);) {
        put_line(b, since, note_client(it.value, true));
        put_needs(d, b, it.value);
    }
    return b;
}

/* Returns the bytes of the client's entries. If b is not NULL, copies those after the first `skip`
 * bytes to it. */
static size_t copy_entries(const Dispatcher *d, const Client *c, size_t skip, Buf *b) {
    size_t bytes = 0;
    for (size_t i = 0; i < d->recorded.n; i++) {
        PastEntry e;
        Msg m = {0};
        msg_push(&m, buf_ref(*chunk_at(d, i)));
        for (size_t at = 0; past_read(&m, &at, &e) > 0;) {
            bool is_event = e.kind == PAST_FRAME || (e.kind == PAST_LINE && e.event == TAPE_FAILED);
            if (e.client != c->id || !is_event) continue;
            bytes += past_bytes(e.n);
            if (b && bytes > skip) past_add(b, &e);
        }
        msg_fini(&m);
    }
    return bytes;
}

Buf *recorder_of_client(Dispatcher *d, const Client *c, size_t limit) {
    Buf *b = past_new(4096);
    put_needs(d, b, c);
    size_t bytes = copy_entries(d, c, 0, NULL);
    copy_entries(d, c, bytes > limit ? bytes - limit : 0, b);
    return b;
}

Buf *recorder_rows(const Msg *times, int rank, int64_t ahead_ns) {
    const Buf *head = times->part[0];
    Buf *b = past_new(past_bytes(head->n));
    past_add(b, &(PastEntry){.kind = PAST_ROWS,
                             .number = (uint32_t)rank,
                             .at_ns = ahead_ns,
                             .data = head->data,
                             .n = head->n});
    return b;
}
