/* plane_test: workers' data planes, with this test as the dispatcher: tokens that are right, wrong
 * and early; limits; order; which peers can be reached; another process's memory read in place;
 * forged descriptions of memory; death of a peer.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/clock.h"
#include "worker/plane/plane.h"
#include "tests/unit/check.h"
#include "worker/engine/mem.h"
#include "worker/plane/reach.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char directory[] = "/tmp/gt-plane-test-XXXXXX";
static int64_t clock_ms = 1000; /* the time that the planes see */

/* ---- A worker's end ---- */

typedef struct End {
    Mem *mem;
    Plane *plane;
    PeerInfo info; /* as the dispatcher would announce it */
} End;

static char *end_bytes(const End *e) {
    void *base;
    uint64_t bytes;
    int fd;
    mem_range(e->mem, &base, &bytes, &fd);
    return base;
}

static bool end_open(End *e, uint32_t rank, const char *dispatcher, bool is_shared) {
    Err err = {0};
    *e = (End){.mem = mem_open(1 << 20, is_shared, &err)};
    PlaneConfig config = {.dispatcher = dispatcher};
    void *base;
    mem_range(e->mem, &base, &config.arena_bytes, &config.arena_fd);
    config.arena = base;
    e->plane = plane_open(&config, &err);
    CHECK_MSG(e->plane != NULL, "%s: %s", dispatcher, err.text);
    if (!e->plane) {
        mem_close(&e->mem);
        return false;
    }
    e->info = (PeerInfo){.rank = rank,
                         .token = UINT64_C(0x9e3779b97f4a7c15) * (rank + 1),
                         .data = *plane_data(e->plane)};
    plane_on_welcome(e->plane, rank, e->info.token);
    return true;
}

static void end_close(End *e) {
    plane_close(&e->plane);
    mem_close(&e->mem);
}

static void say(End *from, uint32_t to, uint64_t number) {
    Msg m;
    wire_taken(&(Taken){.client = 1, .number = number}, &m);
    plane_send(from->plane, to, &m, clock_ms);
    CHECK_INT(m.n, 0);
}

/* The next number that arrives within the time limit, or -1. */
static int64_t receive_for(End *e, uint32_t *rank, int limit_ms) {
    Msg m;
    Taken t = {0};
    for (int64_t end = now_ms() + limit_ms;;) {
        if (plane_recv(e->plane, rank, &m, clock_ms)) {
            CHECK(wire_read_taken(&m, &t, NULL));
            msg_fini(&m);
            return (int64_t)t.number;
        }
        if (now_ms() >= end) return -1;
        hub_wait(plane_hub(e->plane), 10);
    }
}
static int64_t receive(End *e, uint32_t *rank) { return receive_for(e, rank, 60000); }
static int64_t hear_nothing(End *e) {
    uint32_t rank;
    return receive_for(e, &rank, 60);
}

static void meet(End *a, const End *b) { plane_on_peer(a->plane, &b->info, clock_ms); }

/* ---- Connections ---- */

static void test_talk(const char *dispatcher) {
    End e[3];
    uint32_t rank = 99;
    for (uint32_t i = 0; i < 3; i++)
        if (!end_open(&e[i], i, dispatcher, false)) return;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (i != j) meet(&e[i], &e[j]);
    for (uint64_t k = 0; k < 500; k++) say(&e[0], 2, k), say(&e[1], 2, 1000 + k);
    int64_t next[2] = {0, 1000};
    for (int k = 0; k < 1000; k++) {
        int64_t n = receive(&e[2], &rank);
        CHECK(rank < 2 && n == next[rank % 2]++);
    }
    CHECK_INT(next[0] + next[1], 2000);
    say(&e[2], 0, 7), say(&e[2], 1, 8);
    CHECK(receive(&e[0], &rank) == 7 && rank == 2);
    CHECK(receive(&e[1], &rank) == 8 && rank == 2);
    say(&e[2], 3, 9); /* no such rank */
    say(&e[2], UINT32_MAX, 9);
    /* In one process memory is read directly; that is reported once per peer. */
    const void *base = NULL;
    uint64_t bytes = 0;
    CHECK(plane_memory(e[0].plane, 2, &base, &bytes));
    CHECK(base == end_bytes(&e[2]) && bytes == 1 << 20);
    CHECK(!plane_memory(e[0].plane, 2, &base, &bytes));
    CHECK(!plane_memory(e[0].plane, 3, &base, &bytes));
    strcpy(end_bytes(&e[2]) + 5000, "read in place");
    /* A peer goes: its messages arrive, its memory stays until PEER_GONE, other peers are not
     * affected. */
    say(&e[2], 0, 10);
    end_close(&e[2]);
    CHECK(receive(&e[0], &rank) == 10 && rank == 2);
    CHECK_STR((const char *)base + 5000, "read in place");
    for (int k = 0; k < 5; k++) say(&e[0], 2, 11);
    plane_on_peer_gone(e[0].plane, 2);
    say(&e[0], 2, 12);
    say(&e[0], 1, 13);
    CHECK(receive(&e[1], &rank) == 13 && rank == 0);
    /* Another one with the same rank comes. */
    if (!end_open(&e[2], 2, dispatcher, false)) return;
    e[2].info.token ^= 1;
    plane_on_welcome(e[2].plane, 2, e[2].info.token);
    meet(&e[0], &e[2]), meet(&e[2], &e[0]);
    say(&e[2], 0, 14);
    CHECK(receive(&e[0], &rank) == 14 && rank == 2);
    CHECK(plane_memory(e[0].plane, 2, &base, &bytes) && base == end_bytes(&e[2]));
    for (int i = 0; i < 3; i++) end_close(&e[i]);
}

