/* detector_test.c: a stream written through a detector reads as it was written. Random loops, of
 * which one may be the beginning of another, with edges anywhere, as instructions or not, gaps in
 * the ids, interruptions, and frames that end anywhere. Most repetitions must be sent as arguments,
 * and a detector must keep within its memory limit.
 * SPDX-License-Identifier: MIT */
#include "runtime/wire/detector.h"
#include "runtime/wire/body.h"
#include "tests/unit/check.h"
#include "tests/unit/random.h"

enum { STEPS = 12, FRAME_MOST = 2 * HOT_INSTS };

static uint64_t seed = 1;
static Rand r;
static FrameWriter w;
static Detector *detector;
static Bodies known;
static uint64_t seq, next_id, n_read, n_hot;
static Arena scratch;
static Inst sent[FRAME_MOST];
static Operand operands[FRAME_MOST];
static int n_sent;
static bool cuts, is_whole; /* whole: no frame ends within an iteration */
static bool is_whole; /* frames must not end within an iteration */

static void read_all(void) {
    Msg m;
    FrameReader f;
    Inst in;
    int i = 0;
    Err err = {0};
    if (!w.head) return;
    frame_end(&w, &m);
    CHECK(frame_open(&f, &m, NULL));
    f.bodies = &known;
    bodies_sweep(&known);
    while (frame_next(&f, &scratch, &in, NULL, NULL, &err) == 1) {
        n_hot += f.is_hot;
        if (in.op == OP_BODY) continue;
        const Inst *want = &sent[i++];
        bool same = i <= n_sent && in.op == want->op && in.n_in == want->n_in &&
                    in.n_out == want->n_out && (!in.n_out || in.out[0] == want->out[0]) &&
                    (!in.n_in || in.in[0].id == want->in[0].id) && f.inst_seq == seq &&
                    in.pos.line == want->pos.line;
        CHECK_MSG(same, "seed %llu: instruction %llu", (unsigned long long)seed,
                  (unsigned long long)seq);
        seq++, n_read++;
    }
    CHECK_MSG(!err.code && i == n_sent, "seed %llu: %s", (unsigned long long)seed, err.text);
    CHECK(!is_whole || !f.is_hot || f.hot_at == 0);
    n_sent = 0;
    msg_fini(&m);
    arena_reset(&scratch);
}

static void make_room(void) {
    if (w.head && (frame_is_full(&w) || (cuts && rand_below(&r, 50) == 0))) read_all();
    if (!w.head) frame_begin(&w, 1, seq);
}

static void define(void *ctx, FrameWriter *to, const Inst *body) {
    make_room();
    frame_insert(to, body);
}

static void put(Op op, uint64_t in, int n_out, uint32_t line) {
    make_room();
    Operand *o = &operands[n_sent];
    Inst *inst = &sent[n_sent++];
    *o = (Operand){.kind = IN_TENSOR, .id = in};
    *inst = (Inst){.op = op, .n_in = op != OP_EDGE, .in = o, .n_out = (uint8_t)n_out};
    inst->pos.line = line;
    if (n_out) inst->out[0] = next_id++;
    frame_add(&w, inst);
    detector_added(detector, &w);
}

static void edge(bool is_put_in) {
    frame_edge(&w, next_id);
    detector_edge(detector, &w, is_put_in);
}

static void end_frame(void *ctx, FrameWriter *to) { read_all(); }

static void start(DetectorConfig config) {
    DetectorHost host = {.define = define, .end_frame = is_whole ? end_frame : NULL};
    w = (FrameWriter){0};
    seq = next_id = 0;
    detector = detector_new(&config, &host);
}

static void end(void) {
    read_all();
    frame_expect(&w, NULL, 0);
    detector_free(&detector);
    bodies_fini(&known);
}

/* Few kinds of instructions, so that bodies begin alike and continue where another begins. Edges
 * are early, late or missing. */
static void test_any(void) {
    static const Op ops[] = {OP_NEG, OP_RELU, OP_FREE};
    start((DetectorConfig){.threshold = 1 + (uint32_t)rand_below(&r, 3),
                           .min = 1 + (uint32_t)rand_below(&r, 3),
                           .window = rand_below(&r, 4) ? 1000 : 5,
                           .expand_max = rand_below(&r, 2) ? 3 : 100,
                           .seed = rand_u64(&r)});
    cuts = rand_below(&r, 2);
    bool is_put_in = rand_below(&r, 2);
    int wild = rand_below(&r, 3) ? 12 : 0, pattern[STEPS], n = 1 + rand_below(&r, STEPS);
    for (int k = 0; k < 3000; k++) {
        if (k % 300 == 0 || rand_below(&r, 100) == 0) { /* another loop, perhaps a longer one */
            n = rand_below(&r, 2) && 2 * n <= STEPS ? 2 * n : 1 + rand_below(&r, STEPS);
            for (int i = 0; i < n; i++)
                pattern[i] =
                    i >= n / 2 && rand_below(&r, 2) ? pattern[i - n / 2] : rand_below(&r, 3);
        }
        uint64_t first = next_id;
        for (int i = 0; i < n; i++) {
            Op op = ops[pattern[i]];
            uint64_t in = next_id > first ? next_id - 1 : (uint64_t)rand_below(&r, 1000);
            put(op, in, op != OP_FREE, 1 + (uint32_t)pattern[i]);
            if (wild && rand_below(&r, 10 * wild) == 0) edge(true);
            if (wild && rand_below(&r, 20 * wild) == 0) next_id += 3;
            if (wild && rand_below(&r, 40 * wild) == 0) detector_break(detector, &w);
        }
        if (wild && rand_below(&r, wild) == 0) continue;
        if (!is_put_in) put(OP_EDGE, 0, 0, 0);
        edge(is_put_in);
    }
    end();
}

