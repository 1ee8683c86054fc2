/* sim_cluster.h: a whole cluster in one thread, without sockets and without a real clock: a
 * dispatcher, workers, clients, a queue per link, and a scheduler that chooses the next event at
 * random, from a seed: a message is delivered (in order per link, after a random delay), a worker
 * works, a client sends. The same seed gives the same run; clock_gettime below returns the
 * scheduler's time.
 *
 * A node is a number: 0 the dispatcher, 1 .. W the workers, then the clients. The last client only
 * watches: it connects when the others are done and requests statistics.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_SIM_CLUSTER_H
#define GT_TESTS_UNIT_SIM_CLUSTER_H
#include "dispatcher/dispatcher.h"
#include "tests/unit/delayed_engine.h"
#include "tests/unit/sim_bytes.h"
#include "tests/unit/sim_program.h"
#include <time.h>

/* ---- The workers' shell, with engines that the simulator chooses ---- */

static const EngineOps *sim_engine_find(const char *name) {
    return !strcmp(name, "delayed") ? &engine_delayed : engine_find(name);
}
#define engine_find sim_engine_find
#include "worker/worker.c"
#undef engine_find

/* The simulator's tensors are small, so the limits for boxes sent with descriptors and for pieces
 * are small too. */
static uint64_t sim_small_box, sim_piece_bytes;
#define SMALL_BOX   sim_small_box
#define PIECE_BYTES sim_piece_bytes
#include "worker/exec/move.c"
#include "worker/exec/peer.c"
#undef SMALL_BOX
#undef PIECE_BYTES

/* ---- Time ---- */

static int64_t sim_clock_ns, sim_tick_ns = 500;
int clock_gettime(clockid_t id, struct timespec *t) {
    sim_clock_ns += sim_tick_ns;
    t->tv_sec = sim_clock_ns / 1000000000, t->tv_nsec = sim_clock_ns % 1000000000;
    return 0;
}

enum { NODES = 16, WORKERS_MOST = 9, CLIENTS_MOST = 4 };

typedef struct SimLink {
    Msg *q;
    int at, n, cap;
    int64_t closed_until; /* delay, in steps */
    bool is_slow;
    int priority;
} SimLink;

typedef struct SimWorker {
    Worker *w;
    const char *engine;
    uint32_t rank;
    uint64_t token; /* the token by which its peers know it: a rank may be reused */
    bool has_more, is_dead;
    SimBytes bytes;            /* bytes that it must read */
    int idle_steps;            /* steps in a row without progress */
    int node_of[WORKERS_MOST]; /* rank -> node, once announced; 0: not yet */
    int priority;
} SimWorker;

typedef struct SimReply {
    bool has_come;
    uint8_t status; /* status of the first value that is missing */
    Bytes value;    /* all values, for comparison */
} SimReply;

typedef struct SimClient {
    SimProgram *program;
    bool is_welcome, has_left, is_dead, was_refused, drops_definitions, is_watcher;
    uint32_t id;
    int next; /* next instruction to send */
    uint64_t acked;
    FrameWriter writer;
    SimReply *reply;  /* per instruction */
    uint8_t *failure; /* per instruction: the code, and how often it was reported */
    int n_failures, n_unexpected;
    int window; /* unacknowledged frames */
    uint64_t frame_end[4096];
    int n_frames;
    int cancel_at; /* sends CANCEL after so many instructions; 0: never */
    int64_t comes_at;
    bool is_open;
    ErrCode refused;
    char refusal[256];
    int priority;
} SimClient;

typedef struct Sim {
    Rand r;
    Dispatcher *d;
    int n_workers, n_clients; /* the watcher is client n_clients */
    SimWorker worker[WORKERS_MOST + 1];
    SimClient client[CLIENTS_MOST + 1];
    SimLink link[NODES][NODES];
    int64_t step;
    bool by_priority, has_delays, is_closing;
    bool is_readable[NODES][NODES], is_dropped[NODES];
    int frame_most;
    int die_worker, die_client; /* node; 0: none */
    int spare;                  /* node of a worker that joins late; 0: none */
    int64_t die_at, spare_at;
    uint64_t memory_bytes; /* of each worker */
    Bytes figures;
    bool has_figures;
    char why[512]; /* description of an error; empty: none */
    uint64_t n_delivered, n_steps, n_shards, n_gets;
    bool is_traced, traces_all;
} Sim;

