/* prologue_f64.h: float64 functions for generated kernels, written as those of prologue_f32.h: no
 * branches, no calls, no tables, so that loops over them are vectorised. They use no fma, so that
 * all instruction sets give the same bits: sums whose rounding counts are kept in two parts, high
 * and low, and products that must be exact have factors of few bits (Dekker, Numer. Math. 18,
 * 1971).
 *
 * Largest errors in ulp of 67 million arguments against __float128 (`make accuracy`), and in
 * brackets those of glibc 2.36 for a million: exp 0.516 (0.506), exp2 0.515 (0.508), expm1 0.65
 * (0.81), log, log2, log10, log1p 0.511 (0.52, 0.55, 1.6, 0.81), sinh 2.07 (1.8), cosh 1.03 (1.02),
 * tanh 2.29 (2.1), asinh 1.03 (1.6), acosh 1.81 (2.1), atanh 1.06 (1.6), sin, cos 0.516 (0.516),
 * tan 0.58 (0.55), asin 0.538 (0.515), acos 0.525 (0.52), atan 0.523 (0.517), erf 1.49 (1.13),
 * sigmoid 2.45 (2.3), softplus 1.47 (1.45), gelu 7.2 (1630); of a million, gelu_dx 4.2 (52000); of
 * 40,000 pairs atan2 0.511 (0.517), hypot 0.501 (0.58), pow 0.511 (0.506).
 * Denormal results of exp, exp2 and pow are rounded twice: 0.76.
 *
 * exp, exp2, expm1: x = k ln(2) / 4 + r, by a ln 2 in two parts as in Cody and Waite; e^r by a
 * polynomial, and 2^(k / 4) as one of four constants times a power of two. log: x = 2^e m; one of
 * four constants c with few bits brings m c within 0.091 of 1, exactly, and the first two terms of
 * log(1 + r) are summed exactly; pow keeps four terms in two parts. Muller, "Elementary Functions",
 * explains these reductions. Polynomials are minimax fits (weighted least squares, reweighted until
 * the errors level out), with coefficients rounded from the lowest power up. Part of prologue.h,
 * which includes it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_PROLOGUE_F64_H
#define GT_WORKER_KERNEL_PROLOGUE_F64_H
#include "worker/kernel/prologue.h"

/* ---- exponentials ---- */

/* e^x = 2^n (sum + rest), rest below 2^-25; power = 4n + 8192 + 0 .. 3. */
typedef struct F64Exp {
    double sum, rest;
    uint64_t power;
} F64Exp;

#define F64_ROUND (0x1.8p52 + 8192) /* x + this - this rounds to whole */

/* e^x - 1 - x, for |x| <= 0.0867: 2^-61 in e^x - 1. */
#define F64_SMALL 0.0866
PRO_FN double f64_exp_more(double x) {
    double x2 = x * x, x4 = x2 * x2;
    double a = 0.5 + x * 0x1.5555555555555p-3, b = 0x1.55555555565cdp-5 + x * 0x1.1111111112855p-7;
    double c = 0x1.6c16c112c6c3ep-10 + x * 0x1.a01a012033a94p-13;
    double d = 0x1.a02c3abb7afc9p-16 + x * 0x1.71efc85980cfdp-19;
    return x2 * ((a + x2 * b) + x4 * (c + x2 * d));
}
/* From t = k + F64_ROUND and arg = r - w, of which r is exact and w < 2^-29. */
PRO_FN F64Exp f64_exp_of(double t, double r, double w) {
    F64Exp y = {.power = (uint64_t)f64_bits(t) & 0x3fff};
    double a = (r + 0x1.8p23) - 0x1.8p23, b = (r - a) - w; /* a: 26 bits */
    double x = a + b, p = f64_exp_more(x);
    int64_t is_odd = (int64_t)(y.power & 1), is_upper = (int64_t)(y.power & 2);
    double T0 = is_odd ? 0x1.306fe0cp+0 : 1,
           T1 = is_odd ? 0x1.ae89f98p+0 : 0x1.6a09e68p+0; /* 27 bits */
    double L0 = is_odd ? -0x1.ce48ead2172a6p-28 : 0,
           L1 = is_odd ? 0x1.5ad3ad5e8734dp-28 : -0x1.80c4336f74d05p-28;
    double T = is_upper ? T1 : T0, L = is_upper ? L1 : L0, h = T * a;
    y.sum = T + h;
    y.rest = ((T - y.sum) + h) + ((T + L) * (b + p) + (L + L * a));
    return y;
}
/* Of x + low, low below 2^-40. */
PRO_FN F64Exp f64_exp_parts(double x, double low) {
    double t = x * 0x1.71547652b82fep+2 + F64_ROUND, k = t - F64_ROUND;
    return f64_exp_of(t, x - k * 0x1.62e42fefa4p-3, k * -0x1.8432a1b0e2634p-45 - low);
}
/* y 2^n, rounded once; n + 2048 = power / 4. */
PRO_FN double f64_times_power(double y, uint64_t power) {
    uint64_t n = power >> 2, half = n >> 1;
    return y * f64_of_bits((int64_t)((half - 1) << 52)) *
           f64_of_bits((int64_t)((n - half - 1) << 52));
}
/* Results out of range are chosen last: a choice of arguments would make compilers compute twice.
 */
