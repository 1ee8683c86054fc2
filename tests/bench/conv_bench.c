/* conv_bench: convolutions and their gradients on the cpu engine against plain oneDNN in the same
 * run, with its own threads and layouts: between row-major operands and results ("whole"), and
 * without the conversions ("kernel": what a program could reach that never left those layouts).
 * Prints GFLOP/s and ratios. Skipped without the library. Usage: conv_bench [THREADS]
 * SPDX-License-Identifier: MIT */
#include "tests/bench/clock.h"
#include "runtime/inst/inst.h"
#include "runtime/infer/window.h"
#include "worker/engine/engine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

static struct Api {
#define DNNL(function) __typeof__(&function) function;
#include "worker/dnnl/dnnl_api.def"
    void (*omp_set_num_threads)(int);
} api;
static dnnl_engine_t bare_engine;
static dnnl_stream_t bare_stream;
static Engine *engine;

static bool load(void) {
    void *l = dlopen("libdnnl.so.2", RTLD_LAZY | RTLD_LOCAL);
    if (!l) return false;
#define DNNL(function)                                                                             \
    *(void **)&api.function = dlsym(l, #function);                                                 \
    if (!api.function) return false;
#include "worker/dnnl/dnnl_api.def"
    *(void **)&api.omp_set_num_threads = dlsym(l, "omp_set_num_threads");
    return api.omp_set_num_threads && !api.dnnl_engine_create(&bare_engine, dnnl_cpu, 0) &&
           !api.dnnl_stream_create(&bare_stream, bare_engine, dnnl_stream_default_flags);
}

/* N images of C channels, H x H, to O channels by K x K, stride S, padding P. */
typedef struct Shape {
    const char *what;
    int64_t N, C, H, O, K, S, P;
} Shape;
typedef enum Kind { FORWARD, DX, DW } Kind;
static const char *const kinds[] = {"forward", "dx", "dw"};

static int64_t out_of(const Shape *s) { return window_count(s->H, s->K, s->S, s->P, 1, false); }

static float *floats(int64_t n) {
    float *p = aligned_alloc(64, (size_t)(n * 4 + 63) / 64 * 64);
    for (int64_t i = 0; i < n; i++) p[i] = (float)(i % 1000) * 0.003f - 1.2f;
    return p;
}

static double best_s(void (*fn)(void *), void *ctx) { return best_within(fn, ctx, 0.1); }

/* ---- Ours ---- */

static void submit(void *ctx) { engine->ops->submit(engine, ctx, NULL, 0); }

static double ours_s(const Shape *s, Kind kind, float *const data[3]) {
    int64_t Q = out_of(s), stride[] = {s->S, s->S}, padding[] = {s->P, s->P};
    TensorType t[3] = {{DT_F32, 4, {s->N, s->C, s->H, s->H}},
                       {DT_F32, 4, {s->O, s->C, s->K, s->K}},
                       {DT_F32, 4, {s->N, s->O, Q, Q}}};
    static const int order[3][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}};
    static const Op ops[] = {OP_CONV, OP_CONV_DX, OP_CONV_DW};
    View in[2] = {{.type = t[order[kind][0]], .data = data[order[kind][0]]},
                  {.type = t[order[kind][1]], .data = data[order[kind][1]]}};
    Attr attr[3] = {{.key = ATTR_STRIDE, .n = 2, .ints = stride},
                    {.key = ATTR_PADDING, .n = 2, .ints = padding},
                    {.key = ATTR_SHAPE, .n = 4, .ints = t[order[kind][2]].shape}};
    Operand operand[2] = {{.kind = IN_TENSOR}, {.kind = IN_TENSOR}};
    Inst inst = {.op = ops[kind], .n_in = 2, .n_out = 1, .in = operand, .attr = attr};
    inst.n_attr = kind == FORWARD ? 2 : 3;
    Call call = {.inst = &inst, .n_in = 2, .n_out = 1, .in = in};
    call.out[0] = (View){.type = t[order[kind][2]], .data = data[order[kind][2]]};
    for (int i = 0; i < 2; i++) view_strides(&in[i].type, in[i].stride);
    view_strides(&call.out[0].type, call.out[0].stride);
    return best_s(submit, &call);
}

