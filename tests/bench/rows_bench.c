/* rows_bench: every row of the op table on the cpu engine, each against a limit measured in the
 * same run: rows that move memory against memcpy of as many bytes (operands read, results written),
 * rows that multiply matrices against our product of 1024 by 1024 (which kernel_bench compares with
 * plain oneDNN). If GT_BENCH_PYTHON names a Python with PyTorch, its time for the same stands
 * beside ours, taken in turns (rows.py). Rows below a third of their limit, or slower than PyTorch,
 * are marked, with the reason if there is one. New pointwise rows, reductions and sources appear by
 * themselves; a KERNEL row needs a line in `cases` if the default operands do not fit.
 * Usage: rows_bench [DTYPE [THREADS [ROW]]]
 * SPDX-License-Identifier: MIT */
#include "tests/bench/beside.h"
#include "tests/bench/call.h"
#include "tests/bench/clock.h"
#include <time.h>

/* ---- The cases ---- */

/* Operands: T is the dtype under test; ' after the shape: the last two axes lie transposed in
 * memory; contents after ~: eye (unit matrix), ramp (0, 1, 2, ...), or a number n (0 .. n - 1,
 * mixed up); else numbers between -1.2 and 1.8. flops: of one call. */
typedef struct Case {
    const char *op, *operands, *attrs;
    double flops;
} Case;
static const Case cases[] = {
    {"cast", "T[1024,1024]", " f64", 0},
    {"sum", "T[1024,1024]", " axis=1", 0},
    {"sum", "T[4096,1024]", " axis=0", 0},
    {"sum", "T[256,256,64]", " axis=1", 0},
    {"sum", "T[4,1024,1024]", " axis=0", 0},
    {"max", "T[1024,1024]", " axis=1", 0},
    {"max", "T[1024,1024]", " axis=0", 0},
    {"reshape", "T[1024,1024]'", " [1048576]", 0},
    {"matmul", "T[1024,1024] T[1024,1024]", "", 2.0 * 1024 * 1024 * 1024},
    {"matmul", "T[4096,8,8] T[4096,8,8]", "", 2.0 * 4096 * 8 * 8 * 8},
    {"matmul", "T[2048,16,16] T[2048,16,16]", "", 2.0 * 2048 * 16 * 16 * 16},
    {"matmul", "T[1024,32,32] T[1024,32,32]", "", 2.0 * 1024 * 32 * 32 * 32},
    {"matmul", "T[512,64,64] T[512,64,64]", "", 2.0 * 512 * 64 * 64 * 64},
    {"matmul", "T[512,64,64] T[512,64,64]'", "", 2.0 * 512 * 64 * 64 * 64},
    {"matmul", "T[1,256] T[256,256]'", "", 2.0 * 256 * 256},
    {"matmul", "T[1,768] T[768,768]'", "", 2.0 * 768 * 768},
    {"matmul", "T[1,768] T[768,768]", "", 2.0 * 768 * 768},
    {"matmul", "T[100000] T[100000]", "", 2.0 * 100000},
    {"cat", "T[512,1024] T[512,1024]", " axis=0", 0},
    {"slice_put", "T[1024,1024] T[512,1024]", " [0:1024:2,0:1024]", 0},
    {"index", "T[1024,1024] i64[1024]~1024", " axis=0", 0},
    {"index_put", "T[1024,1024] T[1024,1024] i64[1024]~1024", " axis=0", 0},
    {"gather", "T[1024,1024] i64[1024,1024]~1024", " axis=1", 0},
    {"scatter_add", "T[1024,1024] i64[1024,1024]~1024 T[1024,1024]", " axis=1", 0},
    {"scatter_reduce", "T[1024,1024] i64[1024,1024]~1024 T[1024,1024]", " axis=1 reduce=\"amax\"",
     0},
    {"searchsorted", "T[1024]~ramp T[1024,256]~1024", "", 0},
    {"cumsum", "T[1024,1024]", " axis=1", 0},
    {"cumsum", "T[1024,1024]", " axis=0", 0},
    {"topk", "T[1024,1024]", " axis=1 k=8", 0},
    {"qr_packed", "T[128,128]", "", 0},
    {"eigh_packed", "T[128,128]", "", 0},
    {"svd_packed", "T[128,128]", "", 0},
    {"cholesky", "T[512,512]~eye", "", 512.0 * 512 * 512 / 3},
    {"lu", "T[512,512]~eye", "", 2.0 * 512 * 512 * 512 / 3},
    {"solve", "T[512,512]~eye T[512,512] T[512,512]~eye i64[512]~ramp", "", 2.0 * 512 * 512 * 512},
    {"solve_triangular", "T[512,512]~eye T[512,512]", "", 1.0 * 512 * 512 * 512},
    {"conv", "T[8,64,56,56] T[64,64,3,3]", " padding=[1,1]", 2.0 * 8 * 56 * 56 * 64 * 64 * 9},
    {"conv_dx", "T[8,64,56,56] T[64,64,3,3]", " shape=[8,64,56,56] padding=[1,1]",
     2.0 * 8 * 56 * 56 * 64 * 64 * 9},
    {"conv_dw", "T[8,64,56,56] T[8,64,56,56]", " shape=[64,64,3,3] padding=[1,1]",
     2.0 * 8 * 56 * 56 * 64 * 64 * 9},
    {"max_pool", "T[8,64,64,64]", " kernel=[2,2]", 0},
    {"avg_pool", "T[8,64,64,64]", " kernel=[2,2]", 0},
    {"avg_pool_dx", "T[8,64,32,32]", " shape=[8,64,64,64] kernel=[2,2]", 0},
};
/* Reasons of rows that are slower than a third of their limit, or than PyTorch, and should be.
 * Times are of an element, on Zen 4 at 3.5 GHz, float32. */