PRO_FN double f64_exp(double x) {
    F64Exp e = f64_exp_parts(x, 0);
    double y = f64_times_power(e.sum + e.rest, e.power);
    y = x > 710 ? f64_highest : y;
    return x < -746 ? 0 : y;
}
/* The same for x known to be <= 0 or nan. */
PRO_FN double f64_exp_below(double x) {
    F64Exp e = f64_exp_parts(x, 0);
    double y = f64_times_power(e.sum + e.rest, e.power);
    return x < -746 ? 0 : y;
}
/* x - k / 4 times ln 2, in parts whose products are exact. */
PRO_FN double f64_exp2(double x) {
    double t = x * 4 + F64_ROUND, d = x - (t - F64_ROUND) * 0.25;
    double u = (d + 0x1.8p25) - 0x1.8p25, v = d - u;
    double w = u * 0x1.05c610ca86c39p-29 - v * 0x1.62e42fefa39efp-1;
    F64Exp e = f64_exp_of(t, u * 0x1.62e43p-1, w);
    double y = f64_times_power(e.sum + e.rest, e.power);
    y = x > 1025 ? f64_highest : y;
    return x < -1076 ? 0 : y;
}
/* (e^x - 1) half, for -40 <= x <= 711; 2^-n is subtracted before the power is multiplied. */
PRO_FN double f64_expm1_by(double x, double half) {
    F64Exp e = f64_exp_parts(x, 0);
    double one = f64_of_bits((int64_t)((1023 + 2048 - (e.power >> 2)) << 52));
    double u = e.sum - one, back = u + one, lost = (e.sum - back) - (one - (back - u));
    double y = x > 50 ? e.sum + e.rest : u + (lost + e.rest);
    return f64_times_power(y * half, e.power);
}
PRO_FN double f64_expm1(double x) {
    double y = f64_expm1_by(x, 1);
    y = __builtin_fabs(x) < F64_SMALL ? x + f64_exp_more(x) : y;
    y = x > 710 ? f64_highest : y;
    return __builtin_copysign(x < -40 ? -1 : y, x);
}
PRO_FN double f64_sinh(double x) {
    double a = __builtin_fabs(x), m = f64_expm1_by(a, 0.5), y = m + m / (2 * m + 1);
    double p = f64_exp_more(a), n = a + p, z = a + (p - 0.5 * n * n / (1 + n));
    y = a < 40 ? y : m;
    y = a < F64_SMALL ? z : y;
    return __builtin_copysign(a > 711 ? f64_highest : y, x);
}
PRO_FN double f64_cosh(double x) {
    double a = __builtin_fabs(x);
    F64Exp e = f64_exp_parts(a, 0);
    double half = f64_times_power((e.sum + e.rest) * 0.5, e.power), y = half + 0.25 / half;
    return a > 711 ? f64_highest : y;
}
PRO_FN double f64_tanh(double x) {
    double a = __builtin_fabs(x), m = f64_expm1_by(2 * a, 1), y = m / (m + 2);
    double p = f64_exp_more(2 * a), n = 2 * a + p, z = a + (p - a * n) / (2 + n);
    y = 2 * a < F64_SMALL ? z : y;
    return __builtin_copysign(a > 20 ? 1 : y, x);
}
PRO_FN double f64_sigmoid(double a) {
    double e = f64_exp_below(-__builtin_fabs(a));
    return (a < 0 ? e : 1.0) / (1 + e);
}

/* ---- logarithms ---- */

typedef struct F64Sum {
    double high, low;
} F64Sum;

/* x = 2^e m, 0.771 <= m < 1.543: log(x) = whole + rest + log(1 + r), |r| <= 0.091, rest below
 * 2^-34, whole a multiple of 2^-42 and 0 or > r; r = u + w, u of 26 bits. m gets `extra` added,
 * which is small beside it. */
