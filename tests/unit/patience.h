/* patience.h: limits on the clock, for what takes far less time than they allow. A machine that has
 * more to do gets more time, so that a test fails by what it tests and not by what runs beside it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_PATIENCE_H
#define GT_TESTS_UNIT_PATIENCE_H
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* Twice the limit, and twice more for each process that a core has to run. */
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
