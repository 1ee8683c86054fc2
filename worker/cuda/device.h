/* device.h: finds, opens and describes a device.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_DEVICE_H
#define GT_WORKER_CUDA_DEVICE_H
#include "worker/cuda/cuda.h"

/* The device of config, counted on from the first after the last unless it is exact, and how many
 * there are. */
bool cuda_find_device(const CudaLibs *l, const EngineConfig *config, int *n, CUdevice *device,
                      Err *err);
/* Opens it, its context and stream. cuda_close_device undoes what there is of it. */
bool cuda_open_device(Cuda *c, const EngineConfig *config, Err *err);
void cuda_close_device(Cuda *c);
/* Bytes of device memory that an engine takes beside its arena. */
uint64_t cuda_beside(void);
/* This worker's share of 80 % of the memory that the device has free; less if the rest of its share
 * is not enough for what it takes beside. */
bool cuda_share(Cuda *c, const EngineConfig *config, uint64_t *bytes, Err *err);
void cuda_about(const Engine *e, Bytes *out); /* see EngineOps */
#endif
