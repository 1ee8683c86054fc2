/* ref_linalg.c: factorizations and triangular systems of the reference engine: textbook loops, on
 * one matrix at a time, in double, rounded once at the end.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/factor.h"
#include "worker/ref/ref.h"

#include <math.h>
#include <stdlib.h>

/* Returns the axes before the matrix (or, with keep 1, before the vector). */
static View batch_of(const View *v, int keep) {
    View b = *v;
    b.type.rank = (uint8_t)(v->type.rank - keep);
    return b;
}

/* Reads the matrix of v at batch index `index` of rank `rank`, row-major in double. */
static void read_matrix(const View *v, const int64_t *index, int rank, double *to) {
    View b = batch_of(v, 2);
    int r = v->type.rank;
    int64_t at = ref_offset(&b, index, rank);
    for (int64_t i = 0; i < v->type.shape[r - 2]; i++)
        for (int64_t j = 0; j < v->type.shape[r - 1]; j++)
            *to++ = ref_float(v, at + i * v->stride[r - 2] + j * v->stride[r - 1]);
}

static void write_matrix(const View *o, int64_t which, const double *from) {
    int r = o->type.rank;
    int64_t n = o->type.shape[r - 2] * o->type.shape[r - 1];
    for (int64_t i = 0; i < n; i++) ref_set_float(o, which * n + i, from[i]);
}

/* x (n, k) = a^-1 x of a triangle a; transposed: with its transpose. */
static void substitute(const double *a, int64_t n, bool upper, bool unit, bool transposed,
                       double *x, int64_t k) {
    bool backwards = upper != transposed;
    for (int64_t s = 0; s < n; s++) {
        int64_t i = backwards ? n - 1 - s : s;
        for (int64_t c = 0; c < k; c++) {
            double sum = x[i * k + c];
            for (int64_t t = 0; t < s; t++) {
                int64_t j = backwards ? n - 1 - t : t;
                sum -= (transposed ? a[j * n + i] : a[i * n + j]) * x[j * k + c];
            }
            x[i * k + c] = unit ? sum : sum / a[i * n + i];
        }
    }
}

