/* figure.c: figures as data: what all ways to draw one need. See figure.h.
 * SPDX-License-Identifier: MIT */
#include "lang/picture/figure_state.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void figure_init(Figure *f, FigureKind kind) {
    memset(f, 0, sizeof *f);
    f->kind = kind;
    f->xlim[0] = f->xlim[1] = f->ylim[0] = f->ylim[1] = NAN;
}

void figure_fini(Figure *f) {
    for (int i = 0; i < f->n_series; i++)
        free(f->series[i].x), free(f->series[i].y), free(f->series[i].label);
    free(f->pixels.rgba);
    free(f->title), free(f->xlabel), free(f->ylabel), free(f->note);
    figure_init(f, f->kind);
}

bool figure_has_labels(const Figure *f) {
    for (int i = 0; i < f->n_series; i++)
        if (f->series[i].label && *f->series[i].label) return true;
    return false;
}

/* ---- ranges ---- */

typedef struct Range {
    double lo, hi;
} Range;

static void take(Range *r, double v, bool is_log) {
    if (!isfinite(v) || (is_log && v <= 0)) return;
    if (v < r->lo) r->lo = v;
    if (v > r->hi) r->hi = v;
}

static bool is_within(double v, const double limit[2]) {
    return !(v < limit[0]) && !(v > limit[1]); /* a limit that is nan excludes nothing */
}

/* Room beyond the ends of the data. */
static void add_margin(Range *r, double margin, bool is_log, bool keeps_lo) {
    double by = (r->hi - r->lo) * margin;
    if (is_log || !(by > 0) || !isfinite(by)) return;
    r->hi += by;
    if (!keeps_lo) r->lo -= by;
}

void figure_axes(const Figure *f, double margin, int x_ticks, int y_ticks, Axis *x, Axis *y) {
    Range xs = {INFINITY, -INFINITY}, ys = xs;
    bool is_bars = f->kind == FIGURE_BARS;
    for (int s = 0; s < f->n_series; s++) {
        const Series *t = &f->series[s];
        for (int64_t i = 0; i < t->n; i++) {
            bool is_point = is_bars || (isfinite(t->x[i]) && isfinite(t->y[i]));
            if (!is_point) continue;
            take(&xs, t->x[i], f->xlog);
            if (is_within(t->x[i], f->xlim)) take(&ys, t->y[i], f->ylog);
        }
        if (is_bars && t->n) take(&xs, t->x[t->n], f->xlog);
    }
    if (is_bars && !f->ylog) take(&ys, 0, false);
    if (is_bars && ys.lo == 0 && ys.hi == 0) ys.hi = 1;
    add_margin(&ys, margin, f->ylog, is_bars && ys.lo == 0);
    if (!is_bars) add_margin(&xs, margin / 2, f->xlog, false);
    axis_init(x, xs.lo, xs.hi, f->xlim, f->xlog, x_ticks);
    axis_init(y, ys.lo, ys.hi, f->ylim, f->ylog, y_ticks);
}

/* ---- lines ---- */

/* Liang and Barsky: the part of the line within the unit square. */
static bool clip(double p[2], double q[2]) {
    double from = 0, to = 1;
    for (int axis = 0; axis < 2; axis++) {
        double d = q[axis] - p[axis];
        if (d == 0) {
            if (p[axis] < 0 || p[axis] > 1) return false;
            continue;
        }
        double a = (0 - p[axis]) / d, b = (1 - p[axis]) / d;
        from = fmax(from, fmin(a, b));
        to = fmin(to, fmax(a, b));
    }
    if (from > to) return false;
    double start[2] = {p[0], p[1]};
    for (int axis = 0; axis < 2; axis++) {
        double d = q[axis] - start[axis];
        p[axis] = fmin(fmax(start[axis] + from * d, 0), 1); /* the sum may cancel */
        q[axis] = fmin(fmax(start[axis] + to * d, 0), 1);
    }
    return isfinite(from) && isfinite(to);
}

void figure_trace(const Figure *f, const Series *s, const Axis *x, const Axis *y,
                  void (*line)(void *, const double *, const double *), void *ctx) {
    double last[2] = {NAN, NAN};
    bool is_alone = true; /* last has no line to the point before it */
    for (int64_t i = 0; i <= s->n; i++) {
        double at[2] = {NAN, NAN};
        if (i < s->n) at[0] = axis_at(x, s->x[i]), at[1] = axis_at(y, s->y[i]);
        bool is_point = isfinite(at[0]) && isfinite(at[1]);
        bool joins = f->kind == FIGURE_LINE && is_point && !isnan(last[0]);
        if (!isnan(last[0]) && !joins && is_alone) {
            double p[2] = {last[0], last[1]}, q[2] = {last[0], last[1]};
            if (clip(p, q)) line(ctx, p, p);
        }
        if (joins) {
            double p[2] = {last[0], last[1]}, q[2] = {at[0], at[1]};
            if (clip(p, q)) line(ctx, p, q);
        }
        is_alone = !joins;
        last[0] = is_point ? at[0] : NAN, last[1] = at[1];
    }
}

double figure_bar(const Series *s, const Axis *x, const Axis *y, double from, double to) {
    double most = NAN;
    for (int64_t i = 0; i < s->n; i++) {
        double a = axis_at(x, s->x[i]), b = axis_at(x, s->x[i + 1]);
        double middle = (from + to) / 2;
        bool is_narrow = b - a < to - from; /* several bars in this place: the highest */
        bool is_here = is_narrow ? a < to && b > from : a <= middle && middle < b;
        double v = axis_at(y, s->y[i]);
        if (is_here && (isnan(most) || v > most)) most = v;
    }
    return most;
}
