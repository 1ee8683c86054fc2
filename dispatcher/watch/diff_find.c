/* diff_find.c: the first difference between two aligned runs: see diff.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/diff.h"

#include <string.h>

/* The text from " -> " on, up to the position: the types of the results. */
static const char *types_of(const DiffStep *s, size_t *n) {
    const char *end = strchr(s->text, '\n'), *at = s->text;
    const char *arrow = end ? memmem(at, (size_t)(end - at), " -> ", 4) : NULL;
    if (!arrow) return *n = 0, "";
    arrow += 4;
    const char *stop = arrow;
    while (stop < end && *stop != ' ') stop++;
    *n = (size_t)(stop - arrow);
    return arrow;
}

static bool has_same_type(const DiffStep *a, const DiffStep *b) {
    size_t n, m;
    const char *s = types_of(a, &n), *t = types_of(b, &m);
    return !n || !m || (n == m && !memcmp(s, t, n));
}

/* Compares one pair. Returns false, with out's kind set, if it differs. */
static bool is_same(const DiffTape *const tape[2], const DiffPairs *p, const DiffStep *a,
                    const DiffStep *b, DiffFound *out) {
    const DiffHash *first = diff_whole(tape[0], p->a, a), *second = diff_whole(tape[1], p->b, b);
    for (out->run = 0; out->run < 2; out->run++) {
        const DiffStep *s = out->run ? b : a;
        if (!s->got.is_torn) continue;
        out->kind = DIFF_COPIES;
        return false;
    }
    if (!has_same_type(a, b)) {
        out->kind = DIFF_TYPE;
        return false;
    }
    bool is_seen = first && second && first->sample == second->sample;
    out->n_unseen += !is_seen;
    if (!is_seen) return true;
    for (out->result = 0; out->result < a->n_out; out->result++) {
        if (first->hash[out->result] == second->hash[out->result]) continue;
        out->kind = DIFF_BITS;
        return false;
    }
    out->n_same++;
    return true;
}

void diff_find(const DiffTape *a, const DiffTape *b, const DiffPairs *p, DiffFound *out) {
    const DiffTape *const tape[2] = {a, b};
    *out = (DiffFound){0};
    for (; out->at < p->a->n; out->at++) {
        uint32_t other = p->b_of[out->at];
        if (other == DIFF_ALONE) continue;
        if (!is_same(tape, p, &p->a->step[out->at], &p->b->step[other], out)) return;
    }
}
