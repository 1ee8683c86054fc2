/* axis.c: see axis.h. Ticks are multiples of 1, 2 or 5 times a power of ten, on a logarithmic axis
 * powers of ten.
 * SPDX-License-Identifier: MIT */
#include "lang/picture/axis.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the range ---- */

/* Makes lo < hi: data that are all equal, or as good as equal, lie in the middle. */
static void widen(Axis *a) {
    double size = fmax(fabs(a->lo), fabs(a->hi));
    bool is_wide = a->lo < a->hi && a->hi - a->lo > size * 1e-12;
    if (is_wide && isfinite(a->hi - a->lo)) return;
    if (is_wide) { /* the difference is not a number of this type */
        a->lo /= 2, a->hi /= 2;
        return;
    }
    double by = a->lo == 0 ? 1 : fabs(a->lo) * 0.1;
    double middle = a->lo;
    a->lo = middle - by, a->hi = middle + by;
}

static void set_range(Axis *a, double lo, double hi, const double limit[2]) {
    bool has_data = lo <= hi;
    a->lo = isfinite(limit[0]) ? limit[0] : has_data ? lo : isfinite(limit[1]) ? limit[1] - 1 : 0;
    a->hi = isfinite(limit[1]) ? limit[1] : has_data ? hi : a->lo + 1;
    if (a->lo > a->hi) { /* one end given, beyond the data */
        if (isfinite(limit[0]))
            a->hi = a->lo;
        else
            a->lo = a->hi;
    }
    if (!a->is_log) {
        widen(a);
        return;
    }
    if (!(a->lo > 0)) a->lo = a->hi > 0 ? a->hi / 1000 : 0.1;
    if (!(a->hi > a->lo * (1 + 1e-12))) a->lo /= 2, a->hi = a->lo * 4;
    if (!isfinite(a->hi)) a->hi = 1.7e308;
}

/* ---- ticks ---- */

static double nice_step(double least) {
    double power = pow(10, floor(log10(least))), part = least / power;
    double step = part <= 1.0000001 ? 1 : part <= 2.0000001 ? 2 : part <= 5.0000001 ? 5 : 10;
    return step * power;
}

/* The decimals that multiples of step need. */
static int decimals_of(double step) {
    int n = 0;
    for (double s = step; n < 12 && fabs(s - round(s)) > 1e-6 * s; n++) s *= 10;
    return n;
}

static void label_linear(Axis *a, double step) {
    double most = fmax(fabs(a->lo), fabs(a->hi));
    bool is_plain = most < 1e6 && step >= 1e-5;
    int decimals = decimals_of(step), digits = (int)ceil(log10(most / step)) + 1;
    for (int i = 0; i < a->n; i++) {
        double v = fabs(a->tick[i]) < step * 1e-6 ? 0 : a->tick[i];
        if (is_plain)
            snprintf(a->label[i], AXIS_LABEL, "%.*f", decimals, v);
        else
            snprintf(a->label[i], AXIS_LABEL, "%.*g", digits < 4 ? 4 : digits, v);
    }
}

/* How many multiples of step lie within the range; *first: of the first one. */
static double count_ticks(const Axis *a, double step, double *first) {
    *first = ceil(a->lo / step - 1e-9);
    return floor(a->hi / step + 1e-9) - *first + 1;
}

static void ticks_linear(Axis *a, int n_max) {
    double span = a->hi - a->lo, step = nice_step(span / n_max), first;
    if (!(step > 0) || !isfinite(step)) return;
    while (count_ticks(a, step, &first) > n_max) step = nice_step(step * 1.5);
    if (count_ticks(a, step, &first) < 2) { /* one tick says nothing of the scale */
        n_max++;
        step = nice_step(span / n_max);
        while (count_ticks(a, step, &first) > n_max + 1) step = nice_step(step * 1.5);
        count_ticks(a, step, &first);
        n_max++;
    }
    if (n_max > AXIS_TICKS) n_max = AXIS_TICKS;
    for (a->n = 0; a->n < n_max; a->n++) {
        double v = (first + a->n) * step;
        if (v > a->hi + span * 1e-9) break;
        a->tick[a->n] = v;
    }
    label_linear(a, step);
}

static void ticks_log(Axis *a, int n_max) {
    int first = (int)ceil(log10(a->lo) - 1e-9), last = (int)floor(log10(a->hi) + 1e-9);
    if (last - first < 1) { /* less than a decade */
        ticks_linear(a, n_max);
        return;
    }
    int by = (last - first) / n_max + 1;
    for (int k = first; k <= last && a->n < n_max; k += by) {
        a->tick[a->n] = pow(10, k);
        if (k >= -3 && k <= 4)
            snprintf(a->label[a->n++], AXIS_LABEL, "%.*f", k < 0 ? -k : 0, pow(10, k));
        else
            snprintf(a->label[a->n++], AXIS_LABEL, "1e%d", k);
    }
}

void axis_init(Axis *a, double lo, double hi, const double limit[2], bool is_log, int n_max) {
    memset(a, 0, sizeof *a);
    a->is_log = is_log;
    set_range(a, lo, hi, limit);
    if (n_max < 2) n_max = 2;
    if (n_max > AXIS_TICKS) n_max = AXIS_TICKS;
    if (is_log)
        ticks_log(a, n_max);
    else
        ticks_linear(a, n_max);
}

double axis_at(const Axis *a, double v) {
    if (!isfinite(v) || (a->is_log && v <= 0)) return NAN;
    if (a->is_log) return (log(v) - log(a->lo)) / (log(a->hi) - log(a->lo));
    return (v - a->lo) / (a->hi - a->lo);
}

void axis_number(double v, char out[AXIS_LABEL]) { snprintf(out, AXIS_LABEL, "%.4g", v); }
