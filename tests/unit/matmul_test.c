/* matmul_test: matrix products of the cpu engine. The bits must not depend on the number of
 * threads, for float32 values whose sums round, all four layouts, odd sizes, batches and vectors;
 * and they must be close to sums in double. (kernels_test compares exactly with the reference
 * engine.)
 * SPDX-License-Identifier: MIT */
#include "tests/unit/cpu_engines.h"
#include <math.h>

static void try_product(DType d, int64_t batch, int64_t M, int64_t N, int64_t K, int layout) {
    View in[2] = {random_matrix(d, batch, M, K, layout & 1),
                  random_matrix(d, batch, K, N, layout & 2)};
    Inst inst = {.op = OP_MATMUL, OPERANDS(of_tensor(0), of_tensor(0)), RESULTS(0)};
    Call call = {.inst = &inst, .n_in = 2, .n_out = 1, .in = in};
    View *o = &call.out[0];
    o->type = (TensorType){(uint8_t)d, 3, {batch, M, N}};
    view_strides(&o->type, o->stride);
    char what[120];
    snprintf(what, sizeof what, "%lld (%lld,%lld)@(%lld,%lld) layout %d", (long long)batch,
             (long long)M, (long long)K, (long long)K, (long long)N, layout);
    run_all(&call, what);
    double worst = 0;
    for (int k = 0; k < 200; k++) {
        int64_t b = (int64_t)(rnd_unit() * (double)batch), i = (int64_t)(rnd_unit() * (double)M);
        int64_t j = (int64_t)(rnd_unit() * (double)N);
        double sum = 0;
        for (int64_t l = 0; l < K; l++)
            sum +=
                element_at(&in[0], (int64_t[]){b, i, l}) * element_at(&in[1], (int64_t[]){b, l, j});
        worst = fmax(worst, fabs(sum - element_at(o, (int64_t[]){b, i, j})) / sqrt((double)K));
    }
    CHECK_MSG(worst < (d == DT_F32 ? 1e-6 : 1e-14), "%s is off by %g", what, worst);
    free(o->data);
    free(in[0].data);
    free(in[1].data);
}

/* a's rows are adjacent and a multiple of 1 KiB apart, so that they are packed: the bits must be
 * those of the same matrix with adjacent columns. */
static void try_packed(DType d, int64_t M, int64_t N, int64_t K) {
    View in[2] = {random_matrix(d, 1, M, K, true), random_matrix(d, 1, K, N, false)};
    View turned = in[0];
    size_t size = d == DT_F32 ? 4 : 8;
    turned.stride[1] = K, turned.stride[2] = 1;
    turned.data = malloc((size_t)(M * K) * size);
    for (int64_t i = 0; i < M; i++)
        for (int64_t k = 0; k < K; k++)
            memcpy((char *)turned.data + (size_t)(i * K + k) * size,
                   (char *)in[0].data + (size_t)(k * M + i) * size, size);
    void *out[2];
    for (int way = 0; way < 2; way++) {
        View both[2] = {way ? turned : in[0], in[1]};
        Inst inst = {.op = OP_MATMUL, OPERANDS(of_tensor(0), of_tensor(0)), RESULTS(0)};
        Call call = {.inst = &inst, .n_in = 2, .n_out = 1, .in = both};
        View *o = &call.out[0];
        o->type = (TensorType){(uint8_t)d, 3, {1, M, N}};
        view_strides(&o->type, o->stride);
        run_all(&call, "packed");
        out[way] = o->data;
    }
    CHECK_MSG(!memcmp(out[0], out[1], (size_t)(M * N) * size), "(%lld,%lld)@(%lld,%lld) packed",
              (long long)M, (long long)K, (long long)K, (long long)N);
    for (int way = 0; way < 2; way++) free(out[way]), free(in[way].data);
    free(turned.data);
}

/* The first rows of a product have the same bits without the others, however few they are. */
static void try_rows(DType d, int64_t N, int64_t K, int layout) {
    enum { MOST = 9, FEW = 5 };
    View all[2] = {random_matrix(d, 1, MOST, K, layout & 1), random_matrix(d, 1, K, N, layout & 2)};
    void *whole = NULL;
    size_t row = (size_t)N * (d == DT_F32 ? 4 : 8);
    for (int64_t M = MOST; M > 0; M = M > FEW ? FEW : M - 1) {
        View in[2] = {all[0], all[1]};
        in[0].type.shape[1] = M;
        Inst inst = {.op = OP_MATMUL, OPERANDS(of_tensor(0), of_tensor(0)), RESULTS(0)};
        Call call = {.inst = &inst, .n_in = 2, .n_out = 1, .in = in};
        View *o = &call.out[0];
        o->type = (TensorType){(uint8_t)d, 3, {1, M, N}};
        view_strides(&o->type, o->stride);
        run_all(&call, "rows");
        if (!whole) {
            whole = o->data;
            continue;
        }
        CHECK_MSG(!memcmp(o->data, whole, (size_t)M * row), "%lld rows of %lld by (%lld,%lld)",
                  (long long)M, (long long)MOST, (long long)K, (long long)N);
        free(o->data);
    }
    free(whole);
    for (int k = 0; k < 2; k++) free(all[k].data);
}

int main(void) {
    engines_open(1 << 20);
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
    for (int64_t K = 1; K < 600; K = 2 * K + 3) {
        try_packed(DT_F32, 256, 200, K);
        try_packed(DT_F32, 768, 300, K);
        try_packed(DT_F64, 128, 100, K);
        try_packed(DT_F64, 640, 200, K);
    }
    static const int64_t columns[] = {5, 64, 130, 200, 1001, 4100};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        for (int64_t K = 1; K < 700; K = 2 * K + 3)
            for (int layout = 0; layout < 4; layout++) {
                try_rows(DT_F32, columns[i], K, layout);
                try_rows(DT_F64, columns[i], K, layout);
            }
    engines_close();
    return check_report("matmul");
}
