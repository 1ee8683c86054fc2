/* hot_test.c: hot bodies in the dispatcher. The same random loops go to two dispatchers, in full to
 * one and as hot records to the other, with shapes and values that change, ids that are dead, and
 * frames cut anywhere: workers are sent the same instructions, clients are told the same errors,
 * and
 * the tables hold the same. SPDX-License-Identifier: MIT */
#include "dispatcher/dispatcher.h"
#include "runtime/body.h"
#include "runtime/wire.h"
#include "tests/unit/check.h"
#include "tests/unit/random.h"
#include <time.h>

enum { WORKER = 1, ANN = 2, VARIABLES = 6, INSTS = 12, BODIES = 4 };

static uint64_t seed = 1;

/* One of the two. */
typedef struct Side {
    Dispatcher *d;
    FrameWriter w;
    Bodies known; /* as the worker knows them */
    Bytes sent, told;
} Side;

typedef struct Step {
    Op op;
    int in[2]; /* a variable, or INSTS-th and up: a result of the body; -1: none */
    int shape; /* of sources, slices */
} Step;
typedef struct Loop {
    Step step[INSTS];
    int n, keeps[VARIABLES]; /* which result a variable becomes; -1: it stays */
    Body *body;
} Loop;

static Rand r;
static Side side[2]; /* in full, hot */
static Bodies bodies;
static uint64_t seq, next_id, variable[VARIABLES];
static Arena arena, scratch; /* of a round; of what is read */
static Bytes forms;

static void take(Side *s) {
    PeerId to;
    bool drop;
    Msg m;
    while (dispatcher_next(s->d, &to, &m, &drop)) {
        CHECK(!drop);
        if (to == WORKER && wire_kind(&m) == MSG_FRAME) {
            FrameReader f;
            Inst in;
            int rc;
            CHECK(frame_open(&f, &m, NULL));
            f.bodies = &s->known;
            while ((rc = frame_next(&f, &scratch, &in, NULL, NULL, NULL)) > 0) {
                if (in.op == OP_BODY || in.op == OP_NOTE) continue;
                bytes_printf(&s->sent, "%llu ", (unsigned long long)f.inst_seq);
                inst_print(&in, NULL, &s->sent);
                bytes_putc(&s->sent, '\n');
            }
            CHECK(rc == 0);
        } else if (to == ANN && wire_kind(&m) == MSG_ERROR) {
            Failure e;
            CHECK(wire_read_failure(&m, &e, NULL));
            bytes_printf(&s->told, "%llu %d %s\n", (unsigned long long)e.seq, e.op, e.err.text);
        }
        msg_fini(&m);
    }
}

static void say(Side *s, PeerId from, Msg *m) {
    dispatcher_on_message(s->d, from, m, 0);
    take(s);
}

static void hello(Side *s, PeerId from, Role role) {
    Hello h = {.version = WIRE_VERSION, .table_hash = op_table_hash(), .role = (uint8_t)role};
    Msg m;
    wire_hello(&h, &m);
    say(s, from, &m);
}

static long counter(const Side *s, const char *name) {
    Bytes text = {0};
    dispatcher_stats(s->d, &text);
    const char *at = strstr(text.data, name);
    long v = at ? atol(at + strlen(name)) : -1;
    bytes_fini(&text);
    return v;
}

/* A third dispatcher gets what the second one gets, now and then with a few bytes changed: it may
 * refuse and end the client, no more (ASan). */
static Dispatcher *victim;

static void victim_new(void) {
    victim = dispatcher_new(&(DispatcherConfig){.client_bytes_max = 100000});
    Hello h = {.version = WIRE_VERSION, .table_hash = op_table_hash(), .role = ROLE_WORKER};
    Msg m;
    wire_hello(&h, &m);
    dispatcher_on_message(victim, WORKER, &m, 0);
    h.role = ROLE_CLIENT;
    wire_hello(&h, &m);
    dispatcher_on_message(victim, ANN, &m, 0);
}

