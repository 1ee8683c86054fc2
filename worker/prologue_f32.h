/* prologue_f32.h: float32 functions for generated kernels, written so that a compiler can turn a
 * loop over them into vector code: no branches, no calls, no tables, polynomials and explicit fma.
 * The part of prologue.h with numerical analysis in it; read prologue.h first.
 *
 * Goals, tested by prologue_test: at most 1 ulp for exp, log, sqrt and 2 for the rest, over all
 * floats; infinities, nan and denormals as C's libm has them. pow, circular and hyperbolic
 * functions but tanh, their inverses, other bases and the tail of gelu compute in double inside.
 * Polynomials are minimax fits (Lawson's weighted least squares, coefficients rounded from the
 * lowest power up), errors relative to the function's value.
 * Methods: reduction by powers of two and two-part ln 2 as in Cody and Waite, "Software Manual for
 * the Elementary Functions"; 2/pi by exponent as in Payne and Hanek, SIGNUM Newsletter 18 (1983).
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PROLOGUE_F32_H
#define GT_WORKER_PROLOGUE_F32_H

#define f32_inf __builtin_inff()
#define f32_nan __builtin_nanf("")
#define f32_lowest (-f32_inf)
#define f32_highest f32_inf

PRO_FN int32_t f32_bits(float x) { int32_t i; __builtin_memcpy(&i, &x, 4); return i; }
PRO_FN float f32_of_bits(int32_t i) { float x; __builtin_memcpy(&x, &i, 4); return x; }
PRO_FN int64_t f64_bits(double x) { int64_t i; __builtin_memcpy(&i, &x, 8); return i; }
PRO_FN double f64_of_bits(int64_t i) { double x; __builtin_memcpy(&x, &i, 8); return x; }
PRO_FN float f32_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
PRO_FN float f32_copysign(float magnitude, float sign) {
    return f32_of_bits((f32_bits(magnitude) & 0x7fffffff) | (f32_bits(sign) & INT32_MIN));
}

/* ---- plain arithmetic ---- */

PRO_FN float f32_add(float a, float b) { return a + b; }
PRO_FN float f32_sub(float a, float b) { return a - b; }
PRO_FN float f32_mul(float a, float b) { return a * b; }
PRO_FN float f32_neg(float a) { return -a; }
PRO_FN float f32_abs(float a) { return f32_of_bits(f32_bits(a) & 0x7fffffff); }
PRO_FN float f32_sign(float a) { return a != a ? a : (float)((a > 0) - (a < 0)); }
PRO_FN float f32_max(float a, float b) { return a > b ? a : a != a ? a : b; }
PRO_FN float f32_min(float a, float b) { return a < b ? a : a != a ? a : b; }
PRO_FN float f32_floor(float a) { return __builtin_floorf(a); }
PRO_FN float f32_ceil(float a) { return __builtin_ceilf(a); }
PRO_FN float f32_trunc(float a) { return __builtin_truncf(a); }
PRO_FN float f32_round(float a) { return __builtin_rintf(a); }
PRO_FN float f32_sqrt(float a) { return __builtin_sqrtf(a); }
PRO_FN uint8_t f32_isnan(float a) { return a != a; }
PRO_FN uint8_t f32_isfinite(float a) { return f32_abs(a) < f32_inf; }

PRO_FN float f32_hypot(float a, float b) {
    float h = (float)__builtin_sqrt((double)a * (double)a + (double)b * (double)b);
    return (f32_abs(a) == f32_inf) | (f32_abs(b) == f32_inf) ? f32_inf : h;
}
PRO_FN float f32_fmod(float a, float b) { return __builtin_fmodf(a, b); }
/* Python's rule: the remainder has the divisor's sign. floordiv by zero is as `/`. */
PRO_FN float f32_mod(float a, float b) {
    float m = __builtin_fmodf(a, b);
    return m != 0 ? ((m < 0) != (b < 0) ? m + b : m) : f32_copysign(0, b);
}
PRO_FN float f32_floordiv(float a, float b) {
    float m = __builtin_fmodf(a, b);
    float d = (a - m) / b;
    d = m != 0 && (m < 0) != (b < 0) ? d - 1 : d;
    float f = __builtin_floorf(d);
    f = d - f > 0.5f ? f + 1 : f;
    return b == 0 ? a / b : d == 0 ? f32_copysign(0, a / b) : f;
}

