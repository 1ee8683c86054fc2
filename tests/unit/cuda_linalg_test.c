/* cuda_linalg_test: factorizations and linear systems on the engine cuda, on the emulated device of
 * tests/gpu, have the bits and the errors of the engine cpu: orders around those of the blocks,
 * batches of more matrices than thread blocks run at a time, any layout, matrices that are
 * singular, not positive definite or not finite, little memory; and the factors multiply to the
 * matrix.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/cuda_twin.h"
#include "worker/prove/case.h"
#include "worker/prove/outcome.h"

/* What the elements of matrices are. */
typedef enum Matter {
    PLAIN,
    POSITIVE,  /* definite */
    DEFICIENT, /* of rank 1, of whole numbers */
    EQUAL      /* the unit matrix, times 3 */
} Matter;

static double element(Matter kind, int64_t matrix, int64_t i, int64_t j, int64_t n) {
    if (kind == DEFICIENT) return (double)((i % 5 - 2) * (j % 3 - 1) * (1 + matrix % 3));
    if (kind == EQUAL) return i == j ? 3 : 0;
    return unit() + (kind == POSITIVE && i == j ? (double)n : 0);
}

static int64_t offset_of(const CaseArg *a, int64_t matrix, int64_t i, int64_t j) {
    const View *v = &a->view;
    int r = v->type.rank;
    int64_t at = a->offset + i * v->stride[r - 2] + j * v->stride[r - 1];
    for (int d = r - 3; d >= 0; d--) {
        at += matrix % v->type.shape[d] * v->stride[d];
        matrix /= v->type.shape[d];
    }
    return at;
}

static bool is_plain; /* operands are row-major, with nothing beside them */