/* ---- The library's ---- */

typedef struct Step {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arg[3];
    int n_args;
} Step;
typedef struct Bare {
    Step step[4];
    int n_steps, kernel;
} Bare;
static void run_step(const Step *s) {
    api.dnnl_primitive_execute(s->primitive, bare_stream, s->n_args, s->arg);
}
static void whole(void *ctx) {
    const Bare *b = ctx;
    for (int i = 0; i < b->n_steps; i++) run_step(&b->step[i]);
}
static void kernel(void *ctx) {
    const Bare *b = ctx;
    run_step(&b->step[b->kernel]);
}

/* A conversion between row-major and one of the library's layouts, unless they are equal. */
static dnnl_memory_t laid_out(Bare *b, const dnnl_memory_desc_t *plain,
                              const dnnl_memory_desc_t *own, float *data, bool is_result) {
    dnnl_memory_t p, o;
    api.dnnl_memory_create(&p, plain, bare_engine, data);
    if (api.dnnl_memory_desc_equal(plain, own)) return p;
    api.dnnl_memory_create(&o, own, bare_engine, DNNL_MEMORY_ALLOCATE);
    dnnl_primitive_desc_t pd;
    api.dnnl_reorder_primitive_desc_create(&pd, is_result ? own : plain, bare_engine,
                                           is_result ? plain : own, bare_engine, NULL);
    Step s = {.n_args = 2,
              .arg = {{DNNL_ARG_FROM, is_result ? o : p}, {DNNL_ARG_TO, is_result ? p : o}}};
    api.dnnl_primitive_create(&s.primitive, pd);
    b->step[b->n_steps++] = s;
    return o;
}

