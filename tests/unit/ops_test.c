/* ops_test.c: every row of the op table on every engine: random types, layouts, immediates and
 * contents (ops_sample.h), `cpu` against `reference`, and `cpu` with one thread against several,
 * bit for bit. Data movement, integers and comparisons must agree exactly, and so must floats where
 * the operands are small integers and the op keeps them exact; other floats to the tolerance of
 * their dtype.
 *
 *   ops_test [SEED [OP]]
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "random.h"
#include "ops_sample.h"
#include "worker/engine/view.h"

enum { ROUNDS = 9, THREADS_MANY = 3, SHOWN = 8, LARGEST = 32 << 20 };

typedef struct Bench {
    const EngineOps *ops;
    Engine *e;
    const char *name;
} Bench;
typedef struct Outcome {
    int result; /* done's */
    Err err;
    char *out[MAX_OUT]; /* row-major */
} Outcome;

/* ---- One case on one engine ---- */

static void set_scalar(View *v, DType d, const Operand *o, void *room) {
    *v = (View){.type = {.dtype = (uint8_t)d}, .is_scalar = true, .data = room};
    if (o->kind == IN_IMM_FLOAT)
        ref_set_float(v, 0, o->f);
    else
        ref_set_int(v, 0, o->kind == IN_IMM_BOOL ? o->b : o->i);
}

/* For ordered engines: by the time that a mark is done, host memory is written, and a failure that
 * depends on values is known. */
static void wait_for(const Bench *b, Outcome *o) {
    Ticket failed, t;
    int node;
    if (!b->ops->is_ordered) return;
    t = b->ops->mark(b->e);
    while (!b->ops->done(b->e, t, true, NULL)) {}
    while (b->ops->failed(b->e, &failed, &node, &o->err)) o->result = -1;
}
static void run_case(const Case *c, const Bench *b, bool in_place, Outcome *o) {
    View in[ARGS];
    double room[ARGS];
    void *base[ARGS] = {0};
    *o = (Outcome){0};
    OpClass class_ = op_info[c->inst.op].class_;
    for (int i = 0; i < c->inst.n_in; i++) {
        const Arg *a = &c->arg[i];
        if (a->is_imm) {
            bool is_real = dtype_is_float((DType)c->out[0].dtype) && c->inst.op != OP_RANDINT;
            DType d = class_ == CLASS_MAP ? c->dtype : is_real ? DT_F64 : DT_I64;
            if (dtype_is_half(d)) d = DT_F32;
            set_scalar(&in[i], d, &c->in[i], &room[i]);
            continue;
        }
        base[i] = b->ops->alloc(b->e, a->base_bytes);
        b->ops->copy_in(b->e, base[i], a->base, a->base_bytes);
        in[i] = a->view;
        in[i].data = (char *)base[i] + a->offset * dtype_info[a->view.type.dtype].size_bytes;
    }
    int model = class_ == CLASS_SOURCE && c->inst.n_in > 0 && c->in[0].kind == IN_TENSOR;
    Call call = {
        .inst = &c->inst, .n_in = c->inst.n_in - model, .n_out = c->inst.n_out, .in = in + model};
    for (int k = 0; k < call.n_out; k++) {
        View *v = &call.out[k];
        v->type = c->out[k];
        view_strides(&v->type, v->stride);
        v->data = in_place ? in[0].data : b->ops->alloc(b->e, type_bytes(&v->type));
    }
    View view;
    if (class_ == CLASS_VIEW && view_apply(&c->inst, &in[0], &c->out[0], &view)) {
        o->result = 1;
        o->out[0] = xmalloc(type_bytes(&c->out[0]));
        b->ops->copy_out(b->e, o->out[0], &view);
        wait_for(b, o);
        if (c->inst.op == OP_RESHAPE) { /* the copy must give the same */
            Ticket t = b->ops->submit(b->e, &call, NULL, 0);
            b->ops->done(b->e, t, true, &o->err);
            char *copy = xmalloc(type_bytes(&c->out[0]));
            b->ops->copy_out(b->e, copy, &call.out[0]);
            wait_for(b, o);
            CHECK(!memcmp(copy, o->out[0], type_bytes(&c->out[0])));
            free(copy);
        }
    } else {
        Ticket t = b->ops->submit(b->e, &call, NULL, 0);
        o->result = b->ops->done(b->e, t, true, &o->err);
        for (int k = 0; k < call.n_out; k++) {
            o->out[k] = xmalloc(type_bytes(&c->out[k]));
            b->ops->copy_out(b->e, o->out[k], &call.out[k]);
        }
        wait_for(b, o);
    }
    for (int k = 0; k < call.n_out && !in_place; k++)
        b->ops->free(b->e, call.out[k].data, type_bytes(&c->out[k]));
    for (int i = 0; i < c->inst.n_in; i++)
        if (base[i]) b->ops->free(b->e, base[i], c->arg[i].base_bytes);
}
static void outcome_free(Outcome *o) {
    for (int k = 0; k < MAX_OUT; k++) free(o->out[k]);
}

