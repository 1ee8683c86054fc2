/* pattern.c: see pattern.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/pattern.h"
#include "dispatcher/watch/axis.h"
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/base/map.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 64, PARTS = 8, PARTS_FEW = 2 };
static const double counts_from = 0.02, adds_up = 1.25, most_of = 0.5, a_third = 1.0 / 3,
                    in_a_row = 0.9;

/* What is added up first. */
typedef struct Sums {
    int64_t from_ns, to_ns;             /* of all slices */
    int64_t busy_ns[PATTERN_WORKERS];   /* computing */
    int64_t starts_ns[PATTERN_WORKERS]; /* its first slice that computes */
    bool is_active[PATTERN_WORKERS];
    uint64_t moved;                /* bytes of transfers that count ... */
    uint64_t bytes[OP_COUNT];      /* ... by operation */
    int count[OP_COUNT];           /* ... of the worker that took part most often */
    uint64_t *link;                /* bytes of moves, [from * PATTERN_WORKERS + to] */
    int64_t first_move, last_move; /* ends of moves */
} Sums;

static bool is_known(const PatternSlice *s) {
    return s->worker >= 0 && s->worker < PATTERN_WORKERS && s->op < OP_COUNT;
}
static bool does_count(const PatternSlice *s) {
    return is_known(s) && op_is_move(s->op) && s->bytes > SMALL;
}

static void add_transfer(Sums *sums, const PatternSlice *s) {
    sums->moved += s->bytes;
    sums->bytes[s->op] += s->bytes;
    if (s->op != OP_MOVE || s->from < 0 || s->from >= PATTERN_WORKERS) return;
    sums->link[s->from * PATTERN_WORKERS + s->worker] += s->bytes;
    if (s->begin_ns < sums->first_move) sums->first_move = s->begin_ns;
    if (s->end_ns > sums->last_move) sums->last_move = s->end_ns;
}

static void add_up(Sums *sums, const PatternSlice *slice, size_t n) {
    sums->from_ns = sums->first_move = INT64_MAX;
    int(*count)[PATTERN_WORKERS] = xcalloc(OP_COUNT, sizeof *count);
    for (int w = 0; w < PATTERN_WORKERS; w++) sums->starts_ns[w] = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const PatternSlice *s = &slice[i];
        if (!is_known(s)) continue;
        if (s->begin_ns < sums->from_ns) sums->from_ns = s->begin_ns;
        if (s->end_ns > sums->to_ns) sums->to_ns = s->end_ns;
        if (!op_is_move(s->op)) {
            sums->busy_ns[s->worker] += s->end_ns - s->begin_ns;
            if (s->begin_ns < sums->starts_ns[s->worker]) sums->starts_ns[s->worker] = s->begin_ns;
        } else if (does_count(s)) {
            int times = ++count[s->op][s->worker];
            if (times > sums->count[s->op]) sums->count[s->op] = times;
            add_transfer(sums, s);
        }
    }
    free(count);
}

static int by_begin(const void *a, const void *b) {
    const PatternSlice *p = a, *q = b;
    return (p->begin_ns > q->begin_ns) - (p->begin_ns < q->begin_ns);
}

/* Rule 3. */
static bool is_parallel(const Sums *sums, const PatternSlice *slice, size_t n) {
    bool part[PARTS] = {false};
    PatternSlice *sorted = xmalloc(n * sizeof *sorted);
    size_t n_sorted = 0;
    int64_t sum = 0, any = 0, until = INT64_MIN;
    double length = (double)(sums->to_ns - sums->from_ns) + 1;
    for (size_t i = 0; i < n; i++) {
        const PatternSlice *s = &slice[i];
        if (does_count(s))
            part[(int)((double)(s->begin_ns - sums->from_ns) / length * PARTS)] = true;
        else if (is_known(s) && !op_is_move(s->op))
            sorted[n_sorted++] = *s;
    }
    qsort(sorted, n_sorted, sizeof *sorted, by_begin);
    for (size_t i = 0; i < n_sorted; i++) {
        int64_t begin = sorted[i].begin_ns, end = sorted[i].end_ns;
        sum += end - begin;
        if (begin < until) begin = until;
        if (end > begin) any += end - begin;
        if (end > until) until = end;
    }
    free(sorted);
    int parts = 0;
    for (int i = 0; i < PARTS; i++) parts += part[i];
    return parts <= PARTS_FEW && (double)sum >= adds_up * (double)any;
}

