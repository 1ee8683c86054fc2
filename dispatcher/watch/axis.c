/* axis.c: see axis.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/axis.h"
#include <stdio.h>

enum {
    FAR = 20
}; /* an axis that begins more than FAR times its length after 0 counts from its begin */

Axis axis_make(int64_t from_ns, int64_t to_ns, int most) {
    if (to_ns <= from_ns) to_ns = from_ns + 1;
    int64_t span = to_ns - from_ns, step = 1;
    if (most < 2) most = 2;
    static const int64_t factor[] = {2, 5, 10}; /* 1, 2, 5, 10, 20, ... */
    int64_t power = 1;
    for (int i = 0; span / step >= most && power < INT64_MAX / 100; i++) {
        step = power * factor[i % 3];
        if (i % 3 == 2) power *= 10;
    }
    Axis a = {.from_ns = from_ns, .to_ns = to_ns, .step_ns = step};
    a.zero_ns = from_ns / FAR > span ? from_ns : 0;
    int64_t past = from_ns - a.zero_ns;
    a.first_ns = a.zero_ns + (past + step - 1) / step * step;
    return a;
}

typedef struct Unit {
    const char *name;
    int64_t ns;
} Unit;
static const Unit units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};

/* The unit in which `ns` is at least 1. */
static const Unit *unit_of(int64_t ns) {
    const Unit *u = units;
    while (u->ns > 1 && ns < u->ns) u++;
    return u;
}

void axis_label(const Axis *a, int64_t at_ns, char out[AXIS_LABEL_MAX]) {
    int64_t most = a->to_ns - a->zero_ns;
    const Unit *u = unit_of(most);
    int decimals = 0;
    for (int64_t step = a->step_ns; step < u->ns && decimals < 9; step *= 10) decimals++;
    int64_t at = at_ns - a->zero_ns;
    const char *sign = a->zero_ns ? "+" : "";
    if (at == 0)
        snprintf(out, AXIS_LABEL_MAX, "%s0", sign);
    else
        snprintf(out, AXIS_LABEL_MAX, "%s%.*f %s", sign, decimals, (double)at / (double)u->ns,
                 u->name);
}

/* "12.3 ms": three digits. */
static void three_digits(double value, const char *unit, char out[AXIS_LABEL_MAX]) {
    int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(out, AXIS_LABEL_MAX, "%.*f %s", decimals, value, unit);
}

void axis_time(int64_t ns, char out[AXIS_LABEL_MAX]) {
    if (ns < 0) ns = 0;
    const Unit *u = unit_of(ns);
    if (u->ns == 1)
        snprintf(out, AXIS_LABEL_MAX, "%d ns", (int)ns);
    else
        three_digits((double)ns / (double)u->ns, u->name, out);
}

void axis_size(uint64_t bytes, char out[AXIS_LABEL_MAX]) {
    static const char *const name[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(out, AXIS_LABEL_MAX, "%d B", (int)bytes);
        return;
    }
    double value = (double)bytes / 1024;
    int i = 0;
    for (; value >= 1023.5 && i < 5; i++) value /= 1024;
    three_digits(value, name[i], out);
}