/* ---- Comparing ---- */

static int shown;

static void describe(const Case *c, uint64_t seed, const char *what) {
    if (shown++ >= SHOWN) return;
    fprintf(stderr, "%s (seed %llu): %s(", op_info[c->inst.op].name, (unsigned long long)seed,
            what);
    for (int i = 0; i < c->inst.n_in; i++) {
        char text[256];
        if (c->arg[i].is_imm) {
            fprintf(stderr, "%simm", i ? ", " : "");
            continue;
        }
        fprintf(stderr, "%s%s strides", i ? ", " : "", type_text(&c->type[i], text));
        for (int d = 0; d < c->type[i].rank; d++)
            fprintf(stderr, " %lld", (long long)c->arg[i].view.stride[d]);
    }
    fprintf(stderr, ")");
    for (int i = 0; i < c->inst.n_attr; i++) {
        fprintf(stderr, " %s=", attr_info[c->attr[i].key].name);
        if (attr_info[c->attr[i].key].type == AT_INTS)
            for (uint32_t k = 0; k < c->attr[i].n; k++)
                fprintf(stderr, "%lld,", (long long)c->attr[i].ints[k]);
        else if (attr_info[c->attr[i].key].type == AT_DTYPE)
            fprintf(stderr, "%s", dtype_info[c->attr[i].dtype].text);
        else
            fprintf(stderr, "%lld",
                    (long long)(attr_info[c->attr[i].key].type == AT_BOOL ? c->attr[i].b
                                                                          : c->attr[i].i));
    }
    fprintf(stderr, "\n");
}

/* Sums of small integers are exact: no order of summation may change them. */
static bool keeps_whole(Op op) {
    switch (op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_SUM:
    case OP_MATMUL:
    case OP_CUMSUM:
    case OP_SCATTER_ADD:
    case OP_CONV:
    case OP_CONV_DX:
    case OP_CONV_DW:
    case OP_INDEX_PUT:
    case OP_MAX:
    case OP_MIN:
    case OP_MAXIMUM:
    case OP_MINIMUM:
    case OP_NEG:
    case OP_ABS:
    case OP_SQUARE:
    case OP_RELU:
    case OP_WHERE:
    case OP_FLOORDIV:
    case OP_MOD:
    case OP_FMOD:
    case OP_TRUNC:
    case OP_FLOOR:
    case OP_CEIL:
    case OP_ROUND:
    case OP_SIGN: return true;
    default: return false;
    }
}

static bool is_near(double x, double y, DType d, double terms) {
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (x == y) return true;
    if (isinf(x) || isinf(y)) return false;
    double eps = d == DT_F64 ? 0x1p-52 : 0x1p-23;
    double rtol = eps * (16 + terms), atol = eps * (8 + 40 * terms);
    /* Nearly equal values may round to neighbours. */
    if (d == DT_F16) rtol += 0x1p-10, atol += 0x1p-24;
    if (d == DT_BF16) rtol += 0x1p-7;
    return fabs(x - y) <= atol + rtol * fabs(y);
}

