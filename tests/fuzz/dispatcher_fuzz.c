/* dispatcher_fuzz.c: random events into the dispatcher's step function: clients that are sane,
 * sloppy or hostile, workers that come, lie and go. A model of each worker takes what the
 * dispatcher sends: every frame must decode, no instruction may name an id that is not live or fail
 * inference but for poison; when all have left, nothing is left. With libFuzzer: build with
 * -DLIBFUZZER -fsanitize=fuzzer. Else: dispatcher_fuzz [-n RUNS] [-s SEED] [FILE ...].
 * SPDX-License-Identifier: MIT */
#include "dispatcher/client.h"
#include "dispatcher/dispatcher.h"
#include "tests/unit/random_inst.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { CLIENTS = 4, WORKERS = 3, FIRST_WORKER = 100, NUMBERS = 4096 };

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* A client as we play it. */
typedef struct Player {
    PeerId peer;
    bool is_there;
    uint32_t id;
    uint64_t seq, next_id;
} Player;

typedef struct World {
    const uint8_t *at, *end;
    Dispatcher *d;
    Player player[CLIENTS];
    PeerId worker[WORKERS]; /* 0: not there */
    PeerId last_peer;
    Handles live[WORKERS][NUMBERS]; /* the workers' tables, by client number */
    uint64_t acked[NUMBERS], sent[NUMBERS];
    Arena arena;
} World;

static int byte(World *w) { return w->at < w->end ? *w->at++ : 0; }

/* ---- The workers' side ---- */

static void check_inst(Handles *t, const Inst *in, Arena *arena) {
    bool is_poisoned = in->op == OP_POISON;
    TensorType *type = arena_zalloc(arena, (in->n_in + 1u) * sizeof *type), out[MAX_OUT];
    for (int i = 0; i < in->n_in; i++) {
        if (in->in[i].kind != IN_TENSOR) continue;
        TensorHandle *h = handles_find(t, in->in[i].id);
        MUST(h);
        is_poisoned = is_poisoned || h->is_poisoned;
        type[i] = h->type;
        if (in->op == OP_FREE) handles_remove(t, in->in[i].id, NULL);
    }
    int n_out = in->n_out;
    Err err = {0};
    if (!is_poisoned && in->op != OP_FREE) {
        MUST(inst_infer(in, type, out, &n_out, &err));
        MUST(n_out == in->n_out);
    }
    for (int i = 0; i < n_out; i++) {
        MUST(!handles_find(t, in->out[i]));
        TensorHandle *h = handles_add(t, in->out[i]);
        h->is_poisoned = is_poisoned;
        if (!is_poisoned) h->type = out[i];
    }
}

static void worker_hears(World *w, int k, Msg *m) {
    FrameReader r;
    Inst in;
    Err err = {0};
    uint32_t gone;
    if (wire_kind(m) == MSG_FRAME) {
        MUST(frame_open(&r, m, &err));
        MUST(r.client < NUMBERS && r.count <= FRAME_INSTS);
        Arena arena = {0};
        int rc;
        while ((rc = frame_next(&r, &arena, &in, NULL, NULL, &err)) > 0)
            check_inst(&w->live[k][r.client], &in, &arena);
        MUST(rc == 0);
        w->sent[r.client] = r.seq + r.count;
        arena_fini(&arena);
    } else if (wire_kind(m) == MSG_GONE) {
        MUST(wire_read_gone(m, &gone, &err) && gone < NUMBERS);
        handles_fini(&w->live[k][gone]);
    }
}

static void deliver(World *w) {
    PeerId to;
    Msg m;
    bool drop;
    while (dispatcher_next(w->d, &to, &m, &drop)) {
        for (int k = 0; k < WORKERS; k++)
            if (w->worker[k] == to) worker_hears(w, k, &m);
        for (int k = 0; k < CLIENTS; k++) {
            Welcome welcome;
            Player *p = &w->player[k];
            if (p->peer != to || !p->is_there) continue;
            if (wire_kind(&m) == MSG_WELCOME && wire_read_welcome(&m, &welcome, NULL))
                p->id = welcome.id;
            if (drop) p->is_there = false;
        }
        msg_fini(&m);
    }
}

static void say(World *w, PeerId from, Msg *m) {
    dispatcher_on_message(w->d, from, m, 0);
    deliver(w);
}

/* ---- Events ---- */

static void hello(World *w, PeerId peer, Role role, bool is_right) {
    Hello h = {.version = WIRE_VERSION,
               .table_hash = op_table_hash() + !is_right,
               .role = (uint8_t)role,
               .name = "fuzz"};
    Msg m;
    wire_hello(&h, &m);
    say(w, peer, &m);
}

