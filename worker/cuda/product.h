/* product.h: matrix products by the own kernels.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_PRODUCT_H
#define GT_WORKER_CUDA_PRODUCT_H
#include "worker/cuda/cuda.h"

/* out -= a @ b, of float32 or float64, by the own kernels; p: all but how it is cut. */
bool cuda_subtract_product(Cuda *c, ProductArgs *p, DType d, Err *err);
/* Writes what tile.h needs to know of dtypes, of operands and result. Returns that of the sums. */
DType cuda_put_types(Bytes *out, DType from, DType to);
#endif
