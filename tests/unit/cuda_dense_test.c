/* cuda_dense_test: products on the engine cuda, on the emulated device of tests/gpu, have the bits
 * of the engine cpu: all dtypes, tiles and what is left of them, rows and columns, many leaves,
 * transposed and unaligned operands, batches, with little memory too. GT_TEST_COUNTERS=1 prints
 * what the device did for each product. With GT_CUDA_BLAS products come from cuBLASLt, here its
 * stand-in.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/element.h"
#include "tests/unit/gpu.h"
#include "tests/unit/make_inst.h"
#include "worker/engine/engine.h"
#include "worker/engine/view.h"
#include <math.h>
#include <string.h>

static Engine *cuda, *cpu;
static bool is_near, is_whole; /* bits may differ; operands are small whole numbers */

/* An operand on the host and the device. */
typedef struct Twin {
    View host, device;
    uint64_t bytes;
} Twin;

static double unit(void) { /* in [-0.5, 0.5) */
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 40) * 0x1p-24 - 0.5;
}

/* (batch, rows, columns); order: 0 row-major, 1 columns outermost, 2 row-major with a gap of an
 * element after each row, from element 1 on, 3 the same matrix for the whole batch. */
static Twin twin(DType d, int64_t batch, int64_t rows, int64_t columns, int order) {
    Twin t = {.host = {.type = {(uint8_t)d, 3, {batch, rows, columns}}}};
    int64_t gap = order == 2, line = columns + gap;
    int64_t *s = t.host.stride, n = batch * rows * line + gap;
    int size = dtype_info[d].size_bytes;
    s[0] = order == 3 ? 0 : rows * line, s[1] = order == 1 ? 1 : line, s[2] = order == 1 ? rows : 1;
    t.bytes = (uint64_t)(n * size);
    char *p = aligned_alloc(64, (t.bytes + 64) / 64 * 64);
    for (int64_t i = 0; i < n; i++) {
        if (dtype_is_float(d))
            element_set_float(d, p + i * size, is_whole ? rint(unit() * 6) : unit());
        else
            element_set_int(d, p + i * size, (int64_t)(unit() * 200));
    }
    t.device = t.host;
    char *q = cuda->ops->alloc(cuda, t.bytes);
    cuda->ops->copy_in(cuda, q, p, t.bytes);
    t.host.data = p + gap * size, t.device.data = q + gap * size;
    return t;
}
static void drop(Twin *t) {
    int gap = t->host.stride[1] != t->host.type.shape[2] && t->host.stride[1] != 1
                  ? dtype_info[t->host.type.dtype].size_bytes
                  : 0;
    free((char *)t->host.data - gap);
    cuda->ops->free(cuda, (char *)t->device.data - gap, t->bytes);
}

static void run(Engine *e, Call *call) {
    Err err = {0};
    Ticket t = e->ops->submit(e, call, NULL, 0);
    CHECK_MSG(e->ops->done(e, t, true, &err) > 0, "%s", err.text);
}

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

/* Bits must be equal, or, if is_near, values to the rounding of sums. */
static void check_product(DType d, const char *got, const char *want, const Shape *s,
                          const char *what) {
    double most = d == DT_BF16 || d == DT_F16 ? 0x1p-7 : d == DT_F32 ? 0x1p-20 : 0x1p-49;
    int64_t n = s->batch * s->M * s->N, size = dtype_info[d].size_bytes, bad = 0;
    if (is_near)
        for (int64_t i = 0; i < n; i++)
            bad += !(fabs(element_float(d, got + i * size) - element_float(d, want + i * size)) <=
                     most * (double)(4 + s->K / 4));
    else
        bad = memcmp(got, want, (size_t)(n * size));
    CHECK_MSG(!bad, "%s: %s", what, is_near ? "not near cpu" : "other bits than cpu");
}

static void try_product(DType d, const Shape *s, int left, int right) {
    Twin in[2] = {twin(d, s->batch, s->M, s->K, left), twin(d, s->batch, s->K, s->N, right)},
         out = twin(d, s->batch, s->M, s->N, 0);
    View host[2] = {in[0].host, in[1].host}, device[2] = {in[0].device, in[1].device};
    Inst inst = {.op = OP_MATMUL, OPERANDS(of_tensor(0), of_tensor(0)), RESULTS(0)};
    Call call = {.inst = &inst, .n_in = 2, .n_out = 1, .in = host, .out = {out.host}};
    char what[120];
    snprintf(what, sizeof what, "%s %lld (%lld,%lld)@(%lld,%lld) order %d %d", dtype_info[d].text,
             (long long)s->batch, (long long)s->M, (long long)s->K, (long long)s->K,
             (long long)s->N, left, right);
    run(cpu, &call);
    call.in = device, call.out[0] = out.device;
    gpu.emu_clear_counters();
    run(cuda, &call);
    char *got = malloc(out.bytes);
    cuda->ops->copy_out(cuda, got, &out.device);
    CHECK(cuda->ops->done(cuda, cuda->ops->mark(cuda), true, NULL) > 0);
    print_counters(what, (double)(s->batch * s->M * s->K * s->N));
    check_product(d, got, out.host.data, s, what);
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
    gpu.emu_fail("cublasLtMatmulAlgoGetHeuristic", 1, 1);
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
    gpu.emu_fail(NULL, 0, 0);
    drop(&a), drop(&b), drop(&o);
}

static void test_blas(void) {
    Engine *own = cuda;
    CHECK(!open_cuda("yes"));
    CHECK(!strstr(own->ops->isa(own), "cublas"));
    cuda = open_cuda("1");
    CHECK(cuda != NULL);
    if (cuda) {
        CHECK_MSG(strstr(cuda->ops->isa(cuda), "-cublas13.2"), "%s", cuda->ops->isa(cuda));
        test_blas_products();
        test_blas_calls();
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

/* Products for GT_TEST_COUNTERS. */
static void count_products(void) {
    static const Shape shapes[] = {
        {1, 256, 256, 256}, {1, 64, 1024, 64}, {1, 1, 1024, 1024}, {4, 48, 32, 48}};
    for (int k = 0; k < 4; k++)
        for (int order = 0; order < 2; order++) try_product(DT_F32, &shapes[k], 0, order);
    try_product(DT_BF16, &shapes[0], 0, 0), try_product(DT_F64, &shapes[0], 0, 0);
}

int main(void) {
    char path[PATH_MAX + 8], *slash;
    Err err = {0};
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length < 0 || !gpu_open(1)) return check_report("cuda_dense");
    path[length] = 0;
    if ((slash = strrchr(path, '/'))) memcpy(slash, "/gpu", 5);
    setenv("GT_CUDA_LIBRARIES", path, false);
    gpu.emu_memory(600 << 20);
    cuda = engine_cuda.open(&(EngineConfig){.memory_bytes = 200 << 20, .threads = 1}, &err);
    if (!cuda) {
        printf("cuda_dense: %s: left out\n", err.text);
        return 0;
    }
    cpu = engine_cpu.open(&(EngineConfig){.memory_bytes = 64 << 20, .threads = 1}, &err);
    CHECK(cpu != NULL);
    if (getenv("GT_TEST_COUNTERS"))
        count_products();
    else
        test_products(), test_blas();
    uint64_t used, peak, total;
    cuda->ops->memory(cuda, &used, &peak, &total);
    CHECK_INT(used, 0);
    engine_cuda.close(&cuda), engine_cpu.close(&cpu);
    return check_report("cuda_dense");
}