typedef struct Link {
    uint64_t bytes;
    int a, b;
} Link;

/* The largest first; equal ones by rank. */
static int by_bytes(const void *p, const void *q) {
    const Link *a = p, *b = q;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return a->a != b->a ? a->a - b->a : a->b - b->b;
}

static int root_of(const int *parent, int w) {
    while (parent[w] != w) w = parent[w];
    return w;
}

/* Walks along the row from the end at which computing begins first. Returns its length. */
static int walk_row(const Sums *sums, int (*next)[2], int *out) {
    int at = -1, before = -1, n = 0;
    for (int w = 0; w < PATTERN_WORKERS; w++) {
        bool is_end = sums->is_active[w] && next[w][0] >= 0 && next[w][1] < 0;
        if (is_end && (at < 0 || sums->starts_ns[w] < sums->starts_ns[at])) at = w;
    }
    while (at >= 0) {
        out[n++] = at;
        int to = next[at][0] != before ? next[at][0] : next[at][1];
        before = at;
        at = to;
    }
    return n;
}

/* Rule 5: puts the workers in a row, neighbours by the largest links. */
static bool is_row(const Sums *sums, Pattern *p) {
    Link *link = xmalloc(PATTERN_WORKERS * PATTERN_WORKERS / 2 * sizeof *link);
    int n = 0, parent[PATTERN_WORKERS], next[PATTERN_WORKERS][2];
    uint64_t all = 0, along = 0;
    for (int a = 0; a < PATTERN_WORKERS; a++) {
        parent[a] = a;
        next[a][0] = next[a][1] = -1;
        for (int b = 0; b < a; b++) {
            uint64_t bytes =
                sums->link[a * PATTERN_WORKERS + b] + sums->link[b * PATTERN_WORKERS + a];
            if (bytes) link[n++] = (Link){bytes, a, b};
            all += bytes;
        }
    }
    qsort(link, (size_t)n, sizeof *link, by_bytes);
    for (int i = 0; i < n; i++) {
        int a = link[i].a, b = link[i].b;
        if (!sums->is_active[a] || !sums->is_active[b] || next[a][1] >= 0 || next[b][1] >= 0)
            continue;
        if (root_of(parent, a) == root_of(parent, b)) continue;
        parent[root_of(parent, a)] = root_of(parent, b);
        next[a][next[a][0] >= 0] = b;
        next[b][next[b][0] >= 0] = a;
        along += link[i].bytes;
    }
    free(link);
    if (all == 0 || (double)along < in_a_row * (double)all) return false;
    int row[PATTERN_WORKERS];
    if (walk_row(sums, next, row) != p->n) return false;
    memcpy(p->worker, row, sizeof row);
    return true;
}

/* True if at least half of the computing is of instructions that one worker alone carries out. */
static bool does_differ(const PatternSlice *slice, size_t n) {
    static char several;
    Map by_id = {0}; /* id -> its worker + 1, or &several */
    int64_t own = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        const PatternSlice *s = &slice[i];
        if (!is_known(s) || op_is_move(s->op) || s->id == UINT64_MAX) continue;
        void *worker = (void *)(uintptr_t)(s->worker + 1), *known = map_get(&by_id, s->id);
        if (known != worker) map_put(&by_id, s->id, known ? &several : worker);
    }
    for (size_t i = 0; i < n; i++) {
        const PatternSlice *s = &slice[i];
        if (!is_known(s) || op_is_move(s->op)) continue;
        all += s->end_ns - s->begin_ns;
        if (s->id == UINT64_MAX || map_get(&by_id, s->id) != &several)
            own += s->end_ns - s->begin_ns;
    }
    map_fini(&by_id);
    return own >= all - own;
}

static double bubble(const Sums *sums, const Pattern *p, const PatternSlice *slice, size_t n) {
    int64_t busy = 0, length = sums->last_move - sums->first_move;
    if (length <= 0) return 0;
    for (size_t i = 0; i < n; i++) {
        const PatternSlice *s = &slice[i];
        if (!is_known(s) || op_is_move(s->op) || !sums->is_active[s->worker]) continue;
        int64_t from = s->begin_ns > sums->first_move ? s->begin_ns : sums->first_move;
        int64_t to = s->end_ns < sums->last_move ? s->end_ns : sums->last_move;
        if (to > from) busy += to - from;
    }
    double share = 1 - (double)busy / (double)length / p->n;
    return share < 0 ? 0 : share;
}