static void hurt(const Msg *m) {
    Msg copy = {.n = 1, .part = {buf_copy(m->part[0]->data, m->part[0]->n)}}, out;
    for (int k = rand_below(&r, 8) ? 0 : 1 + rand_below(&r, 3); k > 0; k--) {
        uint8_t *at = copy.part[0]->data + 32 + rand_below(&r, (int)copy.part[0]->n - 32);
        *at = (uint8_t)(rand_below(&r, 2) ? *at ^ 1 << rand_below(&r, 8) : rand_below(&r, 256));
    }
    dispatcher_on_message(victim, ANN, &copy, 0);
    PeerId to;
    bool drop, is_cut_off = false;
    while (dispatcher_next(victim, &to, &out, &drop)) {
        is_cut_off |= drop;
        msg_fini(&out);
    }
    wire_ack(&(Ack){.client = 1, .seq = seq}, &out);
    dispatcher_on_message(victim, WORKER, &out, 0);
    if (!is_cut_off) return;
    dispatcher_free(&victim);
    victim_new();
}

static void send_frames(void) {
    for (int i = 0; i < 2; i++) {
        Side *s = &side[i];
        Msg m;
        if (!s->w.head) continue;
        frame_end(&s->w, &m);
        if (i) hurt(&m);
        say(s, ANN, &m);
        wire_ack(&(Ack){.client = 1, .seq = seq}, &m);
        say(s, WORKER, &m);
    }
    arena_reset(&scratch);
    CHECK_MSG(side[0].sent.n == side[1].sent.n &&
                  !memcmp(side[0].sent.data, side[1].sent.data, side[0].sent.n),
              "seed %llu: in full\n%s\nhot\n%s", (unsigned long long)seed, side[0].sent.data,
              side[1].sent.data);
    if (side[0].told.n)
        CHECK_MSG(side[1].told.n && !strcmp(side[0].told.data, side[1].told.data),
                  "seed %llu: in full\n%s\nhot\n%s", (unsigned long long)seed, side[0].told.data,
                  side[1].told.data);
    else
        CHECK(side[1].told.n == 0);
    CHECK_INT(counter(&side[1], "\ntensors="), counter(&side[0], "\ntensors="));
    CHECK_INT(counter(&side[1], "\nbytes="), counter(&side[0], "\nbytes="));
    for (int i = 0; i < 2; i++) side[i].sent.n = side[i].told.n = 0;
}

static void add(const Inst *plain, const Inst *hot) {
    if (side[1].w.head &&
        (frame_is_full(&side[0].w) || frame_is_full(&side[1].w) || rand_below(&r, 60) == 0))
        send_frames();
    for (int i = 0; i < 2; i++) {
        FrameWriter *w = &side[i].w;
        if (!w->head) frame_begin(w, 1, seq);
        frame_add(w, i ? hot : plain);
    }
    seq++;
}

static const int64_t shapes[][2] = {{2, 3}, {1, 3}, {4, 3}, {2, 1}};

static void source(uint64_t id, int shape, DType dtype, double value) {
    Operand *o = arena_alloc(&arena, sizeof *o);
    *o = (Operand){.kind = IN_IMM_FLOAT, .f = value};
    if (dtype == DT_U8) *o = (Operand){.kind = IN_IMM_INT, .i = 1};
    Attr attr[] = {{.key = ATTR_SHAPE, .n = 2, .ints = shapes[shape]},
                   {.key = ATTR_DTYPE, .dtype = dtype}};
    Inst in = {
        .op = OP_FULL, .n_in = 1, .in = o, .n_attr = 2, .attr = attr, .n_out = 1, .out = {id}};
    add(&in, &in);
}

static void loop_new(Loop *l) {
    static const Op ops[] = {OP_ADD,  OP_MUL,   OP_NEG, OP_SUM,  OP_SLICE,  OP_RANDN,
                             OP_FULL, OP_FETCH, OP_ADD, OP_SYNC, OP_MAXIMUM};
    l->n = 2 + rand_below(&r, INSTS - 3);
    l->body = NULL;
    for (int i = 0; i < l->n; i++) {
        Step *s = &l->step[i];
        *s = (Step){.op = ops[rand_below(&r, (int)(sizeof ops / sizeof *ops))],
                    .shape = rand_below(&r, 4)};
        for (int k = 0; k < 2; k++)
            s->in[k] = rand_below(&r, 3) || i == 0 ? rand_below(&r, VARIABLES)
                                                   : VARIABLES + rand_below(&r, i);
    }
    for (int v = 0; v < VARIABLES; v++) l->keeps[v] = rand_below(&r, 3) ? -1 : rand_below(&r, l->n);
}

