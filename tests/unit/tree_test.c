/* tree_test: every element of a matrix product is the sum that runtime/base/tree.h defines, bit for
 * bit: the kernels of each instruction set against plain loops, for any shape, strides and dtype;
 * and the engine, for batches, halves and any number of threads. So a row alone has the bits that
 * it has in any batch. Sums over rows are added in the same order.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/tree.h"
#include "tests/unit/cpu_engines.h"
#include "worker/kernel/kernels.h"
#include <math.h>

static int64_t rnd_below(int n) { return (int64_t)(rnd_unit() * n); }

/* One row and one column: element k is at k * step. */
typedef struct Line {
    DType dtype;
    bool has_fma;
    const void *a, *b;
    int64_t a_step, b_step, K;
} Line;

static float value_f32(DType d, const void *p, int64_t i) {
    return d == DT_F32 ? ((const float *)p)[i] : (float)element_float(d, (const uint16_t *)p + i);
}

static double leaf_sum(const Line *l, int64_t i) {
    int64_t k = i * LEAF, end = k + LEAF < l->K ? k + LEAF : l->K;
    double wide = 0;
    float sum = 0;
    for (; k < end; k++) {
        if (l->dtype == DT_F64) {
            double x = ((const double *)l->a)[k * l->a_step];
            double y = ((const double *)l->b)[k * l->b_step];
            wide = l->has_fma ? fma(x, y, wide) : x * y + wide;
        } else {
            float x = value_f32(l->dtype, l->a, k * l->a_step);
            float y = value_f32(l->dtype, l->b, k * l->b_step);
            sum = l->has_fma ? fmaf(x, y, sum) : x * y + sum;
        }
    }
    return l->dtype == DT_F64 ? wide : (double)sum;
}

/* The sum of node i of level d; for float64 in double, else in float. */
static double node(const Line *l, int d, int64_t i) {
    if (d == 0) return leaf_sum(l, i);
    int64_t half = INT64_C(1) << (d - 1);
    double left = node(l, d - 1, 2 * i);
    if ((2 * i + 1) * half * LEAF >= l->K) return left;
    double right = node(l, d - 1, 2 * i + 1);
    return l->dtype == DT_F64 ? left + right : (double)((float)left + (float)right);
}

static double root(const Line *l) { return node(l, tree_depth(tree_leaves(l->K)), 0) + 0.0; }

static void test_tree(void) {
    static const int64_t few[] = {1, 2, 63, 64, 65, 128, 129, 500, 4096, 4097, INT64_MAX};
    for (size_t s = 0; s < sizeof few / sizeof *few; s++) {
        int64_t n = tree_leaves(few[s]);
        int d = tree_depth(n);
        CHECK(few[s] - 1 >= (n - 1) * LEAF && few[s] - 1 - (n - 1) * LEAF < LEAF);
        CHECK(d < TREE_LEVELS && n <= INT64_C(1) << d && (d == 0 || n > INT64_C(1) << (d - 1)));
    }
    CHECK_INT(tree_waits(0), 0);
    CHECK_INT(tree_waits(5), 1);
    CHECK_INT(tree_waits(7), 3);
}

/* ---- The kernels of one instruction set ---- */

static bool same(DType d, double want, const void *p) {
    float narrow = (float)want;
    return d == DT_F64 ? !memcmp(&want, p, 8) : !memcmp(&narrow, p, 4);
}

static void fill(DType d, void *p, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        element_set_float(d, (char *)p + i * dtype_info[d].size_bytes, rnd_unit() - 0.5);
}

