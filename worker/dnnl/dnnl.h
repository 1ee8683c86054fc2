/* dnnl.h: oneDNN's convolution in float32. The library is loaded on first use,
 * with dlopen. Without it dnnl_new returns NULL, and the cpu engine uses its own kernels.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_DNNL_DNNL_H
#define GT_WORKER_DNNL_DNNL_H
#include "worker/engine/pool.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct Dnnl Dnnl;

/* Writes a note to stderr, and returns NULL, if the library is missing. isa: "base", "v3", "v4"
 * (kernels.h). pool is borrowed. */
Dnnl *dnnl_new(Pool *pool, const char *isa);
void dnnl_free(Dnnl **d);

/* ---- Convolution, forward (a = x, b = w), by input (dy, w), by weights (x, dy) ---- */

typedef enum DnnlConvKind { DNNL_CONV, DNNL_CONV_DX, DNNL_CONV_DW } DnnlConvKind;
/* x (N, C, in), w (O, C / groups, kernel), y (N, O, out), three spatial axes each, all row-major
 * and not empty. Only int64 members: it is a hash key. */
typedef struct DnnlConv {
    int64_t kind, N, C, O, groups;
    int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
} DnnlConv;

/* How a convolution is split into tiles, by its shape alone, and the primitives of its tiles. */
typedef struct DnnlPlan {
    DnnlConv s;
    int64_t n, r;                  /* images and channels of the result in one tile */
    int64_t tiles_n, tiles_r;      /* numbers of such tiles */
    int64_t tile_bytes;            /* memory per thread */
    int64_t b_bytes;               /* a channel tile's converted weights; 0: none */
    int64_t round;                 /* leaves of the weights' gradient at a time: a power of two */
    int64_t table_bytes;           /* ... and their sums, and those that wait, level by level */
    struct ConvEntry *entry[2][2]; /* [is last of images][is last of channels] */
} DnnlPlan;
/* Returns false if the library has no fast implementation. The plan is valid until the next one is
 * made. */
bool dnnl_conv_plan(Dnnl *d, const DnnlConv *s, DnnlPlan *p);
/* Returns the bytes of memory that the plan needs in addition to the operands. */
int64_t dnnl_conv_bytes(const Dnnl *d, const DnnlPlan *p);
/* side: memory of dnnl_conv_bytes, 64-byte aligned. The result does not depend on the number of
 * threads. */
void dnnl_conv_run(Dnnl *d, const DnnlPlan *p, const float *a, const float *b, float *out,
                   void *side);
#endif