/* Adds an operand of some layout, in which no element is another one too. */
static CaseArg *add_some(Case *c, TensorType t, Style style) {
    for (;;) {
        CaseArg *a = case_add_tensor(c, t, style);
        bool is_whole_memory = view_is_contiguous(&a->view) && a->base_bytes == type_bytes(&t);
        bool is_fit = !is_plain || is_whole_memory;
        for (int d = 0; d < t.rank; d++) is_fit &= a->view.stride[d] != 0;
        if (is_fit) return a;
        free(a->base);
        c->inst.n_in--;
    }
}
/* (batch, m, n) */
static CaseArg *add(Case *c, DType d, int64_t batch, int64_t m, int64_t n, Matter matter) {
    CaseArg *a = add_some(c, (TensorType){(uint8_t)d, 3, {batch, m, n}}, STYLE_MIXED);
    for (int64_t k = 0; k < batch; k++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                case_set(a, offset_of(a, k, i, j), element(matter, k, i, j, n));
    return a;
}
static void add_perm(Case *c, int64_t batch, int64_t n, int64_t by) {
    CaseArg *a = add_some(c, (TensorType){DT_I64, 2, {batch, n}}, STYLE_INDEX);
    for (int64_t k = 0; k < batch; k++)
        for (int64_t i = 0; i < n; i++)
            case_set(a, a->offset + k * a->view.stride[0] + i * a->view.stride[1],
                     (double)((i + k + by) % n));
}
static void add_flag(Case *c, AttrKey key, bool value) {
    case_add_attr(c, (Attr){.key = (uint8_t)key, .b = value});
}

/* Both engines compute c, the same. *got: what cuda gave, the caller's. */
static void compare(Case *c, Outcome *got) {
    Outcome want;
    Difference diff;
    Err err = {0};
    char text[320];
    int n_out;
    case_text(c, text, sizeof text);
    CHECK_MSG(inst_infer(&c->inst, c->type, c->out, &n_out, &err), "%s: %s", text, err.text);
    outcome_run(c, cpu, false, &want);
    gpu.emu_clear_counters();
    outcome_run(c, cuda, false, got);
    CHECK_MSG(outcome_agrees(c, got, &want, AGREE_BITS, &diff), "%s: %s: %s",
              op_info[c->inst.op].name, text, diff.text);
    CHECK_STR(got->err.text, want.err.text);
    CHECK_STR(got->err.hint, want.err.hint);
    outcome_free(&want);
    if (!getenv("GT_TEST_COUNTERS")) return;
    Counters n;
    gpu.emu_counters(&n);
    printf("%s %s: %llu instructions of threads, %llu sectors, %.2f of ideal\n",
           op_info[c->inst.op].name, text, (unsigned long long)n.threads,
           (unsigned long long)(n.load_sectors + n.store_sectors),
           32 * (double)(n.load_sectors + n.store_sectors) /
               (double)(n.load_bytes + n.store_bytes));
}
static void check(Case *c) {
    Outcome got;
    compare(c, &got);
    outcome_free(&got);
    case_free(c);
}

static uint64_t draw = 1;
static Case *begin(Case *c, Op op, DType d) {
    case_begin(c, op, d, draw++);
    return c;
}

/* ---- Systems ---- */

static void try_factor(Op op, DType d, int64_t batch, int64_t n, Matter kind) {
    Case c;
    add(begin(&c, op, d), d, batch, n, n, kind);
    check(&c);
}
static void try_triangle(DType d, int64_t batch, int64_t n, int64_t k, bool upper, bool is_unit) {
    Case c;
    begin(&c, OP_SOLVE_TRIANGULAR, d);
    add_flag(&c, ATTR_UPPER, upper), add_flag(&c, ATTR_UNIT, is_unit);
    add(&c, d, k % 2 ? 1 : batch, n, n, POSITIVE), add(&c, d, batch, n, k, PLAIN);
    check(&c);
}
static void try_solve(DType d, int64_t batch, int64_t n, int64_t k, bool transposed) {
    Case c;
    begin(&c, OP_SOLVE, d);
    add_flag(&c, ATTR_TRANSPOSED, transposed);
    add(&c, d, batch, n, n, PLAIN), add(&c, d, batch, n, k, PLAIN);
    add(&c, d, batch, n, n, POSITIVE), add_perm(&c, batch, n, 1);
    check(&c);
}

static void test_systems(DType d) {
    static const int64_t order[] = {1, 2, 16, 17, 32, 33, 65, 130, 200};
    int n = sizeof order / sizeof *order;
    for (int k = 0; k < n; k++) {
        int64_t batch = order[k] > 40 ? 1 : 3;
        try_factor(OP_CHOLESKY, d, batch, order[k], POSITIVE);
        try_factor(OP_LU, d, batch, order[k], k % 4 == 3 ? DEFICIENT : PLAIN);
        try_triangle(d, batch, order[k], k % 3 ? 1 + 3 * k : 130, k % 2, k % 4 > 1);
        try_solve(d, batch, order[k], k % 3 ? 1 : 67, k % 2);
    }
    try_triangle(d, 2, 40, 5, true, true), try_solve(d, 2, 40, 5, true);
    try_factor(OP_LU, d, 1, 20, EQUAL);
}
/* More than thread blocks run at a time. */
static void test_batches(DType d) {
    try_factor(OP_CHOLESKY, d, 700, 4, POSITIVE);
    try_factor(OP_LU, d, 100, 3, PLAIN);
    try_triangle(d, 100, 5, 2, false, false), try_triangle(d, 30, 4, 130, true, false);
    try_solve(d, 100, 3, 1, false);
    for (int k = 0; k < 2; k++) {
        try_factor(OP_CHOLESKY, d, k ? 0 : 3, k ? 4 : 0, POSITIVE);
        try_factor(OP_LU, d, k ? 0 : 3, k ? 4 : 0, PLAIN);
    }
    try_triangle(d, 2, 3, 0, true, false);
}

static void try_rectangle(Op op, DType d, int64_t batch, int64_t m, int64_t n, Matter matter) {
    Case c;
    add(begin(&c, op, d), d, batch, m, n, matter);
    check(&c);
}
/* Small and large matrices: a thread block each, or many. */
static void test_factors(DType d) {
    static const int64_t order[] = {1, 2, 3, 8, 9, 20, 33, 66};
    int n = sizeof order / sizeof *order;
    for (int k = 0; k < n; k++) {
        if (d == DT_F32 && k % 3 != 1) continue; /* all compute in float64 */
        int64_t batch = order[k] > 40 ? 1 : 2, more = order[k] + (k % 3 ? 5 * k : 0);
        for (int matter = PLAIN; matter <= EQUAL; matter++) {
            if (order[k] > 10 && matter != (k % 2 ? PLAIN : DEFICIENT)) continue;
            try_rectangle(OP_QR, d, batch, more, order[k], (Matter)matter);
            try_factor(OP_EIGH, d, batch, order[k], (Matter)matter);
            try_rectangle(OP_SVD, d, batch, more, order[k], (Matter)matter);
            try_rectangle(OP_SVD, d, batch, order[k], more, (Matter)matter);
        }
    }
    try_rectangle(OP_SVD, d, 1, 300, 14, PLAIN);
    try_rectangle(OP_QR, d, 100, 4, 2, PLAIN), try_factor(OP_EIGH, d, 100, 3, PLAIN);
    try_rectangle(OP_SVD, d, 100, 2, 3, PLAIN), try_rectangle(OP_QR, d, 9, 66, 65, PLAIN);
    for (int k = 0; k < 2; k++) {
        try_rectangle(OP_QR, d, k ? 0 : 3, 4, k ? 4 : 0, PLAIN);
        try_factor(OP_EIGH, d, k ? 0 : 3, k ? 4 : 0, PLAIN);
        try_rectangle(OP_SVD, d, k ? 0 : 3, k ? 4 : 0, 4, PLAIN);
    }
}

/* ---- Matrices that are no good ---- */

/* Element (i, j) of matrix k becomes x. */
static void spoil(Case *c, int arg, int64_t k, int64_t i, int64_t j, double x) {
    case_set(&c->arg[arg], offset_of(&c->arg[arg], k, i, j), x);
}

static void test_failures(DType d) {
    Case c;
    for (int k = 0; k < 3; k++) { /* the first matrix, and in it the first pivot */
        add(begin(&c, OP_CHOLESKY, d), d, 4, 50, 50, POSITIVE);
        spoil(&c, 0, 2, 40, 40, k == 0 ? -1 : k == 1 ? NAN : 0);
        spoil(&c, 0, 2, 41, 41, -1), spoil(&c, 0, 3, 7, 7, -1);
        check(&c);
    }
    try_factor(OP_CHOLESKY, d, 1, 3, DEFICIENT);
    for (int k = 0; k < 4; k++) {
        begin(&c, OP_SOLVE, d);
        add_flag(&c, ATTR_TRANSPOSED, k == 3);
        add(&c, d, 3, 40, 40, PLAIN), add(&c, d, 3, 40, 2, PLAIN);
        add(&c, d, 3, 40, 40, POSITIVE), add_perm(&c, 3, 40, 0);
        if (k != 1) spoil(&c, 2, 2, 4, 4, 0), spoil(&c, 2, 1, 37, 37, 0);
        if (k) { /* first comes a row that is taken twice, or is none */
            CaseArg *a = &c.arg[3];
            case_set(a, a->offset + 2 * a->view.stride[0] + 5 * a->view.stride[1], k == 2 ? 40 : 1);
        }
        check(&c);
    }
    for (int k = 0; k < 3; k++) {
        add(begin(&c, OP_LU, d), d, 2, 20, 20, PLAIN);
        spoil(&c, 0, 1, k == 2 ? 18 : 0, k, k ? NAN : INFINITY);
        check(&c);
    }
}

/* Elements that are not finite, huge ones, and numbers whose squares underflow. */
static void test_extremes(DType d) {
    static const double x[] = {NAN, INFINITY, 3e38, 1e-44, 1e-38};
    static const uint8_t ops[] = {OP_QR, OP_EIGH, OP_SVD};
    for (int op = 0; op < 3; op++)
        for (int k = 0; k < 8; k++) {
            Case c;
            add(begin(&c, (Op)ops[op], d), d, 2, 9, 9, k % 2 ? DEFICIENT : PLAIN);
            for (int i = 0; i < 9; i++)
                for (int j = 0; j < 9; j++) {
                    double scale = k == 5   ? 1e-44
                                   : k == 6 ? pow(2, -14.0 * i)
                                   : k == 7 ? pow(2, -100 * (i % 2))
                                            : 1;
                    if (scale != 1) spoil(&c, 0, 1, i, j, unit() * scale);
                }
            if (k < 5) spoil(&c, 0, 1, 4, 3, x[k]);
            check(&c);
        }
    if (d != DT_F64) return;
    for (int op = 0; op < 3; op++) {
        Case c;
        add(begin(&c, (Op)ops[op], d), d, 1, 6, 6, PLAIN);
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                spoil(&c, 0, 0, i, j, unit() * pow(2, i == 0 ? 1000 : -30.0 - 150 * i));
        check(&c);
    }
}

/* ---- Factors multiply to the matrix ---- */

static double at(const Outcome *o, DType d, int64_t i) {
    return element_float(d, o->out[0] + i * dtype_info[d].size_bytes);
}

/* L L' = A, and L U = A[perm]. */
static void test_products(DType d) {
    enum { N = 70 };
    for (int is_lu = 0; is_lu < 2; is_lu++) {
        Case c;
        Outcome got;
        double worst = 0;
        CaseArg *a =
            add(begin(&c, is_lu ? OP_LU : OP_CHOLESKY, d), d, 1, N, N, is_lu ? PLAIN : POSITIVE);
        compare(&c, &got);
        for (int64_t i = 0; i < N && got.result == 1; i++)
            for (int64_t j = 0; j <= (is_lu ? N - 1 : i); j++) {
                double sum = 0;
                int64_t row = is_lu ? ((const int64_t *)(void *)got.out[1])[i] : i;
                for (int64_t k = 0; k <= (i < j ? i : j); k++)
                    sum += is_lu ? (k == i ? 1 : at(&got, d, i * N + k)) * at(&got, d, k * N + j)
                                 : at(&got, d, i * N + k) * at(&got, d, j * N + k);
                const char *x = a->base + offset_of(a, 0, row, j) * dtype_info[d].size_bytes;
                worst = fmax(worst, fabs(sum - element_float(d, x)));
            }
        CHECK_MSG(worst < N * N * (d == DT_F64 ? 0x1p-52 : 0x1p-23), "%g", worst);
        outcome_free(&got);
        case_free(&c);
    }
}

/* ---- Memory ---- */

/* A device that has too little says so, keeps nothing, and computes what fits. */
static void test_memory(void) {
    enum { ROOM = 1 << 20 };
    Engine *all = cuda;
    Err err = {0};
    static const uint8_t ops[] = {OP_SOLVE, OP_QR, OP_EIGH, OP_SVD};
    cuda = engine_cuda.open(&(EngineConfig){.memory_bytes = ROOM, .threads = 1}, &err);
    CHECK_MSG(cuda != NULL, "%s", err.text);
    is_plain = true;
    for (size_t k = 0; cuda && k < sizeof ops; k++) {
        Case c;
        Outcome got;
        int n_out;
        uint64_t used, peak, total;
        begin(&c, (Op)ops[k], DT_F64);
        if (ops[k] == OP_SOLVE) {
            add(&c, DT_F64, 1, 8, 8, PLAIN), add(&c, DT_F64, 1, 8, 6500, PLAIN);
            add(&c, DT_F64, 1, 8, 8, POSITIVE), add_perm(&c, 1, 8, 1);
        } else {
            add(&c, DT_F64, 1, 190, 190, PLAIN);
        }
        CHECK(inst_infer(&c.inst, c.type, c.out, &n_out, &err));
        outcome_run(&c, cuda, false, &got);
        CHECK_INT(got.result, -1);
        CHECK_INT(got.err.code, ERR_MEMORY);
        outcome_free(&got);
        case_free(&c);
        cuda->ops->memory(cuda, &used, &peak, &total);
        CHECK_INT(used, 0);
        try_factor(OP_LU, DT_F64, 1, 20, PLAIN);
    }
    if (cuda) engine_cuda.close(&cuda);
    is_plain = false;
    cuda = all;
}

int main(void) {
    if (!twins_open("cuda_linalg")) return check_report("cuda_linalg");
    static const DType dtypes[] = {DT_F32, DT_F64};
    for (int k = 0; k < 2; k++) {
        test_systems(dtypes[k]);
        test_batches(dtypes[k]);
        test_factors(dtypes[k]);
        test_failures(dtypes[k]);
        test_extremes(dtypes[k]);
        test_products(dtypes[k]);
    }
    test_memory();
    twins_close();
    return check_report("cuda_linalg");
}
