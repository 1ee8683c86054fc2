/* cuda_dense_test: products on the engine cuda, on the emulated device of tests/gpu, have the bits
 * of the engine cpu: all dtypes, tiles and what is left of them, rows and columns, many leaves,
 * transposed and unaligned operands, batches, with little memory too. GT_TEST_COUNTERS=1 prints
 * what the device did for each product. With GT_CUDA_BLAS products come from cuBLASLt, here its
 * stand-in.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/cublaslt_api.h"
#include "tests/unit/cuda_twin.h"

static bool is_near;      /* bits may differ */
static const char *allow; /* the products' attribute; NULL: none */

typedef struct Shape {
    int64_t batch, M, K, N;
} Shape;

static void print_counters(const char *what, double products) {
    Counters n;
    if (!getenv("GT_TEST_COUNTERS")) return;
    gpu.emu_counters(&n);
    printf("%-44s %6.2f instructions, %7.4f sectors, %.2f of ideal, %.2f turns, local %llu\n", what,
           (double)n.threads / products, (double)(n.load_sectors + n.store_sectors) / products,
           32 * (double)(n.load_sectors + n.store_sectors) / (double)(n.load_bytes + n.store_bytes),
           (double)n.shared_turns / (double)(n.shared ? n.shared : 1), (unsigned long long)n.local);
}

static void try_product(DType d, const Shape *s, int left, int right) {
    Twin in[2] = {twin(d, s->batch, s->M, s->K, left), twin(d, s->batch, s->K, s->N, right)},
         out = twin(d, s->batch, s->M, s->N, 0);
    Inst inst = {.op = OP_MATMUL, OPERANDS(of_tensor(0), of_tensor(0)), RESULTS(0)};
    Attr attr = {.key = ATTR_ALLOW, .n = allow ? (uint32_t)strlen(allow) : 0, .str = allow};
    if (allow) inst.attr = &attr, inst.n_attr = 1;
    char what[120];
    snprintf(what, sizeof what, "%s %lld (%lld,%lld)@(%lld,%lld) order %d %d", dtype_info[d].text,
             (long long)s->batch, (long long)s->M, (long long)s->K, (long long)s->K,
             (long long)s->N, left, right);
    char *got;
    run_both(&inst, in, &out, &got);
    print_counters(what, (double)(s->batch * s->M * s->K * s->N));
    check_twin(d, s->batch * s->M * s->N, got, out.host.data, is_near ? near_by(d, s->K) : 0, what);
    free(got);
    drop(&in[0]), drop(&in[1]), drop(&out);
}

static void test_products(void) {
    static const Shape shapes[] = {
        {1, 1, 1, 1},    {1, 65, 64, 63},  {2, 64, 65, 66},   {1, 70, 200, 130}, {3, 5, 0, 6},
        {2, 9, 10, 11},  {1, 66, 1000, 6}, {1, 1, 1300, 100}, {2, 70, 600, 1},   {1, 4, 4500, 37},
        {1, 2, 9000, 3}, {2, 3, 70, 33},   {1, 1, 5000, 1},   {1, 6, 2300, 7},
    };
    int n = sizeof shapes / sizeof *shapes;
    static const DType dtypes[] = {DT_F32, DT_F64, DT_BF16, DT_I8, DT_I64};
    for (int d = 0; d < 5; d++)
        for (int k = 0; k < n; k++)
            if (d < 2 || k % 3 == d % 3)
                try_product(dtypes[d], &shapes[k], (k + d) % 4, (k / 4 + d + (d > 0)) % 4);
}

/* A product reads halves as they are: it launches as many kernels as for float32, without casts. */
static void test_halves(void) {
    static const DType dtypes[] = {DT_F32, DT_F16, DT_BF16};
    Counters n[3];
    for (int d = 0; d < 3; d++) {
        try_product(dtypes[d], &(Shape){1, 64, 64, 64}, 0, 0);
        gpu.emu_counters(&n[d]);
    }
    CHECK(n[0].launches > 0 && n[1].launches == n[0].launches && n[2].launches == n[0].launches);
}

/* Matrices whose lines are aligned for loads of 16 bytes, but not the matrices of the batch. */
static void test_batch_gaps(void) {
    static const Shape shapes[] = {{3, 64, 64, 64}, {3, 2, 128, 64}};
    for (int k = 0; k < 2; k++)
        for (int order = 0; order < 3; order++) {
            try_product(DT_F32, &shapes[k], order < 2 ? 4 : 0, order > 0 ? 4 : 0);
            try_product(DT_BF16, &shapes[k], order < 2 ? 4 : 0, order > 0 ? 4 : 0);
        }
}

/* ---- cuBLASLt ---- */

static Engine *open_cuda(const char *blas) {
    Err err = {0};
    setenv("GT_CUDA_BLAS", blas, true);
    Engine *e = engine_cuda.open(&(EngineConfig){.memory_bytes = 64 << 20, .threads = 1}, &err);
    unsetenv("GT_CUDA_BLAS");
    if (!e) printf("cuda_dense: %s\n", err.text);
    return e;
}

