/* step_loop.c: finds the part of a run that repeats. The distances between items of one class vote
 * for its period; the period that explains most of the run wins. Of the positions where a round
 * could begin, all after a loop's edge, it takes the one that the fewest values cross: between two
 * steps of training only parameters and the state of the optimiser are alive.
 * SPDX-License-Identifier: MIT */
#include "lang/step/step_run.h"

#include <stdlib.h>
#include <string.h>

enum { PERIODS_TRIED = 64 };

typedef struct Period {
    int p;              /* kept items of a round */
    int begin, covered; /* the longest part of seq with this period */
    double votes;
} Period;

static Item *at(const Cut *c, int k) { return &c->item[c->seq[k]]; }

static uint64_t key(const Cut *c, int k, bool is_loose) {
    return is_loose ? at(c, k)->loose : at(c, k)->class_->hash;
}

static int by_votes(const void *a, const void *b) {
    double x = ((const Period *)a)->votes, y = ((const Period *)b)->votes;
    return x < y ? 1 : x > y ? -1 : ((const Period *)a)->p - ((const Period *)b)->p;
}

/* The longest run of items that equal those one period later. */
static void measure(const Cut *c, Period *x, bool is_loose) {
    int run = 0, best = 0;
    for (int i = 0; i + x->p < c->n_seq; i++) {
        run = key(c, i, is_loose) == key(c, i + x->p, is_loose) ? run + 1 : 0;
        if (run > best) best = run, x->begin = i + 1 - run;
    }
    x->covered = best ? best + x->p : 0;
}

/* The distances between items of one class, with the number of their votes. */
static Period *distances(const Cut *c, bool is_loose, int *n) {
    Map last = {0}, votes = {0};
    for (int i = 0; i < c->n_seq; i++) {
        uint64_t k = key(c, i, is_loose);
        uintptr_t before = (uintptr_t)map_get(&last, k);
        map_put(&last, k, (void *)(uintptr_t)(i + 1));
        if (!before) continue;
        uint64_t d = (uint64_t)i + 1 - before;
        map_put(&votes, d, (void *)((uintptr_t)map_get(&votes, d) + 1));
    }
    Period *list = xcalloc(votes.n + 1, sizeof *list);
    *n = 0;
    for (MapItem it = {0}; map_next(&votes, &it);)
        list[(*n)++] =
            (Period){.p = (int)it.key, .votes = (double)(uintptr_t)it.value * (double)it.key};
    qsort(list, (size_t)*n, sizeof *list, by_votes);
    map_fini(&last);
    map_fini(&votes);
    return list;
}

/* The period of most of the run: covered 0 if there is none. */
static Period find_period(const Cut *c, bool is_loose) {
    int n;
    Period *list = distances(c, is_loose, &n), best = {0};
    if (n > PERIODS_TRIED) n = PERIODS_TRIED;
    for (int i = 0; i < n; i++) {
        measure(c, &list[i], is_loose);
        if (list[i].covered < 2 * list[i].p) list[i].covered = 0;
        if (list[i].covered > best.covered) best = list[i];
    }
    for (int i = 0; i < n; i++) /* of two steps, or of one? */
        if (list[i].covered && list[i].covered >= best.covered - best.covered / 20 &&
            list[i].p < best.p)
            best = list[i];
    free(list);
    return best;
}

/* ---- where a round begins ---- */

/* True if a loop's edge comes between the kept items k - 1 and k. */
static bool has_edge(const Cut *c, int k) {
    int from = k > 0 ? c->seq[k - 1] + 1 : 0, to = k < c->n_seq ? c->seq[k] : c->n - 1;
    for (int i = from; i <= to; i++)
        if (c->item[i].has_edge) return true;
    return false;
}

/* crossing[k]: values made before the kept item from + k in this part and used from there on. */
static int *count_crossing(const Cut *c, int from, int to) {
    int *change = xcalloc((size_t)(to - from) + 2, sizeof *change);
    Map last = {0}; /* id -> where in seq it is used last, + 1 */
    for (int k = from; k < c->n_seq; k++)
        for (int i = 0; i < at(c, k)->n_in; i++)
            map_put(&last, at(c, k)->in[i], (void *)(uintptr_t)(k + 1));
    for (int k = from; k < to; k++) {
        for (int i = 0; i < at(c, k)->n_out; i++) {
            int used = (int)(uintptr_t)map_get(&last, at(c, k)->out + (uint64_t)i) - 1;
            if (used <= k) continue;
            change[k + 1 - from]++;
            change[(used < to ? used : to) + 1 - from]--;
        }
    }
    for (int k = 1; k <= to - from + 1; k++) change[k] += change[k - 1];
    map_fini(&last);
    return change;
}

/* The item after the last round. It comes after as many edges, counted from the last kept item of
 * the round, as in the round with the fewest. */
static int find_end(const Cut *c) {
    int last = c->begin + c->rounds * c->period - 1, fewest = c->n, edges = 0;
    int i = c->seq[last] + 1, end = last + 1 < c->n_seq ? c->seq[last + 1] : c->n;
    for (int r = 0; r + 1 < c->rounds; r++, edges = 0) {
        for (int k = c->seq[c->begin + (r + 1) * c->period - 1] + 1; k <= c->bound[r + 1]; k++)
            edges += c->item[k].has_edge;
        if (edges < fewest) fewest = edges;
    }
    for (; i < end; i++) {
        if (!fewest && !c->item[i].class_->rounds) break; /* of a program without edges */
        if (c->item[i].has_edge && ++edges == fewest) break;
    }
    return i;
}

