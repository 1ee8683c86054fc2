/* cpu.h: the CPU time of a test, for tests that time grows with the input and not with its square.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_CPU_H
#define GT_TESTS_UNIT_CPU_H
#include <time.h>

/* Seconds of CPU time that this thread took so far: other programs do not count. */
static double cpu_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#endif
