/* ring.c: links inside one process: two single-producer single-consumer queues and two waiters.
 *
 * No wake-up is lost, because a producer publishes and then checks whether the consumer sleeps,
 * and a consumer announces that it sleeps and then checks once more for published messages. All
 * four accesses are sequentially consistent, so at least one of the two sees the other. Nothing
 * here depends on the content of messages.
 * SPDX-License-Identifier: MIT */
#include "runtime/net/ring.h"
#include "runtime/base/clock.h"
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SEGMENT_MSGS = 32, CACHE_LINE = 64 };

/* ---- Waiters ---- */

/* How long a wait spins before it sleeps. To wake a thread on another core takes some 20 us on a
 * virtual machine, whose idle cores stop, and an answer takes two of these. So after a wait that
 * was short the next one spins longer: a loop of item() took 56 us a time on two virtual cores, and
 * takes 12. With many more threads that wait than cores, spinning takes time from the others: a
 * step of 4 or 8 workers on two cores took 1.07 times as long. */
enum { SHORT_SPIN_NS = 2000, LONG_SPIN_NS = 50000, SHORT_WAIT_NS = 100000, MORE_THAN_CORES = 2 };

/* What one thread sleeps on. Threads that notify it may outlive the sleeper, hence the count. */
typedef struct Waiter {
    _Atomic uint32_t refs;
    _Atomic uint32_t sleeping; /* the futex word: 1 while its owner sleeps or is about to      */
    _Atomic uint32_t woken;    /* a request to end the wait, message or not */
    int n_cores;               /* on which the owner may run */
    bool was_short;            /* the last wait. The owner's */
} Waiter;

static _Atomic int n_waiters; /* in this process */

static Waiter *waiter_new(void) {
    Waiter *w = xcalloc(1, sizeof *w);
    cpu_set_t cores;
    w->refs = 1;
    w->n_cores = sched_getaffinity(0, sizeof cores, &cores) ? 1 : CPU_COUNT(&cores);
    atomic_fetch_add(&n_waiters, 1);
    return w;
}

static int64_t spin_ns(const Waiter *w) {
    bool is_crowded = w->n_cores == 1 || atomic_load(&n_waiters) > w->n_cores + MORE_THAN_CORES;
    return w->was_short && !is_crowded ? LONG_SPIN_NS : SHORT_SPIN_NS;
}

static Waiter *waiter_ref(Waiter *w) {
    atomic_fetch_add(&w->refs, 1);
    return w;
}

static void waiter_unref(Waiter *w) {
    if (atomic_fetch_sub(&w->refs, 1) > 1) return;
    atomic_fetch_sub(&n_waiters, 1);
    free(w);
}

