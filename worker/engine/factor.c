/* factor.c: QR, eigenvalues of symmetric matrices and singular values, in double; see linalg.h. All
 * engines share this code, because the algorithm decides signs and the order of equal values. QR:
 * Householder reflections with LAPACK's signs. Eigenvalues: tridiagonal by reflections, then
 * implicit QL with Wilkinson's shift (Martin and Wilkinson 1968). Singular values: one-sided Jacobi
 * (Hestenes 1958), which also finds small ones to full relative precision. Kernels of the engine
 * cuda (worker/cuda/factor.cu) do the same in the same order, with the numbers of factor_step.h.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/factor.h"

#include <math.h>
#include <string.h>

#include "worker/engine/factor_step.h"

/* Vectors written out: the compiler may not reorder sums, and at -O2 vectorises no loop of unknown
 * length. Every processor adds in the same order: element i to lane i % LANES, then the lanes by
 * halves. */
typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));
enum { LANES = FACTOR_LANES };
#define FOUR(p) (*(Four *)(p))

static double sum_lanes(double *lane) {
    for (int h = LANES / 2; h > 0; h /= 2)
        for (int i = 0; i < h; i++) lane[i] += lane[i + h];
    return lane[0];
}
static double dot(const double *x, const double *y, int64_t n) {
    double lane[LANES];
    Four low = {0}, high = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        low += FOUR(x + i) * FOUR(y + i);
        high += FOUR(x + i + 4) * FOUR(y + i + 4);
    }
    FOUR(lane) = low, FOUR(lane + 4) = high;
    for (int k = 0; i < n; i++, k++) lane[k] += x[i] * y[i];
    return sum_lanes(lane);
}
/* x += f * y */
static void axpy(double *x, double f, const double *y, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) FOUR(x + i) += f * FOUR(y + i);
    for (; i < n; i++) x[i] += f * y[i];
}
static void rotate(double *x, double *y, double c, double s, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        Four a = FOUR(x + i), b = FOUR(y + i);
        FOUR(x + i) = c * a - s * b, FOUR(y + i) = s * a + c * b;
    }
    for (; i < n; i++) {
        double a = x[i], b = y[i];
        x[i] = c * a - s * b, y[i] = s * a + c * b;
    }
}
static void unit(double *a, int64_t n) {
    memset(a, 0, sizeof *a * (size_t)(n * n));
    for (int64_t i = 0; i < n; i++) a[i * n + i] = 1;
}
static void swap_rows(double *a, int64_t n, int64_t i, int64_t j) {
    for (int64_t k = 0; k < n; k++) {
        double t = a[i * n + k];
        a[i * n + k] = a[j * n + k], a[j * n + k] = t;
    }
}

/* Divides by the largest power of two that is at most the largest absolute value, so that squares
 * neither overflow nor underflow. Returns that power, which is finite for every finite matrix; 1
 * for zeros, nan if an element is not finite. */
static double scale_down(double *a, int64_t n) {
    double most = 0;
    int e;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(a[i])) return NAN;
        if (fabs(a[i]) > most) most = fabs(a[i]);
    }
    if (most == 0) return 1;
    e = factor_exponent(most); /* most < 2^e, and 2^1024 is no double */
    for (int64_t i = 0; i < n; i++) a[i] = factor_scale(a[i], 1 - e);
    return factor_power(e - 1);
}

/* Makes H = I - tau v v', which turns all elements of x (n) but the first into 0, and returns tau.
 * x[0] becomes the first element of H x, the others become those of v. v[0] = 1 is not stored. */
static double reflection(double *x, int64_t n) {
    double below = n > 1 ? dot(x + 1, x + 1, n - 1) : 0;
    if (below == 0) return 0;
    double tau, to = factor_reflection(x[0], below, &tau);
    for (int64_t i = 1; i < n; i++) x[i] /= x[0] - to;
    x[0] = to;
    return tau;
}

/* ---- QR ---- */

/* Applies H to rows first .. m-1, columns c .. n-1 of a (.., n); v (m - first) with v[0] = 1. w: n
 * values of scratch. */
static void reflect(double *a, int64_t n, int64_t first, int64_t m, int64_t c, const double *v,
                    double tau, double *w) {
    memset(w, 0, sizeof *w * (size_t)(n - c));
    for (int64_t i = first; i < m; i++) axpy(w, v[i - first], a + i * n + c, n - c);
    for (int64_t i = first; i < m; i++) axpy(a + i * n + c, -tau * v[i - first], w, n - c);
}

