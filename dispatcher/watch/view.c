/* view.c: see view.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/view.h"
#include "dispatcher/watch/axis.h"
#include "runtime/base/err.h"
#include "runtime/base/limits.h"
#include "runtime/base/utf8.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

ViewShares view_shares(const Timeline *t) {
    ViewShares s = {0};
    double there = 0, busy = 0, class_[WATCH_CLASS_COUNT] = {0}, cause[IDLE_WHYS] = {0};
    double idle = 0;
    for (int w = 0; w < t->n_workers; w++) {
        if (!t->worker[w].is_known) continue;
        const WorkerTotals *sum = &t->worker[w].sum;
        s.n_workers++;
        s.n_ops += sum->n_ops;
        there += (double)sum->there_ns;
        busy += (double)sum->busy_ns;
        idle += (double)sum->gap_ns;
        for (int c = 0; c < WATCH_CLASS_COUNT; c++) class_[c] += (double)sum->class_ns[c];
        for (int i = 0; i < IDLE_WHYS; i++) {
            cause[i] += (double)sum->idle_ns[i];
            idle += (double)sum->idle_ns[i];
        }
    }
    if (there <= 0) return s;
    s.busy = busy / there;
    s.idle = idle / there;
    for (int c = 0; c < WATCH_CLASS_COUNT; c++) s.class_[c] = class_[c] / there;
    for (int i = 0; i < IDLE_WHYS; i++) s.cause[i] = cause[i] / there;
    return s;
}

/* "14,473". */
static void put_count(Bytes *b, uint64_t n) {
    if (n >= 1000) {
        put_count(b, n / 1000);
        bytes_printf(b, ",%03d", (int)(n % 1000));
    } else
        bytes_printf(b, "%d", (int)n);
}

void view_title(const Timeline *t, Bytes *out) {
    ViewShares s = view_shares(t);
    double seconds = (double)(t->end_ns - t->begin_ns) / 1e9;
    bytes_puts(out, "GT timeline: ");
    put_count(out, s.n_ops);
    bytes_printf(out, " op%s, %d worker%s, ", s.n_ops == 1 ? "" : "s", s.n_workers,
                 s.n_workers == 1 ? "" : "s");
    bytes_printf(out, "%.*f s", seconds >= 100 ? 1 : seconds >= 0.01 ? 3 : 6, seconds);
    bytes_printf(out, ", %.0f%% busy", 100 * s.busy);
}

/* What a transfer moved. Older tapes have only the size of the result: then what is read for it. */
static uint64_t moved_by(const Slice *s, int n_workers) {
    uint64_t n = s->n_from > 1 ? s->n_from : (uint64_t)n_workers;
    if (s->has_moved || n < 2) return s->has_moved ? s->moved : s->bytes;
    switch (s->op) {
    case OP_ALL_GATHER: return s->bytes / n * (n - 1);
    case OP_REDUCE_SCATTER: return s->bytes < UINT64_MAX / n ? s->bytes * (n - 1) : s->bytes;
    default: return s->bytes;
    }
}

/* The slices of all workers, and each one's outermost signal. Caller frees both. */
typedef struct Flat {
    PatternSlice *slice;
    uint32_t *root;
    size_t n;
} Flat;

static void add_slices(Flat *f, const Timeline *t, const WorkerLane *w, const Slice *slice,
                       size_t n_slices, const uint32_t *root) {
    for (size_t i = 0; i < n_slices; i++) {
        const Slice *s = &slice[i];
        int from = s->n_from == 1 ? t->rank[s->from] : -1;
        f->root[f->n] = root[s->signal];
        uint64_t id = s->id == TIMELINE_NO_ID ? s->id : s->id ^ (uint64_t)s->client << 48;
        f->slice[f->n++] = (PatternSlice){.begin_ns = s->begin_ns,
                                          .end_ns = s->end_ns,
                                          .worker = w->rank,
                                          .op = s->op,
                                          .id = id,
                                          .from = from,
                                          .bytes = moved_by(s, t->n_workers)};
    }
}

static Flat flatten(const Timeline *t) {
    size_t all = 1;
    for (int w = 0; w < t->n_workers; w++) all += t->worker[w].n_slices + t->worker[w].n_transfers;
    Flat f = {xmalloc(all * sizeof *f.slice), xmalloc(all * sizeof *f.root), 0};
    uint32_t *root = xcalloc(t->n_signals + 1, sizeof *root);
    for (uint32_t i = 1; i < t->n_signals; i++) { /* a parent comes before what is in it */
        uint32_t parent = t->signal[i].parent;
        root[i] = parent && parent < i ? root[parent] : i;
    }
    for (int i = 0; i < t->n_workers; i++) {
        const WorkerLane *w = &t->worker[i];
        add_slices(&f, t, w, w->slice, w->n_slices, root);
        add_slices(&f, t, w, w->transfer, w->n_transfers, root);
    }
    free(root);
    return f;
}

