/* wire_watch.c: see wire_watch.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/wire/wire_watch.h"
#include "runtime/wire/wire_io.h"

const char *const idle_why_name[IDLE_WHYS] = {"starved", "blocked", "comm", "compile", "device"};

static void listen_fields(Fields *f, Listen *l) {
    field_client(f, &l->client);
    FIELD(f, l->past_ms);
    FIELD(f, l->verb);
    field_pad(f);
    field_check(f, l->verb < LISTEN_VERBS && l->past_ms <= PAST_MS_MAX);
}
MESSAGE(listen, Listen, MSG_LISTEN)

enum { EVENTS_PAST = 1, EVENTS_END = 2 };

void wire_events(const Events *e, Msg *out) {
    Buf *b = head_new(MSG_EVENTS, 0, 16 + e->n);
    put_u64(b, (e->is_past ? EVENTS_PAST : 0) | (e->is_end ? EVENTS_END : 0));
    put_u64(b, e->dropped);
    put(b, e->text, e->n);
    finish(b, out);
}

bool wire_read_events(const Msg *m, Events *e, Err *err) {
    Reader r;
    *e = (Events){0};
    TRY(reader_open(&r, m, MSG_EVENTS, err));
    uint64_t flags = take_u64(&r);
    e->is_past = flags & EVENTS_PAST, e->is_end = flags & EVENTS_END;
    e->dropped = take_u64(&r);
    if (flags > (EVENTS_PAST | EVENTS_END)) r.bad = true;
    if (r.bad) return done(&r, err);
    e->text = (const char *)r.at, e->n = (size_t)(r.end - r.at);
    return true;
}

enum { OP_USAGE_BYTES = 32 };

static void op_usage_fields(Fields *f, OpUsage *u) {
    FIELD(f, u->op);
    field_pad(f);
    FIELD(f, u->count);
    FIELD(f, u->ns);
    FIELD(f, u->bytes);
    field_check(f, u->op < OP_COUNT);
}

/* The fields before the operations. */
static void usage_fields(Fields *f, Usage *u) {
    FIELD(f, u->now_ns);
    FIELD(f, u->insts);
    FIELD(f, u->kernels);
    FIELD(f, u->memory_bytes);
    FIELD(f, u->limit_bytes);
    FIELD(f, u->moved_bytes);
    for (int i = 0; i < IDLE_WHYS; i++) FIELD(f, u->idle_ns[i]);
    FIELD(f, u->queue);
    FIELD(f, u->blocked_on);
    FIELD(f, u->pid);
    FIELD(f, u->n);
    FIELD(f, u->device.used);
    FIELD(f, u->device.total);
    FIELD(f, u->device.number);
    FIELD(f, u->device.celsius);
    FIELD(f, u->device.busy);
    field_pad(f);
    FIELD_STR(f, u->device.name);
    field_pad(f);
}

void wire_usage(const Usage *u, Msg *out) {
    Fields f = {.out = head_new(MSG_USAGE, 0, 128 + OP_USAGE_BYTES * (size_t)u->n)};
    usage_fields(&f, (Usage *)u);
    for (uint32_t i = 0; i < u->n; i++) op_usage_fields(&f, &u->op[i]);
    finish(f.out, out);
}

bool wire_read_usage(const Msg *m, Arena *arena, Usage *u, Err *err) {
    Fields f = {0};
    Reader *r = &f.in;
    *u = (Usage){0};
    TRY(reader_open(r, m, MSG_USAGE, err));
    usage_fields(&f, u);
    if (u->n > OP_COUNT || (size_t)(r->end - r->at) != OP_USAGE_BYTES * (size_t)u->n) r->bad = true;
    if (!r->bad) u->op = arena_zalloc(arena, u->n * sizeof *u->op);
    for (uint32_t i = 0; i < u->n && !r->bad; i++) {
        op_usage_fields(&f, &u->op[i]);
        for (uint32_t k = 0; k < i; k++)
            if (u->op[k].op == u->op[i].op) r->bad = true;
    }
    return done(r, err);
}

/* ---- The flight recorder ---- */

Buf *past_new(size_t room) { return head_new(MSG_PAST, 0, room); }

/* u32 bytes of data, kind, event, place, n_parts, u32 client, u32 number, i64 time, u64 0, data. */
void past_add(Buf *b, const PastEntry *e) {
    put_u32(b, (uint32_t)e->n);
    put_u8(b, e->kind);
    put_u8(b, e->event);
    put_u8(b, e->place);
    put_u8(b, e->n_parts);
    put_u32(b, e->client);
    put_u32(b, e->number);
    put_u64(b, (uint64_t)e->at_ns);
    put_u64(b, 0);
    put(b, e->data, e->n);
    put_pad(b);
}

int past_read(const Msg *m, size_t *at, PastEntry *e) {
    Reader r;
    *e = (PastEntry){0};
    if (!reader_open(&r, m, MSG_PAST, NULL)) return -1;
    if (*at == 0) *at = PAST_HEAD;
    if (*at >= (size_t)(r.end - r.start)) return 0;
    r.at = r.start + *at;
    e->n = take_u32(&r);
    e->kind = take_u8(&r), e->event = take_u8(&r), e->place = take_u8(&r), e->n_parts = take_u8(&r);
    e->client = take_u32(&r);
    e->number = take_u32(&r);
    e->at_ns = (int64_t)take_u64(&r);
    take_u64(&r);
    e->data = take(&r, e->n);
    take_pad(&r);
    bool is_sound = !r.bad && e->kind < PAST_KINDS && e->n_parts < MAX_MSG_PARTS &&
                    e->n >= 8 * (size_t)e->n_parts;
    if (!is_sound) return -1;
    *at = (size_t)(r.at - r.start);
    return 1;
}
