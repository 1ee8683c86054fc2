/* product.h: the arguments of product.cu, which includes this text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_PRODUCT_H
#define GT_WORKER_CUDA_PRODUCT_H
#include <stdint.h>

enum { PRODUCT_AXES = 8 };
/* out (batch, M, N) = a (batch, M, K) @ b (batch, K, N); strides in elements. */
typedef struct ProductArgs {
    const char *a, *b;
    char *out;
    int64_t M, N, K, a_m, a_k, b_k, b_n;
    int64_t batch, rank, shape[PRODUCT_AXES], a_batch[PRODUCT_AXES], b_batch[PRODUCT_AXES];
} ProductArgs;
#endif
