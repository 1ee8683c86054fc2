/* graph.c: records calls as a CUDA graph, brings a graph up to date, and launches it.
 * worker/plan/plan_graph.c decides which calls become a graph. A graph has kernels only, one after
 * the other. A call that needs the host in the middle (copies to and from the host, slots for
 * failures, operations that the host computes) cannot be recorded.
 *
 * A graph is brought up to date by recording the same calls again: a kernel whose grid or arguments
 * (addresses, scalars) are not those of its node is set in the executable graph
 * (cuGraphExecKernelNodeSetParams). So one graph serves all addresses and numbers. Kernels that
 * read their arguments from a block in device memory instead would need no such calls, but a second
 * form of each kernel, and a load before each argument. Graphs that each serve certain addresses
 * were launched 0.3 times per step of an MLP and never in charlm (tests/bench/cuda_host).
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/graph.h"
#include <stdlib.h>
#include <string.h>

/* A kernel of a graph, as it was set last. */
typedef struct Node {
    CUgraphNode node;
    CUfunction function;
    CudaGrid grid;
    size_t at, bytes; /* its arguments, in EngineGraph.args */
} Node;

struct EngineGraph {
    CUgraph graph; /* names the nodes */
    CUgraphExec exec;
    int n, cap;
    Node *node;
    Bytes args;
};

enum { TEMP_ALIGN = 256 };

struct Capture {
    EngineGraph *graph;
    bool is_new, is_broken;
    int n; /* kernels so far */
    char *temps;
    uint64_t bytes, used, peak; /* of temps */
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

static CUDA_KERNEL_NODE_PARAMS_v2 params_of(const Node *n, void **param) {
    return (CUDA_KERNEL_NODE_PARAMS_v2){.func = n->function,
                                        .gridDimX = n->grid.blocks,
                                        .gridDimY = 1,
                                        .gridDimZ = 1,
                                        .blockDimX = n->grid.x,
                                        .blockDimY = n->grid.y,
                                        .blockDimZ = 1,
                                        .sharedMemBytes = n->grid.shared,
                                        .kernelParams = param};
}

static bool add_node(Cuda *c, EngineGraph *g, Node n, const void *args) {
    void *param[] = {(void *)args};
    CUDA_KERNEL_NODE_PARAMS_v2 params = params_of(&n, param);
    const CUgraphNode *after = g->n ? &g->node[g->n - 1].node : NULL;
    if (!CALL(c, cuGraphAddKernelNode_v2, &n.node, g->graph, after, g->n > 0, &params))
        return false;
    n.at = g->args.n;
    bytes_add(&g->args, args, n.bytes);
    ARRAY_PUSH(g->node, g->n, g->cap, 8, n);
    return true;
}

static bool set_node(Cuda *c, EngineGraph *g, Node *n, const CudaGrid *grid, const void *args) {
    void *param[] = {(void *)args};
    void *last = g->args.data + n->at;
    if (!memcmp(grid, &n->grid, sizeof *grid) && !memcmp(args, last, n->bytes)) return true;
    n->grid = *grid;
    CUDA_KERNEL_NODE_PARAMS_v2 params = params_of(n, param);
    memcpy(last, args, n->bytes);
    return CALL(c, cuGraphExecKernelNodeSetParams_v2, g->exec, n->node, &params);
}

void cuda_capture_kernel(Cuda *c, CUfunction f, const CudaGrid *grid, const void *args,
                         size_t bytes) {
    Capture *k = c->capture;
    EngineGraph *g = k->graph;
    int i = k->n++;
    if (k->is_broken) return;
    if (k->is_new)
        k->is_broken = !add_node(c, g, (Node){.function = f, .grid = *grid, .bytes = bytes}, args);
    else
        k->is_broken = i >= g->n || g->node[i].function != f || g->node[i].bytes != bytes ||
                       !set_node(c, g, &g->node[i], grid, args);
}

/* ---- Graphs ---- */

void cuda_capture_begin(Engine *e, EngineGraph *graph, void *temps, uint64_t bytes) {
    Cuda *c = (Cuda *)e;
    Capture *k = xcalloc(1, sizeof *k);
    *k = (Capture){.graph = graph, .is_new = !graph, .temps = temps, .bytes = bytes};
    if (!graph) k->graph = xcalloc(1, sizeof *graph);
    c->capture = k;
    k->is_broken = c->lost.code || !CALL(c, cuCtxSetCurrent, c->context) ||
                   (k->is_new && !CALL(c, cuGraphCreate, &k->graph->graph, 0));
}

/* A failure of the driver fails the recording, not the device. A new graph is uploaded here, so
 * that it takes most of the memory that it needs before any launch. */
EngineGraph *cuda_capture_end(Engine *e, uint64_t *bytes) {
    Cuda *c = (Cuda *)e;
    Capture *k = c->capture;
    EngineGraph *g = k->graph;
    *bytes = !k->is_broken && k->peak > k->bytes ? k->peak : 0;
    bool ok = !k->is_broken && !*bytes && k->n > 0 && (k->is_new || k->n == g->n);
    ok = ok && (!k->is_new || (CALL(c, cuGraphInstantiateWithFlags, &g->exec, g->graph, 0) &&
                               CALL(c, cuGraphUpload, g->exec, c->stream)));
    if (!ok && k->is_new) cuda_graph_free(e, &g);
    c->capture = NULL;
    free(k);
    return ok ? g : NULL;
}

bool cuda_graph_launch(Engine *e, EngineGraph *g) {
    Cuda *c = (Cuda *)e;
    e->last = c->requests += 2;
    return !cuda_enter(c) || ASK(c, cuGraphLaunch, g->exec, c->stream) || c->lost.code;
}

void cuda_graph_free(Engine *e, EngineGraph **graph) {
    Cuda *c = (Cuda *)e;
    EngineGraph *g = *graph;
    *graph = NULL;
    if (!g) return;
    c->libs->cuCtxSetCurrent(c->context); /* also if the device is lost */
    if (g->exec) c->libs->cuGraphExecDestroy(g->exec);
    if (g->graph) c->libs->cuGraphDestroy(g->graph);
    bytes_fini(&g->args);
    free(g->node);
    free(g);
}