/* The hello arrives before PEER. */
static void test_early(const char *dispatcher) {
    End a, b;
    uint32_t rank = 99;
    if (!end_open(&a, 0, dispatcher, false) || !end_open(&b, 1, dispatcher, false)) return;
    meet(&b, &a);
    for (uint64_t k = 0; k < 100; k++) say(&b, 0, k);
    CHECK_INT(hear_nothing(&a), -1);
    clock_ms += 9000; /* within the time that it may be pending */
    plane_tick(a.plane, clock_ms);
    meet(&a, &b);
    for (uint64_t k = 100; k < 200; k++) say(&b, 0, k);
    for (int k = 0; k < 200; k++) CHECK(receive(&a, &rank) == k && rank == 1);
    /* The former worker's death is not reported yet: the known token is the former one's. */
    End c;
    if (!end_open(&c, 1, dispatcher, false)) return;
    c.info.token ^= 77;
    plane_on_welcome(c.plane, 1, c.info.token);
    meet(&c, &a);
    for (uint64_t k = 300; k < 310; k++) say(&c, 0, k);
    say(&b, 0, 200);
    CHECK_INT(receive(&a, &rank), 200);
    CHECK_INT(hear_nothing(&a), -1);
    plane_on_peer_gone(a.plane, 1);
    meet(&a, &c);
    for (int k = 300; k < 310; k++) CHECK(receive(&a, &rank) == k && rank == 1);
    CHECK_INT(hear_nothing(&a), -1);
    end_close(&a), end_close(&b), end_close(&c);
}

/* Only a verified connection's messages are delivered. */
static void test_strangers(const char *dispatcher) {
    End a, b, liar;
    uint32_t rank = 99;
    Err err = {0};
    Msg m;
    if (!end_open(&a, 0, dispatcher, false) || !end_open(&b, 1, dispatcher, false)) return;
    if (!end_open(&liar, 1, dispatcher, false)) return;
    meet(&a, &b), meet(&b, &a), meet(&liar, &a);
    plane_on_welcome(liar.plane, 1, b.info.token ^ (UINT64_C(1) << 63)); /* one bit is wrong */
    say(&liar, 0, 1);
    CHECK_INT(hear_nothing(&a), -1);
    say(&b, 0, 2);
    CHECK(receive(&a, &rank) == 2 && rank == 1);
    clock_ms += 10001; /* The time of the wrong one is over. */
    plane_tick(a.plane, clock_ms);
    say(&liar, 0, 3);
    CHECK_INT(hear_nothing(&a), -1);
    /* Unexpected ranks, and garbage. */
    static const char *const first[] = {"", "x", "\x10\0\0\0\0\0\0\0", "GET / HTTP/1.0\r\n\r\n"};
    for (int i = 0; i < 5; i++) {
        Link *link = link_open(hub_endpoint(plane_hub(a.plane)), &err);
        CHECK(link != NULL);
        if (!link) break;
        m = (Msg){0};
        if (i < 4)
            msg_push(&m, buf_copy(first[i], i == 2 ? 8 : strlen(first[i])));
        else
            wire_taken(&(Taken){.number = 4}, &m); /* before a hello */
        link_send(link, &m);
        wire_taken(&(Taken){.number = 5}, &m);
        link_send(link, &m);
        wire_peer_hello(&(PeerHello){1, b.info.token}, &m); /* too late */
        link_send(link, &m);
        wire_taken(&(Taken){.number = 6}, &m);
        link_send(link, &m);
        CHECK_INT(hear_nothing(&a), -1);
        link_close(&link);
    }
    /* More pending connections than there is room for: each further one is dropped, and verified
     * ones continue. */
    Link *many[80];
    for (int i = 0; i < 80; i++) {
        many[i] = link_open(hub_endpoint(plane_hub(a.plane)), &err);
        wire_peer_hello(&(PeerHello){7, (uint64_t)i}, &m);
        link_send(many[i], &m);
        /* It fits the system's buffers. libzmq 4.3.4 aborts if a connection breaks in the middle of
         * a message and the linger time of a closed socket ends just then (zeromq/libzmq#3442). */
        Buf *piece = buf_new(64 << 10);
        piece->n = 64 << 10;
        wire_piece(&(Piece){.number = 1}, piece, &m);
        link_send(many[i], &m);
    }
    say(&b, 0, 20);
    CHECK(receive(&a, &rank) == 20 && rank == 1);
    CHECK_INT(hear_nothing(&a), -1);
    for (int i = 0; i < 80; i++) link_close(&many[i]);
    CHECK_INT(hear_nothing(&a), -1);
    say(&b, 0, 21);
    CHECK(receive(&a, &rank) == 21 && rank == 1);
    end_close(&a), end_close(&b), end_close(&liar);
}