/* The first items of the rounds: after the last edge before each. After the last round come items
 * that no other round has. */
static void set_bounds(Cut *c) {
    c->bound_all = c->bound = xcalloc((size_t)c->rounds + 1, sizeof *c->bound);
    for (int r = 0; r < c->rounds; r++) {
        int k = c->begin + r * c->period, i = c->seq[k], from = k ? c->seq[k - 1] + 1 : 0;
        while (i > from && !c->item[i].has_edge) i--;
        c->bound[r] = c->item[i].has_edge ? i : c->seq[k];
    }
    for (int i = c->bound[0]; i < c->bound[c->rounds - 1]; i++) c->item[i].class_->rounds++;
    c->bound[c->rounds] = find_end(c);
    for (int i = c->bound[0]; i < c->seq[c->begin]; i++) { /* such as a print before the loop */
        if (c->item[i].class_->rounds >= 2) continue;
        c->item[i].class_->rounds = 0;
        c->bound[0] = i + 1;
    }
}

/* True if the round could begin at q rather than at `best`: no update may be left after the last
 * round; then the most rounds, then the fewest crossing values, then the later position count. */
static bool is_better(const Cut *c, const Period *x, int last_update, const int *crossing, int q,
                      int best) {
    int end = x->begin + x->covered, rounds = (end - q) / x->p, most = (end - best) / x->p;
    bool left = q + rounds * x->p <= last_update, was_left = best + most * x->p <= last_update;
    int n = crossing[q + x->p - x->begin], fewest = crossing[best + x->p - x->begin];
    if (left != was_left) return !left;
    if (rounds != most) return rounds > most;
    return n <= fewest;
}

/* Sets begin and rounds. */
static void choose_begin(Cut *c, const Period *x) {
    int best = -1, last_update = -1;
    int *crossing = count_crossing(c, x->begin, x->begin + x->covered);
    bool any_edge = false; /* the first round may have none before it */
    for (int q = x->begin + x->p; q < x->begin + 2 * x->p; q++) any_edge |= has_edge(c, q);
    for (int k = 0; k < c->n_seq; k++)
        if (at(c, k)->is_update) last_update = k;
    for (int q = x->begin; q < x->begin + x->p; q++) {
        if (any_edge && !has_edge(c, q + x->p)) continue;
        if (best < 0 || is_better(c, x, last_update, crossing, q, best)) best = q;
    }
    free(crossing);
    c->begin = best, c->period = x->p;
    c->rounds = (x->begin + x->covered - best) / x->p;
}

/* ---- what is wrong ---- */

static const char *op_name(const Item *t) { return op_info[t->op].name; }

/* "f32[3,4]", in the arena. */
static const char *types_of(Cut *c, const Item *t) {
    const char *s = t->text + t->plain;
    size_t skip = strspn(s, "-> "), n = strcspn(s + skip, " @\n");
    return arena_strndup(&c->arena, s + skip, n < 60 ? n : 60);
}

/* The item that ends the repetition, and the one a round before, differ. */
static bool rounds_differ(Cut *c, int k, int p) {
    if (k >= c->n_seq)
        return error_set(c->e, "the run ends within a round, so that no step can be cut out");
    Item *now = at(c, k), *before = at(c, k - p);
    if (now->loose == before->loose) {
        error_set(c->e,
                  "the shapes change from round to round: %s at %s gives %s, a round before %s",
                  op_name(now), cut_where(c, now), types_of(c, now), types_of(c, before));
        return error_hint(c->e, "let all rounds have equal shapes: drop the last, smaller batch, "
                                "or pad it");
    }
    error_set(c->e, "the rounds differ: one runs %s at %s where the one before runs %s at %s",
              op_name(now), cut_where(c, now), op_name(before), cut_where(c, before));
    return error_hint(c->e, "a step does the same in every round; run what comes now and then in "
                            "another program");
}

/* After the body no parameter may change: that would be a round that differs. */
static bool check_rest(Cut *c, const Period *x) {
    for (int k = c->begin + c->rounds * c->period; k < c->n_seq; k++)
        if (at(c, k)->is_update) return rounds_differ(c, x->begin + x->covered, x->p);
    return true;
}

bool cut_find_loop(Cut *c) {
    Period strict = find_period(c, false), loose = find_period(c, true);
    if (loose.covered > strict.covered + strict.covered / 2 && loose.covered >= 2 * loose.p)
        for (int k = loose.begin + loose.p; k < loose.begin + loose.covered; k++)
            if (at(c, k)->class_ != at(c, k - loose.p)->class_) return rounds_differ(c, k, loose.p);
    if (!strict.covered) {
        error_set(c->e, "nothing in this program repeats, so there is no step to cut out");
        return error_hint(c->e, "a step is what a training loop does in each of its rounds");
    }
    choose_begin(c, &strict);
    if (c->rounds < ROUNDS_MIN) {
        error_set(c->e, "the loop has %d rounds; a step is cut out of %d or more", c->rounds,
                  ROUNDS_MIN);
        return error_hint(c->e, "let the program run more steps");
    }
    TRY(check_rest(c, &strict));
    set_bounds(c);
    return true;
}
