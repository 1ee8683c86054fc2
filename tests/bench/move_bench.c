/* move_bench: the rate of data exchange between worker processes, against memcpy of as many bytes:
 * all_gather of a split tensor, all_reduce of terms, for each data plane (in place, in messages,
 * through UCX if it is built in). This program is the dispatcher.
 *
 * Bytes are those that the collective must move, over all workers: all_gather (n - 1) B, all_reduce
 * 2 (n - 1) B of a tensor of B bytes. memcpy: n processes at once, each a share of 1/n.
 *
 * Usage: move_bench [MIB [REPEATS]]
 * SPDX-License-Identifier: MIT */
#include "runtime/base/clock.h"
#include "tests/unit/make_inst.h"
#include "runtime/layout/place.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire_peer.h"
#include "worker/worker.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 8, WAIT_S = 120, CLIENT = 1, GROUP = 1 };

static char directory[] = "/tmp/gt-move-bench-XXXXXX";
static int64_t mib = 32;
static int repeats = 5;

static _Noreturn void stop(const char *what) {
    fprintf(stderr, "move_bench: %s\n", what);
    exit(1);
}

/* ---- A cluster: this program and n workers ---- */

typedef struct Cluster {
    Hub *hub;
    int n;
    PeerId peer[WORKERS];
    pid_t pid[WORKERS];
    uint64_t acked[WORKERS], seq, number, next_id;
    FrameWriter frame;
} Cluster;

static bool rank_of(const Cluster *c, PeerId id, int *rank) {
    *rank = 0;
    while (*rank < c->n && c->peer[*rank] != id) ++*rank;
    return *rank < c->n;
}

/* Handles the workers' messages until all have acknowledged `seq`, or n have said hello. */
static void receive(Cluster *c, uint64_t seq, PeerInfo *hello, int *n_hello) {
    double end = now_s() + WAIT_S;
    for (;;) {
        Msg m;
        PeerId from;
        int r, rank, n_done = 0;
        while ((r = hub_recv(c->hub, &from, &m))) {
            Ack ack;
            Hello h;
            Failure f;
            if (r < 0) stop("a worker is gone");
            if (n_hello && wire_read_hello(&m, &h, NULL)) {
                rank = (*n_hello)++;
                c->peer[rank] = from;
                hello[rank] = (PeerInfo){
                    .rank = (uint32_t)rank, .token = 1000 + (uint64_t)rank, .data = h.data};
            } else if (wire_read_failure(&m, &f, NULL)) {
                stop(f.err.text);
            } else if (wire_read_ack(&m, &ack, NULL) && rank_of(c, from, &rank)) {
                c->acked[rank] = ack.seq;
            }
            msg_fini(&m);
        }
        for (int i = 0; i < c->n; i++) n_done += c->acked[i] >= seq;
        if (n_hello ? *n_hello == c->n : n_done == c->n) return;
        if (now_s() > end) stop("no answer");
        hub_wait(c->hub, 1000);
    }
}

static void tell(Cluster *c, int rank, Msg *m) {
    if (!hub_send(c->hub, c->peer[rank], m)) stop("a worker is gone");
}

static bool cluster_start(Cluster *c, int n, const char *way) {
    *c = (Cluster){.n = n, .next_id = 1};
    char at[100];
    Err err = {0};
    snprintf(at, sizeof at, "ipc://%s/d", directory);
    if (!(c->hub = hub_open(at, &err))) stop(err.text);
    setenv("GT_DATA_PLANE", way, 1);
    for (int i = 0; i < n; i++) {
        c->pid[i] = fork();
        if (c->pid[i] == 0) {
            execl("/proc/self/exe", "move_bench", "--worker", at, (char *)NULL);
            _exit(127);
        }
    }
    PeerInfo info[WORKERS];
    int n_hello = 0;
    for (int i = 0; i < 50 && !strcmp(way, "ucx"); i++) { /* It may not be built in. */
        int status;
        if (waitpid(c->pid[0], &status, WNOHANG) == c->pid[0]) {
            for (int k = 1; k < n; k++) waitpid(c->pid[k], &status, 0);
            hub_close(&c->hub);
            return false;
        }
        usleep(20000);
    }
    receive(c, 0, info, &n_hello);
    int32_t ranks[WORKERS];
    Msg m;
    for (int i = 0; i < n; i++) ranks[i] = i;
    for (int i = 0; i < n; i++) {
        Welcome w = {.id = (uint32_t)i,
                     .rank = (uint32_t)i,
                     .n_workers = (uint32_t)n,
                     .token = info[i].token};
        wire_welcome(&w, &m);
        tell(c, i, &m);
        for (int k = 0; k < n; k++)
            if (k != i) wire_peer(&info[k], &m), tell(c, i, &m);
        wire_group(GROUP, ranks, n, &m);
        tell(c, i, &m);
    }
    return true;
}

static void cluster_stop(Cluster *c) {
    Msg m;
    for (int i = 0; i < c->n; i++) wire_text(MSG_BYE, "", 0, &m), tell(c, i, &m);
    for (int i = 0; i < c->n; i++) waitpid(c->pid[i], NULL, 0);
    hub_close(&c->hub);
}

/* ---- Programs ---- */

static void add(Cluster *c, const Inst *in) {
    if (!c->frame.head) {
        frame_begin(&c->frame, CLIENT, c->seq);
        c->frame.edge_id = UINT64_MAX;
        c->frame.number = c->number;
    }
    frame_add(&c->frame, in);
    c->seq++, c->number++;
}

