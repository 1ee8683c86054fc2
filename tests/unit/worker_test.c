/* worker_test.c: worker_run in threads, over every transport, with this test as the dispatcher:
 * hello, work, statistics, leaving; two workers in one process; a dispatcher that vanishes; unknown
 * engines.
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire.h"
#include "tests/unit/make_inst.h"
#include "worker/worker.h"

#include <pthread.h>

enum { WAIT_MS = 120000 };

typedef struct Run {
    pthread_t thread;
    WorkerConfig config;
    char endpoint[64];
    int code;
} Run;

static void *run_main(void *ctx) {
    Run *r = ctx;
    r->code = worker_run(&r->config);
    return NULL;
}
static void start(Run *r, const char *endpoint) {
    snprintf(r->endpoint, sizeof r->endpoint, "%s", endpoint);
    r->config = (WorkerConfig){
        .engine = "reference", .threads = 1, .memory_bytes = 16 << 20, .endpoint = r->endpoint};
    CHECK(pthread_create(&r->thread, NULL, run_main, r) == 0);
}

/* The next message of a kind, others are dropped; false: none in time, or the peer is gone. */
static bool await(Hub *hub, MsgKind kind, PeerId *from, Msg *m) {
    for (int waited = 0; waited < WAIT_MS; waited += 100) {
        int r;
        while ((r = hub_recv(hub, from, m))) {
            if (r < 0) return false;
            if (wire_kind(m) == kind) return true;
            msg_fini(m);
        }
        hub_wait(hub, 100);
    }
    return false;
}

static PeerId greet(Hub *hub, uint32_t rank) {
    PeerId peer = 0;
    Msg m = {0};
    Hello hello = {0};
    CHECK(await(hub, MSG_HELLO, &peer, &m));
    CHECK(wire_read_hello(&m, &hello, NULL));
    CHECK_STR(hello.name, "reference");
    CHECK_INT(hello.role, ROLE_WORKER);
    CHECK_INT(hello.version, WIRE_VERSION);
    CHECK(hello.table_hash == op_table_hash());
    CHECK_INT(hello.memory_bytes, 16 << 20);
    CHECK_INT(hello.threads, 1);
    msg_fini(&m);
    wire_welcome(&(Welcome){.id = peer, .rank = rank, .n_workers = 2}, &m);
    CHECK(hub_send(hub, peer, &m));
    return peer;
}

/* full, add, fetch: the sum is returned. Then too much memory: the error names the worker. */
static void work(Hub *hub, PeerId peer, uint32_t rank) {
    FrameWriter w = {.edge_id = UINT64_MAX};
    int64_t shape[] = {1000, 1000};
    frame_begin(&w, 5, 0);
    frame_add(&w, &FULL(1, 1, shape, DT_F32, 1.25));
    frame_add(&w, &(Inst){.op = OP_ADD, OPERANDS(of_tensor(1), of_tensor(1)), RESULTS(2)});
    frame_add(&w, &(Inst){.op = OP_FETCH, OPERANDS(of_tensor(2))});
    shape[1] = 100000;
    frame_add(&w, &FULL(3, 2, shape, DT_F32, 1.25));
    Msg m = {0};
    frame_end(&w, &m);
    CHECK(hub_send(hub, peer, &m));
    PeerId from;
    Arena arena = {0};
    Reply reply = {0};
    CHECK(await(hub, MSG_REPLY, &from, &m));
    CHECK(wire_read_reply(&m, &arena, &reply, NULL));
    CHECK(reply.client == 5 && reply.seq == 2 && reply.n == 1);
    CHECK(reply.value && ((const float *)reply.value[0].data)[999] == 2.5f);
    msg_fini(&m);
    arena_fini(&arena);
    Failure failure = {0};
    char text[64];
    CHECK(await(hub, MSG_ERROR, &from, &m));
    CHECK(wire_read_failure(&m, &failure, NULL));
    snprintf(text, sizeof text, "worker w%u is out of memory: 'full' needs 381 MiB", rank);
    CHECK_MSG(!strncmp(failure.err.text, text, strlen(text)), "%s", failure.err.text);
    msg_fini(&m);
    Ack ack = {0};
    CHECK(await(hub, MSG_ACK, &from, &m));
    CHECK(wire_read_ack(&m, &ack, NULL) && ack.seq == 4 && ack.bytes > 100);
    msg_fini(&m);
    wire_text(MSG_STATS, "", 0, &m);
    CHECK(hub_send(hub, peer, &m));
    CHECK(await(hub, MSG_STATS_REPLY, &from, &m));
    const char *s = "";
    size_t n = 0;
    CHECK(wire_read_text(&m, &s, &n, NULL));
    CHECK(n > 0 && memmem(s, n, "client.5.tensors=3\n", 19));
    msg_fini(&m);
}

