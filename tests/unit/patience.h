/* patience.h: wall-clock limits for steps that normally take much less time. On a loaded machine
 * the limit grows, so that a test fails because of the tested code and not because of other
 * processes.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_PATIENCE_H
#define GT_TESTS_UNIT_PATIENCE_H
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* Returns twice the limit, and twice more for each runnable process per core. */
static inline int64_t patient_ms(int64_t limit_ms) {
    double load = 0;
    int now = 0;
    FILE *f = fopen("/proc/loadavg", "r");
    if (f && fscanf(f, "%lf %*f %*f %d", &load, &now) < 2) now = 0;
    if (f) fclose(f);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return (int64_t)((double)limit_ms * (2 + 2 * (load > now ? load : now) / (double)cores));
}
#endif
