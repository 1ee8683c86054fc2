/* prologue_f32.h: float32 functions for generated kernels, written so that a compiler can vectorise
 * a loop over them: no branches, no calls, no tables; polynomials and explicit fma. This is the
 * part of prologue.h with numerical analysis in it; read prologue.h first.
 *
 * Goals, tested by prologue_test: at most 1 ulp for exp, log, sqrt and 2 for the rest, over all
 * floats; infinities, nan and denormals as in C's libm. Measured (`make accuracy`), in ulp: exp
 * 0.88, log 0.85, sqrt 0.5; expm1 1.59, log1p 1.58, rsqrt 1.47, tanh 1.991, sigmoid 1.66, softplus
 * 1.992, erf 1.37, gelu 1.96, gelu_dx 1.87; sin, cos, tan, pow and all that is computed in double
 * 0.51.
 *
 * Polynomials are minimax fits: Remez exchange, weighted so that the error is relative to the
 * function's value; coefficients are rounded from the lowest power up, and the others fitted again
 * after each. They are evaluated in pairs, as in Estrin's scheme: a processor's window holds few
 * iterations of these loops, so that the depth of one counts as well as its operations. An error
 * beside a polynomial is its own, without that of its evaluation.
 *
 * exp, expm1, tanh, sigmoid: reduction by powers of two and two-part ln 2 as in Cody and Waite,
 * "Software Manual for the Elementary Functions"; the two parts of the rest are added last. tanh is
 * expm1(2x) / (expm1(2x) + 2). log: the two-part e ln 2 and f; the rounding error of their sum is
 * kept. erf: 1 - e^q with a polynomial q, as in expm1. gelu: m(a), corrected to first order for the
 * rounding of its variable. gelu_dx: the distance to its root, in two parts, as a factor. sin, cos,
 * tan: 2/pi by exponent as in Payne and Hanek, SIGNUM Newsletter 18 (1983). pow, circular and
 * hyperbolic functions but tanh, their inverses and other bases are computed in double.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_PROLOGUE_F32_H
#define GT_WORKER_KERNEL_PROLOGUE_F32_H

#define f32_inf     __builtin_inff()
#define f32_nan     __builtin_nanf("")
#define f32_lowest  (-f32_inf)
#define f32_highest f32_inf

PRO_FN int32_t f32_bits(float x) {
    int32_t i;
    __builtin_memcpy(&i, &x, 4);
    return i;
}
PRO_FN float f32_of_bits(int32_t i) {
    float x;
    __builtin_memcpy(&x, &i, 4);
    return x;
}
PRO_FN int64_t f64_bits(double x) {
    int64_t i;
    __builtin_memcpy(&i, &x, 8);
    return i;
}
PRO_FN double f64_of_bits(int64_t i) {
    double x;
    __builtin_memcpy(&x, &i, 8);
    return x;
}
#if defined FP_FAST_FMAF || defined __CUDACC__
PRO_FN float f32_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
PRO_FN float f32_fma(float a, float b, float c) {
    return (float)((double)a * (double)b + (double)c);
}
#endif
PRO_FN float f32_copysign(float magnitude, float sign) {
    return __builtin_copysignf(magnitude, sign);
}

/* x, but at least `low` (at most `high`), which is not 0; nan if x is. One instruction each. */
#ifdef __CUDACC__
PRO_FN float f32_at_least(float x, float low) {
    float y;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(low));
    return y;
}
PRO_FN float f32_at_most(float x, float high) {
    float y;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(high));
    return y;
}
#else
PRO_FN float f32_at_least(float x, float low) { return x < low ? low : x; }
PRO_FN float f32_at_most(float x, float high) { return x > high ? high : x; }
#endif

/* ---- plain arithmetic ---- */

PRO_FN float f32_add(float a, float b) { return a + b; }
PRO_FN float f32_sub(float a, float b) { return a - b; }
PRO_FN float f32_mul(float a, float b) { return a * b; }
PRO_FN float f32_neg(float a) { return -a; }
PRO_FN float f32_abs(float a) { return __builtin_fabsf(a); }
PRO_FN float f32_sign(float a) { return a != a ? a : (float)((a > 0) - (a < 0)); }
PRO_FN float f32_max(float a, float b) { return a != a ? a : a > b ? a : b; }
PRO_FN float f32_min(float a, float b) { return a != a ? a : a < b ? a : b; }
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

/* ---- exponentials ---- */