typedef struct F64Log {
    double whole, rest, r, u, w;
} F64Log;
PRO_FN F64Log f64_log_reduce(double m, double e, double extra) {
    int64_t is_1 = m >= 0x1.d41d41d41d41dp-1, is_2 = m >= 0x1.15b1e5f75270dp+0;
    int64_t is_3 = m >= 0x1.4afd6a052bf5bp+0; /* c, of few bits, and -log(c) = C + L */
    double c = is_1 ? 1 : 0x1.3p+0, C = is_1 ? 0 : -0x1.5ff3070a7ap-3;
    double L = is_1 ? 0 : 0x1.8586f183bebf2p-44;
    c = is_2 ? 0x1.bp-1 : c, C = is_2 ? 0x1.5bf406b544p-3 : C;
    L = is_2 ? -0x1.27023eb68981cp-46 : L;
    c = is_3 ? 0x1.68p-1 : c, C = is_3 ? 0x1.68ac83e9c7p-2 : C;
    L = is_3 ? -0x1.7af966c548a3p-44 : L;
    double upper = f64_of_bits(f64_bits(m) & ~INT64_C(0x3ffffff));
    double a = upper * c - 1, b = (m - upper) * c; /* both exact */
    F64Log y = {.whole = e * 0x1.62e42fefa38p-1 + C, .rest = e * 0x1.ef35793c7673p-45 + L};
    y.r = (a + b) + extra * c;
    y.u = f64_of_bits(f64_bits(y.r) & ~INT64_C(0x7ffffff));
    y.w = ((a - y.u) + b) + extra * c;
    return y;
}
/* The logarithm, in two parts; low below 2^-27. */
PRO_FN F64Sum f64_log_sum(double m, double e, double extra) {
    F64Log x = f64_log_reduce(m, e, extra);
    double r = x.r, u = x.u, w = x.w, r2 = r * r, r4 = r2 * r2;
    /* p: (log(1 + r) - r + r^2 / 2) / r^3, 2^-65 in log */
    double i = 0x1.5555555555552p-2 - r * 0x1.fffffffffffedp-3;
    double j = 0x1.999999999d69ep-3 - r * 0x1.555555555d2e6p-3;
    double k = 0x1.24924918f5952p-3 - r * 0x1.ffffffda2bebap-4;
    double l = 0x1.c71c92441a075p-4 - r * 0x1.9999c5c7c75f5p-4;
    double o = 0x1.744623d40f7cep-4 - r * 0x1.553a5b749720fp-4;
    double q = 0x1.430800ff52f45p-4 - r * 0x1.2cd9a9a9a2841p-4;
    double p = (i + r2 * j) + r4 * ((k + r2 * l) + r4 * (o + r2 * q));
    double high = x.whole + u, square = -0.5 * u * u; /* the square is exact */
    F64Sum y = {.high = high + square};
    y.low = ((x.whole - high) + u) + ((high - y.high) + square);
    y.low += (w - w * (u + 0.5 * w)) + r2 * r * p;
    y.low += x.rest;
    return y;
}
/* x = 2^e m, 0.771 <= m < 1.543, for finite x > 0; returns m. */
PRO_FN double f64_split(double x, double *e) {
    int64_t is_tiny = x < 0x1p-1022;
    uint64_t i = (uint64_t)f64_bits(is_tiny ? x * 0x1p54 : x), one = UINT64_C(1023) << 52;
    uint64_t k = (i - UINT64_C(0x3fe8acb90f6bf3aa) + one) >> 52;
    double whole = f64_of_bits((int64_t)(k | UINT64_C(0x4330000000000000)));
    *e = whole - (is_tiny ? 0x1p52 + 1023 + 54 : 0x1p52 + 1023);
    return f64_of_bits((int64_t)(i - (k << 52) + one));
}
/* Where a logarithm y of x is not finite. */
PRO_FN double f64_log_ends(double y, double x) {
    y = x < f64_highest ? y : x;
    return x > 0 ? y : x == 0 ? -f64_highest : __builtin_nan("");
}
PRO_FN double f64_log(double x) {
    double e, m = f64_split(x, &e);
    F64Sum y = f64_log_sum(m, e, 0);
    return f64_log_ends(y.high + y.low, x);
}
/* Times 1 / log(base), in two parts of which the upper has 26 bits. */
PRO_FN double f64_log_by(double x, double upper, double lower) {
    double e, m = f64_split(x, &e);
    F64Sum y = f64_log_sum(m, e, 0);
    double high = f64_of_bits(f64_bits(y.high) & ~INT64_C(0x7ffffff)),
           low = (y.high - high) + y.low;
    return f64_log_ends(high * upper + (high * lower + low * (upper + lower)), x);
}
PRO_FN double f64_log2(double x) { return f64_log_by(x, 0x1.7154768p+0, -0x1.6a3e80f444178p-27); }
PRO_FN double f64_log10(double x) { return f64_log_by(x, 0x1.bcb7b18p-2, -0x1.6c8d78e6acaa4p-29); }
/* log(x + low) for finite x > 0 that is not tiny. */
PRO_FN double f64_log_of(double x, double low) {
    uint64_t i = (uint64_t)f64_bits(x), one = UINT64_C(1023) << 52;
    uint64_t k = (i - UINT64_C(0x3fe8acb90f6bf3aa) + one) >> 52;
    double e = f64_of_bits((int64_t)(k | UINT64_C(0x4330000000000000))) - (0x1p52 + 1023);
    uint64_t back = (2046 - k) << 52; /* 2^-e; for the largest x, low does not matter */
    double extra = low * f64_of_bits((int64_t)(k < 2046 ? back : 0));
    F64Sum y = f64_log_sum(f64_of_bits((int64_t)(i - (k << 52) + one)), e, extra);
    return y.high + y.low;
}
/* log(1 + x) for finite x > -1 */
PRO_FN double f64_log_of_1(double x) {
    double s = 1 + x, t = s - x;
    return f64_log_of(s, (1 - t) + (x - (s - t)));
}
PRO_FN double f64_log1p(double x) {
    double y = __builtin_copysign(f64_log_of_1(x), x);
    y = x < f64_highest ? y : x;
    return x > -1 ? y : x == -1 ? -f64_highest : __builtin_nan("");
}
PRO_FN double f64_softplus(double a) {
    return (a < 0 ? 0.0 : a) + f64_log_of_1(f64_exp_below(-__builtin_fabs(a)));
}
/* log1p(a + (sqrt(a^2 + 1) - 1)); of large a, log(2a) */
PRO_FN double f64_asinh(double x) {
    double a = __builtin_fabs(x), c = a > 0x1p30 ? 1 : a, c2 = c * c;
    double t = c2 / (1 + __builtin_sqrt(c2 + 1)), s = 1 + c, low = c - (s - 1);
    low = c > 1 ? 1 - (s - c) : low;
    double v = s + t, lost = t - (v - s);
    double y = f64_log_of(a > 0x1p30 ? a : v, a > 0x1p30 ? 0 : low + lost);
    y = a > 0x1p30 ? y + 0x1.62e42fefa39efp-1 : y;
    return __builtin_copysign(a < f64_highest ? y : a, x);
}
/* log1p(t + sqrt(2t + t^2)), t = x - 1; of large x, log(2x) */
PRO_FN double f64_acosh(double x) {
    double c = x > 0x1p30 ? 1 : x, t = c - 1, r = __builtin_sqrt(2 * t + t * t);
    double s = c + r, low = r > c ? c - (s - r) : r - (s - c);
    double y = f64_log_of(x > 0x1p30 ? x : s, x > 0x1p30 ? 0 : low);
    y = x > 0x1p30 ? y + 0x1.62e42fefa39efp-1 : y;
    y = x < f64_highest ? y : x;
    return x < 1 ? __builtin_nan("") : y;
}
/* log1p(2a / (1 - a)) / 2; of a < 1/2, 2a + 2 a^2 / (1 - a) */
PRO_FN double f64_atanh(double x) {
    double a = __builtin_fabs(x), c = a < 1 ? a : 0, t = (c < 0.5 ? c : 1) * (2 * c / (1 - c));
    double s = c < 0.5 ? 1 + 2 * c : 1, low = c < 0.5 ? 2 * c - (s - 1) : 0;
    double v = s + t, back = v - s, lost = (s - (v - back)) + (t - back);
    double y = 0.5 * f64_log_of(v, low + lost);
    y = a == 1 ? f64_highest : y;
    y = a > 1 ? __builtin_nan("") : y;
    return x != x ? x : __builtin_copysign(y, x);
}