bool ref_CHOLESKY(const Call *c, Err *err) {
    const View *x = &c->in[0], *o = &c->out[0];
    View batch = batch_of(x, 2);
    int64_t n = x->type.shape[x->type.rank - 1], index[MAX_DIMS] = {0}, which = 0;
    if (ref_is_empty(&x->type)) return true;
    double *a = xmalloc(sizeof *a * (size_t)(n * n));
    bool ok = true;
    do {
        read_matrix(x, index, batch.type.rank, a);
        for (int64_t i = 0; ok && i < n; i++) {
            for (int64_t j = 0; j <= i; j++) {
                double sum = a[i * n + j];
                for (int64_t k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
                if (j < i)
                    a[i * n + j] = sum / a[j * n + j];
                else if (sum > 0)
                    a[i * n + i] = sqrt(sum);
                else
                    ok = linalg_indefinite(&batch.type, which, i, err);
            }
            for (int64_t j = i + 1; j < n; j++) a[i * n + j] = 0;
        }
        if (ok) write_matrix(o, which++, a);
    } while (ok && ref_step(index, &batch.type));
    free(a);
    return ok;
}

bool ref_LU(const Call *c, Err *err) {
    const View *x = &c->in[0];
    View batch = batch_of(x, 2);
    int64_t n = x->type.shape[x->type.rank - 1], index[MAX_DIMS] = {0}, which = 0;
    if (ref_is_empty(&x->type)) return true;
    double *a = xmalloc(sizeof *a * (size_t)(n * n));
    do {
        read_matrix(x, index, batch.type.rank, a);
        for (int64_t i = 0; i < n; i++) ref_set_int(&c->out[1], which * n + i, i);
        for (int64_t j = 0; j < n; j++) {
            int64_t p = j;
            for (int64_t i = j + 1; i < n; i++)
                if (fabs(a[i * n + j]) > fabs(a[p * n + j])) p = i;
            int64_t row = ref_int(&c->out[1], which * n + p);
            ref_set_int(&c->out[1], which * n + p, ref_int(&c->out[1], which * n + j));
            ref_set_int(&c->out[1], which * n + j, row);
            for (int64_t k = 0; k < n; k++) {
                double t = a[p * n + k];
                a[p * n + k] = a[j * n + k], a[j * n + k] = t;
            }
            if (a[j * n + j] == 0) continue;
            for (int64_t i = j + 1; i < n; i++) {
                double f = a[i * n + j] /= a[j * n + j];
                for (int64_t k = j + 1; k < n; k++) a[i * n + k] -= f * a[j * n + k];
            }
        }
        write_matrix(&c->out[0], which++, a);
    } while (ref_step(index, &batch.type));
    free(a);
    return true;
}

static bool never_cancelled(void *ctx) { return false; }

static bool factor(const Call *c) {
    const View *x = &c->in[0], *o = &c->out[0];
    const LinalgCancel never = {never_cancelled, NULL};
    View batch = batch_of(x, 2);
    int rank = batch.type.rank;
    int64_t m = x->type.shape[rank], n = x->type.shape[rank + 1], index[MAX_DIMS] = {0}, which = 0;
    int64_t n_out = o->type.shape[rank] * o->type.shape[rank + 1];
    if (ref_is_empty(&o->type)) return true;
    int64_t work = linalg_factor_work(c->inst->op, m, n);
    double *a = xmalloc(sizeof *a * (size_t)(m * n + n_out + work)), *out = a + m * n;
    do {
        read_matrix(x, index, rank, a);
        linalg_factor(c->inst->op, a, m, n, out, out + n_out, &never);
        write_matrix(o, which++, out);
    } while (ref_step(index, &batch.type));
    free(a);
    return true;
}

bool ref_QR(const Call *c, Err *err) { return (void)err, factor(c); }
bool ref_EIGH(const Call *c, Err *err) { return (void)err, factor(c); }
bool ref_SVD(const Call *c, Err *err) { return (void)err, factor(c); }

/* Row i of `to` is row perm[i] of `from`; scatter: the inverse. */
static bool permute_rows(const View *perm, const int64_t *index, int rank, bool scatter,
                         const double *from, double *to, int64_t n, int64_t k, Err *err) {
    View b = batch_of(perm, 1);
    int64_t at = ref_offset(&b, index, rank), *row = xmalloc(sizeof *row * (size_t)n);
    for (int64_t i = 0; i < n; i++)
        row[i] = ref_int(perm, at + i * perm->stride[perm->type.rank - 1]);
    bool ok = linalg_is_perm(row, n, err);
    for (int64_t i = 0; ok && i < n; i++)
        for (int64_t c = 0; c < k; c++)
            to[(scatter ? row[i] : i) * k + c] = from[(scatter ? i : row[i]) * k + c];
    free(row);
    return ok;
}

bool ref_SOLVE(const Call *c, Err *err) {
    const View *b = &c->in[1], *lu = &c->in[2], *perm = &c->in[3], *o = &c->out[0];
    bool transposed = inst_bool(c->inst, ATTR_TRANSPOSED, false), ok = true;
    View batch = batch_of(o, 2);
    int rank = batch.type.rank;
    int64_t n = o->type.shape[rank], k = o->type.shape[rank + 1], index[MAX_DIMS] = {0}, which = 0;
    if (ref_is_empty(&o->type)) return true;
    double *a = xmalloc(sizeof *a * (size_t)(n * n + 2 * n * k)), *x = a + n * n, *y = x + n * k;
    do {
        read_matrix(lu, index, rank, a);
        read_matrix(b, index, rank, x);
        for (int64_t i = 0; ok && i < n; i++)
            if (a[i * n + i] == 0) ok = linalg_singular(&batch.type, which, i, err);
        if (ok && transposed) {
            substitute(a, n, true, false, true, x, k);
            substitute(a, n, false, true, true, x, k);
            ok = permute_rows(perm, index, rank, true, x, y, n, k, err);
        } else if (ok) {
            ok = permute_rows(perm, index, rank, false, x, y, n, k, err);
            substitute(a, n, false, true, false, y, k);
            substitute(a, n, true, false, false, y, k);
        }
        if (ok) write_matrix(o, which++, y);
    } while (ok && ref_step(index, &batch.type));
    free(a);
    return ok;
}

bool ref_SOLVE_TRIANGULAR(const Call *c, Err *err) {
    const View *b = &c->in[1], *o = &c->out[0];
    View batch = batch_of(o, 2);
    int rank = batch.type.rank;
    int64_t n = o->type.shape[rank], k = o->type.shape[rank + 1], index[MAX_DIMS] = {0}, which = 0;
    if (ref_is_empty(&o->type)) return true;
    double *a = xmalloc(sizeof *a * (size_t)(n * n + n * k)), *x = a + n * n;
    do {
        read_matrix(&c->in[0], index, rank, a);
        read_matrix(b, index, rank, x);
        substitute(a, n, inst_bool(c->inst, ATTR_UPPER, false),
                   inst_bool(c->inst, ATTR_UNIT, false), false, x, k);
        write_matrix(o, which++, x);
    } while (ref_step(index, &batch.type));
    free(a);
    return true;
}