static const struct {
    const char *op, *why;
} reasons[] = {
    {"sort", "radix sort: several passes over 16 bytes for each element"},
    {"argsort", "radix sort: several passes over 16 bytes for each element"},
    {"topk", "keys of all elements, then insertions into the best so far"},
    {"searchsorted", "10 dependent steps for each element, eight elements at a time"},
    {"cumsum", "one dependent sum in double after the other, four lines at a time"},
    {"recurrence", "one dependent product after the other"},
    {"cummax", "one dependent comparison after the other: 0.9 ns"},
    {"scatter_add", "scattered addresses, in order: 0.95 ns"},
    {"scatter_reduce", "scattered addresses, in order"},
    {"gather", "scattered addresses, and all indices are checked first: 0.75 ns"},
    {"argmax", "two passes over what memcpy sees once: the value, then its place"},
    {"argmin", "two passes over what memcpy sees once: the value, then its place"},
    {"prod", "products of 64 bits"},
    {"matmul", "one row by a transposed factor, or a dot product: leaves are lanes, so factors "
               "are transposed in registers: 14 to 28 GFLOP/s"},
    {"conv", "not float32: our own product over copied columns"},
    {"conv_dx", "not float32: our own product over copied columns"},
    {"conv_dw", "not float32: our own product over copied columns"},
    {"max", "nan wins: a comparison and a choice more for each vector, 0.7 of memcpy"},
    {"min", "nan wins: a comparison and a choice more for each vector, 0.7 of memcpy"},
    {"sum", "0.65 to 0.9 of memcpy: tiles of 64 columns where an axis in the middle is summed"},
    {"qr_packed", "in double, column by column, by vectors of 16 bytes: 6 GFLOP/s"},
    {"eigh_packed", "in double, by vectors of 16 bytes: two fifths rotate the eigenvectors"},
    {"svd_packed", "one-sided Jacobi in double: 13 sweeps over all pairs of rows"},
    {"lgamma", "no vectors: libm in double, element by element, 17 ns"},
    {"digamma", "no vectors: a recurrence in double, 20 ns (PyTorch's errs by 6.8 ulp)"},
    {"polygamma", "a series in double for each element"},
    {"solve", "float64: half the lanes, our own product"},
    {"solve_triangular", "float64: half the lanes, our own product"},
    {"reshape", "a transposed view: its lines are too far apart for a processor to prefetch"},
    {"full", "writes only, twice what the copy beside it writes: 70 GB/s"},
    {"rsqrt", "a square root and a division: 14 cycles for 16 numbers"},
    {"arange", "made in double, then rounded: 0.4 ns"},
    {"cholesky", "n = 512: panels, column by column, weigh as much as the products: 24 GFLOP/s"},
    {"lu", "n = 512: panels, column by column, weigh as much as the products: 35 GFLOP/s"},
    {"max_pool", "windows of few elements, one after the other"},
    {"avg_pool", "windows of few elements, one after the other"},
    {"avg_pool_dx", "windows of few elements, one after the other"},
    {"floordiv",
     "exact: a division in double and its correction, 1.7 ns, and 3 with half the lanes"},
    {"mod", "exact remainder: a division in double, 1.1 ns, and 2.1 with half the lanes"},
    {"fmod", "exact remainder: a division in double, 1.1 ns, and 2.1 with half the lanes"},
    {"gelu", "1.96 ulp everywhere, by a division, two polynomials and an exponential: 0.9 ns "
             "(PyTorch's errs by 2.1 million ulp at -5)"},
    {"gelu_dx",
     "a division, two polynomials and an exponential: 0.7 ns, and 1.1 with half the lanes"},
    {"exp2", "in double, 0.51 ulp (PyTorch's: 0.82): a chain of 7 products and sums, 0.7 ns"},
    {"atan2", "in double, 0.51 ulp (PyTorch's: 0.87): a division and 7 products and sums, 2.1 ns"},
    {"sin", "in double, 0.51 ulp for every float (PyTorch's: 0.61 up to 5), 1.5 ns"},
    {"cos", "in double, 0.51 ulp for every float (PyTorch's: 0.61 up to 5), 1.5 ns"},
    {"randn",
     "Philox as for rand, and per pair a logarithm, a square root, sine and cosine in double"},
    {"rand", "Philox: 63 operations on 512 bits for 32 numbers, of which 2 start in a cycle"},
    {"randint", "Philox as for rand, and two products for two numbers"},
};