/* Adding 2^23 + 2^22 rounds to an integer n, which is then in the sum's last bits. If 127 is added
 * as well, shifting those bits makes 2^n. */
#define F32_ROUND 0x1.8p23f
PRO_FN float f32_pow2_of(float t) { return f32_of_bits((int32_t)((uint32_t)f32_bits(t) << 23)); }

/* e^r - 1 for r = high + low, |r| <= 0.3467, low small: within 2^-28 e^r and one rounding. */
PRO_FN float f32_exp_rest(float high, float low) {
    float r = high + low, r2 = r * r;
    float p = f32_fma(f32_fma(r2, 0x1.6a4ed0p-10f, f32_fma(r, 0x1.12399cp-7f, 0x1.5558b0p-5f)), r2,
                      f32_fma(r, 0x1.555492p-3f, 0x1.fffffcp-2f)); /* (e^r - 1 - r) / r^2 */
    return high + f32_fma(r2, p, low);
}
/* x = n ln 2 + r: returns e^r - 1; *t = n + round, which is exact for a `round` near F32_ROUND, at
 * most n_max + round. */
PRO_FN float f32_exp_part(float x, float round, float n_max, float *t) {
    int32_t i = f32_bits(f32_fma(x, 0x1.715476p+0f, round)), most = f32_bits(n_max);
    *t = f32_of_bits(i < most ? i : most); /* also if x is nan, which `high` preserves */
    float n = *t - round;
    return f32_exp_rest(f32_fma(n, -0x1.62e430p-1f, x), n * 0x1.05c610p-29f); /* both exact */
}
/* Scales by two powers of 2, 2^(n -+ 64) 2^+-64, so that results may be infinite or denormal and
 * are rounded once. The sign is chosen from x's bits, in integers, because compilers make two
 * functions of a choice by `?`. Beyond 89 n stays 128 and r grows, and the result with it. */
PRO_FN float f32_exp(float x) {
    uint32_t sign = (uint32_t)f32_bits(x) & 0x80000000u;
    float round = f32_of_bits((int32_t)((uint32_t)f32_bits(F32_ROUND + 63.0f) | sign >> 24)), t;
    float q = f32_exp_part(f32_at_least(x, -104.0f), round, F32_ROUND + (63.0f + 128.0f), &t);
    float s = f32_pow2_of(t);
    return f32_fma(q, s, s) * f32_of_bits((int32_t)((uint32_t)f32_bits(0x1p64f) ^ sign >> 1));
}
/* The same for x known to be <= 0 or nan: one scale is enough. A device bounds the argument in one
 * instruction; a CPU, which takes two, replaces the result, in one (cross-entropy on v4: 5 %). The
 * bits are the same, as the exponential of -104 is 0. */
PRO_FN float f32_exp_below(float x) {
    const float round = F32_ROUND + (63.0f + 128.0f);
#ifdef __CUDACC__
    x = f32_at_least(x, -104.0f);
#endif
    float t = f32_fma(x, 0x1.715476p+0f, round), n = t - round;
    float q = f32_exp_rest(f32_fma(n, -0x1.62e430p-1f, x), n * 0x1.05c610p-29f);
    float s = f32_pow2_of(t), y = f32_fma(q, s, s) * 0x1p-64f;
#ifdef __CUDACC__
    return y;
#else
    return x < -104.0f ? 0 : y;
#endif
}
/* Half the scale s, because 2^128 is not a float. */
PRO_FN float f32_expm1(float x) {
    float c = f32_at_least(x, -20.0f), t;
    float q = f32_exp_part(c, F32_ROUND + 126.0f, F32_ROUND + (126.0f + 128.0f), &t);
    float s = f32_pow2_of(t), y = 2 * f32_fma(q, s, s - 0.5f);
    return f32_abs(x) < 0x1p-24f ? x : y;
}

/* ---- logarithms ---- */