/* ---- power ---- */

PRO_FN double f64_upper(double x) { return f64_of_bits(f64_bits(x) & ~INT64_C(0x7ffffff)); }
/* a b in two parts, a and b in two parts (Dekker). */
PRO_FN F64Sum f64_times(double a, double a_low, double b, double b_low) {
    double a1 = f64_upper(a), a2 = a - a1, b1 = f64_upper(b), b2 = b - b1;
    F64Sum y = {.high = a * b};
    y.low = ((a1 * b1 - y.high) + (a1 * b2 + a2 * b1)) + a2 * b2;
    y.low += a * b_low + a_low * b;
    return y;
}
/* As f64_log_sum, with errors below 2^-67: r^3 (1/3 + r (r p - 1/4)) in two parts as well. */
PRO_FN F64Sum f64_log_exact(double m, double e) {
    F64Log x = f64_log_reduce(m, e, 0);
    double r = x.r, u = x.u, w = x.w, r2 = r * r, r4 = r2 * r2;
    double i = 0x1.9999999999985p-3 - r * 0x1.55555555573f1p-3; /* p: 2^-68 in log */
    double j = 0x1.249249249aaf0p-3 - r * 0x1.ffffffef66a7bp-4;
    double k = 0x1.c71c719f9aa6dp-4 - r * 0x1.9999b449d379cp-4;
    double l = 0x1.745d442fe9babp-4 - r * 0x1.55411f35ff683p-4;
    double o = 0x1.3af8fdfc33e35p-4 - r * 0x1.2bdaebdf104d7p-4;
    double p = (i + r2 * j) + r4 * ((k + r2 * l) + r4 * (o + r2 * 0x1.190d844809ed7p-4));
    double a = r * p, b = a - 0.25, b_low = (-0.25 - b) + a, b1 = f64_upper(b);
    double c = u * b1, c_low = u * (b - b1) + (u * b_low + w * b);
    double d = 0x1.5555555555555p-2 + c, d_low = (0x1.5555555555555p-2 - d) + c;
    d_low += 0x1.5555555555555p-56 + c_low;
    double s = u * u, s_low = w * (u + r), s1 = f64_upper(s); /* r^2, s exact */
    double cube = s1 * u, cube_low = (s - s1) * u + (s_low * r + s * w);
    double t = d + d_low;
    F64Sum z = f64_times(cube, cube_low, t, (d - t) + d_low);
    double high = x.whole + u, square = -0.5 * s, g = high + square, h = g + z.high;
    double low = ((x.whole - high) + u) + ((high - g) + square);
    low += ((g - h) + z.high) + (z.low + ((w - w * (u + 0.5 * w)) + x.rest));
    F64Sum y = {.high = h + low};
    y.low = (h - y.high) + low;
    return y;
}
/* As C's pow: |x|^y = e^(y log |x|), then the sign and the special cases. */
PRO_FN double f64_pow(double x, double y) {
    const double inf = f64_highest;
    double ax = __builtin_fabs(x), ay = __builtin_fabs(y), e, m = f64_split(ax, &e);
    F64Sum l = f64_log_exact(m, e), t = f64_times(y, 0, l.high, l.low);
    F64Exp p = f64_exp_parts(t.high, t.low);
    double v = f64_times_power(p.sum + p.rest, p.power);
    double h = ax == 0 ? -inf : ax == inf ? inf : l.high, w = y * h;
    v = w > 710 ? inf : v;
    v = w < -746 ? 0 : v;
    v = ax == 1 ? 1 : v;
    double shifted = ay + 0x1p52; /* its last bit says whether a whole y is odd */
    int64_t is_large = ay >= 0x1p52;
    double whole = is_large ? ay : shifted - 0x1p52;
    int64_t odd = is_large ? f64_bits(ay) & (ay < 0x1p53 ? 1 : 0) : f64_bits(shifted) & 1;
    odd = whole == ay ? odd : 0;
    v = f64_of_bits(f64_bits(v) ^ (f64_bits(x) & (int64_t)((uint64_t)odd << 63)));
    v = (x < 0) & (ax < inf) & (whole != ay) ? __builtin_nan("") : v;
    v = (x != x) | (y != y) ? x + y : v;
    return (x == 1) | (y == 0) ? 1 : v;
}