/* Functions of float64 that libraries compute: to 8 ulp, or 8 ulp of 1. (lgamma has zeros; CUDA
 * states 4 ulp for it, and more for some negative numbers.) */
static bool is_of_library(Op op, DType d) {
    bool is_gamma = op == OP_LGAMMA || op == OP_DIGAMMA || op == OP_POLYGAMMA;
    return d == DT_F64 && (is_gamma || op == OP_RANDN);
}
static bool is_close(double x, double y) { return fabs(x - y) <= 0x1p-49 * fmax(fabs(y), 1); }

static void compare(const Case *c, const Outcome *got, const Outcome *want, bool bitwise,
                    uint64_t seed, const char *who) {
    CHECK_MSG(got->result == want->result, "%s: %s gives %d (%s), not %d (%s)",
              op_info[c->inst.op].name, who, got->result, got->err.text, want->result,
              want->err.text);
    bool is_cuda = !strcmp(who, "cuda");
    if (got->result != 1 || want->result != 1) return;
    for (int k = 0; k < c->inst.n_out; k++) {
        DType d = (DType)c->out[k].dtype;
        View a = {.type = {.dtype = (uint8_t)d}, .data = got->out[k]},
             b = {.type = {.dtype = (uint8_t)d}, .data = want->out[k]};
        bool exact = bitwise || !dtype_is_float(d) || c->is_exact ||
                     (c->style == WHOLE && keeps_whole(c->inst.op));
        int64_t n = type_numel(&c->out[k]), bad = -1;
        for (int64_t i = 0; i < n && bad < 0; i++) {
            size_t size = (size_t)dtype_info[d].size_bytes;
            if (!memcmp((char *)a.data + (size_t)i * size, (char *)b.data + (size_t)i * size, size))
                continue;
            double x = ref_float(&a, i), y = ref_float(&b, i);
            if (is_cuda && is_of_library(c->inst.op, d) && is_close(x, y)) continue;
            if (exact && (!dtype_is_float(d) || x != y) && !(isnan(x) && isnan(y))) bad = i;
            if (!exact && !is_near(x, y, d, c->terms)) bad = i;
        }
        if (bad >= 0) {
            char what[256];
            snprintf(what, sizeof what,
                     "%s gives %.17g, not %.17g, at element %lld of %lld of result %d", who,
                     ref_float(&a, bad), ref_float(&b, bad), (long long)bad, (long long)n, k);
            describe(c, seed, what);
        }
        check_that(bad < 0, __FILE__, __LINE__, "%s %s: engines differ", op_info[c->inst.op].name,
                   dtype_info[d].name);
    }
}

/* ---- All rows ---- */

static bool may_be_in_place(const Case *c) {
    const Arg *a = &c->arg[0];
    return op_info[c->inst.op].class_ == CLASS_MAP && !a->is_imm &&
           type_equal(&a->view.type, &c->out[0]) && a->offset == 0 &&
           a->base_bytes == type_bytes(&c->out[0]) && view_is_contiguous(&a->view);
}

