/* diff_align.c: which instructions of two runs correspond: see diff.h.
 *
 * Two runs of one program have the same instructions, so nearly always one step of each list is
 * compared with the next one of the other. Where that fails, all ways to skip d instructions, some
 * in a and the others in b, are tried for d = 1, 2, ...: the first after which DIFF_ANCHOR pairs
 * correspond is taken. That takes d steps for each d, so all searches together are limited to
 * EFFORT: lists that have little in common are not compared to their ends.
 *
 * The shift of a line (3 if an instruction of line 5 in a stands in line 8 in b) is learned where
 * an anchor shows it. Lines before and after an inserted line have different shifts, and a loop
 * alternates between them, so several are remembered.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/diff.h"

#include <stdlib.h>
#include <string.h>

enum { SHIFTS = 16 };
#define EFFORT UINT64_C(50000000)

typedef struct Align {
    const DiffClient *a, *b;
    int64_t shift[SHIFTS]; /* known ones; 0 is always known */
    int n_shifts;
    uint64_t effort;
} Align;

static int64_t shift_of(const DiffStep *a, const DiffStep *b) {
    return (int64_t)b->line - (int64_t)a->line;
}

static bool is_known(const Align *x, int64_t shift) {
    for (int i = 0; i < x->n_shifts; i++)
        if (x->shift[i] == shift) return true;
    return shift == 0;
}

/* Names of files are not compared: another version of the program may have another one. */
static bool is_alike(const DiffStep *a, const DiffStep *b) {
    return a->op == b->op && a->n_out == b->n_out && !a->line == !b->line;
}

static bool corresponds(const Align *x, size_t i, size_t j) {
    const DiffStep *a = &x->a->step[i], *b = &x->b->step[j];
    return is_alike(a, b) && is_known(x, shift_of(a, b));
}

/* True if the lists correspond from i and j on: by known shifts, or all by the same new one. */
static bool is_anchor(Align *x, size_t i, size_t j) {
    int64_t shift = 0;
    bool has_shift = false;
    size_t left_a = x->a->n - i, left_b = x->b->n - j, n = DIFF_ANCHOR;
    if (left_a < n || left_b < n) n = left_a; /* both must end together */
    if (n != DIFF_ANCHOR && left_a != left_b) return false;
    for (size_t k = 0; k < n; k++) {
        const DiffStep *a = &x->a->step[i + k], *b = &x->b->step[j + k];
        x->effort++;
        if (!is_alike(a, b)) return false;
        if (is_known(x, shift_of(a, b))) continue;
        if (has_shift && shift != shift_of(a, b)) return false;
        shift = shift_of(a, b);
        has_shift = true;
    }
    if (n == 0 || !has_shift) return true;
    if (x->n_shifts == SHIFTS) { /* forgets the oldest */
        memmove(x->shift, x->shift + 1, sizeof x->shift[0] * (SHIFTS - 1));
        x->n_shifts--;
    }
    x->shift[x->n_shifts++] = shift;
    return true;
}

/* Finds the nearest anchor behind i and j, where the lists do not correspond, and sets them to it.
 */
static bool find_anchor(Align *x, size_t *i, size_t *j) {
    size_t most_a = x->a->n - *i, most_b = x->b->n - *j;
    size_t most = most_a + most_b < DIFF_WINDOW ? most_a + most_b : DIFF_WINDOW;
    for (size_t d = 0; d <= most && x->effort < EFFORT; d++) {
        for (size_t skip_a = 0; skip_a <= d; skip_a++) {
            size_t skip_b = d - skip_a;
            if (skip_a > most_a || skip_b > most_b) continue;
            if (!is_anchor(x, *i + skip_a, *j + skip_b)) continue;
            *i += skip_a, *j += skip_b;
            return true;
        }
    }
    return false;
}

static void add_gap(DiffPairs *p, DiffGap gap) {
    if (gap.a_begin == gap.a_end && gap.b_begin == gap.b_end) return; /* only the lines moved */
    if (p->n_gaps < DIFF_GAPS) p->gap[p->n_gaps] = gap;
    p->n_gaps++;
}

void diff_align(DiffPairs *p, const DiffClient *a, const DiffClient *b) {
    Align x = {.a = a, .b = b};
    *p = (DiffPairs){.a = a, .b = b};
    p->b_of = xmalloc((a->n + 1) * sizeof *p->b_of);
    memset(p->b_of, 0xff, (a->n + 1) * sizeof *p->b_of);
    size_t i = 0, j = 0;
    while (i < a->n && j < b->n && j < DIFF_ALONE) {
        if (!corresponds(&x, i, j)) {
            DiffGap gap = {.a_begin = i, .b_begin = j};
            p->has_parted = !find_anchor(&x, &i, &j);
            if (p->has_parted) break;
            gap.a_end = i, gap.b_end = j;
            add_gap(p, gap);
            if (i == a->n || j == b->n) break;
        }
        p->b_of[i++] = (uint32_t)j++;
    }
    add_gap(p, (DiffGap){i, a->n, j, b->n});
}

void diff_pairs_fini(DiffPairs *p) {
    free(p->b_of);
    *p = (DiffPairs){0};
}