/* Sends to all; waits until all is done. */
static void flush(Cluster *c) {
    Msg m;
    frame_end(&c->frame, &m);
    for (int i = 0; i < c->n; i++) {
        Msg copy = {0};
        for (int k = 0; k < m.n; k++) msg_push(&copy, buf_ref(m.part[k]));
        tell(c, i, &copy);
    }
    msg_fini(&m);
    receive(c, c->seq, NULL, NULL);
}

static uint64_t full(Cluster *c, const TensorType *t, const Layout *layout) {
    Inst in = FULL(c->next_id, 2, t->shape, DT_F32, 1);
    Located at;
    if (!inst_locate(&in, GROUP, layout, &at)) stop("inst_locate");
    add(c, &at.inst);
    flush(c);
    return c->next_id++;
}

/* GB/s of `repeats` conversions to `to`, each freed. */
static double convert(Cluster *c, const TensorType *t, const Layout *from, const Layout *to,
                      double bytes) {
    uint64_t in = full(c, t, from);
    double best = 0;
    for (int round = 0; round < 3; round++) {
        double begin = now_s();
        for (int i = 0; i < repeats; i++) {
            Move move = {.in = in,
                         .out = c->next_id++,
                         .type = *t,
                         .from = {.group = GROUP, .layout = *from},
                         .to = {.group = GROUP, .layout = *to}};
            MoveInst inst;
            move_inst(&move, (SrcPos){0}, &inst);
            add(c, &inst.inst);
            add(c, &(Inst){.op = OP_FREE, OPERANDS(of_tensor(move.out))});
        }
        flush(c);
        double speed = bytes * repeats / (now_s() - begin) / 1e9;
        if (round > 0 && speed > best) best = speed; /* the first round touches the pages */
    }
    add(c, &(Inst){.op = OP_FREE, OPERANDS(of_tensor(in))});
    flush(c);
    return best;
}

/* n processes copy their share of `bytes` at once, `repeats` times; GB/s of all. */
static double copies(int n, double bytes) {
    size_t each = (size_t)(bytes / n);
    double best = 0;
    for (int round = 0; round < 2; round++) {
        int ready[2], go[2];
        if (pipe(ready) || pipe(go)) stop("pipe");
        for (int i = 0; i < n; i++) {
            if (fork()) continue;
            char *a = malloc(each), *b = malloc(each), x = 0;
            memset(a, 1, each), memset(b, 2, each);
            close(go[1]);
            if (write(ready[1], &x, 1) != 1 || read(go[0], &x, 1) < 0) _exit(1);
            for (int k = 0; k < repeats; k++) memcpy(k % 2 ? a : b, k % 2 ? b : a, each);
            _exit(a[each / 2] == 77); /* Marks it as used. */
        }
        char x;
        for (int i = 0; i < n; i++)
            if (read(ready[0], &x, 1) != 1) stop("a copier");
        double begin = now_s();
        close(go[0]), close(go[1]);
        for (int i = 0; i < n; i++) wait(NULL);
        double speed = bytes * repeats / (now_s() - begin) / 1e9;
        if (speed > best) best = speed;
        close(ready[0]), close(ready[1]);
    }
    return best;
}

static int worker_main(const char *endpoint) {
    WorkerConfig config = {.engine = "cpu",
                           .threads = 1,
                           .memory_bytes = UINT64_C(1) << 30,
                           .is_shared = true,
                           .endpoint = endpoint};
    signal(SIGPIPE, SIG_IGN);
    Err why = {0};
    config.why = &why;
    return worker_run(&config) == WORKER_FAILED;
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "--worker")) return worker_main(argv[2]);
    if (argc > 1) mib = atoll(argv[1]);
    if (argc > 2) repeats = atoi(argv[2]);
    if (mib < 1 || repeats < 1 || !mkdtemp(directory)) stop("move_bench [MIB [REPEATS]]");
    setenv("XDG_RUNTIME_DIR", directory, 1);
    TensorType t = {.dtype = DT_F32, .rank = 2, .shape = {mib * 256, 1024}};
    Layout whole = layout_replicate(), terms = layout_partial(OP_SUM);
    static const char *const ways[] = {"memfd", "zmq", "ucx"};
    printf("%lld MiB of float32, workers in processes: GB/s (of memcpy's)\n", (long long)mib);
    for (int n = 2; n <= 4; n += 2) {
        double bytes = (double)type_bytes(&t) * (n - 1);
        double memcpy_g = copies(n, bytes), memcpy_r = copies(n, 2 * bytes);
        for (int w = 0; w < 3; w++) {
            Cluster c;
            Layout rows = layout_split(&t, 0, n);
            if (!cluster_start(&c, n, ways[w])) {
                printf("%d workers  %-6s not here\n", n, ways[w]);
                continue;
            }
            double gather = convert(&c, &t, &rows, &whole, bytes);
            double reduce = convert(&c, &t, &terms, &whole, 2 * bytes);
            cluster_stop(&c);
            printf("%d workers  %-6s all_gather %6.2f (%3.0f %%)", n, ways[w], gather,
                   100 * gather / memcpy_g);
            printf("   all_reduce %6.2f (%3.0f %%)\n", reduce, 100 * reduce / memcpy_r);
            fflush(stdout);
        }
    }
    char path[100];
    snprintf(path, sizeof path, "%s/gt", directory);
    rmdir(path), rmdir(directory);
    net_fini();
    return 0;
}