/* Edges at the right places, as calls: all but the first iterations are arguments. */
static void test_due(void) {
    start((DetectorConfig){.threshold = 2, .min = 2, .window = 1000, .expand_max = 100});
    cuts = false;
    uint64_t before = n_hot, all = n_read;
    for (int k = 0; k < 5000; k++) {
        Inst in = {.op = k % 5 ? OP_NEG : OP_RELU, .n_out = 1, .pos = {.line = 1 + k % 5u}};
        if (detector_is_edge_due(detector, &in)) edge(true);
        put(in.op, next_id - 1, 1, in.pos.line);
        put(OP_FREE, next_id - 2, 0, in.pos.line);
        if (k == 2500) put(OP_FREE, 0, 0, 77); /* one more, which belongs to no iteration */
    }
    DetectorCounts c = detector_counts(detector);
    end();
    CHECK_MSG((n_hot - before) * 100 > (n_read - all) * 97, "%llu of %llu",
              (unsigned long long)(n_hot - before), (unsigned long long)(n_read - all));
    CHECK(c.bodies < 6 && c.runs > 950);
}

/* Repetitions with edges or without, and instructions that do not repeat. */
static void test_repeats(void) {
    DetectorConfig config = {.threshold = 2, .min = 2, .window = 1000, .expand_max = 100};
    for (int how = 0; how < 4; how++) {
        bool has_edges = how & 1, is_loop = how & 2;
        start(config);
        uint32_t period = 0, n = 0;
        for (int k = 0; k < 20000 && !period; k++) {
            Inst in = {.op = OP_NEG, .n_out = 1, .pos = {.line = 1 + (uint32_t)k % 7}};
            if (!is_loop) in.pos.line = (uint32_t)rand_u64(&r);
            period = detector_repeats(detector, &in);
            n++;
            if (!period && has_edges && k % 7 == 6)
                period = detector_repeats(detector, &(Inst){.op = OP_EDGE});
        }
        CHECK_INT(period, is_loop ? 7 + has_edges : 0);
        CHECK(!is_loop || n < 50);
        end();
    }
}

/* However full the frame is when a loop becomes hot: frames end between its iterations. */
static void test_whole(void) {
    is_whole = true;
    for (uint32_t before = 0; before < FRAME_INSTS; before++) {
        start((DetectorConfig){.threshold = 2, .min = 2, .window = 1000, .expand_max = 1000});
        for (uint32_t i = 0; i < before; i++) put(OP_FREE, i, 0, 100 + i);
        for (uint32_t k = 0; k < 50 * 300; k++) {
            put(OP_NEG, next_id - 1, 1, k % 50);
            if (k % 50 == 49) edge(true);
        }
        end();
    }
    is_whole = false;
}

static void long_round(uint32_t body) {
    for (int i = 0; i < 12000; i++) put(OP_NEG, next_id - 1, 1, body);
    edge(true);
    read_all();
}

/* The forms of its bodies stay within the limit: two of these fit and stay. */
static void test_bytes(void) {
    DetectorConfig config = {.threshold = 1, .min = 1, .window = 16000, .expand_max = 1};
    config.bytes_max = 1; /* less than one body may have */
    start(config);
    cuts = false;
    for (uint32_t body = 0; body < 12; body++) {
        long_round(body);
        CHECK_INT(detector_counts(detector).bodies, body < 2 ? body + 1 : 2);
        CHECK(known.n_bytes <= BODY_BYTES);
    }
    uint64_t before = n_hot;
    for (uint32_t body = 0; body < 2; body++) long_round(body);
    CHECK_INT(n_hot - before, 24000);
    end();
}

int main(int argc, char **argv) {
    seed = rand_seed(argc, argv);
    int runs = argc > 2 ? atoi(argv[2]) : rand_rounds(60);
    r = (Rand){seed};
    test_due();
    test_repeats();
    test_whole();
    test_bytes();
    uint64_t before = n_hot, all = n_read;
    for (int i = 0; i < runs && !check_failed; i++) test_any();
    CHECK_MSG(2 * (n_hot - before) > n_read - all, "%llu of %llu",
              (unsigned long long)(n_hot - before), (unsigned long long)(n_read - all));
    printf("%llu of %llu instructions were hot\n", (unsigned long long)(n_hot - before),
           (unsigned long long)(n_read - all));
    arena_fini(&scratch);
    return check_report("detector");
}
