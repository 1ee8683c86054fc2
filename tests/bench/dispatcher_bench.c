/* dispatcher_bench: what the dispatcher's step function costs per instruction with 1, 8, 36 and 72
 * workers, alone: frames of a client in, frames for workers drained, all acknowledged at once.
 *
 *   unsharded     t = t + x; free: one worker does all, the others wait
 *   data-parallel a step over rows that are split over all workers: no conversion
 *   collectives   a gradient step whose weights meet an inserted all_reduce each time
 *   hot           the same, sent as a hot body (runtime/wire/body.h): its arguments alone
 *   found         sent in full, by a client that does not look for bodies: found here, by edges or
 *                 without any, and written anew (dispatcher/hot/finder.h)
 *   in vain       likewise, but nothing comes again
 *   in short frames: each step of 6 instructions is a frame of its own
 *
 * Prints CPU us per instruction of the client: all time in dispatcher_on_message and
 * dispatcher_next, acknowledgements included. The goal is at most 1, for any number of workers.
 * Also prints the part per recipient of a frame (256 instructions at most): that part grows with
 * the workers and must be small.
 *
 * Usage: dispatcher_bench [INSTRUCTIONS [STREAM [WORKERS]]]: only streams that have STREAM in their
 * names; so many workers instead of 72
 * SPDX-License-Identifier: MIT */
#include "runtime/base/clock.h"
#include "tests/unit/cluster_words.h"
#include "dispatcher/dispatcher.h"
#include "runtime/wire/body.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire.h"
#include "tests/bench/figure.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORKERS = 72, CLIENT = 1000 };

typedef struct Bench {
    Dispatcher *d;
    FrameWriter frame;
    Arena arena;         /* of one line */
    uint64_t id, seq;    /* of the client: the next ones */
    bool is_hot, learns; /* a body is sent; its forms are being collected */
    bool has_no_edges;
    Bytes forms;
    Bodies bodies;
    int n_workers;
    bool owes[WORKERS + 1]; /* by peer: it got the frame and has not acknowledged it */
    bool is_timed;
    double us;
    uint64_t n_insts, n_frames, n_sent; /* n_sent: frames by recipient */
} Bench;

