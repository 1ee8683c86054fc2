/* kernel_bench: the cpu engine's kernels, each against a limit measured in the same run: pointwise
 * and reducing ops by the bytes that they must move, against memcpy; matrix products against plain
 * oneDNN with its own threads (skipped without the library). Usage: kernel_bench [THREADS]
 * SPDX-License-Identifier: MIT */
#include "tests/bench/bare.h"
#include "tests/bench/clock.h"
#include "tests/bench/figure.h"
#include "runtime/inst/inst.h"
#include "worker/engine/engine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double best_s(void (*fn)(void *), void *ctx) { return best_within(fn, ctx, 0.1); }

static Engine *engine;

typedef struct Work {
    Inst inst;
    Operand operand[4];
    Attr attr[2];
    int64_t ints[MAX_DIMS];
    View in[4];
    Call call;
} Work;

static void submit(void *ctx) {
    Work *w = ctx;
    engine->ops->submit(engine, &w->call, NULL, 0);
}
static void copy(void *ctx) {
    View *v = ctx;
    memcpy(v[0].data, v[1].data, (size_t)type_bytes(&v[0].type));
}

static View tensor(DType d, int64_t rows, int64_t columns) {
    View v = {.type = {(uint8_t)d, 2, {rows, columns}}};
    view_strides(&v.type, v.stride);
    v.data = aligned_alloc(64, (size_t)(type_bytes(&v.type) + 63) / 64 * 64);
    for (int64_t i = 0; i < rows * columns; i++) {
        if (d == DT_F32)
            ((float *)v.data)[i] = (float)(i % 1000) * 0.003f - 1.2f;
        else if (d == DT_F64)
            ((double *)v.data)[i] = (double)(i % 1000) * 0.003 - 1.2;
        else if (d == DT_I64)
            ((int64_t *)v.data)[i] = i % rows;
        else
            ((uint8_t *)v.data)[i] = i & 1;
    }
    return v;
}

static void init(Work *w, Op op, int n_in, const View *in, const View *out) {
    memset(w, 0, sizeof *w);
    w->inst.op = op;
    w->inst.in = w->operand, w->inst.attr = w->attr;
    w->inst.n_in = (uint16_t)n_in, w->inst.n_out = 1;
    memcpy(w->in, in, sizeof(View) * (size_t)n_in);
    w->call = (Call){.inst = &w->inst, .n_in = n_in, .n_out = 1, .in = w->in};
    w->call.out[0] = *out;
}
static void add_axis(Work *w, int64_t axis) {
    w->ints[0] = axis;
    w->attr[w->inst.n_attr++] = (Attr){.key = ATTR_AXIS, .n = 1, .ints = w->ints};
}

static void report(const char *name, int64_t n, double seconds, double bytes, double bound) {
    double rate = bytes / seconds * 1e-9;
    printf("  %-22s %9.2f us  %7.3f ns/element  %7.2f GB/s  %5.2f of memcpy\n", name, seconds * 1e6,
           seconds / (double)n * 1e9, rate, rate / bound);
}