static void sane_inst(World *w, Player *p, FrameWriter *f) {
    static const Op ops[] = {OP_FULL,  OP_ADD,   OP_MATMUL, OP_SUM,  OP_FREE,
                             OP_FETCH, OP_PRINT, OP_FULL,   OP_EDGE, OP_SHARD};
    Op op = ops[byte(w) % 10];
    Operand o[2] = {{.kind = IN_IMM_INT, .i = 1}};
    int64_t shape[] = {byte(w) % 16 ? 2 : 3, 2};
    Attr attr[] = {{.key = ATTR_SHAPE, .n = 2, .ints = shape},
                   {.key = ATTR_DTYPE, .dtype = DT_F32},
                   {.key = ATTR_FORMAT, .n = 4, .str = "{}{}"},
                   {.key = ATTR_NAME, .n = 1, .str = "a"}};
    Inst in = {.op = op, .in = o, .n_in = 1};
    in.n_out = op_info[op].class_ != CLASS_CONTROL || op == OP_SHARD;
    if (op == OP_FULL) in.attr = attr, in.n_attr = 2;
    if (op == OP_PRINT) in.attr = attr + 2, in.n_attr = 1;
    if (op == OP_SHARD) in.attr = attr + 3, in.n_attr = 1;
    if (op == OP_EDGE) in.n_in = 0;
    if (op != OP_FULL && op != OP_EDGE) {
        if (op == OP_ADD || op == OP_MATMUL || op == OP_PRINT || op == OP_FREE) in.n_in = 2;
        for (int i = 0; i < 2; i++) {
            uint64_t back = (uint64_t)(1 + byte(w) % 16);
            o[i] = (Operand){.kind = IN_TENSOR, .id = p->next_id > back ? p->next_id - back : 0};
        }
    }
    if (in.n_out) in.out[0] = p->next_id++;
    frame_add(f, &in);
}

static void wild_inst(World *w, Player *p, FrameWriter *f) {
    Rand r = {(uint64_t)byte(w) << 8 | (uint64_t)byte(w)};
    Inst in = rand_inst(&r, &w->arena);
    if (in.n_out && byte(w) % 4) { /* an id that is free, so that the rest is looked at */
        for (int i = 0; i < in.n_out; i++) in.out[i] = p->next_id++;
    } else if (in.n_out && in.out[0] < UINT64_MAX / 2 && in.out[0] + 2 > p->next_id) {
        p->next_id = in.out[0] + 2;
    }
    frame_add(f, &in);
}

static void frame(World *w, Player *p) {
    FrameWriter f = {0};
    int how = byte(w), n = byte(w) % 24;
    frame_begin(&f, how & 1 ? p->id : 7, p->seq + (how % 64 == 63));
    for (int i = 0; i < n && w->at < w->end; i++) {
        if (byte(w) % 16)
            sane_inst(w, p, &f);
        else
            wild_inst(w, p, &f);
    }
    p->seq += f.count;
    Msg m;
    frame_end(&f, &m);
    Buf *b = m.part[0];
    for (int i = 0; (how & 6) == 6 && i < 3 && b->n; i++)
        b->data[(size_t)(byte(w) << 8 | byte(w)) % b->n] ^= (uint8_t)(1 << byte(w) % 8);
    say(w, p->peer, &m);
}

/* True when it happened to be a goodbye. */
static bool garbage(World *w, PeerId from) {
    int n = byte(w) % 64;
    Msg m = {0};
    Buf *b = buf_new((size_t)n + 1);
    for (int i = 0; i < n; i++) b->data[b->n++] = (uint8_t)byte(w);
    msg_push(&m, b);
    if (byte(w) % 4 == 0) msg_push(&m, buf_new(0));
    bool is_bye = wire_kind(&m) == MSG_BYE;
    say(w, from, &m);
    return is_bye;
}

static void worker_says(World *w, PeerId from) {
    Msg m;
    uint32_t client = (uint32_t)byte(w) % 8;
    ReplyValue v = {.status = ERR_INDEX};
    Reply r = {.client = client, .seq = (uint64_t)byte(w), .n = 1, .value = &v};
    Failure f = {.client = client, .seq = (uint64_t)byte(w)};
    TimeRow row = {.begin_ns = (int64_t)((uint64_t)byte(w) << 56), .ns = UINT64_MAX, .n_out = 1};
    switch (byte(w) % 5) {
    case 0:
        wire_ack(&(Ack){.client = client, .seq = byte(w) % 4 ? w->sent[client] : (uint64_t)byte(w)},
                 &m);
        break;
    case 1: wire_reply(&r, NULL, &m); break;
    case 2: wire_failure(&f, &m); break;
    case 3:
        wire_times(&(Times){.client = client, .n = 1, .now_ns = INT64_MIN, .row = &row}, &m);
        break;
    default: wire_text(MSG_STATS_REPLY, "a=1\nb=2", 7, &m);
    }
    say(w, from, &m);
}