static bool qr(double *a, int64_t m, int64_t n, double *out, double *work,
               const LinalgCancel *cancel) {
    double *v = work, *tau = work + m, *w = tau + n, scale = scale_down(a, m * n);
    for (int64_t k = 0; k < n; k++) {
        for (int64_t i = k; i < m; i++) v[i - k] = a[i * n + k];
        tau[k] = reflection(v, m - k);
        for (int64_t i = k; i < m; i++) a[i * n + k] = v[i - k];
        v[0] = 1;
        if (tau[k] != 0) reflect(a, n, k, m, k + 1, v, tau[k], w);
        if (cancel->is_cancelled(cancel->ctx)) return false;
    }
    memset(out, 0, sizeof *out * (size_t)((m + n) * n));
    for (int64_t k = 0; k < n; k++) out[k * n + k] = 1;
    for (int64_t k = n - 1; k >= 0; k--) {
        for (int64_t i = k + 1; i < m; i++) v[i - k] = a[i * n + k];
        v[0] = 1;
        if (tau[k] != 0) reflect(out, n, k, m, k, v, tau[k], w);
        if (cancel->is_cancelled(cancel->ctx)) return false;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) out[(m + j) * n + i] = a[i * n + j] * scale;
    if (scale != scale)
        for (int64_t i = 0; i < m * n; i++) out[i] = NAN;
    return true;
}

/* ---- Symmetric matrices ---- */

/* a = Q T Q' with T tridiagonal: diagonal d, off-diagonal e; rows of q become Q'. p: n values of
 * scratch. Returns false if cancelled. */
static bool tridiagonal(double *a, int64_t n, double *d, double *e, double *q, double *p,
                        const LinalgCancel *cancel) {
    for (int64_t k = 0; k + 2 < n; k++) {
        double *v = a + k * n + k + 1;
        int64_t rest = n - k - 1;
        double tau = reflection(v, rest);
        e[k] = v[0], v[0] = 1, p[k] = tau;
        for (int64_t i = 0; tau != 0 && i < rest; i++)
            q[i] = tau * dot(a + (k + 1 + i) * n + k + 1, v, rest);
        if (tau != 0) axpy(q, -tau / 2 * dot(q, v, rest), v, rest);
        for (int64_t i = 0; tau != 0 && i < rest; i++) {
            axpy(a + (k + 1 + i) * n + k + 1, -v[i], q, rest);
            axpy(a + (k + 1 + i) * n + k + 1, -q[i], v, rest);
        }
        if (cancel->is_cancelled(cancel->ctx)) return false;
    }
    for (int64_t i = 0; i < n; i++) d[i] = a[i * n + i];
    if (n > 1) e[n - 2] = a[(n - 2) * n + n - 1];
    e[n - 1] = 0;
    unit(q, n);
    for (int64_t k = n - 3; k >= 0; k--) {
        const double *v = a + k * n + k + 1;
        int64_t rest = n - k - 1;
        for (int64_t i = k + 1; p[k] != 0 && i < n; i++) {
            double *row = q + i * n + k + 1;
            axpy(row, -p[k] * dot(row, v, rest), v, rest);
        }
        if (cancel->is_cancelled(cancel->ctx)) return false;
    }
    return true;
}

static bool eigh(double *a, int64_t n, double *out, double *work, const LinalgCancel *cancel) {
    double *d = out, *e = work, *q = out + n, *p = work + n, *turn = work + 2 * n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) a[i * n + j] = a[j * n + i];
    double scale = scale_down(a, n * n);
    if (scale != scale) {
        for (int64_t i = 0; i < (n + 1) * n; i++) out[i] = NAN;
        return true;
    }
    if (!tridiagonal(a, n, d, e, q, p, cancel)) return false;
    for (int64_t l = 0; l < n; l++)
        for (int step = 0; step < FACTOR_QL_STEPS; step++) {
            int64_t m = factor_ql_end(d, e, n, l);
            if (m == l) break;
            int64_t turns = factor_ql_step(d, e, l, m, turn);
            for (int64_t k = 0; k < turns; k++)
                rotate(q + (m - 1 - k) * n, q + (m - k) * n, turn[2 * k], turn[2 * k + 1], n);
            if (cancel->is_cancelled(cancel->ctx)) return false;
        }
    for (int64_t i = 0; i < n; i++) {
        int64_t least = i;
        for (int64_t j = i + 1; j < n; j++)
            if (d[j] < d[least]) least = j;
        if (least == i) continue;
        double t = d[i];
        d[i] = d[least], d[least] = t;
        swap_rows(q, n, i, least);
    }
    for (int64_t i = 0; i < n; i++) d[i] *= scale;
    for (int64_t i = 0; i < n; i++) /* rows of q are vectors, which are columns of the result */
        for (int64_t j = 0; j < i; j++) {
            double t = q[i * n + j];
            q[i * n + j] = q[j * n + i], q[j * n + i] = t;
        }
    return true;
}

/* ---- Singular values ---- */

/* Returns the length of x (n). */
static double length(const double *x, int64_t n) { return factor_length(x, n, dot(x, x, n)); }

/* The square of the length of a row x (n) after a rotation that leaves `left` of `was`. */
static double length_left(const double *x, int64_t n, double was, double left) {
    return left > 0.125 * was ? left : dot(x, x, n); /* few of its digits are left */
}

/* Rotates the rows of g (k, n) until they are orthogonal, and j (k, k) with them. of: scratch for k
 * values, squares of the rows' lengths, which a rotation moves from one row to the other. Returns
 * false if cancelled. */