static void waiter_notify(Waiter *w) {
    if (atomic_load(&w->sleeping) && atomic_exchange(&w->sleeping, 0))
        syscall(SYS_futex, &w->sleeping, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Sleeps until is_ready(ctx), a wake, a signal or end. */
static bool waiter_sleep(Waiter *w, bool (*is_ready)(const void *ctx), const void *ctx,
                         int64_t end) {
    for (;;) {
        atomic_store(&w->sleeping, 1);
        bool ready = is_ready(ctx) || atomic_exchange(&w->woken, 0);
        int64_t left = end == INT64_MAX ? 3600000000000 : end - now_ns();
        if (ready || left <= 0) {
            atomic_store(&w->sleeping, 0);
            return ready;
        }
        struct timespec t = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        long rc = syscall(SYS_futex, &w->sleeping, FUTEX_WAIT_PRIVATE, 1, &t, NULL, 0);
        if (rc < 0 && errno == EINTR) { /* A signal: the caller may have to react to it. */
            atomic_store(&w->sleeping, 0);
            return is_ready(ctx);
        }
    }
}

/* Waits until is_ready(ctx), a wake, a signal or the timeout; spins a little first. timeout_ms <
 * 0: no limit. */
static bool waiter_wait(Waiter *w, bool (*is_ready)(const void *ctx), const void *ctx,
                        int timeout_ms) {
    if (is_ready(ctx) || atomic_exchange(&w->woken, 0)) return true;
    if (timeout_ms == 0) return false;
    int64_t start = now_ns(), spin = spin_ns(w);
    int64_t end = timeout_ms < 0 ? INT64_MAX : start + (int64_t)timeout_ms * 1000000;
    bool ready;
    do {
        for (int i = 0; i < 4; i++) cpu_relax();
        ready = is_ready(ctx);
    } while (!ready && now_ns() - start < spin);
    if (!ready) ready = waiter_sleep(w, is_ready, ctx, end);
    w->was_short = now_ns() - start < SHORT_WAIT_NS;
    return ready;
}

/* ---- Queues ---- */

typedef struct Segment {
    struct Segment *_Atomic next;
    _Atomic uint32_t written; /* messages published in it */
    Msg msg[SEGMENT_MSGS];
} Segment;

typedef struct Queue {
    alignas(CACHE_LINE) Segment *tail; /* the producer's */
    alignas(CACHE_LINE) Segment *head; /* the consumer's, with read */
    uint32_t read;
    alignas(CACHE_LINE) Segment *_Atomic spare; /* an emptied segment, returned to the producer */
} Queue;

static Segment *segment_new(void) {
    Segment *s = xmalloc(sizeof *s);
    atomic_init(&s->next, NULL);
    atomic_init(&s->written, 0);
    return s;
}

static void queue_init(Queue *q) {
    q->head = q->tail = segment_new();
    q->read = 0;
    atomic_init(&q->spare, NULL);
}

static void queue_push(Queue *q, Msg *m) {
    Segment *s = q->tail;
    uint32_t i = atomic_load_explicit(&s->written, memory_order_relaxed);
    if (i == SEGMENT_MSGS) {
        Segment *fresh = atomic_exchange_explicit(&q->spare, NULL, memory_order_acquire);
        if (fresh) {
            atomic_store_explicit(&fresh->next, NULL, memory_order_relaxed);
            atomic_store_explicit(&fresh->written, 0, memory_order_relaxed);
        } else {
            fresh = segment_new();
        }
        q->tail = fresh;
        atomic_store(&s->next, fresh); /* from here on s is the consumer's */
        s = fresh, i = 0;
    }
    msg_move(&s->msg[i], m);
    atomic_store(&s->written, i + 1);
}

/* For the consumer: is there a message at the head? */
static bool queue_has(const Queue *q) {
    if (q->read < SEGMENT_MSGS) return atomic_load(&q->head->written) > q->read;
    Segment *next = atomic_load(&q->head->next);
    return next && atomic_load(&next->written) > 0;
}

static bool queue_pop(Queue *q, Msg *m) {
    if (!queue_has(q)) return false;
    if (q->read == SEGMENT_MSGS) {
        Segment *old = q->head;
        q->head = atomic_load(&old->next);
        q->read = 0;
        free(atomic_exchange_explicit(&q->spare, old, memory_order_acq_rel));
    }
    msg_move(m, &q->head->msg[q->read++]);
    return true;
}

static void queue_fini(Queue *q) {
    for (Msg m = {0}; queue_pop(q, &m);) msg_fini(&m);
    free(q->head);
    free(q->spare);
}

/* ---- Connections ---- */

/* Shared by a hub and one link; whichever leaves last frees it. */
typedef struct Conn {
    Queue up, down; /* to the hub, to the link */
    _Atomic uint32_t refs;
    _Atomic bool link_left, hub_left;
    Waiter *hub_waiter, *link_waiter;
    PeerId id; /* the hub's */
    struct Conn *next_joining;
} Conn;

/* link_waiter NULL: the link gets a waiter of its own. */
static Conn *conn_new(Waiter *hub_waiter, Waiter *link_waiter) {
    size_t bytes = (sizeof(Conn) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    Conn *c = aligned_alloc(CACHE_LINE, bytes);
    if (!c) panic("out of memory: a ring of %zu bytes", bytes);
    memset(c, 0, bytes);
    queue_init(&c->up);
    queue_init(&c->down);
    c->refs = 2;
    c->hub_waiter = waiter_ref(hub_waiter);
    c->link_waiter = link_waiter ? waiter_ref(link_waiter) : waiter_new();
    return c;
}

static void conn_unref(Conn *c) {
    if (atomic_fetch_sub(&c->refs, 1) != 1) return;
    queue_fini(&c->up);
    queue_fini(&c->down);
    waiter_unref(c->hub_waiter);
    waiter_unref(c->link_waiter);
    free(c);
}

/* ---- Hubs ---- */

struct RingHub {
    char *name;
    Waiter *waiter;
    RingHub *next; /* in the registry                                     */
    Conn *joining; /* under the registry's lock: opened, not yet accepted */
    _Atomic bool has_joining;
    Conn **conn;         /* sorted by id                                        */
    size_t n, cap, turn; /* turn: where the next look for messages begins       */
    PeerId last_id;
};

/* Hub names of this process. The lock is held for list operations only. */
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static RingHub *registry;

static RingHub *registry_find(const char *name) {
    for (RingHub *h = registry; h; h = h->next)
        if (!strcmp(h->name, name)) return h;
    return NULL;
}

RingHub *ring_hub_open(const char *name, Err *err) {
    pthread_mutex_lock(&registry_lock);
    RingHub *hub = NULL;
    if (registry_find(name)) {
        err_set(err, ERR_IO, "cannot listen at ring://%s: the name is taken", name);
    } else {
        hub = xcalloc(1, sizeof *hub);
        hub->name = xstrdup(name);
        hub->waiter = waiter_new();
        hub->next = registry;
        registry = hub;
    }
    pthread_mutex_unlock(&registry_lock);
    return hub;
}

/* Notifies the link's side and drops the hub's share. */
static void conn_leave_hub(Conn *c) {
    atomic_store(&c->hub_left, true);
    waiter_notify(c->link_waiter);
    conn_unref(c);
}

static void hub_take_in(RingHub *hub) {
    pthread_mutex_lock(&registry_lock);
    Conn *joining = hub->joining;
    hub->joining = NULL;
    hub->has_joining = false;
    pthread_mutex_unlock(&registry_lock);
    Conn *first = NULL; /* The list is newest first. */
    while (joining) {
        Conn *next = joining->next_joining;
        joining->next_joining = first;
        first = joining;
        joining = next;
    }
    for (Conn *c = first; c; c = c->next_joining) {
        ARRAY_ROOM(hub->conn, hub->n, hub->cap, 8);
        c->id = ++hub->last_id;
        hub->conn[hub->n++] = c;
    }
}

void ring_hub_close(RingHub **hub) {
    RingHub *h = *hub;
    *hub = NULL;
    if (!h) return;
    pthread_mutex_lock(&registry_lock);
    RingHub **at = &registry;
    while (*at != h) at = &(*at)->next;
    *at = h->next;
    pthread_mutex_unlock(&registry_lock);
    hub_take_in(h);
    for (size_t i = 0; i < h->n; i++) conn_leave_hub(h->conn[i]);
    waiter_unref(h->waiter);
    free(h->conn);
    free(h->name);
    free(h);
}

static void hub_remove(RingHub *hub, size_t i) {
    memmove(&hub->conn[i], &hub->conn[i + 1], (hub->n - i - 1) * sizeof hub->conn[0]);
    hub->n--;
    if (hub->turn > i) hub->turn--;
}

int ring_hub_recv(RingHub *hub, PeerId *from, Msg *msg) {
    if (atomic_load(&hub->has_joining)) hub_take_in(hub);
    for (size_t k = 0; k < hub->n; k++) {
        size_t i = hub->turn + k < hub->n ? hub->turn + k : hub->turn + k - hub->n;
        Conn *c = hub->conn[i];
        bool has_left = atomic_load(&c->link_left); /* before the queue: messages come first */
        if (queue_pop(&c->up, msg)) {
            *from = c->id;
            hub->turn = i + 1 < hub->n ? i + 1 : 0;
            return 1;
        }
        if (has_left) {
            *from = c->id;
            msg->n = 0;
            hub_remove(hub, i);
            conn_leave_hub(c);
            return -1;
        }
    }
    return 0;
}

/* Returns the index of a peer, or hub->n. */
static size_t hub_find(const RingHub *hub, PeerId peer) {
    size_t lo = 0, hi = hub->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (hub->conn[mid]->id < peer)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < hub->n && hub->conn[lo]->id == peer ? lo : hub->n;
}

bool ring_hub_send(RingHub *hub, PeerId to, Msg *msg) {
    size_t i = hub_find(hub, to);
    if (i == hub->n || atomic_load(&hub->conn[i]->link_left)) {
        msg_fini(msg);
        return false;
    }
    Conn *c = hub->conn[i];
    queue_push(&c->down, msg);
    waiter_notify(c->link_waiter);
    return true;
}

void ring_hub_drop(RingHub *hub, PeerId peer) {
    size_t i = hub_find(hub, peer);
    if (i == hub->n) return;
    Conn *c = hub->conn[i];
    hub_remove(hub, i);
    conn_leave_hub(c);
}

static bool hub_is_ready(const void *ctx) {
    const RingHub *hub = ctx;
    if (atomic_load(&hub->has_joining)) return true;
    for (size_t i = 0; i < hub->n; i++)
        if (queue_has(&hub->conn[i]->up) || atomic_load(&hub->conn[i]->link_left)) return true;
    return false;
}

bool ring_hub_wait(RingHub *hub, int timeout_ms) {
    return waiter_wait(hub->waiter, hub_is_ready, hub, timeout_ms);
}

void ring_hub_wake(RingHub *hub) {
    atomic_store(&hub->waiter->woken, 1);
    waiter_notify(hub->waiter);
}

/* ---- Links ---- */

struct RingLink {
    Conn *conn;
    bool is_held, is_due; /* is_due: something was sent while it was held */
};

RingLink *ring_link_open(const char *name, RingHub *beside, Err *err) {
    pthread_mutex_lock(&registry_lock);
    RingHub *hub = registry_find(name);
    RingLink *link = NULL;
    if (hub) {
        link = xcalloc(1, sizeof *link);
        Conn *c = link->conn = conn_new(hub->waiter, beside ? beside->waiter : NULL);
        c->next_joining = hub->joining;
        hub->joining = c;
        atomic_store(&hub->has_joining, true);
        waiter_notify(hub->waiter);
    } else {
        err_set(err, ERR_IO, "no hub listens at ring://%s", name);
    }
    pthread_mutex_unlock(&registry_lock);
    return link;
}

void ring_link_close(RingLink **link) {
    RingLink *l = *link;
    *link = NULL;
    if (!l) return;
    atomic_store(&l->conn->link_left, true);
    waiter_notify(l->conn->hub_waiter);
    conn_unref(l->conn);
    free(l);
}

bool ring_link_send(RingLink *link, Msg *msg) {
    Conn *c = link->conn;
    if (atomic_load(&c->hub_left)) {
        msg_fini(msg);
        return false;
    }
    queue_push(&c->up, msg);
    if (link->is_held)
        link->is_due = true;
    else
        waiter_notify(c->hub_waiter);
    return true;
}

void ring_link_hold(RingLink *link, bool is_held) {
    link->is_held = is_held;
    if (is_held || !link->is_due) return;
    link->is_due = false;
    waiter_notify(link->conn->hub_waiter);
}

int ring_link_recv(RingLink *link, Msg *msg) {
    Conn *c = link->conn;
    bool has_left = atomic_load(&c->hub_left);
    if (queue_pop(&c->down, msg)) return 1;
    msg->n = 0;
    return has_left ? -1 : 0;
}

static bool link_is_ready(const void *ctx) {
    const Conn *c = ctx;
    return queue_has(&c->down) || atomic_load(&c->hub_left);
}

bool ring_link_wait(RingLink *link, int timeout_ms) {
    return waiter_wait(link->conn->link_waiter, link_is_ready, link->conn, timeout_ms);
}

/* ---- Both ---- */

typedef struct Both {
    const RingLink *link;
    const RingHub *hub;
} Both;

static bool both_is_ready(const void *ctx) {
    const Both *b = ctx;
    return link_is_ready(b->link->conn) || hub_is_ready(b->hub);
}

bool ring_wait(RingLink *link, RingHub *hub, int timeout_ms) {
    assert(link->conn->link_waiter == hub->waiter);
    return waiter_wait(hub->waiter, both_is_ready, &(Both){link, hub}, timeout_ms);
}
