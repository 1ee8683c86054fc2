/* hosted.h: calls that the engine cpu computes.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_HOSTED_H
#define GT_WORKER_CUDA_HOSTED_H
#include "worker/cuda/cuda.h"

/* Computes a call by the engine cpu, in host memory. */
bool cuda_hosted(Cuda *c, const Call *call, Err *err);
#endif
