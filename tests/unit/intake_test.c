/* intake_test.c: clients that do not look for hot bodies themselves. The same frames, in full, go
 * to a dispatcher that looks for bodies in them and to one that does not: loops with all edges,
 * some or none, iterations that differ, shapes and values that change, poisoned or missing ids,
 * scopes, payloads, frames that end anywhere; later the client defines bodies itself, with its own
 * numbers. Workers must get the same instructions, clients the same errors, and the tables must be
 * equal; most repetitions must be found.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/state.h"
#include "runtime/wire/body.h"
#include "tests/unit/check.h"
#include "tests/unit/random.h"

/* Workers are peers from 1 on. */
enum { REFUSED = 2000 }; /* errors after which a run ends, before the client is ended */
enum { WORKERS = 3, ANN = 10, VARIABLES = 5, STEPS = 10, LOOPS = 4, LARGE = 40000 };

static uint64_t seed = 1;

/* One of the two dispatchers. */
typedef struct Side {
    Dispatcher *d;
    Bodies known[WORKERS + 1];  /* the bodies that workers know ... */
    Bodies placed[WORKERS + 1]; /* ... and the dispatcher's own, which are not counted */
    Bytes sent, told;           /* instructions and errors since the last frame */
    uint64_t number;            /* of the last frame that was sent */
    uint64_t n_hot, n_bodies;   /* instructions in hot records; definitions */
    size_t largest;             /* head of a frame */
} Side;

typedef struct Step {
    Op op;
    int in[2]; /* index of a variable; from VARIABLES on: of a result of the iteration */
    int shape;
} Step;
typedef struct Loop {
    Step step[STEPS];
    int n, keeps[VARIABLES]; /* the result that replaces a variable; -1: none does */
} Loop;

/* How the client writes its frames. */
typedef struct Style {
    bool has_edges, has_distances, cuts; /* cuts: frames end anywhere */
    int odd;                             /* one iteration in so many differs; 0: none does */
} Style;

static Rand r;
static int n_workers;
static Side side[2]; /* one that does not look for bodies, one that does */
static Style style;
static FrameWriter w;
static Detector *own; /* the client's detector; NULL: it writes all in full */
static uint64_t seq, next_id, variable[VARIABLES], n_sent;
static Arena arena, scratch;
static Buf *large;

/* ---- The other ends ---- */

/* Reads a frame. A frame for several workers is read once: a `body` goes to the home worker alone,
 * and the instructions before it may then be in a frame for fewer workers. In a frame for the home
 * worker alone, the first group, no instruction has `on`. Consumes m. */
static void take_frame(Side *s, PeerId to, Msg *m) {
    FrameReader f;
    Inst in;
    int rc;
    Err err = {0};
    CHECK(to <= (PeerId)n_workers && frame_open(&f, m, NULL));
    f.bodies = &s->known[to], f.placed = &s->placed[to];
    f.placed->may_insert = true;
    bodies_sweep(f.bodies), bodies_sweep(f.placed);
    bool is_new = f.number > s->number;
    s->number = f.number;
    if (m->part[0]->n > s->largest) s->largest = m->part[0]->n;
    InstPrint how = {.payload_max = 64, .payload_hash = true};
    while ((rc = frame_next(&f, &scratch, &in, NULL, NULL, &err)) > 0) {
        if (!is_new) continue;
        s->n_hot += f.is_hot && bodies_get(f.bodies, f.hot_body->number) == f.hot_body;
        s->n_bodies += in.op == OP_BODY && in.in[0].i < BODY_PLACED;
        if (in.op == OP_BODY) continue;
        bytes_printf(&s->sent, "%llu%s %u ", (unsigned long long)f.inst_seq,
                     f.is_inserted ? "+" : "", in.pos.line);
        inst_print(&in, &how, &s->sent);
        if (s->sent.n > 5 && !memcmp(s->sent.data + s->sent.n - 5, " on=1", 5)) s->sent.n -= 5;
        bytes_putc(&s->sent, '\n');
    }
    CHECK_MSG(rc == 0, "seed %llu: %s", (unsigned long long)seed, err.text);
    msg_fini(m);
}

