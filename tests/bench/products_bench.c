/* products_bench: matrix products of many shapes on the cpu engine beside PyTorch and NumPy (of the
 * Python that GT_BENCH_PYTHON names), whose calls are timed in turns with ours (rows.py). It prints
 * GFLOP/s, how many times as long each of them takes as ours, and of the faster one the geometric
 * mean over all shapes. Usage: products_bench [DTYPE [THREADS [NAME-PART]]]; without THREADS it
 * takes one thread, and then as many as there are cores.
 * SPDX-License-Identifier: MIT */
#include "tests/bench/beside.h"
#include "tests/bench/clock.h"
#include "tests/bench/figure.h"
#include "runtime/inst/element.h"
#include "runtime/inst/inst.h"
#include "worker/engine/engine.h"
#include <math.h>

/* `batch` products (M,K) @ (K,N), of which 1 and 0 are without a batch axis. ways: N: as it is; T:
 * the operand lies transposed in memory. */
typedef struct Shape {
    const char *group;
    int batch, M, K, N;
    const char *ways;
} Shape;
static const Shape shapes[] = {
#define SQUARE(n)                                                                                  \
    { "square", 0, n, n, n, "NN" }
    SQUARE(64),
    SQUARE(96),
    SQUARE(100),
    SQUARE(128),
    SQUARE(192),
    SQUARE(250),
    SQUARE(256),
    SQUARE(384),
    SQUARE(500),
    SQUARE(512),
    SQUARE(768),
    SQUARE(1000),
    SQUARE(1024),
    SQUARE(1536),
    SQUARE(2000),
    SQUARE(2048),
    SQUARE(3000),
    SQUARE(4096),
#define TRANSPOSED(n)                                                                              \
    {"transposed", 0, n, n, n, "NT"}, { "transposed", 0, n, n, n, "TN" }
    TRANSPOSED(100),
    TRANSPOSED(256),
    TRANSPOSED(500),
    TRANSPOSED(512),
    TRANSPOSED(1000),
    TRANSPOSED(1024),
    TRANSPOSED(2048),
    {"tall", 0, 4096, 64, 64, "NN"},
    {"tall", 0, 10000, 100, 100, "NN"},
    {"tall", 0, 4096, 256, 256, "NN"},
    {"tall", 0, 4096, 64, 1024, "NN"},
    {"tall", 0, 4096, 1024, 64, "NN"},
    {"tall", 0, 3000, 1000, 10, "NN"},
    {"wide", 0, 64, 64, 4096, "NN"},
    {"wide", 0, 64, 4096, 64, "NN"},
    {"wide", 0, 64, 4096, 4096, "NN"},
    {"wide", 0, 100, 1000, 3000, "NN"},
    {"wide", 0, 10, 100, 10000, "NN"},
#define FEW(m)                                                                                     \
    { "few rows", 0, m, 1024, 1024, "NN" }
    FEW(1),
    FEW(2),
    FEW(3),
    FEW(4),
    FEW(5),
    FEW(6),
    FEW(7),
    FEW(8),
    {"few rows", 0, 1, 4096, 4096, "NN"},
    {"few rows", 0, 1, 768, 3072, "NT"},
    {"few rows", 0, 2, 1000, 3000, "NN"},
    {"few rows", 0, 4, 768, 3072, "NT"},
    {"few rows", 0, 8, 4096, 1024, "NN"},
    {"few columns", 0, 1024, 1024, 1, "NN"},
    {"few columns", 0, 4096, 4096, 1, "NN"},
    {"few columns", 0, 1000, 1000, 4, "NN"},
    {"batch", 4096, 8, 8, 8, "NN"},
    {"batch", 2048, 16, 16, 16, "NN"},
    {"batch", 1024, 32, 32, 32, "NN"},
    {"batch", 512, 64, 64, 64, "NN"},
    {"batch", 100, 100, 100, 100, "NN"},
    {"batch", 32, 128, 128, 128, "NT"},
    {"batch", 48, 64, 32, 64, "NT"},
    {"batch", 48, 64, 64, 32, "NN"},
    {"batch", 24, 256, 64, 256, "NT"},
    {"batch", 24, 256, 256, 64, "NN"},
    {"batch", 96, 1, 64, 200, "NT"},
    {"layer", 0, 128, 784, 256, "NN"},
    {"layer", 0, 128, 256, 10, "NN"},
    {"layer", 0, 784, 128, 256, "TN"},
    {"layer", 0, 768, 128, 384, "NN"},
    {"layer", 0, 512, 768, 2304, "NT"},
    {"layer", 0, 512, 768, 3072, "NN"},
    {"layer", 0, 512, 3072, 768, "NN"},
};

