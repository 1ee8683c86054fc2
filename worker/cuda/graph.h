/* graph.h: records calls as a CUDA graph.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_GRAPH_H
#define GT_WORKER_CUDA_GRAPH_H
#include "worker/cuda/kernel.h"

void cuda_capture_begin(Engine *e, EngineGraph *g, void *temps, uint64_t bytes);
EngineGraph *cuda_capture_end(Engine *e, uint64_t *bytes);
bool cuda_graph_launch(Engine *e, EngineGraph *g);
void cuda_graph_free(Engine *e, EngineGraph **g);
/* While calls are recorded: */
void *cuda_capture_alloc(Cuda *c, uint64_t bytes);
void cuda_capture_free(Cuda *c, void *p, uint64_t bytes);
/* True if calls are recorded, which then cannot be: the caller must not go on. */
bool cuda_is_captured(Cuda *c);
void cuda_capture_fail(Cuda *c);
/* A launch: see cuda_start. */
void cuda_capture_kernel(Cuda *c, CUfunction f, const CudaGrid *grid, const void *args,
                         size_t bytes);
#endif
