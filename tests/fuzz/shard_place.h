/* shard_place.h: an independent oracle for the placement of tensors: new ones, copies
 * (signal.tensor) and pointwise operations on tensors of one shape, in nested scopes and outside.
 * It follows the documented rules, not the dispatcher's code. The program prints x.placement(),
 * which asks the workers what they hold; the oracle computes what it must print.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_FUZZ_SHARD_PLACE_H
#define GT_TESTS_FUZZ_SHARD_PLACE_H
#include "tests/fuzz/shard_program.h"

enum { RANKS = 8, PLACED = 24 };

typedef struct Where {
    int n, rank[RANKS];
    int axis; /* -1: whole on each */
} Where;

typedef struct Request {
    bool has_shard; /* it gives a layout for tensors */
    int n, rank[RANKS], axis;
    bool is_whole;
} Request;

typedef struct Placed {
    int n_axes, shape[3];
    Where at;
} Placed;

static bool same_ranks(const Where *a, int n, const int *rank) {
    return a->n == n && !memcmp(a->rank, rank, sizeof(int) * (size_t)n);
}

/* The axis along which a request splits a tensor: -1 if there is none, or if it has less than two
 * rows. */
static int requested_axis(const Request *w, const Placed *p) {
    int a = w->axis < 0 ? w->axis + p->n_axes : w->axis;
    return w->is_whole || w->n == 1 || a < 0 || a >= p->n_axes || p->shape[a] < 2 ? -1 : a;
}

static Where new_place(const Request *w, const Placed *p) {
    Where at = {.n = 1, .rank = {0}, .axis = -1}; /* the first worker */
    if (!w) return at;
    at.n = w->n;
    memcpy(at.rank, w->rank, sizeof at.rank);
    at.axis = requested_axis(w, p);
    return at;
}

/* The layout of an operation's result on tensors of one shape. */
static Where computed(const Request *w, const Placed *const *in, int n_in) {
    const Where *most = &in[0]->at;
    if (w) {
        const Where *split = NULL; /* the scope's axis takes precedence */
        for (int i = 0; i < n_in; i++) {
            const Where *at = &in[i]->at;
            if (!same_ranks(at, w->n, w->rank) || at->axis < 0) continue;
            if (at->axis == requested_axis(w, in[i])) return *at;
            if (!split) split = at;
        }
        return split ? *split : new_place(w, in[0]);
    }
    for (int i = 1; i < n_in; i++)
        if ((in[i]->at.axis >= 0 ? in[i]->at.n : 0) > (most->axis >= 0 ? most->n : 0))
            most = &in[i]->at;
    for (int i = 0; i < n_in; i++)
        if (same_ranks(&in[i]->at, most->n, most->rank) && in[i]->at.axis >= 0) return in[i]->at;
    return *most;
}

static void where_text(const Placed *p, Bytes *to) {
    const Where *at = &p->at;
    bytes_printf(to, "%s %d [", at->axis < 0 ? "replicate" : "split", at->axis);
    for (int i = 0; i < at->n; i++) bytes_printf(to, "%s%d", i ? ", " : "", at->rank[i]);
    bytes_printf(to, "] [");
    for (int i = 0; i < at->n; i++) {
        bytes_printf(to, "%s[", i ? ", " : "");
        for (int a = 0; a < p->n_axes; a++) {
            int n = p->shape[a];
            if (a == at->axis) {
                int block = (n + at->n - 1) / at->n, left = n - i * block;
                n = left < 0 ? 0 : left < block ? left : block;
            }
            bytes_printf(to, "%s%d", a ? ", " : "", n);
        }
        bytes_printf(to, "]");
    }
    bytes_printf(to, "]\n");
}