static void try_kernel(const Kernels *k, DType d, int64_t M, int64_t N, int64_t K) {
    int64_t gap = rnd_below(3) * 5, size = dtype_info[d].size_bytes;
    int layout = (int)rnd_below(5); /* 4: no stride is 1 */
    bool a_turned = layout & 1, b_turned = layout & 2;
    int64_t skip = layout == 4 ? 2 : 1, lda = ((a_turned ? M : K) + gap) * skip;
    int64_t ldb = ((b_turned ? K : N) + gap) * skip, ldo = N + gap;
    int64_t a_m = a_turned ? skip : lda, a_k = a_turned ? lda : skip;
    int64_t b_k = b_turned ? skip : ldb, b_n = b_turned ? ldb : skip;
    int64_t n_a = (M - 1) * a_m + (K - 1) * a_k + 1, n_b = (K - 1) * b_k + (N - 1) * b_n + 1;
    /* Exactly as long as they may be read, for the sanitizer. */
    char *a = malloc((size_t)(n_a * size)), *b = malloc((size_t)(n_b * size));
    char *out = malloc((size_t)(((M - 1) * ldo + N) * size));
    void *side = aligned_alloc(64, (gemm_side(M, N, K) + 63) / 64 * 64);
    fill(d, a, n_a), fill(d, b, n_b);
    memset(out, 0x5a, (size_t)(((M - 1) * ldo + N) * size));
    k->gemm[d](M, N, K, a, a_m, a_k, b, b_k, b_n, out, ldo, side, NULL);
    int64_t wrong = 0;
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            Line l = {
                d, strcmp(k->isa, "base") != 0, a + i * a_m * size, b + j * b_n * size, a_k, b_k,
                K};
            wrong += !same(d, root(&l), out + (i * ldo + j) * size);
        }
    for (int64_t i = 0; i + 1 < M; i++)
        for (int64_t j = N * size; j < ldo * size; j++) wrong += out[i * ldo * size + j] != 0x5a;
    CHECK_MSG(!wrong, "%s %s (%lld,%lld)@(%lld,%lld) layout %d: %lld wrong", k->isa,
              dtype_info[d].text, (long long)M, (long long)K, (long long)K, (long long)N, layout,
              (long long)wrong);
    free(a), free(b), free(out), free(side);
}

/* The sums of n rows: each column's is that of its products with 1. */
static void try_sums(const Kernels *k, DType d, int64_t n, int64_t columns, int64_t gap) {
    int64_t size = dtype_info[d].size_bytes, stride = columns + gap;
    int64_t n_x = (n - 1) * stride + columns, wrong = 0;
    char *x = malloc((size_t)(n_x * size)), *out = malloc((size_t)(columns * size));
    const float one = 1;
    const double wide_one = 1;
    fill(d, x, n_x);
    k->sum_rows[d](n, columns, x, stride, out);
    for (int64_t c = 0; c < columns; c++) {
        Line l = {d, true, x + c * size, NULL, stride, 0, n};
        l.b = d == DT_F64 ? (const void *)&wide_one : (const void *)&one;
        wrong += !same(d, root(&l), out + c * size);
    }
    CHECK_MSG(!wrong, "%s %s sums of %lld rows of %lld columns, %lld apart: %lld wrong", k->isa,
              dtype_info[d].text, (long long)n, (long long)columns, (long long)stride,
              (long long)wrong);
    free(x), free(out);
}
static void test_sums(const Kernels *k) {
    static const int columns[] = {1, 16, 31, 32, 64, 70, 128, 200, 256, 257, 1024, 1100};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        for (DType d = DT_F32; d <= DT_F64; d++) {
            for (int64_t n = 1; n <= 9; n++) try_sums(k, d, n, columns[c], 0);
            try_sums(k, d, 64, columns[c], rnd_below(9)), try_sums(k, d, 65, columns[c], 0);
            try_sums(k, d, 66 + rnd_below(500), columns[c], rnd_below(9));
            if (columns[c] <= 256) try_sums(k, d, 4096 - rnd_below(2) * 100, columns[c], 0);
        }
}

/* Zeros at the end of K change no bit, not even the sign of a sum that underflows. */
static void test_zeros(const Kernels *k) {
    enum { M = 5, N = 37, MOST = 900 };
    float *a = malloc(sizeof *a * M * MOST), *b = malloc(sizeof *b * N * MOST);
    float *out[2] = {malloc(sizeof **out * M * N), malloc(sizeof **out * M * N)};
    void *side = aligned_alloc(64, (gemm_side(M, N, MOST) + 63) / 64 * 64);
    for (int t = 0; t < 200; t++) {
        int64_t K = 1 + rnd_below(MOST - 1), rows = 1 + rnd_below(M), columns = 1 + rnd_below(N);
        bool is_tiny = t % 4 == 0, is_turned = t % 2;
        fill(DT_F32, a, M * MOST), fill(DT_F32, b, N * MOST);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < MOST; j++)
                a[i * MOST + j] = j >= K ? 0 : a[i * MOST + j] * (is_tiny ? 1e-38f : 1);
        for (int64_t i = 0; is_tiny && i < N * MOST; i++) b[i] *= 1e-20f;
        for (int z = 0; z < 2; z++)
            k->gemm[DT_F32](rows, columns, z ? MOST : K, a, MOST, 1, b, is_turned ? 1 : N,
                            is_turned ? MOST : 1, out[z], N, side, NULL);
        int64_t wrong = 0;
        for (int64_t i = 0; i < rows; i++)
            wrong += memcmp(out[0] + i * N, out[1] + i * N, sizeof **out * (size_t)columns) != 0;
        CHECK_MSG(!wrong, "%s: (%lld,%lld)@(%lld,%lld) and zeros: %lld rows differ", k->isa,
                  (long long)rows, (long long)K, (long long)K, (long long)columns,
                  (long long)wrong);
    }
    free(a), free(b), free(out[0]), free(out[1]), free(side);
}

