/* bare.h: matrix products by plain oneDNN with its own threads, for comparison. Without the library
 * or its header bare_open returns false.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_BENCH_BARE_H
#define GT_TESTS_BENCH_BARE_H
#include <stdbool.h>
#include <stdint.h>

#if defined __has_include
#if __has_include(<oneapi/dnnl/dnnl.h>)
#define HAS_DNNL
#endif
#endif
#ifdef HAS_DNNL
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

static struct BareApi {
#define DNNL(function) __typeof__(&function) function;
#include "worker/dnnl/dnnl_api.def"
    __typeof__(&dnnl_matmul_desc_init) dnnl_matmul_desc_init;
    void (*omp_set_num_threads)(int);
} bare_api;
static dnnl_engine_t bare_engine;
static dnnl_stream_t bare_stream;

/* A product: created once, run often. */
typedef struct Bare {
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arg[3];
} Bare;

/* Call this first. False: there is no oneDNN here. */
static inline bool bare_open(void) {
    if (bare_stream) return true;
    void *l = dlopen("libdnnl.so.2", RTLD_LAZY | RTLD_LOCAL);
    if (!l) return false;
#define DNNL(function)                                                                             \
    *(void **)&bare_api.function = dlsym(l, #function);                                            \
    if (!bare_api.function) return false;
#include "worker/dnnl/dnnl_api.def"
    *(void **)&bare_api.dnnl_matmul_desc_init = dlsym(l, "dnnl_matmul_desc_init");
    *(void **)&bare_api.omp_set_num_threads = dlsym(l, "omp_set_num_threads");
    return bare_api.omp_set_num_threads &&
           !bare_api.dnnl_engine_create(&bare_engine, dnnl_cpu, 0) &&
           !bare_api.dnnl_stream_create(&bare_stream, bare_engine, dnnl_stream_default_flags);
}
/* For products created from now on. */
static inline void bare_threads(int n) { bare_api.omp_set_num_threads(n); }

/* out (M,N) = a (M,K) @ b (K,N) of float32, row-major or (transposed) column-major. */
static inline void bare_init(Bare *p, int64_t M, int64_t N, int64_t K, bool a_t, bool b_t, void *a,
                             void *b, void *out) {
    const int64_t shape[3][2] = {{M, K}, {K, N}, {M, N}};
    const bool is_t[3] = {a_t, b_t, false};
    void *const data[3] = {a, b, out};
    static const int kind[3] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    dnnl_memory_desc_t m[3];
    for (int i = 0; i < 3; i++) {
        dnnl_dims_t dims = {shape[i][0], shape[i][1]}, stride = {shape[i][1], 1};
        if (is_t[i]) stride[0] = 1, stride[1] = shape[i][0];
        bare_api.dnnl_memory_desc_init_by_strides(&m[i], 2, dims, dnnl_f32, stride);
        p->arg[i].arg = kind[i];
        bare_api.dnnl_memory_create(&p->arg[i].memory, &m[i], bare_engine, data[i]);
    }
    dnnl_matmul_desc_t desc;
    bare_api.dnnl_matmul_desc_init(&desc, &m[0], &m[1], NULL, &m[2]);
    bare_api.dnnl_primitive_desc_create(&p->pd, &desc, NULL, bare_engine, NULL);
    bare_api.dnnl_primitive_create(&p->primitive, p->pd);
}
static inline void bare_run(void *ctx) {
    Bare *p = ctx;
    bare_api.dnnl_primitive_execute(p->primitive, bare_stream, 3, p->arg);
}
static inline void bare_fini(Bare *p) {
    bare_api.dnnl_primitive_destroy(p->primitive);
    bare_api.dnnl_primitive_desc_destroy(p->pd);
    for (int i = 0; i < 3; i++) bare_api.dnnl_memory_destroy(p->arg[i].memory);
}
#else
typedef struct Bare {
    int none;
} Bare;
static inline bool bare_open(void) { return false; }
static inline void bare_threads(int n) { (void)n; }
static inline void bare_init(Bare *p, int64_t M, int64_t N, int64_t K, bool a_t, bool b_t, void *a,
                             void *b, void *out) {
    (void)p, (void)M, (void)N, (void)K, (void)a_t, (void)b_t, (void)a, (void)b, (void)out;
}
static inline void bare_run(void *ctx) { (void)ctx; }
static inline void bare_fini(Bare *p) { (void)p; }
#endif
#endif