/* log(2^e (1 + f)), -1/3 <= f <= 1/3: e ln 2 + f, with the rounding error of that sum, + f^2 p. */
PRO_FN float f32_log_sum(float f, float e) {
    float f2 = f * f, f4 = f2 * f2; /* p: (log(1 + f) - f) / f^2, 2^-30 in log(1 + f) */
    float a = f32_fma(f, -0x1.ffff18p-3f, 0x1.555556p-2f);
    float b = f32_fma(f, -0x1.55978cp-3f, 0x1.9997eep-3f);
    float c = f32_fma(f, -0x1.f3b02ap-4f, 0x1.24eb6ep-3f);
    float d = f32_fma(f, -0x1.06c2c4p-3f, 0x1.b91ef4p-4f);
    float g = f32_fma(f4, f32_fma(f4, 0x1.e9d1c2p-4f, f32_fma(f2, d, c)), f32_fma(f2, b, a));
    float p = f32_fma(g, f, -0.5f);
    float high = e * 0x1.62e4p-1f, sum = high + f, lost = f - (sum - high); /* high is exact */
    return sum + f32_fma(f2, p, f32_fma(e, 0x1.7f7d1cp-20f, lost));
}
/* x = m 2^e with 2/3 <= m < 4/3, for finite x > 0. */
PRO_FN float f32_split(float x, int32_t *e) {
    int32_t i = f32_bits(x), denormal = (int32_t)((uint32_t)i - 0x800000u) >> 31;
    i ^= (i ^ f32_bits(x * 0x1p23f)) & denormal;
    int32_t k = (int32_t)((uint32_t)i - 0x3f2aaaabu) >> 23;
    *e = k - (denormal & 23);
    return f32_of_bits((int32_t)((uint32_t)i - ((uint32_t)k << 23)));
}
PRO_FN float f32_log(float x) {
    int32_t e;
    float m = f32_split(x, &e);
    float y = f32_log_sum(m - 1, (float)e);
    y = x < f32_inf ? y : x;
    return x > 0 ? y : x == 0 ? -f32_inf : f32_nan;
}
/* 1 + x = 2^e (1 + f); f = x 2^-e + (2^-e - 1) restores what the addition lost. */
PRO_FN float f32_log1p(float x) {
    int32_t e = (int32_t)((uint32_t)f32_bits(1 + x) - 0x3f2aaaabu) >> 23;
    uint32_t shift = (uint32_t)e << 23;
    int32_t scale = (int32_t)(0x3f800000u - shift);
    float s = f32_of_bits(scale > 0 ? scale : 0);
    float f = f32_of_bits((int32_t)((uint32_t)f32_bits(x) - shift)) + (s - 1);
    float y = f32_copysign(f32_log_sum(f, (float)e), x);
    y = x < f32_inf ? y : x;
    return x > -1 ? y : x == -1 ? -f32_inf : f32_nan;
}

/* ---- sigmoids ---- */

/* For y >= 0. */
PRO_FN float f32_with_sign(float y, float sign) {
    return f32_of_bits(f32_bits(y) | (f32_bits(sign) & INT32_MIN));
}
/* With E = e^(2z) - 1, |z| = |x|: E / (E + 2). Near 0, z < 0, so that E + 2 loses less to rounding.
 * E as in expm1. Bounds and signs are computed in integers: comparisons of floats make masks, which
 * have a high latency. */