static void test_kernels(const Kernels *k) {
    for (DType d = DT_F32; d <= DT_F64; d++) {
        for (int t = 0; t < 300; t++) {
            int64_t M = 1 + rnd_below(t % 3 ? 9 : 40), N = 1 + rnd_below(t % 4 ? 40 : 150);
            int64_t K = 1 + rnd_below(t % 5 ? 90 : t % 10 ? 700 : 5000);
            try_kernel(k, d, M, N, K);
        }
        try_kernel(k, d, 1, 1, 70000);
        try_kernel(k, d, 100, 70, 513);
        for (int i = 0; i < 8; i++) { /* of the layouts, which are random */
            try_kernel(k, d, 45, 300, 1100);
            try_kernel(k, d, 23, 170, 523);
        }
    }
    test_zeros(k);
    test_sums(k);
}

/* ---- The engine ---- */

static void try_engine(DType d, int64_t batch, int64_t M, int64_t N, int64_t K, int layout) {
    View in[2] = {random_matrix(d, batch, M, K, layout & 1),
                  random_matrix(d, batch, K, N, layout & 2)};
    Inst inst = {.op = OP_MATMUL, OPERANDS(of_tensor(0), of_tensor(0)), RESULTS(0)};
    Call call = {.inst = &inst, .n_in = 2, .n_out = 1, .in = in};
    View *o = &call.out[0];
    o->type = (TensorType){(uint8_t)d, 3, {batch, M, N}};
    view_strides(&o->type, o->stride);
    char what[120];
    snprintf(what, sizeof what, "%s %lld (%lld,%lld)@(%lld,%lld) layout %d", dtype_info[d].text,
             (long long)batch, (long long)M, (long long)K, (long long)K, (long long)N, layout);
    run_all(&call, what); /* and compares the results of all numbers of threads */
    int64_t wrong = 0, size = dtype_info[d].size_bytes;
    bool has_fma = strcmp(kernels_find()->isa, "base") != 0;
    for (int k = 0; k < 300; k++) {
        int64_t i = (int64_t)(rnd_unit() * (double)M), j = (int64_t)(rnd_unit() * (double)N);
        int64_t z = (int64_t)(rnd_unit() * (double)batch);
        Line l = {d,
                  has_fma,
                  (char *)in[0].data + (z * in[0].stride[0] + i * in[0].stride[1]) * size,
                  (char *)in[1].data + (z * in[1].stride[0] + j * in[1].stride[2]) * size,
                  in[0].stride[2],
                  in[1].stride[1],
                  K};
        double want = root(&l);
        uint64_t rounded = 0;
        element_set_float(d, &rounded, want);
        wrong +=
            memcmp(&rounded, (char *)o->data + ((z * M + i) * N + j) * size, (size_t)size) != 0;
    }
    CHECK_MSG(!wrong, "%s: %lld of 300 wrong", what, (long long)wrong);
    free(o->data), free(in[0].data), free(in[1].data);
}

int main(void) {
    test_tree();
    test_kernels(&kernels_base);
    if (strcmp(kernels_find()->isa, "base")) test_kernels(&kernels_v3);
    if (!strcmp(kernels_find()->isa, "v4")) test_kernels(&kernels_v4);
    engines_open(1 << 24);
    static const int64_t shapes[][4] = {
        /* batch, M, N, K */
        {1, 1, 1, 1},     {1, 1, 700, 300},  {1, 700, 1, 300}, {5, 1, 130, 70},   {5, 130, 1, 70},
        {3, 4, 500, 64},  {1, 8, 1030, 33},  {40, 8, 8, 8},    {9, 33, 17, 65},   {1, 400, 90, 513},
        {1, 30, 1100, 9}, {2, 70, 130, 256}, {1, 1, 3, 20000}, {1, 520, 530, 40},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int layout = 0; layout < 4; layout++)
            for (DType d = DT_F16; d <= DT_F64; d++)
                try_engine(d, shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], layout);
    engines_close();
    return check_report("tree");
}
