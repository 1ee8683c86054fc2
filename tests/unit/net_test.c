/* net_test: one test over all four schemes: order, payloads by reference, many peers, leaving on
 * both sides, endpoints in use, wake-ups (held ones too), waiting for a link and a hub together;
 * and rings with two threads and millions of messages.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/clock.h"
#include "runtime/net/net.h"
#include "tests/unit/check.h"
#include "tests/unit/patience.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static char directory[] = "/tmp/gt-net-test-XXXXXX";

/* hub_recv and link_recv that wait at most 5 s. */
static int hub_get(Hub *h, PeerId *from, Msg *m) {
    for (int64_t end = now_ms() + patient_ms(5000); now_ms() < end; hub_wait(h, 100)) {
        int r = hub_recv(h, from, m);
        if (r) return r;
    }
    return 0;
}

static int link_get(Link *l, Msg *m) {
    for (int64_t end = now_ms() + patient_ms(5000); now_ms() < end; link_wait(l, 100)) {
        int r = link_recv(l, m);
        if (r) return r;
    }
    return 0;
}

static Msg number(uint64_t v) {
    Msg m = {0};
    msg_push(&m, buf_copy(&v, sizeof v));
    return m;
}

/* The number in a message; frees the message. */
static uint64_t value(Msg *m) {
    uint64_t v = UINT64_MAX;
    if (m->n > 0 && m->part[0]->n == sizeof v) memcpy(&v, m->part[0]->data, sizeof v);
    msg_fini(m);
    return v;
}

/* Each link's messages arrive in order, and each has an id of its own. */
static void test_order(Hub *hub, Link *a, Link *b, PeerId *id_a, PeerId *id_b) {
    PeerId from;
    Msg m;
    *id_a = *id_b = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        m = number(i);
        CHECK(link_send(a, &m));
        m = number(1000000 + i);
        CHECK(link_send(b, &m));
    }
    uint64_t next_a = 0, next_b = 1000000;
    for (int i = 0; i < 2000 && hub_get(hub, &from, &m) == 1; i++) {
        uint64_t v = value(&m);
        if (v < 1000000) {
            CHECK_INT(v, next_a++);
            *id_a = from;
        } else {
            CHECK_INT(v, next_b++);
            *id_b = from;
        }
    }
    CHECK_INT(next_a, 1000);
    CHECK_INT(next_b, 1001000);
    CHECK(*id_a > 0 && *id_b > 0 && *id_a != *id_b);
}

/* Parts: small, empty, large, and the maximum number of them. */
static void test_parts(Hub *hub, Link *link, PeerId id) {
    Msg m, big = {0};
    msg_push(&big, buf_copy("head", 4));
    msg_push(&big, buf_new(0));
    Buf *payload = buf_new(3 << 20);
    payload->n = 3 << 20;
    for (size_t i = 0; i < payload->n; i++) payload->data[i] = (uint8_t)(i * 7);
    msg_push(&big, buf_ref(payload));
    while (big.n < MAX_MSG_PARTS) msg_push(&big, buf_copy("x", 1));
    CHECK(hub_send(hub, id, &big));
    CHECK_INT(big.n, 0);
    CHECK_INT(link_get(link, &m), 1);
    CHECK_INT(m.n, MAX_MSG_PARTS);
    CHECK(m.n > 2 && m.part[0]->n == 4 && !memcmp(m.part[0]->data, "head", 4));
    CHECK(m.n > 2 && m.part[1]->n == 0);
    CHECK(m.n > 2 && m.part[2]->n == payload->n &&
          !memcmp(m.part[2]->data, payload->data, payload->n));
    msg_fini(&m);
    buf_unref(&payload);
}

/* Leaving: messages sent before arrive first, then the end; other peers are not affected. */
static void test_leaving(Hub *hub, Link **a, Link *b, PeerId id_a, PeerId id_b) {
    PeerId from;
    Msg m;
    m = number(7);
    CHECK(link_send(*a, &m));
    link_close(a);
    CHECK(*a == NULL);
    CHECK_INT(hub_get(hub, &from, &m), 1);
    CHECK_INT(value(&m), 7);
    CHECK_INT(hub_get(hub, &from, &m), -1);
    CHECK_INT(from, id_a);
    m = number(8);
    CHECK(!hub_send(hub, id_a, &m));
    m = number(9);
    CHECK(!hub_send(hub, 12345, &m)); /* never was */
    m = number(10);
    CHECK(hub_send(hub, id_b, &m));
    CHECK_INT(link_get(b, &m), 1);
    CHECK_INT(value(&m), 10);
}