PRO_FN float f32_tanh(float x) {
    int32_t i = f32_bits(x), a = i & 0x7fffffff, most = f32_bits(9.02f), c = a < most ? a : most;
    int32_t flip = (int32_t)((uint32_t)c - (uint32_t)f32_bits(0.17f)) & INT32_MIN;
    float z = f32_of_bits(c ^ flip);
    float t = f32_fma(z, 0x1.715476p+1f, F32_ROUND + 127.0f), n = t - (F32_ROUND + 127.0f);
    float r = f32_fma(n, -0x1.62e430p-2f, z), r2 = r * r; /* ln 2 need not be more exact here */
    float p = f32_fma(f32_fma(r2, 0x1.62b796p-4f, f32_fma(r, 0x1.122260p-2f, 0x1.5561b6p-1f)), r2,
                      f32_fma(r, 0x1.5554bep+0f, 0x1.fffff4p+0f)); /* (e^(2r) - 1 - 2r) / r^2 */
    float s = f32_pow2_of(t), E = f32_fma(r2 * s, p, f32_fma(r + r, s, s - 1)); /* 2^-27 in E */
    int32_t nan = (0x7f800000 - a) >> 31; /* a nan that became 9.02 is made nan again */
    return f32_of_bits((f32_bits(E / (E + 2)) & 0x7fffffff) | (i & INT32_MIN) | nan);
}
/* 1 / (1 + e^-x), both scaled by 2^-64, so that e^-x is finite wherever the result is not 0. */
PRO_FN float f32_sigmoid(float x) {
    float c = f32_at_most(x, 40.0f), t;
    float q = f32_exp_part(-c, F32_ROUND + 63.0f, F32_ROUND + (63.0f + 151.0f), &t);
    float s = f32_pow2_of(t);
    float D = s + 0x1p-64f, lost = 0x1p-64f - (D - s);
    return 0x1p-64f / (D + f32_fma(q, s, lost));
}
/* max(x, 0) + log(1 + e), e = e^-|x|, with the rounding errors of the logarithm and the sum. */
PRO_FN float f32_softplus(float x) {
    int32_t positive = f32_bits(x) & ~(f32_bits(x) >> 31), most = f32_bits(64.0f); /* max(x, 0) */
    float more = f32_of_bits(positive < most ? positive : most), z = -f32_abs(x), t;
    z = f32_at_least(z, -104.0f);
    float q = f32_exp_part(z, F32_ROUND + 191.0f, F32_ROUND + 191.0f, &t), s = f32_pow2_of(t);
    float e = f32_fma(q, s, s) * 0x1p-64f, e2 = e * e, e4 = e2 * e2;
    float a = f32_fma(e, 0x1.554dd0p-2f, -0x1.ffffd2p-2f); /* p: (log(1 + e) - e) / e^2, */
    float b = f32_fma(e, 0x1.934b54p-3f, -0x1.ff23e6p-3f); /* 2^-27 in log(1 + e), 0 <= e <= 1 */
    float c = f32_fma(e, 0x1.b4ae08p-4f, -0x1.3a435ep-3f);
    float d = f32_fma(e, 0x1.4917cep-6f, -0x1.d6b08cp-5f);
    float p = f32_fma(e4, f32_fma(e4, -0x1.af49cep-9f, f32_fma(e2, d, c)), f32_fma(e2, b, a));
    float l = f32_fma(e2, p, e), sum = more + l;
    uint32_t y = (uint32_t)f32_bits(sum + ((more - (sum - l)) + f32_fma(e2, p, e - l)));
    return f32_of_bits((int32_t)(y > (uint32_t)positive ? y : (uint32_t)positive)); /* beyond 64 */
}
/* 1 - e^q, q = log(1 - erf(|x|)), as in expm1. */
PRO_FN float f32_erf(float x) {
    float a = f32_abs(x), c = f32_at_most(a, 4.0f), c2 = c * c, c4 = c2 * c2;
    float k = f32_fma(c, -0x1.45f2fep-1f, 0x1.f7ac92p-25f); /* q / c, 2^-27 in erf for c <= 4 */
    float l = f32_fma(c, 0x1.39c0d8p-6f, -0x1.a4f95ep-4f);
    float m = f32_fma(c, -0x1.b638cep-10f, 0x1.5b138ap-13f);
    float o = f32_fma(c, -0x1.f00f96p-14f, 0x1.4d079ap-11f);
    float p = f32_fma(c4, f32_fma(c4, 0x1.38e178p-17f, f32_fma(c2, o, m)), f32_fma(c2, l, k));
    float high = c * -0x1.20dd76p+0f;
    float low = f32_fma(p, c, f32_fma(c, -0x1.20dd76p+0f, -high));
    float t = f32_fma(high + low, 0x1.715476p+0f, F32_ROUND + 127.0f);
    float n = t - (F32_ROUND + 127.0f), s = f32_pow2_of(t);
    float E = f32_exp_rest(f32_fma(n, -0x1.62e430p-1f, high), low); /* ln 2 is exact enough */
    return f32_with_sign(f32_fma(-E, s, 1 - s), x);
}
/* e^(-a^2 / 2) (y + low) for 0 <= a <= 15; sum is y + low, or y where that is nearly the same. */
PRO_FN float f32_bell(float a, float y, float low, float sum) {
    float s = a * a, s_low = f32_fma(a, a, -s), h = -0.5f * s;
    float t = f32_fma(h, 0x1.715476p+0f, F32_ROUND + 191.0f), n = t - (F32_ROUND + 191.0f);
    float r_low = f32_fma(s_low, -0.5f, n * 0x1.05c610p-29f);
    float q = f32_exp_rest(f32_fma(n, -0x1.62e430p-1f, h), r_low), scale = f32_pow2_of(t);
    return (y + f32_fma(sum, q, low)) * scale * 0x1p-64f;
}
/* x Phi(x). Outside +-0.88 by a Phi(-a) = e^(-a^2 / 2) m(a), corrected for rounding. */
PRO_FN float f32_gelu(float x) {
    const float C = 0x1.01cp+2f; /* with it the first coefficient of m is nearly a float */
    float a = f32_at_most(f32_abs(x), 15.0f);
    float d = a + C, u = d - 2 * C, v = u / d, w = 1 - v, v2 = v * v; /* w = 2 C / d */
    float v_low = f32_fma(a - (d - C), w, f32_fma(-v, d, u)) * (w * (1 / (2 * C)));
    float i = f32_fma(v, 0x1.9a641ep-4f, -0x1.c0f0fcp-4f); /* m in v, 2^-27 for 0.85 <= a <= 15 */
    float j = f32_fma(v, 0x1.bd63dap-6f, -0x1.04a3fap-4f);
    float k = f32_fma(v, -0x1.b37762p-11f, -0x1.86ee86p-8f);
    k = f32_fma(v2, f32_fma(v2, f32_fma(v2, 0x1.ad18b0p-11f, k), j), i);
    float l = f32_fma(k, v, 0x1.2ac84ap-4f);
    float m = f32_fma(l, v, 0x1.82f634p-2f);
    float m_low = f32_fma(f32_fma(k, v, l), v_low, f32_fma(l, v, 0x1.82f634p-2f - m));
    float tail = f32_bell(a, m, m_low, m), s = a * a;
    float s2 = s * s, f = f32_fma(s, 0x1.469ad4p-7f, -0x1.105726p-4f); /* p: (Phi(x) - 1/2) / x */
    float g = f32_fma(s, 0x1.8fe732p-14f, -0x1.32d7d2p-10f); /* in s, 2^-26 in Phi, |x| <= 0.885 */
    float p = f32_fma(f32_fma(s2, g, f), s, 0x1.988450p-2f);
    return a < 0.88f ? x * f32_fma(x, p, 0.5f) : -(tail - f32_max(x, 0)); /* -0, not 0 */
}
/* With a = |x| and T = Phi(-a) - a phi(a): T for x < 0, else 1 - T. T = e^(-a^2 / 2) (R - a) H(a),
 * where R is the root of T; H falls from 0.67 to 0.4. R - a and the product keep a low part. */