static double cpu_us(void) { return (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1e3; }

static _Noreturn void stop(const char *what, const char *why) {
    fprintf(stderr, "dispatcher_bench: %s: %s\n", what, why);
    exit(1);
}

/* ---- The other ends ---- */

/* Of the dispatcher's messages only errors are read: reading must not cost. */
static void drain(Bench *b) {
    PeerId to;
    Msg m;
    bool drop;
    while (dispatcher_go_on(b->d)) continue;
    while (dispatcher_next(b->d, &to, &m, &drop)) {
        MsgKind kind = wire_kind(&m);
        Failure f;
        Err err;
        if (kind == MSG_REFUSE && wire_read_refuse(&m, &err, NULL)) stop("refused", err.text);
        if (kind == MSG_ERROR && wire_read_failure(&m, &f, NULL)) stop("an error", f.err.text);
        if (kind == MSG_FRAME && to <= WORKERS) {
            b->owes[to] = true;
            b->n_sent++;
        }
        msg_fini(&m);
    }
}

static void acknowledge(Bench *b) {
    static Msg acks[WORKERS];
    PeerId from[WORKERS];
    int n = 0;
    for (PeerId peer = 1; peer <= (PeerId)b->n_workers; peer++) {
        if (!b->owes[peer]) continue;
        b->owes[peer] = false;
        Ack a = {.client = 1, .seq = b->seq};
        wire_ack(&a, &acks[n]);
        from[n++] = peer;
    }
    double start = cpu_us();
    for (int i = 0; i < n; i++) dispatcher_on_message(b->d, from[i], &acks[i], 0);
    drain(b);
    if (b->is_timed) b->us += cpu_us() - start;
}

static void hello(Bench *b, PeerId peer, Role role) {
    Msg m = make_hello(role);
    dispatcher_on_message(b->d, peer, &m, 0);
    drain(b);
}

/* Sends the collected forms. */
static void flush(Bench *b) {
    Msg m;
    uint32_t count = b->frame.count;
    if (count == 0) return;
    b->seq += count;
    frame_end(&b->frame, &m);
    double start = cpu_us();
    dispatcher_on_message(b->d, CLIENT, &m, 0);
    drain(b);
    double us = cpu_us() - start;
    if (b->is_timed) b->us += us, b->n_insts += count, b->n_frames++;
    acknowledge(b);
}

static void add(Bench *b, const Inst *inst) {
    size_t n;
    if (b->frame.head && frame_is_full(&b->frame)) flush(b);
    if (!b->frame.head) frame_begin(&b->frame, 1, b->seq);
    frame_add(&b->frame, inst);
    const void *form = b->learns ? frame_form(&b->frame, &n) : NULL;
    if (!form) return;
    uint32_t length = (uint32_t)n;
    bytes_add(&b->forms, form, n);
    memcpy(b->forms.data + b->forms.n - n, &length, sizeof length);
}

/* In hot streams the instructions between the first two edges are the body of all later ones. */
static void edge(Bench *b) {
    b->frame.edge_id = b->frame.next_id;
    if (!b->is_hot || b->bodies.next) return;
    if (!b->learns) {
        b->learns = true;
        return;
    }
    b->learns = false;
    Err err;
    if (!bodies_define(&b->bodies, 0, b->forms.data, b->forms.n, &err)) stop("body", err.text);
    Operand number = {.kind = IN_IMM_INT};
    add(b, &(Inst){.op = OP_BODY,
                   .n_in = 1,
                   .in = &number,
                   .payload = b->forms.data,
                   .payload_bytes = b->forms.n});
    frame_expect(&b->frame, bodies_get(&b->bodies, 0), 0);
}

/* One instruction, as text. */
static void emit(Bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void emit(Bench *b, const char *format, ...) {
    char line[512];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    InstLine l;
    Err err;
    arena_reset(&b->arena);
    if (!inst_parse(line, (size_t)n, &b->arena, &l, &err)) stop(line, err.text);
    if (l.inst.op == OP_EDGE && b->has_no_edges) return;
    l.inst.pos = (SrcPos){.file = 1, .line = 7, .col = 3};
    add(b, &l.inst);
    if (l.inst.op == OP_EDGE) edge(b);
}

#define T(n) (unsigned long long)(n)

/* ---- The streams ---- */

typedef struct Stream {
    const char *name;
    void (*begin)(Bench *b);
    void (*step)(Bench *b);
    bool is_hot, is_short; /* is_short: a frame for each step */
    bool looks, has_no_edges;
} Stream;

static uint64_t x, w, xt; /* the sources that steps read */

static void unsharded_begin(Bench *b) {
    emit(b, "t%llu = full 1 [64,64] f32", T(x = b->id++));
    emit(b, "t%llu = full 1 [64,64] f32", T(w = b->id++));
}

static void unsharded_step(Bench *b) {
    uint64_t t = b->id++;
    emit(b, "t%llu = add t%llu t%llu", T(t), T(w), T(x));
    emit(b, "free t%llu", T(w));
    w = t;
    emit(b, "edge");
}

/* Another operation each time, with an edge now and then. */
static void random_step(Bench *b) {
    static const char *const ops[] = {"add", "sub", "mul", "maximum"};
    static uint64_t random = 1;
    random = random * 6364136223846793005u + 1442695040888963407u;
    uint64_t t = b->id++;
    emit(b, "t%llu = %s t%llu t%llu", T(t), ops[random >> 62], T(w), T(x));
    emit(b, "free t%llu", T(w));
    w = t;
    if (b->id % 8 == 0) emit(b, "edge");
}

static void sharded_begin(Bench *b) {
    emit(b, "signal define whole axis=0 replicated=true");
    emit(b, "signal define rows axis=0 replicated=false");
    emit(b, "signal enter whole");
    emit(b, "t%llu = full 1 [256,256] f32", T(w = b->id++));
    emit(b, "signal exit whole");
    emit(b, "signal enter rows");
    emit(b, "t%llu = full 1 [4608,256] f32", T(x = b->id++));
    emit(b, "t%llu = permute t%llu axes=[1,0]", T(xt = b->id++), T(x));
}

static void parallel_step(Bench *b) {
    uint64_t y = b->id;
    b->id += 5;
    emit(b, "t%llu = matmul t%llu t%llu", T(y), T(x), T(w));
    emit(b, "t%llu = relu t%llu", T(y + 1), T(y));
    emit(b, "t%llu = add t%llu t%llu", T(y + 2), T(y + 1), T(y));
    emit(b, "t%llu = mul t%llu 0.5", T(y + 3), T(y + 2));
    emit(b, "t%llu = sum t%llu axis=1", T(y + 4), T(y + 3));
    emit(b, "free t%llu t%llu t%llu t%llu t%llu", T(y), T(y + 1), T(y + 2), T(y + 3), T(y + 4));
    emit(b, "edge");
}

static void collective_step(Bench *b) {
    uint64_t y = b->id;
    b->id += 4;
    emit(b, "t%llu = matmul t%llu t%llu", T(y), T(x), T(w));
    emit(b, "t%llu = matmul t%llu t%llu", T(y + 1), T(xt), T(y));
    emit(b, "t%llu = mul t%llu 0.01", T(y + 2), T(y + 1));
    emit(b, "t%llu = sub t%llu t%llu keep=true", T(y + 3), T(w), T(y + 2));
    emit(b, "free t%llu t%llu t%llu t%llu", T(y), T(y + 1), T(y + 2), T(w));
    emit(b, "edge");
    w = y + 3;
}

static const Stream streams[] = {
    {"unsharded", unsharded_begin, unsharded_step, false, false},
    {"unsharded, hot", unsharded_begin, unsharded_step, true, false},
    {"unsharded, found", unsharded_begin, unsharded_step, .looks = true},
    {"unsharded, found without edges", unsharded_begin, unsharded_step, .looks = true,
     .has_no_edges = true},
    {"unsharded, random", unsharded_begin, random_step},
    {"unsharded, random, in vain", unsharded_begin, random_step, .looks = true},
    {"unsharded, random, in vain without edges", unsharded_begin, random_step, .looks = true,
     .has_no_edges = true},
    {"data-parallel", sharded_begin, parallel_step, false, false},
    {"data-parallel, hot", sharded_begin, parallel_step, true, false},
    {"data-parallel, found", sharded_begin, parallel_step, .looks = true},
    {"collectives", sharded_begin, collective_step, false, false},
    {"collectives, hot", sharded_begin, collective_step, true, false},
    {"collectives, in short frames", sharded_begin, collective_step, false, true},
};

/* ---- Measuring ---- */

typedef struct Figure {
    double us, moves;            /* per instruction */
    double us_frame, recipients; /* per frame */
} Figure;

static Figure measure(const Stream *s, int n_workers, uint64_t n) {
    Bench b = {.n_workers = n_workers, .is_hot = s->is_hot, .has_no_edges = s->has_no_edges};
    DispatcherConfig config = {.workers_wanted = n_workers};
    if (s->looks) config.hot = detector_config();
    b.d = dispatcher_new(&config);
    for (PeerId peer = 1; peer <= (PeerId)n_workers; peer++) hello(&b, peer, ROLE_WORKER);
    hello(&b, CLIENT, ROLE_CLIENT);
    s->begin(&b);
    for (int i = 0; i < 2000; i++) s->step(&b);
    flush(&b);
    b.is_timed = true;
    b.n_sent = 0;
    long moves = dispatcher_figure(b.d, "moves");
    while (b.n_insts < n) {
        s->step(&b);
        if (s->is_short) flush(&b);
    }
    Figure f = {.us = b.us / (double)b.n_insts,
                .moves = (double)(dispatcher_figure(b.d, "moves") - moves) / (double)b.n_insts,
                .us_frame = b.us / (double)b.n_frames,
                .recipients = (double)b.n_sent / (double)b.n_frames};
    Msg m;
    if (b.frame.head) frame_end(&b.frame, &m), msg_fini(&m);
    dispatcher_free(&b.d);
    bodies_fini(&b.bodies);
    bytes_fini(&b.forms);
    arena_fini(&b.arena);
    return f;
}

int main(int argc, char **argv) {
    int most = argc > 3 ? atoi(argv[3]) : WORKERS, counts[] = {1, 8, 36, most};
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 400000;
    if (most < 1 || most > WORKERS) stop("workers", "1 to 72");
    enum { N = sizeof counts / sizeof counts[0] };
    printf("CPU us per client instruction, workers %9d %7d %7d %7d   budget  per recipient  moves "
           "per inst\n",
           counts[0], counts[1], counts[2], counts[3]);
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        if (argc > 2 && !strstr(streams[i].name, argv[2])) continue;
        Figure f[N];
        const char *limit = streams[i].is_short ? "-" : streams[i].is_hot ? "<=0.2" : "<=1";
        printf("  %-38s", streams[i].name);
        for (int k = 0; k < N; k++) {
            f[k] = measure(&streams[i], counts[k], n);
            printf(" %7.2f", f[k].us);
            fflush(stdout);
            if (k > 0 && k < N - 1) continue;
            char words[128];
            snprintf(words, sizeof words, "dispatcher, %d worker%s: %s, an instruction", counts[k],
                     counts[k] > 1 ? "s" : "", streams[i].name);
            figure(words, f[k].us, "us", limit);
        }
        double more = f[N - 1].recipients - f[1].recipients;
        printf("   %6s", streams[i].is_short ? "" : limit + 2);
        if (more > 0)
            printf("  %10.2f us", (f[N - 1].us_frame - f[1].us_frame) / more);
        else
            printf("  %10s   ", "-");
        printf("  %.2f\n", f[N - 1].moves);
    }
    return 0;
}
