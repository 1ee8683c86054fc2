/* peer.h: arenas of workers in other processes, which this one reads in place.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_PEER_H
#define GT_WORKER_CUDA_PEER_H
#include "worker/cuda/cuda.h"

void cuda_lend(Cuda *c);         /* others may read the arena: c->base, which it owns from now on */
void cuda_close_arenas(Cuda *c); /* the stream must be idle */
/* See EngineOps. */
const void *cuda_reach(Engine *e, const void *base, uint64_t bytes, const EngineHandle *handle);
void cuda_leave(Engine *e, const void *at);
bool cuda_lend_handle(Engine *e, EngineHandle *out);
#endif
