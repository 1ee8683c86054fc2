/* op.h: calls as kernels.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_OP_H
#define GT_WORKER_CUDA_OP_H
#include "worker/cuda/cuda.h"

bool cuda_fused(Engine *e, Fusion *f, const FusedKernel *k); /* see EngineOps */
bool cuda_run(Cuda *c, const Call *call, Err *err);
/* One per KERNEL row. Of halves, a row gets float32 copies, unless it moves values or is a product
 * or a convolution. */
#define KERNEL(id, ...) bool cuda_##id(Cuda *c, const Call *call, Err *err);
#include "runtime/inst/ops.def"
bool cuda_source(Cuda *c, const Call *call, Err *err); /* the SOURCE rows: source.c */
#endif