/* ---- exponentials ---- */

/* 2^n for -126 <= n <= 127. */
PRO_FN float f32_pow2(int32_t n) { return f32_of_bits((int32_t)(((uint32_t)n + 127u) << 23)); }

/* x + low = n ln 2 + r, |r| <= 0.35, low being a small correction: returns r, sets n, and *rest to
 * e^r - 1 - r, what rounded off r included. */
PRO_FN float f32_exp_reduce(float x, float low, int32_t *n, float *rest) {
    float t = f32_fma(x, 0x1.715476p+0f, 0x1.8p23f); /* + 1.5 * 2^23 rounds to whole */
    float k = t - 0x1.8p23f;
    *n = (int32_t)((uint32_t)f32_bits(t) - (uint32_t)f32_bits(0x1.8p23f));
    float high = f32_fma(k, -0x1.62e430p-1f, x); /* exact */
    float tail = f32_fma(k, 0x1.05c610p-29f, low);
    float r = high + tail;
    float p = 0x1.6a495cp-10f; /* (e^r - 1 - r) / r^2, 2^-28 */
    p = f32_fma(p, r, 0x1.1239a0p-7f);
    p = f32_fma(p, r, 0x1.5558b4p-5f);
    p = f32_fma(p, r, 0x1.555492p-3f);
    p = f32_fma(p, r, 0x1.fffffcp-2f);
    *rest = f32_fma(r * r, p, (high - r) + tail);
    return r;
}
/* 1 + r + rest, where the first sum's rounding is made good. */
PRO_FN float f32_exp_sum(float r, float rest) {
    float y = 1 + r;
    return y + ((r - (y - 1)) + rest);
}
/* v 2^n in two steps, so that results may be infinite or denormal, rounded once. */
PRO_FN float f32_scale(float v, int32_t n) {
    int32_t half = n >> 1;
    return v * f32_pow2(half) * f32_pow2(n - half);
}
PRO_FN float f32_exp(float x) {
    float c = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x, rest;
    int32_t n;
    float r = f32_exp_reduce(c, 0, &n, &rest);
    return f32_scale(f32_exp_sum(r, rest), n);
}
/* e^x for -80 <= x <= 80 or nan. */
PRO_FN float f32_exp_small(float x) {
    float rest;
    int32_t n;
    float r = f32_exp_reduce(x, 0, &n, &rest);
    return f32_exp_sum(r, rest) * f32_pow2(n);
}
/* (m + m_low) e^(x + low) for x <= 0, where the lows are small corrections. */
PRO_FN float f32_exp_times(float x, float low, float m, float m_low) {
    float c = x < -150.0f ? -150.0f : x, rest;
    int32_t n;
    float r = f32_exp_reduce(c, low, &n, &rest);
    return f32_scale(m + f32_fma(m, r, f32_fma(m, rest, m_low)), n);
}
PRO_FN float f32_expm1(float x) {
    float c = x > 89.0f ? 89.0f : x < -20.0f ? -20.0f : x, rest;
    int32_t n;
    float r = f32_exp_reduce(c, 0, &n, &rest);
    float s = f32_pow2(n - 1); /* half the scale: 2^128 does not exist */
    float y = 2 * f32_fma(r + rest, s, s - 0.5f);
    return f32_abs(x) < 0x1p-24f ? x : y;
}

/* ---- logarithms ---- */