/* What only now and then is as it should be. */
static bool rarely(void) { return rand_below(&r, 40) == 0; }

static void round_of(Loop *l) {
    uint64_t made[INSTS], edge = next_id, id = next_id;
    Inst list[INSTS + 2];
    int n = 0;
    for (int i = 0; i < l->n; i++) {
        const Step *s = &l->step[i];
        Operand *o = arena_alloc(&arena, 3 * sizeof *o);
        Attr *a = arena_alloc(&arena, 3 * sizeof *a);
        int64_t *ints = arena_alloc(&arena, 8 * sizeof *ints);
        for (int k = 0; k < 2; k++)
            o[k] = (Operand){.kind = IN_TENSOR,
                             .id = s->in[k] < VARIABLES ? variable[s->in[k]]
                                                        : made[s->in[k] - VARIABLES]};
        if (rarely() && s->in[0] < VARIABLES) o[0].id = (uint64_t)rand_below(&r, (int)edge + 1);
        Inst in = {.op = s->op, .n_in = 1, .in = o, .attr = a, .n_out = 1, .pos = {.line = 1}};
        in.pos.line += (uint32_t)i;
        switch (s->op) {
        case OP_ADD: in.n_in = 2; break;
        case OP_MUL:
        case OP_MAXIMUM:
            in.n_in = 2;
            o[1] = s->shape < 2
                       ? (Operand){.kind = IN_IMM_FLOAT, .f = rarely() ? 1e300 : rand_below(&r, 9)}
                       : (Operand){.kind = IN_IMM_INT, .i = rarely() ? 300 : rand_below(&r, 9)};
            break;
        case OP_SLICE:
            for (int k = 0; k < 6; k++) ints[k] = k < 2 ? rand_below(&r, 2) : 1;
            if (rarely()) ints[0] = 9;
            for (int k = 0; k < 3; k++)
                a[k] = (Attr){.key = k == 0   ? ATTR_START
                                     : k == 1 ? ATTR_SIZE
                                              : ATTR_STEP,
                              .n = 2,
                              .ints = ints + 2 * k};
            in.n_attr = 3;
            break;
        case OP_RANDN:
            ints[0] = 1, ints[1] = rand_below(&r, 1000);
            a[0] = (Attr){.key = ATTR_SHAPE, .n = 2, .ints = shapes[s->shape]};
            a[1] = (Attr){.key = ATTR_DTYPE, .dtype = DT_F32};
            a[2] = (Attr){.key = ATTR_RNG, .n = 2, .ints = ints};
            in.n_in = 0, in.n_attr = 3;
            break;
        case OP_FULL:
            o[0] = (Operand){.kind = IN_IMM_FLOAT, .f = rand_below(&r, 3)};
            a[0] = (Attr){.key = ATTR_SHAPE, .n = 2, .ints = shapes[s->shape]};
            a[1] = (Attr){.key = ATTR_DTYPE, .dtype = DT_F32};
            in.n_attr = 2;
            break;
        case OP_SYNC: in.n_in = 0; /* fall through */
        case OP_FETCH: in.n_out = 0; break;
        default: break;
        }
        made[i] = in.n_out ? id++ : edge ? variable[0] : 0;
        if (in.n_out) in.out[0] = made[i];
        list[n++] = in;
    }
    Operand *dead = arena_alloc(&arena, (INSTS + VARIABLES) * sizeof *dead);
    int n_dead = 0;
    uint64_t next[VARIABLES];
    memcpy(next, variable, sizeof next);
    for (int v = 0; v < VARIABLES; v++) {
        if (l->keeps[v] < 0 || made[l->keeps[v]] < edge) continue;
        dead[n_dead++] = (Operand){.kind = IN_TENSOR, .id = variable[v]};
        next[v] = made[l->keeps[v]];
    }
    for (int i = 0; i < l->n; i++) {
        bool is_kept = made[i] < edge;
        for (int v = 0; v < VARIABLES; v++) is_kept |= next[v] == made[i];
        if (!is_kept) dead[n_dead++] = (Operand){.kind = IN_TENSOR, .id = made[i]};
    }
    if (n_dead && rarely()) dead[0] = dead[n_dead - 1];
    if (n_dead) list[n++] = (Inst){.op = OP_FREE, .n_in = (uint16_t)n_dead, .in = dead};
    list[n++] = (Inst){.op = OP_EDGE};
    FrameWriter *w = &side[1].w;
    w->edge_id = w->next_id = side[0].w.edge_id = side[0].w.next_id = edge;
    bool learns = !l->body;
    forms.n = 0;
    frame_expect(w, l->body, 0);
    for (int i = 0; i < n; i++) {
        add(&list[i], &list[i]);
        size_t bytes;
        const void *form = frame_form(w, &bytes);
        if (!learns || !form) continue;
        size_t at = forms.n;
        bytes_add(&forms, form, bytes);
        memcpy(forms.data + at, &(uint32_t){(uint32_t)bytes}, 4);
    }
    next_id = id;
    memcpy(variable, next, sizeof next);
    if (!learns) return;
    uint64_t number = bodies.next;
    CHECK(bodies_define(&bodies, number, forms.data, forms.n, NULL));
    l->body = bodies_get(&bodies, number);
    Operand o = {.kind = IN_IMM_INT, .i = (int64_t)number};
    Attr note = {.key = ATTR_FORMAT, .n = 1, .str = "x"};
    add(&(Inst){.op = OP_NOTE, .n_attr = 1, .attr = &note},
        &(Inst){
            .op = OP_BODY, .n_in = 1, .in = &o, .payload = forms.data, .payload_bytes = forms.n});
}

