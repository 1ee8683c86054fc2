/* diff_tell.c: says in words where two runs first differ: see diff.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/diff.h"

#include <stdlib.h>
#include <string.h>

enum { OPERANDS_MAX = 16, WORKERS_SHOWN = 8, GAPS_SHOWN = 5 };

static const char *const name[2] = {"A", "B"};

static int line_length(const char *text) { return (int)strcspn(text, "\n"); }

/* "t42 = sum t41 -> f32[10] at train.gt:17" */
static void put_step(Bytes *out, const DiffStep *s) {
    int n = line_length(s->text);
    const char *at = s->line ? memrchr(s->text, '@', (size_t)n) : NULL;
    if (at)
        bytes_printf(out, "%.*sat %.*s", (int)(at - s->text), s->text, n - (int)(at + 1 - s->text),
                     at + 1);
    else
        bytes_printf(out, "%.*s", n, s->text);
}

/* ---- Operands ---- */

/* Writes the ids of the tensor operands of "t3 = add t1 t2 -> ..."; returns their number. */
static int operands(const DiffStep *s, uint64_t *id) {
    int n = 0;
    const char *end = s->text + line_length(s->text);
    const char *at = memchr(s->text, '=', (size_t)(end - s->text));
    for (; at && at < end && n < OPERANDS_MAX; at++) {
        if (!strncmp(at, " -> ", 4) || !strncmp(at, " @", 2)) break;
        if (at[0] != 't' || at[1] < '0' || at[1] > '9' || (at[-1] != ' ' && at[-1] != ','))
            continue;
        id[n] = strtoull(at + 1, NULL, 10);
        n += n == 0 || id[n] != id[n - 1];
    }
    return n;
}

/* What is known of an operand: 1: its bits are equal in both runs; -1: they differ; 0: it has no
 * hash in one of them. Views are looked through. */
static int compare_operand(const DiffTape *const tape[2], const DiffPairs *p, uint64_t id,
                           int depth) {
    const DiffStep *a = diff_step(p->a, id), *b = NULL;
    uint64_t hash[2], of[OPERANDS_MAX];
    if (a && p->b_of[a - p->a->step] != DIFF_ALONE) b = &p->b->step[p->b_of[a - p->a->step]];
    if (!a || !b) return 0;
    int k = (int)(id - a->id);
    bool has_a = diff_hash(tape[0], p->a, a, k, &hash[0]);
    bool has_b = diff_hash(tape[1], p->b, b, k, &hash[1]);
    if (has_a && has_b) return hash[0] == hash[1] ? 1 : -1;
    if (has_a != has_b || depth == 8 || operands(a, of) != 1) return 0;
    return compare_operand(tape, p, of[0], depth + 1); /* perhaps a view */
}

/* True for a sum whose terms are not added up yet, in either run: tell_order speaks of it. */
static bool is_term(const DiffPairs *p, uint64_t id) {
    const DiffStep *a = diff_step(p->a, id);
    uint32_t other = a ? p->b_of[a - p->a->step] : DIFF_ALONE;
    if (other == DIFF_ALONE) return false;
    return a->got.state == DIFF_PARTIAL || p->b->step[other].got.state == DIFF_PARTIAL;
}

static void tell_operands(const DiffTape *const tape[2], const DiffPairs *p, const DiffStep *s,
                          Bytes *out) {
    uint64_t id[OPERANDS_MAX];
    int n = operands(s, id);
    Bytes same = {0}, unseen = {0};
    for (int i = 0; i < n; i++) {
        int is = is_term(p, id[i]) ? -1 : compare_operand(tape, p, id[i], 0);
        if (is > 0) bytes_printf(&same, " t%llu", (unsigned long long)id[i]);
        if (!is) bytes_printf(&unseen, " t%llu", (unsigned long long)id[i]);
    }
    if (same.n) bytes_printf(out, "  equal operands:%s\n", same.data);
    if (unseen.n)
        bytes_printf(out,
                     "  operands without a hash in both runs:%s; if one of them differs, the\n"
                     "  difference arises there or before\n",
                     unseen.data);
    bytes_fini(&same);
    bytes_fini(&unseen);
}

/* ---- Workers ---- */

typedef struct Rows {
    DiffRow row[WORKERS_SHOWN];
    int n, n_all, result;
} Rows;

static void add_row(void *ctx, const DiffRow *row) {
    Rows *r = ctx;
    if (r->n < WORKERS_SHOWN) r->row[r->n++] = *row;
    r->n_all++;
}

/* "  B  0f3a.. = w0 1234.. + w1 5678.." */
static void tell_run(const DiffTape *t, const DiffClient *c, const DiffStep *s, int run, int result,
                     Rows *r, Bytes *out) {
    const DiffHash *whole = diff_whole(t, c, s);
    bool adds = s->got.state == DIFF_PARTIAL;
    *r = (Rows){.result = result};
    diff_rows(t, c, s->id, add_row, r);
    bytes_printf(out, "  %s  ", name[run]);
    if (whole && (adds || r->n_all > 1))
        bytes_printf(out, "%016llx: ", (unsigned long long)whole->hash[result]);
    if (adds) bytes_printf(out, "%d terms, added up by a collective; ", r->n_all);
    if (s->got.state == DIFF_SPLIT) bytes_printf(out, "%d parts; ", r->n_all);
    if (s->got.state == DIFF_WHOLE && r->n_all > 1) bytes_printf(out, "%d copies; ", r->n_all);
    for (int i = 0; i < r->n; i++)
        bytes_printf(out, "%sw%u %016llx", i ? ", " : "", r->row[i].worker,
                     (unsigned long long)r->row[i].hash[result]);
    if (r->n < r->n_all) bytes_printf(out, ", and %d more", r->n_all - r->n);
    bytes_puts(out, "\n");
}

