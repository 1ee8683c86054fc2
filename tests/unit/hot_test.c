/* hot_test.c: hot bodies in the dispatcher. The same random loops go to two dispatchers, in full to
 * one and as hot records to the other, with shapes and values that change, ids that are poisoned,
 * scopes that are entered, left and redefined, one worker or several, and frames that end anywhere.
 * Workers must get the same frames (of forwarded frames: the same instructions), clients the same
 * errors, and the tables must be equal. A third dispatcher writes no hot bodies itself: its workers
 * must get the same instructions. At each instruction a worker's `scope` must be that of the
 * client.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/map.h"
#include "runtime/layout/config.h"
#include "runtime/layout/place.h"
#include "runtime/wire/wire_peer.h"
#include "tests/unit/random_loop.h"

/* Workers are peers from 1 on. */
enum { WORKERS = 4, ANN = 10, BODIES = 4 };
enum { SENT_MAX = 4096, GROUPS = 600 };

/* The instructions that a worker got. */
typedef struct Sent {
    PeerId to;
    bool is_hot; /* as instructions */
    Bytes text;
    Msg m;
} Sent;

/* One of the dispatchers. */
typedef struct Side {
    Dispatcher *d;
    FrameWriter w;
    Bodies known[WORKERS + 1], placed[WORKERS + 1]; /* the bodies that workers know */
    Sent sent[SENT_MAX];
    int n_sent;
    bool group[GROUPS][WORKERS + 1]; /* by number: members */
    Map live[WORKERS + 1];           /* ids of its tensors */
    Bytes does[WORKERS + 1];         /* messages to it, as text */
    bool compiles[WORKERS + 1];      /* by its last `scope` */
    long n_hot;
    Bytes errors;
} Side;

static long n_moves;
static long n_compiled; /* instructions of workers for which `compile` was on */
enum { SIDES = 3 };
static Side side[SIDES]; /* in full; hot; as the first, to one that writes no bodies */
static Bodies bodies;
static Bytes forms;

/* The client's open signals: of those that set `compile`, the innermost decides. */
enum { DEPTH_MAX = 128 };
static struct {
    Config signals;
    char open[DEPTH_MAX]; /* names: one letter each */
    int depth;
    Bytes compiles; /* by instruction: 1 if `compile` is on after it */
} user;

static void user_does(const Inst *in) {
    const Attr *name = inst_attr(in, ATTR_NAME);
    Err err;
    int i = user.depth - 1;
    if (in->op == OP_SIGNAL_DEFINE) config_define(&user.signals, in, &err);
    CHECK(user.depth < DEPTH_MAX);
    if (in->op == OP_SIGNAL_ENTER) user.open[user.depth++] = name->str[0];
    if (in->op == OP_SIGNAL_EXIT) {
        while (i >= 0 && user.open[i] != name->str[0]) i--;
        if (i >= 0) user.depth = i;
    }
    const SignalConfig *s = NULL;
    for (i = user.depth - 1; i >= 0 && !(s && (s->has & HAS_COMPILE)); i--)
        s = config_find(&user.signals, &user.open[i], 1);
    bytes_putc(&user.compiles, s && (s->has & HAS_COMPILE) && s->compile);
}

/* Compares the instructions that worker `to` executes; frames may end elsewhere and have other
 * recipients. */