static void take(Side *s) {
    PeerId to;
    bool drop;
    Msg m;
    while (dispatcher_next(s->d, &to, &m, &drop)) {
        Failure e;
        Err why = {0};
        CHECK_MSG(!drop || !wire_read_refuse(&m, &why, NULL), "seed %llu: %s",
                  (unsigned long long)seed, why.text);
        if (wire_kind(&m) == MSG_FRAME) {
            take_frame(s, to, &m);
        } else if (to == ANN && wire_kind(&m) == MSG_ERROR && wire_read_failure(&m, &e, NULL)) {
            bytes_printf(&s->told, "%llu %d line %u: %s\n", (unsigned long long)e.seq, e.op,
                         e.pos.line, e.err.text);
        }
        msg_fini(&m);
    }
}

static void say(Side *s, PeerId from, Msg *m) {
    dispatcher_on_message(s->d, from, m, 0);
    for (bool is_more = true; is_more; take(s)) is_more = dispatcher_go_on(s->d);
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

static void compare(const char *what, Bytes *a, Bytes *b) {
    bool same = a->n == b->n && (a->n == 0 || !memcmp(a->data, b->data, a->n));
    CHECK_MSG(same, "seed %llu: %s: in full\n%.*s\nlooked through\n%.*s", (unsigned long long)seed,
              what, (int)a->n, a->data, (int)b->n, b->data);
    a->n = b->n = 0;
}

static void send_frame(void) {
    Msg m;
    if (!w.head) return;
    frame_end(&w, &m);
    for (int i = 0; i < 2; i++) {
        Msg copy = {.n = 1, .part = {buf_copy(m.part[0]->data, m.part[0]->n)}}, ack;
        for (int k = 1; k < m.n; k++) msg_push(&copy, buf_ref(m.part[k]));
        say(&side[i], ANN, &copy);
        for (PeerId p = 1; p <= (PeerId)n_workers; p++) {
            wire_ack(&(Ack){.client = 1, .seq = seq}, &ack);
            say(&side[i], p, &ack);
        }
        const Client *c = map_get(&side[i].d->client_by_id, 1);
        CHECK_MSG(c && c->bytes == 0 && c->sent.n == 0, "seed %llu: credit is not given back",
                  (unsigned long long)seed);
    }
    msg_fini(&m);
    compare("sent", &side[0].sent, &side[1].sent);
    compare("told", &side[0].told, &side[1].told);
    static const char *counters[] = {
        "\ntensors=", "\nbytes=", "\nplaced=", "\nmoves=", "\ncut_off="};
    for (int i = 0; i < 5; i++)
        CHECK_INT(counter(&side[1], counters[i]), counter(&side[0], counters[i]));
    arena_reset(&scratch);
}

/* ---- The client ---- */

static void put(const Inst *in) {
    if (w.head && (frame_is_full(&w) || (style.cuts && rand_below(&r, 80) == 0))) send_frame();
    if (!w.head) frame_begin(&w, 1, seq);
    frame_add(&w, in);
    seq++, n_sent++;
    if (own && in->op != OP_BODY) detector_added(own, &w);
}

static void define(void *ctx, FrameWriter *writer, const Inst *body) { put(body); }

static void edge(void) {
    if (!style.has_edges) return;
    put(&(Inst){.op = OP_EDGE});
    if (style.has_distances || own) frame_edge(&w, next_id);
    if (own) detector_edge(own, &w, false);
}

static Operand operand(uint64_t id) { return (Operand){.kind = IN_TENSOR, .id = id}; }

static const int64_t shapes[][2] = {{64, 64}, {1, 64}, {64, 1}, {64, 64}};

/* Replaces a variable by another tensor. */
static void replace(int v) {
    Operand o = {.kind = IN_IMM_FLOAT, .f = rand_below(&r, 3)};
    Attr attr[] = {{.key = ATTR_SHAPE, .n = 2, .ints = shapes[rand_below(&r, 4)]},
                   {.key = ATTR_DTYPE, .dtype = DT_F32}};
    variable[v] = next_id++;
    put(&(Inst){.op = OP_FULL,
                .n_in = 1,
                .in = &o,
                .n_attr = 2,
                .attr = attr,
                .n_out = 1,
                .out = {variable[v]},
                .pos = {.line = 900}});
}

static void loop_new(Loop *l) {
    static const Op ops[] = {OP_ADD,   OP_MUL,    OP_NEG,  OP_SUM,  OP_SLICE,
                             OP_RANDN, OP_FETCH,  OP_SUB,  OP_FULL, OP_DATA,
                             OP_ADD,   OP_MATMUL, OP_SYNC, OP_DIV,  OP_CUMMAX};
    l->n = 1 + rand_below(&r, STEPS - 2);
    for (int i = 0; i < l->n; i++) {
        Step *s = &l->step[i];
        *s = (Step){.op = ops[rand_below(&r, 15)], .shape = rand_below(&r, 4)};
        for (int k = 0; k < 2; k++)
            s->in[k] = rand_below(&r, 3) || i == 0 ? rand_below(&r, VARIABLES)
                                                   : VARIABLES + rand_below(&r, i);
    }
    if (rand_below(&r, 4) == 0 && l->n > 1) /* a nested scope */
        l->step[0].op = OP_SIGNAL_ENTER, l->step[l->n - 1].op = OP_SIGNAL_EXIT;
    for (int v = 0; v < VARIABLES; v++) l->keeps[v] = rand_below(&r, 3) ? -1 : rand_below(&r, l->n);
}

static bool rarely(void) { return style.odd && rand_below(&r, 10 * style.odd) == 0; }

/* o: room for 3 operands. made: the results of the iteration so far. */
static Inst inst_of(const Loop *l, const Step *s, const uint64_t *made, Operand *o) {
    Attr *a = arena_alloc(&arena, 3 * sizeof *a);
    int64_t *ints = arena_alloc(&arena, 8 * sizeof *ints);
    for (int k = 0; k < 2; k++)
        o[k] = operand(s->in[k] < VARIABLES ? variable[s->in[k]] : made[s->in[k] - VARIABLES]);
    if (rarely()) o[0].id = (uint64_t)rand_below(&r, (int)next_id + 1);
    Inst in = {.op = s->op, .n_in = 1, .in = o, .attr = a, .n_out = 1, .pos = {.line = 1}};
    in.pos.line += (uint32_t)(s - l->step);
    switch (s->op) {
    case OP_SUB:
    case OP_MATMUL:
    case OP_ADD: in.n_in = 2; break;
    case OP_MUL:
    case OP_DIV:
        in.n_in = 2;
        o[1] = (Operand){.kind = IN_IMM_FLOAT, .f = rarely() ? 1e300 : rand_below(&r, 9)};
        break;
    case OP_SUM:
        ints[0] = s->shape & 1;
        a[0] = (Attr){.key = ATTR_AXIS, .n = 1, .ints = ints};
        a[1] = (Attr){.key = ATTR_KEEPDIMS, .b = true};
        in.n_attr = 2;
        break;
    case OP_CUMMAX:
        ints[0] = s->shape & 1;
        a[0] = (Attr){.key = ATTR_AXIS, .n = 1, .ints = ints};
        in.n_attr = 1, in.n_out = 2;
        break;
    case OP_SLICE:
        for (int k = 0; k < 6; k++) ints[k] = 1;
        ints[0] = rarely() ? 90 : 0, ints[1] = 0;
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
        a[2] = (Attr){.key = ATTR_RNG, .n = 2, .ints = ints};
        in.n_in = 0, in.n_attr = 3;
        a[0] = (Attr){.key = ATTR_SHAPE, .n = 2, .ints = shapes[s->shape]};
        a[1] = (Attr){.key = ATTR_DTYPE, .dtype = DT_F32};
        break;
    case OP_DATA:
    case OP_FULL:
        o[0] = (Operand){.kind = IN_IMM_FLOAT, .f = rand_below(&r, 3)};
        a[0] = (Attr){.key = ATTR_SHAPE, .n = 2, .ints = shapes[s->shape]};
        a[1] = (Attr){.key = ATTR_DTYPE, .dtype = DT_F32};
        in.n_attr = 2;
        if (s->op == OP_FULL) break;
        in.n_in = 0;
        in.payload = large->data, in.payload_bytes = s->shape % 3 ? 256 : 64 * 256;
        if (s->shape != 3) break; /* too large for the head: kept by reference */
        ints[0] = LARGE / 4, ints[1] = 4;
        a[0].ints = ints;
        in.payload_bytes = 4 * LARGE, in.payload_buf = large;
        break;
    case OP_SIGNAL_ENTER:
    case OP_SIGNAL_EXIT:
        a[0] = (Attr){.key = ATTR_NAME, .n = 1, .str = "a"};
        in.n_in = in.n_out = 0, in.n_attr = 1;
        break;
    case OP_SYNC: in.n_in = 0; /* fall through */
    case OP_FETCH: in.n_out = 0; break;
    default: break;
    }
    return in;
}

static void round_of(const Loop *l) {
    uint64_t made[STEPS], next[VARIABLES], first = next_id;
    Operand dead[STEPS + VARIABLES + 1], o[3];
    int n_dead = 0;
    for (int i = 0; i < l->n; i++) {
        if (rarely() && l->step[0].op != OP_SIGNAL_ENTER) i++;
        if (rarely()) next_id += 1 + (uint64_t)rand_below(&r, 3); /* some ids are left out */
        if (i >= l->n) break;
        Inst in = inst_of(l, &l->step[i], made, o);
        made[i] = in.n_out ? next_id : variable[0];
        for (int k = 0; k < in.n_out; k++) in.out[k] = next_id++;
        put(&in);
        if (in.n_out < 2) continue;
        o[2] = operand(in.out[1]);
        put(&(Inst){.op = OP_FREE, .n_in = 1, .in = &o[2]});
        if (i + 1 < l->n) made[i + 1] = variable[0]; /* should it be skipped */
    }
    memcpy(next, variable, sizeof next);
    for (int v = 0; v < VARIABLES; v++) {
        if (l->keeps[v] < 0 || made[l->keeps[v]] < first) continue;
        dead[n_dead++] = operand(variable[v]);
        next[v] = made[l->keeps[v]];
    }
    for (int i = 0; i < l->n; i++) {
        bool is_kept = made[i] < first;
        for (int v = 0; v < VARIABLES; v++) is_kept |= next[v] == made[i];
        if (!is_kept) dead[n_dead++] = operand(made[i]);
    }
    if (n_dead && rarely()) dead[n_dead] = dead[0], n_dead++;
    if (n_dead) put(&(Inst){.op = OP_FREE, .n_in = (uint16_t)n_dead, .in = dead});
    memcpy(variable, next, sizeof next);
    edge();
}

/* Instructions that never repeat. */
static void strew(int n) {
    for (int i = 0; i < n; i++) {
        Operand o[2] = {operand(variable[rand_below(&r, VARIABLES)]), operand(next_id)};
        Inst in = {.op = rand_below(&r, 2) ? OP_NEG : OP_RELU, .n_in = 1, .in = o, .n_out = 1};
        in.out[0] = next_id++;
        in.pos.line = 1000 + (uint32_t)rand_below(&r, 100000);
        put(&in);
        put(&(Inst){.op = OP_FREE, .n_in = 1, .in = &o[1]});
    }
}

static void define_scope(void) {
    static const int64_t axis[] = {0};
    Attr attr[] = {{.key = ATTR_NAME, .n = 1, .str = "a"},
                   {.key = ATTR_AXIS, .n = 1, .ints = axis}};
    put(&(Inst){.op = OP_SIGNAL_DEFINE, .n_attr = 2, .attr = attr});
}

static void begin(void) {
    static const DetectorConfig looks = {2, 2, 1000, .expand_max = 64};
    seq = next_id = n_sent = 0;
    w = (FrameWriter){.edge_id = style.has_distances ? 0 : UINT64_MAX};
    for (int i = 0; i < 2; i++) {
        DispatcherConfig c = {.workers_wanted = n_workers, .seed = rand_u64(&r)};
        if (rand_below(&r, 2)) c.slice = 1 + (uint32_t)rand_below(&r, 99);
        if (i) c.hot = looks;
        side[i] = (Side){.d = dispatcher_new(&c)};
        for (PeerId p = 1; p <= (PeerId)n_workers; p++) hello(&side[i], p, ROLE_WORKER);
        hello(&side[i], ANN, ROLE_CLIENT);
    }
    define_scope();
    for (int v = 0; v < VARIABLES; v++) replace(v);
}

static void end(void) {
    send_frame();
    detector_free(&own);
    for (int i = 0; i < 2; i++) {
        dispatcher_free(&side[i].d);
        for (int p = 1; p <= n_workers; p++) {
            bodies_fini(&side[i].known[p]);
            bodies_fini(&side[i].placed[p]);
        }
        bytes_fini(&side[i].sent), bytes_fini(&side[i].told);
    }
}

/* From here on the client looks for bodies itself, with an empty table. */
static void begin_own(void) {
    static const DetectorConfig looks = {1, 2, 1000, .expand_max = 64};
    static const DetectorHost host = {.define = define};
    own = detector_new(&looks, &host);
    style.has_edges = true;
    for (int k = rand_below(&r, 2) * 40; k > 0; k--) { /* failed trials: looking stops */
        strew(100);
        arena_reset(&arena);
    }
    detector_break(own, &w);
    edge();
}

/* A frame with a large payload in its head is forwarded as it is: nothing is copied. */
static void test_large(void) {
    enum { BYTES = 600 << 10 };
    static const int64_t shape[] = {BYTES};
    Attr attr[] = {{.key = ATTR_SHAPE, .n = 1, .ints = shape}, {.key = ATTR_DTYPE, .dtype = DT_U8}};
    Loop l = {.n = 1, .step = {{.op = OP_NEG}}, .keeps = {-1, -1, -1, -1, -1}};
    n_workers = 1;
    style = (Style){.has_edges = true};
    begin();
    for (int i = 0; i < 1000; i++) round_of(&l);
    send_frame();
    CHECK(side[1].n_hot > 500);
    Inst in = {.op = OP_DATA, .n_attr = 2, .attr = attr, .n_out = 1, .out = {next_id++}};
    in.payload = xcalloc(BYTES, 1), in.payload_bytes = BYTES;
    for (int i = 0; i < MAX_MSG_PARTS; i++) { /* payloads in parts first, as many as are allowed */
        Inst small = in;
        small.payload_bytes = INLINE_BYTES + 8, small.payload_buf = NULL;
        int64_t bytes = INLINE_BYTES + 8;
        Attr shorter[] = {{.key = ATTR_SHAPE, .n = 1, .ints = &bytes}, attr[1]};
        small.attr = shorter;
        if (i == MAX_MSG_PARTS - 1) small = in;
        if (!w.head) frame_begin(&w, 1, seq);
        small.out[0] = next_id++;
        frame_add(&w, &small);
        seq++;
    }
    CHECK_INT(w.n_parts, MAX_MSG_PARTS - 1);
    side[1].largest = 0;
    send_frame();
    CHECK(side[1].largest > BYTES);
    for (int i = 0; i < 1000; i++) round_of(&l);
    free((void *)in.payload);
    end();
}

/* Without edges, repetitions are also found in frames for a group of workers. */
static void test_placed(void) {
    Loop l = {.n = 4, .keeps = {2, -1, -1, -1, -1}};
    l.step[0].op = OP_SIGNAL_ENTER, l.step[3].op = OP_SIGNAL_EXIT;
    l.step[1] = (Step){.op = OP_ADD, .in = {0, 1}};
    l.step[2] = (Step){.op = OP_SUB, .in = {VARIABLES + 1, 1}};
    n_workers = WORKERS;
    style = (Style){.has_edges = false};
    begin();
    for (int i = 0; i < 2000; i++) {
        round_of(&l);
        arena_reset(&arena);
    }
    send_frame();
    CHECK(counter(&side[1], "\nsent_hot_instructions=") > 8000);
    CHECK_INT(counter(&side[0], "\nsent_hot_instructions="), 0); /* bodies end at edges only */
    end();
}

/* In runs without differing iterations and without bodies of the client's; and runs of clients that
 * had some. */
static long n_found, n_rounds, n_own;

static void run(void) {
    style = (Style){.has_edges = rand_below(&r, 2),
                    .has_distances = rand_below(&r, 2),
                    .cuts = rand_below(&r, 2),
                    .odd = rand_below(&r, 3) ? 1 + rand_below(&r, 40) : 0};
    begin();
    Loop loop[LOOPS];
    uint64_t in_rounds = 0;
    for (int i = 0; i < LOOPS; i++) loop_new(&loop[i]);
    for (int k = 0; k < 20 && !check_failed; k++) {
        const Loop *l = &loop[rand_below(&r, LOOPS)];
        if (rand_below(&r, 6) == 0) define_scope();
        if (rand_below(&r, 4) == 0) replace(rand_below(&r, VARIABLES));
        if (rand_below(&r, 3) == 0) strew(rand_below(&r, 100));
        uint64_t before = n_sent;
        for (int n = rand_below(&r, 120); n > 0; n--) round_of(l);
        in_rounds += n_sent - before;
        send_frame();
        if (counter(&side[0], "\nrefused_instructions=") > REFUSED) break;
        arena_reset(&arena);
        if (!own && k > 12 && rand_below(&r, 6) == 0) begin_own();
    }
    if (!own && !style.odd) {
        n_found += counter(&side[1], "\nfound_instructions=");
        n_rounds += (long)in_rounds;
    }
    n_own += own && side[1].n_bodies > side[0].n_bodies && side[0].n_hot;
    end();
}

/* The last ids before the limit are refused, as in a frame that is not written anew; later
 * instructions have no smaller ids to refer to. */
static void test_last_id(void) {
    Loop l = {.n = 1, .step = {{.op = OP_NEG}}, .keeps = {-1, -1, -1, -1, -1}};
    n_workers = 1;
    style = (Style){.has_edges = true};
    begin();
    for (int i = 0; i < 1000; i++) round_of(&l);
    send_frame();
    CHECK(side[1].n_hot > 0);
    Operand o = operand(variable[0]);
    Inst in = {.op = OP_NEG, .n_in = 1, .in = &o, .n_out = 1, .out = {UINT64_MAX - MAX_OUT}};
    FrameWriter last = {.edge_id = UINT64_MAX, .next_id = next_id};
    frame_begin(&last, 1, seq);
    frame_add(&last, &in);
    last.next_id = next_id;
    frame_add(&last, &(Inst){.op = OP_EDGE});
    Msg m;
    frame_end(&last, &m);
    seq += 2;
    for (int i = 0; i < 2; i++) {
        side[i].told.n = side[i].sent.n = 0;
        Msg copy = {.n = 1, .part = {buf_copy(m.part[0]->data, m.part[0]->n)}};
        say(&side[i], ANN, &copy);
    }
    msg_fini(&m);
    CHECK(side[0].told.n > 0 && side[0].told.n == side[1].told.n &&
          !memcmp(side[0].told.data, side[1].told.data, side[0].told.n));
    CHECK(side[0].sent.n == side[1].sent.n);
    round_of(&l);
    send_frame();
    end();
}

int main(int argc, char **argv) {
    seed = rand_seed(argc, argv);
    int runs = argc > 2 ? atoi(argv[2]) : rand_rounds(8);
    r = (Rand){seed};
    large = buf_new(4 * LARGE);
    large->n = 4 * LARGE;
    memset(large->data, 0, large->n);
    test_large();
    test_placed();
    test_last_id();
    for (int i = 0; i < runs && !check_failed; i++) {
        n_workers = i % 2 ? WORKERS : 1;
        run();
    }
    printf("%ld of %ld instructions were found, %ld clients had bodies of their own then\n",
           n_found, n_rounds, n_own);
    CHECK(n_rounds < 5000 || (2 * n_found > n_rounds && n_own > 0));
    arena_fini(&arena), arena_fini(&scratch);
    buf_unref(&large);
    return check_report("intake");
}
