/* timeline_settle.c: from what a tape says to what one sees: slices in rows, the gaps between them
 * with their causes, bands of signals, totals.
 *
 * Idle lines say why a worker waited. What they leave out (tapes of older versions; what is before
 * the first and after the last slice) is derived, from gaps of at least TIMELINE_IDLE_NS: until the
 * next slice or transfer was sent the worker was starved; from then on it was blocked by the worker
 * that the next transfer reads from; during a transfer the cause is comm. Without a transfer the
 * cause is unknown.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/timeline_state.h"
#include <stdlib.h>

enum { CUT_NS = 1500 }; /* how far a tape's ends, cut to microseconds, and us= may be off */

/* ---- Rows ---- */

static int by_end(const void *a, const void *b) {
    const Slice *x = a, *y = b;
    if (x->end_ns != y->end_ns) return x->end_ns < y->end_ns ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int by_begin(const void *a, const void *b) {
    const Slice *x = a, *y = b;
    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    return by_end(a, b);
}

/* Slices that overlap by no more than the tape's rounding follow each other: the later one is moved
 * to the end of the earlier one, or shortened. */
static void undo_cuts(Slice *s, size_t n) {
    int64_t raw_end = INT64_MIN, end = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        int64_t was = s[i].end_ns;
        if (s[i].begin_ns < end && s[i].begin_ns >= raw_end - CUT_NS) {
            int64_t length = was - s[i].begin_ns, latest = was + CUT_NS;
            s[i].begin_ns = end;
            s[i].end_ns = end + length < latest ? end + length : latest;
            if (s[i].end_ns < end) s[i].end_ns = end;
        }
        raw_end = was;
        end = s[i].end_ns;
    }
}

/* Returns how many rows there are. What finds none free is shortened. */
static int find_rows(Slice *s, size_t n) {
    int64_t end[TIMELINE_ROWS];
    int n_rows = 0;
    for (size_t i = 0; i < n; i++) {
        int row = 0;
        while (row < n_rows && end[row] > s[i].begin_ns) row++;
        if (row == TIMELINE_ROWS) {
            row--;
            s[i].begin_ns = end[row];
            if (s[i].end_ns < end[row]) s[i].end_ns = end[row];
        }
        if (row == n_rows) n_rows++;
        s[i].row = (uint8_t)row;
        end[row] = s[i].end_ns;
    }
    return n_rows;
}

static int settle_lane(Slice *s, size_t n) {
    if (n == 0) return 0;
    qsort(s, n, sizeof *s, by_end);
    undo_cuts(s, n);
    qsort(s, n, sizeof *s, by_begin);
    int n_rows = find_rows(s, n);
    qsort(s, n, sizeof *s, by_begin); /* what was shortened begins later */
    return n_rows;
}

/* ---- Idle time ---- */

/* A time during which at least one transfer was active, and the first of these. */
typedef struct Cover {
    int64_t begin_ns, end_ns;
    const Slice *transfer;
} Cover;

/* The walk over one worker's gaps, from the first to the last. */
typedef struct Gaps {
    const Timeline *t;
    WorkerLane *w;
    Idle *line;               /* from idle lines, by begin, without overlaps */
    size_t n_lines, at_line;  /* those before at_line end before the gap */
    Cover *cover;             /* by begin, without overlaps */
    size_t n_cover, at_cover; /* those before at_cover end before the gap */
    const Slice *next;        /* behind the gap, or NULL */
} Gaps;