static void take_part(Side *s, PeerId to, const FrameReader *f, const Inst *in) {
    int64_t on = inst_int(in, ATTR_ON, 0), from = inst_int(in, ATTR_FROM, 0);
    CHECK(on >= 0 && on < GROUPS && from >= 0 && from < GROUPS);
    Inst out = *in;
    Operand left[64];
    if (in->op == OP_SCOPE) {
        s->compiles[to] = in->attr[0].b;
        return;
    }
    if (in->op == OP_FREE) {
        out.in = left, out.n_in = 0;
        for (int i = 0; i < in->n_in && i < 64; i++)
            if (map_remove(&s->live[to], in->in[i].id)) left[out.n_in++] = in->in[i];
        if (!out.n_in) return;
    } else if (!s->group[on][to] && !s->group[from][to]) {
        return;
    }
    if (op_has_place(in->op)) {
        CHECK_MSG(s->compiles[to] == user.compiles.data[f->inst_seq],
                  "seed %llu: at %llu, w%d has another `scope`", (unsigned long long)seed,
                  (unsigned long long)f->inst_seq, (int)to);
        n_compiled += s->compiles[to];
    }
    for (int i = 0; i < in->n_out && s->group[on][to]; i++) map_put(&s->live[to], in->out[i], s);
    bytes_printf(&s->does[to], "%llu%s%s ", (unsigned long long)f->inst_seq,
                 f->is_inserted ? "+" : "", s->compiles[to] ? "!" : "");
    inst_print(&out, NULL, &s->does[to]);
    bytes_putc(&s->does[to], '\n');
}

/* Consumes m. */
static void take_frame(Side *s, PeerId to, Msg *m) {
    FrameReader f;
    Inst in;
    int rc;
    bool defines = false;
    Sent *sent = &s->sent[s->n_sent];
    CHECK(s->n_sent < SENT_MAX && to <= (PeerId)n_workers && frame_open(&f, m, NULL));
    *sent = (Sent){.to = to};
    f.bodies = &s->known[to], f.placed = &s->placed[to];
    s->placed[to].may_insert = true;
    bytes_printf(&sent->text, "w%d from %llu, number %llu\n", (int)to, (unsigned long long)f.seq,
                 (unsigned long long)f.number);
    while ((rc = frame_next(&f, &scratch, &in, NULL, NULL, NULL)) > 0) {
        sent->is_hot |= f.is_hot;
        s->n_hot += f.is_hot && f.hot_body == bodies_get(&s->placed[to], f.hot_body->number);
        if (n_workers > 1) take_part(s, to, &f, &in);
        defines |= in.op == OP_BODY || in.op == OP_NOTE; /* in a frame of its own */
        bytes_printf(&sent->text, "%llu%s ", (unsigned long long)f.inst_seq,
                     f.is_inserted ? "+" : "");
        inst_print(&in, NULL, &sent->text);
        bytes_putc(&sent->text, '\n');
    }
    CHECK(rc == 0);
    if (defines) {
        bytes_fini(&sent->text);
        msg_fini(m);
        return;
    }
    msg_move(&sent->m, m);
    s->n_sent++;
}

