/* path.c: see path.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/path.h"
#include "dispatcher/watch/axis.h"
#include "dispatcher/watch/view.h"
#include "runtime/base/err.h"
#include <stdlib.h>

enum { SLACK_NS = 1000, TOP = 3 }; /* tapes have microseconds */

typedef struct Made { /* a slice, by the tensor that it makes */
    uint64_t id;
    const Slice *slice;
    int worker;
    bool is_transfer;
} Made;

typedef struct Index {
    Made *made; /* by id, then by worker and time */
    size_t n;
} Index;

static int by_id(const void *a, const void *b) {
    const Made *p = a, *q = b;
    if (p->id != q->id) return p->id < q->id ? -1 : 1;
    if (p->worker != q->worker) return p->worker - q->worker;
    if (p->slice->begin_ns != q->slice->begin_ns)
        return p->slice->begin_ns < q->slice->begin_ns ? -1 : 1;
    return (int)p->is_transfer - (int)q->is_transfer;
}

static Index index_make(const Timeline *t) {
    size_t all = 1;
    for (int w = 0; w < t->n_workers; w++) all += t->worker[w].n_slices + t->worker[w].n_transfers;
    Index x = {xmalloc(all * sizeof *x.made), 0};
    for (int w = 0; w < t->n_workers; w++) {
        const WorkerLane *lane = &t->worker[w];
        for (size_t i = 0; i < lane->n_slices; i++)
            if (lane->slice[i].id != TIMELINE_NO_ID)
                x.made[x.n++] = (Made){lane->slice[i].id, &lane->slice[i], w, false};
        for (size_t i = 0; i < lane->n_transfers; i++)
            if (lane->transfer[i].id != TIMELINE_NO_ID)
                x.made[x.n++] = (Made){lane->transfer[i].id, &lane->transfer[i], w, true};
    }
    qsort(x.made, x.n, sizeof *x.made, by_id);
    return x;
}

