/* ops_test.c: every row of the op table on every engine: random types, layouts, immediates and
 * contents (worker/prove/case.h), `cpu` against `reference`, and `cpu` with one thread against
 * several, bit for bit. Data movement, integers and comparisons must agree exactly, and so must
 * floats where the operands are small integers and the op keeps them exact; other floats to the
 * tolerance of their dtype.
 *
 *   ops_test [SEED [OP]]
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "random.h"
#include "worker/prove/outcome.h"

enum { ROUNDS = 9, THREADS_MANY = 3, SHOWN = 8 };

typedef struct Bench {
    const EngineOps *ops;
    Engine *e;
    const char *name;
} Bench;

/* ---- Comparing ---- */

static int shown;

static void compare(const Case *c, const Outcome *got, const Outcome *want, Agree how,
                    const char *who) {
    Difference d;
    char text[600];
    bool same = outcome_agrees(c, got, want, how, &d);
    if (!same && shown++ < SHOWN)
        fprintf(stderr, "%s (seed %llu): %s: result %d: %s (%s)\n", op_info[c->inst.op].name,
                (unsigned long long)c->seed, who, d.k, d.text, case_text(c, text, sizeof text));
    check_that(same, __FILE__, __LINE__, "%s %s: engines differ", op_info[c->inst.op].name,
               dtype_info[c->dtype].name);
}

/* ---- All rows ---- */

static bool test_case(Op op, DType d, Style style, uint64_t seed, const Bench *bench, int n) {
    Case c;
    if (!case_draw(&c, op, d, style, seed)) return false;
    Outcome want, got[4];
    outcome_run(&c, bench[0].e, false, &want);
    check_that(want.result == 1, __FILE__, __LINE__, "%s: %s", op_info[op].name, want.err.text);
    for (int b = 1; b < n; b++) {
        Agree how = b == 1 ? AGREE_NEAR : strcmp(bench[b].name, "cuda") ? AGREE_BITS : AGREE_DEVICE;
        outcome_run(&c, bench[b].e, false, &got[b]);
        compare(&c, &got[b], b == 1 ? &want : &got[1], how, bench[b].name);
        if (case_may_be_in_place(&c)) {
            Outcome again;
            outcome_run(&c, bench[b].e, true, &again);
            compare(&c, &again, &got[b], AGREE_BITS, "in place");
            outcome_free(&again);
        }
    }
    outcome_free(&want);
    for (int b = 1; b < n; b++) outcome_free(&got[b]);
    case_free(&c);
    return true;
}

/* Inference refuses some dtypes of sources; those draws are dropped. GT_TEST_EVERY=N: only one draw
 * in N is made, for an engine that compiles a kernel for each. */
static void test_row(Op op, uint64_t seed, const Bench *bench, int n) {
    static const Style styles[] = {STYLE_MIXED, STYLE_WHOLE, STYLE_SPECIAL};
    const char *text = getenv("GT_TEST_EVERY");
    uint64_t every = text && atoi(text) > 1 ? (uint64_t)atoi(text) : 1, draw = seed + op;
    int cases = 0;
    for (int d = 0; d < DT_COUNT; d++) {
        if (!(op_info[op].in & DSET(d))) continue;
        for (int r = 0; r < rand_rounds(ROUNDS); r++) {
            Style style = styles[r % 3];
            if (draw++ % every) continue;
            if (style == STYLE_SPECIAL && op_has(op, FACT_ADDS)) style = STYLE_WHOLE;
            cases += test_case(op, (DType)d, style,
                               seed + (uint64_t)op * 1000003u + (uint64_t)d * 10007u + (uint64_t)r,
                               bench, n);
        }
    }
    CHECK_MSG(cases >= ROUNDS || every > 1, "%s: only %d cases", op_info[op].name, cases);
}

/* An index out of range is the same error on every engine: also -1 where negative indices are not
 * allowed (in index and index_put only with from_zero). The position is that in the whole, of which
 * the operand may be a part. */
static void test_bad_index(const Bench *b) {
    static const Op ops[] = {OP_INDEX, OP_INDEX_PUT, OP_GATHER, OP_SCATTER_ADD};
    static const int64_t values[] = {-11, -1, 10};
    for (int k = 0; k < 4; k++) {
        for (int w = 0; w < 3; w++) {
            int64_t bad = values[w];
            Case c;
            Outcome o;
            case_make_bad_index(&c, ops[k], bad);
            outcome_run(&c, b->e, false, &o);
            CHECK_INT(o.result, -1);
            CHECK_INT(o.err.code, ERR_INDEX);
            char text[80];
            snprintf(text, sizeof text,
                     "index %d at position 8 is out of range for axis 0 of size 10", (int)bad);
            CHECK_STR(o.err.text, text);
            CHECK_INT(o.err.at, 8);
            outcome_free(&o);
            case_free(&c);
        }
    }
}

static Bench open_bench(const char *name, int threads) {
    Err err = {0};
    Bench b = {.ops = engine_find(name), .name = name};
    CHECK_MSG(b.ops != NULL, "there is no engine %s", name);
    if (!b.ops) exit(check_report("ops"));
    b.e = b.ops->open(&(EngineConfig){.memory_bytes = 256 << 20, .threads = threads}, &err);
    CHECK_MSG(b.e != NULL, "%s", err.text);
    return b;
}

int main(int argc, char **argv) {
    uint64_t seed = rand_seed(argc, argv);
    Bench bench[] = {
        open_bench("reference", 1), open_bench("cpu", 1), open_bench("cpu", THREADS_MANY), {0}};
    int n = 3;
    if (getenv("GT_TEST_ENGINE")) bench[n++] = open_bench(getenv("GT_TEST_ENGINE"), 1);
    bench[2].name = "cpu with threads";
    int rows = 0;
    for (int op = 0; op < OP_COUNT; op++) {
        if (!case_has((Op)op)) continue;
        if (argc > 2 && strcmp(argv[2], op_info[op].name)) continue;
        int before = check_failed;
        test_row((Op)op, seed, bench, n);
        if (check_failed > before)
            fprintf(stderr, "%s: %d failed\n", op_info[op].name, check_failed - before);
        rows++;
    }
    for (int b = 0; b < n; b++) {
        test_bad_index(&bench[b]);
        uint64_t used, peak, total;
        bench[b].ops->memory(bench[b].e, &used, &peak, &total);
        CHECK_INT(used, 0);
        bench[b].ops->close(&bench[b].e);
    }
    printf("%d rows\n", rows);
    return check_report("ops");
}