/* log(2^e (1 + f)), -1/3 <= f <= 1/3. */
PRO_FN float f32_log_sum(float f, float e) {
    float p = 0x1.e9d174p-4f; /* (log(1 + f) - f + f^2 / 2) / f^3, 2^-30 */
    p = f32_fma(p, f, -0x1.06c2bap-3f);
    p = f32_fma(p, f, 0x1.b91efcp-4f);
    p = f32_fma(p, f, -0x1.f3b02cp-4f);
    p = f32_fma(p, f, 0x1.24eb6ep-3f);
    p = f32_fma(p, f, -0x1.559780p-3f);
    p = f32_fma(p, f, 0x1.9997eep-3f);
    p = f32_fma(p, f, -0x1.ffff18p-3f);
    p = f32_fma(p, f, 0x1.555556p-2f);
    p = f32_fma(p, f, -0.5f);
    float r = f32_fma(f * f, p, f);
    return f32_fma(e, 0x1.62e430p-1f, f32_fma(e, -0x1.05c610p-29f, r));
}
/* x = m 2^e with 2/3 <= m < 4/3, for finite x > 0. */
PRO_FN float f32_split(float x, int32_t *e) {
    int32_t is_denormal = x < 0x1p-126f;
    int32_t i = f32_bits(is_denormal ? x * 0x1p23f : x);
    int32_t k = (int32_t)((uint32_t)i - 0x3f2aaaabu) >> 23;
    *e = k - (is_denormal ? 23 : 0);
    return f32_of_bits((int32_t)((uint32_t)i - ((uint32_t)k << 23)));
}
PRO_FN float f32_log(float x) {
    int32_t e;
    float m = f32_split(x, &e);
    float y = f32_log_sum(m - 1, (float)e);
    y = x == f32_inf ? x : y;
    y = x == 0 ? -f32_inf : y;
    return x < 0 ? f32_nan : x != x ? x : y;
}
PRO_FN float f32_log1p(float x) {
    float u = 1 + x;
    int32_t e;
    float m = f32_split(u, &e);
    /* What the addition lost comes back: f = (1 + x) 2^-e - 1 = x 2^-e + (2^-e - 1). */
    float s = f32_pow2(-(e > 24 ? 24 : e));
    float f = e > 24 ? m - 1 : f32_fma(x, s, s - 1);
    float y = f32_log_sum(f, (float)e);
    y = x == f32_inf ? x : y;
    y = x == -1 ? -f32_inf : y;
    y = f32_abs(x) < 0x1p-24f ? x : y;
    return x < -1 ? f32_nan : x != x ? x : y;
}

/* ---- sigmoids ---- */

PRO_FN float f32_tanh(float x) {
    float a = f32_abs(x), u = x * x;
    float p = -0x1.828776p-8f; /* (tanh(x) / x - 1) / x^2 in x^2, 2^-28 for |x| <= 0.6 */
    p = f32_fma(p, u, 0x1.54c3c2p-6f);
    p = f32_fma(p, u, -0x1.b89abap-5f);
    p = f32_fma(p, u, 0x1.1109bep-3f);
    p = f32_fma(p, u, -0x1.55553ep-2f);
    float small = f32_fma(x * u, p, x);
    float c = a > 10.0f ? 10.0f : a;
    float large = 1 - 2 / (f32_exp_small(c + c) + 1);
    return f32_copysign(a < 0.6f ? small : large, x);
}
PRO_FN float f32_sigmoid(float x) {
    float e = f32_exp(-f32_abs(x)), top = x < 0 ? e : 1.0f;
    float d = 1 + e, lost = e - (d - 1); /* top / (d + lost), by one step of Newton's method */
    float r = 1 / d, y = top * r;
    return f32_fma(f32_fma(-d, y, top) - lost * y, r, y);
}
PRO_FN float f32_softplus(float x) {
    float e = f32_exp(-f32_abs(x));
    return (x < 0 ? 0.0f : x) + f32_log1p(e);
}
PRO_FN float f32_erf(float x) {
    float a = f32_abs(x), u = x * x;
    float p = 0x1.4f6760p-14f; /* erf(x) / x - 1 in x^2, 2^-30 for |x| <= 0.93 */
    p = f32_fma(p, u, -0x1.a60a2ep-11f);
    p = f32_fma(p, u, 0x1.544a1ap-8f);
    p = f32_fma(p, u, -0x1.b8011ap-6f);
    p = f32_fma(p, u, 0x1.ce2d64p-4f);
    p = f32_fma(p, u, -0x1.812740p-2f);
    p = f32_fma(p, u, 0x1.06eba8p-3f);
    float small = f32_fma(x, p, x);
    float c = a > 4.0f ? 4.0f : a;
    float q = 0x1.9ae672p-13f; /* log(1 - erf(x)) for 0.92 <= x <= 4, 2^-29 in erf */
    q = f32_fma(q, c, -0x1.8ee08ap-9f);
    q = f32_fma(q, c, 0x1.6c2a3ep-6f);
    q = f32_fma(q, c, -0x1.a9b424p-4f);
    q = f32_fma(q, c, -0x1.463cc0p-1f);
    q = f32_fma(q, c, -0x1.20af5ap+0f);
    q = f32_fma(q, c, -0x1.9a57acp-13f);
    float large = 1 - f32_exp_small(q);
    return f32_copysign(a < 0.925f ? small : large, x);
}
/* x Phi(x), Phi(-z) = exp(-z^2 / 2) R(z) with R a polynomial in 1 / (1 + c z). */
PRO_FN float f32_gelu(float x) {
    float a = f32_abs(x);
    a = a > 15.0f ? 15.0f : a;
    /* For 2 ulp in the tail, t, v, p and m carry along what their rounding lost. */
    float d = a + 4, r = 1 / d, t = a * r;
    float t_low = (f32_fma(-t, d, a) - t * (a - (d - 4))) * r;
    float v = f32_fma(t, 2, -1), v_low = f32_fma(t, 2, -1 - v) + 2 * t_low;
    float p = -0x1.952068p-18f; /* (a + 4) R in v, 2^-29 for a >= 0.8 */
    p = f32_fma(p, v, -0x1.74bba6p-13f);
    p = f32_fma(p, v, 0x1.2721d4p-13f);
    p = f32_fma(p, v, 0x1.a3de9ap-10f);
    p = f32_fma(p, v, -0x1.c8817cp-9f);
    p = f32_fma(p, v, -0x1.edb622p-8f);
    p = f32_fma(p, v, 0x1.eec5c0p-5f);
    p = f32_fma(p, v, -0x1.7dff80p-3f);
    p = f32_fma(p, v, 0x1.8c6dbep-2f);
    p = f32_fma(p, v, -0x1.373e3ap-1f);
    float p0 = f32_fma(p, v, 0x1.82b4bcp-1f);
    float p_low = f32_fma(p, v, 0x1.82b4bcp-1f - p0) + f32_fma(p, v_low, -0x1.cc904ep-27f);
    float m = p0 * t, m_low = f32_fma(p0, t, -m) + (p0 * t_low + p_low * t);
    float s = a * a;
    float low = f32_fma(a, a, -s);
    float tail = f32_exp_times(-0.5f * s, -0.5f * low, m, m_low);
    float large = x < 0 ? -tail : x - tail;
    float q = -0x1.ba6c46p-18f; /* (Phi(x) - 1/2) / x in x^2, 2^-28 for |x| <= 0.85 */
    q = f32_fma(q, s, 0x1.cefddap-14f);
    q = f32_fma(q, s, -0x1.361e46p-10f);
    q = f32_fma(q, s, 0x1.46c10ep-7f);
    q = f32_fma(q, s, -0x1.1057dep-4f);
    q = f32_fma(q, s, 0x1.988452p-2f);
    return a < 0.85f ? x * f32_fma(x, q, 0.5f) : large;
}

