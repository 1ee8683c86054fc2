/* pool.c: see pool.h. A run writes the job, then each thread's share of the parts, then increments
 * `go` of the threads that have a share; `go` and share have cache lines of their own.
 * A part is claimed by shrinking the share that contains it: its own thread takes parts from the
 * front, so that it goes through memory in order; a thread whose share is empty steals from the end
 * of others. Only a thread that has claimed a part reads the job, and the job stays valid until all
 * parts are done: the last one lowers `left` to 0, which the caller waits for.
 *
 * Sleeping: a thread that is about to sleep sets `asleep`, reads the word once more and only then
 * waits on it; a thread that changes the word reads `asleep` afterwards. Both use sequentially
 * consistent accesses, so at least one of them sees the other, and no system call is made while no
 * thread sleeps.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/pool.h"
#include "runtime/base/clock.h"
#include "runtime/base/err.h"
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long a thread spins before it sleeps. It is a time, not a count of pauses, because a pause
 * takes 40 cycles on one machine and 140 on another. A wake-up costs 30 to 50 us, as long as many
 * kernels; with 5 us of spinning a GPT's step on two threads was no faster than on one. With more
 * threads than cores, spinning only takes time from the other threads. */
enum { SPIN_NS = 100000, SPIN_CROWDED_NS = 2000, PAUSES = 32 /* between readings of the clock */ };
/* The interval between calls of `poll`, by the coarse clock: reading that costs a few ns, and it
 * advances every 1 to 4 ms. */
enum { POLL_NS = 5000000 };
/* A thread leaves the caller's core at most this often. */
enum { MOVE_NS = 10000000 };

typedef struct Gate {
    _Atomic uint32_t word;
    _Atomic uint32_t asleep;
} Gate;

typedef struct PoolThread {
    _Alignas(64) Gate go; /* word counts the jobs given to this thread; top bit: end */
    _Alignas(64) _Atomic uint64_t share; /* unclaimed parts: first, end << 32 */
    _Alignas(64) void *scratch;
    size_t scratch_bytes;
    struct Pool *pool;
    int index;
    pthread_t id;
    int64_t moved_ns; /* when it last left the caller's core */
} PoolThread;

struct Pool {
    PoolThread *thread; /* [0] is the caller's: only its scratch is used */
    int n_threads;
    int64_t spin_ns;
    _Atomic int caller_cpu; /* at the last call; -1: no thread need leave it */
    PoolFn fn;
    void *ctx;
    bool (*poll)(void *ctx); /* NULL: none */
    void *poll_ctx;
    int64_t polled_ns;
    _Atomic bool is_cancelled;
    _Alignas(64) Gate left; /* unfinished parts */
};

static const uint32_t END = UINT32_C(1) << 31;

static _Atomic int n_lent;

/* Waits until the word differs from `old` and returns it. After spinning it sleeps at most most_ns
 * (0: for ever), then returns `old`. */
static uint32_t gate_wait(Gate *g, uint32_t old, int64_t spin_ns, int64_t most_ns) {
    for (int64_t until = 0, at = 0; at <= until;) {
        for (int i = 0; i < PAUSES; i++) {
            uint32_t now = atomic_load_explicit(&g->word, memory_order_acquire);
            if (now != old) return now;
            cpu_relax();
        }
        at = now_ns();
        if (!until) until = at + spin_ns;
    }
    atomic_store(&g->asleep, 1);
    const struct timespec most = {.tv_nsec = most_ns};
    uint32_t now;
    while ((now = atomic_load(&g->word)) == old) {
        syscall(SYS_futex, &g->word, FUTEX_WAIT_PRIVATE, old, most_ns ? &most : NULL, NULL, 0);
        if (most_ns) break;
    }
    atomic_store_explicit(&g->asleep, 0, memory_order_relaxed);
    return most_ns ? atomic_load_explicit(&g->word, memory_order_acquire) : now;
}