static void bench_ops(int64_t side) {
    View a = tensor(DT_F32, side, side), b = tensor(DT_F32, side, side),
         o = tensor(DT_F32, side, side);
    View row = tensor(DT_F32, 1, side), column = tensor(DT_F32, side, 1),
         mask = tensor(DT_BOOL, side, side);
    View index = tensor(DT_I64, side, 1), d = tensor(DT_F64, side, side), t = a;
    t.stride[0] = 1, t.stride[1] = side;
    int64_t n = side * side;
    double bytes = (double)n * 4;
    View pair[2] = {o, a};
    double memcpy_s = best_s(copy, pair), bound = 2 * bytes / memcpy_s * 1e-9;
    printf("%lld x %lld float32, memcpy %.2f GB/s read and written\n", (long long)side,
           (long long)side, bound);
    Work w;
    static const Op unary[] = {OP_NEG,  OP_RELU,    OP_SQRT, OP_EXP,  OP_LOG,
                               OP_TANH, OP_SIGMOID, OP_ERF,  OP_GELU, OP_SIN};
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++) {
        init(&w, unary[i], 1, &a, &o);
        report(op_info[unary[i]].name, n, best_s(submit, &w), 2 * bytes, bound);
    }
    static const Op binary[] = {OP_ADD, OP_MUL, OP_DIV, OP_MAXIMUM, OP_POW};
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
        init(&w, binary[i], 2, (View[]){a, b}, &o);
        report(op_info[binary[i]].name, n, best_s(submit, &w), 3 * bytes, bound);
    }
    float value = 1.5f;
    View scalar = {.type = {.dtype = DT_F32}, .is_scalar = true, .data = &value};
    init(&w, OP_MUL, 2, (View[]){a, scalar}, &o);
    report("mul by a scalar", n, best_s(submit, &w), 2 * bytes, bound);
    init(&w, OP_ADD, 2, (View[]){a, row}, &o);
    report("add a row", n, best_s(submit, &w), 2 * bytes, bound);
    init(&w, OP_ADD, 2, (View[]){a, column}, &o);
    report("add a column", n, best_s(submit, &w), 2 * bytes, bound);
    init(&w, OP_ADD, 2, (View[]){a, t}, &o);
    report("add a transpose", n, best_s(submit, &w), 3 * bytes, bound);
    init(&w, OP_WHERE, 3, (View[]){mask, a, b}, &o);
    report("where", n, best_s(submit, &w), 3.25 * bytes, bound);
    init(&w, OP_LT, 2, (View[]){a, b}, &mask);
    report("lt", n, best_s(submit, &w), 2.25 * bytes, bound);
    init(&w, OP_CAST, 1, &a, &d);
    report("cast to float64", n, best_s(submit, &w), 3 * bytes, bound);
    init(&w, OP_RESHAPE, 1, &t, &o);
    report("copy of a transpose", n, best_s(submit, &w), 2 * bytes, bound);
    for (int axis = 1; axis >= 0; axis--) {
        View out = tensor(DT_F32, 1, side);
        out.type = (TensorType){DT_F32, 1, {side}};
        char name[32];
        static const Op reduce[] = {OP_SUM, OP_MAX};
        for (int i = 0; i < 2; i++) {
            init(&w, reduce[i], 1, &a, &out);
            add_axis(&w, axis);
            snprintf(name, sizeof name, "%s along axis %d", op_info[reduce[i]].name, axis);
            report(name, n, best_s(submit, &w), bytes, bound);
        }
        free(out.data);
    }
    init(&w, OP_SUM, 1, &a, &(View){.type = {.dtype = DT_F32}, .data = o.data});
    report("sum of all", n, best_s(submit, &w), bytes, bound);
    index.type.rank = 1;
    init(&w, OP_INDEX, 2, (View[]){a, index}, &o);
    add_axis(&w, 0);
    report("rows at indices", n, best_s(submit, &w), 2 * bytes, bound);
    init(&w, OP_RANDN, 0, &a, &o);
    w.ints[0] = 1, w.attr[0] = (Attr){.key = ATTR_RNG, .n = 2, .ints = w.ints}, w.inst.n_attr = 1;
    report("randn", n, best_s(submit, &w), bytes, bound);
    View *all[] = {&a, &b, &o, &row, &column, &mask, &index, &d};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]->data);
}

/* ---- Matrix products ---- */

static double bare_s(const View *a, const View *b, const View *o) {
    int64_t M = o->type.shape[0], N = o->type.shape[1], K = a->type.shape[1];
    Bare bare;
    bare_init(&bare, M, N, K, a->stride[1] != 1, b->stride[1] != 1, a->data, b->data, o->data);
    double t = best_s(bare_run, &bare);
    bare_fini(&bare);
    return t;
}

static void print_worst(double worst, int threads) {
    char words[96];
    snprintf(words, sizeof words,
             "worst product NN, NT, TN, 256 to 2048, of bare oneDNN, %d thread%s", threads,
             threads > 1 ? "s" : "");
    figure(words, worst, "x", ">=0.9");
}

static void bench_matmul(int threads) {
    if (!bare_open()) {
        printf("matmul: skipped, no oneDNN\n");
        return;
    }
    static const int64_t sizes[] = {64, 128, 256, 512, 1024, 2048};
    static const char *const layout[] = {"NN", "TN", "NT", "TT"};
    printf("matmul float32 beside bare oneDNN with as many threads of its own\n");
    double worst = 1e9;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int k = 0; k < 4; k++) {
            int64_t n = sizes[s];
            View a = tensor(DT_F32, n, n), b = tensor(DT_F32, n, n), o = tensor(DT_F32, n, n);
            if (k & 1) a.stride[0] = 1, a.stride[1] = n;
            if (k & 2) b.stride[0] = 1, b.stride[1] = n;
            Work w;
            init(&w, OP_MATMUL, 2, (View[]){a, b}, &o);
            double ratio = 0, ours = 1e9, bare = 1e9;
            for (int round = 0; round < 3;
                 round++) { /* alternating, so that both run under the same conditions */
                bare_threads(threads);
                double t = bare_s(&a, &b, &o);
                bare = t < bare ? t : bare;
                t = best_s(submit, &w);
                ours = t < ours ? t : ours;
            }
            ratio = bare / ours;
            if (k < 3 && n >= 256 && ratio < worst) worst = ratio;
            printf("  %s %4lld  %9.1f us  %6.1f GFLOP/s  %5.2f of oneDNN\n", layout[k],
                   (long long)n, ours * 1e6, 2e-9 * (double)(n * n * n) / ours, ratio);
            free(a.data);
            free(b.data);
            free(o.data);
        }
    }
    print_worst(worst, threads);
}