static bool is_lost(const End *e, uint32_t rank) {
    uint32_t at = 0, r;
    while (plane_lost(e->plane, &at, &r))
        if (r == rank) return true;
    return false;
}

/* A connection breaks while no death is reported: after a while both sides declare the peer lost;
 * its death or return ends that. */
static void test_lost(const char *dispatcher) {
    End a, b, c;
    uint32_t rank;
    if (!end_open(&a, 0, dispatcher, false) || !end_open(&b, 1, dispatcher, false) ||
        !end_open(&c, 2, dispatcher, false))
        return;
    meet(&a, &b), meet(&a, &c), meet(&b, &a), meet(&c, &a);
    say(&a, 1, 1), say(&c, 0, 2);
    CHECK(receive(&b, &rank) == 1 && receive(&a, &rank) == 2);
    end_close(&b), end_close(&c); /* a can send to b and receive from it */
    for (int i = 0; i < 20; i++) {
        CHECK_INT(receive_for(&a, &rank, 10), -1);
        plane_tick(a.plane, clock_ms);
    }
    CHECK(!is_lost(&a, 1) && !is_lost(&a, 2));
    clock_ms += 15001;
    plane_tick(a.plane, clock_ms);
    CHECK(is_lost(&a, 1) && is_lost(&a, 2));
    say(&a, 1, 3);
    plane_on_peer_gone(a.plane, 2);
    CHECK(is_lost(&a, 1) && !is_lost(&a, 2));
    if (!end_open(&b, 1, dispatcher, false)) return;
    meet(&a, &b), meet(&b, &a);
    CHECK(!is_lost(&a, 1));
    say(&a, 1, 4), say(&b, 0, 5);
    CHECK(receive(&b, &rank) == 4 && receive(&a, &rank) == 5);
    end_close(&a), end_close(&b);
}

/* ---- Places ---- */

static DataPlane place(uint64_t process, const char *host, const char *endpoint) {
    DataPlane d = {.process = process, .pid = 1, .fd = -1};
    snprintf(d.host, sizeof d.host, "%s", host);
    snprintf(d.endpoint, sizeof d.endpoint, "%s", endpoint);
    return d;
}

