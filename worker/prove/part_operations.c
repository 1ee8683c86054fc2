/* part_operations.c: every row of ops.def on the engine, with every dtype that the row takes:
 * random shapes, views, attributes, immediates and contents (case.h), against the oracle; and in
 * place, where a result may take its operand's memory.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/part.h"

typedef struct Done {
    unsigned rows, pairs, cases; /* pairs: of a row and a dtype */
} Done;

static void check(Part *p, const Case *c, const Outcome *got, const Outcome *want, Agree agree,
                  const char *how) {
    Difference d;
    bool same = outcome_agrees(c, got, want, agree, &d);
    part_share(p, d.share, c->inst.op, c->dtype);
    if (!same) part_fail(p, "%s%s", how, d.text);
}

/* Returns false if the part is to end; *made: the draw is one that engines get. */
static bool prove_case(Part *p, Op op, DType d, Style style, uint64_t seed, bool *made) {
    Case c;
    Outcome got, want, again;
    char text[320];
    *made = case_draw(&c, op, d, style, seed);
    if (!*made) return true;
    bool goes_on = part_begin(p, "%s of %s (seed %llu): %s", op_info[op].name, dtype_info[d].name,
                              (unsigned long long)seed, case_text(&c, text, sizeof text));
    if (goes_on) {
        outcome_run(&c, p->oracle, false, &want);
        outcome_run(&c, p->e, false, &got);
        check(p, &c, &got, &want, p->config->agree, "");
        if (case_may_be_in_place(&c)) {
            outcome_run(&c, p->e, true, &again);
            check(p, &c, &again, &got, AGREE_BITS, "in place: ");
            outcome_free(&again);
        }
        outcome_free(&got);
        outcome_free(&want);
    }
    case_free(&c);
    return goes_on;
}

/* Writes the dtypes of a row that are proved: all, or, if it is quick, one in three, which another
 * seed moves on. Returns how many. */
static int choose_dtypes(const Part *p, Op op, DType *out) {
    enum { QUICK_EVERY = 3 };
    int n = 0, kept = 0, every = p->config->is_quick ? QUICK_EVERY : 1;
    for (int d = 0; d < DT_COUNT; d++)
        if (op_info[op].in & DSET(d)) out[n++] = (DType)d;
    if (every > n) every = n;
    for (int k = 0; k < n; k++)
        if (((uint64_t)op + (uint64_t)k + p->config->seed) % (uint64_t)every == 0)
            out[kept++] = out[k];
    return kept;
}

enum { QUICK_ROUNDS = 1, ROUNDS = 4, TRIES = 16 /* draws for a round; some are none */ };

static bool prove_row(Part *p, Op op, Done *done) {
    static const Style styles[] = {STYLE_MIXED, STYLE_SPECIAL, STYLE_WHOLE, STYLE_MIXED};
    DType dtype[DT_COUNT];
    int n = choose_dtypes(p, op, dtype), rounds = part_rounds(p, QUICK_ROUNDS, ROUNDS);
    unsigned before_row = done->cases;
    for (int k = 0; k < n; k++) {
        unsigned before = done->cases;
        for (int r = 0, tries = 0; r < rounds && tries < TRIES; tries++) {
            Style style = styles[(r + (rounds == 1 ? (int)op + k : 0)) % ROUNDS];
            bool made;
            if (style == STYLE_SPECIAL && op_has(op, FACT_ADDS)) style = STYLE_WHOLE;
            uint64_t seed = p->config->seed * 7919 + (uint64_t)op * 1000003u +
                            (uint64_t)dtype[k] * 10007u + (uint64_t)tries;
            if (!prove_case(p, op, dtype[k], style, seed, &made)) return false;
            r += made, done->cases += made;
        }
        done->pairs += done->cases > before;
    }
    done->rows += done->cases > before_row;
    return true;
}

void part_operations(Part *p) {
    Done done = {0};
    DType dtype[DT_COUNT];
    for (int op = 0; op < OP_COUNT; op++)
        if (case_has((Op)op))
            p->tally->all +=
                (uint64_t)(choose_dtypes(p, (Op)op, dtype) * part_rounds(p, QUICK_ROUNDS, ROUNDS));
    if (!(p->e = part_open(p, p->config->ops, 0))) return;
    if (!(p->oracle = part_open(p, p->config->oracle, 0))) return;
    for (int op = 0; op < OP_COUNT; op++)
        if (case_has((Op)op) && !prove_row(p, (Op)op, &done)) break;
    part_close(p, &p->e);
    part_close(p, &p->oracle);
    part_done(p, "%u cases of %u operations (%u with their dtypes)", done.cases, done.rows,
              done.pairs);
}
