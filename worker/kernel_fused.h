/* kernel_fused.h: what kernels compiled at run time are made of besides their own source: the walk
 * over broadcast axes, reductions, the prologue's functions. The text of this file and of all that
 * it includes is part of the program (scripts/embedc) and begins every source that jit.c compiles.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_FUSED_H
#define GT_WORKER_KERNEL_FUSED_H
#include "worker/fused.h"
#include "worker/kernel_reduce.h"
#include "worker/prologue.h"

typedef struct FusedWalk {
    int64_t index[FUSED_RANK], offset[FUSED_INPUTS];
} FusedWalk;

/* To position i of the loop's row-major order. */
PRO_FN void fused_seek(FusedWalk *w, const FusedLoop *l, int inputs, int64_t i) {
    for (int k = 0; k < inputs; k++) w->offset[k] = 0;
    for (int64_t d = l->rank - 1; d >= 0; d--) {
        w->index[d] = i % l->shape[d];
        i /= l->shape[d];
        for (int k = 0; k < inputs; k++) w->offset[k] += w->index[d] * l->stride[k][d];
    }
}
PRO_FN void fused_next(FusedWalk *w, const FusedLoop *l, int inputs) {
    for (int64_t d = l->rank - 1; d >= 0; d--) {
        for (int k = 0; k < inputs; k++) w->offset[k] += l->stride[k][d];
        if (++w->index[d] < l->shape[d]) return;
        for (int k = 0; k < inputs; k++) w->offset[k] -= l->shape[d] * l->stride[k][d];
        w->index[d] = 0;
    }
}

/* NAME_tree: the accumulators of n >= 1 blocks become one, as cpu_reduce.c combines its table. */
#define REDUCE_REST(NAME, A, R, INIT)                                                              \
    PRO_FN R NAME##_tree(R *t, int64_t n) {                                                        \
        for (int64_t s = 1; s < n; s *= 2)                                                         \
            for (int64_t b = 0; b + s < n; b += 2 * s) t[b] = NAME##_both(t[b], t[b + s]);         \
        return t[0];                                                                               \
    }
#endif
