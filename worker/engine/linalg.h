/* linalg.h: shared by the engines' factorizations: error messages, which are the same for every
 * engine, and factor.c. `batch` is the shape of the batch that contains matrix `at` (a
 * row-major index).
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_LINALG_H
#define GT_WORKER_ENGINE_LINALG_H
#include "runtime/inst/inst.h"

/* Set err and return false: pivot i (from 0) is zero; the minor of order i + 1 is not positive. */
bool linalg_singular(const TensorType *batch, int64_t at, int64_t i, Err *err);
bool linalg_indefinite(const TensorType *batch, int64_t at, int64_t i, Err *err);
/* Sets err and returns false: row indices of solve are not a permutation of 0 .. n-1. */
bool linalg_not_perm(int64_t n, Err *err);
/* True if perm has each of 0 .. n-1 once; else false with err set. */
bool linalg_is_perm(const int64_t *perm, int64_t n, Err *err);

/* ---- factor.c: OP_QR, OP_EIGH, OP_SVD of one matrix ---- */

/* linalg_factor calls is_cancelled from time to time; if it returns true the work ends early. */
typedef struct LinalgCancel {
    bool (*is_cancelled)(void *ctx);
    void *ctx;
} LinalgCancel;
#endif