/* The pattern of what ran under one outermost signal. */
static ViewPart part_of(const Flat *f, uint32_t root) {
    ViewPart part = {root, INT64_MAX, INT64_MIN};
    PatternSlice *slice = xmalloc((f->n + 1) * sizeof *slice);
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (f->root[i] != root) continue;
        slice[n++] = f->slice[i];
        if (f->slice[i].begin_ns < part.begin_ns) part.begin_ns = f->slice[i].begin_ns;
        if (f->slice[i].end_ns > part.end_ns) part.end_ns = f->slice[i].end_ns;
    }
    part.pattern = pattern_find(slice, n);
    free(slice);
    return part;
}

static int by_begin(const void *a, const void *b) {
    const ViewPart *p = a, *q = b;
    if (p->begin_ns != q->begin_ns) return p->begin_ns < q->begin_ns ? -1 : 1;
    return (p->signal > q->signal) - (p->signal < q->signal);
}

int view_parts(const Timeline *t, ViewPart out[VIEW_PARTS]) {
    Flat f = flatten(t);
    int64_t all = 0, *busy = xcalloc(t->n_signals + 1, sizeof *busy);
    for (size_t i = 0; i < f.n; i++) {
        if (op_is_move(f.slice[i].op)) continue;
        busy[f.root[i]] += f.slice[i].end_ns - f.slice[i].begin_ns;
        all += f.slice[i].end_ns - f.slice[i].begin_ns;
    }
    int n = 0;
    for (uint32_t i = 1; i < t->n_signals && n < VIEW_PARTS; i++) {
        if (all == 0 || busy[i] < all / 33) continue;
        out[n] = part_of(&f, i);
        n += out[n].pattern.kind != PATTERN_NONE;
    }
    qsort(out, (size_t)n, sizeof *out, by_begin);
    for (int i = 1; i < n; i++) /* parts come one after the other, but for a twentieth */
        if (out[i].begin_ns < out[i - 1].end_ns - (t->end_ns - t->begin_ns) / 20) n = 0;
    if (n < 2) {
        n = 1;
        out[0] = (ViewPart){0, t->begin_ns, t->end_ns, pattern_find(f.slice, f.n)};
    }
    free(busy);
    free(f.slice);
    free(f.root);
    return n;
}

void view_caption(const Timeline *t, const ViewPart *part, int n_parts, Bytes *out) {
    char text[256];
    for (int i = 0; i < n_parts; i++) {
        bytes_puts(out, i ? "\npattern" : "pattern");
        if (part[i].signal) {
            bytes_puts(out, " of ");
            view_clean(out, timeline_text(t, t->signal[part[i].signal].name), 40);
        }
        bytes_puts(out, ": ");
        bytes_puts(out, pattern_text(&part[i].pattern, text, sizeof text));
    }
    if (t->n_failures)
        bytes_printf(out, "; %" PRIu64 " instruction%s failed", t->n_failures,
                     t->n_failures == 1 ? "" : "s");
    if (t->is_cut) bytes_puts(out, "; the tape is longer than what is shown");
    if (t->is_torn) bytes_puts(out, "; the tape's last line is torn");
}

void view_idle(const Timeline *t, Bytes *out) {
    ViewShares s = view_shares(t);
    if (s.idle < 0.005) return;
    bytes_printf(out, "idle %.0f%%", 100 * s.idle);
    const char *before = ": ";
    for (int i = 0; i < IDLE_WHYS; i++) {
        if (s.cause[i] < 0.005) continue;
        bytes_printf(out, "%s%.0f%% %s", before, 100 * s.cause[i], idle_why_name[i]);
        before = ", ";
    }
    double rest = s.idle; /* short gaps, and what the tape does not explain */
    for (int i = 0; i < IDLE_WHYS; i++) rest -= s.cause[i];
    if (rest >= 0.005 && before[0] == ',')
        bytes_printf(out, "%s%.0f%% of unknown cause", before, 100 * rest);
}

void view_add(ViewColumn *column, int n, int64_t from_ns, int64_t to_ns, const Slice *s) {
    int64_t begin = s->begin_ns > from_ns ? s->begin_ns : from_ns;
    int64_t end = s->end_ns < to_ns ? s->end_ns : to_ns;
    if (end <= begin) return;
    double per_ns = (double)n / (double)(to_ns - from_ns);
    int i = (int)((double)(begin - from_ns) * per_ns);
    for (; i < n && begin < end; i++) {
        int64_t edge = from_ns + (int64_t)((double)(i + 1) / per_ns);
        if (edge > end || i == n - 1) edge = end;
        if (edge <= begin) continue;
        column[i].ns[s->class_] += edge - begin;
        begin = edge;
    }
}