static void worker_event(World *w) {
    int k = byte(w) % WORKERS, what = byte(w) % 8;
    if (!w->worker[k]) {
        w->worker[k] = FIRST_WORKER + ++w->last_peer;
        hello(w, w->worker[k], ROLE_WORKER, true);
    } else if (what < 2) {
        PeerId peer = w->worker[k];
        if (what == 1 && !garbage(w, peer)) return;
        w->worker[k] = 0;
        for (int i = 0; i < NUMBERS; i++) handles_fini(&w->live[k][i]);
        dispatcher_on_gone(w->d, peer, 0);
        deliver(w);
    } else {
        worker_says(w, w->worker[k]);
    }
}

static void player_event(World *w, Player *p) {
    Msg m;
    int what = byte(w);
    if (!p->is_there) {
        *p = (Player){.peer = FIRST_WORKER + ++w->last_peer, .is_there = true};
        hello(w, p->peer, ROLE_CLIENT, what % 16 != 0);
        return;
    }
    switch (what % 32) {
    case 0:
        p->is_there = false;
        dispatcher_on_gone(w->d, p->peer, 0);
        deliver(w);
        break;
    case 1: p->is_there = !garbage(w, p->peer) && p->is_there; break;
    case 2: wire_text(MSG_STATS, "", 0, &m), say(w, p->peer, &m); break;
    case 3: wire_cancel(&(Cancel){.client = 3, .seq = p->seq}, &m), say(w, p->peer, &m); break;
    case 4: wire_text(MSG_BYE, "", 0, &m), p->is_there = false, say(w, p->peer, &m); break;
    default: frame(w, p);
    }
}

static long counter(const World *w, const char *name) {
    Bytes text = {0};
    dispatcher_stats(w->d, &text);
    const char *at = strstr(text.data, name);
    long v = at ? atol(at + strlen(name) + 1) : -1;
    bytes_fini(&text);
    return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static World *w; /* large: made once */
    if (!w) w = xcalloc(1, sizeof *w);
    *w = (World){.at = data, .end = data + n};
    w->d = dispatcher_new(&(DispatcherConfig){.client_bytes_max = n % 2 ? 1000 : 0, .beat_ms = 10});
    Err err = {0};
    if (n % 3 == 0) MUST(dispatcher_log(w->d, "/dev/null", &err));
    for (int64_t t = 0; w->at < w->end && w->last_peer < NUMBERS - 10; t += 3) {
        int what = byte(w);
        if (what % 4 == 0)
            worker_event(w);
        else
            player_event(w, &w->player[what / 4 % CLIENTS]);
        dispatcher_on_tick(w->d, t);
        deliver(w);
        arena_reset(&w->arena);
    }
    for (int k = 0; k < CLIENTS; k++) {
        if (w->player[k].is_there) dispatcher_on_gone(w->d, w->player[k].peer, 0);
        deliver(w);
    }
    MUST(counter(w, "clients") == 0);
    MUST(counter(w, "\ntensors") == 0);
    MUST(counter(w, "\nbytes") == 0);
    for (int k = 0; k < WORKERS; k++)
        for (int i = 0; i < NUMBERS; i++) MUST(w->live[k][i].n == 0);
    for (int k = 0; k < WORKERS; k++)
        if (w->worker[k]) dispatcher_on_gone(w->d, w->worker[k], 0);
    deliver(w);
    MUST(counter(w, "\nworkers") == 0);
    for (int k = 0; k < WORKERS; k++)
        for (int i = 0; i < NUMBERS; i++) handles_fini(&w->live[k][i]);
    dispatcher_free(&w->d);
    arena_fini(&w->arena);
    return 0;
}

#ifndef LIBFUZZER
static void replay(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(1);
    }
    Bytes b = {0};
    char chunk[4096];
    for (size_t got; (got = fread(chunk, 1, sizeof chunk, f)) > 0;) bytes_add(&b, chunk, got);
    fclose(f);
    LLVMFuzzerTestOneInput((const uint8_t *)b.data, b.n);
    bytes_fini(&b);
}

int main(int argc, char **argv) {
    long runs = 300;
    uint64_t seed = 1;
    int opt;
    while ((opt = getopt(argc, argv, "n:s:")) != -1) {
        if (opt == 'n')
            runs = atol(optarg);
        else if (opt == 's')
            seed = strtoull(optarg, NULL, 10);
        else
            return 2;
    }
    for (int i = optind; i < argc; i++) replay(argv[i]);
    if (optind < argc) return 0;
    static uint8_t data[6000];
    for (long k = 0; k < runs; k++) {
        Rand r = {seed + (uint64_t)k};
        size_t n = (size_t)rand_below(&r, sizeof data);
        for (size_t i = 0; i < n; i++) data[i] = (uint8_t)rand_u64(&r);
        LLVMFuzzerTestOneInput(data, n);
    }
    printf("dispatcher_fuzz: %ld runs from seed %llu\n", runs, (unsigned long long)seed);
    return 0;
}
#endif