/* ---- circular functions: of arguments below 12,000; others by libm. Kernels choose by runs of
 * elements (kernel_loops.h), which gives the same bits. ---- */

PRO_FN uint8_t f64_is_low(double x) { return __builtin_fabs(x) < 12000; }

/* x = k pi/2 + r, |r| <= 0.7855; returns r in two parts, and k up to a multiple of 4. */
PRO_FN F64Sum f64_quarters(double x, int64_t *quarters) {
    double t = x * 0x1.45f306dc9c883p-1 + 0x1.8p52, k = t - 0x1.8p52;
    double a = x - k * 0x1.921fb54442000p+0, b = k * 0x1.a308d3131a000p-41; /* all exact */
    double c = a - b, back = c - a, low = (a - (c - back)) - (b + back);
    low -= k * -0x1.d747f23e32ed7p-83;
    F64Sum r = {.high = c + low};
    r.low = (c - r.high) + low;
    *quarters = f64_bits(t) & 3;
    return r;
}
/* cos(r) if is_cos, else sin(r), in two parts: base (1 + s (p0 + s (p1 + s p))), with s = r^2, base
 * 1 or r, p0 -1/2 or -1/6. G = base (p0 + s p1) and its product t with s are kept in two parts. */
PRO_FN F64Sum f64_sine(F64Sum r, int64_t is_cos) {
    const int64_t mask = ~INT64_C(0x7ffffff);
    double u = f64_of_bits(f64_bits(r.high) & mask), v = (r.high - u) + r.low; /* u: 26 bits */
    double S = u * u, s_low = v * (u + r.high), s = S + s_low;                 /* S is exact */
    double base = is_cos ? 1 : r.high, base_low = is_cos ? 0 : r.low;
    double p1 = is_cos ? 0x1.555555555554cp-5 : 0x1.111111111110fp-7; /* 2^-64 in the function */
    double a = is_cos ? -0x1.6c16c16c15222p-10 : -0x1.a01a01a019459p-13;
    double b = is_cos ? 0x1.a01a019cbfd37p-16 : 0x1.71de3a53e2694p-19;
    double c = is_cos ? -0x1.27e4f813166d3p-22 : -0x1.ae64535a4cec9p-26;
    double d = is_cos ? 0x1.1ee9f19937f19p-29 : 0x1.6121019f14128p-33;
    double e = is_cos ? -0x1.8fb1572842bc1p-37 : -0x1.aad74a0c45155p-41;
    double p = (a + s * b) + s * s * ((c + s * d) + s * s * e);
    double G0 = is_cos ? -0.5 : u * -0x1.5555554p-3, z = base * (S * p1), G = G0 + z;
    double g = is_cos ? 0 : u * -0x1.5555555555555p-31 - v * 0x1.5555555555555p-3;
    g += ((G0 - G) + z) + base * (s_low * p1 + s * s * p);
    double S1 = f64_of_bits(f64_bits(S) & mask), S2 = S - S1;
    double G1 = f64_of_bits(f64_bits(G) & mask), G2 = G - G1, t = G * S;
    double t_low = ((G1 * S1 - t) + (G1 * S2 + G2 * S1)) + G2 * S2;
    double y = base + t, low = ((base - y) + t) + ((t_low + base_low) + (G * s_low + g * s));
    F64Sum sum = {.high = y + low};
    sum.low = (y - sum.high) + low;
    return sum;
}
PRO_FN double f64_circular(double x, int64_t shift) { /* sin(x + shift pi/2) */
    int64_t k;
    F64Sum r = f64_quarters(x, &k), y;
    y = f64_sine(r, (k + shift) & 1);
    return f64_of_bits(f64_bits(y.high) ^ (int64_t)((uint64_t)((k + shift) & 2) << 62));
}
PRO_FN double f64_sin_low(double x) {
    double y = f64_circular(x, 0);
    return __builtin_fabs(x) < 0x1p-27 ? x : y;
}
PRO_FN double f64_cos_low(double x) { return f64_circular(x, 1); }
/* A quotient in two parts: the remainder of the first is exact but for its last bits. */
PRO_FN double f64_tan_low(double x) {
    const int64_t mask = ~INT64_C(0x7ffffff);
    int64_t k;
    F64Sum r = f64_quarters(x, &k), a = f64_sine(r, 0), b = f64_sine(r, 1);
    double over = k & 1 ? -b.high : a.high, over_low = k & 1 ? -b.low : a.low;
    double under = k & 1 ? a.high : b.high, under_low = k & 1 ? a.low : b.low;
    double by = 1 / under, q = over * by;
    double q1 = f64_of_bits(f64_bits(q) & mask), q2 = q - q1;
    double d1 = f64_of_bits(f64_bits(under) & mask), d2 = under - d1;
    double left = (((over - q1 * d1) - q1 * d2) - q2 * d1) - q2 * d2;
    double y = q + ((left + over_low) - q * under_low) * by;
    return __builtin_fabs(x) < 0x1p-27 ? x : y;
}
PRO_FN double f64_sin(double x) { return f64_is_low(x) ? f64_sin_low(x) : sin(x); }
PRO_FN double f64_cos(double x) { return f64_is_low(x) ? f64_cos_low(x) : cos(x); }
PRO_FN double f64_tan(double x) { return f64_is_low(x) ? f64_tan_low(x) : tan(x); }

