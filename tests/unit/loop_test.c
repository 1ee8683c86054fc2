/* loop_test: dispatcher_pump on a clock that advances at each call: it returns while messages still
 * arrive, and it does not wait for messages while slices are left to read. And a client that does
 * not read is disconnected.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/clock.h"
#include "runtime/net/net.h"
#include "tests/unit/dispatcher_talk.h"
#include "tests/unit/raw_peer.h"
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The pump's clock: step_ms later at each call. */
static int64_t step_ms, calls;
int clock_gettime(clockid_t id, struct timespec *t) {
    if (id != CLOCK_MONOTONIC_COARSE || !step_ms) return (int)syscall(SYS_clock_gettime, id, t);
    int64_t at_ms = step_ms * ++calls;
    *t = (struct timespec){at_ms / 1000, at_ms % 1000 * 1000000};
    return 0;
}

enum { WORKERS = 2, AT_ANN = WORKERS, PEERS };
static Hub *hub;
static Link *link_to[PEERS];

static Dispatcher *start_loop(const DispatcherConfig *config) {
    Dispatcher *d = dispatcher_new(config);
    Err err = {0};
    hub = hub_open("ring://loop-test", &err);
    CHECK(hub != NULL);
    step_ms = 0;
    for (int i = 0; i < PEERS; i++) {
        Msg m = make_hello(i < WORKERS ? ROLE_WORKER : ROLE_CLIENT);
        link_to[i] = link_open("ring://loop-test", &err);
        CHECK(link_to[i] && link_send(link_to[i], &m));
        dispatcher_pump(d, hub, 1000);
    }
    calls = 0;
    return d;
}

static void stop_loop(Dispatcher *d) {
    for (int i = 0; i < PEERS; i++) link_close(&link_to[i]);
    hub_close(&hub);
    dispatcher_free(&d);
}

static void send_frame(void) {
    Msg m;
    frame_end(&writer, &m);
    CHECK(link_send(link_to[AT_ANN], &m));
    writer = (FrameWriter){0};
}

/* One more than the number of Ann's last instruction that the first worker has. */
static uint64_t arrived(uint64_t at) {
    Msg m;
    while (link_recv(link_to[0], &m) > 0) {
        FrameReader r;
        Arena arena = {0};
        Inst in;
        if (frame_open(&r, &m, NULL)) {
            while (frame_next(&r, &arena, &in, NULL, NULL, NULL) > 0) continue;
            if (r.seq_next > at) at = r.seq_next;
        }
        arena_fini(&arena);
        msg_fini(&m);
    }
    return at;
}

/* The pump returns however many messages there are: its caller handles signals and children. */
static void test_ends(void) {
    enum { FRAMES = 2000, LEAST = FRAMES / 2 };
    Dispatcher *d = start_loop(&(DispatcherConfig){.workers_wanted = WORKERS});
    for (uint64_t i = 0; i < FRAMES; i++) begin(i), full(i, shape_23), send_frame();
    step_ms = 1;
    dispatcher_pump(d, hub, 0);
    uint64_t n = arrived(0);
    CHECK_MSG(n > 0 && n < LEAST, "%llu of %d messages in one go", (unsigned long long)n, FRAMES);
    for (int i = 0; i < FRAMES && n < FRAMES; i++) dispatcher_pump(d, hub, 0), n = arrived(n);
    CHECK_INT(n, FRAMES);
    stop_loop(d);
}

/* A slice is one instruction here, and a pump one slice. */
static void test_no_sleep(void) {
    enum { INSTS = 100, SLEEP_MS = 10000 };
    static const int64_t both[] = {0, 1};
    Dispatcher *d = start_loop(&(DispatcherConfig){.workers_wanted = WORKERS, .slice = 1});
    begin(0), define("s", both, WORKERS), enter("s", OP_SIGNAL_ENTER);
    for (uint64_t i = 0; i < INSTS; i++) full(i, shape_23);
    send_frame();
    step_ms = 1000;
    uint64_t n = 0;
    int pumps = 0;
    for (bool sleeps = false; n < INSTS + 2 && !sleeps; pumps++) {
        int64_t begin = now_ms();
        dispatcher_pump(d, hub, SLEEP_MS);
        sleeps = now_ms() - begin >= SLEEP_MS - 1;
        n = arrived(n);
        CHECK_MSG(!sleeps, "it waits, and slices are left: %llu of %d instructions",
                  (unsigned long long)n, INSTS + 2);
    }
    CHECK(pumps > INSTS / 4);
    stop_loop(d);
}

