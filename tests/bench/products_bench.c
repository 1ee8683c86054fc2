/* products_bench: matrix products of many shapes on the cpu engine beside PyTorch and NumPy (of the
 * Python that GT_BENCH_PYTHON names), whose calls are timed in turns with ours (rows.py). It prints
 * GFLOP/s, how many times as long each of them takes as ours, and of the faster one the geometric
 * mean over all shapes. Usage: products_bench [DTYPE [THREADS [NAME-PART]]]; without THREADS it
 * takes one thread, and then as many as there are cores.
 * SPDX-License-Identifier: MIT */
#include "tests/bench/beside.h"
#include "tests/bench/call.h"
#include "tests/bench/clock.h"
#include "tests/bench/figure.h"
#include <math.h>

/* `batch` products (M,K) @ (K,N), of which 1 and 0 are without a batch axis. ways: N: as it is; T:
 * the operand lies transposed in memory. */
typedef struct Shape {
    const char *group;
    int batch, M, K, N;
    const char *ways;
} Shape;
static const int squares[] = {64,  96,  100,  128,  192,  250,  256,  384,  500,
                              512, 768, 1000, 1024, 1536, 2000, 2048, 3000, 4096};
static const int turned[] = {100, 256, 500, 512, 1000, 1024, 2048};
enum { FEW = 8 }; /* 1 to so many rows of 1024 */
static const Shape others[] = {
    {"tall", 0, 4096, 64, 64, "NN"},         {"tall", 0, 10000, 100, 100, "NN"},
    {"tall", 0, 4096, 256, 256, "NN"},       {"tall", 0, 4096, 64, 1024, "NN"},
    {"tall", 0, 4096, 1024, 64, "NN"},       {"tall", 0, 3000, 1000, 10, "NN"},
    {"wide", 0, 64, 64, 4096, "NN"},         {"wide", 0, 64, 4096, 64, "NN"},
    {"wide", 0, 64, 4096, 4096, "NN"},       {"wide", 0, 100, 1000, 3000, "NN"},
    {"wide", 0, 10, 100, 10000, "NN"},       {"few rows", 0, 1, 4096, 4096, "NN"},
    {"few rows", 0, 1, 768, 3072, "NT"},     {"few rows", 0, 2, 1000, 3000, "NN"},
    {"few rows", 0, 4, 768, 3072, "NT"},     {"few rows", 0, 8, 4096, 1024, "NN"},
    {"few columns", 0, 1024, 1024, 1, "NN"}, {"few columns", 0, 4096, 4096, 1, "NN"},
    {"few columns", 0, 1000, 1000, 4, "NN"}, {"batch", 4096, 8, 8, 8, "NN"},
    {"batch", 2048, 16, 16, 16, "NN"},       {"batch", 1024, 32, 32, 32, "NN"},
    {"batch", 512, 64, 64, 64, "NN"},        {"batch", 100, 100, 100, 100, "NN"},
    {"batch", 32, 128, 128, 128, "NT"},      {"batch", 48, 64, 32, 64, "NT"},
    {"batch", 48, 64, 64, 32, "NN"},         {"batch", 24, 256, 64, 256, "NT"},
    {"batch", 24, 256, 256, 64, "NN"},       {"batch", 96, 1, 64, 200, "NT"},
    {"layer", 0, 128, 784, 256, "NN"},       {"layer", 0, 128, 256, 10, "NN"},
    {"layer", 0, 784, 128, 256, "TN"},       {"layer", 0, 768, 128, 384, "NN"},
    {"layer", 0, 512, 768, 2304, "NT"},      {"layer", 0, 512, 768, 3072, "NN"},
    {"layer", 0, 512, 3072, 768, "NN"},
};

/* An operand as text; at: the text so far. */
static void add_text(char *text, size_t cap, int batch, int rows, int columns, bool is_turned) {
    size_t at = strlen(text);
    char more[16] = "";
    if (batch) snprintf(more, sizeof more, "%d,", batch);
    snprintf(text + at, cap - at, "%sT[%s%d,%d]%s", at ? " " : "", more, rows, columns,
             is_turned ? "'" : "");
}

/* What the shapes so far have come to. */
typedef struct Sum {
    int n, n_slower;
    double logs, least;
} Sum;