/* ---- inverse circular functions, and the hypotenuse ---- */

/* sqrt(x + low) in two parts, for normal x. */
PRO_FN F64Sum f64_root(double x, double low) {
    F64Sum y = {.high = __builtin_sqrt(x)}, s = f64_times(y.high, 0, y.high, 0);
    double left = (((x - s.high) - s.low) + low) / (2 * y.high + 0x1p-1000), h = y.high + left;
    y.low = (y.high - h) + left;
    y.high = h;
    return y;
}
/* atan(n / d), 0 <= n <= d < inf in two parts each, d > 0: atan(c) + atan(z), z = (n - c d) /
 * (d + c n), c a multiple of 1/4 that makes |z| <= 1/8. The differences are exact. */
PRO_FN F64Sum f64_angle_flat(F64Sum y, F64Sum x) {
    double n = y.high, n_low = y.low, d = x.high, d_low = x.low;
    int64_t is_1 = n >= 0.125 * d, is_2 = n >= 0.375 * d, is_3 = n >= 0.625 * d,
            is_4 = n >= 0.875 * d;
    double c = is_1 ? 0.25 : 0, C = is_1 ? 0x1.f5b75f92c80ddp-3 : 0,
           L = is_1 ? 0x1.8ab6e3cf7afbdp-57 : 0;
    c = is_2 ? 0.5 : c, C = is_2 ? 0x1.dac670561bb4fp-2 : C, L = is_2 ? 0x1.a2b7f222f65e2p-56 : L;
    c = is_3 ? 0.75 : c, C = is_3 ? 0x1.4978fa3269ee1p-1 : C, L = is_3 ? 0x1.2419a87f2a458p-56 : L;
    c = is_4 ? 1 : c, C = is_4 ? 0x1.921fb54442d18p-1 : C, L = is_4 ? 0x1.1a62633145c07p-55 : L;
    double part = is_3 & !is_4 ? 0.5 : 0; /* 3/4 d need not be a number */
    double N = (n - part * d) - (c - part) * d, add = c * n, D = d + add;
    double lost = (part * n - add) + (c - part) * n;
    double N_low = n_low - c * d_low, D_low = ((d - D) + add) + (lost + (d_low + c * n_low));
    double z = N / D, z1 = f64_upper(z), z2 = z - z1, D1 = f64_upper(D), D2 = D - D1;
    double left = (((N - z1 * D1) - z1 * D2) - z2 * D1) - z2 * D2;
    double z_low = ((left + N_low) - z * D_low) / D;
    double v = z * z, v2 = v * v, v4 = v2 * v2; /* p: (atan(z) / z - 1) / z^2 */
    double p =
        ((-0x1.5555555555555p-2 + v * 0x1.999999999939bp-3) +
         v2 * (-0x1.24924923a5a47p-3 + v * 0x1.c71c6fc12cb99p-4)) +
        v4 * ((-0x1.745bf0e947b6ap-4 + v * 0x1.3ab90d473fac1p-4) + v2 * -0x1.02aa474529328p-4);
    F64Sum a = {.high = C + z};
    a.low = ((C - a.high) + z) + (L + (z_low + z * v * p));
    return a;
}
/* The angle of the point (x, y) in [0, pi/2], x and y >= 0, neither infinite, not both 0. */
PRO_FN F64Sum f64_angle(F64Sum y, F64Sum x) {
    int64_t is_steep = y.high > x.high;
    F64Sum n = {is_steep ? x.high : y.high, is_steep ? x.low : y.low};
    F64Sum d = {is_steep ? y.high : x.high, is_steep ? y.low : x.low};
    F64Sum a = f64_angle_flat(n, d);
    double e = 0x1.921fb54442d18p+0 - a.high;
    double e_low = ((0x1.921fb54442d18p+0 - e) - a.high) + (0x1.1a62633145c07p-54 - a.low);
    a.high = is_steep ? e : a.high, a.low = is_steep ? e_low : a.low;
    return a;
}
/* With the signs of x and y. */
PRO_FN double f64_angle_of(F64Sum a, double y, double x) {
    double e = 0x1.921fb54442d18p+1 - a.high;
    double e_low = ((0x1.921fb54442d18p+1 - e) - a.high) + (0x1.1a62633145c07p-53 - a.low);
    int64_t is_left = f64_bits(x) < 0;
    return __builtin_copysign(is_left ? e + e_low : a.high + a.low, y);
}
PRO_FN double f64_atan(double x) {
    double a = __builtin_fabs(x);
    F64Sum s = {.high = a < 1 ? a : 1}, t = {.high = a < 1 ? 1 : a}, y = f64_angle_flat(s, t);
    double e = 0x1.921fb54442d18p+0 - y.high;
    double e_low = ((0x1.921fb54442d18p+0 - e) - y.high) + (0x1.1a62633145c07p-54 - y.low);
    double z = a < 1 ? y.high + y.low : e + e_low;
    z = a > 0x1p300 ? 0x1.921fb54442d18p+0 : z;
    return x != x ? x : __builtin_copysign(z, x);
}
/* As C's atan2, signed zeros and infinities included. */
PRO_FN double f64_atan2(double y, double x) {
    const double inf = f64_highest;
    double ay = __builtin_fabs(y), ax = __builtin_fabs(x);
    int64_t is_end = (ay == inf) | (ax == inf), is_zero = (ay == 0) & (ax == 0);
    double by = is_end ? (ay == inf ? 1.0 : 0.0) : ay, bx = is_end ? (ax == inf ? 1.0 : 0.0) : ax;
    bx = is_zero ? 1 : bx;
    double most = by > bx ? by : bx, scale = most > 0x1p800    ? 0x1p-300
                                             : most < 0x1p-500 ? 0x1p500
                                                               : 1;
    F64Sum sy = {.high = by * scale}, sx = {.high = bx * scale};
    double z = f64_angle_of(f64_angle(sy, sx), y, x);
    return (x != x) | (y != y) ? x + y : z;
}
/* sqrt(1 - x^2) in two parts, for |x| <= 1. */
PRO_FN F64Sum f64_beside(double x) {
    F64Sum s = f64_times(x, 0, x, 0);
    double r = 1 - s.high;
    return f64_root(r, ((1 - r) - s.high) - s.low);
}
PRO_FN double f64_asin(double x) {
    double a = __builtin_fabs(x);
    F64Sum s = {.high = a}, y = f64_angle(s, f64_beside(a));
    return a <= 1 ? __builtin_copysign(a < 0x1p-27 ? a : y.high + y.low, x) : __builtin_nan("");
}
PRO_FN double f64_acos(double x) {
    double a = __builtin_fabs(x);
    F64Sum s = {.high = a};
    double y = f64_angle_of(f64_angle(f64_beside(a), s), 1, x);
    return a <= 1 ? y : __builtin_nan("");
}
PRO_FN double f64_hypot(double x, double y) {
    const double inf = f64_highest;
    double ax = __builtin_fabs(x), ay = __builtin_fabs(y), a = ax > ay ? ax : ay,
           b = ax > ay ? ay : ax;
    double scale = a > 0x1p500 ? 0x1p-600 : a < 0x1p-400 ? 0x1p600 : 1;
    double back = a > 0x1p500 ? 0x1p600 : a < 0x1p-400 ? 0x1p-600 : 1;
    F64Sum s = f64_times(a * scale, 0, a * scale, 0), t = f64_times(b * scale, 0, b * scale, 0);
    double S = s.high + t.high;
    F64Sum r = f64_root(S, ((s.high - S) + t.high) + (s.low + t.low));
    double h = (r.high + r.low) * back;
    h = (x != x) | (y != y) ? x + y : h;
    return (ax == inf) | (ay == inf) ? inf : h;
}
/* ---- error function ---- */