/* A dropped peer gets what was sent before and then the end; its messages are ignored. */
static void test_dropping(Hub *hub, PeerId other) {
    Err err = {0};
    PeerId from;
    Msg m;
    Link *c = link_open(hub_endpoint(hub), &err);
    m = number(1);
    CHECK(link_send(c, &m));
    CHECK_INT(hub_get(hub, &from, &m), 1);
    CHECK_INT(value(&m), 1);
    CHECK(from != other);
    m = number(2);
    CHECK(hub_send(hub, from, &m));
    hub_drop(hub, from);
    CHECK_INT(link_get(c, &m), 1);
    CHECK_INT(value(&m), 2);
    CHECK_INT(link_get(c, &m), -1);
    m = number(3);
    link_send(c, &m);
    CHECK_INT(hub_recv(hub, &from, &m), 0);
    link_close(&c);
}

/* The hub goes: links report it after the last message. */
static void test_hub_goes(Hub **hub, Link **link, PeerId id) {
    Msg m;
    m = number(11);
    CHECK(hub_send(*hub, id, &m));
    hub_close(hub);
    CHECK_INT(link_get(*link, &m), 1);
    CHECK_INT(value(&m), 11);
    CHECK_INT(link_get(*link, &m), -1);
    m = number(12);
    CHECK(!link_send(*link, &m));
    link_close(link);
}

static void test_exchange(const char *endpoint) {
    Err e = {0};
    Hub *hub = hub_open(endpoint, &e);
    CHECK_MSG(hub != NULL, "%s: %s", endpoint, e.text);
    if (!hub) return;
    const char *at = hub_endpoint(hub);
    CHECK_FAIL(hub_open(at, &err), ERR_IO); /* taken */
    Link *a = link_open(at, &e), *b = link_open(at, &e);
    CHECK_MSG(a && b, "%s: %s", at, e.text);
    PeerId id_a, id_b;
    Msg m;
    test_order(hub, a, b, &id_a, &id_b);
    test_parts(hub, b, id_b);
    CHECK_INT(link_recv(a, &m), 0); /* That was for b alone. */
    for (int i = 0; i < 200 && !(link_is_connected(a) && link_is_connected(b)); i++)
        link_wait(a, 5), link_wait(b, 5);
    CHECK(link_is_connected(a) && link_is_connected(b));
    test_leaving(hub, &a, b, id_a, id_b);
    test_dropping(hub, id_b);
    test_hub_goes(&hub, &b, id_b);
}

/* A closed endpoint can be opened again at once. */
static void test_again(const char *endpoint) {
    for (int i = 0; i < 3; i++) {
        Err err = {0};
        Hub *hub = hub_open(endpoint, &err);
        CHECK_MSG(hub != NULL, "%s: %s", endpoint, err.text);
        if (!hub) return;
        hub_close(&hub);
    }
}

static void *wake_later(void *hub) {
    usleep(20000);
    hub_wake(hub);
    return NULL;
}

static void test_wait(const char *endpoint) {
    Err err = {0};
    Hub *hub = hub_open(endpoint, &err);
    CHECK(hub != NULL);
    if (!hub) return;
    CHECK(!hub_wait(hub, 0));
    int64_t start = now_ms();
    CHECK(!hub_wait(hub, 30));
    CHECK(now_ms() - start >= 29);
    pthread_t thread;
    pthread_create(&thread, NULL, wake_later, hub);
    CHECK(hub_wait(hub, 60000));
    CHECK(now_ms() - start < patient_ms(4000));
    pthread_join(thread, NULL);
    Link *link = link_open(hub_endpoint(hub), &err);
    CHECK(!link_wait(link, 0));
    link_close(&link);
    hub_close(&hub);
}

static void *send_later(void *link) {
    usleep(20000);
    Msg m = number(5);
    link_send(link, &m);
    return NULL;
}

