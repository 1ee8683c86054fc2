/* matmul_test: matrix products of the cpu engine. The bits must not depend on the number of
 * threads, for float32 values whose sums round, all four layouts, odd sizes, batches and vectors;
 * and they must be close to sums in double. (kernels_test compares exactly with the reference
 * engine.)
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/inst.h"
#include "tests/unit/check.h"
#include "worker/engine/engine.h"
#include <math.h>

static const int threads[] = {1, 2, 3, 8};
enum { N_ENGINES = 4 };
static Engine *engine[N_ENGINES];

static uint64_t state = 1;
static double rnd_unit(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 40) * 0x1p-24;
}

/* A (rows, columns) matrix of a batch; transposed: columns are outermost in memory. */
static View matrix(DType d, int64_t batch, int64_t rows, int64_t columns, bool is_transposed) {
    View v = {.type = {(uint8_t)d, 3, {batch, rows, columns}}};
    v.stride[0] = rows * columns;
    v.stride[1] = is_transposed ? 1 : columns;
    v.stride[2] = is_transposed ? rows : 1;
    int64_t n = batch * rows * columns;
    v.data = aligned_alloc(64, (size_t)(n * 8 + 64) / 64 * 64);
    for (int64_t i = 0; i < n; i++) {
        if (d == DT_F32)
            ((float *)v.data)[i] = (float)(rnd_unit() - 0.5);
        else
            ((double *)v.data)[i] = rnd_unit() - 0.5;
    }
    return v;
}
static double at(const View *v, int64_t b, int64_t i, int64_t j) {
    int64_t k = b * v->stride[0] + i * v->stride[1] + j * v->stride[2];
    return v->type.dtype == DT_F32 ? (double)((float *)v->data)[k] : ((double *)v->data)[k];
}

static void try_product(DType d, int64_t batch, int64_t M, int64_t N, int64_t K, int layout) {
    View in[2] = {matrix(d, batch, M, K, layout & 1), matrix(d, batch, K, N, layout & 2)};
    Operand operand[2] = {{.kind = IN_TENSOR}, {.kind = IN_TENSOR}};
    Inst inst = {.op = OP_MATMUL, .n_in = 2, .n_out = 1, .in = operand};
    Call call = {.inst = &inst, .n_in = 2, .n_out = 1, .in = in};
    View *o = &call.out[0];
    o->type = (TensorType){(uint8_t)d, 3, {batch, M, N}};
    view_strides(&o->type, o->stride);
    size_t bytes = (size_t)type_bytes(&o->type);
    char *first = NULL;
    for (int e = 0; e < N_ENGINES; e++) {
        char *out = aligned_alloc(64, (bytes + 63) / 64 * 64);
        o->data = out;
        for (int again = 0; again < 2; again++) {
            memset(out, 0x7f, bytes);
            engine[e]->ops->submit(engine[e], &call, NULL, 0);
            if (!first) continue;
            CHECK_MSG(!memcmp(first, out, bytes),
                      "%lld (%lld,%lld)@(%lld,%lld) layout %d: %d threads differ", (long long)batch,
                      (long long)M, (long long)K, (long long)K, (long long)N, layout, threads[e]);
        }
        if (first)
            free(out);
        else
            first = out;
    }
    o->data = first;
    double worst = 0;
    for (int k = 0; k < 200; k++) {
        int64_t b = (int64_t)(rnd_unit() * (double)batch), i = (int64_t)(rnd_unit() * (double)M);
        int64_t j = (int64_t)(rnd_unit() * (double)N);
        double sum = 0;
        for (int64_t l = 0; l < K; l++) sum += at(&in[0], b, i, l) * at(&in[1], b, l, j);
        worst = fmax(worst, fabs(sum - at(o, b, i, j)) / sqrt((double)K));
    }
    CHECK_MSG(worst < (d == DT_F32 ? 1e-6 : 1e-14),
              "%lld (%lld,%lld)@(%lld,%lld) layout %d is off by %g", (long long)batch, (long long)M,
              (long long)K, (long long)K, (long long)N, layout, worst);
    free(first);
    free(in[0].data);
    free(in[1].data);
}

int main(void) {
    Err err = {0};
    for (int e = 0; e < N_ENGINES; e++) {
        EngineConfig config = {.memory_bytes = 1 << 20, .threads = threads[e]};
        engine[e] = engine_cpu.open(&config, &err);
        CHECK(engine[e] != NULL);
    }
    static const int64_t shapes[][4] = {
        /* batch, M, N, K */
        {1, 64, 64, 64},    {1, 256, 256, 256}, {1, 512, 512, 512}, {1, 1000, 600, 300},
        {1, 130, 1030, 70}, {1, 7, 513, 2000},  {1, 513, 7, 2000},  {1, 1, 1000, 5000},
        {1, 1000, 1, 5000}, {1, 1, 1, 100000},  {12, 64, 64, 32},   {50, 33, 17, 65},
        {3, 1, 700, 400},   {3, 300, 1, 100},   {1, 2, 2, 5000},    {5, 31, 32, 1},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int64_t *p = shapes[s];
        for (int layout = 0; layout < 4; layout++) {
            try_product(DT_F32, p[0], p[1], p[2], p[3], layout);
            if (p[1] * p[2] * p[3] < 20000000) try_product(DT_F64, p[0], p[1], p[2], p[3], layout);
        }
    }
    for (int e = 0; e < N_ENGINES; e++) engine_cpu.close(&engine[e]);
    return check_report("matmul");
}