/* (1 + 2x) e^(x^2) erfc(x) for 0 <= x <= 27: in t = (x - 3.75) / (x + 3.75), as Shepherd and
 * Laframboise, Math. Comp. 36 (1981); 2^-59. */
PRO_FN double f64_erfc_part(double x) {
    double t = (x - 3.75) / (x + 3.75), t2 = t * t, t4 = t2 * t2, t8 = t4 * t4;
    double a = (0x1.3ccda0b5d5dc2p+0 + t * -0x1.1f367683f89a6p-3) +
               t2 * (0x1.d5f294815975cp-9 + t * 0x1.510169d09677fp-4);
    double b = (-0x1.bda9309a27cfdp-4 + t * 0x1.7a14188a9b150p-4) +
               t2 * (-0x1.e0d0fa6e24f83p-5 + t * 0x1.d0b0037d58567p-6);
    double c = (-0x1.3f603c2c858b7p-7 + t * 0x1.cc3a0e79d1bbcp-10) +
               t2 * (0x1.33fb1de0f6497p-12 + t * -0x1.303fa7d49edcdp-12);
    double d = (0x1.b14530b9dc631p-15 + t * 0x1.778d436d810c1p-16) +
               t2 * (-0x1.801288beecce9p-17 + t * -0x1.05c2e47351816p-20);
    double e = (0x1.d735a2877d81fp-20 + t * -0x1.cbea38d1362e6p-25) +
               t2 * (-0x1.19f43f37fcfd8p-22 + t * 0x1.385f68fad30e5p-26);
    double f = (0x1.5bf9a95019f17p-25 + t * 0x1.144130b3684f0p-33) +
               t2 * (-0x1.52bb8b39b2c70p-28 + t * -0x1.0354759380ebfp-30);
    return ((a + t4 * b) + t8 * (c + t4 * d)) + t8 * t8 * (e + t4 * f);
}
/* e^(-x^2 scale) p, rounded once; scale 1 or 1/2. */
PRO_FN double f64_bell(double x, double scale, double p) {
    double u = f64_upper(x), s = u * u * -scale, low = (x - u) * (x + u) * -scale, y = s + low;
    F64Exp e = f64_exp_parts(y, (s - y) + low);
    return f64_times_power((e.sum + e.rest) * p, e.power);
}
/* erf(x) / x - 1, 2^-58 for |x| <= 1.125. */
PRO_FN double f64_erf_more(double x) {
    double u = x * x, u2 = u * u, u4 = u2 * u2;
    double a = (0x1.06eba8214db69p-3 + u * -0x1.812746b037a1dp-2) +
               u2 * (0x1.ce2f21a045031p-4 + u * -0x1.b82ce31323222p-6);
    double b = (0x1.565bcd23d2737p-8 + u * -0x1.c02db789d5deep-11) +
               u2 * (0x1.f9a38713f7368p-14 + u * -0x1.f4d9315904950p-17);
    double c = (0x1.ba3bd398108f6p-20 + u * -0x1.6249816553a68p-23) +
               u2 * (0x1.0ea53ddfa3868p-26 + u * -0x1.c95e6f71bc80ep-30);
    return (a + u4 * b) + u4 * u4 * (c + u4 * (0x1.ca0d88eeaf056p-33 + u * -0x1.49bf82fca118bp-36));
}
PRO_FN double f64_erf(double x) {
    double a = __builtin_fabs(x), c = a < 6 ? a : 6, z = a + a * f64_erf_more(a);
    double y = 1 - f64_bell(c, 1, f64_erfc_part(c) / (1 + 2 * c));
    return x != x ? x : __builtin_copysign(a < 1 ? z : y, x);
}
/* x (1 + erf(x / sqrt(2))) / 2; x - x T or -x T, with T = erfc(|x| / sqrt(2)) / 2. */
PRO_FN double f64_gelu(double x) {
    double a = __builtin_fabs(x), c = a < 38.6 ? a : 38.6, z = c * 0x1.6a09e667f3bcdp-1;
    double y = a * f64_bell(c, 0.5, f64_erfc_part(z) / (2 + 4 * z));
    double w = x * 0x1.6a09e667f3bcdp-1, near = x * (0.5 + 0.5 * (w + w * f64_erf_more(w)));
    y = x < 0 ? -y : x - y;
    y = c < 38.6 ? y : x < 0 ? -0.0 : x;
    return x != x ? x : a < 1 ? near : y;
}
/* (Phi(-x) - x phi(x)) e^(x^2 / 2) / (R - x) for 0 <= x <= 38.7, where R is the root: in
 * t = (x - C) / (x + C), 2^-58. */
