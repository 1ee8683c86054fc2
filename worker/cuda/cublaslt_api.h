/* cublaslt_api.h: the few declarations of cuBLASLt that the engine calls and its stand-in
 * (tests/gpu/blas.c) defines, by its own names and values, written by hand from the public manual.
 * With GT_REAL_CUDA_H the toolkit's header takes its place, and the compiler compares.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_CUBLASLT_API_H
#define GT_WORKER_CUDA_CUBLASLT_API_H
#ifdef GT_REAL_CUDA_H
#include <cublasLt.h>
#else
#include <stddef.h>
#include <stdint.h>

typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
} cublasStatus_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 } cublasOperation_t;
typedef enum {
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;
typedef enum cudaDataType_t {
    CUDA_R_32F = 0,
    CUDA_R_64F = 1,
    CUDA_R_16F = 2,
    CUDA_R_16BF = 14
} cudaDataType;
typedef enum { CUBLASLT_ORDER_COL = 0, CUBLASLT_ORDER_ROW = 1 } cublasLtOrder_t;
typedef enum {
    CUBLASLT_MATRIX_LAYOUT_TYPE = 0,
    CUBLASLT_MATRIX_LAYOUT_ORDER = 1,
    CUBLASLT_MATRIX_LAYOUT_ROWS = 2,
    CUBLASLT_MATRIX_LAYOUT_COLS = 3,
    CUBLASLT_MATRIX_LAYOUT_LD = 4,
    CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6
} cublasLtMatrixLayoutAttribute_t;
typedef enum {
    CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,
    CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1,
    CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,
    CUBLASLT_MATMUL_DESC_TRANSA = 3,
    CUBLASLT_MATMUL_DESC_TRANSB = 4,
    CUBLASLT_MATMUL_DESC_EPILOGUE = 7
} cublasLtMatmulDescAttributes_t;
typedef enum {
    CUBLASLT_MATMUL_PREF_SEARCH_MODE = 0,
    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
    CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8
} cublasLtMatmulPreferenceAttributes_t;
typedef enum {
    CUBLASLT_ALGO_CONFIG_ID = 0,
    CUBLASLT_ALGO_CONFIG_SPLITK_NUM = 2,
    CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME = 3
} cublasLtMatmulAlgoConfigAttributes_t;
enum { CUBLASLT_REDUCTION_SCHEME_NONE = 0, CUBLASLT_REDUCTION_SCHEME_MASK = 7 };
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct {
    uint64_t data[32];
} cublasLtMatmulDescOpaque_t;
typedef struct {
    uint64_t data[8];
} cublasLtMatrixLayoutOpaque_t;
typedef struct {
    uint64_t data[8];
} cublasLtMatmulPreferenceOpaque_t;
typedef cublasLtMatmulDescOpaque_t *cublasLtMatmulDesc_t;
typedef cublasLtMatrixLayoutOpaque_t *cublasLtMatrixLayout_t;
typedef cublasLtMatmulPreferenceOpaque_t *cublasLtMatmulPreference_t;
typedef struct {
    uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef struct {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
} cublasLtMatmulHeuristicResult_t;
typedef struct CUstream_st *cudaStream_t;
#define CUBLASWINAPI __attribute__((visibility("default")))

size_t CUBLASWINAPI cublasLtGetVersion(void);
#define CUBLASLT_FUNCTIONS(X)                                                                      \
    X(cublasLtCreate, (cublasLtHandle_t * handle))                                                 \
    X(cublasLtDestroy, (cublasLtHandle_t handle))                                                  \
    X(cublasLtMatmulDescCreate,                                                                    \
      (cublasLtMatmulDesc_t * d, cublasComputeType_t compute, cudaDataType scale))                 \
    X(cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t d))                                         \
    X(cublasLtMatmulDescSetAttribute,                                                              \
      (cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t a, const void *from, size_t size))   \
    X(cublasLtMatrixLayoutCreate,                                                                  \
      (cublasLtMatrixLayout_t * l, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld))   \
    X(cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t l))                                     \
    X(cublasLtMatrixLayoutSetAttribute,                                                            \
      (cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t a, const void *from,              \
       size_t size))                                                                               \
    X(cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t * p))                            \
    X(cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t p))                             \
    X(cublasLtMatmulPreferenceSetAttribute,                                                        \
      (cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t a, const void *from,     \
       size_t size))                                                                               \
    X(cublasLtMatmulAlgoGetHeuristic,                                                              \
      (cublasLtHandle_t handle, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,                  \
       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t out,             \
       cublasLtMatmulPreference_t p, int most, cublasLtMatmulHeuristicResult_t result[],           \
       int *count))                                                                                \
    X(cublasLtMatmulAlgoConfigGetAttribute,                                                        \
      (const cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoConfigAttributes_t a, void *to,         \
       size_t size, size_t *wrote))                                                                \
    X(cublasLtMatmul,                                                                              \
      (cublasLtHandle_t handle, cublasLtMatmulDesc_t d, const void *alpha, const void *A,          \
       cublasLtMatrixLayout_t a, const void *B, cublasLtMatrixLayout_t b, const void *beta,        \
       const void *C, cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t out,               \
       const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspace_bytes,                  \
       cudaStream_t stream))
#define X(name, args) cublasStatus_t CUBLASWINAPI name args;
CUBLASLT_FUNCTIONS(X)
#undef X
#endif
#endif
