/* driver_api.h: functions of NVIDIA's driver that the emulator defines beside those of the engine
 * (worker/cuda/cuda_api.h). The engine
 * does not call them, and takes a driver that lacks them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_GPU_DRIVER_API_H
#define GT_TESTS_GPU_DRIVER_API_H
#include "worker/cuda/cuda_api.h"

#ifndef GT_REAL_CUDA_H
typedef struct CUuuid_st {
    char bytes[16];
} CUuuid;
typedef enum CUfunction_attribute_enum {
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
    CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
} CUfunction_attribute;
typedef void (*CUhostFn)(void *userData);

#define CUDA_OTHER_FUNCTIONS(X)                                                                    \
    X(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device))                                        \
    X(cuCtxGetCurrent, (CUcontext * context))                                                      \
    X(cuCtxSynchronize, (void))                                                                    \
    X(cuMemAllocHost_v2, (void **at, size_t bytes))                                                \
    X(cuMemHostGetDevicePointer_v2, (CUdeviceptr * device, void *host, unsigned flags))            \
    X(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes))                           \
    X(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes))                                 \
    X(cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t count, CUstream stream))           \
    X(cuStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority))               \
    X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                         \
    X(cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *data))                                \
    X(cuEventSynchronize, (CUevent event))                                                         \
    X(cuEventElapsedTime, (float *ms, CUevent begin, CUevent end))                                 \
    X(cuModuleLoadData, (CUmodule * module, const void *image))                                    \
    X(cuModuleGetGlobal_v2, (CUdeviceptr * at, size_t * bytes, CUmodule module, const char *name)) \
    X(cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction function))       \
    X(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value))        \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                 \
      (int *blocks, CUfunction function, int threads, size_t shared_bytes))
#define X(name, args) CUresult CUDAAPI name args;
CUDA_OTHER_FUNCTIONS(X)
#undef X
#endif
#endif
