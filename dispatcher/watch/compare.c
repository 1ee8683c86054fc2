/* compare.c: see compare.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/compare.h"
#include "dispatcher/watch/axis.h"
#include "dispatcher/watch/view.h"
#include "runtime/base/err.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Rows {
    Compare *c;
    size_t cap;
} Rows;

static void add_row(Rows *r, const char *what, bool is_new, int64_t ns) {
    ARRAY_ROOM(r->c->row, r->c->n, r->cap, 256);
    CompareRow *row = &r->c->row[r->c->n++];
    *row = (CompareRow){0};
    snprintf(row->what, sizeof row->what, "%s", what);
    *(is_new ? &row->new_ns : &row->old_ns) = ns;
    *(is_new ? &row->new_n : &row->old_n) = 1;
}

static int by_what(const void *a, const void *b) {
    return strcmp(((const CompareRow *)a)->what, ((const CompareRow *)b)->what);
}

/* Joins rows of one name, so that the table stays small while it is filled. */
static void join(Compare *c) {
    size_t n = 0;
    if (c->n) qsort(c->row, c->n, sizeof *c->row, by_what);
    for (size_t i = 0; i < c->n; i++) {
        CompareRow *last = n ? &c->row[n - 1] : NULL, *row = &c->row[i];
        if (!last || strcmp(last->what, row->what) != 0) {
            c->row[n++] = *row;
            continue;
        }
        last->old_ns += row->old_ns;
        last->new_ns += row->new_ns;
        last->old_n += row->old_n;
        last->new_n += row->new_n;
    }
    c->n = n;
}

static void add_slices(Rows *r, const Timeline *t, const Slice *slice, size_t n, bool is_new) {
    Bytes what = {0};
    for (size_t i = 0; i < n; i++) {
        const Slice *s = &slice[i];
        what.n = 0;
        view_clean(&what, timeline_text(t, s->name), 40);
        if (s->line) bytes_putc(&what, ' ');
        view_place(t, s->file, s->line, &what);
        add_row(r, what.data, is_new, s->end_ns - s->begin_ns);
        if (r->c->n >= 100000) join(r->c);
    }
    bytes_fini(&what);
}

static void add_run(Rows *r, const Timeline *t, bool is_new) {
    char what[64];
    for (int w = 0; w < t->n_workers; w++) {
        const WorkerLane *lane = &t->worker[w];
        add_slices(r, t, lane->slice, lane->n_slices, is_new);
        add_slices(r, t, lane->transfer, lane->n_transfers, is_new);
        for (size_t i = 0; i < lane->n_idle; i++) {
            const Idle *idle = &lane->idle[i];
            snprintf(what, sizeof what, "idle: %s", idle_why_name[idle->cause]);
            add_row(r, what, is_new, idle->end_ns - idle->begin_ns);
        }
    }
}

static int64_t change(const CompareRow *row) {
    int64_t d = row->new_ns - row->old_ns;
    return d < 0 ? -d : d;
}
static int by_change(const void *a, const void *b) {
    int64_t p = change(a), q = change(b);
    return p != q ? (p > q ? -1 : 1) : by_what(a, b);
}

Compare compare_runs(const Timeline *old, const Timeline *new_) {
    Compare c = {.old_ns = old->end_ns - old->begin_ns, .new_ns = new_->end_ns - new_->begin_ns};
    Rows r = {&c, 0};
    add_run(&r, old, false);
    add_run(&r, new_, true);
    join(&c);
    if (c.n) qsort(c.row, c.n, sizeof *c.row, by_change);
    return c;
}

void compare_fini(Compare *c) {
    free(c->row);
    *c = (Compare){0};
}

void compare_title(const Compare *c, Bytes *out) {
    char old[AXIS_LABEL_MAX], new_[AXIS_LABEL_MAX];
    axis_time(c->old_ns, old);
    axis_time(c->new_ns, new_);
    bytes_printf(out, "%s -> %s", old, new_);
    if (c->old_ns <= 0 || c->new_ns <= 0) return;
    double ratio = (double)c->new_ns / (double)c->old_ns;
    if (ratio >= 2)
        bytes_printf(out, ": %.1f times as long", ratio);
    else if (ratio >= 1.005)
        bytes_printf(out, ": %.0f%% longer", 100 * (ratio - 1));
    else if (ratio <= 0.995)
        bytes_printf(out, ": %.0f%% shorter", 100 * (1 - ratio));
    else
        bytes_puts(out, ": as long");
}

void compare_row(const CompareRow *row, Bytes *out) {
    char by[AXIS_LABEL_MAX], old[AXIS_LABEL_MAX], new_[AXIS_LABEL_MAX];
    axis_time(change(row), by);
    axis_time(row->old_ns, old);
    axis_time(row->new_ns, new_);
    bytes_printf(out, "%c%s  %s: %s -> %s", row->new_ns < row->old_ns ? '-' : '+', by, row->what,
                 old, new_);
    if (row->old_n != row->new_n)
        bytes_printf(out, ", %" PRIu64 " -> %" PRIu64 " times", row->old_n, row->new_n);
    else
        bytes_printf(out, ", %" PRIu64 " time%s", row->new_n, row->new_n == 1 ? "" : "s");
}