static void bench(const Shape *s, const char *part, DType d, Sum *sum) {
    if (part && !strstr(s->group, part)) return;
    enum { TURNS = 3 };
    static const double SECONDS = 0.1;
    char operands[100] = "";
    Work w = {.bytes = 0};
    Err err;
    add_text(operands, sizeof operands, s->batch, s->M, s->K, s->ways[0] == 'T');
    add_text(operands, sizeof operands, s->batch, s->K, s->N, s->ways[1] == 'T');
    if (!prepare(&w, OP_MATMUL, operands, "", d, &err)) panic("%s: %s", operands, err.text);
    double ours = 1e9, torch = 1e9, numpy = 1e9;
    for (int i = 0; i < TURNS; i++) {
        double t = best_within(submit, &w, SECONDS / TURNS);
        ours = t < ours ? t : ours;
        t = beside_ask("matmul", dtype_info[d].text, SECONDS / TURNS, operands, "");
        torch = t < torch ? t : torch;
        t = beside_ask("matmul_numpy", dtype_info[d].text, SECONDS / TURNS, operands, "");
        numpy = t < numpy ? t : numpy;
    }
    if (w.bytes < 0) panic("%s failed", operands);
    double flops = 2.0 * s->M * s->N * s->K * (s->batch ? s->batch : 1);
    printf("  %-12s %-28s %10.1f us %7.1f GFLOP/s", s->group, operands, ours * 1e6,
           flops / ours * 1e-9);
    if (torch > 0) printf("  PyTorch %5.2f x", torch / ours);
    if (numpy > 0) printf("  NumPy %6.2f x", numpy / ours);
    double best = numpy > 0 && numpy < torch ? numpy : torch;
    if (best > 0) {
        double ratio = best / ours;
        sum->n++, sum->n_slower += ratio < 0.95, sum->logs += log(ratio);
        if (sum->n == 1 || ratio < sum->least) sum->least = ratio;
        if (ratio < 0.95) printf(" <<");
    }
    putchar('\n');
    fflush(stdout);
    work_free(&w);
}

static void bench_square(const char *group, int n, const char *ways, const char *part, DType d,
                         Sum *sum) {
    bench(&(Shape){group, 0, n, n, n, ways}, part, d, sum);
}

static void bench_all(DType d, int threads, const char *part) {
    Err err;
    clock_id = threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    engine = engine_cpu.open(&(EngineConfig){UINT64_C(1) << 30, threads}, &err);
    if (!engine) panic("%s", err.text);
    char version[80] = "nothing (GT_BENCH_PYTHON names no PyTorch)", words[80];
    beside_open(threads, version, sizeof version);
    printf("engine %s, %s, %d thread%s, beside %s; x: how many times as long as ours\n",
           engine->ops->isa(engine), dtype_info[d].text, threads, threads == 1 ? "" : "s", version);
    Sum sum = {.n = 0};
#define EACH(i, table) for (size_t i = 0; i < sizeof(table) / sizeof *(table); i++)
    EACH(i, squares) bench_square("square", squares[i], "NN", part, d, &sum);
    EACH(i, turned) bench_square("transposed", turned[i], "NT", part, d, &sum);
    EACH(i, turned) bench_square("transposed", turned[i], "TN", part, d, &sum);
    for (int m = 1; m <= FEW; m++)
        bench(&(Shape){"few rows", 0, m, 1024, 1024, "NN"}, part, d, &sum);
    EACH(i, others) bench(&others[i], part, d, &sum);
    if (sum.n) {
        double mean = exp(sum.logs / sum.n);
        printf("%d shapes: mean %.2f, least %.2f, %d below 0.95\n", sum.n, mean, sum.least,
               sum.n_slower);
        snprintf(words, sizeof words, "products of %d shapes, %d thread%s: the best other, mean",
                 sum.n, threads, threads == 1 ? "" : "s");
        figure(words, mean, "x", ">=1");
    }
    beside_close();
    engine_cpu.close(&engine);
}

int main(int argc, char **argv) {
    DType d = argc > 1 ? dtype_find(argv[1], strlen(argv[1])) : DT_F32;
    if (d == DT_NONE || !dtype_is_float(d)) {
        fprintf(stderr, "products_bench: '%s' is not a dtype of floats\n", argv[1]);
        return 1;
    }
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN), threads = argc > 2 ? atoi(argv[2]) : 1;
    bench_all(d, threads, argc > 3 ? argv[3] : NULL);
    if (argc <= 2 && cores > 1) bench_all(d, cores, NULL);
    return 0;
}
