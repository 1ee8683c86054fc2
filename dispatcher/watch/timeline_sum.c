/* timeline_sum.c: see timeline_sum.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/timeline_sum.h"
#include "runtime/base/map.h"
#include <stdlib.h>
#include <string.h>

/* a + b, or the largest number. */
static uint64_t sum_u64(uint64_t a, uint64_t b) {
    return __builtin_add_overflow(a, b, &a) ? UINT64_MAX : a;
}

/* ---- Operations ---- */

typedef struct Ops {
    OpTotal *row;
    size_t n, cap;
    Map by_key; /* hash -> index + 1 of the newest row with it */
} Ops;

static void count_op(Ops *ops, const Slice *s) {
    uint32_t key[3] = {s->name, s->file, s->line};
    uint64_t hash = hash_bytes(key, sizeof key, 0);
    size_t i = (uintptr_t)map_get(&ops->by_key, hash);
    OpTotal *o = i ? &ops->row[i - 1] : NULL;
    if (!o || o->name != s->name || o->file != s->file || o->line != s->line) {
        ARRAY_ROOM(ops->row, ops->n, ops->cap, 32);
        o = &ops->row[ops->n++];
        *o = (OpTotal){.name = s->name, .file = s->file, .line = s->line, .class_ = s->class_};
        map_put(&ops->by_key, hash, (void *)(uintptr_t)ops->n);
    }
    o->count++;
    o->bytes = sum_u64(o->bytes, s->bytes);
    o->ns += s->end_ns - s->begin_ns;
}

static int by_time(const void *a, const void *b) {
    const OpTotal *x = a, *y = b;
    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

size_t timeline_ops(const Timeline *t, OpTotal **out) {
    Ops ops = {0};
    for (int i = 0; i < t->n_workers; i++) {
        const WorkerLane *w = &t->worker[i];
        for (size_t k = 0; k < w->n_slices; k++) count_op(&ops, &w->slice[k]);
        for (size_t k = 0; k < w->n_transfers; k++) count_op(&ops, &w->transfer[k]);
    }
    if (ops.n) qsort(ops.row, ops.n, sizeof *ops.row, by_time);
    map_fini(&ops.by_key);
    *out = ops.row;
    return ops.n;
}

/* ---- Links ---- */

typedef struct Links {
    LinkTotal *row;
    size_t n, cap;
    Map by_pair; /* from, to -> index + 1 */
} Links;

static void count_link(Links *links, int from, int to, uint64_t bytes, bool is_estimate) {
    uint64_t key = (uint64_t)from << 32 | (uint32_t)to;
    size_t i = (uintptr_t)map_get(&links->by_pair, key);
    if (!i) {
        ARRAY_PUSH(links->row, links->n, links->cap, 16, (LinkTotal){.from = from, .to = to});
        map_put(&links->by_pair, key, (void *)(uintptr_t)links->n);
        i = links->n;
    }
    LinkTotal *l = &links->row[i - 1];
    l->count++;
    l->bytes = sum_u64(l->bytes, bytes);
    l->is_estimate |= is_estimate;
}

static void count_links(Links *links, const Timeline *t, int rank, const Slice *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = s[i].has_moved ? s[i].moved : s[i].bytes;
        for (uint32_t k = 0; k < s[i].n_from; k++)
            count_link(links, t->rank[s[i].from + k], rank, bytes / s[i].n_from, !s[i].has_moved);
    }
}

