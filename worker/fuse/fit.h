/* fit.h: decides whether an instruction fits the open fusion (fuse.h), and as which node: how its
 * operands relate to the fusion's space, and which of them are views of pending values. collect.c
 * decides when fusions begin, end and are executed. collect.h says what fusions are worth.
 *
 * Kinds that fit: MAP rows, casts, reductions of rows or over the rows; a constant (`full`); and,
 * along a row, `gather` of one element per row and `scatter_add` of one, as a cross entropy has
 * them. A fusion whose values are one per row of a larger tensor becomes the rows of that.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_FUSE_FIT_H
#define GT_WORKER_FUSE_FIT_H
#include "worker/exec/job.h"
#include "worker/emit/fuse.h"

/* True for the result of a node of the open fusion. */
static inline bool fit_is_pending(const Storage *st) {
    return st->maker && st->maker->kind == JOB_PENDING;
}
/* True for the result of the pending product. */
static inline bool fit_is_product(const Storage *st) {
    return st->maker && st->maker->kind == JOB_PRODUCT;
}
bool fit_is_space(const Fusion *f, const TensorType *t); /* t has its shape, but for axes of 1 */
/* True for an op that may fit. */
bool fit_is_kind(Op op);
/* True for an op whose instructions, if they do not fit, end the open fusion only if they read from
 * it. */
bool fit_is_source(Op op);
/* Adds j, with operands and immediates set, as the next node of fusion f, which has n jobs; n = 0:
 * starts a new one. operand: set to its tensor operands, by their index in held. type: the
 * result's. fits: of a Maker; NULL: all fusions have kernels. Returns FUSE_NONE, with f unchanged,
 * if j does not fit. */
FuseRef fit_job(Fusion *f, int n, const Job *j, const TensorType *type, FuseRef operand[3],
                bool (*fits)(const Fusion *f));
#endif