PRO_FN float f32_gelu_dx(float x) {
    const float C = 0x1.5dp+1f, R = 0x1.80ead2p-1f, R_low = -0x1.a03fd4p-27f;
    float a = f32_at_most(f32_abs(x), 15.0f);
    float d = a + C, v = (d - 2 * C) / d, v2 = v * v;
    float i = f32_fma(v, 0x1.94a7f6p-5f, -0x1.ff9c0ap-4f); /* H in v, 2^-27 for a <= 15 */
    float j = f32_fma(v, -0x1.bd4c62p-10f, -0x1.2693eap-7f);
    float k = f32_fma(v, 0x1.9b4f04p-13f, 0x1.e2152ep-11f);
    float l = f32_fma(v, -0x1.2f4524p-15f, -0x1.8ef978p-14f);
    float p = f32_fma(v2 * v2, f32_fma(v2, l, k), f32_fma(v2, j, i));
    float H = f32_fma(v, p, 0x1.efc50cp-2f), H_low = f32_fma(v, p, 0x1.efc50cp-2f - H);
    float e = R - a, b = e - R, e_low = ((R - (e - b)) - (a + b)) + R_low;
    float y = H * e, low = f32_fma(H, e_low, f32_fma(H_low, e, f32_fma(H, e, -y)));
    float T = f32_bell(a, y, low, y + low);
    return x < 0 ? T : 1 - T;
}

/* ---- circular functions ---- */

