/* cuda_calls.c: counts and times what a worker asks of the engine cuda: linked into a gtsh for
 * `make bench-cuda` (the linker's --wrap puts this table of functions in the place of the engine's
 * own). When the process ends, GT_CALLS=FILE gets a line NAME=VALUE:
 *
 *   submits, fusions, graphs   calls of `submit`, `fused` and `launch`, and with _ns the median
 *                              time of the last of each, in ns of the host, without that of the
 *                              clock; of a graph from capture_begin on
 *   kernel_bytes               the bytes of operands and results of all of them, each element once:
 *                              what kernels must read and write at least
 *   worker_us                  CPU time of the worker's thread up to the last mark, without that of
 *                              making kernels for fusions
 *
 * Calls in a graph count whenever it is launched. One worker, one thread.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/clock.h"
#include "worker/emit/fuse.h"
#include "worker/engine/maker.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

extern const EngineOps __real_engine_cuda;
EngineOps __wrap_engine_cuda;
static const EngineOps *const real = &__real_engine_cuda;

enum { LAST = 4096, GRAPHS = 4096 };
typedef struct Kind {
    uint64_t n;
    int64_t ns[LAST];
} Kind;
static Kind submits, fusions, graphs;
static uint64_t kernel_bytes, captured_bytes;
static int64_t captured_at;
static bool is_capturing;
static struct {
    const EngineGraph *graph;
    uint64_t bytes;
} known[GRAPHS];
static int64_t worker_ns, making_ns;

static void note(Kind *k, int64_t ns, uint64_t bytes) {
    if (is_capturing) {
        captured_bytes += bytes;
        return;
    }
    k->ns[k->n++ % LAST] = ns;
    kernel_bytes += bytes;
}

/* Of the elements that a view shows, without those that it shows again. */
static uint64_t bytes_of(const View *v) {
    uint64_t n = (uint64_t)dtype_info[v->type.dtype].size_bytes;
    if (v->is_scalar) return 0;
    for (int d = 0; d < v->type.rank; d++)
        if (v->stride[d] || !v->type.shape[d]) n *= (uint64_t)v->type.shape[d];
    return n;
}

static Ticket submit(Engine *e, const Call *call, const Ticket *after, int n_after) {
    uint64_t bytes = 0;
    for (int i = 0; i < call->n_in; i++) bytes += bytes_of(&call->in[i]);
    for (int k = 0; k < call->n_out; k++) bytes += type_bytes(&call->out[k].type);
    int64_t begin = now_ns();
    Ticket t = real->submit(e, call, after, n_after);
    note(&submits, now_ns() - begin, bytes);
    return t;
}
static bool fused(Engine *e, Fusion *f, const struct FusedKernel *k) {
    uint64_t bytes = 0, all = (uint64_t)(f->args.n * f->args.rows);
    for (int i = 0; i < f->n_inputs; i++) bytes += bytes_of(&f->input[i]);
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        uint64_t size = (uint64_t)dtype_info[n->dtype].size_bytes;
        if (n->is_stored)
            bytes += size * (n->is_row && n->is_column ? 1
                             : n->is_column            ? (uint64_t)f->args.n
                             : n->is_row               ? (uint64_t)f->args.rows
                                                       : all);
    }
    int64_t begin = now_ns();
    bool ok = real->fused(e, f, k);
    note(&fusions, now_ns() - begin, bytes);
    return ok;
}

static int find(const EngineGraph *g) {
    for (int k = 0; k < GRAPHS; k++)
        if (known[k].graph == g) return k;
    return GRAPHS;
}
static void capture_begin(Engine *e, EngineGraph *g, void *temps, uint64_t bytes) {
    is_capturing = true;
    captured_bytes = 0;
    captured_at = now_ns();
    real->capture_begin(e, g, temps, bytes);
}
static EngineGraph *capture_end(Engine *e, uint64_t *bytes) {
    EngineGraph *g = real->capture_end(e, bytes);
    is_capturing = false;
    if (!g) return g;
    int k = find(g), free_at = find(NULL);
    if (k == GRAPHS && (k = free_at) < GRAPHS) known[k].graph = g;
    if (k < GRAPHS) known[k].bytes = captured_bytes;
    return g;
}
static void graph_free(Engine *e, EngineGraph **g) {
    int k = find(*g);
    if (k < GRAPHS) known[k].graph = NULL;
    real->graph_free(e, g);
}
static bool launch(Engine *e, EngineGraph *g) {
    bool ok = real->launch(e, g);
    int64_t ns = now_ns() - captured_at;
    int k = find(g);
    note(&graphs, ns, k < GRAPHS ? known[k].bytes : 0);
    return ok;
}

static int64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static Ticket mark(Engine *e) {
    Ticket ticket = real->mark(e);
    worker_ns = cpu_ns() - making_ns;
    return ticket;
}
static bool make(Engine *e, const Fusion *f, const Bytes *source, MadeKernel *out, Err *err) {
    int64_t begin = cpu_ns();
    bool ok = real->maker->make(e, f, source, out, err);
    making_ns += cpu_ns() - begin;
    return ok;
}
static Maker maker;
static Engine *open_engine(const EngineConfig *config, Err *err) {
    Engine *e = real->open(config, err);
    if (e) e->ops = &__wrap_engine_cuda;
    return e;
}
__attribute__((constructor)) static void wrap(void) {
    __wrap_engine_cuda = __real_engine_cuda;
    __wrap_engine_cuda.open = open_engine;
    __wrap_engine_cuda.submit = submit, __wrap_engine_cuda.fused = fused;
    __wrap_engine_cuda.capture_begin = capture_begin, __wrap_engine_cuda.capture_end = capture_end;
    __wrap_engine_cuda.launch = launch, __wrap_engine_cuda.graph_free = graph_free;
    __wrap_engine_cuda.mark = mark;
    maker = *__real_engine_cuda.maker;
    maker.make = make;
    __wrap_engine_cuda.maker = &maker;
}

/* ---- At the end ---- */

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
static int64_t median(Kind *k) {
    size_t n = k->n < LAST ? (size_t)k->n : LAST;
    if (!n) return 0;
    qsort(k->ns, n, sizeof *k->ns, by_size);
    return k->ns[n / 2];
}
static int64_t clock_cost(void) {
    static Kind none;
    for (int i = 0; i < LAST; i++) {
        int64_t begin = now_ns();
        none.ns[none.n++] = now_ns() - begin;
    }
    return median(&none);
}
__attribute__((destructor)) static void report(void) {
    const char *path = getenv("GT_CALLS");
    FILE *f = path && *path ? fopen(path, "a") : NULL;
    if (!f) return;
    int64_t clock = clock_cost();
#define SAY(kind)                                                                                  \
    fprintf(f, #kind "=%llu " #kind "_ns=%lld ", (unsigned long long)kind.n,                       \
            (long long)(median(&kind) > clock ? median(&kind) - clock : 0))
    SAY(submits), SAY(fusions), SAY(graphs);
    fprintf(f, "kernel_bytes=%llu worker_us=%lld\n", (unsigned long long)kernel_bytes,
            (long long)(worker_ns / 1000));
    fclose(f);
}
