/* dnnl.h: oneDNN's matrix product in float32. The library is loaded on first use, with dlopen:
 * without it dnnl_new gives NULL, and the cpu engine uses its own kernels.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_DNNL_H
#define GT_WORKER_DNNL_H
#include "worker/pool.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct Dnnl Dnnl;

/* out (M,N) = a (M,K) @ b (K,N). Strides in elements: of a_m and a_k (b_k and b_n) one is 1 and the
 * other at least the extent of the axis that it steps over; columns of out are side by side. Only
 * int64 members: it is a hash key. */
typedef struct DnnlShape {
    int64_t M, N, K, a_m, a_k, b_k, b_n, out_m;
} DnnlShape;

/* Says on stderr when the library is missing. isa: "base", "v3", "v4" (kernels.h). pool is
 * borrowed. */
Dnnl *dnnl_new(Pool *pool, const char *isa);
void dnnl_free(Dnnl **d);

/* `batch` products of one shape; matrix i of a and b lies a_offset[i] and b_offset[i] elements from
 * the start, of out i * M * N. The result does not depend on the number of threads. */
void dnnl_multiply(Dnnl *d, int64_t batch, const DnnlShape *s, const float *a,
                   const int64_t *a_offset, const float *b, const int64_t *b_offset, float *out);
#endif
