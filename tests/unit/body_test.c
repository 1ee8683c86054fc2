/* body_test.c: hot records. Random bodies with random arguments, mixed with other instructions and
 * cut into frames anywhere, must read as if each instruction were there in full: as a client writes
 * them, and as the dispatcher does, with inserted instructions and raw records. Damaged ones are
 * refused.
 * SPDX-License-Identifier: MIT */
#include "runtime/wire/body.h"
#include "tests/unit/check.h"
#include "tests/unit/random_inst.h"
#include "runtime/layout/place.h"
#include "runtime/wire/frame.h"

static uint64_t seed = 1;

static void drop(Msg *m) {
    for (int i = 0; i < m->n; i++) buf_unref(&m->part[i]);
    m->n = 0;
}

/* How an instruction is written to the frame. */
typedef enum How { ADDED, RAW, INSERTED } How;

/* A stream: its writer, its reader, and the instructions written since the last frame. */
typedef struct World {
    Rand r;
    Arena a, scratch;
    FrameWriter w;
    Bodies writes, reads; /* the bodies that either side knows */
    bool is_placed;       /* written as by the dispatcher */
    uint64_t next_id, next_added, seq, number;
    Inst sent[2 * HOT_INSTS];
    bool is_inserted[2 * HOT_INSTS];
    int n_sent;
    size_t plain, hot; /* instructions */
} World;

static void read_all(World *t) {
    Msg m;
    if (!t->w.head) return;
    frame_end(&t->w, &m);
    FrameReader r;
    Err err = {0};
    CHECK(frame_open(&r, &m, &err));
    *(t->is_placed ? &r.placed : &r.bodies) = &t->reads;
    uint64_t seq = t->seq;
    CHECK(r.count == (uint32_t)t->n_sent);
    bool passes = rand_below(&t->r, 4) == 0;
    for (int i = 0; i < t->n_sent;) {
        Inst in;
        if (passes && rand_below(&t->r, 2) &&
            frame_peek(&r) == FRAME_HOT) { /* the rest of this iteration */
            const Body *body = r.hot_body;
            const uint8_t *args = r.hot_args;
            uint32_t n = body->n - r.hot_at < r.hot_left ? body->n - r.hot_at : r.hot_left;
            for (uint32_t k = 0; k < n; k++) {
                args = body_args_end(&body->form[r.hot_at + k], args, r.hot_end);
                seq += !t->is_inserted[i + (int)k];
            }
            CHECK(args && r.hot_base <= t->next_id && r.hot_added <= t->next_added);
            frame_pass_hot(&r, n, args);
            i += (int)n;
            CHECK(r.seq_next == seq && r.is_inserted == t->is_inserted[i - 1]);
            CHECK(r.inst_seq == seq - !r.is_inserted);
            continue;
        }
        const void *record;
        size_t n;
        int rc = frame_next(&r, &t->scratch, &in, &record, &n, &err);
        CHECK_MSG(rc == 1, "seed %llu: %s", (unsigned long long)seed, err.text);
        if (rc != 1) break;
        CHECK_MSG(same_inst(&t->sent[i], &in), "seed %llu: %s", (unsigned long long)seed,
                  op_info[in.op].name);
        CHECK(r.inst_seq == seq && in.pos.line == t->sent[i].pos.line);
        CHECK(r.is_inserted == t->is_inserted[i]);
        seq += !t->is_inserted[i++];
    }
    Inst in;
    CHECK(frame_next(&r, &t->scratch, &in, NULL, NULL, &err) == 0);
    CHECK(r.seq_next == seq);
    t->seq = seq;
    t->n_sent = 0;
    drop(&m);
    arena_reset(&t->scratch);
    bodies_sweep(&t->reads);
}

/* A client writes a raw record with its last edge and its next id. */
static void put(FrameWriter *w, const Inst *in, How how, uint64_t edge, uint64_t next_id) {
    Msg m;
    FrameWriter from = {.edge_id = edge, .next_id = next_id};
    if (how == ADDED) frame_add(w, in);
    if (how == INSERTED) frame_insert(w, in);
    if (how != RAW) return;
    frame_begin(&from, 1, 0);
    frame_add(&from, in);
    if (from.n_parts)
        frame_add(w, in);
    else
        frame_add_raw(w, in, from.head->data + from.last_at, from.head->n - from.last_at);
    frame_end(&from, &m);
    drop(&m);
}

