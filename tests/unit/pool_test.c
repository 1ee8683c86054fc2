/* pool_test: every part runs exactly once, on a thread of the pool, and its writes are visible when
 * pool_run returns; with few and many threads, and with pauses long enough for threads to sleep;
 * a late thread delays only the part that it runs, and one that leaves the caller's core keeps the
 * cores on which it may run. To be run under ThreadSanitizer as well.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/pool.h"
#include "tests/unit/check.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

typedef struct Job {
    int *count, *thread;
    Pool *pool;
} Job;

static void part_fn(void *ctx, int part, int thread) {
    Job *j = ctx;
    j->count[part]++;
    j->thread[part] = thread;
    uint8_t *s = pool_scratch(j->pool, thread, 100 + (size_t)part % 5 * 5000);
    memset(s, thread, 100);
    if ((uintptr_t)s % 64 != 0) j->count[part] = -1000;
}

static void test_parts(int threads) {
    enum { MAX = 50 };
    Pool *p = pool_new(threads);
    CHECK_INT(pool_threads(p), threads);
    int count[MAX], thread[MAX], wrong = 0;
    for (int round = 0; round < 400; round++) {
        int n = round % MAX;
        memset(count, 0, sizeof count);
        pool_run(p, n, part_fn, &(Job){count, thread, p});
        for (int i = 0; i < MAX; i++) {
            wrong += count[i] != (i < n);
            wrong += i < n && (thread[i] < 0 || thread[i] >= threads);
        }
        if (round == 200) pool_lend();
        if (round == 300) pool_return();
        if (round % 100 == 99) nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    CHECK_INT(wrong, 0);
    pool_free(&p);
    CHECK(p == NULL);
}

/* Part 1 waits until all others are done, including those preferred by its thread. */
typedef struct Late {
    atomic_int done;
    int n;
} Late;
static void late_fn(void *ctx, int part, int thread) {
    Late *l = ctx;
    for (int ms = 0; part == 1 && atomic_load(&l->done) < l->n - 1; ms++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        if (ms == 5000) return; /* the others are never done */
    }
    atomic_fetch_add(&l->done, 1);
}
static void test_late(void) {
    Pool *p = pool_new(2);
    Late l = {.n = 9};
    pool_run(p, l.n, late_fn, &l);
    CHECK_INT(atomic_load(&l.done), l.n);
    pool_free(&p);
}

/* A thread that wakes on the caller's core leaves it, and may then run where it could before. */
typedef struct Cores {
    cpu_set_t before;
    atomic_int done, wrong;
} Cores;
static void cores_fn(void *ctx, int part, int thread) {
    Cores *c = ctx;
    cpu_set_t now;
    if (part == 1 && thread == 1) {
        sched_getaffinity(0, sizeof now, &now);
        if (!CPU_EQUAL(&now, &c->before)) atomic_fetch_add(&c->wrong, 1);
    }
    for (int ms = 0; part == 0 && atomic_load(&c->done) == 0 && ms < 20; ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (part == 1) atomic_store(&c->done, 1);
}
static void test_cores(void) {
    Pool *p = pool_new(2);
    Cores c = {.wrong = 0};
    sched_getaffinity(0, sizeof c.before, &c.before);
    for (int round = 0; round < 30; round++) {
        atomic_store(&c.done, 0);
        pool_run(p, 2, cores_fn, &c);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); /* it sleeps */
    }
    CHECK_INT(atomic_load(&c.wrong), 0);
    pool_free(&p);
}

int main(void) {
    test_late();
    test_cores();
    static const int threads[] = {1, 2, 3, 8};
    for (int i = 0; i < 4; i++) test_parts(threads[i]);
    for (int i = 0; i < 20; i++) { /* threads that never got work end as well */
        Pool *p = pool_new(4);
        pool_free(&p);
    }
    return check_report("pool");
}
