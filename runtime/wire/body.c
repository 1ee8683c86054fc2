/* body.c: see body.h. SPDX-License-Identifier: MIT */
#include "runtime/wire/body.h"
#include "runtime/base/map.h"
#include "runtime/wire/record.h"
#include <stdlib.h>

_Static_assert((int)BODY_INLINE == HAS_INLINE && (int)BODY_PART == HAS_PART, "flags of records");

static void body_free(Body *b) {
    if (b->plan_free) b->plan_free(b->plan);
    free(b->bytes);
    free(b->form);
    free(b);
}

Body *bodies_get(const Bodies *t, uint64_t number) {
    Body *b = t->slot[number % BODIES_MAX];
    return b && b->number == number ? b : NULL;
}

Body *bodies_get_dead(const Bodies *t, uint64_t number) {
    Body *b = bodies_get(t, number);
    for (Body *dead = t->dead; dead && !b; dead = dead->dead)
        if (dead->number == number) b = dead->now ? dead->now : dead;
    return b;
}

static void bury(Bodies *t, Body **at) {
    Body *b = *at;
    *at = NULL;
    if (!b) return;
    t->n_bytes -= b->n_bytes;
    b->dead = t->dead;
    t->dead = b;
}

void bodies_sweep(Bodies *t) {
    while (t->dead) {
        Body *b = t->dead;
        t->dead = b->dead;
        body_free(b);
    }
}

void bodies_fini(Bodies *t) {
    for (int i = 0; i < BODIES_MAX; i++) bury(t, &t->slot[i]);
    bodies_sweep(t);
    *t = (Bodies){.may_insert = t->may_insert};
}

/* Reads a record's head and its operands' kinds at p, of n bytes. The attributes after them are
 * read with each record. Returns NULL, or what is wrong. */
static const char *read_form(const Bodies *t, const uint8_t *p, size_t n, BodyForm *f) {
    RecordHead h;
    if (n < RECORD_HEAD) return "a form is cut off";
    memcpy(&h, p, sizeof h);
    if (h.length < RECORD_HEAD || h.length > n || h.length % 8) return "a form of a wrong length";
    if (h.length > BODY_FORM_BYTES) return "a form that is too long";
    const char *bad = record_check(&h);
    if (bad) return bad;
    f->is_inserted = (h.flags & IS_INSERTED) != 0;
    if (h.op == OP_BODY || (f->is_inserted && !t->may_insert)) return "no part of a body";
    if (h.length < RECORD_HEAD + pad8(4 * (size_t)h.n_in)) return "operands are cut off";
    f->bytes = h.length;
    f->op = h.op, f->n_in = h.n_in, f->n_out = h.n_out;
    f->n_attr_form = h.n_attr_form, f->n_attr_arg = h.n_attr_arg;
    f->pos = (SrcPos){.file = h.file, .col = h.col, .line = h.line};
    f->payload = h.flags & HAS_PAYLOAD;
    f->n_external = 0;
    for (int i = 0; i < h.n_in; i++) {
        uint32_t word;
        memcpy(&word, p + RECORD_HEAD + 4 * i, 4);
        f->n_external += word >> 2 == 0;
    }
    return NULL;
}

static const char *read_forms(const Bodies *t, Body *b) {
    size_t cap = 0;
    for (size_t at = 0; at < b->n_bytes;) {
        if (b->n == BODY_INSTS) return "too many instructions";
        ARRAY_ROOM(b->form, b->n, cap, 16);
        BodyForm *f = &b->form[b->n++];
        const char *bad = read_form(t, b->bytes + at, b->n_bytes - at, f);
        if (bad) return bad;
        f->at = (uint32_t)at;
        f->n_made = b->n_made, f->n_added = b->n_added, f->n_inserted = b->n_inserted;
        *(f->is_inserted ? &b->n_added : &b->n_made) += f->n_out;
        b->n_inserted += f->is_inserted;
        at += f->bytes;
    }
    return b->n ? NULL : "no instructions";
}

static size_t bytes_max(const Bodies *t) { return t->bytes_max ? t->bytes_max : BODIES_BYTES; }