static void add(World *t, const Inst *in, How how, uint64_t edge) {
    if (t->w.head && (frame_is_full(&t->w) || rand_below(&t->r, 200) == 0)) read_all(t);
    if (!t->w.head) frame_begin(&t->w, 1, t->seq);
    put(&t->w, in, how, edge, t->next_id);
    size_t n;
    *(frame_form(&t->w, &n) ? &t->plain : &t->hot) += 1;
    t->is_inserted[t->n_sent] = how == INSERTED;
    t->sent[t->n_sent++] = *in;
    if (in->n_out) *(how == INSERTED ? &t->next_added : &t->next_id) = in->out[0] + in->n_out;
}

/* Repeats `model` with other arguments, its results at t->next_id. Ids from `edge` on are the
 * body's own and keep their distances. */
static Inst vary(World *t, const Inst *model, How how, uint64_t model_edge, uint64_t edge) {
    Rand *r = &t->r;
    Inst in = *model;
    Operand *o = arena_alloc(&t->a, (size_t)(in.n_in + 1) * sizeof *o);
    for (int i = 0; i < in.n_in; i++) {
        o[i] = model->in[i];
        switch (o[i].kind) {
        case IN_TENSOR:
            o[i].id = o[i].id >= model_edge ? o[i].id - model_edge + edge
                                            : (uint64_t)rand_below(r, (int)edge);
            break;
        case IN_IMM_INT: o[i].i = rand_int(r); break;
        case IN_IMM_FLOAT: o[i].f = rand_double(r); break;
        case IN_IMM_BOOL: o[i].b = rand_below(r, 2); break;
        }
    }
    in.in = o;
    Attr *attr = arena_alloc(&t->a, (size_t)(in.n_attr + 1) * sizeof *attr);
    for (int i = 0; i < in.n_attr; i++) {
        attr[i] = model->attr[i];
        if (attr_info[attr[i].key].part == PART_ARG)
            attr[i] = rand_attr(r, &t->a, (AttrKey)attr[i].key);
    }
    in.attr = attr;
    if (in.payload && rand_below(r, 2))
        in.payload_bytes -= (uint64_t)rand_below(r, (int)in.payload_bytes);
    uint64_t id = how == INSERTED ? t->next_added : t->next_id;
    for (int i = 0; i < in.n_out; i++) in.out[i] = id + (uint64_t)i;
    return in;
}

/* A body whose first results are at `edge`. Its operands are its own results or older. */
static Inst *make_body(World *t, int n, uint64_t edge, How *how) {
    Inst *body = arena_alloc(&t->a, (size_t)n * sizeof *body);
    uint64_t id = edge, added = t->next_added;
    for (int k = 0; k < n; k++) {
        how[k] = t->is_placed ? (How)rand_below(&t->r, 3) : ADDED;
        do body[k] = rand_inst(&t->r, &t->a);
        while (body[k].op == OP_BODY);
        if (rand_below(&t->r, 8) == 0) body[k].op = OP_FREE, body[k].n_out = 0;
        Operand *o = arena_alloc(&t->a, (size_t)(body[k].n_in + 1) * sizeof *o);
        for (int i = 0; i < body[k].n_in; i++) {
            o[i] = body[k].in[i];
            if (o[i].kind != IN_TENSOR) continue;
            bool is_own = id > edge && rand_below(&t->r, 2);
            o[i].id = is_own ? edge + (uint64_t)rand_below(&t->r, (int)(id - edge))
                             : (uint64_t)rand_below(&t->r, (int)edge);
        }
        body[k].in = o;
        uint64_t *next = how[k] == INSERTED ? &added : &id;
        for (int i = 0; i < body[k].n_out; i++) body[k].out[i] = (*next)++;
    }
    return body;
}

static uint64_t flag_of(const World *t) { return t->is_placed ? BODY_PLACED : 0; }