/* Runs act(ctx) in a thread. Returns true if that ended net_wait within about a second. */
static bool is_woken(Link *link, Hub *hub, void *(*act)(void *), void *ctx) {
    Msg m;
    PeerId from;
    while (net_wait(link, hub, 0)) { /* Consumes the wake-ups of connecting. */
        if (link_recv(link, &m) > 0) msg_fini(&m);
        if (hub_recv(hub, &from, &m) > 0) msg_fini(&m);
    }
    int64_t start = now_ms();
    pthread_t thread;
    pthread_create(&thread, NULL, act, ctx);
    bool woken = net_wait(link, hub, 60000);
    pthread_join(thread, NULL);
    return woken && now_ms() - start < patient_ms(4000);
}

typedef struct Sending {
    Hub *hub;
    PeerId to;
} Sending;

static void *answer_later(void *ctx) {
    Sending *s = ctx;
    usleep(20000);
    Msg m = number(6);
    hub_send(s->hub, s->to, &m);
    return NULL;
}

/* What a worker does: one wait for the link to its dispatcher (far) and the hub of its peers
 * (near). peer: one of them. */
static void test_beside(const char *far_at, const char *near_at) {
    Err err = {0};
    Hub *far = hub_open(far_at, &err), *near = hub_open(near_at, &err);
    CHECK_MSG(far && near, "%s", err.text);
    if (!far || !near) return;
    Link *link = link_open_beside(hub_endpoint(far), near, &err);
    CHECK_MSG(link != NULL, "%s", err.text);
    Link *peer = link_open(hub_endpoint(near), &err);
    PeerId id, from;
    Msg m = number(1);
    CHECK(link_send(link, &m));
    CHECK_INT(hub_get(far, &id, &m), 1);
    CHECK_INT(value(&m), 1);
    m = number(2);
    CHECK(link_send(peer, &m));
    CHECK_INT(hub_get(near, &from, &m), 1);
    CHECK_INT(value(&m), 2);
    CHECK(!net_wait(link, near, 0));
    int64_t start = now_ms();
    CHECK(!net_wait(link, near, 30));
    CHECK(now_ms() - start >= 29);
    CHECK(is_woken(link, near, send_later, peer)); /* from the peer */
    CHECK_INT(hub_get(near, &from, &m), 1);
    CHECK_INT(value(&m), 5);
    CHECK(is_woken(link, near, answer_later, &(Sending){far, id})); /* from the dispatcher */
    CHECK_INT(link_get(link, &m), 1);
    CHECK_INT(value(&m), 6);
    CHECK(is_woken(link, near, wake_later, near));
    /* A wake before a wait is not lost, and ends one wait. */
    hub_wake(near);
    CHECK(net_wait(link, near, 1000));
    CHECK(!net_wait(link, near, 0));
    /* The peer goes, then the dispatcher: each ends the wait. */
    link_close(&peer);
    for (int r = 0, waits = 0; r >= 0 && waits < 100; waits++) {
        net_wait(link, near, 100);
        while ((r = hub_recv(near, &from, &m)) > 0) msg_fini(&m);
        if (r < 0) CHECK(waits < 50);
    }
    hub_close(&far);
    int gone = 0;
    for (start = now_ms(); gone >= 0 && now_ms() - start < patient_ms(5000);) {
        net_wait(link, near, 1000);
        gone = link_recv(link, &m);
    }
    CHECK_INT(gone, -1);
    CHECK(net_wait(link, near, 1000)); /* It is still gone. */
    link_close(&link);
    hub_close(&near);
}

/* Links to hubs that go first, or never existed, are closed like others. */
static void test_orphans(const char *endpoint) {
    Err err = {0};
    Hub *hub = hub_open(endpoint, &err);
    Link *a = link_open(hub_endpoint(hub), &err), *b = link_open(hub_endpoint(hub), &err);
    char at[200];
    snprintf(at, sizeof at, "%s", hub_endpoint(hub));
    Msg m = number(1);
    link_send(a, &m);
    hub_close(&hub);
    for (int i = 0; i < 100; i++) {
        m = number(2);
        link_send(a, &m);
        m = number(2);
        link_send(b, &m);
        CHECK_INT(m.n, 0);
    }
    link_close(&b);
    link_close(&a);
    if (strncmp(at, "tcp", 3) && strncmp(at, "ipc", 3)) return;
    a = link_open(at, &err);
    CHECK(a != NULL);
    m = number(3);
    CHECK(link_send(a, &m)); /* It waits. */
    CHECK(!link_wait(a, 30));
    CHECK_INT(link_recv(a, &m), 0);
    CHECK(!link_is_connected(a));
    link_close(&a);
}

