/* blas.h: matrix products by cuBLASLt.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_BLAS_H
#define GT_WORKER_CUDA_BLAS_H
#include "worker/cuda/cuda.h"

/* True if the environment's GT_CUDA_BLAS asks for cuBLASLt: is 1 or tf32. */
bool cuda_wants_blas(void);
/* Writes the library's version and the setting, such as "cublas13.2-tf32", or "" unless the
 * environment asks for it. False: the setting is none, or the library is not there; err says which.
 */
enum { CUDA_BLAS_NAME = 32 };
bool cuda_blas_name(char *name, size_t size, Err *err);
/* If so, opens cuBLASLt with BLAS_BYTES of device memory, and adds its version to the isa. False:
 * err says why. */
bool cuda_open_blas(Cuda *c, char *workspace, Err *err);
void cuda_close_blas(Cuda *c);
/* Appends blas=NAME VERSION to what cuda_about says, once the library is open. */
void cuda_about_blas(const Cuda *c, Bytes *out);
/* Multiplies by cuBLASLt. Returns 1; 0 if inst does not allow it, it is not there or does not take
 * this product, which the own kernels compute then; -1 with err set, or while calls are recorded.
 */
int cuda_blas_product(Cuda *c, const Inst *inst, const ProductArgs *p, DType from, DType to,
                      Err *err);
#endif
