/* fuse_bench: fusions as one kernel, against the same ops one by one on the same engine and
 * against memcpy of the bytes that the fusion must read and write, all in one run, with 1 and 2
 * threads: a GELU by hand of 4 M elements; softmax, layer norm and log-sum-exp over (4096, 1024);
 * an Adam step over 10 M parameters in 50 tensors. Usage: fuse_bench [THREADS ...]
 * SPDX-License-Identifier: MIT */
#include "tests/bench/clock.h"
#include "tests/bench/figure.h"
#include "runtime/inst/inst.h"
#include "worker/kernel/emit.h"
#include "worker/emit/fuse.h"
#include "worker/jit/jit.h"
#include "worker/kernel/kernels.h"
#include "worker/engine/pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double best_s(void (*fn)(void *), void *ctx) { return best_within(fn, ctx, 0.5); }

static Engine *engine;
static Pool *pool;
static Jit *jit;

/* ---- A program, built once for both runs ---- */

enum { OPS = 24 };
typedef struct Step {
    Inst inst;
    Call call;
    View in[3];
    Operand operand[3];
    Attr attr[2];
    int64_t axis;
} Step;
typedef struct Program {
    const char *name;
    Fusion fuse;
    int n;
    Step step[OPS];
    View value[OPS + 8]; /* eager tensors; inputs first */
    FuseRef ref[OPS + 8];
    int n_values;
    float scalar[OPS];
    int n_scalars;
    double bytes; /* bytes that the fusion reads and writes */
    const FusedKernel *kernel;
} Program;

static void *memory(uint64_t bytes) {
    void *p = aligned_alloc(4096, (bytes + 8191) / 4096 * 4096);
    if (!p) exit(1);
    memset(p, 0, bytes);
    return p;
}

static int input(Program *p, TensorType type) {
    View *v = &p->value[p->n_values];
    v->type = type;
    view_strides(&type, v->stride);
    v->data = memory(type_bytes(&type));
    for (int64_t i = 0; i < type_numel(&type); i++)
        ((float *)v->data)[i] = (float)(i * 7919 % 1000) * 0.004f - 1.9f;
    p->ref[p->n_values] = fuse_input(&p->fuse, v);
    p->bytes += (double)type_bytes(&type);
    return p->n_values++;
}
static int scalar(Program *p, float x) {
    View *v = &p->value[p->n_values];
    p->scalar[p->n_scalars] = x;
    *v = (View){.type.dtype = DT_F32, .is_scalar = true, .data = &p->scalar[p->n_scalars++]};
    p->ref[p->n_values] = fuse_scalar(&p->fuse, DT_F32, v->data);
    return p->n_values++;
}
/* One op; b < 0: it has one operand. */
static int op(Program *p, Op o, int a, int b) {
    Step *s = &p->step[p->n++];
    View *v = &p->value[p->n_values];
    bool reduces = op_info[o].class_ == CLASS_REDUCE;
    int rank = p->fuse.space.rank;
    v->type =
        p->value[a].is_scalar || (b >= 0 && p->value[b].type.rank == rank &&
                                  type_numel(&p->value[b].type) > type_numel(&p->value[a].type))
            ? p->value[b].type
            : p->value[a].type;
    if (reduces) v->type.shape[rank - 1] = 1;
    bool is_row = p->fuse.trailing && v->type.shape[rank - 1] == 1;
    view_strides(&v->type, v->stride);
    v->data = memory(type_bytes(&v->type));
    s->axis = rank - 1;
    s->attr[0] = (Attr){.key = ATTR_AXIS, .n = 1, .ints = &s->axis};
    s->attr[1] = (Attr){.key = ATTR_KEEPDIMS, .b = true};
    s->inst = (Inst){.op = o,
                     .n_in = (uint16_t)(1 + (b >= 0)),
                     .n_out = 1,
                     .in = s->operand,
                     .attr = s->attr,
                     .n_attr = reduces ? 2 : 0};
    s->in[0] = p->value[a];
    if (b >= 0) s->in[1] = p->value[b];
    s->call = (Call){.inst = &s->inst, .n_in = s->inst.n_in, .n_out = 1, .in = s->in, .out = {*v}};
    FuseRef in[2] = {p->ref[a], b >= 0 ? p->ref[b] : FUSE_NONE};
    p->ref[p->n_values] = fuse_node(&p->fuse, o, DT_F32, is_row, in, s->inst.n_in);
    return p->n_values++;
}
static void store(Program *p, int value, void *over) {
    const View *v = &p->value[value];
    *fuse_store(&p->fuse, p->ref[value]) = over ? over : memory(type_bytes(&v->type));
    p->bytes += (double)type_bytes(&v->type);
}

