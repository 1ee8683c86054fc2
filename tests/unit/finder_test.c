/* finder_test.c: clients that do not look for hot bodies themselves. The same frames, in full, go
 * to a dispatcher that looks for bodies in them and to one that does not: loops with all edges,
 * some or none, iterations that differ, shapes and values that change, poisoned or missing ids,
 * scopes, payloads, frames that end anywhere; later the client defines bodies itself, with its own
 * numbers. Workers must get the same instructions, clients the same errors, and the tables must be
 * equal; most repetitions must be found.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/state.h"
#include "tests/unit/random_loop.h"

/* Workers are peers from 1 on. */
enum { REFUSED = 2000 }; /* errors after which a run ends, before the client is ended */
enum { WORKERS = 3, ANN = 10, LOOPS = 4, LARGE = 40000 };

/* One of the two dispatchers. */
typedef struct Side {
    Dispatcher *d;
    Bodies known[WORKERS + 1];  /* the bodies that workers know ... */
    Bodies placed[WORKERS + 1]; /* ... and the dispatcher's own, which are not counted */
    Bytes sent, errors;         /* instructions and errors since the last frame */
    uint64_t number;            /* of the last frame that was sent */
    uint64_t n_hot, n_bodies;   /* instructions in hot records; definitions */
    size_t largest;             /* head of a frame */
} Side;

/* How the client writes its frames. */
typedef struct Style {
    bool has_edges, has_distances, cuts; /* cuts: frames end anywhere */
    int odd;                             /* one iteration in so many differs; 0: none does */
} Style;

static Side side[2]; /* one that does not look for bodies, one that does */
static Style style;
static FrameWriter w;
static Detector *own; /* the client's detector; NULL: it writes all in full */
static uint64_t n_sent;
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
            bytes_printf(&s->errors, "%llu %d line %u: %s\n", (unsigned long long)e.seq, e.op,
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
    Msg m = make_hello(role);
    say(s, from, &m);
}

static long counter(const Side *s, const char *name) { return dispatcher_figure(s->d, name); }

static void compare(const char *what, Bytes *a, Bytes *b) {
    CHECK_MSG(same_text(a, b), "seed %llu: %s: in full\n%.*s\nlooked through\n%.*s",
              (unsigned long long)seed, what, (int)a->n, a->data, (int)b->n, b->data);
    a->n = b->n = 0;
}

