/* factor_step.h: the arithmetic of factor.c on single numbers and short loops, in double. The
 * kernels of the engine cuda include this text, so that both compute the same bits: it uses nothing
 * but what IEEE 754 defines, and no function of a library but sqrt, fabs and copysign.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_FACTOR_STEP_H
#define GT_WORKER_ENGINE_FACTOR_STEP_H
#include <math.h>
#include <stdint.h>

enum { FACTOR_QL_STEPS = 60, FACTOR_SWEEPS = 60, FACTOR_LANES = 8 };
#define FACTOR_EPSILON 0x1p-52
#define FACTOR_LEAST   0x1p-1022 /* of normal numbers */
/* A sum of squares below this may have lost terms by underflow. */
#define FACTOR_TINY 0x1p-900

/* 2^k, -1074 <= k <= 1023. */
static inline double factor_power(int k) {
    unsigned long long bits = k < -1022 ? 1ull << (k + 1074) : (unsigned long long)(k + 1023) << 52;
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
/* x * 2^k, rounded once; -1074 <= k <= 2046. */
static inline double factor_scale(double x, int k) {
    return k > 1023 ? x * factor_power(1023) * factor_power(k - 1023) : x * factor_power(k);
}
/* The e with 2^(e-1) <= x < 2^e, x > 0 and finite. */
static inline int factor_exponent(double x) {
    unsigned long long bits;
    int more = x < FACTOR_LEAST ? 54 : 0;
    x = factor_scale(x, more);
    __builtin_memcpy(&bits, &x, sizeof x);
    return (int)(bits >> 52) - 1022 - more;
}
/* sqrt(a * a + b * b) without overflow, to 2 ulp. */
static inline double factor_hypot(double a, double b) {
    double most = fabs(a), least = fabs(b);
    if (most < least) {
        double t = most;
        most = least, least = t;
    }
    if (most == 0) return 0;
    double r = least / most;
    return most * sqrt(1 + r * r);
}

/* Of a reflection of a vector that begins with x and whose other elements have squares that add up
 * to `below` > 0: returns what x becomes, and sets tau. */
static inline double factor_reflection(double x, double below, double *tau) {
    double to = -copysign(sqrt(x * x + below), x);
    *tau = (to - x) / to;
    return to;
}

/* Returns the end of the block from l on that no small off-diagonal element cuts. */
static inline int64_t factor_ql_end(const double *d, const double *e, int64_t n, int64_t l) {
    int64_t m = l;
    while (m + 1 < n && fabs(e[m]) > FACTOR_EPSILON / 2 * (fabs(d[m]) + fabs(d[m + 1]))) m++;
    return m;
}
/* One implicit QL step on l .. m of the tridiagonal matrix with diagonal d and off-diagonal e.
 * Returns how many rotations it has: number k, of rows m - 1 - k and m - k, has cosine turn[2 * k]
 * and sine turn[2 * k + 1]. */
static inline int64_t factor_ql_step(double *d, double *e, int64_t l, int64_t m, double *turn) {
    double g = (d[l + 1] - d[l]) / (2 * e[l]);
    g = d[m] - d[l] + e[l] / (g + copysign(factor_hypot(g, 1), g));
    double s = 1, c = 1, p = 0;
    for (int64_t i = m - 1; i >= l; i--) {
        double f = s * e[i], b = c * e[i], r = e[i + 1] = factor_hypot(f, g);
        if (r == 0) {
            d[i + 1] -= p, e[m] = 0;
            return m - 1 - i;
        }
        s = f / r, c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        turn[2 * (m - 1 - i)] = c, turn[2 * (m - 1 - i) + 1] = s;
    }
    d[l] -= p, e[l] = g, e[m] = 0;
    return m - l;
}

/* The rotation that makes rows orthogonal whose products are x x' = a, y y' = b, x y' = xy: sets
 * cosine and tangent. */
static inline void factor_turn(double a, double b, double xy, double *c, double *t) {
    double z = (b - a) / (2 * xy);
    *t = copysign(1 / (fabs(z) + factor_hypot(1, z)), z);
    *c = 1 / factor_hypot(1, *t);
}
/* Returns the length of x (n); squares that underflow do no harm. sum: that of the squares. */
static inline double factor_length(const double *x, int64_t n, double sum) {
    double most = 0;
    if (sum >= FACTOR_TINY) return sqrt(sum);
    for (int64_t i = 0; i < n; i++) most = fabs(x[i]) > most ? fabs(x[i]) : most;
    if (most == 0) return 0;
    sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] / most * (x[i] / most);
    return most * sqrt(sum);
}
/* Of two rows (n) of small numbers with lengths of_x and of_y: sets *a, *b and *xy to the products
 * x x', y y' and x y' of the rows divided by the same power of two, next to the length of the
 * longer one. Returns the product of their lengths. */
static inline double factor_tiny_products(const double *x, const double *y, int64_t n, double of_x,
                                          double of_y, double *a, double *b, double *xy) {
    *a = *b = *xy = 0;
    if (of_x == 0 || of_y == 0) return 0;
    const int e = factor_exponent(of_x > of_y ? of_x : of_y);
    for (int64_t i = 0; i < n; i++) {
        double p = factor_scale(x[i], -e), q = factor_scale(y[i], -e);
        *a += p * p, *b += q * q, *xy += p * q;
    }
    return factor_scale(of_x, -e) * factor_scale(of_y, -e);
}
#endif