/* The first slice that makes the tensor. */
static size_t index_find(const Index *x, uint64_t id) {
    size_t low = 0, high = x->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (x->made[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool reads_from(const Timeline *t, const Slice *s, int worker) {
    if (s->n_from == 0) return true;
    for (uint32_t i = 0; i < s->n_from; i++)
        if (t->rank[s->from + i] == worker) return true;
    return false;
}

/* Keeps the candidate that ended last of those that could end before the step begins. */
static void consider(PathStep *best, const PathStep *after, const Slice *s, int worker,
                     bool is_transfer) {
    if (s->end_ns > after->begin_ns + SLACK_NS || s->begin_ns >= after->begin_ns) return;
    if (best->slice && s->end_ns <= best->slice->end_ns) return;
    *best = (PathStep){s, worker, is_transfer, s->begin_ns, s->end_ns};
}

/* The slice of the compute lane that ended last before the step. */
static void consider_before(PathStep *best, const Timeline *t, const PathStep *after) {
    const WorkerLane *lane = &t->worker[after->worker];
    size_t low = 0, high = lane->n_slices;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (lane->slice[mid].begin_ns < after->begin_ns)
            low = mid + 1;
        else
            high = mid;
    }
    for (size_t i = low, tries = 0; i > 0 && tries < TIMELINE_ROWS; i--, tries++)
        consider(best, after, &lane->slice[i - 1], after->worker, false);
}

/* Returns the step before `after`; its slice is NULL if there is none. *is_program: the time
 * between them is a wait for the program. */
static PathStep step_before(const Timeline *t, const Index *x, const PathStep *after,
                            bool *is_program) {
    PathStep best = {0}, resource;
    const Slice *s = after->slice;
    consider_before(&best, t, after);
    resource = best;
    for (uint32_t i = 0; i < s->n_in; i++) {
        uint64_t id = t->operand[s->in + i];
        size_t k = index_find(x, id), end = k + 2 * (size_t)t->n_workers; /* one per lane */
        for (; k < x->n && k < end && x->made[k].id == id; k++) {
            const Made *m = &x->made[k];
            if (after->is_transfer ? !reads_from(t, s, m->worker) : m->worker != after->worker)
                continue;
            consider(&best, after, m->slice, m->worker, m->is_transfer);
        }
    }
    *is_program = s->sent_ns != TIMELINE_NO_TIME && s->sent_ns <= after->begin_ns + SLACK_NS &&
                  (!best.slice || s->sent_ns > best.slice->end_ns);
    if (!best.slice || *is_program) return resource.slice ? resource : best;
    return best;
}

static PathStep last_step(const Timeline *t) {
    PathStep last = {0};
    for (int w = 0; w < t->n_workers; w++) {
        const WorkerLane *lane = &t->worker[w];
        for (int k = 0; k < 2; k++) {
            const Slice *slice = k ? lane->transfer : lane->slice;
            size_t n = k ? lane->n_transfers : lane->n_slices;
            for (size_t i = 0; i < n; i++)
                if (!last.slice || slice[i].end_ns > last.end_ns)
                    last = (PathStep){&slice[i], w, k == 1, slice[i].begin_ns, slice[i].end_ns};
        }
    }
    return last;
}

Path path_find(const Timeline *t) {
    Path p = {0};
    size_t cap = 0;
    Index x = index_make(t);
    PathStep at = last_step(t);
    while (at.slice) {
        bool is_program;
        ARRAY_PUSH(p.step, p.n, cap, 64, at);
        p.class_ns[at.slice->class_] += at.end_ns - at.begin_ns;
        PathStep before = step_before(t, &x, &at, &is_program);
        if (before.slice) {
            if (before.end_ns > at.begin_ns) before.end_ns = at.begin_ns;
            int64_t gap = at.begin_ns - before.end_ns;
            *(is_program ? &p.program_ns : &p.gap_ns) += gap;
        }
        at = before;
    }
    free(x.made);
    for (size_t i = 0; i < p.n / 2; i++) {
        PathStep s = p.step[i];
        p.step[i] = p.step[p.n - 1 - i];
        p.step[p.n - 1 - i] = s;
    }
    if (p.n) p.length_ns = p.step[p.n - 1].end_ns - p.step[0].begin_ns;
    return p;
}

void path_fini(Path *p) {
    free(p->step);
    *p = (Path){0};
}

/* Steps of one operation at one place in the source. */
typedef struct Place {
    uint32_t name, file, line;
    int64_t ns;
} Place;

static int by_place(const void *a, const void *b) {
    const Place *p = a, *q = b;
    if (p->file != q->file) return p->file < q->file ? -1 : 1;
    if (p->line != q->line) return p->line < q->line ? -1 : 1;
    return (p->name > q->name) - (p->name < q->name);
}
static int by_ns(const void *a, const void *b) {
    const Place *p = a, *q = b;
    if (p->ns != q->ns) return p->ns > q->ns ? -1 : 1;
    return by_place(a, b);
}

static void put_top(const Timeline *t, const Path *p, Bytes *out) {
    Place *place = xmalloc((p->n + 1) * sizeof *place);
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        const Slice *s = p->step[i].slice;
        place[i] = (Place){s->name, s->file, s->line, p->step[i].end_ns - p->step[i].begin_ns};
    }
    qsort(place, p->n, sizeof *place, by_place);
    for (size_t i = 0; i < p->n; i++) {
        if (n && by_place(&place[n - 1], &place[i]) == 0)
            place[n - 1].ns += place[i].ns;
        else
            place[n++] = place[i];
    }
    qsort(place, n, sizeof *place, by_ns);
    for (size_t i = 0; i < n && i < TOP; i++) {
        char text[AXIS_LABEL_MAX];
        axis_time(place[i].ns, text);
        bytes_printf(out, "%s%s ", i ? ", " : "; most of it: ", text);
        view_clean(out, timeline_text(t, place[i].name), 40);
        if (!place[i].line) continue;
        bytes_puts(out, " at ");
        view_place(t, place[i].file, place[i].line, out);
    }
    free(place);
}

void path_text(const Timeline *t, const Path *p, Bytes *out) {
    char text[AXIS_LABEL_MAX];
    double length = p->length_ns > 0 ? (double)p->length_ns : 1;
    axis_time(p->length_ns, text);
    bytes_printf(out, "critical path %s", text);
    const char *before = ": ";
    for (int c = 0; c < WATCH_CLASS_COUNT; c++) {
        double share = 100 * (double)p->class_ns[c] / length;
        if (share < 0.5) continue;
        bytes_printf(out, "%s%.0f%% %s", before, share, watch_class_info[c].name);
        before = ", ";
    }
    if ((double)p->program_ns >= 0.005 * length) {
        bytes_printf(out, "%s%.0f%% waiting for the program", before,
                     100 * (double)p->program_ns / length);
        before = ", ";
    }
    if ((double)p->gap_ns >= 0.005 * length)
        bytes_printf(out, "%s%.0f%% between steps", before, 100 * (double)p->gap_ns / length);
    if (p->n) put_top(t, p, out);
}