/* ---- circular functions ---- */

/* Sine and cosine of f pi/2, |f| <= 1/2. */
PRO_FN double f32_sin_cos(double f, double *cosine) {
    double y = f * 0x1.921fb54442d18p+0, z = y * y;
    double s = 0x1.6cd1afd2cb3fdp-19; /* (sin(y) / y - 1) / y^2, 2^-37 */
    s = s * z - 0x1.a00f7e10cdc9fp-13;
    s = s * z + 0x1.1111086905950p-7;
    s = s * z - 0x1.5555554c6ff04p-3;
    s = y * (1 + z * s); /* from here on: the sine */
    double c = 0x1.991641b651cf9p-16; /* (cos(y) - 1) / y^2, 2^-34 */
    c = c * z - 0x1.6c07efd8d468ep-10;
    c = c * z + 0x1.55553c74a094fp-5;
    c = c * z - 0x1.ffffffcb7798ap-2;
    *cosine = 1 + z * c;
    return s;
}
/* sin((q + f) pi/2), |f| <= 1/2. */
PRO_FN float f32_quarter(double f, int32_t q) {
    double c, s = f32_sin_cos(f, &c);
    float v = (float)c, w = (float)s;
    v = q & 1 ? v : w;
    return f32_of_bits(f32_bits(v) ^ (int32_t)(((uint32_t)q & 2) << 30));
}
/* x = (q + f) pi/2 with |f| <= 1/2, q known but for a multiple of 4: returns f. X = x * scale is
 * whole or small, and below 2^48; hi + mid + lo is 2/(pi scale) but for a multiple of 4; X has 24
 * bits, hi and mid so few that their products with it are exact.
 * Rows are chosen by comparison, because gathers from a table are not vectorised everywhere. */
