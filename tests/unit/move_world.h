/* move_world.h: the step functions of a few workers, connected by queues, for move_test.c. Messages
 * of the dispatcher and of peers are delivered at random times, in order per pair. In hostile
 * worlds some messages between workers are delivered a second time, damaged.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_MOVE_WORLD_H
#define GT_TESTS_UNIT_MOVE_WORLD_H
#include "check.h"
#include "delayed_engine.h"
#include "random.h"
#include "worker/exec/exec.h"
#include "worker/exec/peer.h"
#include "worker/exec/stats.h"
#include "worker/worker.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire_peer.h"

enum { WORKERS_MAX = 8, GROUPS = 6, TENSORS = 24, CLIENTS = 2, QUEUE = 1 << 16 };

static Rand rng;
static int below(int n) { return rand_below(&rng, n); }
static bool chance(int percent) { return below(100) < percent; }

/* ---- Wires ---- */

static void push(Fifo *f, Msg *m) { msg_move(fifo_push(f, sizeof *m), m); }
static bool pop(Fifo *f, Msg *m) {
    if (!f->n) return false;
    msg_move(m, fifo_at(f, 0));
    fifo_pop(f);
    return true;
}
static void wire_fini(Fifo *f) {
    Msg m = {0};
    while (pop(f, &m)) msg_fini(&m);
    fifo_fini(f);
}

typedef struct Grp {
    int n;
    int32_t rank[WORKERS_MAX];
} Grp;

/* A tensor as the test's program expects it. */
typedef struct Known {
    uint64_t id;
    uint32_t group; /* 0: none */
    Layout layout;
    TensorType type;
    double *value; /* values of the whole; NULL: poisoned */
} Known;

typedef struct Cli {
    uint32_t id;
    FrameWriter w;
    uint64_t seq, next_id;
    unsigned ranks; /* ranks that the open frame is for */
    Known t[TENSORS];
    bool is_gone;
    uint64_t acked[WORKERS_MAX], sent[WORKERS_MAX];
} Cli;

typedef struct World {
    const char *name;
    int n;
    uint64_t seed, number;
    Exec *x[WORKERS_MAX];
    bool is_dead[WORKERS_MAX];
    Fifo to[WORKERS_MAX], peer[WORKERS_MAX][WORKERS_MAX];
    Grp group[GROUPS + 1];
    Cli c[CLIENTS];
    int n_errors, n_unexpected;
    bool expects_errors, is_hostile;
    int64_t began_ns;        /* of a program whose times are checked */
    uint64_t live, live_max; /* limit of the bytes of all tensors on all ranks; 0: none */
} World;

/* ---- Making and running ---- */

static void broadcast(World *w, void (*write)(World *w, int i, Msg *m, const void *ctx),
                      const void *ctx) {
    for (int i = 0; i < w->n; i++) {
        Msg m = {0};
        write(w, i, &m, ctx);
        push(&w->to[i], &m);
    }
}

static void write_group(World *w, int i, Msg *m, const void *ctx) {
    uint32_t id = *(const uint32_t *)ctx;
    wire_group(id, w->group[id].rank, w->group[id].n, m);
}

static void make_group(World *w, uint32_t id) {
    Grp *g = &w->group[id];
    g->n = id == 1 ? w->n : 1 + below(w->n);
    for (int i = 0; i < w->n; i++) g->rank[i] = i;
    for (int i = w->n - 1; i > 0; i--) {
        int k = below(i + 1);
        int32_t r = g->rank[i];
        g->rank[i] = g->rank[k], g->rank[k] = r;
    }
    broadcast(w, write_group, &id);
}

static void open_frame(World *w, Cli *c) {
    frame_begin(&c->w, c->id, c->seq);
    c->w.edge_id = UINT64_MAX;
    c->ranks = 0;
}

static World *world_new(uint64_t seed, const EngineOps *ops, int n, uint64_t memory, int readable) {
    World *w = xcalloc(1, sizeof *w);
    w->seed = seed;
    w->n = n;
    w->number = 1;
    for (int i = 0; i < n; i++) {
        Err err = {0};
        w->x[i] = worker_exec(ops, &(EngineConfig){.memory_bytes = memory, .threads = 1}, &err);
        CHECK_MSG(w->x[i] != NULL, "%s", err.text);
        exec_set_rank(w->x[i], (uint32_t)i);
        if (ops == &engine_delayed) delayed_seed(exec_engine(w->x[i]), seed * 31 + (uint64_t)i);
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            void *base;
            uint64_t bytes;
            int fd;
            Engine *e = exec_engine(w->x[k]);
            e->ops->arena(e, &base, &bytes, &fd);
            bool is_open = chance(readable);
            if (i != k && is_open && e->ops->is_ordered)
                exec_reach_peer(w->x[i], (uint32_t)k, base, bytes, NULL);
            else if (i != k)
                exec_peer_memory(w->x[i], (uint32_t)k, is_open ? base : NULL, bytes);
        }
    for (uint32_t g = 1; g <= GROUPS; g++) make_group(w, g);
    for (int i = 0; i < CLIENTS; i++) {
        w->c[i].id = 5 + (uint32_t)i;
        w->c[i].next_id = 1;
        open_frame(w, &w->c[i]);
    }
    return w;
}