int64_t view_sum(const ViewColumn *column) {
    int64_t sum = 0;
    for (int c = 0; c < WATCH_CLASS_COUNT; c++) sum += column->ns[c];
    return sum;
}

WatchClass view_most(const ViewColumn *column) {
    int most = 0;
    for (int c = 1; c < WATCH_CLASS_COUNT; c++)
        if (column->ns[c] > column->ns[most]) most = c;
    return (WatchClass)most;
}

uint32_t view_count(const TimelineEvent *event, size_t n_events, int64_t from_ns, int64_t to_ns,
                    uint32_t *count, int n) {
    uint32_t most = 0;
    for (size_t i = 0; i < n_events; i++) {
        int64_t at = event[i].at_ns;
        if (at < from_ns || at >= to_ns) continue;
        int k = (int)((double)(at - from_ns) / (double)(to_ns - from_ns) * n);
        if (k >= n) k = n - 1;
        if (++count[k] > most) most = count[k];
    }
    return most;
}

static int by_id(const void *a, const void *b) {
    const ViewMove *p = a, *q = b;
    if (p->slice->id != q->slice->id) return p->slice->id < q->slice->id ? -1 : 1;
    if (p->begin_ns != q->begin_ns) return p->begin_ns < q->begin_ns ? -1 : 1;
    return p->to - q->to;
}
static int by_size(const void *a, const void *b) {
    const ViewMove *p = a, *q = b;
    if (p->bytes != q->bytes) return p->bytes > q->bytes ? -1 : 1;
    int64_t took = p->end_ns - p->begin_ns, took_q = q->end_ns - q->begin_ns;
    if (took != took_q) return took > took_q ? -1 : 1;
    return by_id(a, b);
}
static int by_time(const void *a, const void *b) {
    const ViewMove *p = a, *q = b;
    if (p->begin_ns != q->begin_ns) return p->begin_ns < q->begin_ns ? -1 : 1;
    return by_id(a, b);
}

/* Joins the parts of one collective. Their ids may come again: a worker takes part once. Returns
 * how many moves are left. */
static size_t join_collectives(ViewMove *move, size_t n) {
    size_t left = 0;
    uint64_t has[(MAX_WORKERS + 63) / 64];
    qsort(move, n, sizeof *move, by_id);
    for (size_t i = 0; i < n; i++) {
        ViewMove *last = left ? &move[left - 1] : NULL, *m = &move[i];
        uint64_t *word = &has[m->to / 64 % (sizeof has / sizeof *has)], bit = UINT64_C(1)
                                                                              << m->to % 64;
        bool is_part = last && m->is_collective && last->is_collective &&
                       last->slice->id == m->slice->id && m->slice->id != TIMELINE_NO_ID &&
                       !(*word & bit);
        if (!is_part) {
            move[left++] = *m;
            memset(has, 0, sizeof has);
            *word |= bit;
            continue;
        }
        *word |= bit;
        last->bytes += m->bytes;
        if (m->from < last->from) last->from = m->from;
        if (m->to > last->to) last->to = m->to;
        if (m->begin_ns < last->begin_ns) last->begin_ns = m->begin_ns;
        if (m->end_ns > last->end_ns) last->end_ns = m->end_ns;
    }
    size_t kept = 0; /* a collective of one worker is none */
    for (size_t i = 0; i < left; i++)
        if (!move[i].is_collective || move[i].from != move[i].to) move[kept++] = move[i];
    return kept;
}

int view_largest(const Timeline *t, int most, ViewMove **out) {
    size_t n = 0, all = 1;
    for (int w = 0; w < t->n_workers; w++) all += t->worker[w].n_transfers;
    ViewMove *move = xmalloc(all * sizeof *move);
    for (int i = 0; i < t->n_workers; i++) {
        const WorkerLane *w = &t->worker[i];
        for (size_t k = 0; k < w->n_transfers; k++) {
            const Slice *s = &w->transfer[k];
            int from = s->n_from == 1 ? t->rank[s->from] : -1;
            ViewMove m = {s,         moved_by(s, t->n_workers), from, w->rank, s->begin_ns,
                          s->end_ns, s->op != OP_MOVE};
            if (m.is_collective) m.from = w->rank;
            if (m.is_collective || (from >= 0 && from != w->rank)) move[n++] = m;
        }
    }
    n = join_collectives(move, n);
    qsort(move, n, sizeof *move, by_size);
    int moves = 0, collectives = 0;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        int *count = move[i].is_collective ? &collectives : &moves;
        if ((*count)++ < most) move[kept++] = move[i];
    }
    n = kept;
    qsort(move, n, sizeof *move, by_time);
    *out = move;
    return (int)n;
}