static const char *reason_of(Op op) {
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (!strcmp(reasons[i].op, op_info[op].name)) return reasons[i].why;
    const char *e = op_info[op].expr; /* the price of a transcendental function */
    static const char *const heavy[] = {"EXP", "LOG",  "POW",  "SIN",  "COS",   "TAN",
                                        "ERF", "GELU", "SIGM", "SOFT", "HYPOT", "DIV("};
    for (size_t i = 0; i < sizeof heavy / sizeof *heavy; i++)
        if (strstr(e, heavy[i])) return "arithmetic, not memory, is its bound";
    return NULL;
}

/* ---- One row ---- */

static double best_s(void (*fn)(void *), void *ctx) { return best_within(fn, ctx, 0.03); }
static void copy(void *ctx) {
    void **p = ctx;
    memcpy(p[0], p[1], *(size_t *)p[2]);
}

/* Default operands of a row without a case. */
static void defaults(Op op, DType d, char *operands, size_t cap, char *attrs, size_t cap_attrs) {
    const OpInfo *o = &op_info[op];
    *operands = *attrs = 0;
    if (o->class_ == CLASS_SOURCE) {
        const char *shape = op == OP_ARANGE ? "1048576" : "1024,1024";
        snprintf(attrs, cap_attrs, " [%s] %s%s%s", shape, dtype_info[d].text,
                 strcmp(o->shape_name, "random") ? "" : " rng=1:2",
                 op == OP_FULL   ? " 1"
                 : o->arity == 2 ? " 0 5"
                                 : "");
        return;
    }
    for (int i = 0; i < (o->arity < 0 ? 2 : o->arity); i++)
        snprintf(operands + strlen(operands), cap - strlen(operands), "%s%s[1024,1024]",
                 i ? " " : "", op == OP_WHERE && i == 0 ? "b1" : "T");
    if (o->class_ == CLASS_KERNEL || o->class_ == CLASS_REDUCE)
        snprintf(attrs, cap_attrs, " axis=1");
}