PRO_FN double f64_gelu_dx_part(double x) {
    const double C = 6.078125;
    double t = (x - C) / (x + C), t2 = t * t, t4 = t2 * t2, t8 = t4 * t4;
    double a = (-0x1.406632953ea1dp-4 + t * 0x1.d8c35c1d7b730p-5) +
               t2 * (-0x1.3edf823f588bap-5 + t * 0x1.8605f1859091ap-6);
    double b = (-0x1.abd34441816cdp-7 + t * 0x1.9e52a1005e8cdp-8) +
               t2 * (-0x1.59afd5f605b2ap-9 + t * 0x1.dbd51891fb407p-11);
    double c = (-0x1.ea8210054c37ap-13 + t * 0x1.0752a3a289d39p-15) +
               t2 * (0x1.a2497939da14dp-18 + t * -0x1.3cd82bb33bc62p-18);
    double d = (0x1.e4d57c58dd55ep-21 + t * 0x1.a7b1791f9fd1cp-23) +
               t2 * (-0x1.30084838d2751p-23 + t * 0x1.7a0182b4b8332p-27);
    double e = (0x1.dee108cbe790ep-27 + t * -0x1.f51b317e95ba5p-29) +
               t2 * (-0x1.6f80d380154a9p-30 + t * 0x1.0424084fc33c2p-31);
    double s = ((a + t4 * b) + t8 * (c + t4 * d)) + t8 * t8 * (e + t4 * 0x1.6181a87686cbap-33);
    return 0x1.c5e038ce23c7ap-2 + t * s; /* the largest term last, for the sake of rounding */
}
/* T = Phi(-a) - a phi(a) for x < 0, else 1 - T, with a = |x|. */
PRO_FN double f64_gelu_dx(double x) {
    double a = __builtin_fabs(x), c = a > 38.7 ? 38.7 : a; /* there T is 0 */
    double e = (0x1.80ead197f00b4p-1 - c) - 0x1.13e74c58cada8p-56;
    double T = f64_bell(c, 0.5, e * f64_gelu_dx_part(c));
    return x < 0 ? T : 1 - T;
}
#endif