static void test_reach(void) {
    static const struct {
        int process_a, process_b;
        const char *host_a, *a, *host_b, *b;
        bool want;
    } t[] = {
        {1, 1, "h", "ring://a", "h", "ring://b", true},
        {1, 2, "h", "ring://a", "h", "ring://b", false},
        {1, 1, "h", "inproc://a", "h", "inproc://b", true},
        {1, 2, "h", "inproc://a", "h", "tcp://10.0.0.1:5", false},
        {1, 2, "h", "ipc:///a", "h", "ipc:///b", true},
        {1, 2, "h", "ipc:///a", "g", "ipc:///b", false},
        {1, 2, "", "ipc:///a", "", "ipc:///b", false}, /* hosts without an id */
        {1, 2, "h", "ipc:///a", "g", "tcp://10.0.0.1:5", false},
        {1, 2, "h", "tcp://10.0.0.2:5", "g", "ipc:///b", false},
        {1, 2, "h", "ipc:///a", "h", "tcp://10.0.0.1:5", true},
        {1, 2, "h", "tcp://10.0.0.2:5", "g", "tcp://10.0.0.1:5", true},
        {1, 2, "h", "tcp://127.0.0.1:5", "g", "tcp://10.0.0.1:5", false},
        {1, 2, "h", "tcp://127.0.0.1:5", "h", "tcp://10.0.0.1:5", true},
        {1, 2, "h", "", "h", "", false},
        {1, 2, "h", "pigeon://x", "h", "tcp://10.0.0.1:5", false},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        DataPlane a = place((uint64_t)t[i].process_a, t[i].host_a, t[i].a);
        DataPlane b = place((uint64_t)t[i].process_b, t[i].host_b, t[i].b);
        CHECK_MSG(reach_is_mutual(&a, &b) == t[i].want, "row %zu", i);
        CHECK_MSG(reach_is_mutual(&b, &a) == t[i].want, "row %zu, the other way", i);
    }
    static const char *const here[] = {"ipc:///x", "tcp://127.0.0.1:90", "tcp://localhost:90",
                                       "tcp://[::1]:90"};
    Endpoint e, other;
    Err e0 = {0};
    for (int i = 0; i < 4; i++) {
        CHECK(reach_endpoint(here[i], &e, &e0));
        CHECK(!strncmp(e.text, "ipc://", 6) && strstr(e.text, directory));
    }
    CHECK(reach_endpoint("ring://d", &e, &e0) && reach_endpoint("ring://d", &other, &e0));
    CHECK(strcmp(e.text, other.text) && !strncmp(e.text, "ring://d-", 9));
    CHECK(reach_endpoint("tcp://0.0.0.0:90", &e, &e0));
    CHECK(!strncmp(e.text, "tcp://", 6) && !strcmp(strrchr(e.text, ':'), ":*"));
    CHECK(!strstr(e.text, "0.0.0.0"));
    CHECK_FAIL(reach_endpoint("tcp://no.such.host.invalid:90", &other, &err), ERR_IO);
    snprintf(e.text, sizeof e.text, "tcp://0.0.0.0:90");
    reach_public(&e);
    CHECK(!strcmp(strrchr(e.text, ':'), ":90"));
    snprintf(e.text, sizeof e.text, "tcp://10.1.2.3:90");
    reach_public(&e);
    CHECK_STR(e.text, "tcp://10.1.2.3:90");
}

/* A lock without a socket belongs to a worker that starts, unless the lock is old. */
static void test_sweep_spares(void) {
    static const struct {
        const char *name;
        bool is_bound, is_old, is_kept;
    } t[] = {{"worker-00000001", false, false, true},
             {"worker-00000002", true, false, false},
             {"worker-00000003", false, true, false},
             {"other-00000004", true, true, true}};
    char path[4][2][PATH_MAX];
    Endpoint e;
    Err err = {0};
    CHECK(reach_endpoint("ipc:///x", &e, &err));
    *strrchr(e.text, '/') = '\0';
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) {
            struct timespec long_ago[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
            snprintf(path[i][k], PATH_MAX, "%s/%s%s", e.text + strlen("ipc://"), t[i].name,
                     k ? "" : ".lock");
            if (k && !t[i].is_bound) continue;
            close(open(path[i][k], O_CREAT | O_RDWR | O_CLOEXEC, 0600));
            if (t[i].is_old) CHECK(!utimensat(AT_FDCWD, path[i][k], long_ago, 0));
        }
    CHECK(reach_endpoint("ipc:///x", &e, &err));
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) {
            bool is_wanted = t[i].is_kept && (!k || t[i].is_bound);
            CHECK_MSG(!access(path[i][k], F_OK) == is_wanted, "%s", path[i][k]);
            unlink(path[i][k]);
        }
}

/* A peer that cannot be reached is lost at once, on both sides. */
static void test_far(void) {
    End a;
    uint32_t rank;
    if (!end_open(&a, 0, "ipc:///d", false)) return;
    PeerInfo p = {.rank = 5, .token = 9, .data = place(3, "elsewhere", "tcp://10.0.0.1:5")};
    plane_on_peer(a.plane, &p, clock_ms);
    CHECK(is_lost(&a, 5));
    say(&a, 5, 1);
    const void *base;
    uint64_t bytes;
    CHECK(plane_memory(a.plane, 5, &base, &bytes) && !base);
    CHECK_INT(receive_for(&a, &rank, 10), -1);
    plane_on_peer_gone(a.plane, 5);
    CHECK(!is_lost(&a, 5));
    end_close(&a);
}