/* Rule 4. */
static void find_exchange(const Sums *sums, Pattern *p, const PatternSlice *slice, size_t n) {
    uint64_t reduce = sums->bytes[OP_ALL_REDUCE] + sums->bytes[OP_REDUCE_SCATTER];
    uint64_t gather = sums->bytes[OP_ALL_GATHER], scatter = sums->bytes[OP_REDUCE_SCATTER];
    int n_reduce = sums->count[OP_ALL_REDUCE] + sums->count[OP_REDUCE_SCATTER];
    int n_gather = sums->count[OP_ALL_GATHER];
    if (scatter && (double)gather >= a_third * (double)scatter &&
        (double)scatter >= a_third * (double)gather) {
        p->is_two_halves = scatter > sums->bytes[OP_ALL_REDUCE];
        reduce += gather;
        gather = 0;
    }
    const struct {
        PatternKind kind;
        uint64_t bytes;
        int count;
    } all[] = {{PATTERN_ALL_REDUCE, reduce, n_reduce},
               {PATTERN_ALL_GATHER, gather, n_gather},
               {PATTERN_ALL_TO_ALL, sums->bytes[OP_ALL_TO_ALL], sums->count[OP_ALL_TO_ALL]},
               {PATTERN_PIPELINE, sums->bytes[OP_MOVE], sums->count[OP_MOVE]}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if ((double)all[i].bytes < most_of * (double)sums->moved || all[i].count < 2) continue;
        if (all[i].kind == PATTERN_PIPELINE && !(does_differ(slice, n) && is_row(sums, p)))
            continue;
        p->kind = all[i].kind;
        p->bytes = all[i].bytes;
        p->count = all[i].count;
        if (p->kind == PATTERN_PIPELINE) p->bubble = bubble(sums, p, slice, n);
        return;
    }
}

Pattern pattern_find(const PatternSlice *slice, size_t n) {
    Pattern p = {PATTERN_NONE};
    Sums *sums = xcalloc(1, sizeof *sums);
    sums->link = xcalloc(PATTERN_WORKERS * PATTERN_WORKERS, sizeof *sums->link);
    add_up(sums, slice, n);
    int64_t most = 0;
    for (int w = 0; w < PATTERN_WORKERS; w++)
        if (sums->busy_ns[w] > most) most = sums->busy_ns[w];
    for (int w = 0; w < PATTERN_WORKERS; w++) {
        sums->is_active[w] = most > 0 && (double)sums->busy_ns[w] >= counts_from * (double)most;
        if (sums->is_active[w]) p.worker[p.n++] = w;
    }
    if (p.n >= 2) {
        if (is_parallel(sums, slice, n))
            p.kind = PATTERN_PARALLEL;
        else
            find_exchange(sums, &p, slice, n);
    }
    free(sums->link);
    free(sums);
    return p;
}

const char *pattern_name(PatternKind kind) {
    static const char *const name[] = {
        "none", "embarrassingly parallel", "all-reduce", "all-gather", "all-to-all", "pipeline"};
    return name[kind];
}

const char *pattern_text(const Pattern *p, char *out, size_t cap) {
    Bytes b = {0};
    char size[AXIS_LABEL_MAX];
    axis_size(p->bytes, size);
    bytes_puts(&b, pattern_name(p->kind));
    switch (p->kind) {
    case PATTERN_NONE: bytes_puts(&b, p->n == 1 ? " (one worker computes)" : ""); break;
    case PATTERN_PARALLEL:
        bytes_printf(&b, ": %d workers compute at the same time and exchange almost nothing", p->n);
        break;
    case PATTERN_PIPELINE:
        for (int i = 0; i < p->n && i < 8; i++)
            bytes_printf(&b, "%s w%d", i ? " >" : "", p->worker[i]);
        if (p->n > 8) bytes_printf(&b, " > ... > w%d", p->worker[p->n - 1]);
        bytes_printf(&b, ", bubble %.0f%%", 100 * p->bubble);
        break;
    default:
        bytes_printf(&b, "%s among %d workers, %d times, %s",
                     p->is_two_halves ? " (reduce-scatter and all-gather)" : "", p->n, p->count,
                     size);
    }
    snprintf(out, cap, "%s", b.data);
    bytes_fini(&b);
    return out;
}
