/* driver_stream.c: the driver's functions for streams, events, and graphs of kernels.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/device.h"
#include <stdlib.h>
#include <string.h>

/* ---- Streams ---- */

static CUresult begin(const char *name, CUstream handle, CUstream *s) {
    CUresult code = api_begin_context(name);
    *s = code ? NULL : stream_of(handle);
    return !code && !*s ? CUDA_ERROR_INVALID_HANDLE : code;
}
static CUresult create(const char *name, CUstream *stream, unsigned flags) {
    CUresult code = api_begin_context(name);
    if (!code && (!stream || flags > CU_STREAM_NON_BLOCKING)) code = CUDA_ERROR_INVALID_VALUE;
    if (code) return api_end(code);
    *stream = stream_new(device_now(), flags == CU_STREAM_DEFAULT);
    return api_end(*stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}
CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    return create("cuStreamCreate", stream, flags);
}
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
    (void)priority;
    return create("cuStreamCreateWithPriority", stream, flags);
}
CUresult cuStreamDestroy_v2(CUstream handle) {
    CUstream s;
    CUresult code = begin("cuStreamDestroy", handle, &s);
    if (!code && s->index == 0) code = CUDA_ERROR_INVALID_HANDLE;
    if (code) return api_end(code);
    stream_run(s, s->issued);
    s->is_alive = false;
    return api_end(device_error());
}
static CUresult wait_for(CUstream s) {
    device.stats.waits++;
    stream_order(s); /* of the default stream: what the others have to do first */
    Clock clock = s->now;
    for (int k = 0; k < STREAMS_MAX; k++) stream_run(&device.stream[k], clock.upto[k]);
    host_learns(&clock);
    return device_error();
}
CUresult cuStreamSynchronize(CUstream handle) {
    CUstream s;
    CUresult code = begin("cuStreamSynchronize", handle, &s);
    return api_end(code ? code : wait_for(s));
}
/* Asking makes something happen, or a loop of questions would not end. */
static void step(CUstream s) {
    if (s->first && device_random() % 2) stream_run(s, s->first->number);
}
CUresult cuStreamQuery(CUstream handle) {
    CUstream s;
    CUresult code = begin("cuStreamQuery", handle, &s);
    if (code) return api_end(code);
    step(s);
    if (s->first) return api_end(device_error() ? device_error() : CUDA_ERROR_NOT_READY);
    Clock clock = s->now;
    host_learns(&clock);
    return api_end(device_error());
}
CUresult cuLaunchHostFunc(CUstream handle, CUhostFn fn, void *data) {
    CUstream s;
    CUresult code = begin("cuLaunchHostFunc", handle, &s);
    if (!code && !fn) code = CUDA_ERROR_INVALID_VALUE;
    if (code) return api_end(code);
    Op *op = op_new(OP_HOST);
    op->host_fn = fn, op->ctx = data;
    return api_end(stream_submit(s, op));
}

/* ---- Events ---- */