static double memcpy_s(size_t bytes) {
    char *a = aligned_alloc(64, bytes / 64 * 64 + 64), *b = aligned_alloc(64, bytes / 64 * 64 + 64);
    memset(a, 1, bytes), memset(b, 1, bytes);
    double s = best_s(copy, (void *[]){a, b, &bytes});
    free(a), free(b);
    return s;
}

static int n_slow, n_behind, n_unexplained;

/* Prints a row that took s seconds, PyTorch `torch` (0: no such row). */
static void show(const Work *w, Op op, DType d, const char *name, double s, double bound,
                 double torch) {
    bool is_product = w->flops > 0, is_slow = bound / s < 1.0 / 3, is_behind = torch && torch < s;
    const char *why = reason_of(op);
    char beside[64] = "";
    if (!why && bound / s > 0.85) why = "bound by memory: 0.85 to 1 of memcpy";
    if (!why && op_has(op, FACT_CHEAP) && w->bytes > 8e6 && bound / s > 0.6)
        why = "bound by memory: 0.6 to 1.3 of memcpy, as others use the last cache";
    if (!why && dtype_is_half(d)) why = "widened to float32 and rounded";
    if (torch) snprintf(beside, sizeof beside, "%10.1f us %6.2f x", torch * 1e6, torch / s);
    bool is_marked = torch ? is_behind : is_slow;
    n_slow += is_slow, n_behind += is_behind;
    n_unexplained += is_marked && !why;
    printf("  %-28s %-4s %10.1f us %8.2f %-7s %5.2f of %-6s %s %s%s\n", name, dtype_info[d].text,
           s * 1e6, (is_product ? w->flops : w->bytes) / s * 1e-9, is_product ? "GFLOP/s" : "GB/s",
           bound / s, is_product ? "matmul" : "memcpy", beside, is_marked ? "<< " : "",
           is_marked ? why ? why : "?" : "");
    fflush(stdout);
}

/* The name of a row: the operation, and its shapes if it has several cases. */
static void name_row(const Case *c, char *name, size_t cap) {
    int n = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) n += !strcmp(cases[i].op, c->op);
    snprintf(name, cap, "%s", c->op);
    if (n == 1) return;
    size_t at = strlen(name);
    const char *p = strchr(c->operands, '[');
    while (p && at + 24 < cap) {
        at += (size_t)snprintf(name + at, cap - at, " %.*s", (int)(strcspn(p + 1, "]")), p + 1);
        if (p[strcspn(p, "]") + 1] == '\'') name[at++] = '\'', name[at] = 0;
        p = strchr(p + 1, '[');
    }
    snprintf(name + at, cap - at, "%s", c->attrs);
}

