/* figure.h: a benchmark's figure for the table at the end of `make bench` (tests/bench/table).
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_BENCH_FIGURE_H
#define GT_TESTS_BENCH_FIGURE_H
#include <stdio.h>
#include <stdlib.h>

/* Appends a line to the file that GT_BENCH_FIGURES names, if it does. limit: "<=0.75", ">=0.9", or
 * "-" for none. */
static inline void figure(const char *words, double value, const char *unit, const char *limit) {
    const char *path = getenv("GT_BENCH_FIGURES");
    FILE *f = path && *path ? fopen(path, "a") : NULL;
    if (!f) return;
    fprintf(f, "figure %.3g %s %s %s\n", value, unit, limit, words);
    fclose(f);
}
#endif
