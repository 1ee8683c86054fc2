/* clock.h: the time since some point in the past, which never runs backwards; short waits.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_CLOCK_H
#define GT_RUNTIME_BASE_CLOCK_H
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static inline int64_t now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }
static inline int64_t now_us(void) { return now_ns() / 1000; }
static inline int64_t now_ms(void) { return now_ns() / 1000000; }
static inline double now_s(void) { return (double)now_ns() * 1e-9; }

/* Sleeps; ends early at a signal. */
static inline void sleep_ms(int ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}
/* In a loop that waits for another thread: leaves the core to it for a moment. */
static inline void cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}
#endif
