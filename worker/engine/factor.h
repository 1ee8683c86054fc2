/* factor.h: factorisations of one matrix. SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_FACTOR_H
#define GT_WORKER_ENGINE_FACTOR_H
#include "worker/engine/linalg.h"

/* Returns the number of doubles that linalg_factor needs in `work`. */
int64_t linalg_factor_work(Op op, int64_t m, int64_t n);
/* Factorizes a (m, n), row-major, which is overwritten. out gets rows of k = min(m, n) numbers:
 *   QR (m >= n)  m rows Q, n rows R transposed
 *   EIGH (m = n) a row of eigenvalues, ascending, n rows of eigenvectors, which are its columns; it
 *                reads the lower triangle of a
 *   SVD          m rows U, a row of singular values, descending, n rows V
 * An element that is not finite makes all results nan. Returns false if cancelled. */
bool linalg_factor(Op op, double *a, int64_t m, int64_t n, double *out, double *work,
                   const LinalgCancel *cancel);
#endif
