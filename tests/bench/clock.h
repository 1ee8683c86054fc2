/* clock.h: timing for the benchmarks in C.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_BENCH_CLOCK_H
#define GT_TESTS_BENCH_CLOCK_H
#include <time.h>

/* One thread may be timed by its own clock (CLOCK_THREAD_CPUTIME_ID), which other processes disturb
 * less. */
static clockid_t clock_id = CLOCK_MONOTONIC;

static inline double now_s(void) {
    struct timespec t;
    clock_gettime(clock_id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Returns the best time of one call, in seconds, measured over about so many seconds; short calls
 * are timed in batches. */
static inline double best_within(void (*fn)(void *), void *ctx, double seconds) {
    double best = 1e9, start = now_s();
    fn(ctx);
    do {
        int repeats = 1 + (int)(2e-5 / (best < 1 ? best : 1));
        double t = now_s();
        for (int i = 0; i < repeats; i++) fn(ctx);
        t = (now_s() - t) / repeats;
        if (t < best) best = t;
    } while (now_s() - start < seconds);
    return best;
}
#endif