PRO_FN double f32_quarters(float x, int32_t *quarters) {
    const double magic = 0x1.8p52; /* + magic rounds to whole, low bits in the sum's mantissa */
    double a = (double)f32_abs(x);
    double scale = 1, hi = 0x1.45f306cp-1, mid = 0x1.c9c882ap-29, lo = 0x1.4fe13abe8fa9ap-59;
    scale = a >= 0x1p48 ? 0x1p-24 : scale, hi = a >= 0x1p48 ? 0x1.b72722p+1 : hi;
    mid = a >= 0x1p48 ? 0x1.529fc27p-28 : mid, lo = a >= 0x1p48 ? 0x1.5f47d4d377037p-58 : lo;
    scale = a >= 0x1p72 ? 0x1p-48 : scale, hi = a >= 0x1p72 ? 0x1.529fc2p-4 : hi;
    mid = a >= 0x1p72 ? 0x1.d5f47d4p-30 : mid, lo = a >= 0x1p72 ? 0x1.a6ee06db14acdp-59 : lo;
    scale = a >= 0x1p96 ? 0x1p-72 : scale, hi = a >= 0x1p96 ? 0x1.3abe8fp-3 : hi;
    mid = a >= 0x1p96 ? 0x1.534ddcp-28 : mid, lo = a >= 0x1p96 ? 0x1.b6c52b3278872p-57 : lo;
    scale = a >= 0x1p120 ? 0x1p-96 : scale, hi = a >= 0x1p120 ? 0x1.f534ddcp+0 : hi;
    mid = a >= 0x1p120 ? 0x1.b6c52ap-33 : mid, lo = a >= 0x1p120 ? 0x1.3278872083fcap-57 : lo;
    double X = (double)x * scale, p0 = X * hi, p1 = X * mid, p2 = X * lo;
    double n0 = p0 + magic, n1 = p1 + magic;
    double f = (p0 - (n0 - magic)) + (p1 - (n1 - magic));
    double n2 = f + magic;
    f = (f - (n2 - magic)) + p2;
    int32_t q = (int32_t)(f64_bits(n0) & 3) + (int32_t)(f64_bits(n1) & 3);
    *quarters = q + (int32_t)(f64_bits(n2) & 3);
    return f;
}
PRO_FN float f32_circular(float x, int32_t shift) { /* sin(x + shift pi/2) */
    int32_t q;
    double f = f32_quarters(x, &q);
    return f32_quarter(f, q + shift);
}
PRO_FN float f32_sin(float x) { return f32_circular(x, 0); }
PRO_FN float f32_cos(float x) { return f32_circular(x, 1); }