static void take(Side *s) {
    PeerId to;
    bool drop;
    Msg m;
    while (dispatcher_next(s->d, &to, &m, &drop)) {
        CHECK(!drop);
        if (wire_kind(&m) == MSG_FRAME) {
            take_frame(s, to, &m);
        } else if (wire_kind(&m) == MSG_GROUP) {
            uint32_t id;
            int32_t rank[MAX_INTS];
            int n;
            CHECK(wire_read_group(&m, &id, rank, &n, NULL) && id < GROUPS);
            for (int i = 0; i < n; i++) s->group[id][rank[i] + 1] = true;
        } else if (wire_kind(&m) == MSG_BODY) {
            uint32_t client;
            uint64_t number;
            const void *body;
            size_t n;
            CHECK(wire_read_body(&m, &client, &number, &body, &n, NULL) &&
                  bodies_define(&s->known[to], number, body, n, NULL));
        } else if (to == ANN && wire_kind(&m) == MSG_ERROR) {
            Failure e;
            CHECK(wire_read_failure(&m, &e, NULL));
            bytes_printf(&s->errors, "%llu %d %s\n", (unsigned long long)e.seq, e.op, e.err.text);
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

/* A third dispatcher gets the second one's frames, some with a few bytes changed. It may only
 * refuse them and disconnect the client (ASan). */
static Dispatcher *victim;

static void victim_new(void) {
    victim = dispatcher_new(
        &(DispatcherConfig){.client_bytes_max = 100000, .workers_wanted = n_workers, .slice = 5});
    Msg m;
    for (PeerId w = 1; w <= (PeerId)n_workers; w++) {
        m = make_hello(ROLE_WORKER);
        dispatcher_on_message(victim, w, &m, 0);
    }
    m = make_hello(ROLE_CLIENT);
    dispatcher_on_message(victim, ANN, &m, 0);
}

static void hurt(const Msg *m) {
    Msg copy = copy_of(m), out;
    for (int k = rand_below(&r, 8) ? 0 : 1 + rand_below(&r, 3); k > 0; k--) {
        uint8_t *at = copy.part[0]->data + 32 + rand_below(&r, (int)copy.part[0]->n - 32);
        *at = (uint8_t)(rand_below(&r, 2) ? *at ^ 1 << rand_below(&r, 8) : rand_below(&r, 256));
    }
    dispatcher_on_message(victim, ANN, &copy, 0);
    while (dispatcher_go_on(victim)) continue;
    PeerId to;
    bool drop, is_cut_off = false;
    while (dispatcher_next(victim, &to, &out, &drop)) {
        is_cut_off |= drop;
        msg_fini(&out);
    }
    for (PeerId w = 1; w <= (PeerId)n_workers; w++) {
        wire_ack(&(Ack){.client = 1, .seq = seq}, &out);
        dispatcher_on_message(victim, w, &out, 0);
    }
    if (!is_cut_off) return;
    dispatcher_free(&victim);
    victim_new();
}

static bool same_bytes(const Msg *a, const Msg *b) {
    bool same = a->n == b->n;
    for (int i = 0; i < a->n && same; i++)
        same = a->part[i]->n == b->part[i]->n &&
               !memcmp(a->part[i]->data, b->part[i]->data, a->part[i]->n);
    return same;
}

static void compare_sent(void) {
    CHECK_INT(side[1].n_sent, side[0].n_sent);
    for (int i = 0; i < side[0].n_sent && i < side[1].n_sent && !check_failed; i++) {
        const Sent *a = &side[0].sent[i], *b = &side[1].sent[i];
        bool same = a->to == b->to && same_text(&a->text, &b->text);
        CHECK_MSG(same, "seed %llu: in full\n%s\nhot\n%s", (unsigned long long)seed, a->text.data,
                  b->text.data);
        CHECK_MSG(b->is_hot || same_bytes(&a->m, &b->m), "seed %llu: other bytes for\n%s",
                  (unsigned long long)seed, a->text.data);
    }
    for (PeerId w = 1; w <= (PeerId)n_workers && !check_failed; w++) {
        Bytes *a = &side[2].does[w], *b = &side[0].does[w];
        CHECK_MSG(same_text(a, b), "seed %llu, w%d: in full\n%.*s\nhot\n%.*s",
                  (unsigned long long)seed, (int)w, (int)a->n, a->data, (int)b->n, b->data);
        for (int i = 0; i < SIDES; i++) side[i].does[w].n = 0;
    }
    for (int i = 0; i < SIDES; i++) {
        for (int k = 0; k < side[i].n_sent; k++) {
            bytes_fini(&side[i].sent[k].text);
            msg_fini(&side[i].sent[k].m);
        }
        side[i].n_sent = 0;
    }
}

static void acknowledge(Side *s) {
    for (PeerId w = 1; w <= (PeerId)n_workers; w++) {
        Msg m;
        wire_ack(&(Ack){.client = 1, .seq = seq}, &m);
        say(s, w, &m);
    }
}

static void third(const Msg *m) {
    Msg copy = copy_of(m);
    CHECK(m->n == 1);
    say(&side[2], ANN, &copy);
    acknowledge(&side[2]);
}

static void send_frames(void) {
    for (int i = 0; i < 2; i++) {
        Side *s = &side[i];
        Msg m;
        if (!s->w.head) continue;
        frame_end(&s->w, &m);
        if (i) hurt(&m);
        if (!i) third(&m);
        say(s, ANN, &m);
        acknowledge(s);
    }
    arena_reset(&scratch);
    compare_sent();
    if (side[0].errors.n)
        CHECK_MSG(side[1].errors.n && !strcmp(side[0].errors.data, side[1].errors.data),
                  "seed %llu: in full\n%s\nhot\n%s", (unsigned long long)seed, side[0].errors.data,
                  side[1].errors.data);
    else
        CHECK(side[1].errors.n == 0);
    static const char *counters[] = {"\ntensors=", "\nbytes=", "\nplaced=", "\nmoves="};
    for (int i = 0; i < 4; i++)
        CHECK_INT(counter(&side[1], counters[i]), counter(&side[0], counters[i]));
    for (int i = 0; i < SIDES; i++) side[i].errors.n = 0;
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
    user_does(plain);
    seq++;
}

static const int64_t home_shapes[][2] = {{2, 3}, {1, 3}, {4, 3}, {2, 1}}, /* on one worker */
    large_shape[] = {64, 4096}; /* placed by the target of `*` */
static uint64_t limit;          /* bytes of the client's limit; 0: none */

static void source(uint64_t id, int shape, DType dtype, double value) {
    Inst in = FULL(id, 2, shapes[shape], dtype, dtype == DT_U8 ? 1 : value);
    add(&in, &in);
}

static void loop_new(Loop *l) {
    static const Op home_ops[] = {OP_ADD,  OP_MUL,   OP_NEG, OP_SUM,  OP_SLICE,  OP_RANDN,
                                  OP_FULL, OP_FETCH, OP_ADD, OP_SYNC, OP_MAXIMUM};
    static const Op away_ops[] = {OP_ADD,   OP_MUL,  OP_NEG,    OP_SUM,    OP_SLICE,
                                  OP_RANDN, OP_SUB,  OP_MATMUL, OP_FETCH,  OP_FULL,
                                  OP_SHARD, OP_DIV,  OP_ADD,    OP_MATMUL, OP_SUM,
                                  OP_SUB,   OP_SYNC, OP_CUMMAX, OP_PERMUTE};
    bool is_home = n_workers == 1;
    const Op *ops = is_home ? home_ops : away_ops;
    size_t n_ops = is_home ? sizeof home_ops / sizeof *ops : sizeof away_ops / sizeof *ops;
    loop_draw(l, 2 + rand_below(&r, STEPS - 3), ops, (int)n_ops);
    int from = rand_below(&r, l->n), to = rand_below(&r, l->n);
    if (from < to && rand_below(&r, 2)) /* a nested scope */
        l->step[from].op = OP_SIGNAL_ENTER, l->step[to].op = OP_SIGNAL_EXIT;
}

/* Properties that a few of the cases have. */
static bool is_tame;
static bool rarely(void) { return !is_tame && rand_below(&r, 40) == 0; }

/* o: room for 3 operands. made: the results of the steps before. */
static Inst inst_of(const Loop *l, const Step *s, const uint64_t *made, Operand *o) {
    Attr *a = arena_alloc(&arena, 3 * sizeof *a);
    int64_t *ints = arena_alloc(&arena, 8 * sizeof *ints);
    Inst in = step_inst(l, s, made, o, a, ints);
    switch (s->op) {
    case OP_SUB:
        a[0] = (Attr){.key = ATTR_KEEP, .b = true};
        in.n_attr = s->shape > 0;
        break;
    case OP_SUM:
        if (n_workers == 1 || s->shape == 3) in.n_attr = 0;
        break;
    case OP_PERMUTE:
        ints[0] = 1, ints[1] = 0;
        a[0] = attr_ints(ATTR_AXES, 2, ints);
        in.n_attr = 1;
        break;
    case OP_DIV:
    case OP_MUL:
    case OP_MAXIMUM:
        if (s->shape >= 2) o[1] = of_int(rarely() ? 300 : rand_below(&r, 9));
        break;
    case OP_SLICE:
        if (ints[0] == 0) ints[0] = rand_below(&r, 2), ints[1] = rand_below(&r, 2);
        break;
    case OP_RANDN:
        if (!limit && s->shape == 3) a[0].ints = large_shape;
        break;
    default: break;
    }
    return in;
}

/* Adds the form of the instruction that was just written. */
static void learn_form(Bytes *to) {
    size_t bytes, at = to->n;
    const void *form = frame_form(&side[1].w, &bytes);
    if (!form) return;
    bytes_add(to, form, bytes);
    memcpy(to->data + at, &(uint32_t){(uint32_t)bytes}, 4);
}

static Body *define_body(uint64_t number, const Bytes *learnt) {
    send_frames();
    CHECK(bodies_define(&bodies, number, learnt->data, learnt->n, NULL));
    add(&(Inst){.op = OP_NOTE, ATTRS(attr_text(ATTR_FORMAT, "x"))},
        &(Inst){.op = OP_BODY, OPERANDS(of_int((int64_t)number)), BYTES(learnt->data, learnt->n)});
    send_frames();
    return bodies_get(&bodies, number);
}

static void round_of(Loop *l) {
    uint64_t made[STEPS], edge = next_id, id = next_id;
    Inst list[2 * STEPS + 2];
    Operand *dead = arena_alloc(&arena, (STEPS + VARIABLES) * sizeof *dead);
    int n = 0;
    for (int i = 0; i < l->n; i++) {
        Operand *o = arena_alloc(&arena, 3 * sizeof *o);
        Inst in = inst_of(l, &l->step[i], made, o);
        made[i] = in.n_out ? id : edge ? variable[0] : 0;
        for (int k = 0; k < in.n_out; k++) in.out[k] = id++;
        list[n++] = in;
        if (in.n_out < 2) continue;
        o[2] = of_tensor(in.out[1]);
        list[n++] = (Inst){.op = OP_FREE, .n_in = 1, .in = &o[2]};
    }
    int n_dead = loop_end(l, made, edge, dead);
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
        if (learns) learn_form(&forms);
    }
    next_id = id;
    if (!learns) return;
    l->body = define_body(bodies.next, &forms);
}

/* Replaces a variable by another tensor, of any shape. */
static void replace(int v) {
    static const DType dtypes[] = {DT_F32, DT_F16, DT_F64, DT_U8};
    variable[v] = next_id++;
    bool is_f32 = n_workers > 1 && rand_below(&r, 4);
    source(variable[v], rand_below(&r, 4), is_f32 ? DT_F32 : dtypes[rand_below(&r, 4)],
           rand_below(&r, 3));
    if (rand_below(&r, 2)) return;
    Operand o = of_tensor(variable[v]); /* not a constant */
    Inst in = {.op = OP_NEG, OPERANDS(o), RESULTS(next_id++)};
    variable[v] = in.out[0];
    add(&in, &in);
}

/* Redefines a scope, or enters or leaves one. */
static void rescope(int *depth) {
    static const int64_t axes[] = {0, 1};
    int64_t workers[WORKERS];
    Attr attr[5] = {{.key = ATTR_NAME, .n = 1, .str = "a"},
                    {.key = ATTR_AXIS, .n = 1, .ints = &axes[rand_below(&r, 2)]},
                    {.key = ATTR_REPLICATED, .b = rand_below(&r, 4) == 0},
                    {.key = ATTR_WORKERS, .ints = workers},
                    {.key = ATTR_COMPILE, .b = rand_below(&r, 2)}};
    int first = rand_below(&r, n_workers);
    for (int i = first; i < n_workers; i++)
        if (rand_below(&r, 4)) workers[attr[3].n++] = i;
    Inst in = {.op = OP_SIGNAL_DEFINE, .n_attr = 4, .attr = attr};
    if (rand_below(&r, 2)) in.n_attr = 5;
    int what = rand_below(&r, 3);
    if (what == 0) {
        attr[0].str = in.n_attr == 5 || rand_below(&r, 3) ? "a" : "*";
    } else {
        bool enters = what == 1 ? *depth < 2 : *depth == 0;
        in.op = enters ? OP_SIGNAL_ENTER : OP_SIGNAL_EXIT;
        in.n_attr = 1;
        attr[0].str = rand_below(&r, 4) ? "a" : "b";
        *depth += enters ? 1 : -1;
    }
    add(&in, &in);
}

static void begin(void) {
    seq = next_id = 0;
    shapes = n_workers > 1 ? split_shapes : home_shapes;
    for (int i = 0; i < SIDES; i++) {
        setenv("GT_HOTPATH_THRESHOLD", i < 2 ? "2" : "0", 1);
        setenv("GT_HOTPATH_MIN_SEQ", "2", 1);
        side[i].d = dispatcher_new(
            &(DispatcherConfig){.client_bytes_max = limit, .workers_wanted = n_workers});
        side[i].w = (FrameWriter){0};
        for (PeerId w = 1; w <= (PeerId)n_workers; w++) hello(&side[i], w, ROLE_WORKER);
        hello(&side[i], ANN, ROLE_CLIENT);
    }
    victim_new();
}

static void end(void) {
    send_frames();
    dispatcher_free(&victim);
    for (int i = 0; i < SIDES; i++) {
        dispatcher_free(&side[i].d);
        for (int w = 1; w <= n_workers; w++) {
            bodies_fini(&side[i].known[w]);
            bodies_fini(&side[i].placed[w]);
            map_fini(&side[i].live[w]);
            bytes_fini(&side[i].does[w]);
        }
        memset(side[i].group, 0, sizeof side[i].group);
        memset(side[i].compiles, 0, sizeof side[i].compiles);
        bytes_fini(&side[i].errors);
    }
    bodies_fini(&bodies);
    config_fini(&user.signals);
    bytes_fini(&user.compiles);
    user.depth = 0;
}

static long run(int rounds) {
    static const uint64_t limits[] = {100000, 400000, 0};
    limit = limits[n_workers > 1 ? rand_below(&r, 3) : 0];
    begin();
    Loop loop[BODIES];
    int depth = 0;
    for (int i = 0; i < BODIES; i++) loop_new(&loop[i]);
    for (int v = 0; v < VARIABLES; v++) replace(v);
    for (int k = 0; k < rounds; k++) {
        Loop *l = &loop[rand_below(&r, BODIES)];
        arena_reset(&arena);
        if (rand_below(&r, 4) == 0) rescope(&depth);
        for (int i = rand_below(&r, 6); i >= 0; i--) round_of(l);
        if (rand_below(&r, 4) == 0) replace(rand_below(&r, VARIABLES));
    }
    send_frames();
    long passed = counter(&side[1], "\nhot_instructions=");
    n_moves += counter(&side[1], "\nmoves=");
    end();
    return passed;
}

static const int64_t zero[] = {0};
static const Attr axis_0 = {.key = ATTR_AXIS, .n = 1, .ints = zero};

/* One body over tensors of KINDS shapes, all but its first operand's: each is placed after some
 * repetitions. Then as many other shapes once: none of the used ones is evicted. */
enum { KINDS = 150, SHAPED = 3 /* instructions and an edge: one iteration */ };

static Body *shaped_round(const Body *b, uint64_t w, uint64_t x, Bytes *learns) {
    uint64_t edge = next_id;
    Operand made[] = {of_tensor(edge), of_tensor(edge + 1)};
    Inst list[] = {
        {.op = OP_MUL, OPERANDS(of_tensor(w), of_tensor(x)), RESULTS(edge), .pos = {.line = 1}},
        {.op = OP_NEG, OPERANDS(made[0]), RESULTS(edge + 1), .pos = {.line = 2}},
        {.op = OP_FREE, OPERANDS(made[0], made[1]), .pos = {.line = 3}},
        {.op = OP_EDGE}};
    for (int i = 0; i < 2; i++) side[i].w.edge_id = side[i].w.next_id = edge;
    frame_expect(&side[1].w, b, 0);
    next_id += 2;
    for (int i = 0; i <= SHAPED; i++) {
        add(&list[i], &list[i]);
        if (learns) learn_form(learns);
    }
    if (!learns) return NULL;
    return define_body(0, learns);
}

static uint64_t shaped_source(int64_t rows) {
    int64_t shape[] = {rows, 3};
    Inst in = FULL(next_id, 2, shape, DT_F32, 1);
    add(&in, &in);
    return next_id++;
}

static void test_shapes(int workers) {
    n_workers = workers;
    limit = 10000000;
    begin();
    Bytes learns = {0};
    Attr name = {.key = ATTR_NAME, .n = 1, .str = "a"};
    Inst define = {.op = OP_SIGNAL_DEFINE, .n_attr = 2, .attr = (Attr[]){name, axis_0}},
         enter = {.op = OP_SIGNAL_ENTER, .n_attr = 1, .attr = &name};
    add(&define, &define);
    add(&enter, &enter);
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
    /* Except where a frame ends within the body. */
    CHECK_MSG(known > KINDS * (SHAPED + 1) * 9 / 10, "%ld of %d", known, KINDS * (SHAPED + 1));
    end();
    bytes_fini(&learns);
}

/* A client without tensors moves to an idle worker in the middle of a loop. */
static void test_moves_home(void) {
    static const int64_t workers[] = {0, 1};
    Attr attr[] = {{.key = ATTR_NAME, .n = 1, .str = "*"},
                   axis_0,
                   {.key = ATTR_WORKERS, .n = 2, .ints = workers}};
    Inst define = {.op = OP_SIGNAL_DEFINE, .n_attr = 3, .attr = attr}, edge = {.op = OP_EDGE};
    Loop l = {.n = 2, .step = {{.op = OP_RANDN, .shape = 3}, {.op = OP_RANDN, .shape = 0}}};
    for (int v = 0; v < VARIABLES; v++) l.keeps[v] = -1, variable[v] = INSERTED_ID;
    n_workers = 2;
    limit = 0;
    is_tame = true;
    begin();
    add(&define, &define);
    for (int i = 0; i < 5; i++) round_of(&l);
    send_frames();
    for (int i = 0; i < SIDES; i++) {
        Msg m;
        FrameWriter w = {0};
        hello(&side[i], ANN + 1, ROLE_CLIENT);
        hello(&side[i], ANN + 2, ROLE_CLIENT); /* of the same worker, which it keeps busy */
        frame_begin(&w, 1, 0);
        frame_add(&w, &edge);
        frame_end(&w, &m);
        say(&side[i], ANN + 2, &m);
        CHECK_INT(counter(&side[i], "\nw1.clients="), 1);
    }
    for (int i = 0; i < 5; i++) round_of(&l);
    send_frames();
    for (int i = 0; i < 2; i++) CHECK_INT(counter(&side[i], "\nw1.clients="), 2);
    CHECK(counter(&side[1], "\nhot_instructions=") > 10);
    is_tame = false;
    end();
    arena_reset(&arena);
}

int main(int argc, char **argv) {
    seed = rand_seed(argc, argv);
    int runs = argc > 2 ? atoi(argv[2]) : rand_rounds(40);
    long home = 0, away = 0;
    r = (Rand){seed};
    test_moves_home();
    test_shapes(1);
    test_shapes(3);
    for (int i = 0; i < runs && !check_failed; i++) {
        n_workers = i % 2 ? 2 + rand_below(&r, WORKERS - 1) : 1;
        *(n_workers > 1 ? &away : &home) += run(100);
    }
    printf("%ld instructions were known at home, %ld elsewhere, with %ld conversions; %ld were hot "
           "in what was written\n",
           home, away, n_moves, side[0].n_hot);
    CHECK(home > 1000 && away > 1000 && n_moves > 100 && side[0].n_hot > 10000);
    CHECK(side[2].n_hot == 0);
    CHECK_MSG(n_compiled > 1000, "%ld", n_compiled);
    arena_fini(&arena), arena_fini(&scratch);
    bytes_fini(&forms);
    return check_report("hot");
}