static void gate_wake(Gate *g) {
    if (atomic_load(&g->asleep)) syscall(SYS_futex, &g->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The share of thread t of T, of n parts: those from n t / T on. */
static uint64_t share_of(int n, int t, int T) {
    return (uint64_t)((int64_t)n * t / T) | (uint64_t)((int64_t)n * (t + 1) / T) << 32;
}

/* ---- Cancelling ---- */

void pool_set_cancel(Pool *p, bool (*is_cancelled)(void *ctx), void *ctx) {
    p->poll = is_cancelled, p->poll_ctx = ctx;
}

void pool_cancel(Pool *p, bool is_cancelled) {
    atomic_store_explicit(&p->is_cancelled, is_cancelled, memory_order_relaxed);
}

bool pool_was_cancelled(const Pool *p) {
    return atomic_load_explicit(&p->is_cancelled, memory_order_relaxed);
}

bool pool_is_cancelled(Pool *p, int thread) {
    if (pool_was_cancelled(p)) return true;
    if (thread || !p->poll) return false;
    int64_t now = clock_ns(CLOCK_MONOTONIC_COARSE);
    if (now - p->polled_ns < POLL_NS) return false;
    p->polled_ns = now;
    if (p->poll(p->poll_ctx)) pool_cancel(p, true);
    return pool_was_cancelled(p);
}

/* ---- Parts ---- */

/* Runs the parts that are left of t's share, as thread `thread`; returns their number. */
static uint32_t run_share(Pool *p, int t, int thread) {
    _Atomic uint64_t *share = &p->thread[t].share;
    uint32_t n = 0;
    uint64_t left = atomic_load_explicit(share, memory_order_acquire);
    for (;;) {
        uint32_t first = (uint32_t)left, end = (uint32_t)(left >> 32);
        if (first >= end) return n;
        bool is_own = t == thread, is_cancelled = pool_is_cancelled(p, thread);
        uint64_t rest = is_own ? left + 1 : left - (UINT64_C(1) << 32);
        if (is_cancelled) rest = end | (uint64_t)end << 32; /* claims all of them, and runs none */
        if (!atomic_compare_exchange_weak_explicit(share, &left, rest, memory_order_acquire,
                                                   memory_order_acquire))
            continue;
        n += is_cancelled ? end - first : 1;
        if (!is_cancelled) p->fn(p->ctx, (int)(is_own ? first : end - 1), thread);
        left = atomic_load_explicit(share, memory_order_acquire);
    }
}

/* Runs its own share, then the unclaimed parts of others; returns their number. */
static uint32_t run_parts(Pool *p, int thread) {
    uint32_t n = 0;
    for (int i = 0; i < p->n_threads; i++) n += run_share(p, (thread + i) % p->n_threads, thread);
    return n;
}

/* Moves thread t to another core if it woke on the caller's. A kernel may let it wake there, as
 * idle cores of a virtual machine look taken, and leave it there: the caller then computes all
 * parts before it runs, for as long as calls are short, and two threads were as fast as one. */
static void leave_caller(PoolThread *t) {
    int cpu = atomic_load_explicit(&t->pool->caller_cpu, memory_order_relaxed);
    cpu_set_t all, others;
    if (cpu < 0 || cpu >= CPU_SETSIZE || cpu != sched_getcpu()) return;
    int64_t now = now_ns();
    if (now - t->moved_ns < MOVE_NS || sched_getaffinity(0, sizeof all, &all)) return;
    t->moved_ns = now;
    others = all;
    CPU_CLR((size_t)cpu, &others);
    if (!CPU_COUNT(&others) || sched_setaffinity(0, sizeof others, &others)) return;
    sched_setaffinity(0, sizeof all, &all);
}

static void *thread_main(void *arg) {
    PoolThread *t = arg;
    Pool *p = t->pool;
    for (uint32_t seen = 0;;) {
        bool is_lent = atomic_load_explicit(&n_lent, memory_order_relaxed) > 0;
        seen = gate_wait(&t->go, seen, is_lent ? SPIN_CROWDED_NS : p->spin_ns, 0);
        if (seen & END) return NULL;
        leave_caller(t);
        uint32_t n = run_parts(p, t->index);
        if (n && atomic_fetch_sub(&p->left.word, n) == n) gate_wake(&p->left);
    }
}

Pool *pool_new(int threads) {
    assert(threads >= 1);
    Pool *p = aligned_alloc(64, sizeof *p);
    bool crowded = threads > sysconf(_SC_NPROCESSORS_ONLN);
    if (p) *p = (Pool){.n_threads = threads, .caller_cpu = -1};
    if (p) p->spin_ns = crowded ? SPIN_CROWDED_NS : SPIN_NS;
    size_t bytes = (size_t)threads * sizeof *p->thread;
    if (p) p->thread = aligned_alloc(64, bytes);
    if (!p || !p->thread) panic("out of memory for %d threads", threads);
    /* Signals are handled by the program's other threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < threads; i++) {
        PoolThread *t = &p->thread[i];
        *t = (PoolThread){.pool = p, .index = i};
        if (i > 0 && pthread_create(&t->id, NULL, thread_main, t) != 0) {
            p->n_threads = i; /* fewer threads give the same results */
            break;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return p;
}

void pool_free(Pool **pp) {
    Pool *p = *pp;
    if (!p) return;
    for (int i = 1; i < p->n_threads; i++) {
        atomic_fetch_or(&p->thread[i].go.word, END);
        gate_wake(&p->thread[i].go);
    }
    for (int i = 1; i < p->n_threads; i++) pthread_join(p->thread[i].id, NULL);
    for (int i = 0; i < p->n_threads; i++) free(p->thread[i].scratch);
    free(p->thread);
    free(p);
    *pp = NULL;
}

void pool_lend(void) { atomic_fetch_add_explicit(&n_lent, 1, memory_order_relaxed); }
void pool_return(void) { atomic_fetch_sub_explicit(&n_lent, 1, memory_order_relaxed); }

int pool_threads(const Pool *p) { return p->n_threads; }

void pool_run(Pool *p, int n_parts, PoolFn fn, void *ctx) {
    int others = (n_parts < p->n_threads ? n_parts : p->n_threads) - 1;
    if (others <= 0) {
        for (int part = 0; part < n_parts && !pool_is_cancelled(p, 0); part++) fn(ctx, part, 0);
        return;
    }
    assert(atomic_load_explicit(&p->left.word, memory_order_relaxed) == 0);
    p->fn = fn, p->ctx = ctx;
    if (p->spin_ns == SPIN_NS)
        atomic_store_explicit(&p->caller_cpu, sched_getcpu(), memory_order_relaxed);
    atomic_store_explicit(&p->left.word, (uint32_t)n_parts, memory_order_relaxed);
    for (int t = 0; t <= others; t++)
        atomic_store_explicit(&p->thread[t].share, share_of(n_parts, t, others + 1),
                              memory_order_release);
    for (int i = 1; i <= others; i++) {
        Gate *g = &p->thread[i].go;
        uint32_t next = (atomic_load_explicit(&g->word, memory_order_relaxed) + 1) & ~END;
        atomic_store(&g->word, next);
        gate_wake(g);
    }
    uint32_t n = run_parts(p, 0), left = atomic_fetch_sub(&p->left.word, n) - n;
    while (left) {
        left = gate_wait(&p->left, left, p->spin_ns, p->poll ? POLL_NS : 0);
        if (left) pool_is_cancelled(p, 0);
    }
}

void *pool_scratch(Pool *p, int thread, size_t bytes) {
    assert(thread >= 0 && thread < p->n_threads);
    PoolThread *t = &p->thread[thread];
    if (bytes > t->scratch_bytes) {
        size_t size = (bytes + bytes / 4 + 4095) / 4096 * 4096;
        free(t->scratch);
        t->scratch = aligned_alloc(4096, size);
        if (!t->scratch) panic("out of memory for %zu bytes of scratch", size);
        t->scratch_bytes = size;
    }
    if (!t->scratch) return pool_scratch(p, thread, 64);
    return t->scratch;
}