/* Writes a message as ZMTP frames. Consumes it. */
static void write_msg(int fd, Msg *m) {
    for (int i = 0; i < m->n; i++) {
        size_t n = m->part[i]->n;
        uint8_t head[9] = {(uint8_t)(2 | (i + 1 < m->n))};
        for (int k = 0; k < 8; k++) head[1 + k] = (uint8_t)((uint64_t)n >> (56 - 8 * k));
        CHECK_INT(write(fd, head, sizeof head), sizeof head);
        CHECK_INT(write(fd, m->part[i]->data, n), n);
    }
    msg_fini(m);
}

static void write_hello(int fd, Link *link, Role role) {
    Msg m = make_hello(role);
    link ? (void)link_send(link, &m) : write_msg(fd, &m);
}

/* Errors, acknowledgements and heartbeats take no credit: the dispatcher disconnects a client that
 * does not read them. */
static void test_client_that_does_not_read(void) {
    enum { ERRORS = 600000, LEAST = 50000, SOME = 1000, FULL_MS = 7000 };
    Dispatcher *d = dispatcher_new(&(DispatcherConfig){.workers_wanted = 1});
    Err err = {0};
    step_ms = 0;
    hub = hub_open("tcp://127.0.0.1:*", &err);
    Link *worker = link_open(hub_endpoint(hub), &err);
    int fd = connect_to(hub_endpoint(hub));
    CHECK(hub && worker);
    write_hello(-1, worker, ROLE_WORKER);
    for (int i = 0; i < 1000 && dispatcher_workers(d) < 1; i++) dispatcher_pump(d, hub, 10);
    shake_hands(fd, "DEALER");
    write_hello(fd, NULL, ROLE_CLIENT);
    Msg m;
    begin(0), full(0, shape_23), frame_end(&writer, &m), write_msg(fd, &m);
    writer = (FrameWriter){0};
    for (int i = 0; i < 1000 && counter(d, "\ninstructions") < 1; i++) dispatcher_pump(d, hub, 10);
    CHECK_INT(counter(d, "\ninstructions"), 1);
    Failure f = {.client = 1, .worker = UINT16_MAX, .err = {.code = ERR_ARG}};
    memset(f.err.text, 'x', sizeof f.err.text - 1);
    long n = 0;
    int64_t begin = now_ms();
    for (; n < ERRORS && counter(d, "clients") > 0; n += SOME) {
        for (int i = 0; i < SOME; i++) wire_failure(&f, &m), link_send(worker, &m);
        for (int i = 0; i < 100 && dispatcher_pump(d, hub, i ? 0 : 1); i++) continue;
        while (link_recv(worker, &m) > 0) msg_fini(&m);
    }
    /* The system ends a connection whose window is full for 8 s. A slow machine needs longer. */
    int64_t took = now_ms() - begin;
    while (counter(d, "clients") > 0) dispatcher_pump(d, hub, 10); /* the rest arrives */
    CHECK_MSG(counter(d, "\ncut_off") == 1 || took > FULL_MS, "not disconnected: %ld errors", n);
    CHECK_MSG(n >= LEAST || took > FULL_MS, "disconnected after %ld errors", n);
    close(fd);
    link_close(&worker);
    hub_close(&hub);
    dispatcher_free(&d);
}

int main(void) {
    test_ends();
    test_no_sleep();
    test_client_that_does_not_read();
    net_fini();
    return check_report("loop");
}