static void test_transport(const char *endpoint) {
    Err err = {0};
    Hub *hub = hub_open(endpoint, &err);
    CHECK_MSG(hub != NULL, "%s", err.text);
    if (!hub) return;
    Run runs[2] = {{0}, {0}};
    PeerId peer[2];
    for (int i = 0; i < 2; i++) {
        start(&runs[i], hub_endpoint(hub));
        peer[i] = greet(hub, (uint32_t)i);
    }
    for (int i = 0; i < 2; i++) work(hub, peer[i], (uint32_t)i);
    /* one gets BYE, the other notices that the dispatcher is gone */
    Msg m = {0};
    wire_text(MSG_BYE, "", 0, &m);
    CHECK(hub_send(hub, peer[0], &m));
    pthread_join(runs[0].thread, NULL);
    CHECK_INT(runs[0].code, WORKER_LEFT);
    hub_close(&hub);
    pthread_join(runs[1].thread, NULL);
    CHECK_INT(runs[1].code, WORKER_GONE);
}

static void test_refusals(void) {
    Err err = {0};
    WorkerConfig config = {.engine = "abacus", .threads = 1, .memory_bytes = 1 << 20};
    CHECK(!worker_new(&config, &err));
    CHECK_INT(err.code, ERR_ARG);
    CHECK_STR(err.text, "there is no engine 'abacus'");
    Err why = {0};
    config.why = &why;
    CHECK_INT(worker_run(&config), WORKER_FAILED);
    CHECK_STR(why.text, "there is no engine 'abacus'");
    config.engine = "reference";
    config.endpoint = "ring://nobody-here";
    CHECK_INT(worker_run(&config), WORKER_FAILED);
    CHECK(why.code == ERR_IO || why.code == ERR_GONE);
    config.memory_bytes = UINT64_C(1) << 60;
    CHECK(!worker_new(&config, &err));
    CHECK_INT(err.code, ERR_MEMORY);
    setenv("GT_BACKEND", "numpy", 1);
    config = (WorkerConfig){.memory_bytes = 1 << 20, .workers_on_host = 1000};
    Worker *w = worker_new(&config, &err);
    CHECK_MSG(w != NULL, "%s", err.text);
    Msg m = {0};
    Hello hello = {0};
    CHECK(worker_next(w, &m) && wire_read_hello(&m, &hello, NULL));
    CHECK_STR(hello.name, "reference");
    CHECK_INT(hello.threads, 1);
    msg_fini(&m);
    CHECK(!worker_next(w, &m));
    CHECK(!worker_step(w, 1000));
    err_set(&why, ERR_VERSION, "another op table");
    wire_refuse(&why, &m);
    CHECK(!worker_has_left(w));
    worker_on_message(w, &m);
    CHECK(worker_has_left(w));
    worker_free(&w);
    CHECK(!w);
    unsetenv("GT_BACKEND");
}

int main(void) {
    test_refusals();
    test_transport("ring://worker-test");
    test_transport("inproc://worker-test");
    test_transport("tcp://127.0.0.1:*");
    net_fini();
    return check_report("worker");
}