/* A peer on this machine or another that never answers. */
static void test_stranded(void) {
    End a, b;
    uint32_t rank;
    Err err = {0};
    if (!end_open(&a, 0, "ipc:///d", false) || !end_open(&b, 1, "ipc:///d", false)) return;
    meet(&a, &b), meet(&b, &a);
    say(&a, 1, 1);
    CHECK_INT(receive(&b, &rank), 1);
    plane_tick(a.plane, clock_ms);
    PeerInfo p = b.info;
    p.rank = 2;
    snprintf(p.data.endpoint, sizeof p.data.endpoint, "ipc://%s/gt/nobody", directory);
    plane_on_peer(a.plane, &p, clock_ms);
    clock_ms += 20000;
    plane_tick(a.plane, clock_ms);
    CHECK(!plane_is_stranded(a.plane, clock_ms, &err)); /* nothing was sent to it yet */
    say(&a, 2, 2);
    clock_ms += 14000;
    plane_tick(a.plane, clock_ms);
    CHECK(!plane_is_stranded(a.plane, clock_ms, &err));
    clock_ms += 2000;
    CHECK(plane_is_stranded(a.plane, clock_ms, &err));
    CHECK_INT(err.code, ERR_GONE);
    CHECK(!strncmp(err.text, "worker w0 cannot connect to w2 at ipc://", 40));
    CHECK(!is_lost(&a, 1) && !plane_is_stranded(b.plane, clock_ms, &err));
    plane_on_peer_gone(a.plane, 2);
    CHECK(!plane_is_stranded(a.plane, clock_ms, &err));
    end_close(&a), end_close(&b);
}

/* A new worker removes the sockets of killed ones; those in use stay. */
static void test_sweep(void) {
    char at[200];
    snprintf(at, sizeof at, "%s/gt/worker-deadbeef", directory);
    close(open(at, O_CREAT | O_WRONLY, 0600));
    strcat(at, ".lock");
    close(open(at, O_CREAT | O_WRONLY, 0600));
    End a, b;
    uint32_t rank;
    if (!end_open(&a, 0, "ipc:///d", false) || !end_open(&b, 1, "ipc:///d", false)) return;
    CHECK(access(at, F_OK));
    *strrchr(at, '.') = '\0';
    CHECK(access(at, F_OK));
    meet(&a, &b), meet(&b, &a);
    say(&a, 1, 1);
    CHECK_INT(receive(&b, &rank), 1);
    end_close(&a), end_close(&b);
}

/* ---- Two processes ---- */

typedef struct Child {
    pid_t pid;
    int to, from;
    PeerInfo info;
} Child;

enum { MARK_AT = 300000 };

/* Rank 1: announces itself, learns of its peer, then answers each number with the next one and
 * writes it to its memory. */
static void echo_main(int in, int out) {
    End e;
    PeerInfo peer;
    uint32_t rank;
    if (!end_open(&e, 1, "ipc:///d", true)) _exit(1);
    strcpy(end_bytes(&e) + MARK_AT, "the child's");
    if (write(out, &e.info, sizeof e.info) != sizeof e.info) _exit(2);
    if (read(in, &peer, sizeof peer) != sizeof peer) _exit(3);
    plane_on_peer(e.plane, &peer, clock_ms);
    for (int64_t n; (n = receive(&e, &rank)) >= 0;) {
        snprintf(end_bytes(&e) + MARK_AT, 32, "after %d", (int)n);
        say(&e, 0, (uint64_t)n + 1);
    }
    _exit(4);
}

static bool child_start(Child *c, void (*child_main)(int in, int out)) {
    int up[2], down[2];
    if (pipe(up) || pipe(down)) return false;
    c->pid = fork();
    if (c->pid == 0) child_main(down[0], up[1]);
    close(up[1]), close(down[0]);
    c->to = down[1], c->from = up[0];
    return read(c->from, &c->info, sizeof c->info) == sizeof c->info;
}

static void child_end(Child *c) {
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    close(c->to), close(c->from);
}