static void bench(Op op, DType d, double peak, const Case *c) {
    enum { TURNS = 3 };
    const OpInfo *o = &op_info[op];
    char operands[200], attrs[100], name[80];
    Work w = {.bytes = 0};
    Err err = {0};
    bool is_float_only = op == OP_RAND || op == OP_RANDN || op == OP_CHOLESKY || op == OP_LU ||
                         op == OP_SOLVE || op == OP_SOLVE_TRIANGULAR;
    bool is_wide_only =
        op == OP_CHOLESKY || op == OP_LU || op == OP_SOLVE || op == OP_SOLVE_TRIANGULAR;
    if (!(o->in & DSET(d)) || (is_float_only && !dtype_is_float(d)) ||
        (is_wide_only && dtype_is_half(d)))
        d = o->in & DSET(DT_F32) ? DT_F32 : DT_I64;
    defaults(op, d, operands, sizeof operands, attrs, sizeof attrs);
    snprintf(name, sizeof name, "%s", o->name);
    if (c) {
        snprintf(operands, sizeof operands, "%s", c->operands), w.flops = c->flops;
        snprintf(attrs, sizeof attrs, "%s", c->attrs);
        name_row(c, name, sizeof name);
    }
    if (op == OP_CAST && d == DT_F64) snprintf(attrs, sizeof attrs, " f32");
    bool ok = prepare(&w, op, operands, attrs, d, &err);
    double s = 1e9, torch = 1e9;
    for (int i = 0; ok && i < TURNS; i++) {
        double ours = best_within(submit, &w, 0.03 / TURNS);
        double theirs = beside_ask(o->name, dtype_info[d].text, 0.03 / TURNS, operands, attrs);
        s = ours < s ? ours : s, torch = theirs < torch ? theirs : torch;
        ok = w.bytes > 0;
    }
    if (!ok) {
        printf("  %-28s %-4s not measured: %s\n", name, dtype_info[d].text,
               err.text[0] ? err.text : "it failed");
        n_unexplained++;
    } else {
        double bound = w.flops > 0 ? w.flops / peak : memcpy_s((size_t)(w.bytes / 2));
        show(&w, op, d, name, s, bound, torch);
    }
    work_free(&w);
}

/* All cases of a row; the default operands if there are none. */
static void bench_row(Op op, DType d, double peak) {
    int n = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(cases[i].op, op_info[op].name)) bench(op, d, peak, &cases[i]), n++;
    if (!n) bench(op, d, peak, NULL);
}

/* FLOP/s of a product of 1024 by 1024 in float32. */
static double peak_flops(void) {
    Work w = {.bytes = 0};
    Err err = {0};
    if (!prepare(&w, OP_MATMUL, "f32[1024,1024] f32[1024,1024]", "", DT_F32, &err))
        panic("matmul: %s", err.text);
    double s = best_s(submit, &w);
    work_free(&w);
    return 2.0 * 1024 * 1024 * 1024 / s;
}

int main(int argc, char **argv) {
    DType d = argc > 1 ? dtype_find(argv[1], strlen(argv[1])) : DT_F32;
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    Err err = {0};
    if (d == DT_NONE) {
        fprintf(stderr, "rows_bench: '%s' is not a dtype\n", argv[1]);
        return 1;
    }
    clock_id = threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    engine = engine_cpu.open(&(EngineConfig){UINT64_C(1) << 30, threads}, &err);
    if (!engine) {
        fprintf(stderr, "rows_bench: %s\n", err.text);
        return 1;
    }
    double peak = peak_flops();
    char version[80];
    bool is_beside = beside_open(threads, version, sizeof version);
    printf("engine %s, %d thread%s, matmul %.1f GFLOP/s\n", engine->ops->isa(engine), threads,
           threads == 1 ? "" : "s", peak * 1e-9);
    if (is_beside) printf("beside PyTorch %s; x: how many times as long as ours\n", version);
    for (Op op = 0; op < OP_COUNT; op++) {
        OpClass k = op_info[op].class_;
        if (k == CLASS_CONTROL || op == OP_DATA || (k == CLASS_VIEW && op != OP_RESHAPE)) continue;
        if (argc > 3 && strcmp(argv[3], op_info[op].name)) continue;
        bench_row(op, d, peak);
    }
    printf("%d below a third of their bound", n_slow);
    if (beside_to) printf(", %d slower than PyTorch", n_behind);
    printf("; %d marked (or not measured) without a reason\n", n_unexplained);
    engine_cpu.close(&engine);
    return 0;
}