/* If both runs have the tensor in the same parts, says which worker's differs. */
static void tell_worker(const Rows *a, const Rows *b, Bytes *out) {
    if (a->n_all != b->n_all || a->n_all < 2 || a->n_all > WORKERS_SHOWN) return;
    int differing = 0, which = -1;
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++) {
            if (a->row[i].worker != b->row[k].worker) continue;
            if (a->row[i].state != b->row[k].state) return;
            if (a->row[i].hash[a->result] == b->row[k].hash[b->result]) continue;
            differing++, which = (int)a->row[i].worker;
        }
    if (differing == 1) bytes_printf(out, "  only what w%d has differs\n", which);
}

/* ---- The order of additions ---- */

/* Follows terms back to the instruction that made the first of them; NULL: s is no sum of terms. */
static const DiffStep *first_term(const DiffClient *c, const DiffStep *s) {
    uint64_t id[OPERANDS_MAX];
    if (s->got.state != DIFF_PARTIAL) return NULL;
    for (int hops = 0; hops < 1000; hops++) {
        int n = operands(s, id);
        const DiffStep *from = NULL;
        for (int i = 0; i < n && !from; i++) {
            const DiffStep *o = diff_step(c, id[i]);
            uint64_t of[OPERANDS_MAX];
            while (o && o->got.state == DIFF_NONE && operands(o, of) == 1) /* a view, perhaps */
                o = diff_step(c, of[0]);
            if (o && o->got.state == DIFF_PARTIAL) from = o;
        }
        if (!from) return s;
        s = from;
    }
    return s;
}

static void tell_order(const DiffPairs *p, const DiffStep *a, const DiffStep *b, Bytes *out) {
    const DiffStep *term[2] = {first_term(p->a, a), first_term(p->b, b)};
    if (!term[0] && !term[1]) return;
    int run = term[1] ? 1 : 0;
    uint16_t n = (run ? b : a)->got.n_rows;
    bytes_printf(out,
                 "  the order of additions differs: in %s, %u workers add up a term each in\n    ",
                 name[run], n);
    put_step(out, term[run]);
    if (term[!run])
        bytes_printf(out, "\n  and %u in %s; the terms are added after that\n",
                     (run ? a : b)->got.n_rows, name[!run]);
    else
        bytes_printf(out, "\n  and the terms are added after that; in %s there is one sum\n",
                     name[!run]);
}

/* ---- All of it ---- */

static void tell_counts(const DiffFound *f, bool ends, Bytes *out) {
    bytes_printf(out,
                 "%zu results%s have equal bits; %zu have no hash in both runs (views, what was "
                 "fused)\n",
                 f->n_same, ends ? " before it" : "", f->n_unseen);
}

void diff_tell(const DiffTape *const tape[2], const DiffPairs *p, const DiffFound *f, Bytes *out) {
    if (f->kind == DIFF_EQUAL) {
        bytes_puts(out, "no result differs\n");
        tell_counts(f, false, out);
        return;
    }
    const DiffStep *step[2] = {&p->a->step[f->at], &p->b->step[p->b_of[f->at]]};
    Rows rows[2];
    const DiffStep *first = step[f->kind == DIFF_COPIES ? f->run : 0];
    static const char *const what[] = {[DIFF_BITS] = "first difference",
                                       [DIFF_TYPE] = "first difference, of the type",
                                       [DIFF_COPIES] = "first difference, among copies in one run"};
    bytes_printf(out, "%s: ", what[f->kind]);
    put_step(out, first);
    bytes_puts(out, "\n");
    int n = line_length(step[0]->text);
    if (f->kind != DIFF_COPIES &&
        (n != line_length(step[1]->text) || memcmp(step[0]->text, step[1]->text, (size_t)n))) {
        bytes_puts(out, "  in B: ");
        put_step(out, step[1]);
        bytes_puts(out, "\n");
    }
    for (int run = 0; run < 2 && f->kind != DIFF_TYPE; run++)
        if (f->kind == DIFF_BITS || run == f->run)
            tell_run(tape[run], run ? p->b : p->a, step[run], run, f->result, &rows[run], out);
    if (f->kind == DIFF_BITS) {
        tell_worker(&rows[0], &rows[1], out);
        tell_operands(tape, p, step[0], out);
        tell_order(p, step[0], step[1], out);
    }
    tell_counts(f, true, out);
}

void diff_tell_gaps(const DiffPairs *p, Bytes *out) {
    for (size_t i = 0; i < p->n_gaps && i < GAPS_SHOWN; i++) {
        const DiffGap *g = &p->gap[i];
        size_t n[2] = {g->a_end - g->a_begin, g->b_end - g->b_begin};
        const DiffStep *first[2] = {&p->a->step[g->a_begin], &p->b->step[g->b_begin]};
        for (int run = 0; run < 2; run++) {
            if (!n[run]) continue;
            bytes_printf(out, "only in %s: %zu instruction%s, the first: ", name[run], n[run],
                         n[run] == 1 ? "" : "s");
            put_step(out, first[run]);
            bytes_puts(out, "\n");
        }
    }
    if (p->n_gaps > GAPS_SHOWN)
        bytes_printf(out, "%zu more places where one run has instructions that the other lacks\n",
                     p->n_gaps - GAPS_SHOWN);
    if (p->has_parted) bytes_puts(out, "from there on the runs have nothing in common\n");
}