static bool orthogonalize(double *g, double *j, double *of, int64_t k, int64_t n,
                          const LinalgCancel *cancel) {
    bool turned = true;
    for (int sweep = 0; turned && sweep < FACTOR_SWEEPS; sweep++) {
        turned = false;
        for (int64_t i = 0; i < k; i++) of[i] = dot(g + i * n, g + i * n, n);
        for (int64_t p = 0; p < k; p++) {
            for (int64_t q = p + 1; q < k; q++) {
                double *x = g + p * n, *y = g + q * n;
                double a = of[p], b = of[q], xy = dot(x, y, n);
                double lengths = sqrt(a) * sqrt(b);
                bool are_tiny = a < FACTOR_TINY || b < FACTOR_TINY;
                if (are_tiny)
                    lengths =
                        factor_tiny_products(x, y, n, length(x, n), length(y, n), &a, &b, &xy);
                if (!(fabs(xy) > 2 * FACTOR_EPSILON * lengths)) continue;
                double c, t;
                factor_turn(a, b, xy, &c, &t);
                rotate(x, y, c, c * t, n);
                rotate(j + p * k, j + q * k, c, c * t, k);
                of[p] = are_tiny ? dot(x, x, n) : length_left(x, n, a, a - t * xy);
                of[q] = are_tiny ? dot(y, y, n) : length_left(y, n, b, b + t * xy);
                turned = true;
            }
            if (cancel->is_cancelled(cancel->ctx)) return false;
        }
    }
    return true;
}

/* Replaces row i of g by a unit vector orthogonal to the earlier rows, which are orthonormal: takes
 * the axis vector with the smallest projection onto them, subtracts that projection, and scales to
 * length 1. */
static void fill_row(double *g, int64_t i, int64_t n) {
    double *x = g + i * n, least = INFINITY;
    int64_t at = 0;
    for (int64_t c = 0; c < n; c++) {
        double covered = 0;
        for (int64_t r = 0; r < i; r++) covered += g[r * n + c] * g[r * n + c];
        if (covered < least) least = covered, at = c;
    }
    memset(x, 0, sizeof *x * (size_t)n);
    x[at] = 1;
    for (int twice = 0; twice < 2; twice++)
        for (int64_t r = 0; r < i; r++) axpy(x, -dot(x, g + r * n, n), g + r * n, n);
    double norm = sqrt(dot(x, x, n));
    for (int64_t c = 0; c < n; c++) x[c] /= norm;
}

static bool svd(double *a, int64_t m, int64_t n, double *out, double *work,
                const LinalgCancel *cancel) {
    bool tall = m >= n;
    int64_t k = tall ? n : m, l = tall ? m : n;
    double *g = work, *j = g + k * l, *of = j + k * k, scale = scale_down(a, m * n);
    for (int64_t i = 0; i < k; i++)
        for (int64_t c = 0; c < l; c++) g[i * l + c] = tall ? a[c * n + i] : a[i * n + c];
    unit(j, k);
    if (scale == scale && !orthogonalize(g, j, of, k, l, cancel)) return false;
    double *long_side = out + (tall ? 0 : (m + 1) * k),
           *short_side = out + (tall ? (m + 1) * k : 0);
    double *s = out + m * k;
    for (int64_t i = 0; i < k; i++) s[i] = length(g + i * l, l);
    for (int64_t i = 0; i < k; i++) {
        int64_t most = i;
        for (int64_t r = i + 1; r < k; r++)
            if (s[r] > s[most]) most = r;
        double t = s[i];
        s[i] = s[most], s[most] = t;
        if (most != i) swap_rows(g, l, i, most), swap_rows(j, k, i, most);
        for (int64_t c = 0; c < l && s[i] >= FACTOR_LEAST; c++) g[i * l + c] /= s[i];
        if (s[i] < FACTOR_LEAST) fill_row(g, i, l); /* its direction is rounded away */
        for (int64_t c = 0; c < l; c++) long_side[c * k + i] = g[i * l + c];
        for (int64_t c = 0; c < k; c++) short_side[c * k + i] = j[i * k + c];
    }
    for (int64_t i = 0; i < k; i++) s[i] *= scale;
    for (int64_t i = 0; scale != scale && i < (m + 1 + n) * k; i++) out[i] = NAN;
    return true;
}

/* ---- All of them ---- */

int64_t linalg_factor_work(Op op, int64_t m, int64_t n) {
    int64_t least = m < n ? m : n, most = m < n ? n : m;
    return op == OP_QR ? m + 2 * n : op == OP_EIGH ? 4 * n : least * (least + most + 1);
}

bool linalg_factor(Op op, double *a, int64_t m, int64_t n, double *out, double *work,
                   const LinalgCancel *cancel) {
    if (m == 0 || n == 0) return true;
    return op == OP_QR     ? qr(a, m, n, out, work, cancel)
           : op == OP_EIGH ? eigh(a, n, out, work, cancel)
                           : svd(a, m, n, out, work, cancel);
}