static void define(World *t, const Inst *body, const How *how, int n, uint64_t edge) {
    Bytes forms = {0};
    FrameWriter w = {.edge_id = t->is_placed ? UINT64_MAX : edge, .next_id = edge};
    frame_begin(&w, 1, 0);
    for (int k = 0; k < n; k++) {
        size_t bytes;
        put(&w, &body[k], how[k], edge, w.next_id);
        const void *form = frame_form(&w, &bytes);
        size_t at = forms.n;
        bytes_add(&forms, form, bytes);
        memcpy(forms.data + at, &(uint32_t){(uint32_t)bytes}, 4);
    }
    Msg m;
    frame_end(&w, &m);
    drop(&m);
    Err err = {0};
    CHECK_MSG(bodies_define(&t->writes, t->number, forms.data, forms.n, &err), "%s", err.text);
    Operand *number = arena_alloc(&t->a, sizeof *number);
    *number = (Operand){.kind = IN_IMM_INT, .i = (int64_t)(t->number++ | flag_of(t))};
    void *kept = arena_alloc(&t->a, forms.n);
    memcpy(kept, forms.data, forms.n);
    add(t,
        &(Inst){.op = OP_BODY, .n_in = 1, .in = number, .payload = kept, .payload_bytes = forms.n},
        t->is_placed ? INSERTED : ADDED, 0);
    bytes_fini(&forms);
}

/* Gives body b a new, younger number on both sides. */
static void rename_body(World *t, const Body *b) {
    Operand *o = arena_alloc(&t->a, 2 * sizeof *o);
    o[0] = (Operand){.kind = IN_IMM_INT, .i = (int64_t)(t->number | flag_of(t))};
    o[1] = (Operand){.kind = IN_IMM_INT, .i = (int64_t)(b->number | flag_of(t))};
    bodies_rename(&t->writes, t->number++, b->number);
    add(t, &(Inst){.op = OP_BODY, .n_in = 2, .in = o}, t->is_placed ? INSERTED : ADDED, 0);
}

static void test_streams(bool is_placed) {
    static World t;
    t = (World){.r = {seed}, .is_placed = is_placed, .next_added = INSERTED_ID};
    t.w.is_placed = t.writes.may_insert = t.reads.may_insert = is_placed;
    How how[12];
    for (int round = 0; round < 200; round++) {
        uint64_t model_edge = t.next_id + 50;
        int n = 1 + rand_below(&t.r, 12);
        Inst *body = make_body(&t, n, model_edge, how);
        frame_expect(&t.w, NULL, 0);
        define(&t, body, how, n, model_edge);
        const Body *b = bodies_get(&t.writes, t.number - 1);
        CHECK(b && b->n == (uint32_t)n);
        t.next_id = model_edge;
        for (int k = rand_below(&t.r, 9); k >= 0; k--) {
            uint64_t edge = t.next_id;
            t.w.edge_id = is_placed ? UINT64_MAX : edge;
            if (!is_placed) t.w.next_id = edge;
            if (!t.w.body || rand_below(&t.r, 4) == 0) frame_expect(&t.w, b, 0);
            int strays = rand_below(&t.r, 3) == 0 ? rand_below(&t.r, n) : -1;
            int ends = rand_below(&t.r, 5) == 0 ? rand_below(&t.r, n) : n;
            for (int i = 0; i < ends; i++) {
                if (i == strays && rand_below(&t.r, 2)) rename_body(&t, b);
                if (i == strays) add(&t, &(Inst){.op = OP_SYNC}, ADDED, 0);
                if (i == strays && is_placed && rand_below(&t.r, 2)) /* ids that no writer uses */
                    t.next_id += 2, edge += 2;
                Inst in = vary(&t, &body[i], how[i], model_edge, edge);
                add(&t, &in, how[i], edge);
            }
            if (ends < n) frame_expect(&t.w, b, 0);
        }
        read_all(&t);
        bodies_sweep(&t.writes);
        arena_reset(&t.a);
    }
    CHECK_MSG(t.hot > 2 * t.plain, "%zu hot, %zu plain", t.hot, t.plain);
    bodies_fini(&t.writes), bodies_fini(&t.reads);
    arena_fini(&t.a), arena_fini(&t.scratch);
}

/* Changes every byte of a frame with hot records, and truncates it everywhere: the result is an
 * instruction or an error, and nothing outside of the frame is read (ASan). */