static void sim_wrong(Sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void sim_wrong(Sim *s, const char *format, ...) {
    if (s->why[0]) return;
    va_list ap;
    va_start(ap, format);
    vsnprintf(s->why, sizeof s->why, format, ap);
    va_end(ap);
}

static int sim_client_node(const Sim *s, int i) { return s->n_workers + 1 + i; }
static SimClient *sim_client_of(Sim *s, int node) { return &s->client[node - s->n_workers - 1]; }
static bool sim_is_worker(const Sim *s, int node) { return node >= 1 && node <= s->n_workers; }
static int sim_below(Sim *s, int n) { return rand_below(&s->r, n); }

static void sim_open_worker(Sim *s, int node, uint64_t memory_bytes, uint64_t seed);
static void sim_open_client(Sim *s, int i, SimProgram *p);

/* ---- Links ---- */

static void link_push(Sim *s, int from, int to, Msg *m) {
    SimLink *l = &s->link[from][to];
    Welcome welcome; /* peers may learn of a rank before its worker has got WELCOME */
    if (sim_is_worker(s, to) && wire_kind(m) == MSG_WELCOME && wire_read_welcome(m, &welcome, NULL))
        s->worker[to].rank = welcome.rank, s->worker[to].token = welcome.token;
    if ((to == 0 && s->is_dropped[from]) || (sim_is_worker(s, to) && s->worker[to].is_dead) ||
        (to > s->n_workers && sim_client_of(s, to)->is_dead)) {
        msg_fini(m);
        return;
    }
    if (l->n == l->cap) {
        int cap = l->cap ? 2 * l->cap : 8;
        Msg *q = xmalloc((size_t)cap * sizeof *q);
        for (int i = 0; i < l->n; i++) msg_move(&q[i], &l->q[(l->at + i) % l->cap]);
        free(l->q);
        l->q = q, l->cap = cap, l->at = 0;
    }
    msg_move(&l->q[(l->at + l->n++) % l->cap], m);
}

static void link_pop(SimLink *l, Msg *out) {
    msg_move(out, &l->q[l->at]);
    l->at = (l->at + 1) % l->cap;
    l->n--;
}

static void link_drop(SimLink *l) {
    while (l->n) {
        Msg m = {0};
        link_pop(l, &m);
        msg_fini(&m);
    }
}

/* ---- Messages of nodes ---- */

static bool collect_dispatcher(Sim *s) {
    bool any = false;
    PeerId to;
    Msg m = {0};
    bool drop;
    while (dispatcher_next(s->d, &to, &m, &drop)) {
        link_push(s, 0, (int)to, &m);
        any = true;
        if (!drop) continue; /* As hub_drop: nothing is received from it any more. */
        s->is_dropped[to] = true;
        link_drop(&s->link[to][0]);
    }
    return any;
}

/* Continues a frame that is taken in slices; false: none waits. */
static bool go_on(Sim *s) {
    bool is_more = dispatcher_go_on(s->d);
    return collect_dispatcher(s) || is_more;
}

static bool collect_worker(Sim *s, int node) {
    SimWorker *w = &s->worker[node];
    Msg m = {0};
    bool any = false;
    while (worker_next(w->w, &m)) link_push(s, node, 0, &m), any = true;
    uint32_t rank;
    while (worker_next_peer(w->w, &rank, &m)) {
        any = true;
        int to = rank < WORKERS_MOST ? w->node_of[rank] : 0;
        if (!to) {
            sim_wrong(s, "worker %d sends to rank %u, which nobody announced to it", node, rank);
            msg_fini(&m);
        } else {
            link_push(s, node, to, &m);
        }
    }
    return any;
}

/* ---- Clients ---- */

static void client_sends(Sim *s, int i) {
    SimClient *c = &s->client[i];
    SimProgram *p = c->program;
    int count = 1 + sim_below(s, sim_below(s, 3) ? 12 : s->frame_most);
    frame_begin(&c->writer, 12345, (uint64_t)c->next);
    for (; count > 0 && c->next < p->n && !frame_is_full(&c->writer); count--, c->next++) {
        const Inst *in = p->inst[c->next];
        static const Attr note = {.key = ATTR_FORMAT, .n = 1, .str = "-"};
        Inst plain = {.op = OP_NOTE, .n_attr = 1, .attr = &note};
        frame_add(&c->writer, c->drops_definitions && in->op == OP_SIGNAL_DEFINE ? &plain : in);
        if (in->op == OP_EDGE) c->writer.edge_id = c->writer.next_id;
    }
    Msg m = {0};
    frame_end(&c->writer, &m);
    c->frame_end[c->n_frames++] = (uint64_t)c->next;
    link_push(s, sim_client_node(s, i), 0, &m);
    if (c->cancel_at && c->next >= c->cancel_at) {
        c->cancel_at = 0;
        wire_cancel(&(Cancel){.seq = (uint64_t)sim_below(s, c->next + 1)}, &m);
        link_push(s, sim_client_node(s, i), 0, &m);
    }
}

static bool client_may_send(const SimClient *c) {
    if (!c->is_welcome || c->was_refused || c->is_dead || c->is_watcher) return false;
    if (c->next >= c->program->n) return false;
    int under_way = 0;
    for (int k = c->n_frames; k-- > 0 && c->frame_end[k] > c->acked;) under_way++;
    return under_way < c->window;
}

static bool client_is_done(const SimClient *c) {
    if (c->was_refused || c->is_dead) return true;
    return c->is_watcher ||
           (c->is_welcome && c->next == c->program->n && c->acked == (uint64_t)c->next);
}

static void take_reply(Sim *s, SimClient *c, const Reply *r) {
    if (r->seq >= (uint64_t)c->program->n) {
        sim_wrong(s, "a reply to instruction %llu", (unsigned long long)r->seq);
        return;
    }
    SimReply *to = &c->reply[r->seq];
    if (to->has_come)
        sim_wrong(s, "a second reply to instruction %llu", (unsigned long long)r->seq);
    to->has_come = true;
    for (uint32_t i = 0; i < r->n; i++) {
        const ReplyValue *v = &r->value[i];
        if (v->status && !to->status) to->status = v->status;
        char type[256];
        bytes_printf(&to->value, "%s edge %u: ", type_text(&v->type, type), v->edge);
        bytes_add(&to->value, v->data, v->status ? 0 : v->bytes);
    }
}

static void client_credit(Sim *s, int node, Msg *m) {
    SimClient *c = sim_client_of(s, node);
    Welcome welcome;
    Ack ack;
    Failure f;
    Reply reply;
    Err err = {0};
    Arena arena = {0};
    const char *text;
    size_t n;
    switch (wire_kind(m)) {
    case MSG_WELCOME:
        if (wire_read_welcome(m, &welcome, &err)) c->is_welcome = true, c->id = welcome.id;
        break;
    case MSG_ACK:
        if (!wire_read_ack(m, &ack, &err)) break;
        if (ack.seq < c->acked || ack.seq > (uint64_t)c->next)
            sim_wrong(s, "client %u: an ack of %llu after %llu, %d sent", c->id,
                      (unsigned long long)ack.seq, (unsigned long long)c->acked, c->next);
        for (uint64_t k = c->acked; k < ack.seq && !s->why[0]; k++) {
            Op op = c->program->inst[k]->op;
            bool answers = op == OP_FETCH || op == OP_PEEK || op == OP_PRINT || op == OP_SYNC;
            if (answers && !c->reply[k].has_come)
                sim_wrong(s, "client %u: instruction %llu is acknowledged before its reply", c->id,
                          (unsigned long long)k);
        }
        c->acked = ack.seq;
        break;
    case MSG_REPLY:
        if (wire_read_reply(m, &arena, &reply, &err)) take_reply(s, c, &reply);
        break;
    case MSG_ERROR:
        if (!wire_read_failure(m, &f, &err)) break;
        if (s->is_traced)
            printf("  client %u: instruction %llu: %s\n", c->id, (unsigned long long)f.seq,
                   f.err.text);
        c->n_failures++;
        if (f.seq < (uint64_t)c->program->n && !c->failure[f.seq])
            c->failure[f.seq] = (uint8_t)f.err.code;
        else
            c->n_unexpected++;
        if (f.err.code == ERR_INTERNAL || f.err.code == ERR_PARSE)
            sim_wrong(s, "client %u: instruction %llu: %s", c->id, (unsigned long long)f.seq,
                      f.err.text);
        break;
    case MSG_REFUSE: {
        Err why = {0};
        wire_read_refuse(m, &why, &err);
        c->was_refused = true, c->refused = why.code;
        snprintf(c->refusal, sizeof c->refusal, "%.255s", why.text);
        break;
    }
    case MSG_STATS_REPLY:
        if (!wire_read_text(m, &text, &n, &err)) break;
        s->figures.n = 0;
        bytes_add(&s->figures, text, n);
        s->has_figures = true;
        break;
    case MSG_BEAT: break;
    default: sim_wrong(s, "client %u hears a message of kind %d", c->id, (int)wire_kind(m));
    }
    if (err.code) sim_wrong(s, "client %u cannot read what it hears: %s", c->id, err.text);
    arena_fini(&arena);
    msg_fini(m);
}

/* ---- Workers ---- */

/* Another worker has this rank: the former one died. */
static bool is_replaced(const Sim *s, int node) {
    for (int k = 1; k <= s->n_workers && s->worker[node].is_dead; k++)
        if (k != node && s->worker[k].w && s->worker[k].rank == s->worker[node].rank) return true;
    return false;
}

static void worker_hears(Sim *s, int node, Msg *m) {
    SimWorker *w = &s->worker[node];
    PeerInfo peer;
    if (wire_kind(m) == MSG_PEER && wire_read_peer(m, &peer, NULL)) {
        for (int k = 1; k <= s->n_workers; k++) {
            if (!s->worker[k].w || s->worker[k].token != peer.token) continue;
            int old = w->node_of[peer.rank]; /* dead: its connection is ignored */
            if (old && old != k) link_drop(&s->link[old][node]);
            w->node_of[peer.rank] = k;
            void *base;
            uint64_t bytes;
            worker_arena(s->worker[k].w, &base, &bytes);
            bool reads = s->is_readable[node][k];
            worker_peer_memory(w->w, peer.rank, reads ? base : NULL, reads ? bytes : 0);
        }
    }
    if (w->rank != UINT32_MAX) sim_plan(&w->bytes, m, w->rank);
    worker_on_message(w->w, m);
    w->has_more = true, w->idle_steps = 0;
    collect_worker(s, node);
}

static void worker_works(Sim *s, int node) {
    SimWorker *w = &s->worker[node];
    sim_tick_ns = sim_below(s, 4) ? 500 : 5000;
    w->has_more = worker_step(w->w, sim_below(s, 3) ? sim_below(s, 20) : 1000);
    w->idle_steps++;
    s->n_steps++;
    if (collect_worker(s, node)) w->idle_steps = 0;
}

/* ---- Scheduling ---- */

static bool link_may_deliver(const Sim *s, int from, int to) {
    const SimLink *l = &s->link[from][to];
    if (!l->n || s->step < l->closed_until) return false;
    /* A peer's messages are delivered once the dispatcher has announced the peer: the shell waits
     * for its token. */
    if (sim_is_worker(s, from) && sim_is_worker(s, to))
        return s->worker[to].node_of[s->worker[from].rank] == from;
    return true;
}

/* Prints what is delivered: `sim_test -t SEED`. */
static void trace(Sim *s, int from, int to, const Msg *m) {
    static const char *const names[] = {
#define MSG(id, name, doc) name,
#include "runtime/wire/msgs.def"
    };
    Ack ack;
    Reply reply;
    Failure f;
    FrameReader r;
    Inst in;
    Err err = {0};
    Arena arena = {0};
    MsgKind kind = wire_kind(m);
    printf("%6lld  %d -> %d %s", (long long)s->step, from, to,
           m->n == 0          ? "gone"
           : kind < MSG_COUNT ? names[kind]
                              : "?");
    if (kind == MSG_ACK && wire_read_ack(m, &ack, NULL))
        printf(" c%u before %llu", ack.client, (unsigned long long)ack.seq);
    if (kind == MSG_REPLY && wire_read_reply(m, &arena, &reply, NULL))
        printf(" c%u to %llu, status %d", reply.client, (unsigned long long)reply.seq,
               reply.n ? reply.value[0].status : 0);
    if (kind == MSG_ERROR && wire_read_failure(m, &f, NULL))
        printf(" c%u of %llu: %s", f.client, (unsigned long long)f.seq, f.err.text);
    Shard shard;
    if (kind == MSG_SHARD && wire_read_shard(m, &shard, NULL))
        printf(" c%u %llu status %d%s", shard.client, (unsigned long long)shard.number,
               shard.status, shard.data ? " inline" : "");
    Taken taken;
    if (kind == MSG_TAKEN && wire_read_taken(m, &taken, NULL))
        printf(" c%u %llu", taken.client, (unsigned long long)taken.number);
    if (kind == MSG_FRAME && to > 0 && frame_open(&r, m, &err)) {
        printf(" c%u number %llu\n", r.client, (unsigned long long)r.number);
        if (sim_is_worker(s, to)) r.placed = &s->worker[to].bytes.placed[r.client % SIM_CLIENTS];
        while (frame_next(&r, &arena, &in, NULL, NULL, &err) > 0) {
            Bytes line = {0};
            inst_print(&in, &(InstPrint){0}, &line);
            printf("          %llu%s %.150s\n", (unsigned long long)r.inst_seq,
                   r.is_inserted ? "+" : "", line.data);
            bytes_fini(&line);
        }
    } else {
        printf("\n");
    }
    arena_fini(&arena);
}

static void deliver(Sim *s, int from, int to) {
    SimLink *l = &s->link[from][to];
    Msg m = {0};
    link_pop(l, &m);
    s->n_delivered++;
    s->n_shards += wire_kind(&m) == MSG_SHARD, s->n_gets += wire_kind(&m) == MSG_GET;
    if (s->traces_all) trace(s, from, to, &m);
    if (s->has_delays && sim_below(s, 4) == 0)
        l->closed_until = s->step + sim_below(s, l->is_slow ? 400 : 30);
    if (to == 0) {
        if (m.n == 0)
            dispatcher_on_gone(s->d, (PeerId)from, s->step);
        else
            dispatcher_on_message(s->d, (PeerId)from, &m, s->step);
        collect_dispatcher(s);
    } else if (sim_is_worker(s, to)) {
        if (s->worker[to].is_dead)
            msg_fini(&m);
        else if (from > 0) {
            worker_on_peer(s->worker[to].w, s->worker[from].rank, &m);
            s->worker[to].has_more = true, s->worker[to].idle_steps = 0;
            collect_worker(s, to);
        } else
            worker_hears(s, to, &m);
    } else {
        client_credit(s, to, &m);
    }
}

/* Kills a node. Messages that it sent still arrive; messages to it are lost. Then the dispatcher
 * learns of it. */
static void node_dies(Sim *s, int node) {
    if (sim_is_worker(s, node))
        s->worker[node].is_dead = true;
    else
        sim_client_of(s, node)->is_dead = true;
    for (int k = 0; k < NODES; k++) link_drop(&s->link[k][node]);
    SimLink *l = &s->link[node][0];
    if (sim_below(s, 2))
        for (int k = sim_below(s, l->n + 1); k-- > 0;) { /* not sent yet */
            Msg *last = &l->q[(l->at + --l->n) % l->cap];
            msg_fini(last);
        }
    Msg none = {0};
    link_push(s, node, 0, &none);
}

typedef struct Pick {
    int kind, a, b, priority;
} Pick; /* 0 deliver, 1 work, 2 send, 3 tick */

static int list_choices(Sim *s, Pick *out) {
    int n = 0, last = sim_client_node(s, s->n_clients);
    for (int a = 0; a <= last; a++)
        for (int b = 0; b <= last; b++)
            if (link_may_deliver(s, a, b)) out[n++] = (Pick){0, a, b, s->link[a][b].priority};
    for (int k = 1; k <= s->n_workers; k++)
        if (s->worker[k].w && s->worker[k].has_more && !s->worker[k].is_dead)
            out[n++] = (Pick){1, k, 0, s->worker[k].priority};
    for (int i = 0; i < s->n_clients; i++)
        if (client_may_send(&s->client[i])) out[n++] = (Pick){2, i, 0, s->client[i].priority};
    return n;
}

static void demote(Sim *s, const Pick *c) {
    int p = sim_below(s, 1000);
    if (c->kind == 0) s->link[c->a][c->b].priority = p;
    if (c->kind == 1) s->worker[c->a].priority = p;
    if (c->kind == 2) s->client[c->a].priority = p;
}

static bool has_begun(const Sim *s) {
    for (int i = 0; i < s->n_clients; i++)
        if (s->client[i].is_welcome) return true;
    return false;
}

/* Opens the clients and workers that join at this step. *next: the earliest step of a later one. */
static void open_late(Sim *s, int64_t *next) {
    *next = INT64_MAX;
    for (int i = 0; i < s->n_clients; i++) {
        SimClient *c = &s->client[i];
        if (c->is_open || c->is_dead || !c->program) continue;
        if (s->step >= c->comes_at)
            sim_open_client(s, i, c->program);
        else if (c->comes_at < *next)
            *next = c->comes_at;
    }
    if (!s->spare || s->worker[s->spare].w) return;
    if (s->step >= s->spare_at)
        sim_open_worker(s, s->spare, s->memory_bytes, (uint64_t)s->step);
    else if (s->spare_at < *next)
        *next = s->spare_at;
}

/* Handles one event; false: none is possible any more. */
static bool sim_step(Sim *s) {
    static Pick choice[NODES * NODES + 2 * NODES];
    s->step++;
    int64_t opens;
    open_late(s, &opens);
    if ((s->die_worker || s->die_client) && s->step >= s->die_at && has_begun(s)) {
        int node = s->die_worker ? s->die_worker : s->die_client;
        s->die_worker = s->die_client = 0;
        node_dies(s, node);
    }
    if (sim_below(s, 3) == 0) go_on(s);
    int n = list_choices(s, choice);
    if (n == 0 && go_on(s)) return true;
    if (n == 0) { /* Advances the time until a link opens. */
        for (int a = 0; a < NODES; a++)
            for (int b = 0; b < NODES; b++) {
                const SimLink *l = &s->link[a][b];
                if (l->n && l->closed_until > s->step && l->closed_until < opens)
                    opens = l->closed_until;
            }
        if (opens == INT64_MAX) return false;
        s->step = opens;
        return true;
    }
    if (sim_below(s, 300) == 0) {
        dispatcher_on_tick(s->d, s->step);
        collect_dispatcher(s);
    }
    int k = sim_below(s, n);
    if (s->by_priority) {
        for (int i = 0; i < n; i++)
            if (choice[i].priority > choice[k].priority) k = i;
        if (sim_below(s, 12) == 0) demote(s, &choice[k]);
    }
    switch (choice[k].kind) {
    case 0: deliver(s, choice[k].a, choice[k].b); break;
    case 1: worker_works(s, choice[k].a); break;
    default: client_sends(s, choice[k].a); break;
    }
    return true;
}

/* Runs until no event is possible. */
static void sim_run(Sim *s, int64_t most) {
    int64_t end = s->step + most, events = 0;
    while (!s->why[0] && sim_step(s)) {
        if (++events > most || s->step > 1000 * end) {
            sim_wrong(s, "no end after %lld events", (long long)events);
            for (int k = 1; k <= s->n_workers; k++)
                if (s->worker[k].idle_steps > 1000)
                    snprintf(s->why, sizeof s->why,
                             "worker %d is busy without end: %d steps in a row gave nothing", k,
                             s->worker[k].idle_steps);
        }
    }
}

/* ---- Making and unmaking ---- */

static void sim_open_worker(Sim *s, int node, uint64_t memory_bytes, uint64_t seed) {
    SimWorker *w = &s->worker[node];
    WorkerConfig config = {.engine = w->engine, .threads = 1, .memory_bytes = memory_bytes};
    Err err = {0};
    w->w = worker_new(&config, &err);
    w->rank = UINT32_MAX;
    if (!w->w) {
        sim_wrong(s, "no worker: %s", err.text);
        return;
    }
    if (!strcmp(w->engine, "delayed")) delayed_seed(exec_engine(w->w->exec), seed);
    collect_worker(s, node);
}

static void sim_open_client(Sim *s, int i, SimProgram *p) {
    SimClient *c = &s->client[i];
    c->program = p;
    c->is_open = true;
    c->is_watcher = i == s->n_clients;
    c->writer.edge_id = UINT64_MAX;
    if (p) {
        c->reply = xcalloc((size_t)p->n + 1, sizeof *c->reply);
        c->failure = xcalloc((size_t)p->n + 1, 1);
    }
    Hello h = {.version = WIRE_VERSION, .table_hash = op_table_hash(), .role = ROLE_CLIENT};
    snprintf(h.name, sizeof h.name, "client%d", i);
    Msg m = {0};
    wire_hello(&h, &m);
    link_push(s, sim_client_node(s, i), 0, &m);
}

static void sim_close(Sim *s) {
    for (int a = 0; a < NODES; a++)
        for (int b = 0; b < NODES; b++) {
            link_drop(&s->link[a][b]);
            free(s->link[a][b].q);
        }
    for (int k = 1; k <= s->n_workers; k++) {
        worker_free(&s->worker[k].w);
        for (int i = 0; i < SIM_CLIENTS; i++) bodies_fini(&s->worker[k].bytes.placed[i]);
    }
    for (int i = 0; i <= s->n_clients; i++) {
        SimClient *c = &s->client[i];
        for (int k = 0; c->reply && k < c->program->n; k++) bytes_fini(&c->reply[k].value);
        free(c->reply);
        free(c->failure);
        Msg m = {0};
        if (c->writer.head) frame_end(&c->writer, &m);
        msg_fini(&m);
    }
    bytes_fini(&s->figures);
    dispatcher_free(&s->d);
    free(s);
}

/* A statistic of stats(), such as "w0.bytes_used", or -1; if several have that name, the last,
 * which is the worker's. */
static int64_t sim_figure(const Sim *s, const char *name) {
    size_t n = strlen(name);
    int64_t value = -1;
    for (const char *at = s->figures.data; at && *at;) {
        if (!strncmp(at, name, n) && at[n] == '=') value = atoll(at + n + 1);
        at = strchr(at, '\n');
        if (at) at++;
    }
    return value;
}

static void sim_ask_figures(Sim *s, int64_t most) {
    sim_open_client(s, s->n_clients, NULL);
    sim_run(s, most);
    Msg m = {0};
    s->has_figures = false;
    wire_text(MSG_STATS, "", 0, &m);
    link_push(s, sim_client_node(s, s->n_clients), 0, &m);
    sim_run(s, most);
    if (!s->has_figures) sim_wrong(s, "a question for figures has no answer");
}
#endif