static void collect(World *w, int i) {
    Msg m = {0};
    uint32_t rank;
    Ack ack;
    Failure f;
    while (exec_next(w->x[i], &m)) {
        if (wire_kind(&m) == MSG_ACK && wire_read_ack(&m, &ack, NULL))
            for (int k = 0; k < CLIENTS; k++)
                if (w->c[k].id == ack.client) w->c[k].acked[i] = ack.seq;
        if (wire_kind(&m) == MSG_ERROR && wire_read_failure(&m, &f, NULL)) {
            if (!w->expects_errors && w->n_unexpected++ < 3)
                fprintf(stderr, "seed %llu: w%d: %s: %s\n", (unsigned long long)w->seed, i,
                        op_info[f.op].name, f.err.text);
            w->n_errors++;
        }
        msg_fini(&m);
    }
    while (exec_next_peer(w->x[i], &rank, &m)) {
        CHECK(rank < (uint32_t)w->n && rank != (uint32_t)i);
        push(&w->peer[i][rank], &m);
    }
}

static void receive(World *w, int i, Msg *m) {
    Cancel cancel;
    uint32_t id, rank;
    int32_t ranks[MAX_INTS];
    int n;
    if (wire_kind(m) == MSG_FRAME)
        exec_on_frame(w->x[i], m);
    else if (wire_read_group(m, &id, ranks, &n, NULL))
        exec_on_group(w->x[i], id, ranks, n);
    else if (wire_read_cancel(m, &cancel, NULL))
        exec_on_cancel(w->x[i], cancel.client, cancel.seq);
    else if (wire_read_gone(m, &id, NULL))
        exec_on_gone(w->x[i], id);
    else if (wire_read_peer_gone(m, &rank, NULL))
        exec_on_peer_gone(w->x[i], rank);
    msg_fini(m);
}

/* Delivers the message again, with flipped bits or truncated. */
static void damaged(World *w, int i, uint32_t from, const Msg *m) {
    Msg bad = {0};
    for (int p = 0; p < m->n; p++) msg_push(&bad, buf_copy(m->part[p]->data, m->part[p]->n));
    Buf *head = bad.part[0];
    for (int k = below(3); k >= 0; k--)
        head->data[(size_t)below((int)head->n)] ^= (uint8_t)(1 << below(8));
    if (chance(20)) head->n = (size_t)below((int)head->n + 1);
    if (chance(10) && bad.n > 1) bad.part[1]->n = (size_t)below((int)bad.part[1]->n + 1);
    exec_on_peer(w->x[i], from, &bad);
}

/* Handles one event at a random place; false: it had none. */
static bool event(World *w, int i, int kind) {
    Msg m = {0};
    if (w->is_dead[i]) return false;
    if (kind == 0) {
        if (!pop(&w->to[i], &m)) return false;
        receive(w, i, &m);
    } else if (kind == 1) {
        int from = below(w->n);
        if (!pop(&w->peer[from][i], &m)) return false;
        if (w->is_hostile && chance(25)) damaged(w, i, (uint32_t)from, &m);
        exec_on_peer(w->x[i], (uint32_t)from, &m);
    } else if (!exec_step(w->x[i], below(3) * 20)) {
        collect(w, i);
        return false;
    }
    collect(w, i);
    return true;
}

static void churn(World *w, int events) {
    while (events-- > 0) event(w, below(w->n), below(3));
}

/* Runs until no event is left. */
static void settle(World *w) {
    for (bool moved = true; moved;) {
        churn(w, 200);
        moved = false;
        for (int i = 0; i < w->n; i++) {
            moved |= event(w, i, 0);
            moved |= event(w, i, 2);
        }
        for (int i = 0; i < w->n; i++)
            for (int from = 0; from < w->n; from++)
                moved |= !w->is_dead[i] && w->peer[from][i].n > 0;
    }
}

static void world_free(World *w) {
    for (int i = 0; i < w->n; i++) {
        exec_free(&w->x[i]);
        wire_fini(&w->to[i]);
        for (int k = 0; k < w->n; k++) wire_fini(&w->peer[i][k]);
    }
    for (int i = 0; i < CLIENTS; i++) {
        Msg m = {0};
        frame_end(&w->c[i].w, &m);
        msg_fini(&m);
        for (int k = 0; k < TENSORS; k++) free(w->c[i].t[k].value);
    }
    free(w);
}
#endif