static void test_hostile(bool is_placed) {
    Rand r = {seed};
    Arena a = {0}, scratch = {0};
    for (int round = 0; round < 20; round++) {
        static World t;
        t = (World){.r = {rand_u64(&r)}, .is_placed = is_placed, .next_added = INSERTED_ID};
        t.w.is_placed = t.writes.may_insert = is_placed;
        How how[5];
        t.next_id = 40;
        Inst *body = make_body(&t, 5, 40, how);
        define(&t, body, how, 5, 40);
        frame_expect(&t.w, bodies_get(&t.writes, 0), 0);
        t.w.edge_id = t.w.next_id = 40;
        for (int i = 0; i < 15 && t.w.head; i++) {
            Inst in = vary(&t, &body[i % 5], how[i % 5], 40, t.w.edge_id);
            put(&t.w, &in, how[i % 5], 40, t.next_id);
            if (in.n_out)
                *(how[i % 5] == INSERTED ? &t.next_added : &t.next_id) = in.out[0] + in.n_out;
            if (i % 5 == 4) t.w.edge_id = t.next_id;
        }
        Msg m;
        frame_end(&t.w, &m);
        for (int k = 0; k < 3000; k++) {
            size_t n = m.part[0]->n;
            uint8_t *head = xmalloc(n);
            memcpy(head, m.part[0]->data, n);
            size_t at = 32 + (size_t)rand_below(&r, (int)n - 32);
            head[at] = (uint8_t)(rand_below(&r, 2) ? head[at] ^ 1 << rand_below(&r, 8)
                                                   : rand_below(&r, 256));
            if (rand_below(&r, 4) == 0)
                memcpy(head + (at & ~(size_t)7), &(uint64_t){rand_u64(&r)}, 8);
            Msg h = {0};
            msg_push(&h, buf_copy(head, n));
            free(head);
            Bodies bodies = {0}, placed = {.may_insert = true};
            FrameReader fr;
            Inst in;
            Err err = {0};
            if (frame_open(&fr, &h, &err)) {
                fr.bodies = &bodies, fr.placed = &placed;
                while (frame_peek(&fr), frame_next(&fr, &scratch, &in, NULL, NULL, &err) == 1) {}
            }
            bodies_fini(&bodies), bodies_fini(&placed);
            drop(&h);
            arena_reset(&scratch);
        }
        drop(&m);
        bodies_fini(&t.writes), bodies_fini(&t.reads);
        arena_fini(&t.a), arena_fini(&t.scratch);
    }
    arena_fini(&a), arena_fini(&scratch);
}

static void form_of(Bytes *out, int n_instructions, size_t attr_bytes) {
    for (int i = 0; i < n_instructions; i++) {
        struct {
            uint32_t length;
            uint16_t op;
            uint8_t n[4];
            uint16_t n_in, file, col, zero;
            uint32_t line;
        } h = {.length = (uint32_t)(24 + attr_bytes), .op = OP_EDGE};
        bytes_add(out, &h, sizeof h);
        for (size_t k = 0; k < attr_bytes; k++) bytes_putc(out, 0);
    }
}

