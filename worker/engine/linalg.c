/* linalg.c: error messages for matrices that cannot be factorized; see linalg.h.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/linalg.h"

#include <stdio.h>
#include <stdlib.h>

/* Writes "matrix [1, 2] of the batch", or "the matrix" if there is only one. buf: 200 bytes. */
static const char *which(const TensorType *batch, int64_t at, char *buf) {
    if (type_numel(batch) == 1) return "the matrix";
    int64_t index[MAX_DIMS];
    for (int d = batch->rank - 1; d >= 0; d--) {
        index[d] = at % batch->shape[d];
        at /= batch->shape[d];
    }
    int n = snprintf(buf, 200, "matrix [");
    for (int d = 0; d < batch->rank; d++)
        n += snprintf(buf + n, 200 - (size_t)n, "%s%lld", d ? ", " : "", (long long)index[d]);
    snprintf(buf + n, 200 - (size_t)n, "] of the batch");
    return buf;
}

bool linalg_singular(const TensorType *batch, int64_t at, int64_t i, Err *err) {
    char buf[200];
    return err_set(err, ERR_ARG, "solve: %s is singular: its pivot %lld is zero",
                   which(batch, at, buf), (long long)i);
}

bool linalg_indefinite(const TensorType *batch, int64_t at, int64_t i, Err *err) {
    char buf[200];
    err_set(err, ERR_ARG,
            "cholesky: %s is not positive definite: its leading minor of order %lld "
            "is not positive",
            which(batch, at, buf), (long long)i + 1);
    return err_hint(err, "if rounding is the cause, use a + 1e-6 * eye(n)");
}

bool linalg_not_perm(int64_t n, Err *err) {
    return err_set(err, ERR_INDEX, "solve: the row indices are not a permutation of 0 to %lld",
                   (long long)n - 1);
}

bool linalg_is_perm(const int64_t *perm, int64_t n, Err *err) {
    unsigned char *seen = xcalloc((size_t)n + 1, 1);
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++) {
        ok = perm[i] >= 0 && perm[i] < n && !seen[perm[i]];
        if (ok) seen[perm[i]] = 1;
    }
    free(seen);
    return ok || linalg_not_perm(n, err);
}
