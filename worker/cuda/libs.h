/* libs.h: NVIDIA's libraries, found at run time. Nothing of NVIDIA's is linked or included, so that
 * every machine builds the same program, and one without a GPU runs it.
 *
 * They are looked for in the folders of GT_CUDA_LIBRARIES (separated by colons), where the loader
 * looks, and where the toolkit installs: the driver libcuda.so.1, NVRTC libnvrtc.so.13 or .12.
 * NVRTC may be no newer than the driver, by the major version. So may cuBLASLt, libcublasLt.so.13
 * or .12, which is looked for when it is wanted (blas.c).
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_LIBS_H
#define GT_WORKER_CUDA_LIBS_H
#include "runtime/base/err.h"
#include "worker/cuda/cublaslt_api.h"
#include "worker/cuda/cuda_api.h"
#include "worker/cuda/nvml_api.h"

typedef struct CudaLibs {
#define X(name, args) CUresult(*name) args;
    CUDA_FUNCTIONS(X)
#undef X
#define X(name, args) int(*name) args;
    NVRTC_FUNCTIONS(X)
#undef X
    int driver, nvrtc; /* versions: 1000 * major + 10 * minor */
} CudaLibs;
typedef struct NvmlLib {
#define X(name, args) nvmlReturn_t(*name) args;
    NVML_FUNCTIONS(X)
#undef X
} NvmlLib;

/* Returns the libraries, loaded once per process and initialised; any thread. NULL: err says what
 * is missing or too old, and the remedy. Nothing is unloaded. */
const CudaLibs *cuda_libs(Err *err);
/* Likewise NVIDIA's management library, libnvidia-ml.so.1; NULL: it is not there. */
const NvmlLib *cuda_nvml(void);

typedef struct BlasLibs {
    size_t (*cublasLtGetVersion)(void);
#define X(name, args) cublasStatus_t(*name) args;
    CUBLASLT_FUNCTIONS(X)
#undef X
} BlasLibs;
/* As cuda_libs, of cuBLASLt; after it. */
const BlasLibs *cuda_blas_libs(Err *err);

/* Returns true if code is success. Else sets err to "CALL: out of memory", with the driver's words,
 * and returns false. */
bool cuda_ok(const CudaLibs *libs, CUresult code, const char *call, Err *err);
#define CUDA(libs, err, call, ...) cuda_ok(libs, (libs)->call(__VA_ARGS__), #call, err)
#endif