PRO_FN float f32_tan(float x) {
    int32_t q;
    double c, s = f32_sin_cos(f32_quarters(x, &q), &c);
    double over = q & 1 ? -c : s, under = q & 1 ? s : c;
    return (float)(over / under);
}
/* Of y / x for 0 <= y <= x, not both 0. */
PRO_FN double f32_atan_wide(double y, double x) {
    const int32_t is_large = y > x * 0.41421356237309503;
    double z = (is_large ? y - x : y) / (is_large ? y + x : x), u = z * z;
    double p = 0x1.82052beb02afdp-5; /* atan(z) / z in z^2, 2^-35 for |z| <= sqrt(2) - 1 */
    p = p * u - 0x1.5a78a9ce9ac50p-4;
    p = p * u + 0x1.c43d5af9db7bfp-4;
    p = p * u - 0x1.247ce85cca24cp-3;
    p = p * u + 0x1.99990068a7a94p-3;
    p = p * u - 0x1.5555548651491p-2;
    p = p * u + 0x1.ffffffffd22dbp-1;
    return z * p + (is_large ? 0x1.921fb54442d18p-1 : 0.0);
}
/* As C's atan2f, signed zeros and infinities included. */
PRO_FN float f32_atan2(float y, float x) {
    float ay = f32_abs(y), ax = f32_abs(x);
    int32_t is_steep = ay > ax;
    float less = is_steep ? ax : ay, more = is_steep ? ay : ax;
    less = less == f32_inf ? 1.0f : more == f32_inf ? 0.0f : less; /* two infinities: as (1, 1) */
    more = (more == 0) | (more == f32_inf) ? 1.0f : more;
    double r = f32_atan_wide((double)less, (double)more);
    r = is_steep ? 0x1.921fb54442d18p+0 - r : r;
    r = f32_bits(x) < 0 ? 0x1.921fb54442d18p+1 - r : r;
    return (x != x) | (y != y) ? x + y : f32_copysign((float)r, y);
}
PRO_FN float f32_atan(float x) {
    float a = f32_abs(x), c = a > 0x1p100f ? 0x1p100f : a;
    int32_t is_steep = c > 1;
    double r = f32_atan_wide(is_steep ? 1.0 : (double)c, is_steep ? (double)c : 1.0);
    r = is_steep ? 0x1.921fb54442d18p+0 - r : r;
    return x != x ? x : f32_copysign((float)r, x);
}
/* asin(z) for u = z^2, 0 <= z <= 1/2, nan for nan. */
PRO_FN double f32_asin_wide(double z, double u) {
    double p = 0x1.1e70c6b71da42p-5; /* asin(z) / z in z^2, 2^-35 */
    p = p * u + 0x1.d8a7bdc283832p-8;
    p = p * u + 0x1.94ef53d10b94ap-6;
    p = p * u + 0x1.ed056cc556cf2p-6;
    p = p * u + 0x1.6ddf2cd0a0f99p-5;
    p = p * u + 0x1.33328cd4e2c64p-4;
    p = p * u + 0x1.5555565998a71p-3;
    p = p * u + 0x1.ffffffffdeadfp-1;
    return z * p;
}
/* For |x| > 1/2 by asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)); beyond 1 the root is nan. */
PRO_FN float f32_asin(float x) {
    double a = (double)f32_abs(x);
    int32_t is_large = a > 0.5;
    double half = 0.5 * (1 - a), u = is_large ? half : a * a;
    double r = f32_asin_wide(is_large ? __builtin_sqrt(u) : a, u);
    return f32_copysign((float)(is_large ? 0x1.921fb54442d18p+0 - 2 * r : r), x);
}
PRO_FN float f32_acos(float x) {
    double a = (double)f32_abs(x);
    int32_t is_large = a > 0.5;
    double half = 0.5 * (1 - a), u = is_large ? half : a * a;
    double r = f32_asin_wide(is_large ? __builtin_sqrt(u) : a, u);
    double right = is_large ? 2 * r : 0x1.921fb54442d18p+0 - r;
    double left = is_large ? 0x1.921fb54442d18p+1 - 2 * r : 0x1.921fb54442d18p+0 + r;
    return (float)(x < 0 ? left : right);
}

/* ---- in double: other bases, power, hyperbolic functions ---- */