static void test_tables(void) {
    Bodies t = {0};
    Bytes small = {0}, large = {0}, many = {0}, bad = {0};
    form_of(&small, 3, 0), form_of(&many, BODY_INSTS + 1, 0);
    form_of(&large, BODY_BYTES / BODY_FORM_BYTES, BODY_FORM_BYTES - 24);
    for (uint64_t i = 0; i < 1000; i++) {
        CHECK(bodies_define(&t, i, small.data, small.n, NULL));
        CHECK(bodies_get(&t, i) && bodies_get(&t, i)->n == 3);
        CHECK(i < BODIES_MAX || !bodies_get(&t, i - BODIES_MAX));
        CHECK(i == 0 || bodies_get(&t, i - 1));
    }
    bodies_sweep(&t);
    CHECK(t.n_bytes == small.n * BODIES_MAX);
    /* The oldest, defined again with another number, becomes the youngest and is unchanged. */
    uint64_t old = 1000 - BODIES_MAX;
    Body *kept = bodies_first_to_go(&t, small.n);
    CHECK(kept && kept == bodies_get(&t, old));
    bodies_rename(&t, 1000, old);
    CHECK(bodies_get(&t, 1000) == kept && !bodies_get(&t, old) && kept->number == 1000);
    CHECK(bodies_get_dead(&t, old) == kept);
    CHECK(t.n_bytes == small.n * BODIES_MAX);
    bodies_rename(&t, 1001, old); /* not there */
    bodies_rename(&t, 1000, 999); /* long known */
    CHECK(bodies_get(&t, 999) && bodies_get(&t, 1000) == kept && t.next == 1001);
    for (uint64_t i = 1001; i < 1000 + BODIES_MAX; i++)
        CHECK(bodies_define(&t, i, small.data, small.n, NULL) && bodies_get(&t, 1000) == kept);
    CHECK(bodies_first_to_go(&t, small.n) == kept);
    CHECK(bodies_define(&t, 1000 + BODIES_MAX, small.data, small.n, NULL));
    CHECK(!bodies_get(&t, 1000) && bodies_get_dead(&t, 1000) == kept);
    CHECK(bodies_get_dead(&t, old) == kept);
    bodies_sweep(&t);
    CHECK(bodies_define(&t, 5, large.data, large.n, NULL) && !bodies_get(&t, 5)); /* long known */
    for (uint64_t i = 2000; i < 2010; i++) {
        CHECK(bodies_define(&t, i, large.data, large.n, NULL));
        CHECK(bodies_get(&t, i) && t.n_bytes <= BODIES_BYTES);
    }
    CHECK(bodies_define(&t, 500000, small.data, small.n, NULL) && bodies_get(&t, 500000));
    CHECK_FAIL(bodies_define(&t, UINT64_MAX, small.data, small.n, &err), ERR_LIMIT);
    CHECK_FAIL(bodies_define(&t, 500001, many.data, many.n, &err), ERR_PARSE);
    CHECK_FAIL(bodies_define(&t, 500001, large.data, large.n - 8, &err), ERR_PARSE);
    CHECK_FAIL(bodies_define(&t, 500001, "", 0, &err), ERR_PARSE);
    form_of(&bad, 1, BODY_FORM_BYTES - 16); /* 8 too many */
    CHECK_FAIL(bodies_define(&t, 500001, bad.data, bad.n, &err), ERR_PARSE);
    bad.n = 0;
    form_of(&bad, 1, 0);
    ((uint16_t *)(void *)bad.data)[2] = OP_BODY;
    CHECK_FAIL(bodies_define(&t, 500001, bad.data, bad.n, &err), ERR_PARSE);
    bodies_fini(&t);
    bytes_fini(&small), bytes_fini(&large), bytes_fini(&many), bytes_fini(&bad);
}

/* A reader that missed definitions accepts others in any order; none is lost or kept twice. */
static void test_late(void) {
    Bodies t = {.may_insert = true};
    Bytes small = {0};
    form_of(&small, 3, 0);
    Rand r = {seed};
    uint64_t next = 0;
    for (int i = 0; i < 3000; i++) {
        bool is_late = next && rand_below(&r, 2);
        uint64_t number = is_late ? next - 1 - (uint64_t)rand_below(&r, 2 * BODIES_MAX) : next;
        if (is_late && number > next) continue; /* below 0 */
        CHECK(bodies_define(&t, number, small.data, small.n, NULL));
        if (!is_late) next += 1 + (uint64_t)rand_below(&r, rand_below(&r, 20) ? 4 : 200);
        CHECK((t.next - number <= BODIES_MAX) == (bodies_get(&t, number) != NULL));
        size_t n = 0;
        for (int k = 0; k < BODIES_MAX; k++) {
            const Body *b = t.slot[k];
            CHECK(!b || (b->number >= t.oldest && b->number < t.next));
            n += b ? b->n_bytes : 0;
        }
        CHECK(n == t.n_bytes);
        if (rand_below(&r, 10) == 0) bodies_sweep(&t);
    }
    bodies_fini(&t);
    t = (Bodies){0};
    CHECK(bodies_define(&t, 3, small.data, small.n, NULL));
    CHECK(bodies_define(&t, 2, small.data, small.n, NULL) && !bodies_get(&t, 2));
    ((uint8_t *)small.data)[9] = 4; /* inserted: in the dispatcher's stream only */
    CHECK_FAIL(bodies_define(&t, 4, small.data, small.n, &err), ERR_PARSE);
    t.may_insert = true;
    CHECK(bodies_define(&t, 4, small.data, small.n, NULL) && bodies_get(&t, 4)->n_inserted == 1);
    bodies_fini(&t);
    bytes_fini(&small);
}

int main(int argc, char **argv) {
    seed = rand_seed(argc, argv);
    test_streams(false);
    test_streams(true);
    test_hostile(false);
    test_hostile(true);
    test_tables();
    test_late();
    return check_report("body");
}