static void send_frame(void) {
    Msg m;
    if (!w.head) return;
    frame_end(&w, &m);
    for (int i = 0; i < 2; i++) {
        Msg copy = copy_of(&m), ack;
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
    compare("errors", &side[0].errors, &side[1].errors);
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

/* Replaces a variable by another tensor. */
static void replace(int v) {
    double value = rand_below(&r, 3);
    variable[v] = next_id++;
    Inst in = FULL(variable[v], 2, shapes[rand_below(&r, 4)], DT_F32, value);
    in.pos.line = 900;
    put(&in);
}

static void loop_new(Loop *l) {
    static const Op ops[] = {OP_ADD,   OP_MUL,    OP_NEG,  OP_SUM,  OP_SLICE,
                             OP_RANDN, OP_FETCH,  OP_SUB,  OP_FULL, OP_DATA,
                             OP_ADD,   OP_MATMUL, OP_SYNC, OP_DIV,  OP_CUMMAX};
    loop_draw(l, 1 + rand_below(&r, STEPS - 2), ops, 15);
    if (rand_below(&r, 4) == 0 && l->n > 1) /* a nested scope */
        l->step[0].op = OP_SIGNAL_ENTER, l->step[l->n - 1].op = OP_SIGNAL_EXIT;
}

static bool rarely(void) { return style.odd && rand_below(&r, 10 * style.odd) == 0; }

/* o: room for 3 operands. made: the results of the iteration so far. */
static Inst inst_of(const Loop *l, const Step *s, const uint64_t *made, Operand *o) {
    Attr *a = arena_alloc(&arena, 3 * sizeof *a);
    int64_t *ints = arena_alloc(&arena, 8 * sizeof *ints);
    Inst in = step_inst(l, s, made, o, a, ints);
    if (s->op != OP_DATA) return in;
    in.payload = large->data, in.payload_bytes = s->shape % 3 ? 256 : 64 * 256;
    if (s->shape != 3) return in; /* too large for the head: kept by reference */
    ints[0] = LARGE / 4, ints[1] = 4;
    a[0].ints = ints;
    in.payload_bytes = 4 * LARGE, in.payload_buf = large;
    return in;
}

static void round_of(const Loop *l) {
    uint64_t made[STEPS], first = next_id;
    Operand dead[STEPS + VARIABLES + 1], o[3];
    for (int i = 0; i < l->n; i++) {
        if (rarely() && l->step[0].op != OP_SIGNAL_ENTER) i++;
        if (rarely()) next_id += 1 + (uint64_t)rand_below(&r, 3); /* some ids are left out */
        if (i >= l->n) break;
        Inst in = inst_of(l, &l->step[i], made, o);
        made[i] = in.n_out ? next_id : variable[0];
        for (int k = 0; k < in.n_out; k++) in.out[k] = next_id++;
        put(&in);
        if (in.n_out < 2) continue;
        o[2] = of_tensor(in.out[1]);
        put(&(Inst){.op = OP_FREE, OPERANDS(o[2])});
        if (i + 1 < l->n) made[i + 1] = variable[0]; /* should it be skipped */
    }
    int n_dead = loop_end(l, made, first, dead);
    if (n_dead && rarely()) dead[n_dead] = dead[0], n_dead++;
    if (n_dead) put(&(Inst){.op = OP_FREE, .n_in = (uint16_t)n_dead, .in = dead});
    edge();
}

/* Instructions that never repeat. */
static void strew(int n) {
    for (int i = 0; i < n; i++) {
        Operand o[2] = {of_tensor(variable[rand_below(&r, VARIABLES)]), of_tensor(next_id)};
        Inst in = {.op = rand_below(&r, 2) ? OP_NEG : OP_RELU, .n_in = 1, .in = o, .n_out = 1};
        in.out[0] = next_id++;
        in.pos.line = 1000 + (uint32_t)rand_below(&r, 100000);
        put(&in);
        put(&(Inst){.op = OP_FREE, .n_in = 1, .in = &o[1]});
    }
}

static void define_scope(void) {
    Attr axis = attr_ints(ATTR_AXIS, 1, (int64_t[]){0});
    put(&(Inst){.op = OP_SIGNAL_DEFINE, ATTRS(attr_text(ATTR_NAME, "a"), axis)});
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
        bytes_fini(&side[i].sent), bytes_fini(&side[i].errors);
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
    Loop l = {.n = 1, .step = {{.op = OP_NEG}}, .keeps = {-1, -1, -1, -1, -1, -1}};
    n_workers = 1;
    style = (Style){.has_edges = true};
    begin();
    for (int i = 0; i < 1000; i++) round_of(&l);
    send_frame();
    CHECK(side[1].n_hot > 500);
    Inst in = {.op = OP_DATA, SHAPED(1, shape, DT_U8), RESULTS(next_id++)};
    in.payload = xcalloc(BYTES, 1), in.payload_bytes = BYTES;
    for (int i = 0; i < MAX_MSG_PARTS; i++) { /* payloads in parts first, as many as are allowed */
        Inst small = in;
        small.payload_bytes = INLINE_BYTES + 8, small.payload_buf = NULL;
        int64_t bytes = INLINE_BYTES + 8;
        small.attr = (Attr[]){attr_ints(ATTR_SHAPE, 1, &bytes), attr_dtype(DT_U8)};
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
    Loop l = {.n = 4, .keeps = {2, -1, -1, -1, -1, -1}};
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

/* Instructions found and instructions in loops, both in runs where all iterations are equal and the
 * client defines no bodies; the number of runs where it does. */
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

/* The last ids before the limit are refused, also in a frame that is rewritten. Later instructions
 * cannot refer to smaller ids. */
static void test_last_id(void) {
    Loop l = {.n = 1, .step = {{.op = OP_NEG}}, .keeps = {-1, -1, -1, -1, -1, -1}};
    n_workers = 1;
    style = (Style){.has_edges = true};
    begin();
    for (int i = 0; i < 1000; i++) round_of(&l);
    send_frame();
    CHECK(side[1].n_hot > 0);
    Operand o = of_tensor(variable[0]);
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
        side[i].errors.n = side[i].sent.n = 0;
        Msg copy = copy_of(&m);
        say(&side[i], ANN, &copy);
    }
    msg_fini(&m);
    CHECK(side[0].errors.n > 0 && same_text(&side[0].errors, &side[1].errors));
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
    return check_report("finder");
}