static void test_refusals(void) {
    Err e = {0};
    Hub *hub = hub_open("ring://kind", &e);
    CHECK_FAIL(link_open_beside("tcp://127.0.0.1:9", hub, &err), ERR_ARG);
    hub_close(&hub);

    CHECK_FAIL(hub_open("carrier-pigeon://roof", &err), ERR_ARG);
    CHECK_FAIL(hub_open("ring://", &err), ERR_ARG);
    CHECK_FAIL(link_open("nothing", &err), ERR_ARG);
    CHECK_FAIL(link_open("ring://nobody", &err), ERR_IO);
    CHECK_FAIL(link_open("inproc://nobody", &err), ERR_IO);
    char endpoint[300], path[200];
    memset(path, 'x', 150);
    path[150] = 0;
    snprintf(endpoint, sizeof endpoint, "ipc:///tmp/%s", path);
    CHECK_FAIL(hub_open(endpoint, &err), ERR_IO);
    /* An ordinary file is not removed. */
    snprintf(path, sizeof path, "%s/file", directory);
    snprintf(endpoint, sizeof endpoint, "ipc://%s", path);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    CHECK_FAIL(hub_open(endpoint, &err), ERR_IO);
    CHECK_INT(access(path, F_OK), 0);
    unlink(path);
}

/* A socket of somebody who listens but accepts nothing, its queue full, is in use: it is neither
 * waited for nor replaced. */
static void test_full_queue(void) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char endpoint[sizeof at.sun_path + 6];
    snprintf(at.sun_path, sizeof at.sun_path, "%.80s/full", directory);
    snprintf(endpoint, sizeof endpoint, "ipc://%s", at.sun_path);
    int fd[8], n = 0, deaf = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_INT(bind(deaf, (struct sockaddr *)&at, sizeof at), 0);
    CHECK_INT(listen(deaf, 0), 0);
    do fd[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    while (!connect(fd[n], (struct sockaddr *)&at, sizeof at) && ++n < 7);
    CHECK(n < 7);
    CHECK_FAIL(hub_open(endpoint, &err), ERR_IO);
    CHECK_INT(access(at.sun_path, F_OK), 0);
    for (int i = 0; i <= n; i++) close(fd[i]);
    close(deaf);
    unlink(at.sun_path);
}

/* ---- Two threads ---- */

enum { MANY = 2000000 };
typedef struct Echo {
    char endpoint[64];
    uint64_t sum;
    int n;
} Echo;

/* Reads MANY numbers and answers every 1000th. */
static void *echo_main(void *ctx) {
    Echo *e = ctx;
    Err err = {0};
    Link *link = link_open(e->endpoint, &err);
    Msg m = number(0);
    link_send(link, &m);
    while (e->n < MANY) {
        int r = link_recv(link, &m);
        if (r < 0) break;
        if (r == 0) {
            link_wait(link, 1000);
            continue;
        }
        uint64_t v = value(&m);
        e->sum += v;
        if (++e->n % 1000) continue;
        m = number(v);
        link_send(link, &m);
    }
    link_close(&link);
    return NULL;
}

static void test_many(void) {
    Err err = {0};
    Echo e = {.endpoint = "ring://many"};
    Hub *hub = hub_open(e.endpoint, &err);
    pthread_t thread;
    pthread_create(&thread, NULL, echo_main, &e);
    PeerId peer, from;
    Msg m;
    CHECK_INT(hub_get(hub, &peer, &m), 1);
    msg_fini(&m);
    uint64_t sum = 0, sent = 0, answered = 0;
    while (answered < MANY / 1000) {
        /* At most 10,000 in flight, as credit ensures. */
        if (sent < MANY && sent < answered * 1000 + 10000) {
            m = number(sent);
            sum += sent++;
            CHECK(hub_send(hub, peer, &m));
        } else if (hub_get(hub, &from, &m) == 1) {
            CHECK_INT(value(&m), answered * 1000 + 999);
            answered++;
        } else {
            break;
        }
    }
    CHECK_INT(answered, MANY / 1000);
    CHECK_INT(hub_get(hub, &from, &m), -1);
    pthread_join(thread, NULL);
    CHECK_INT(e.n, MANY);
    CHECK(e.sum == sum);
    hub_close(&hub);
}

typedef struct Held {
    Link *link;
    int rounds, sent; /* sent: messages of all rounds */
} Held;