/* log2(m 2^e) for 2/3 <= m < 4/3, 2^-41. */
PRO_FN double f32_log2_wide(double m, int32_t e) {
    double s = (m - 1) / (m + 1), u = s * s;
    double l = 0x1.29dad5ed16b16p-2; /* log2((1 + s) / (1 - s)) / s in s^2 */
    l = l * u + 0x1.46f1a7ba6ab03p-2;
    l = l * u + 0x1.a61ea6282306cp-2;
    l = l * u + 0x1.2776bc4266e3fp-1;
    l = l * u + 0x1.ec709dcb67edep-1;
    l = l * u + 0x1.71547652b7e8ap+1;
    return (double)e + s * l;
}
/* 2^w, 2^-34; w beyond +-200 counts as that, which is far out of float32's range. */
PRO_FN double f32_exp2_wide(double w) {
    w = w > 200 ? 200 : w < -200 ? -200 : w;
    double t = w + 0x1.8p52;
    double r = w - (t - 0x1.8p52);
    double p = 0x1.fde5c65b22f6dp-17; /* (2^r - 1) / r */
    p = p * r + 0x1.445ca6f497172p-13;
    p = p * r + 0x1.5d8a8688be1adp-10;
    p = p * r + 0x1.3b29f37509189p-7;
    p = p * r + 0x1.c6b08abf92b77p-5;
    p = p * r + 0x1.ebfbe077aea36p-3;
    p = p * r + 0x1.62e42ff0e2185p-1;
    p = p * r + 1;
    return p * f64_of_bits((int64_t)(((uint64_t)f64_bits(t) + 1023u) << 52));
}
/* x = m 2^e with 2/3 <= m < 4/3, for normal x > 0. */
PRO_FN double f32_split_wide(double x, int32_t *e) {
    uint64_t i = (uint64_t)f64_bits(x), one = UINT64_C(1023) << 52;
    uint64_t k = (i - UINT64_C(0x3fe5555555555556) + one) >> 52;
    *e = (int32_t)k - 1023;
    return f64_of_bits((int64_t)(i - (k << 52) + one));
}
PRO_FN float f32_log_by(float x, double scale) {
    int32_t e;
    double m = (double)f32_split(x, &e);
    float y = (float)(f32_log2_wide(m, e) * scale);
    y = x == f32_inf ? x : y;
    y = x == 0 ? -f32_inf : y;
    return x < 0 ? f32_nan : x != x ? x : y;
}
PRO_FN float f32_log2(float x) { return f32_log_by(x, 1); }
PRO_FN float f32_log10(float x) { return f32_log_by(x, 0x1.34413509f79ffp-2); }
PRO_FN float f32_exp2(float x) { return x != x ? x : (float)f32_exp2_wide((double)x); }
PRO_FN float f32_sinh(float x) {
    double a = (double)f32_abs(x), u = a * a, e = f32_exp2_wide(a * 0x1.71547652b82fep+0);
    double p = 0x1.b6b2022cd99a7p-26; /* sinh(a) / a in a^2, 2^-43 for a <= 1 */
    p = p * u + 0x1.71cba02f957bcp-19;
    p = p * u + 0x1.a01a27e73b1e1p-13;
    p = p * u + 0x1.111110ed9800fp-7;
    p = p * u + 0x1.55555555852e8p-3;
    p = p * u + 0x1.ffffffffffd69p-1;
    float y = f32_copysign((float)(a < 1 ? a * p : 0.5 * (e - 1 / e)), x);
    return x != x ? x : y;
}
PRO_FN float f32_cosh(float x) {
    double e = f32_exp2_wide((double)f32_abs(x) * 0x1.71547652b82fep+0);
    return x != x ? x : (float)(0.5 * (e + 1 / e));
}
PRO_FN float f32_asinh(float x) {
    double a = (double)f32_abs(x), u = a * a;
    int32_t e;
    double m = f32_split_wide(a + __builtin_sqrt(u + 1), &e);
    double y = f32_log2_wide(m, e) * 0x1.62e42fefa39efp-1;
    y = a < 0x1p-12 ? a - a * u * 0x1.5555555555555p-3 : y;
    return (x != x) | (f32_abs(x) == f32_inf) ? x : f32_copysign((float)y, x);
}
PRO_FN float f32_acosh(float x) {
    double a = (double)(x > 1 ? x : 1.0f);
    int32_t e;
    double m = f32_split_wide(a + __builtin_sqrt(a * a - 1), &e);
    float y = (float)(f32_log2_wide(m, e) * 0x1.62e42fefa39efp-1);
    return x < 1 ? f32_nan : (x != x) | (x == f32_inf) ? x : y;
}
PRO_FN float f32_atanh(float x) {
    double a = (double)f32_abs(x), c = a < 1 ? a : 0, u = a * a;
    int32_t e;
    double m = f32_split_wide((1 + c) / (1 - c), &e);
    double y = f32_log2_wide(m, e) * 0x1.62e42fefa39efp-2;
    y = a < 0x1p-12 ? a + a * u * 0x1.5555555555555p-2 : y;
    float v = f32_copysign(a == 1 ? f32_inf : (float)y, x);
    return x != x ? x : a > 1 ? f32_nan : v;
}
/* As C's powf: |x|^y = 2^(y log2 |x|) in double, then the sign and the special cases. */
PRO_FN float f32_pow(float x, float y) {
    float ax = f32_abs(x), ay = f32_abs(y);
    int32_t e;
    double m = (double)f32_split(ax, &e);
    double l = f32_log2_wide(m, e);
    l = ax == 0 ? -(double)f32_inf : ax == f32_inf ? (double)f32_inf : l;
    double w = ax == 1 ? 0 : (double)y * l;
    float v = (float)f32_exp2_wide(w);
    int32_t k = (int32_t)(ay < 0x1p24f ? ay : 0.0f);
    float whole = (float)k;
    whole = ay >= 0x1p23f ? ay : whole;
    uint32_t odd = whole == ay ? (uint32_t)k << 31 : 0;
    v = f32_of_bits(f32_bits(v) ^ (f32_bits(x) & (int32_t)odd));
    v = (x < 0) & (ax < f32_inf) & (whole != ay) ? f32_nan : v;
    v = (x != x) | (y != y) ? x + y : v;
    return (x == 1) | (y == 0) ? 1.0f : v;
}
#endif