/* A variable becomes another tensor, of any shape. */
static void replace(int v) {
    static const DType dtypes[] = {DT_F32, DT_F16, DT_F64, DT_U8};
    variable[v] = next_id++;
    source(variable[v], rand_below(&r, 4), dtypes[rand_below(&r, 4)], 1);
}

static long run(int rounds) {
    seq = next_id = 0;
    for (int i = 0; i < 2; i++) {
        side[i] = (Side){.d = dispatcher_new(&(DispatcherConfig){.client_bytes_max = 100000})};
        hello(&side[i], WORKER, ROLE_WORKER);
        hello(&side[i], ANN, ROLE_CLIENT);
    }
    victim_new();
    Loop loop[BODIES];
    for (int i = 0; i < BODIES; i++) loop_new(&loop[i]);
    for (int v = 0; v < VARIABLES; v++) replace(v);
    for (int k = 0; k < rounds; k++) {
        Loop *l = &loop[rand_below(&r, BODIES)];
        arena_reset(&arena);
        for (int i = rand_below(&r, 6); i >= 0; i--) round_of(l);
        if (rand_below(&r, 4) == 0) replace(rand_below(&r, VARIABLES));
    }
    send_frames();
    long passed = counter(&side[1], "\nhot_instructions=");
    dispatcher_free(&victim);
    for (int i = 0; i < 2; i++) {
        dispatcher_free(&side[i].d);
        bodies_fini(&side[i].known);
        bytes_fini(&side[i].sent), bytes_fini(&side[i].told);
    }
    bodies_fini(&bodies);
    return passed;
}

/* One body over tensors of KINDS shapes, all but its first operand's: all is known after some looks
 * at each. Then as many once only: nothing of what is in use goes for them. */
enum { KINDS = 150, SHAPED = 3 /* instructions and an edge: of a round */ };