/* ---- The programs ---- */

static void start(Program *p, const char *name, int64_t rows, int64_t columns, int trailing) {
    memset(p, 0, sizeof *p);
    p->name = name;
    TensorType space = {.dtype = DT_F32, .rank = 2, .shape = {rows, columns}};
    fuse_init(&p->fuse, &space, trailing);
}
static void gelu(Program *p) {
    start(p, "GELU by hand, 9 ops, 4 M", 4, 1 << 20, 0);
    int x = input(p, p->fuse.space);
    int t = op(p, OP_MUL, op(p, OP_MUL, x, x), x);
    t = op(p, OP_ADD, op(p, OP_MUL, t, scalar(p, 0.044715f)), x);
    t = op(p, OP_TANH, op(p, OP_MUL, t, scalar(p, 0.7978845608f)), -1);
    t = op(p, OP_MUL, op(p, OP_ADD, t, scalar(p, 1)), x);
    store(p, op(p, OP_MUL, t, scalar(p, 0.5f)), NULL);
}
static void add(Program *p) {
    start(p, "x * 2 + y, 4 M", 4, 1 << 20, 0);
    int x = input(p, p->fuse.space), y = input(p, p->fuse.space);
    store(p, op(p, OP_ADD, op(p, OP_MUL, x, scalar(p, 2)), y), NULL);
}
static void softmax(Program *p) {
    start(p, "softmax (4096, 1024)", 4096, 1024, 1);
    int x = input(p, p->fuse.space);
    int e = op(p, OP_EXP, op(p, OP_SUB, x, op(p, OP_MAX, x, -1)), -1);
    store(p, op(p, OP_DIV, e, op(p, OP_SUM, e, -1)), NULL);
}
static void layer_norm(Program *p) {
    start(p, "layer norm (4096, 1024)", 4096, 1024, 1);
    TensorType row = {.dtype = DT_F32, .rank = 1, .shape = {1024}};
    int x = input(p, p->fuse.space), w = input(p, row), b = input(p, row);
    int n = scalar(p, 1.0f / 1024);
    int d = op(p, OP_SUB, x, op(p, OP_MUL, op(p, OP_SUM, x, -1), n));
    int var = op(p, OP_MUL, op(p, OP_SUM, op(p, OP_SQUARE, d, -1), -1), n);
    int r = op(p, OP_RSQRT, op(p, OP_ADD, var, scalar(p, 1e-5f)), -1);
    store(p, op(p, OP_ADD, op(p, OP_MUL, op(p, OP_MUL, d, r), w), b), NULL);
}
static void log_sum_exp(Program *p) {
    start(p, "log-sum-exp (4096, 1024)", 4096, 1024, 1);
    int x = input(p, p->fuse.space), m = op(p, OP_MAX, x, -1);
    int e = op(p, OP_EXP, op(p, OP_SUB, x, m), -1);
    store(p, op(p, OP_ADD, op(p, OP_LOG, op(p, OP_SUM, e, -1), -1), m), NULL);
}
static void squared_error(Program *p) {
    start(p, "sum of (x - y) ** 2, 4 M", 1, 1 << 22, 1);
    int x = input(p, p->fuse.space), y = input(p, p->fuse.space);
    int d = op(p, OP_SUB, x, y);
    store(p, op(p, OP_SUM, op(p, OP_SQUARE, d, -1), -1), NULL);
}
static void adam(Program *p) {
    start(p, "Adam, one of 50 tensors", 200, 1000, 0);
    int w = input(p, p->fuse.space), g = input(p, p->fuse.space), m = input(p, p->fuse.space),
        v = input(p, p->fuse.space);
    int m2 = op(p, OP_ADD, op(p, OP_MUL, m, scalar(p, 0.9f)), op(p, OP_MUL, g, scalar(p, 0.1f)));
    int g2 = op(p, OP_MUL, op(p, OP_SQUARE, g, -1), scalar(p, 0.001f));
    int v2 = op(p, OP_ADD, op(p, OP_MUL, v, scalar(p, 0.999f)), g2);
    int d = op(p, OP_ADD, op(p, OP_SQRT, op(p, OP_MUL, v2, scalar(p, 10)), -1), scalar(p, 1e-8f));
    int u = op(p, OP_MUL, op(p, OP_DIV, m2, d), scalar(p, 0.01f));
    store(p, m2, p->value[m].data);
    store(p, v2, p->value[v].data);
    store(p, op(p, OP_SUB, w, u), p->value[w].data);
}

