/* fit.h: whether an instruction fits the open cluster (fuse.h), and as which node: what its
 * operands are to the cluster's space, of which pending values may be views. Says nothing of when
 * clusters begin, end and are carried out: that is collect.c's.
 *
 * Kinds that fit: MAP rows, casts, reductions of rows or over the rows; a constant (`full`); and,
 * along a row, `gather` of one element per row and `scatter_add` of one, as a cross entropy has
 * them. A cluster whose values are one per row of a larger tensor becomes the rows of that.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_FUSE_FIT_H
#define GT_WORKER_FUSE_FIT_H
#include "worker/exec/job.h"
#include "worker/emit/fuse.h"

/* A value that an open cluster has promised. */
static inline bool fit_is_pending(const Storage *st) {
    return st->maker && st->maker->kind == JOB_PENDING;
}
/* A matmul's result that waits for the cluster that reads it. */
static inline bool fit_is_product(const Storage *st) {
    return st->maker && st->maker->kind == JOB_PRODUCT;
}
bool fit_is_space(const Fuse *f, const TensorType *t); /* t has its shape, but for axes of 1 */
/* An instruction of a kind that may fit. */
bool fit_is_kind(Op op);
/* The cluster must not end because such an instruction does not fit, unless it reads from it. */
bool fit_is_source(Op op);
/* j, operands and immediates set, as the next node of cluster f, which has n jobs; n = 0: of a new
 * one. operand: of its tensor operands, by their place in held. FUSE_NONE: it does not fit, and f
 * is as it was. type: the result's. */
FuseRef fit_job(Fuse *f, int n, const Job *j, const TensorType *type, FuseRef operand[3]);
#endif