static Body *shaped_round(const Body *b, uint64_t w, uint64_t x, Bytes *learns) {
    uint64_t edge = next_id;
    Operand in[] = {{.kind = IN_TENSOR, .id = w}, {.kind = IN_TENSOR, .id = x}};
    Operand made[] = {{.kind = IN_TENSOR, .id = edge}, {.kind = IN_TENSOR, .id = edge + 1}};
    Inst list[] = {
        {.op = OP_MUL, .n_in = 2, .in = in, .n_out = 1, .out = {edge}, .pos = {.line = 1}},
        {.op = OP_NEG, .n_in = 1, .in = made, .n_out = 1, .out = {edge + 1}, .pos = {.line = 2}},
        {.op = OP_FREE, .n_in = 2, .in = made, .pos = {.line = 3}},
        {.op = OP_EDGE}};
    for (int i = 0; i < 2; i++) side[i].w.edge_id = side[i].w.next_id = edge;
    frame_expect(&side[1].w, b, 0);
    next_id += 2;
    for (int i = 0; i <= SHAPED; i++) {
        add(&list[i], &list[i]);
        size_t bytes;
        const void *form = frame_form(&side[1].w, &bytes);
        if (!learns || !form) continue;
        size_t at = learns->n;
        bytes_add(learns, form, bytes);
        memcpy(learns->data + at, &(uint32_t){(uint32_t)bytes}, 4);
    }
    if (!learns) return NULL;
    CHECK(bodies_define(&bodies, 0, learns->data, learns->n, NULL));
    Operand o = {.kind = IN_IMM_INT, .i = 0};
    Inst body = {
        .op = OP_BODY, .n_in = 1, .in = &o, .payload = learns->data, .payload_bytes = learns->n};
    Attr note = {.key = ATTR_FORMAT, .n = 1, .str = "x"};
    add(&(Inst){.op = OP_NOTE, .n_attr = 1, .attr = &note}, &body);
    return bodies_get(&bodies, 0);
}

static uint64_t shaped_source(int64_t rows) {
    int64_t shape[] = {rows, 3};
    Operand o = {.kind = IN_IMM_FLOAT, .f = 1};
    Attr attr[] = {{.key = ATTR_SHAPE, .n = 2, .ints = shape}, {.key = ATTR_DTYPE}};
    attr[1].dtype = DT_F32;
    add(&(Inst){.op = OP_FULL, .n_in = 1, .in = &o, .n_attr = 2, .attr = attr, .n_out = 1,
                .out = {next_id}},
        &(Inst){.op = OP_FULL, .n_in = 1, .in = &o, .n_attr = 2, .attr = attr, .n_out = 1,
                .out = {next_id}});
    return next_id++;
}

static void test_shapes(void) {
    seq = next_id = 0;
    for (int i = 0; i < 2; i++) {
        side[i] = (Side){.d = dispatcher_new(&(DispatcherConfig){.client_bytes_max = 10000000})};
        hello(&side[i], WORKER, ROLE_WORKER);
        hello(&side[i], ANN, ROLE_CLIENT);
    }
    victim_new();
    Bytes learns = {0};
    uint64_t w = shaped_source(1), x[2 * KINDS];
    for (int k = 0; k < 2 * KINDS; k++) x[k] = shaped_source(2 + k);
    const Body *b = shaped_round(NULL, w, x[0], &learns);
    for (int times = 0; times < 4; times++)
        for (int k = 0; k < KINDS; k++) shaped_round(b, w, x[k], NULL);
    for (int k = KINDS; k < 2 * KINDS; k++) shaped_round(b, w, x[k], NULL);
    send_frames();
    long before = counter(&side[1], "\nhot_instructions=");
    CHECK_MSG(before > KINDS * SHAPED, "%ld", before);
    for (int k = 0; k < KINDS; k++) shaped_round(b, w, x[k], NULL);
    send_frames();
    long known = counter(&side[1], "\nhot_instructions=") - before;
    /* But where a frame is cut in the middle. */
    CHECK_MSG(known > KINDS * (SHAPED + 1) * 9 / 10, "%ld of %d", known, KINDS * (SHAPED + 1));
    dispatcher_free(&victim);
    for (int i = 0; i < 2; i++) {
        dispatcher_free(&side[i].d);
        bodies_fini(&side[i].known);
        bytes_fini(&side[i].sent), bytes_fini(&side[i].told);
    }
    bodies_fini(&bodies);
    bytes_fini(&learns);
}

int main(int argc, char **argv) {
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
    int runs = argc > 2 ? atoi(argv[2]) : 60;
    printf("seed %llu\n", (unsigned long long)seed);
    long passed = 0;
    r = (Rand){seed};
    for (int i = 0; i < runs && !check_failed; i++) passed += run(100);
    printf("%ld instructions were known\n", passed);
    CHECK(passed > 1000);
    test_shapes();
    arena_fini(&arena), arena_fini(&scratch);
    bytes_fini(&forms);
    return check_report("hot");
}
