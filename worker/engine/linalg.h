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
#endif
