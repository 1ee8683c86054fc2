/* cuda_api.h: the few declarations of NVIDIA's driver that the engine needs and the emulator
 * (tests/gpu) defines, by the driver's own names and values. Written by hand from the public
 * manual, so that every machine compiles the engine; tests/cli/gpu_headers.sh compares them with
 * the toolkit's cuda.h where that is installed (GT_REAL_CUDA_H).
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_CUDA_API_H
#define GT_WORKER_CUDA_CUDA_API_H
#ifdef GT_REAL_CUDA_H
#include <cuda.h>
#else
#include <stddef.h>
#include <stdint.h>

typedef enum cudaError_enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_STUB_LIBRARY = 34,
    CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_UNKNOWN = 999
} CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef enum CUdevice_attribute_enum {
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
} CUdevice_attribute;
enum {
    CU_COMPUTEMODE_DEFAULT = 0,
    CU_COMPUTEMODE_PROHIBITED = 2,
    CU_COMPUTEMODE_EXCLUSIVE_PROCESS = 3
};
typedef struct CUipcMemHandle_st {
    char reserved[64];
} CUipcMemHandle;
enum { CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1 };
enum { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_DEFAULT = 0, CU_EVENT_DISABLE_TIMING = 2 };
typedef enum CUjit_option_enum {
    CU_JIT_MAX_REGISTERS = 0,
    CU_JIT_INFO_LOG_BUFFER = 3,
    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
    CU_JIT_ERROR_LOG_BUFFER = 5,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
} CUjit_option;
typedef struct CUDA_KERNEL_NODE_PARAMS_v2_st {
    CUfunction func;
    unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    void **kernelParams, **extra;
    struct CUkern_st *kern;
    CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS_v2;
#ifndef CUDAAPI
#define CUDAAPI __attribute__((visibility("default")))
#endif

#define CUDA_FUNCTIONS(X)                                                                          \
    X(cuInit, (unsigned flags))                                                                    \
    X(cuDriverGetVersion, (int *version))                                                          \
    X(cuGetErrorName, (CUresult error, const char **text))                                         \
    X(cuGetErrorString, (CUresult error, const char **text))                                       \
    X(cuDeviceGetCount, (int *count))                                                              \
    X(cuDeviceGet, (CUdevice * device, int ordinal))                                               \
    X(cuDeviceGetName, (char *name, int size, CUdevice device))                                    \
    X(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                                      \
    X(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device))           \
    X(cuDeviceGetPCIBusId, (char *text, int size, CUdevice device))                                \
    X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                            \
    X(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                             \
    X(cuCtxSetCurrent, (CUcontext context))                                                        \
    X(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer))                           \
    X(cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags))                                     \
    X(cuMemGetInfo_v2, (size_t * free_bytes, size_t * total))                                      \
    X(cuMemAlloc_v2, (CUdeviceptr * at, size_t bytes))                                             \
    X(cuMemFree_v2, (CUdeviceptr at))                                                              \
    X(cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t * bytes, CUdeviceptr at))               \
    X(cuIpcGetMemHandle, (CUipcMemHandle * handle, CUdeviceptr at))                                \
    X(cuIpcOpenMemHandle_v2, (CUdeviceptr * at, CUipcMemHandle handle, unsigned flags))            \
    X(cuIpcCloseMemHandle, (CUdeviceptr at))                                                       \
    X(cuMemHostAlloc, (void **at, size_t bytes, unsigned flags))                                   \
    X(cuMemFreeHost, (void *at))                                                                   \
    X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))     \
    X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))           \
    X(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))     \
    X(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream))       \
    X(cuStreamCreate, (CUstream * stream, unsigned flags))                                         \
    X(cuStreamDestroy_v2, (CUstream stream))                                                       \
    X(cuStreamSynchronize, (CUstream stream))                                                      \
    X(cuStreamQuery, (CUstream stream))                                                            \
    X(cuEventCreate, (CUevent * event, unsigned flags))                                            \
    X(cuEventDestroy_v2, (CUevent event))                                                          \
    X(cuEventRecord, (CUevent event, CUstream stream))                                             \
    X(cuEventQuery, (CUevent event))                                                               \
    X(cuModuleLoadDataEx,                                                                          \
      (CUmodule * module, const void *image, unsigned n, CUjit_option *option, void **value))      \
    X(cuModuleUnload, (CUmodule module))                                                           \
    X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))             \
    X(cuLaunchKernel, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,     \
                       unsigned block_x, unsigned block_y, unsigned block_z,                       \
                       unsigned shared_bytes, CUstream stream, void **param, void **extra))        \
    X(cuGraphCreate, (CUgraph * graph, unsigned flags))                                            \
    X(cuGraphAddKernelNode_v2, (CUgraphNode * node, CUgraph graph, const CUgraphNode *after,       \
                                size_t n, const CUDA_KERNEL_NODE_PARAMS_v2 *params))               \
    X(cuGraphInstantiateWithFlags, (CUgraphExec * exec, CUgraph graph, unsigned long long flags))  \
    X(cuGraphExecKernelNodeSetParams_v2,                                                           \
      (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *params))              \
    X(cuGraphUpload, (CUgraphExec exec, CUstream stream))                                          \
    X(cuGraphLaunch, (CUgraphExec exec, CUstream stream))                                          \
    X(cuGraphExecDestroy, (CUgraphExec exec))                                                      \
    X(cuGraphDestroy, (CUgraph graph))
#define X(name, args) CUresult CUDAAPI name args;
CUDA_FUNCTIONS(X)
#undef X
#endif

/* ---- NVRTC ---- */

typedef struct _nvrtcProgram *nvrtcProgram;
#define NVRTC_FUNCTIONS(X)                                                                         \
    X(nvrtcVersion, (int *major, int *minor))                                                      \
    X(nvrtcGetNumSupportedArchs, (int *n))                                                         \
    X(nvrtcGetSupportedArchs, (int *arch))                                                         \
    X(nvrtcCreateProgram, (nvrtcProgram * program, const char *source, const char *name, int n,    \
                           const char *const *header, const char *const *header_name))             \
    X(nvrtcCompileProgram, (nvrtcProgram program, int n, const char *const *option))               \
    X(nvrtcDestroyProgram, (nvrtcProgram * program))                                               \
    X(nvrtcGetPTXSize, (nvrtcProgram program, size_t * bytes))                                     \
    X(nvrtcGetPTX, (nvrtcProgram program, char *text))                                             \
    X(nvrtcGetCUBINSize, (nvrtcProgram program, size_t * bytes))                                   \
    X(nvrtcGetCUBIN, (nvrtcProgram program, char *image))                                          \
    X(nvrtcGetProgramLogSize, (nvrtcProgram program, size_t * bytes))                              \
    X(nvrtcGetProgramLog, (nvrtcProgram program, char *text))
#endif