/* Whole numbers are bit-equal, others near; what the library does not take is bit-equal. */
static void test_blas_products(void) {
    static const Shape shapes[] = {{1, 9, 70, 11}, {3, 33, 20, 17}, {2, 5, 300, 8}, {1, 2, 1, 2}};
    static const DType dtypes[] = {DT_F32, DT_F64, DT_BF16, DT_F16};
    for (int d = 0; d < 4; d++)
        for (int k = 0; k < 4; k++)
            for (int w = 0; w < 2; w++) {
                is_whole = w, is_near = !w;
                try_product(dtypes[d], &shapes[k], (k + d) % 4, (k + 3 * d + 1) % 4);
            }
    is_whole = is_near = false;
    try_product(DT_F32, &(Shape){2, 1, 300, 40}, 0, 0);
    try_product(DT_I64, &(Shape){2, 5, 30, 4}, 0, 0);
}

/* The algorithm is asked for once, and a call that fails is an error; without an algorithm the own
 * kernels compute. */
static void test_blas_calls(void) {
    const Shape s = {2, 6, 40, 5}, t = {2, 6, 41, 5};
    is_near = true;
    try_product(DT_F32, &s, 0, 1);
    gpu.emu_quiet(true);
    gpu.emu_fail("cublasLtMatmulAlgoGetHeuristic", 1, CUBLAS_STATUS_NOT_SUPPORTED);
    try_product(DT_F32, &s, 0, 1);
    is_near = false;
    try_product(DT_F32, &t, 0, 1);
    Twin a = twin(DT_F32, 1, 6, 40, 0), b = twin(DT_F32, 1, 40, 5, 0), o = twin(DT_F32, 1, 6, 5, 0);
    View in[2] = {a.device, b.device};
    Inst inst = {.op = OP_MATMUL, OPERANDS(of_tensor(0), of_tensor(0)), RESULTS(0)};
    Call call = {.inst = &inst, .n_in = 2, .n_out = 1, .in = in, .out = {o.device}};
    Err err = {0};
    gpu.emu_fail("cublasLtMatmul", 1, 1);
    CHECK(cuda->ops->done(cuda, cuda->ops->submit(cuda, &call, NULL, 0), true, &err) < 0);
    CHECK_MSG(strstr(err.text, "cublasLtMatmul: status"), "%s", err.text);
    gpu.emu_fail("cublasLtMatmul", 1, CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cuda->ops->done(cuda, cuda->ops->submit(cuda, &call, NULL, 0), true, &err) < 0);
    CHECK_MSG(err.code == ERR_MEMORY, "%s", err.text);
    gpu.emu_fail(NULL, 0, 0);
    drop(&a), drop(&b), drop(&o);
}

/* Multiplies on cuda. fails: the library's next product fails, unless it is asked for an algorithm
 * first: then it has none, and the own kernels multiply. False: it failed. */
static bool multiply(const Shape *s, bool fails) {
    Twin a = twin(DT_F32, 1, s->M, s->K, 0), b = twin(DT_F32, 1, s->K, s->N, 0),
         o = twin(DT_F32, 1, s->M, s->N, 0);
    View in[2] = {a.device, b.device};
    Inst inst = {.op = OP_MATMUL, OPERANDS(of_tensor(0), of_tensor(0)), RESULTS(0)};
    Call call = {.inst = &inst, .n_in = 2, .n_out = 1, .in = in, .out = {o.device}};
    Attr attr = {.key = ATTR_ALLOW, .n = allow ? (uint32_t)strlen(allow) : 0, .str = allow};
    Err err = {0};
    if (allow) inst.attr = &attr, inst.n_attr = 1;
    if (fails) gpu.emu_fail("cublasLtMatmulAlgoGetHeuristic", 1, CUBLAS_STATUS_NOT_SUPPORTED);
    if (fails) gpu.emu_fail("cublasLtMatmul", 1, 1);
    bool ok = cuda->ops->done(cuda, cuda->ops->submit(cuda, &call, NULL, 0), true, &err) > 0;
    gpu.emu_fail(NULL, 0, 0);
    drop(&a), drop(&b), drop(&o);
    return ok;
}
/* Algorithms are kept, but for those of products that were not used for long. */
static void test_blas_many(void) {
    enum { KEPT = 512 };
    const Shape often = {1, 2, 3, 2}, once = {1, 3, 2, 3};
    CHECK(multiply(&often, false) && multiply(&once, false));
    CHECK(!multiply(&often, true) && !multiply(&once, true));
    for (int k = 0; k < KEPT - 1; k++) {
        CHECK(multiply(&(Shape){1, 2, 4 + k, 2}, false));
        if (k % 100 == 0) CHECK(!multiply(&often, true));
    }
    CHECK(!multiply(&often, true));
    CHECK(multiply(&once, true));
}