static int idle_by_begin(const void *a, const void *b) {
    const Idle *x = a, *y = b;
    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static void separate(Idle *idle, size_t n) {
    if (n) qsort(idle, n, sizeof *idle, idle_by_begin);
    for (size_t i = 1; i < n; i++) {
        if (idle[i].begin_ns < idle[i - 1].end_ns) idle[i].begin_ns = idle[i - 1].end_ns;
        if (idle[i].end_ns < idle[i].begin_ns) idle[i].end_ns = idle[i].begin_ns;
    }
}

static void push(Gaps *g, Idle idle, const Slice *waits) {
    WorkerLane *w = g->w;
    Idle *last = w->n_idle ? &w->idle[w->n_idle - 1] : NULL;
    if (idle.end_ns <= idle.begin_ns) return;
    if (last && last->end_ns == idle.begin_ns && last->cause == idle.cause &&
        last->on == idle.on) { /* a report and what was derived around it */
        w->sum.idle_ns[idle.cause] += idle.end_ns - idle.begin_ns;
        last->end_ns = idle.end_ns;
        last->is_derived &= idle.is_derived;
        return;
    }
    if (waits) {
        if (!idle.name) idle.name = waits->name;
        idle.file = waits->file, idle.line = waits->line;
    }
    w->sum.idle_ns[idle.cause] += idle.end_ns - idle.begin_ns;
    ARRAY_PUSH(w->idle, w->n_idle, w->idle_cap, 32, idle);
}

static void derive(Gaps *g, int64_t begin, int64_t end, int cause, int on, const Slice *waits) {
    push(g, (Idle){begin, end, cause, on, .is_derived = true}, waits);
}

static int source_of(const Timeline *t, const Slice *transfer) {
    return transfer->n_from ? t->rank[transfer->from] : -1;
}

/* The worker waits from begin to end for s (NULL: nothing followed), of which worker `on` has an
 * operand. */
static void derive_wait(Gaps *g, int64_t begin, int64_t end, const Slice *s, int on) {
    int64_t sent = !s ? end : s->sent_ns != TIMELINE_NO_TIME ? s->sent_ns : begin;
    if (sent > end) sent = end;
    if (sent < begin) sent = begin;
    derive(g, begin, sent, IDLE_STARVED, -1, s);
    if (on >= 0)
        derive(g, sent, end, IDLE_BLOCKED, on, s);
    else
        g->w->sum.gap_ns += end - sent;
}

static void find_cover(Gaps *g) {
    const WorkerLane *w = g->w;
    int64_t at = INT64_MIN;
    g->cover = xmalloc(w->n_transfers * sizeof *g->cover);
    for (size_t i = 0; i < w->n_transfers; i++) {
        const Slice *s = &w->transfer[i];
        int64_t begin = s->begin_ns > at ? s->begin_ns : at;
        if (s->end_ns <= begin) continue;
        g->cover[g->n_cover++] = (Cover){begin, s->end_ns, s};
        at = s->end_ns;
    }
}

/* Time of a gap that idle lines do not explain. */
static void fill(Gaps *g, int64_t begin, int64_t end) {
    WorkerTotals *sum = &g->w->sum;
    bool is_long = end - begin >= TIMELINE_IDLE_NS;
    int64_t at = begin;
    while (g->at_cover < g->n_cover && g->cover[g->at_cover].end_ns <= begin) g->at_cover++;
    for (size_t i = g->at_cover; i < g->n_cover && g->cover[i].begin_ns < end; i++) {
        const Cover *c = &g->cover[i];
        int64_t from = c->begin_ns > at ? c->begin_ns : at, to = c->end_ns < end ? c->end_ns : end;
        int on = source_of(g->t, c->transfer);
        if (is_long)
            derive_wait(g, at, from, c->transfer, on),
                derive(g, from, to, IDLE_COMM, on, c->transfer);
        else
            sum->gap_ns += from - at, sum->idle_ns[IDLE_COMM] += to - from;
        at = to;
    }
    if (is_long)
        derive_wait(g, at, end, g->next, -1);
    else
        sum->gap_ns += end - at;
}

/* Workers report a long wait in pieces. True: `idle` goes on with the last one, which ends `at`. */
static bool lengthen(Gaps *g, int64_t at, const Idle *idle) {
    WorkerLane *w = g->w;
    Idle *last = w->n_idle ? &w->idle[w->n_idle - 1] : NULL;
    if (!last || last->is_derived || last->end_ns != at || last->cause != idle->cause ||
        last->on != idle->on || idle->begin_ns - at >= TIMELINE_IDLE_NS)
        return false;
    w->sum.idle_ns[idle->cause] += idle->end_ns - at;
    last->end_ns = idle->end_ns;
    return true;
}

static void settle_gap(Gaps *g, int64_t begin, int64_t end) {
    int64_t at = begin;
    if (end <= begin) return;
    if (g->t->options.client || g->t->options.signal) {
        g->w->sum.gap_ns += end - begin;
        return;
    }
    while (g->at_line < g->n_lines && g->line[g->at_line].end_ns <= begin) g->at_line++;
    for (size_t i = g->at_line; i < g->n_lines && g->line[i].begin_ns < end; i++) {
        Idle idle = g->line[i];
        if (idle.begin_ns < at) idle.begin_ns = at;
        if (idle.end_ns > end) idle.end_ns = end;
        if (idle.end_ns <= idle.begin_ns) continue;
        if (!lengthen(g, at, &idle)) {
            if (idle.begin_ns > at) fill(g, at, idle.begin_ns);
            push(g, idle, g->next);
        }
        at = idle.end_ns;
    }
    if (at < end) fill(g, at, end);
}

/* Needs settled slices and transfers. */
static void settle_idle(const Timeline *t, WorkerLane *w) {
    Gaps g = {.t = t, .w = w, .line = w->idle, .n_lines = w->n_idle};
    int64_t begin = t->begin_ns, end = t->end_ns;
    if (w->joined_ns > begin) begin = w->joined_ns; /* TIMELINE_NO_TIME is before all */
    if (w->left_ns != TIMELINE_NO_TIME && w->left_ns < end) end = w->left_ns;
    if (w->n_slices && w->slice[0].begin_ns < begin) begin = w->slice[0].begin_ns;
    separate(g.line, g.n_lines);
    find_cover(&g);
    w->idle = NULL;
    w->n_idle = w->idle_cap = 0;
    int64_t at = begin;
    for (size_t i = 0; i < w->n_slices; i++) {
        const Slice *s = &w->slice[i];
        g.next = s;
        settle_gap(&g, at, s->begin_ns);
        int64_t from = s->begin_ns > at ? s->begin_ns : at;
        if (s->end_ns > from) w->sum.busy_ns += s->end_ns - from;
        if (s->end_ns > at) at = s->end_ns;
    }
    if (at > end) end = at;
    g.next = NULL;
    settle_gap(&g, at, end);
    w->sum.there_ns = end > begin ? end - begin : 0;
    free(g.line);
    free(g.cover);
}

/* ---- The rest of a worker ---- */

static void settle_sums(WorkerLane *w) {
    for (size_t i = 0; i < w->n_slices; i++)
        w->sum.class_ns[w->slice[i].class_] += w->slice[i].end_ns - w->slice[i].begin_ns;
    for (size_t i = 0; i < w->n_transfers; i++) {
        const Slice *s = &w->transfer[i];
        w->sum.class_ns[WATCH_TRANSFER] += s->end_ns - s->begin_ns;
        uint64_t moved = s->has_moved ? s->moved : s->n_from ? s->bytes : 0;
        if (__builtin_add_overflow(w->sum.moved, moved, &w->sum.moved)) w->sum.moved = UINT64_MAX;
    }
    for (size_t i = 0; i < w->n_slices; i++) {
        uint64_t moved = w->slice[i].moved;
        if (__builtin_add_overflow(w->sum.moved, moved, &w->sum.moved)) w->sum.moved = UINT64_MAX;
    }
    w->sum.n_ops = w->n_slices + w->n_transfers;
}

static void settle_bands(WorkerLane *w) {
    for (size_t i = 0; i < w->n_slices; i++) {
        const Slice *s = &w->slice[i];
        Band *last = i && w->slice[i - 1].signal == s->signal && w->n_bands
                         ? &w->band[w->n_bands - 1]
                         : NULL;
        if (!s->signal) continue;
        if (last) {
            if (s->end_ns > last->end_ns) last->end_ns = s->end_ns;
            continue;
        }
        int64_t begin = s->begin_ns;
        if (w->n_bands && w->band[w->n_bands - 1].end_ns > begin)
            begin = w->band[w->n_bands - 1].end_ns;
        ARRAY_PUSH(w->band, w->n_bands, w->bands_cap, 16,
                   (Band){begin, s->end_ns > begin ? s->end_ns : begin, s->signal});
    }
}

static int compile_by_begin(const void *a, const void *b) {
    const Compile *x = a, *y = b;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static int sample_by_time(const void *a, const void *b) {
    const MemorySample *x = a, *y = b;
    return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

/* In a tape that says how much was moved, a transfer without that only copied what was here. */
static void settle_moved(const Timeline *t, WorkerLane *w) {
    for (size_t i = 0; t->has_moved && i < w->n_transfers; i++)
        if (!w->transfer[i].has_moved) w->transfer[i].has_moved = true, w->transfer[i].n_from = 0;
}

static void settle_worker(const Timeline *t, WorkerLane *w) {
    settle_moved(t, w);
    w->slice_rows = settle_lane(w->slice, w->n_slices);
    w->transfer_rows = settle_lane(w->transfer, w->n_transfers);
    if (w->n_compiles) qsort(w->compile, w->n_compiles, sizeof *w->compile, compile_by_begin);
    if (w->n_samples) qsort(w->sample, w->n_samples, sizeof *w->sample, sample_by_time);
    settle_idle(t, w);
    settle_sums(w);
    settle_bands(w);
}

/* ---- Clients ---- */

/* Ends what is open, and keeps what lies in the window. */
static void settle_client(const Timeline *t, ClientLane *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->n_bands; i++) {
        Band b = c->band[i];
        if (b.end_ns == TIMELINE_NO_TIME || b.end_ns > t->end_ns) b.end_ns = t->end_ns;
        if (b.begin_ns < t->begin_ns) b.begin_ns = t->begin_ns;
        if (b.end_ns > b.begin_ns && t->state->is_wanted[b.signal]) c->band[n++] = b;
    }
    c->n_bands = n;
}

void timeline_settle(Timeline *t) {
    const TimelineOptions *o = &t->options;
    TimelineState *st = t->state;
    if (st->has_seen && o->has_from)
        t->begin_ns = o->from_ns > st->seen_begin_ns ? o->from_ns : st->seen_begin_ns;
    if (st->has_seen && o->has_to)
        t->end_ns = o->to_ns < st->seen_end_ns ? o->to_ns : st->seen_end_ns;
    if (t->end_ns < t->begin_ns) t->end_ns = t->begin_ns;
    for (int i = 0; i < t->n_workers; i++)
        if (t->worker[i].is_known) settle_worker(t, &t->worker[i]);
    for (size_t i = 0; i < t->n_clients; i++) settle_client(t, &t->client[i]);
}