static int by_bytes(const void *a, const void *b) {
    const LinkTotal *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

size_t timeline_links(const Timeline *t, LinkTotal **out) {
    Links links = {0};
    for (int i = 0; i < t->n_workers; i++) {
        const WorkerLane *w = &t->worker[i];
        count_links(&links, t, i, w->transfer, w->n_transfers);
        count_links(&links, t, i, w->slice, w->n_slices);
    }
    if (links.n) qsort(links.row, links.n, sizeof *links.row, by_bytes);
    map_fini(&links.by_pair);
    *out = links.row;
    return links.n;
}

/* ---- Idle time ---- */

static int64_t length_of(const Wait *w) { return w->idle.end_ns - w->idle.begin_ns; }

size_t timeline_waits(const Timeline *t, Wait *out, size_t n) {
    size_t count = 0;
    for (int i = 0; i < t->n_workers && n; i++) {
        for (size_t k = 0; k < t->worker[i].n_idle; k++) {
            Wait w = {i, t->worker[i].idle[k]};
            if (length_of(&w) < TIMELINE_IDLE_NS) continue; /* a piece of a longer one */
            if (count == n && length_of(&w) <= length_of(&out[n - 1])) continue;
            size_t at = count < n ? count++ : n - 1;
            for (; at > 0 && length_of(&out[at - 1]) < length_of(&w); at--) out[at] = out[at - 1];
            out[at] = w;
        }
    }
    return count;
}

WorkerTotals timeline_total(const Timeline *t) {
    WorkerTotals all = {0};
    for (int i = 0; i < t->n_workers; i++) {
        const WorkerTotals *w = &t->worker[i].sum;
        all.there_ns += w->there_ns;
        all.busy_ns += w->busy_ns;
        all.gap_ns += w->gap_ns;
        for (int c = 0; c < IDLE_WHYS; c++) all.idle_ns[c] += w->idle_ns[c];
        for (int c = 0; c < WATCH_CLASS_COUNT; c++) all.class_ns[c] += w->class_ns[c];
        all.moved = sum_u64(all.moved, w->moved);
        all.n_ops += w->n_ops;
    }
    return all;
}

/* The worker that the cause cost the most, or of those that say whom they waited for, the pair. */
static void find_worst(const Timeline *t, Win *win) {
    int64_t *ns = xcalloc(MAX_WORKERS, sizeof *ns); /* waited for each; those waited for may not be
                                                     * in this part of the tape */
    for (int i = 0; i < t->n_workers; i++) {
        const WorkerLane *w = &t->worker[i];
        memset(ns, 0, MAX_WORKERS * sizeof *ns);
        for (size_t k = 0; k < w->n_idle; k++) {
            const Idle *idle = &w->idle[k];
            if (idle->cause != win->cause || idle->on < 0) continue;
            ns[idle->on] += idle->end_ns - idle->begin_ns;
            if (ns[idle->on] <= win->worst_ns) continue;
            win->worst_ns = ns[idle->on];
            win->rank = i, win->on = idle->on;
        }
    }
    free(ns);
    for (int i = 0; win->on < 0 && i < t->n_workers; i++) {
        int64_t idle_ns = t->worker[i].sum.idle_ns[win->cause];
        if (idle_ns > win->worst_ns) win->worst_ns = idle_ns, win->rank = i;
    }
}

Win timeline_win(const Timeline *t) {
    WorkerTotals all = timeline_total(t);
    Win win = {.cause = -1, .rank = -1, .on = -1};
    if (all.there_ns <= 0 || all.n_ops == 0) return win;
    int64_t most = 0, taken = 0;
    OpTotal *op;
    size_t n = timeline_ops(t, &op);
    for (int c = 0; c < IDLE_WHYS; c++)
        if (all.idle_ns[c] > most) most = taken = all.idle_ns[c], win.cause = c;
    size_t k = 0;
    while (k < n && op[k].class_ == WATCH_TRANSFER) k++; /* comm has these */
    /* What a worker did several times at once took it less than the sum. */
    int64_t op_ns = k == n ? 0 : op[k].ns < all.busy_ns ? op[k].ns : all.busy_ns;
    if (op_ns / 2 > most) {
        most = op_ns / 2, taken = op_ns;
        win.cause = -1, win.is_op = true, win.op = op[k];
    }
    free(op);
    double there = (double)all.there_ns;
    win.share = (double)taken / there;
    win.gain_ns = (int64_t)((double)most / there * (double)(t->end_ns - t->begin_ns));
    if (win.cause >= 0) find_worst(t, &win);
    return win;
}
