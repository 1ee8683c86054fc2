/* identify.h: what a device is, before it is opened.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_IDENTIFY_H
#define GT_WORKER_CUDA_IDENTIFY_H
#include "worker/cuda/cuda.h"

bool cuda_identify(const EngineConfig *config, EngineDevice *out, Err *err);
#endif
