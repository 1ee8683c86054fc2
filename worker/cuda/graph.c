/* graph.c: records calls as a CUDA graph, and launches it. worker/plan/plan_graph.c decides which
 * calls become a graph, and when a graph is launched instead of single calls. While calls are
 * recorded the stream is in capture mode: launches, and copies on the device, become nodes with
 * their present arguments. A call that needs the host in the middle (copies to and from the host,
 * slots for failures, operations that the host computes) cannot be recorded.
 *
 * The scalars of the calls change from launch to launch. Kernels of a graph read them from `live`,
 * device memory that all graphs share. Each launch first copies its graph's scalars there. The
 * stream keeps the order of copies and launches, so no graph reads the scalars of another.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/element.h"
#include "worker/cuda/cuda.h"
#include <stdlib.h>
#include <string.h>

typedef struct CudaGraph {
    EngineGraph graph; /* first */
    CUgraphExec exec;
    CudaScalar *scalar; /* n_live of them */
} CudaGraph;

enum { LIVE_MOST = LIVE_BYTES / 8, TEMP_ALIGN = 256 };

struct Capture {
    bool is_broken;
    char *temps;
    uint64_t bytes, used, peak; /* of temps */
    int n_scalars;
    CudaScalar scalar[LIVE_MOST];
};

/* ---- While calls are recorded ---- */

void cuda_capture_fail(Cuda *c) { c->capture->is_broken = true; }

bool cuda_is_captured(Cuda *c) {
    if (c->capture) c->capture->is_broken = true;
    return c->capture != NULL;
}

static uint64_t rounded(uint64_t bytes) {
    return (bytes + TEMP_ALIGN - 1) / TEMP_ALIGN * TEMP_ALIGN;
}

/* The memory is a stack: what is not on top when it is freed stays until the recording ends. */
void *cuda_capture_alloc(Cuda *c, uint64_t bytes) {
    Capture *k = c->capture;
    char *p = k->temps + k->used;
    k->used += rounded(bytes);
    if (k->used > k->peak) k->peak = k->used;
    return p;
}
void cuda_capture_free(Cuda *c, void *p, uint64_t bytes) {
    Capture *k = c->capture;
    if ((char *)p + rounded(bytes) == k->temps + k->used) k->used -= rounded(bytes);
}

const char *cuda_capture_scalars(Cuda *c, const CudaScalar *scalar, int n) {
    Capture *k = c->capture;
    if (!k || !n) return NULL;
    const char *at = c->live + 8 * k->n_scalars;
    if (k->n_scalars + n > LIVE_MOST) return k->is_broken = true, NULL;
    memcpy(k->scalar + k->n_scalars, scalar, sizeof *scalar * (size_t)n);
    k->n_scalars += n;
    return at;
}

/* ---- Graphs ---- */

void cuda_capture_begin(Engine *e, void *temps, uint64_t bytes) {
    Cuda *c = (Cuda *)e;
    Capture *k = xcalloc(1, sizeof *k);
    *k = (Capture){.temps = temps, .bytes = bytes};
    bool ok = cuda_enter(c) &&
              CALL(c, cuStreamBeginCapture_v2, c->stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    c->capture = k;
    k->is_broken = !ok;
}

static CudaGraph *graph_of(Cuda *c, const Capture *k, CUgraph captured) {
    CudaGraph *g = xcalloc(1, sizeof *g);
    if (!CALL(c, cuGraphInstantiateWithFlags, &g->exec, captured, 0)) return free(g), NULL;
    size_t n = (size_t)k->n_scalars;
    g->scalar = xmalloc((n + 1) * sizeof *g->scalar);
    g->graph.live = xmalloc((n + 1) * sizeof *g->graph.live);
    g->graph.n_live = k->n_scalars;
    memcpy(g->scalar, k->scalar, n * sizeof *g->scalar);
    for (size_t i = 0; i < n; i++) g->graph.live[i] = k->scalar[i].from;
    return g;
}

/* A failure here fails the recording, not the device. */
EngineGraph *cuda_capture_end(Engine *e, uint64_t *bytes) {
    Cuda *c = (Cuda *)e;
    Capture *k = c->capture;
    CUgraph captured = NULL;
    CudaGraph *g = NULL;
    *bytes = 0;
    bool ok = !c->lost.code && CALL(c, cuStreamEndCapture, c->stream, &captured) && !k->is_broken;
    if (ok && k->peak <= k->bytes) g = graph_of(c, k, captured);
    if (ok && k->peak > k->bytes) *bytes = k->peak;
    if (captured) c->libs->cuGraphDestroy(captured);
    c->capture = NULL;
    free(k);
    return g ? &g->graph : NULL;
}

void cuda_graph_launch(Engine *e, EngineGraph *graph) {
    Cuda *c = (Cuda *)e;
    CudaGraph *g = (CudaGraph *)graph;
    char value[LIVE_MOST][8];
    e->last = c->requests += 2;
    for (int i = 0; i < graph->n_live; i++) {
        const CudaScalar *s = &g->scalar[i];
        if (s->from_dtype == s->to_dtype)
            memcpy(value[i], s->from, sizeof value[i]);
        else if (s->from_dtype == DT_F64)
            element_set_float(s->to_dtype, value[i], element_float(s->from_dtype, s->from));
        else
            element_set_int(s->to_dtype, value[i], element_int(s->from_dtype, s->from));
    }
    if (graph->n_live) cuda_copy_in(e, c->live, value, 8 * (uint64_t)graph->n_live);
    if (cuda_enter(c)) CALL(c, cuGraphLaunch, g->exec, c->stream);
}

void cuda_graph_free(Engine *e, EngineGraph **graph) {
    Cuda *c = (Cuda *)e;
    CudaGraph *g = (CudaGraph *)*graph;
    *graph = NULL;
    if (!g) return;
    c->libs->cuCtxSetCurrent(c->context); /* also if the device is lost */
    c->libs->cuGraphExecDestroy(g->exec);
    free(g->scalar);
    free(g->graph.live);
    free(g);
}