static bool is_event(CUevent event) {
    for (CUevent e = device.events; e; e = e->next)
        if (e == event) return true;
    return false;
}
static CUresult begin_event(const char *name, CUevent e) {
    CUresult code = api_begin_context(name);
    return code ? code : is_event(e) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuEventCreate(CUevent *event, unsigned flags) {
    CUresult code = api_begin_context("cuEventCreate");
    if (!code && !event) code = CUDA_ERROR_INVALID_VALUE;
    if (code) return api_end(code);
    CUevent e = device_new(sizeof *e);
    e->is_timed = !(flags & CU_EVENT_DISABLE_TIMING);
    e->next = device.events;
    device.events = *event = e;
    return api_end(code);
}
CUresult cuEventDestroy_v2(CUevent event) {
    CUresult code = begin_event("cuEventDestroy", event);
    if (code) return api_end(code);
    for (int k = 0; k < STREAMS_MAX; k++)
        for (Op *op = device.stream[k].first; op; op = op->next)
            if (op->event == event) op->event = NULL;
    CUevent *at = &device.events;
    while (*at != event) at = &(*at)->next;
    *at = event->next;
    free(event);
    return api_end(code);
}
CUresult cuEventRecord(CUevent e, CUstream handle) {
    CUresult code = begin_event("cuEventRecord", e);
    CUstream s = stream_of(handle);
    if (!code && !s) code = CUDA_ERROR_INVALID_HANDLE;
    if (code) return api_end(code);
    device.stats.events++;
    Op *op = op_new(OP_RECORD);
    op->event = e;
    e->is_recorded = true, e->has_stamp = false;
    e->stream = s->index, e->number = s->issued + 1;
    code = stream_submit(s, op);
    e->clock = s->now;
    return api_end(code);
}
CUresult cuStreamWaitEvent(CUstream handle, CUevent e, unsigned flags) {
    CUresult code = begin_event("cuStreamWaitEvent", e);
    CUstream s = stream_of(handle);
    if (!code && (!s || flags)) code = CUDA_ERROR_INVALID_VALUE;
    if (code || !e->is_recorded) return api_end(code);
    clock_join(&s->now, &e->clock);
    return api_end(code);
}
CUresult cuEventQuery(CUevent e) {
    CUresult code = begin_event("cuEventQuery", e);
    if (code || !e->is_recorded) return api_end(code);
    CUstream s = &device.stream[e->stream];
    step(s);
    if (s->done < e->number) return api_end(device_error() ? device_error() : CUDA_ERROR_NOT_READY);
    host_learns(&e->clock);
    return api_end(device_error());
}
CUresult cuEventSynchronize(CUevent e) {
    CUresult code = begin_event("cuEventSynchronize", e);
    if (code || !e->is_recorded) return api_end(code);
    device.stats.waits++;
    stream_run(&device.stream[e->stream], e->number);
    host_learns(&e->clock);
    return api_end(device_error());
}
/* The time is what was executed between them: a millisecond for a million instructions of threads.
 */
CUresult cuEventElapsedTime(float *ms, CUevent begin_, CUevent end) {
    CUresult code = begin_event("cuEventElapsedTime", begin_);
    if (!code && (!is_event(end) || !begin_->is_timed || !end->is_timed || !begin_->is_recorded ||
                  !end->is_recorded))
        code = CUDA_ERROR_INVALID_HANDLE;
    if (!code && (!begin_->has_stamp || !end->has_stamp)) code = CUDA_ERROR_NOT_READY;
    if (!code) *ms = (float)((double)(end->stamp - begin_->stamp) * 1e-6);
    return api_end(code);
}

/* ---- Graphs ---- */

static bool is_graph(CUgraph graph) {
    for (CUgraph g = device.graphs; g; g = g->next)
        if (g == graph) return true;
    return false;
}
static bool is_exec(CUgraphExec exec) {
    for (CUgraphExec g = device.execs; g; g = g->next)
        if (g == exec) return true;
    return false;
}
static void free_graph(CUgraph g) {
    for (Op *op = g->first, *next; op; op = next) {
        next = op->next;
        op_free(op);
    }
    free(g);
}
CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
    CUresult code = api_begin_context("cuGraphCreate");
    if (!code && (!graph || flags)) code = CUDA_ERROR_INVALID_VALUE;
    if (code) return api_end(code);
    CUgraph g = device_new(sizeof *g);
    g->next = device.graphs;
    device.graphs = *graph = g;
    return api_end(code);
}
static Op *kernel_node(CUgraphNode node) {
    for (CUgraph g = device.graphs; g; g = g->next)
        for (Op *op = g->first; op; op = op->next)
            if ((void *)op == (void *)node) return op;
    return NULL;
}
static Op *new_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *p, CUresult *code) {
    const uint32_t grid[3] = {p->gridDimX, p->gridDimY, p->gridDimZ},
                   block[3] = {p->blockDimX, p->blockDimY, p->blockDimZ};
    if (p->extra) *code = CUDA_ERROR_NOT_SUPPORTED;
    return *code ? NULL : op_kernel(p->func, grid, block, p->sharedMemBytes, p->kernelParams, code);
}
/* Of graphs whose nodes come one after the other: others would need a clock for each node. */
CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                                 size_t n, const CUDA_KERNEL_NODE_PARAMS_v2 *p) {
    CUresult code = api_begin_context("cuGraphAddKernelNode");
    if (!code && (!is_graph(graph) || (n && !after))) code = CUDA_ERROR_INVALID_VALUE;
    if (!code && (n != (graph->n > 0) || (n && (void *)*after != (void *)graph->last)))
        code = device_refuse(CUDA_ERROR_NOT_SUPPORTED,
                             "cuGraphAddKernelNode: the node is not after the last one");
    Op *op = code ? NULL : new_kernel(p, &code);
    if (!op) return api_end(code);
    if (graph->last)
        graph->last->next = op;
    else
        graph->first = op;
    graph->last = op;
    graph->n++;
    *node = (CUgraphNode)(void *)op;
    return api_end(code);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
    CUresult code = api_begin_context("cuGraphInstantiate");
    if (!code && (!is_graph(graph) || flags)) code = CUDA_ERROR_INVALID_VALUE;
    if (code) return api_end(code);
    CUgraphExec g = device_new(sizeof *g);
    g->n = graph->n;
    g->origin = device_new((size_t)g->n * sizeof *g->origin);
    Op **at = &g->first;
    int k = 0;
    for (Op *op = graph->first; op; op = op->next, at = &(*at)->next) {
        g->origin[k++] = op;
        *at = op_copy(op);
    }
    g->next = device.execs;
    device.execs = *exec = g;
    return api_end(code);
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS_v2 *p) {
    CUresult code = api_begin_context("cuGraphExecKernelNodeSetParams");
    if (!code && (!is_exec(exec) || !kernel_node(node))) code = CUDA_ERROR_INVALID_HANDLE;
    if (code) return api_end(code);
    Op **at = &exec->first;
    int k = 0;
    while (k < exec->n && (void *)exec->origin[k] != (void *)node) at = &(*at)->next, k++;
    if (k == exec->n || (*at)->function != p->func) return api_end(CUDA_ERROR_INVALID_VALUE);
    Op *op = new_kernel(p, &code);
    if (!op) return api_end(code);
    op->next = (*at)->next;
    op_free(*at);
    *at = op;
    return api_end(code);
}
CUresult cuGraphUpload(CUgraphExec exec, CUstream handle) {
    CUstream s;
    CUresult code = begin("cuGraphUpload", handle, &s);
    if (!code && !is_exec(exec)) code = CUDA_ERROR_INVALID_HANDLE;
    return api_end(code);
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle) {
    CUstream s;
    CUresult code = begin("cuGraphLaunch", handle, &s);
    if (!code && !is_exec(exec)) code = CUDA_ERROR_INVALID_HANDLE;
    if (code) return api_end(code);
    device.stats.graph_launches++, device.stats.graph_nodes += (uint64_t)exec->n;
    for (const Op *op = exec->first; op && !code; op = op->next)
        code = stream_submit(s, op_copy(op));
    return api_end(code);
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
    CUresult code = api_begin_context("cuGraphExecDestroy");
    if (!code && !is_exec(exec)) code = CUDA_ERROR_INVALID_HANDLE;
    if (code) return api_end(code);
    CUgraphExec *at = &device.execs;
    while (*at != exec) at = &(*at)->next;
    *at = exec->next;
    for (Op *op = exec->first, *next; op; op = next) {
        next = op->next;
        op_free(op);
    }
    free(exec->origin);
    free(exec);
    return api_end(code);
}
CUresult cuGraphDestroy(CUgraph graph) {
    CUresult code = api_begin_context("cuGraphDestroy");
    if (!code && !is_graph(graph)) code = CUDA_ERROR_INVALID_HANDLE;
    if (code) return api_end(code);
    CUgraph *at = &device.graphs;
    while (*at != graph) at = &(*at)->next;
    *at = graph->next;
    free_graph(graph);
    return api_end(code);
}
