/* nvml_api.h: the few declarations of NVIDIA's management library that the engine calls and its
 * stand-in defines (tests/gpu/nvml.c), by its own names and values; with GT_REAL_CUDA_H the
 * toolkit's header takes its place.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_NVML_API_H
#define GT_WORKER_CUDA_NVML_API_H
#ifdef GT_REAL_CUDA_H
#include <nvml.h>
#else
typedef enum nvmlReturn_enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_FOUND = 6
} nvmlReturn_t;
typedef enum nvmlTemperatureSensors_enum { NVML_TEMPERATURE_GPU = 0 } nvmlTemperatureSensors_t;
typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlUtilization_st {
    unsigned gpu, memory;
} nvmlUtilization_t;
#define NVML_FUNCTIONS(X)                                                                          \
    X(nvmlInit_v2, (void))                                                                         \
    X(nvmlDeviceGetHandleByPciBusId_v2, (const char *id, nvmlDevice_t *d))                         \
    X(nvmlDeviceGetTemperature,                                                                    \
      (nvmlDevice_t d, nvmlTemperatureSensors_t sensor, unsigned *celsius))                        \
    X(nvmlDeviceGetUtilizationRates, (nvmlDevice_t d, nvmlUtilization_t * u))
#pragma GCC visibility push(default)
#define X(name, args) nvmlReturn_t name args;
NVML_FUNCTIONS(X)
#undef X
#pragma GCC visibility pop
#endif
#endif