/* Forged descriptions of a child's memory: none is read. */
static void test_forged(const DataPlane *own, const DataPlane *peer) {
    PeerMemory s;
    const char *why;
    CHECK(peer_memory_open(own, peer, &s, &why) && s.base && !why);
    CHECK(s.bytes == peer->arena_bytes);
    peer_memory_close(&s);
    for (int i = 0; i < 8; i++) {
        DataPlane d = *peer;
        switch (i) {
        case 0: d.inode++; break;
        case 1: d.arena_bytes += 4096; break;
        case 2: d.arena_bytes -= 4096; break;
        case 3: d.fd = 0; break; /* another file that it has open */
        case 4: d.fd = 9999; break;
        case 5: d.pid = 0x7fffffff; break;
        case 6: /* an address that is not ours */
            d.process = own->process, d.pid = own->pid, d.arena_at += 64;
            break;
        case 7: d.host[0] ^= 1; break;
        }
        CHECK_MSG(!peer_memory_open(own, &d, &s, &why) && !s.base, "case %d", i);
        CHECK_MSG((why != NULL) == (i < 6), "case %d: %s", i, why ? why : "");
    }
}

/* A file with the right inode and size that its owner could truncate, killing the reader. */
static void test_unsealed(const DataPlane *own) {
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(fd >= 0 && !ftruncate(fd, 1 << 20));
    DataPlane d;
    reach_describe("ipc:///x", NULL, 1 << 20, fd, &d);
    d.process++;
    PeerMemory s;
    const char *why;
    CHECK(!peer_memory_open(own, &d, &s, &why));
    CHECK_STR(why, "the file is not sealed against shrinking");
    CHECK(!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
    CHECK(peer_memory_open(own, &d, &s, &why));
    peer_memory_close(&s);
    close(fd);
}

static void test_processes(Child *c) {
    End a;
    uint32_t rank;
    const void *base = NULL;
    uint64_t bytes = 0;
    if (!end_open(&a, 0, "ipc:///d", true)) return;
    test_forged(&a.info.data, &c->info.data);
    test_unsealed(&a.info.data);
    CHECK(write(c->to, &a.info, sizeof a.info) == sizeof a.info);
    plane_on_peer(a.plane, &c->info, clock_ms);
    say(&a, 1, 40);
    CHECK(receive(&a, &rank) == 41 && rank == 1);
    CHECK(plane_memory(a.plane, 1, &base, &bytes));
    CHECK(base && bytes == c->info.data.arena_bytes && base != end_bytes(&a));
    if (!base) return;
    const char *mark = (const char *)base + MARK_AT;
    CHECK_STR(mark, "after 40");
    say(&a, 1, 50);
    CHECK_INT(receive(&a, &rank), 51);
    CHECK_STR(mark, "after 50"); /* the same pages */
    /* Killed in the middle: all that is mapped stays readable. */
    child_end(c);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < bytes; i += 4096) sum += ((const unsigned char *)base)[i];
    CHECK_STR(mark, "after 50");
    CHECK(sum != UINT64_MAX);
    CHECK_INT(receive_for(&a, &rank, 100), -1);
    for (int i = 0; i < 3; i++) say(&a, 1, 60);
    plane_on_peer_gone(a.plane, 1);
    CHECK(!plane_memory(a.plane, 1, &base, &bytes));
    end_close(&a);
}

/* ---- One-sided ---- */

/* The boxes that the owner offers. */
static const Shard boxes[] = {
    {.number = 1,
     .offset = 300000,
     .box = {.dtype = DT_F32, .rank = 2, .shape = {100, 250}},
     .stride = {250, 1},
     .bytes = 100000},
    {.number = 2,
     .offset = 65536,
     .box = {.dtype = DT_U8, .rank = 3, .shape = {4, 16, 4096}},
     .stride = {128 << 10, 8192, 1},
     .bytes = 4 * 16 * 4096},
    {.number = 3,
     .offset = 100,
     .box = {.dtype = DT_F64, .rank = 2, .shape = {64, 2}},
     .stride = {512, 1},
     .bytes = 64 * 16},
    {.number = 4,
     .offset = (1 << 20) - 100,
     .box = {.dtype = DT_U8, .rank = 1, .shape = {4096}},
     .stride = {1},
     .bytes = 4096},
};
enum { BOXES = sizeof boxes / sizeof *boxes };

static uint8_t byte_at(uint64_t offset) { return (uint8_t)(offset * 31 + offset / 251); }

/* Checks byte i of a box, in row-major order. */
static uint64_t place_of(const Shard *s, uint64_t i) {
    uint64_t size = (uint64_t)dtype_info[s->box.dtype].size_bytes, from = s->offset + i % size;
    i /= size;
    for (int d = s->box.rank - 1; d >= 0; d--) {
        from += i % (uint64_t)s->box.shape[d] * (uint64_t)s->stride[d] * size;
        i /= (uint64_t)s->box.shape[d];
    }
    return from;
}