/* Evicts what is too old, then as many as needed to make room. */
static void put(Bodies *t, Body *b, uint64_t number) {
    bool is_late = number < t->next;
    if (!is_late && number - t->oldest >= BODIES_MAX) {
        for (; t->oldest < t->next && number - t->oldest >= BODIES_MAX; t->oldest++)
            bury(t, &t->slot[t->oldest % BODIES_MAX]);
        if (t->oldest == t->next) t->oldest = number;
    }
    for (; t->n_bytes + b->n_bytes > bytes_max(t); t->oldest++)
        bury(t, &t->slot[t->oldest % BODIES_MAX]);
    b->number = number;
    t->slot[number % BODIES_MAX] = b;
    t->n_bytes += b->n_bytes;
    if (!is_late) t->next = number + 1;
    if (number < t->oldest) t->oldest = number;
}

/* True if it is there already, or too old to be kept. */
static bool is_past(const Bodies *t, uint64_t number) {
    if (number >= t->next) return false;
    return !t->may_insert || bodies_get(t, number) || t->next - number > BODIES_MAX;
}

bool bodies_define(Bodies *t, uint64_t number, const void *forms, size_t n, Err *err) {
    if (is_past(t, number)) return true;
    if (number >= UINT32_MAX || n > BODY_BYTES)
        return err_set(err, ERR_LIMIT, "a body of %zu bytes, number %llu", n,
                       (unsigned long long)number);
    Body *b = xcalloc(1, sizeof *b);
    b->bytes = xmalloc(n + 1);
    memcpy(b->bytes, forms, n);
    b->n_bytes = n;
    const char *bad = read_forms(t, b);
    if (bad) {
        body_free(b);
        return err_set(err, ERR_PARSE, "malformed body: %s", bad);
    }
    b->hash = hash_bytes(forms, n, 0);
    put(t, b, number);
    return true;
}

void bodies_rename(Bodies *t, uint64_t number, uint64_t old) {
    Body *b = bodies_get(t, old);
    if (number < t->next || number >= UINT32_MAX || !b) return;
    Body *was = xcalloc(1, sizeof *was);
    was->number = old;
    was->now = b;
    t->slot[old % BODIES_MAX] = NULL;
    t->n_bytes -= b->n_bytes;
    was->dead = t->dead;
    t->dead = was;
    put(t, b, number);
}

Body *bodies_first_to_go(Bodies *t, size_t n) {
    while (t->oldest < t->next && !bodies_get(t, t->oldest)) t->oldest++;
    bool has_room = t->next - t->oldest < BODIES_MAX && t->n_bytes + n <= bytes_max(t);
    return has_room ? NULL : bodies_get(t, t->oldest);
}

uint32_t body_operand(const Body *b, const BodyForm *f, int k) {
    uint32_t word;
    memcpy(&word, b->bytes + f->at + RECORD_HEAD + 4 * (size_t)k, 4);
    return word;
}

const uint8_t *body_args_end(const BodyForm *f, const uint8_t *at, const uint8_t *end) {
    if ((size_t)(end - at) < 8 * (size_t)f->n_external) return NULL;
    at += 8 * (size_t)f->n_external;
    for (int i = 0; i < f->n_attr_arg; i++) {
        uint32_t head[2];
        if ((size_t)(end - at) < sizeof head) return NULL;
        memcpy(head, at, sizeof head);
        if (head[0] >= ATTR_COUNT) return NULL;
        AttrType type = attr_info[head[0]].type;
        size_t n = type == AT_STR    ? pad8((size_t)head[1] + 1)
                   : type == AT_INTS ? 8 * (size_t)head[1]
                                     : 8;
        if ((size_t)(end - at) < ATTR_HEAD + n) return NULL;
        at += ATTR_HEAD + n;
    }
    if (!f->payload) return at;
    uint64_t n;
    if ((size_t)(end - at) < 8) return NULL;
    memcpy(&n, at, 8);
    at += 8;
    if (f->payload == HAS_PART) return at;
    if (n > (uint64_t)(end - at) || pad8(n) > (size_t)(end - at)) return NULL;
    return at + pad8(n);
}

uint8_t *body_record(const Body *b, const BodyForm *f, uint64_t base, const uint8_t *args,
                     size_t n_args, Arena *arena, size_t *n) {
    *n = f->bytes + 8 + n_args;
    uint8_t *p = arena_alloc(arena, *n);
    uint32_t length = (uint32_t)*n;
    memcpy(p, b->bytes + f->at, f->bytes);
    memcpy(p, &length, 4);
    memcpy(p + f->bytes, &base, 8);
    if (n_args) memcpy(p + f->bytes + 8, args, n_args);
    return p;
}