/* Products by our own kernels: tiny ones, vectors, float64. */
static void bench_own(void) {
    static const struct {
        DType d;
        int64_t M, N, K;
    } p[] = {{DT_F32, 4, 4, 4},       {DT_F32, 16, 16, 16},       {DT_F32, 32, 32, 32},
             {DT_F32, 1, 1024, 1024}, {DT_F32, 1024, 1, 1024},    {DT_F64, 64, 64, 64},
             {DT_F64, 256, 256, 256}, {DT_F64, 1024, 1024, 1024}, {DT_I64, 256, 256, 256}};
    printf("products by our own kernels\n");
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) {
        View a = tensor(p[i].d, p[i].M, p[i].K), b = tensor(p[i].d, p[i].K, p[i].N);
        View o = tensor(p[i].d, p[i].M, p[i].N);
        Work w;
        init(&w, OP_MATMUL, 2, (View[]){a, b}, &o);
        double s = best_s(submit, &w), flops = 2.0 * (double)(p[i].M * p[i].N * p[i].K);
        printf("  %s (%lld,%lld) @ (%lld,%lld)  %9.2f us  %6.1f GFLOP/s\n", dtype_info[p[i].d].name,
               (long long)p[i].M, (long long)p[i].K, (long long)p[i].K, (long long)p[i].N, s * 1e6,
               flops / s * 1e-9);
        free(a.data);
        free(b.data);
        free(o.data);
    }
}

/* ---- Factorizations, against the engine's own matrix product of the same size ---- */

static void bench_linalg(void) {
    static const int64_t sizes[] = {32, 128, 512, 1024, 2048};
    static const struct {
        Op op;
        double flops; /* in n cubed */
    } row[] = {{OP_MATMUL, 2},
               {OP_CHOLESKY, 1 / 3.},
               {OP_LU, 2 / 3.},
               {OP_SOLVE, 2},
               {OP_SOLVE_TRIANGULAR, 1}};
    printf("factorizations beside matmul\n");
    for (size_t s = 0; s < 2 * sizeof sizes / sizeof *sizes; s++) {
        int64_t n = sizes[s / 2];
        DType d = s % 2 ? DT_F64 : DT_F32;
        View a = tensor(d, n, n), b = tensor(d, n, n), o = tensor(d, n, n);
        View perm = tensor(DT_I64, n, 1);
        perm.type.rank = 1;
        for (int64_t i = 0; i < n; i++) { /* a dominant diagonal */
            if (d == DT_F32)
                ((float *)a.data)[i * (n + 1)] = 2 * (float)n;
            else
                ((double *)a.data)[i * (n + 1)] = 2 * (double)n;
        }
        double matmul = 0;
        for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
            Work w;
            init(&w, row[k].op, row[k].op == OP_SOLVE ? 4 : 2, (View[]){a, b, a, perm}, &o);
            if (row[k].op == OP_CHOLESKY || row[k].op == OP_LU) w.call.n_in = w.inst.n_in = 1;
            if (row[k].op == OP_LU) w.call.n_out = w.inst.n_out = 2, w.call.out[1] = perm;
            double t = best_s(submit, &w), rate = row[k].flops * (double)(n * n * n) / t * 1e-9;
            if (!k) matmul = rate;
            printf("  %-16s %s %4lld  %9.1f us  %6.1f GFLOP/s  %5.2f of matmul\n",
                   op_info[row[k].op].name, dtype_info[d].text, (long long)n, t * 1e6, rate,
                   rate / matmul);
        }
        free(a.data), free(b.data), free(o.data), free(perm.data);
    }
}

int main(int argc, char **argv) {
    int all = (int)sysconf(_SC_NPROCESSORS_ONLN), only = argc > 1 ? atoi(argv[1]) : 0;
    for (int threads = only ? only : 1;; threads = all) {
        Err err = {0};
        clock_id = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
        EngineConfig config = {.memory_bytes = UINT64_C(1) << 30, .threads = threads};
        engine = engine_cpu.open(&config, &err);
        if (!engine) {
            fprintf(stderr, "kernel_bench: %s\n", err.text);
            return 1;
        }
        printf("engine %s, %d thread%s\n", engine->ops->isa(engine), threads,
               threads == 1 ? "" : "s");
        bench_ops(64);
        bench_ops(1024);
        bench_ops(4096);
        bench_own();
        bench_matmul(threads);
        bench_linalg();
        engine_cpu.close(&engine);
        if (only || threads == all) return 0;
    }
}