/* Seconds of the whole and of the kernel alone. The objects live until the process ends. */
static void bare_s(const Shape *s, Kind kind, float *const data[3], double *all, double *alone) {
    int64_t Q = out_of(s);
    dnnl_dims_t dims[3] = {{s->N, s->C, s->H, s->H}, {s->O, s->C, s->K, s->K}, {s->N, s->O, Q, Q}};
    dnnl_dims_t stride = {s->S, s->S}, padding = {s->P, s->P}, gap = {0, 0};
    dnnl_memory_desc_t plain[3], any[3];
    for (int i = 0; i < 3; i++) {
        dnnl_dims_t step = {0};
        for (int d = 3, n = 1; d >= 0; d--) step[d] = n, n *= (int)dims[i][d];
        api.dnnl_memory_desc_init_by_strides(&plain[i], 4, dims[i], dnnl_f32, step);
        api.dnnl_memory_desc_init_by_tag(&any[i], 4, dims[i], dnnl_f32, dnnl_format_tag_any);
    }
    dnnl_convolution_desc_t d;
    dnnl_primitive_desc_t forward, pd;
    api.dnnl_dilated_convolution_forward_desc_init(&d, dnnl_forward_training,
                                                   dnnl_convolution_direct, &any[0], &any[1], NULL,
                                                   &any[2], stride, gap, padding, padding);
    api.dnnl_primitive_desc_create(&forward, &d, NULL, bare_engine, NULL);
    pd = forward;
    if (kind == DX)
        api.dnnl_dilated_convolution_backward_data_desc_init(
            &d, dnnl_convolution_direct, &any[0], &any[1], &any[2], stride, gap, padding, padding);
    if (kind == DW)
        api.dnnl_dilated_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct,
                                                                &any[0], &any[1], NULL, &any[2],
                                                                stride, gap, padding, padding);
    if (kind != FORWARD) api.dnnl_primitive_desc_create(&pd, &d, NULL, bare_engine, forward);
    static const dnnl_query_t query[3][3] = {
        {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
        {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
        {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md}};
    static const int args[3][3] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                   {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
                                   {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
    static const int result[3] = {2, 0, 1};
    Bare b = {0};
    Step conv = {.n_args = 3}, back = {0};
    for (int i = 0; i < 3; i++) {
        int before = b.n_steps;
        const dnnl_memory_desc_t *own = api.dnnl_primitive_desc_query_md(pd, query[kind][i], 0);
        conv.arg[i].arg = args[kind][i];
        conv.arg[i].memory = laid_out(&b, &plain[i], own, data[i], i == result[kind]);
        if (i == result[kind] && b.n_steps > before) back = b.step[--b.n_steps];
    }
    api.dnnl_primitive_create(&conv.primitive, pd);
    b.kernel = b.n_steps;
    b.step[b.n_steps++] = conv;
    if (back.n_args) b.step[b.n_steps++] = back;
    *all = best_s(whole, &b);
    *alone = best_s(kernel, &b);
}

static void measure(const Shape *s) {
    int64_t Q = out_of(s),
            n[3] = {s->N * s->C * s->H * s->H, s->O * s->C * s->K * s->K, s->N * s->O * Q * Q};
    double flops = 2.0 * (double)(n[2] * s->C * s->K * s->K) * 1e-9;
    float *data[3] = {floats(n[0]), floats(n[1]), floats(n[2])};
    for (int kind = 0; kind < 3; kind++) {
        double all, alone, ours = ours_s(s, kind, data);
        bare_s(s, kind, data, &all, &alone);
        printf("%-34s %-7s %7.1f GFLOP/s   bare oneDNN: whole %7.1f (%.2f)   kernel %7.1f (%.2f)\n",
               s->what, kinds[kind], flops / ours, flops / all, all / ours, flops / alone,
               alone / ours);
    }
    for (int i = 0; i < 3; i++) free(data[i]);
}

int main(int argc, char **argv) {
    static const Shape shapes[] = {
        {"first layer 8x3x112 to 64, 7/2", 8, 3, 112, 64, 7, 2, 3},
        {"resnet 8x64x56 to 64, 3", 8, 64, 56, 64, 3, 1, 1},
        {"resnet 8x128x28 to 128, 3", 8, 128, 28, 128, 3, 1, 1},
        {"resnet 8x128x28 to 256, 3/2", 8, 128, 28, 256, 3, 2, 1},
        {"resnet 8x256x14 to 256, 3", 8, 256, 14, 256, 3, 1, 1},
        {"resnet 8x512x7 to 512, 3", 8, 512, 7, 512, 3, 1, 1},
        {"resnet 8x64x56 to 256, 1", 8, 64, 56, 256, 1, 1, 0},
        {"one image 1x128x28 to 128, 3", 1, 128, 28, 128, 3, 1, 1},
        {"mnist 64x1x28 to 16, 3", 64, 1, 28, 16, 3, 1, 1},
        {"mnist 64x16x28 to 16, 3", 64, 16, 28, 16, 3, 1, 1},
        {"mnist 64x16x28 to 32, 3/2", 64, 16, 28, 32, 3, 2, 1},
        {"mnist 64x32x14 to 32, 3", 64, 32, 14, 32, 3, 1, 1},
        {"mnist 64x64x7 to 64, 3", 64, 64, 7, 64, 3, 1, 1},
    };
    if (!load()) {
        printf("skipped: libdnnl.so.2 is not usable\n");
        return 0;
    }
    for (int threads = 1; threads <= 2; threads++) {
        if (argc > 1) threads = atoi(argv[1]);
        Err err = {0};
        engine = engine_cpu.open(&(EngineConfig){1u << 30, threads}, &err);
        if (!engine) return fprintf(stderr, "%s\n", err.text), 1;
        api.omp_set_num_threads(threads);
        printf("convolutions, %d thread%s\n", threads, threads > 1 ? "s" : "");
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) measure(&shapes[i]);
        engine_cpu.close(&engine);
        if (argc > 1) break;
    }
    return 0;
}
#else
int main(void) {
    printf("skipped: built without oneDNN's headers\n");
    return 0;
}
#endif