/* Rank 1: offers its boxes; answers a GET that reaches it with a piece of zeros. */
static void owner_main(int in, int out) {
    End e;
    PeerInfo peer;
    uint32_t rank;
    Err err = {0};
    Msg m;
    PlaneConfig config = {.dispatcher = "ipc:///d"};
    e.mem = mem_open(1 << 20, true, &err);
    void *base;
    mem_range(e.mem, &base, &config.arena_bytes, &config.arena_fd);
    config.arena = base;
    if (!(e.plane = plane_open(&config, &err))) {
        printf("no UCX here: %s\n", err.text);
        fflush(stdout);
        _exit(err.code == ERR_IO ? 0 : 1);
    }
    for (uint64_t i = 4096; i < 1 << 20; i++) ((uint8_t *)base)[i] = byte_at(i);
    for (uint64_t i = 100; i < 4096; i++) ((uint8_t *)base)[i] = byte_at(i); /* beyond the head */
    e.info = (PeerInfo){.rank = 1, .token = 77, .data = *plane_data(e.plane)};
    plane_on_welcome(e.plane, 1, 77);
    if (write(out, &e.info, sizeof e.info) != sizeof e.info) _exit(2);
    if (read(in, &peer, sizeof peer) != sizeof peer) _exit(3);
    plane_on_peer(e.plane, &peer, clock_ms);
    for (int i = 0; i < BOXES; i++) wire_shard(&boxes[i], &m), plane_send(e.plane, 0, &m, clock_ms);
    for (int64_t end = now_ms() + 120000; now_ms() < end; hub_wait(plane_hub(e.plane), 50)) {
        Get get;
        while (plane_recv(e.plane, &rank, &m, clock_ms)) {
            bool ok = wire_read_get(&m, &get, NULL);
            msg_fini(&m);
            if (!ok) continue;
            Buf *b = buf_new(get.bytes);
            memset(b->data, 0, b->n = get.bytes);
            wire_piece(&(Piece){.number = get.number, .begin = get.begin}, b, &m);
            plane_send(e.plane, 0, &m, clock_ms);
        }
    }
    _exit(4);
}

static bool hear_kind(End *e, MsgKind kind, Msg *m) {
    uint32_t rank;
    for (int64_t end = now_ms() + 60000; now_ms() < end; hub_wait(plane_hub(e->plane), 50))
        while (plane_recv(e->plane, &rank, m, clock_ms)) {
            if (wire_kind(m) == kind && rank == 1) return true;
            msg_fini(m);
        }
    return false;
}

/* Requests some bytes of a box. Returns 1: they arrived and are the box's; 0: zeros arrived, so the
 * owner was asked; -1: nothing or something else arrived. */
static int fetch_part(End *a, const Shard *s, uint64_t begin, uint64_t n) {
    Msg m;
    Get get = {.client = 3, .number = s->number, .begin = begin, .bytes = n};
    Piece piece;
    const void *data;
    uint64_t bytes, bad = 0, zeros = 0;
    wire_get(&get, &m);
    plane_send(a->plane, 1, &m, clock_ms);
    if (!hear_kind(a, MSG_PIECE, &m)) return -1;
    bool ok = wire_read_piece(&m, &piece, &data, &bytes, NULL) && bytes == n &&
              piece.number == s->number && piece.begin == begin;
    for (uint64_t i = 0; ok && i < n; i++) {
        uint8_t got = ((const uint8_t *)data)[i];
        bad += got != byte_at(place_of(s, begin + i));
        zeros += got == 0;
    }
    msg_fini(&m);
    return !ok ? -1 : bad == 0 ? 1 : zeros == n ? 0 : -1;
}