static bool test_case(Op op, DType d, Style style, uint64_t seed, const Bench *bench, int n) {
    rng_state = seed * 0x9E3779B97F4A7C15u | 1;
    for (int i = 0; i < 8; i++) pick(2);
    Case c;
    case_make(&c, op, d, style);
    int n_out;
    Err err = {0};
    if (!inst_infer(&c.inst, c.type, c.out, &n_out, &err)) {
        /* Some draws are invalid (max of nothing, -1 as u8): inference refuses them, and engines
         * never get them. */
        case_free(&c);
        return false;
    }
    bool is_large = type_bytes(&c.out[0]) > LARGEST;
    for (int i = 0; i < c.inst.n_in; i++) is_large |= c.arg[i].base_bytes > LARGEST;
    if (is_large) { /* a draw that is too large for every engine */
        case_free(&c);
        return false;
    }
    CHECK_INT(n_out, c.inst.n_out);
    Outcome want, got[4];
    run_case(&c, &bench[0], false, &want);
    check_that(want.result == 1, __FILE__, __LINE__, "%s: %s", op_info[op].name, want.err.text);
    for (int b = 1; b < n; b++) {
        run_case(&c, &bench[b], false, &got[b]);
        compare(&c, &got[b], b == 1 ? &want : &got[1], b > 1, seed, bench[b].name);
        if (may_be_in_place(&c)) {
            Outcome again;
            run_case(&c, &bench[b], true, &again);
            compare(&c, &again, &got[b], true, seed, "in place");
            outcome_free(&again);
        }
    }
    outcome_free(&want);
    for (int b = 1; b < n; b++) outcome_free(&got[b]);
    case_free(&c);
    return true;
}

/* With infinities and huge numbers, sums depend on their order. */
static bool adds_up(Op op) {
    switch (op) {
    case OP_SUM:
    case OP_PROD:
    case OP_MATMUL:
    case OP_CUMSUM:
    case OP_SCATTER_ADD:
    case OP_SCATTER_REDUCE:
    case OP_RECURRENCE:
    case OP_CONV:
    case OP_CONV_DX:
    case OP_CONV_DW:
    case OP_AVG_POOL:
    case OP_AVG_POOL_DX:
    case OP_INDEX_PUT: return true;
    default: return false;
    }
}

/* Inference refuses some dtypes of sources; those draws are dropped. GT_TEST_EVERY=N: only one draw
 * in N is made, for an engine that compiles a kernel for each. */
static void test_row(Op op, uint64_t seed, const Bench *bench, int n) {
    static const Style styles[] = {MIXED, WHOLE, SPECIAL};
    const char *text = getenv("GT_TEST_EVERY");
    uint64_t every = text && atoi(text) > 1 ? (uint64_t)atoi(text) : 1, draw = seed + op;
    int cases = 0;
    for (int d = 0; d < DT_COUNT; d++) {
        if (!(op_info[op].in & DSET(d))) continue;
        for (int r = 0; r < rand_rounds(ROUNDS); r++) {
            Style style = styles[r % 3];
            if (draw++ % every) continue;
            if (style == SPECIAL && adds_up(op)) style = WHOLE;
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
            Case c = {.terms = 1, .dtype = DT_F32};
            c.inst = (Inst){.op = ops[k], .n_out = 1, .in = c.in, .attr = c.attr};
            rng_state = 12345;
            add_int(&c, ATTR_AXIS, 0);
            if (k < 2 && bad == -1) add_attr(&c, (Attr){.key = ATTR_FROM_ZERO, .n = 1, .b = true});
            TensorType x = {.dtype = DT_F32, .rank = 1, .shape = {10}},
                       i = {.dtype = DT_I64, .rank = 1, .shape = {3}};
            TensorType v = {.dtype = DT_F32, .rank = 1, .shape = {3}};
            add_tensor(&c, x, WHOLE);
            if (ops[k] == OP_INDEX_PUT) add_tensor(&c, v, WHOLE);
            Arg *a = add_tensor(&c, i, INDEX);
            make_indices(a, 10, true);
            if (ops[k] == OP_SCATTER_ADD) add_tensor(&c, v, WHOLE);
            int64_t *at = (int64_t *)a->base + a->offset + 2 * a->view.stride[0];
            *at = bad;
            a->view.part_begin = 6, a->view.whole_size = 12;
            int n_out;
            Err err = {0};
            Outcome o;
            CHECK_MSG(inst_infer(&c.inst, c.type, c.out, &n_out, &err), "%s", err.text);
            run_case(&c, b, false, &o);
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
        if (!samplers[op] || op == OP_DATA) continue;
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