/* Each round sends 1 to 4 messages while the link is held, and waits for an answer. */
static void *held_main(void *ctx) {
    Held *h = ctx;
    Msg m;
    for (int i = 0; i < h->rounds; i++) {
        if (i < 3) usleep(20000); /* the hub sleeps */
        link_hold(h->link, true);
        for (int k = 0; k <= i % 4; k++) {
            m = number((uint64_t)h->sent++);
            link_send(h->link, &m);
        }
        link_hold(h->link, false);
        if (link_get(h->link, &m) != 1) break;
        msg_fini(&m);
    }
    usleep(20000);
    link_hold(h->link, true);
    link_close(&h->link);
    return NULL;
}

/* A hub wakes when a link is no longer held, or is closed. */
static void test_held(void) {
    enum { ROUNDS = 20000, LIMIT_MS = 20000 };
    Err err = {0};
    Hub *hub = hub_open("ring://held", &err);
    Held h = {.link = link_open("ring://held", &err), .rounds = ROUNDS};
    PeerId from;
    Msg m;
    m = number(7);
    link_hold(h.link, true);
    CHECK(link_send(h.link, &m));
    CHECK_INT(hub_get(hub, &from, &m), 1); /* what was sent while it is held can be read */
    CHECK_INT(value(&m), 7);
    link_hold(h.link, false);
    pthread_t thread;
    pthread_create(&thread, NULL, held_main, &h);
    for (int i = 0, next = 0; i <= ROUNDS && !check_failed; i++) {
        for (int k = 0, got = 0; k <= i % 4 && (i < ROUNDS || k == 0) && !check_failed; k++) {
            int64_t start = now_ms();
            while (!(got = hub_recv(hub, &from, &m))) hub_wait(hub, LIMIT_MS);
            CHECK(now_ms() - start < LIMIT_MS);
            CHECK_INT(got, i < ROUNDS ? 1 : -1);
            if (got == 1) CHECK_INT(value(&m), next++);
        }
        m = number(0);
        if (i < ROUNDS)
            hub_send(hub, from, &m);
        else
            msg_fini(&m);
    }
    hub_close(&hub);
    pthread_join(thread, NULL);
}

/* Nothing is lost or leaked when a side leaves with messages in flight or before it is accepted */
static void test_leftovers(const char *endpoint) {
    Err err = {0};
    Hub *hub = hub_open(endpoint, &err);
    Link *a = link_open(hub_endpoint(hub), &err), *b = link_open(hub_endpoint(hub), &err);
    Msg m;
    for (int i = 0; i < 100; i++) {
        m = number((uint64_t)i);
        link_send(a, &m);
        m = number((uint64_t)i);
        link_send(b, &m);
    }
    link_close(&a);
    hub_close(&hub);
    link_close(&b);
}

int main(void) {
    if (!mkdtemp(directory)) return 1;
    char ipc[100], ipc_near[100], ipc_left[100];
    snprintf(ipc, sizeof ipc, "ipc://%s/net", directory);
    snprintf(ipc_left, sizeof ipc_left, "ipc://%s/left", directory);
    snprintf(ipc_near, sizeof ipc_near, "ipc://%s/near", directory);
    const char *const endpoint[] = {"ring://net", "inproc://net", ipc, "tcp://127.0.0.1:*"};
    const char *const near[] = {"ring://near", "inproc://near", ipc_near, "tcp://127.0.0.1:*"};
    /* Not `endpoint`: a closed link sends to its address for a while (LINGER_MS in net.c), and
     * the next listener there gets it. */
    const char *const left[] = {"ring://left", "inproc://left", ipc_left, "tcp://127.0.0.1:*"};
    for (size_t i = 0; i < sizeof endpoint / sizeof endpoint[0]; i++) {
        test_exchange(endpoint[i]);
        test_again(endpoint[i]);
        test_wait(endpoint[i]);
        test_leftovers(left[i]);
        test_beside(endpoint[i], near[i]);
        test_orphans(left[i]);
    }
    test_beside(ipc, "inproc://near");
    test_beside("tcp://127.0.0.1:*", ipc_near);
    test_refusals();
    test_full_queue();
    test_many();
    test_held();
    net_fini();
    CHECK_INT(rmdir(directory), 0); /* Its sockets and locks are removed. */
    return check_report("net");
}