void view_slice(const Timeline *t, const Slice *s, Bytes *out) {
    char text[AXIS_LABEL_MAX];
    view_clean(out, timeline_text(t, s->name), 40);
    if (s->id < UINT64_C(1) << 63) bytes_printf(out, " t%" PRIu64, s->id); /* not inserted */
    axis_time(s->end_ns - s->begin_ns, text);
    bytes_printf(out, ", %s", text);
    if (s->bytes || s->has_moved) {
        axis_size(s->has_moved ? s->moved : s->bytes, text);
        bytes_printf(out, ", %s", text);
    }
    if (!s->line) return;
    bytes_puts(out, ", ");
    view_place(t, s->file, s->line, out);
}

void view_place(const Timeline *t, uint32_t file, uint32_t line, Bytes *out) {
    if (!line) return;
    const char *path = timeline_text(t, file), *name = strrchr(path, '/');
    view_clean(out, name ? name + 1 : path, 60);
    bytes_printf(out, ":%" PRIu32, line);
}

void view_cause(const Idle *idle, Bytes *out) {
    static const char *const words[IDLE_WHYS] = {"no instruction", "waits for another worker",
                                                 "waits for a transfer", "waits for a kernel",
                                                 "waits for its device"};
    if (idle->cause != IDLE_STARVED && idle->cause != IDLE_COMPILE && idle->on >= 0)
        bytes_printf(out, "waits for w%d", idle->on);
    else
        bytes_puts(out, words[idle->cause]);
}

/* What stands for the character at s: its length, or 0 for "?". *size: what to skip. */
static size_t next_character(const char *s, size_t *size) {
    uint32_t cp = 0;
    size_t n = (size_t)utf8_decode(s, strnlen(s, 4), &cp);
    bool is_control = cp < ' ' || (cp >= 0x7f && cp < 0xa0) || cp == 0xfffe || cp == 0xffff;
    if (is_control) n = 0;
    *size = n ? n : 1;
    return n;
}

void view_clean(Bytes *out, const char *s, size_t most) {
    size_t size, n = 0, i = 0;
    for (const char *c = s; *c && n <= most; c += size, n++) next_character(c, &size);
    size_t shown = n <= most ? n : most > 3 ? most - 3 : most;
    bytes_reserve(out, 1);
    for (; i < shown; i++, s += size) {
        if (next_character(s, &size))
            bytes_add(out, s, size);
        else
            bytes_putc(out, '?');
    }
    if (*s && most > 3) bytes_puts(out, "...");
}

/* ---- Nothing was chosen ---- */

enum { NAMES_SHOWN = 8 };

/* Appends "; the tape has a, b": the names of its signals. */
static void put_signals(const Timeline *t, Bytes *out) {
    int n = 0;
    for (size_t i = 1; i < t->n_signals; i++) {
        bool is_new = true;
        for (size_t k = 1; k < i && is_new; k++) is_new = t->signal[k].name != t->signal[i].name;
        if (!is_new) continue;
        if (n++ == NAMES_SHOWN) break;
        bytes_puts(out, n == 1 ? "; the tape has " : ", ");
        view_clean(out, timeline_text(t, t->signal[i].name), 40);
    }
    bytes_puts(out, n == 0 ? "; the tape has none" : n > NAMES_SHOWN ? " ..." : "");
}

static bool has_signal(const Timeline *t, const char *name) {
    for (size_t i = 1; i < t->n_signals; i++)
        if (!strcmp(timeline_text(t, t->signal[i].name), name)) return true;
    return false;
}

void view_why_empty(const Timeline *t, Bytes *out) {
    const TimelineOptions *o = &t->options;
    for (int i = 0; i < t->n_workers; i++)
        if (t->worker[i].sum.n_ops) return;
    if (o->client && !timeline_client(t, o->client)) {
        bytes_printf(out, "there is no client c%u", o->client);
        for (size_t i = 0; i < t->n_clients && i < NAMES_SHOWN; i++)
            bytes_printf(out, "%s c%u", i ? "," : "; the tape has", t->client[i].id);
    } else if (o->signal && !has_signal(t, o->signal)) {
        bytes_puts(out, "there is no signal '");
        view_clean(out, o->signal, 40);
        bytes_putc(out, '\'');
        put_signals(t, out);
    } else if (o->has_from || o->has_to) {
        bytes_printf(out, "nothing was computed in this part; the tape ends at %.6f s",
                     (double)t->at_ns * 1e-9);
    }
}