static void test_ucx(Child *c) {
    End a;
    Msg m;
    setenv("GT_DATA_PLANE", "ucx", 1);
    bool ok = end_open(&a, 0, "ipc:///d", true);
    unsetenv("GT_DATA_PLANE");
    if (!ok) return;
    CHECK(write(c->to, &a.info, sizeof a.info) == sizeof a.info);
    plane_on_peer(a.plane, &c->info, clock_ms);
    for (int i = 0; i < BOXES; i++) {
        Shard s = {0};
        CHECK(hear_kind(&a, MSG_SHARD, &m) && wire_read_shard(&m, &s, NULL));
        CHECK_INT(s.number, boxes[i].number);
        msg_fini(&m);
    }
    const void *base;
    uint64_t bytes;
    CHECK(plane_memory(a.plane, 1, &base, &bytes) && !base);
    CHECK_INT(fetch_part(&a, &boxes[0], 0, 100000), 1); /* together */
    CHECK_INT(fetch_part(&a, &boxes[0], 777, 12345), 1);
    CHECK_INT(fetch_part(&a, &boxes[1], 0, boxes[1].bytes), 1); /* in rows */
    CHECK_INT(fetch_part(&a, &boxes[1], 4095, 4098), 1);
    CHECK_INT(fetch_part(&a, &boxes[1], 70001, 100001), 1);
    CHECK_INT(fetch_part(&a, &boxes[2], 0, 1024), 0); /* short runs: the owner is asked */
    CHECK_INT(fetch_part(&a, &boxes[3], 0, 4096), 0); /* beyond its memory */
    wire_taken(&(Taken){.number = 1}, &m);
    plane_send(a.plane, 1, &m, clock_ms);
    CHECK_INT(fetch_part(&a, &boxes[0], 0, 8), 0); /* no longer known here */
    Bytes text = {0};
    plane_stats(a.plane, &text);
    bytes_putc(&text, 0);
    char want[64];
    snprintf(want, sizeof want, "onesided_bytes=%d\n", 100000 + 12345 + 262144 + 4098 + 100001);
    CHECK_MSG(strstr(text.data, want), "%s", text.data);
    bytes_fini(&text);
    /* The owner dies: nothing arrives, nothing breaks. */
    child_end(c);
    Get get = {.number = 2, .bytes = 200000};
    wire_get(&get, &m);
    plane_send(a.plane, 1, &m, clock_ms);
    uint32_t rank;
    CHECK_INT(receive_for(&a, &rank, 300), -1);
    wire_get(&get, &m);
    plane_send(a.plane, 1, &m, clock_ms);
    plane_on_peer_gone(a.plane, 1);
    CHECK_INT(receive_for(&a, &rank, 100), -1);
    end_close(&a);
}

static void test_ways(void) {
    Err e0 = {0};
    setenv("GT_DATA_PLANE", "pigeon", 1);
    PlaneConfig config = {.dispatcher = "ring://d", .arena_fd = -1};
    CHECK_FAIL(plane_open(&config, &err), ERR_ARG);
    setenv("GT_DATA_PLANE", "ucx", 1);
    Plane *p = plane_open(&config, &e0); /* an engine without memory offers none */
    CHECK_MSG(p != NULL, "%s", e0.text);
    plane_close(&p);
    unsetenv("GT_DATA_PLANE");
}

/* With GT_DATA_PLANE=zmq everything is sent in messages. */
static void test_copying(void) {
    setenv("GT_DATA_PLANE", "zmq", 1);
    End a, b;
    if (!end_open(&a, 0, "ring://d", false) || !end_open(&b, 1, "ring://d", false)) return;
    unsetenv("GT_DATA_PLANE");
    meet(&a, &b);
    const void *base = "";
    uint64_t bytes;
    CHECK(plane_memory(a.plane, 1, &base, &bytes) && !base);
    end_close(&a), end_close(&b);
}

/* Nothing new is left in the private directory. */
static void check_left(void) {
    char path[100];
    snprintf(path, sizeof path, "%s/gt", directory);
    DIR *d = opendir(path);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    CHECK_INT(n, 0);
    CHECK(!rmdir(path) && !rmdir(directory));
}

int main(void) {
    if (!mkdtemp(directory)) return 1;
    setenv("XDG_RUNTIME_DIR", directory, 1);
    Child child = {0};
    /* Children first: forks must precede ZeroMQ in this process. */
    Child owner = {0};
    setenv("GT_DATA_PLANE", "ucx", 1);
    bool has_ucx = child_start(&owner, owner_main);
    unsetenv("GT_DATA_PLANE");
    bool has_child = child_start(&child, echo_main);
    CHECK(has_child);
    if (has_child) test_processes(&child);
    if (has_ucx)
        test_ucx(&owner);
    else
        child_end(&owner); /* it has printed why not */
    test_ways();
    static const char *const dispatcher[] = {"ring://d", "inproc://d", "ipc:///d",
                                             "tcp://127.0.0.1:9", "tcp://0.0.0.0:9"};
    for (size_t i = 0; i < sizeof dispatcher / sizeof *dispatcher; i++) {
        test_talk(dispatcher[i]);
        test_early(dispatcher[i]);
        test_strangers(dispatcher[i]);
        test_lost(dispatcher[i]);
    }
    test_reach();
    test_sweep_spares();
    test_far();
    test_stranded();
    test_sweep();
    test_copying();
    net_fini();
    check_left();
    return check_report("plane");
}