static Request some_request(Rand *r, int n_workers) {
    Request w = {.has_shard = rand_below(r, 6) != 0, .axis = rand_below(r, 5) - 2};
    w.is_whole = rand_below(r, 6) == 0;
    if (w.is_whole) w.axis = 0;
    w.n = rand_below(r, 3) ? 1 + rand_below(r, n_workers) : n_workers;
    bool is_all = w.n == n_workers && rand_below(r, 2);
    for (int i = 0; i < n_workers; i++) w.rank[i] = i;
    for (int i = n_workers - 1; i > 0 && !is_all; i--) {
        int k = rand_below(r, i + 1), t = w.rank[i];
        w.rank[i] = w.rank[k], w.rank[k] = t;
    }
    return w;
}

/* Writes the lines of a program, with definitions of its signals, and its expected output. */
static void place_write(Lines *out, Bytes *expected, uint64_t seed, int n_workers) {
    Writer *w = xcalloc(1, sizeof *w);
    Rand *r = &w->r;
    Request request[SIGNALS];
    Placed p[PLACED];
    int open[3], n = 0;
    r->state = seed, w->out = out, out->n = 0;
    write_line(w, "dt = float32");
    write_line(
        w,
        "fn where_is(x) { p = x.placement(); print(p.layout, p.axis if p.layout == \"split\" else "
        "-1, p.workers, p.shapes) }");
    for (int i = 0; i < SIGNALS; i++) {
        request[i] = some_request(r, n_workers);
        if (!request[i].has_shard) continue;
        char ranks[64] = "";
        for (int k = 0; k < request[i].n; k++)
            sprintf(ranks + strlen(ranks), "%s%d", k ? ", " : "", request[i].rank[k]);
        write_line(w,
                   request[i].is_whole ? "signal.define(\"s%d\", workers=[%s], replicated=true)"
                                       : "signal.define(\"s%d\", workers=[%s], axis=%d)",
                   i, ranks, request[i].axis);
    }
    for (int steps = 0; steps < 40 && n < PLACED; steps++) {
        int kind = below(w, 10), a = n ? below(w, n) : 0;
        const Request *in_force = NULL;
        for (int i = w->depth; i-- > 0 && !in_force;)
            if (request[open[i]].has_shard) in_force = &request[open[i]];
        if (kind == 0 && w->depth < 3) {
            open[w->depth] = below(w, SIGNALS);
            write_line(w, "signal s%d {", open[w->depth]);
            w->depth++;
            continue;
        }
        if (kind <= 1) {
            if (w->depth) w->depth--, write_line(w, "}");
            continue;
        }
        Placed *x = &p[n];
        if (kind < 5 || n == 0) {
            x->n_axes = 1 + below(w, 3);
            for (int k = 0; k < 3; k++) x->shape[k] = 1 + below(w, 9);
            Var v = {.rank = x->n_axes};
            memcpy(v.shape, x->shape, sizeof x->shape);
            char s[96];
            write_line(w, below(w, 2) ? "x%d = ones(%s)" : "x%d = randn(%s)", n, shape_text(&v, s));
            x->at = new_place(in_force, x);
        } else if (kind < 7) {
            *x = p[a];
            const Placed *in[] = {&p[a]};
            x->at = computed(in_force, in, 1);
            write_line(w, below(w, 2) ? "x%d = tanh(x%d)" : "x%d = x%d * 2", n, a);
        } else if (kind < 9) {
            int b = below(w, n);
            if (p[a].n_axes != p[b].n_axes ||
                memcmp(p[a].shape, p[b].shape, sizeof(int) * (size_t)p[a].n_axes))
                b = a;
            *x = p[a];
            const Placed *in[] = {&p[a], &p[b]};
            x->at = computed(in_force, in, 2);
            write_line(w, below(w, 2) ? "x%d = x%d + x%d" : "x%d = maximum(x%d, x%d)", n, a, b);
        } else {
            int s = below(w, SIGNALS);
            *x = p[a];
            if (request[s].has_shard) x->at = new_place(&request[s], x);
            write_line(w, "x%d = signal.tensor(x%d, \"s%d\")", n, a, s);
        }
        write_line(w, "where_is(x%d)", n++);
        where_text(x, expected);
    }
    while (w->depth) w->depth--, write_line(w, "}");
    bytes_putc(expected, 0);
    free(w);
}
#endif