/* Sine and cosine of f pi/2, |f| <= 1/2. */
PRO_FN double f32_sin_cos(double f, double *cosine) {
    double y = f * 0x1.921fb54442d18p+0, z = y * y;
    double s = 0x1.6cd1afd2cb3fdp-19; /* (sin(y) / y - 1) / y^2, 2^-37 */
    s = s * z - 0x1.a00f7e10cdc9fp-13;
    s = s * z + 0x1.1111086905950p-7;
    s = s * z - 0x1.5555554c6ff04p-3;
    s = y * (1 + z * s);              /* from here on: the sine */
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
/* x = (q + f) pi/2 with |f| <= 1/2; returns f, and q up to a multiple of 4. X = x * scale is an
 * integer or small, and below 2^48; hi + mid + lo is 2/(pi scale) up to a multiple of 4. X has 24
 * bits, and hi and mid so few that their products with it are exact. Rows are chosen by
 * comparisons, because gathers from a table are not vectorised everywhere. */
PRO_FN double f32_quarters_by(double X, double hi, double mid, double lo, int64_t *quarters) {
    const double magic = 0x1.8p52; /* + magic rounds to whole, low bits in the sum's mantissa */
    double p0 = X * hi, p1 = X * mid, p2 = X * lo;
    double n0 = p0 + magic, n1 = p1 + magic;
    double f = (p0 - (n0 - magic)) + (p1 - (n1 - magic));
    double n2 = f + magic;
    f = (f - (n2 - magic)) + p2;
    *quarters = (f64_bits(n0) & 3) + (f64_bits(n1) & 3) + (f64_bits(n2) & 3);
    return f;
}
/* Of x below 2^48, for runs of such elements (kernel_loops.h): the same bits as f32_quarters. */
PRO_FN uint8_t f32_is_low(float x) { return f32_abs(x) < 0x1p48f; }
PRO_FN double f32_quarters_low(float x, int64_t *quarters) {
    return f32_quarters_by((double)x, 0x1.45f306cp-1, 0x1.c9c882ap-29, 0x1.4fe13abe8fa9ap-59,
                           quarters);
}
PRO_FN double f32_quarters(float x, int64_t *quarters) {
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
    return f32_quarters_by((double)x * scale, hi, mid, lo, quarters);
}
/* sin((q + f) pi/2), the same bits as f32_quarter: chooses coefficients instead of results. */
PRO_FN float f32_circular(double f, int64_t q) {
    const int64_t is_cos = q & 1;
    double y = f * 0x1.921fb54442d18p+0, z = y * y;
    double p = is_cos ? 0x1.991641b651cf9p-16 : 0x1.6cd1afd2cb3fdp-19;
    p = p * z - (is_cos ? 0x1.6c07efd8d468ep-10 : 0x1.a00f7e10cdc9fp-13);
    p = p * z + (is_cos ? 0x1.55553c74a094fp-5 : 0x1.1111086905950p-7);
    p = p * z - (is_cos ? 0x1.ffffffcb7798ap-2 : 0x1.5555554c6ff04p-3);
    p = (is_cos ? 1 : y) * (1 + z * p);
    return (float)f64_of_bits(f64_bits(p) ^ (int64_t)(((uint64_t)q & 2) << 62));
}
#define F32_CIRCULAR(LOW)                                                                          \
    PRO_FN float f32_sin##LOW(float x) {                                                           \
        int64_t q;                                                                                 \
        double f = f32_quarters##LOW(x, &q);                                                       \
        return f32_circular(f, q);                                                                 \
    }                                                                                              \
    PRO_FN float f32_cos##LOW(float x) {                                                           \
        int64_t q;                                                                                 \
        double f = f32_quarters##LOW(x, &q);                                                       \
        return f32_circular(f, q + 1);                                                             \
    }                                                                                              \
    PRO_FN float f32_tan##LOW(float x) {                                                           \
        int64_t q;                                                                                 \
        double c, s = f32_sin_cos(f32_quarters##LOW(x, &q), &c);                                   \
        double over = q & 1 ? -c : s, under = q & 1 ? s : c;                                       \
        return (float)(over / under);                                                              \
    }
F32_CIRCULAR()
F32_CIRCULAR(_low)
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
/* 2^w, 2^-34, for |w| <= 1000; else any number, or nan. */
PRO_FN double f32_exp2_within(double w) {
    double t = w + 0x1.8p52, r = w - (t - 0x1.8p52);
    double p = 0x1.fde5c65b22f6dp-17; /* (2^r - 1) / r */
    p = p * r + 0x1.445ca6f497172p-13;
    p = p * r + 0x1.5d8a8688be1adp-10;
    p = p * r + 0x1.3b29f37509189p-7;
    p = p * r + 0x1.c6b08abf92b77p-5;
    p = p * r + 0x1.ebfbe077aea36p-3;
    p = p * r + 0x1.62e42ff0e2185p-1;
    p = p * r + 1;
    return f64_of_bits((int64_t)((uint64_t)f64_bits(p) + ((uint64_t)f64_bits(t) << 52)));
}
/* 2^w; w is clamped to +-200, which is far out of float32's range. */
PRO_FN double f32_exp2_wide(double w) {
    return f32_exp2_within(w > 200 ? 200 : w < -200 ? -200 : w);
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
PRO_FN float f32_exp2(float x) {
    float y = (float)f32_exp2_within((double)x);
    y = x < 128 ? y : x + f32_inf; /* nan too */
    return x < -160 ? 0 : y;
}
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