/* ---- Running ---- */

enum { TENSORS = 50 };
typedef struct Runs {
    Program *p;
    int n; /* the same program, several times in a row */
    char *from, *to;
} Runs;

static void run_eager(void *ctx) {
    const Runs *r = ctx;
    for (int k = 0; k < r->n; k++)
        for (int i = 0; i < r->p[k].n; i++)
            engine->ops->submit(engine, &r->p[k].step[i].call, NULL, 0);
}
static void run_fused(void *ctx) {
    const Runs *r = ctx;
    for (int k = 0; k < r->n; k++) {
        fuse_done(&r->p[k].fuse);
        engine->ops->fused(engine, &r->p[k].fuse, r->p[0].kernel);
    }
}
static void copy_part(void *ctx, int part, int thread) {
    (void)thread;
    const Runs *r = ctx;
    int64_t n = (int64_t)(r->p[0].bytes * r->n / 2), piece = 1 << 18;
    int64_t at = part * piece, some = n - at < piece ? n - at : piece;
    memcpy(r->to + at, r->from + at, (size_t)some);
}
static void run_copy(void *ctx) {
    const Runs *r = ctx;
    int64_t n = (int64_t)(r->p[0].bytes * r->n / 2), piece = 1 << 18;
    pool_run(pool, (int)((n + piece - 1) / piece), copy_part, ctx);
}
static void make_source(void *ctx, Bytes *out) { emit_fusion(out, ctx); }

static void bench(void (*build)(Program *), int n, const char *title) {
    Program *p = calloc((size_t)n, sizeof *p);
    for (int i = 0; i < n; i++) {
        build(&p[i]);
        if (!fuse_done(&p[i].fuse)) exit(1);
    }
    Fusion *f = &p->fuse;
    for (int i = 0; i < 2; i++) {
        p->kernel = jit_get(jit, f->signature, f->signature_bytes, f->hash, make_source, f);
        if (!p->kernel && !jit_wait(jit, 60000)) exit(1);
    }
    if (!p->kernel) exit(1);
    Runs r = {p, n, memory((uint64_t)(p->bytes * n)), memory((uint64_t)(p->bytes * n))};
    double copy = best_s(run_copy, &r), eager = best_s(run_eager, &r);
    double fused = best_s(run_fused, &r);
    printf("  %-26s %9.0f us eager %9.0f us fused   eager/fused %5.2f   memcpy/fused %4.2f\n",
           title ? title : p->name, eager * 1e6, fused * 1e6, eager / fused, copy / fused);
    char words[128];
    snprintf(words, sizeof words, "one kernel beside one by one, %d thread%s: %s",
             pool_threads(pool), pool_threads(pool) > 1 ? "s" : "", title ? title : p->name);
    figure(words, eager / fused, "x", "-");
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < p[i].n_values; k++)
            if (!p[i].value[k].is_scalar) free(p[i].value[k].data);
    }
    free(r.from);
    free(r.to);
    free(p);
}

int main(int argc, char **argv) {
    char dir[] = "/tmp/gt_fuse_bench.XXXXXX";
    if (!mkdtemp(dir)) return 1;
    JitConfig how = {.isa = kernels_find()->isa, .dir = dir};
    jit = jit_new(&how);
    for (int k = 1; k < (argc > 1 ? argc : 3); k++) {
        int threads = argc > 1 ? atoi(argv[k]) : k;
        Err err;
        EngineConfig config = {.memory_bytes = UINT64_C(1) << 28, .threads = threads};
        engine = engine_cpu.open(&config, &err);
        if (!engine) panic("%s", err.text);
        pool = pool_new(threads);
        clock_id = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
        printf("engine %s, %d thread%s\n", engine->ops->isa(engine), threads,
               threads == 1 ? "" : "s");
        bench(add, 1, NULL);
        bench(gelu, 1, NULL);
        bench(squared_error, 1, NULL);
        bench(softmax, 1, NULL);
        bench(layer_norm, 1, NULL);
        bench(log_sum_exp, 1, NULL);
        bench(adam, TENSORS, "Adam, 10 M in 50 tensors");
        pool_free(&pool);
        engine->ops->close(&engine);
    }
    JitStats s = jit_stats(jit);
    printf("%llu kernels compiled in %.0f ms\n", (unsigned long long)s.compiled, s.compile_ms);
    jit_free(&jit);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) != 0;
}