static void test_blas(void) {
    Engine *own = cuda;
    CHECK(!strstr(own->ops->isa(own), "cublas"));
    cuda = open_cuda("1");
    CHECK(cuda != NULL);
    if (cuda) {
        CHECK_MSG(strstr(cuda->ops->isa(cuda), "-cublas13.2"), "%s", cuda->ops->isa(cuda));
        test_blas_products();
        test_blas_calls();
        test_blas_many();
        uint64_t used, peak, total;
        cuda->ops->memory(cuda, &used, &peak, &total);
        CHECK_INT(used, 0);
        engine_cuda.close(&cuda);
    }
    if ((cuda = open_cuda("tf32"))) {
        CHECK(strstr(cuda->ops->isa(cuda), "-tf32") != NULL);
        is_whole = true;
        try_product(DT_F32, &(Shape){1, 9, 70, 11}, 0, 0);
        is_whole = false;
        engine_cuda.close(&cuda);
    }
    cuda = own;
}

/* A product has the bits of the engine cpu unless it allows others, beside such that do. */
static void test_allowed(void) {
    const Shape s = {1, 9, 70, 11}, t = {1, 9, 70, 12};
    Engine *own = cuda;
    cuda = open_cuda("");
    if (!cuda) return;
    Twin a = twin(DT_F32, 1, 9, 70, 0), b = twin(DT_F32, 1, 70, 11, 0);
    static const char *const ways[] = {NULL, "order", "tf32", NULL};
    float result[4][99];
    for (int w = 0; w < 4; w++) {
        Twin o = twin(DT_F32, 1, 9, 11, 0);
        View in[2] = {a.device, b.device};
        Attr attr = {.key = ATTR_ALLOW, .n = ways[w] ? (uint32_t)strlen(ways[w]) : 0};
        attr.str = ways[w];
        Inst inst = {.op = OP_MATMUL, OPERANDS(of_tensor(0), of_tensor(0)), RESULTS(0)};
        inst.attr = &attr, inst.n_attr = ways[w] != NULL;
        run(cuda, &(Call){.inst = &inst, .n_in = 2, .n_out = 1, .in = in, .out = {o.device}});
        cuda->ops->copy_out(cuda, result[w], &o.device);
        settle();
        drop(&o);
    }
    CHECK(!memcmp(result[0], result[3], sizeof result[0]));
    CHECK(memcmp(result[0], result[2], sizeof result[0]) != 0);
    CHECK(memcmp(result[1], result[2], sizeof result[0]) != 0);
    double worst[4] = {0};
    for (int w = 1; w < 3; w++)
        for (int i = 0; i < 99; i++)
            worst[w] = fmax(worst[w], fabs((double)result[w][i] - (double)result[0][i]));
    CHECK_MSG(worst[1] < 1e-5, "order: %g", worst[1]);
    CHECK_MSG(worst[2] > 1e-5 && worst[2] < 1e-2, "tf32: %g", worst[2]);
    drop(&a), drop(&b);
    engine_cuda.close(&cuda);
    allow = "tf32";
    if ((cuda = open_cuda("0"))) try_product(DT_F32, &s, 0, 0), engine_cuda.close(&cuda);
    /* Without the library the own kernels multiply; it is asked for once. */
    gpu.emu_quiet(true);
    gpu.emu_fail("cublasLtCreate", 1, 1);
    if ((cuda = open_cuda(""))) {
        try_product(DT_F32, &s, 0, 0);
        try_product(DT_F32, &t, 0, 0);
        engine_cuda.close(&cuda);
    }
    gpu.emu_fail(NULL, 0, 0);
    /* Without memory for it a product fails, and later ones are the library's. */
    for (int k = 0; k < 2; k++) {
        if (!(cuda = open_cuda(""))) break;
        gpu.emu_fail(k ? "cublasLtCreate" : "cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(!multiply(&s, false));
        CHECK(multiply(&s, false));
        CHECK(!multiply(&s, true));
        engine_cuda.close(&cuda);
    }
    allow = NULL;
    cuda = own;
}

/* Products for GT_TEST_COUNTERS. */
static void count_products(void) {
    static const Shape shapes[] = {
        {1, 256, 256, 256}, {1, 64, 1024, 64}, {1, 1, 1024, 1024}, {4, 48, 32, 48}};
    for (int k = 0; k < 4; k++)
        for (int order = 0; order < 2; order++) try_product(DT_F32, &shapes[k], 0, order);
    try_product(DT_BF16, &shapes[0], 0, 0), try_product(DT_F64, &shapes[0], 0, 0);
}

int main(void) {
    if (!twins_open("cuda_dense")) return check_report("cuda_dense");
    if (getenv("GT_TEST_COUNTERS"))
        count_products();
    else
        test_products(), test_halves(), test_batch_gaps(), test_blas(), test_allowed();
    twins_close();
    return check_report("cuda_dense");
}