static Engine *engine;
typedef struct Product {
    Arena arena;
    InstLine line;
    TensorType type[2], out[MAX_OUT];
    View view[2];
    Call call;
    char operands[100];
    bool has_failed;
} Product;

static void submit(void *ctx) {
    Product *p = ctx;
    Err err;
    Ticket t = engine->ops->submit(engine, &p->call, NULL, 0);
    p->has_failed |= engine->ops->done(engine, t, true, &err) < 0;
}

static void *room(const TensorType *t) {
    void *p = aligned_alloc(64, (size_t)(type_bytes(t) / 64 + 1) * 64);
    if (!p) panic("no memory for %lld bytes", (long long)type_bytes(t));
    return p;
}

/* An operand with the numbers of rows.py, and its text for it. */
static void add_operand(Product *p, int i, DType d, int batch, int rows, int columns, bool is_t) {
    View *v = &p->view[i];
    TensorType *t = &p->type[i];
    *t = (TensorType){.dtype = (uint8_t)d};
    if (batch) t->shape[t->rank++] = batch;
    t->shape[t->rank++] = rows, t->shape[t->rank++] = columns;
    v->type = *t;
    view_strides(t, v->stride);
    if (is_t) v->stride[t->rank - 2] = 1, v->stride[t->rank - 1] = rows;
    v->data = room(t);
    int64_t n = type_numel(t);
    for (int64_t k = 0; k < n; k++) {
        uint64_t mixed = ((uint64_t)k * 0x9E3779B97F4A7C15u) >> 20;
        element_set_float(d, (char *)v->data + k * dtype_info[d].size_bytes,
                          (double)(mixed % 1000) * 0.003 - 1.2);
    }
    size_t at = strlen(p->operands);
    char *text = p->operands + at;
    if (batch)
        snprintf(text, sizeof p->operands - at, " T[%d,%d,%d]%s" + !at, batch, rows, columns,
                 is_t ? "'" : "");
    else
        snprintf(text, sizeof p->operands - at, " T[%d,%d]%s" + !at, rows, columns,
                 is_t ? "'" : "");
}

static void prepare(Product *p, const Shape *s, DType d) {
    Err err;
    int n_out;
    add_operand(p, 0, d, s->batch, s->M, s->K, s->ways[0] == 'T');
    add_operand(p, 1, d, s->batch, s->K, s->N, s->ways[1] == 'T');
    static const char text[] = "t2 = matmul t0 t1";
    if (!inst_parse(text, strlen(text), &p->arena, &p->line, &err) ||
        !inst_infer(&p->line.inst, p->type, p->out, &n_out, &err))
        panic("%s: %s", p->operands, err.text);
    p->call = (Call){.inst = &p->line.inst, .n_in = 2, .n_out = 1, .in = p->view};
    View *o = &p->call.out[0];
    o->type = p->out[0];
    view_strides(&o->type, o->stride);
    o->data = room(&o->type);
}

/* What the shapes so far have come to. */
typedef struct Sum {
    int n, n_slower;
    double logs, least;
} Sum;

static void bench(const Shape *s, DType d, Sum *sum) {
    enum { TURNS = 3 };
    static const double SECONDS = 0.1;
    Product p = {.has_failed = false};
    prepare(&p, s, d);
    double ours = 1e9, torch = 1e9, numpy = 1e9;
    for (int i = 0; i < TURNS; i++) {
        double t = best_within(submit, &p, SECONDS / TURNS);
        ours = t < ours ? t : ours;
        t = beside_ask("matmul", dtype_info[d].text, SECONDS / TURNS, p.operands, "");
        torch = t < torch ? t : torch;
        t = beside_ask("matmul_numpy", dtype_info[d].text, SECONDS / TURNS, p.operands, "");
        numpy = t < numpy ? t : numpy;
    }
    if (p.has_failed) panic("%s failed", p.operands);
    double flops = 2.0 * s->M * s->N * s->K * (s->batch ? s->batch : 1);
    printf("  %-12s %-28s %10.1f us %7.1f GFLOP/s", s->group, p.operands, ours * 1e6,
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
    for (int i = 0; i < 2; i++) free(p.view[i].data);
    free(p.call.out[0].data);
    arena_fini(&p.arena);
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
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (!part || strstr(shapes[i].group, part)) bench(&shapes[i], d, &sum);
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
