/* linalg.h: what the engines' factorizations share: the words for what a matrix may be at fault
 * with, so that every engine says the same. `shape` is the batch that matrix `at` (row-major)
 * belongs to.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_LINALG_H
#define GT_WORKER_ENGINE_LINALG_H
#include "runtime/inst/inst.h"

/* "matrix [1, 2] of the batch", or "the matrix" where there is one only. buf: 200 bytes. */
const char *linalg_which(const TensorType *batch, int64_t at, char *buf);
/* Pivot i (from 0) is zero; the minor of order i + 1 is not positive. Both return false. */
bool linalg_singular(const TensorType *batch, int64_t at, int64_t i, Err *err);
bool linalg_indefinite(const TensorType *batch, int64_t at, int64_t i, Err *err);
/* Each of 0 .. n-1 once; else false with err set. */
bool linalg_is_perm(const int64_t *perm, int64_t n, Err *err);

/* ---- factor.c: OP_QR, OP_EIGH, OP_SVD of one matrix ---- */

/* Asked now and then: true ends the work early. */
typedef struct LinalgCut {
    bool (*is_cut)(void *ctx);
    void *ctx;
} LinalgCut;
/* Doubles of `work` that linalg_factor needs. */
int64_t linalg_factor_work(Op op, int64_t m, int64_t n);
/* a (m, n), row-major, is overwritten. out, with k = min(m, n) columns: of QR (m >= n) m rows Q,
 * then n rows R transposed; of EIGH (m = n, the lower triangle counts) a row of eigenvalues,
 * ascending, then their vectors as columns; of SVD m rows U, a row of singular values, descending,
 * n rows V. Elements that are not finite make all results nan. false: cut. */
bool linalg_factor(Op op, double *a, int64_t m, int64_t n, double *out, double *work,
                   const LinalgCut *cut);
#endif
