/* prologue_half.h: float16 (f16) and bfloat16 (bf16) are stored as bits; every computation is in
 * float32. The conversions are integer arithmetic without branches, so that they vectorise, with
 * the same bits on every machine. To a half: to nearest, ties to even; too large gives inf; any nan
 * gives the quiet nan without sign. f32_NAME_of_half is a shorter form of f32_NAME: for each of the
 * 65,536 arguments of either half its result, rounded to that half, is the same
 * (tests/unit/half_test.c tries all). Part of prologue.h, which includes it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_PROLOGUE_HALF_H
#define GT_WORKER_KERNEL_PROLOGUE_HALF_H
#include "worker/kernel/prologue.h"

PRO_FN uint32_t half_bits(float a) { return (uint32_t)f32_bits(a); }
PRO_FN float half_of_bits(uint32_t u) { return f32_of_bits((int32_t)u); }

/* Devices from sm_80 on have instructions. Their nan is 0x7fff, as a signed number the only one
 * above inf. */
#ifdef __CUDACC__
PRO_FN float bf16_to_f32(uint16_t a) {
    float f;
    asm("mov.b32 %0, {%1, %2};" : "=f"(f) : "h"((uint16_t)0), "h"(a));
    return f;
}
PRO_FN uint16_t f32_to_bf16(float a) {
    uint16_t h;
    asm("cvt.rn.bf16.f32 %0, %1;\n\tmin.s16 %0, %0, 0x7fc0;" : "=h"(h) : "f"(a));
    return h;
}
PRO_FN uint16_t f32_to_f16(float a) {
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;\n\tmin.s16 %0, %0, 0x7e00;" : "=h"(h) : "f"(a));
    return h;
}
PRO_FN float f16_to_f32(uint16_t a) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(a));
    return f;
}
#else
PRO_FN float bf16_to_f32(uint16_t a) { return half_of_bits((uint32_t)a << 16); }
PRO_FN uint16_t f32_to_bf16(float a) {
    uint32_t u = half_bits(a), rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
}

/* Small numbers become multiples of 2^-24: adding 1/2, whose last digit that is, rounds to them.
 * For the others 13 digits are rounded away, and the exponent's bias becomes 15. */
PRO_FN uint16_t f32_to_f16(float a) {
    uint32_t u = half_bits(a), sign = u >> 16 & 0x8000, m = u & 0x7fffffff;
    uint32_t small = half_bits(half_of_bits(m) + 0.5f) - 0x3f000000;
    uint32_t usual = (m - 0x38000000 + 0xfff + (m >> 13 & 1)) >> 13;
    uint32_t large = m >= 0x47800000 ? 0x7c00 : usual;
    uint32_t bits = sign | (m < 0x38800000 ? small : large);
    return (uint16_t)(m > 0x7f800000 ? 0x7e00 : bits);
}
PRO_FN float f16_to_f32(uint16_t a) {
    uint32_t sign = (uint32_t)(a & 0x8000) << 16, m = (uint32_t)(a & 0x7fff) << 13;
    /* Multiples of 2^-24: the digits become the last ones of 1/2, which is then subtracted. */
    uint32_t small = half_bits(half_of_bits(0x3f000000 + (m >> 13)) - 0.5f);
    uint32_t usual = m + (m >= 0x0f800000 ? 0x70000000 : 0x38000000);
    return half_of_bits(sign | (m < 0x00800000 ? small : usual));
}
#endif

/* The coefficients below were fitted to the functions and then moved by a few ulps until all
 * arguments agreed, so their errors are not the least. */

/* c0 + c1 x + ... with x2 = x^2. */
PRO_FN float f32_of_4(float x, float x2, float c0, float c1, float c2, float c3) {
    return f32_fma(x2, f32_fma(x, c3, c2), f32_fma(x, c1, c0));
}
PRO_FN float f32_of_6(float x, float x2, float c0, float c1, float c2, float c3, float c4,
                      float c5) {
    float a = f32_fma(x, c1, c0), b = f32_fma(x, c3, c2), c = f32_fma(x, c5, c4);
    return f32_fma(x2, f32_fma(x2, c, b), a);
}
PRO_FN float f32_of_8(float x, float c0, float c1, float c2, float c3, float c4, float c5, float c6,
                      float c7) {
    float x2 = x * x, a = f32_fma(x, c1, c0), b = f32_fma(x, c3, c2), c = f32_fma(x, c5, c4);
    return f32_fma(x2, f32_fma(x2, f32_fma(x2, f32_fma(x, c7, c6), c), b), a);
}
/* x = m 2^e with 2/3 <= m < 4/3, for normal x > 0: returns m - 1. */
PRO_FN float f32_split_normal(float x, float *e) {
    int32_t i = (int32_t)((uint32_t)f32_bits(x) - 0x3f2aaaabu);
    *e = (float)(i >> 23);
    return f32_of_bits((i & 0x7fffff) + 0x3f2aaaab) - 1;
}
/* The same for finite x > 0: some of bfloat16 are denormal. */
PRO_FN float f32_split_of_half(float x, float *e) {
    int32_t is_low = x < 0x1p-126f;
    float f = f32_split_normal(is_low ? x * 0x1p23f : x, e);
    *e -= is_low ? 23.0f : 0.0f;
    return f;
}
/* y, which is log(x) or a multiple of it for finite x > 0. */
PRO_FN float f32_log_ends(float x, float y) {
    y = x < f32_inf ? y : x;
    return x > 0 ? y : x == 0 ? -f32_inf : f32_nan;
}
PRO_FN float f32_log_of_half(float x) {
    float e, f = f32_split_of_half(x, &e);
    float p = f32_of_8(f, 0x1.000004p+0f, -0x1.ffffcep-2f, 0x1.556382p-2f, -0x1.000c7cp-2f,
                       0x1.94c6c2p-3f, -0x1.511e96p-3f, 0x1.6267bcp-3f, -0x1.372198p-3f);
    return f32_log_ends(x, f32_fma(f, p, e * 0x1.62e43p-1f));
}
/* 1 + x is exact for a half of at least 2^-13 that is not very large. */
PRO_FN float f32_log1p_of_half(float x) {
    float e, f = f32_split_normal(1 + x, &e);
    float p = f32_of_8(f, 0x1.fffffep-1f, -0x1.000092p-1f, 0x1.555f1p-2f, -0x1.ff43f4p-3f,
                       0x1.970ff6p-3f, -0x1.5f121cp-3f, 0x1.4e2f62p-3f, -0x1.f3c066p-4f);
    float y = f32_log_ends(1 + x, f32_fma(e, 0x1.62e43p-1f, f * p));
    return f32_abs(x) < 0x1p-13f ? x : y;
}

/* x P(x^2); from 2.6 on the nearest half is 1. */
PRO_FN float f32_erf_of_half(float x) {
    float z = x * x, z2 = z * z, z4 = z2 * z2;
    float p = f32_of_4(z, z2, 0x1.20dd76p+0f, -0x1.81267ep-2f, 0x1.ce1df4p-4f, -0x1.b7944ep-6f);
    float q = f32_of_4(z, z2, 0x1.539374p-8f, -0x1.b09e6ap-11f, 0x1.c196cap-14f, -0x1.6cede8p-17f);
    float r = f32_fma(z2, 0x1.b0be72p-31f, f32_fma(z, -0x1.3af79ep-25f, 0x1.ab383ap-21f));
    p = f32_fma(z4, f32_fma(z4, r, q), p);
    return f32_abs(x) > 2.62f ? f32_copysign(1.0f, x) : x * p;
}
/* max(x, 0) + log(1 + e), e = e^-|x|. */
PRO_FN float f32_softplus_of_half(float x) {
    const float round = F32_ROUND + 191.0f, c = 0x1.715476p+0f;
    float a = f32_abs(x);
    a = a > 104.0f ? 104.0f : a;
    float t = f32_fma(a, -c, round), f = f32_fma(a, -c, round - t);
    float q = f32_of_6(f, f * f, 1.0f, 0x1.62e41ep-1f, 0x1.ebf97ap-3f, 0x1.c6b796p-5f,
                       0x1.3d0a84p-7f, 0x1.5c0652p-10f);
    float e = q * f32_pow2_of(t) * 0x1p-64f, e2 = e * e, e4 = e2 * e2;
    float g = f32_of_4(e, e2, 0x1.fffffep-1f, -0x1.fffeaap-2f, 0x1.552ffep-2f, -0x1.fcc8bcp-3f);
    float h = f32_of_4(e, e2, 0x1.874a68p-3f, -0x1.17d28ap-3f, 0x1.406952p-4f, -0x1.e368b8p-6f);
    float p = f32_fma(e4, f32_fma(e4, 0x1.56ed98p-8f, h), g);
    return f32_fma(e, p, x > 0 ? x : 0.0f);
}

/* gelu(x) = max(x, 0) - a Phi(-a), a = |x|. A half has at most 11 digits, so s = a^2 is exact.
 * Phi(-a) = 2^(-c s) m(w), w = 1 / (a + 4), c = log2(e) / 2 as a float; p is -2^-64 m, 2^-22, and
 * the power is scaled back by 2^64, so that results below 2^-126 come out. -0 stays -0. */
PRO_FN float f32_gelu_of_half(float x) {
    const float round = F32_ROUND + 191.0f, c = 0x1.715476p-1f;
    float a = f32_abs(x);
    a = a > 14.0f ? 14.0f : a;
    float w = 1 / (a + 4), w2 = w * w, s = a * a;
    float i = f32_fma(w, -0x1.8a2e12p-66f, -0x1.a42be4p-77f);
    float j = f32_fma(w, 0x1.7b1366p-65f, -0x1.0125bep-63f);
    float k = f32_fma(w, 0x1.45a91cp-56f, -0x1.5a01dp-58f);
    float l = f32_fma(w, 0x1.8b75bep-54f, -0x1.770a6cp-54f);
    float p = f32_fma(w2, f32_fma(w2, f32_fma(w2, l, k), j), i);
    float t = f32_fma(s, -c, round), f = f32_fma(s, -c, round - t), f2 = f * f;
    float g = f32_fma(f, 0x1.62e3aep-1f, 1.0f); /* 2^f, |f| <= 1/2, 2^-23 */
    float h = f32_fma(f, 0x1.c6da5p-5f, 0x1.ebf986p-3f);
    float q = f32_fma(f2, f32_fma(f2, f32_fma(f, 0x1.5bb356p-10f, 0x1.3cf488p-7f), h), g);
    return f32_fma(a, p * q * f32_pow2_of(t), x < 0 ? -0.0f : x);
}
/* The derivative of gelu, with T, R and H as f32_gelu_dx: p is 2^-64 H in w, 2^-24 up to 4.5. */
PRO_FN float f32_gelu_dx_of_half(float x) {
    const float round = F32_ROUND + 191.0f, c = 0x1.715476p-1f;
    float a = f32_at_most(f32_abs(x), 14.0f);
    float w = 1 / (a + 3.75f), w2 = w * w, s = a * a;
    float i = f32_fma(w, 0x1.3f5c5p-66f, 0x1.984948p-66f);
    float j = f32_fma(w, 0x1.721d96p-62f, 0x1.624a1ap-65f);
    float k = f32_fma(w, 0x1.65744ap-58f, -0x1.9013acp-61f);
    float p = f32_fma(w2, f32_fma(w2, f32_fma(w2, -0x1.6ea0eap-58f, k), j), i);
    float t = f32_fma(s, -c, round), f = f32_fma(s, -c, round - t), f2 = f * f;
    float g = f32_fma(f, 0x1.62e3f8p-1f, 1.0f);
    float h = f32_fma(f, 0x1.c6c968p-5f, 0x1.ebf946p-3f);
    float q = f32_fma(f2, f32_fma(f2, f32_fma(f, 0x1.5bab8p-10f, 0x1.3cdb6cp-7f), h), g);
    float T = (0x1.80ead2p-1f - a) * p * q * f32_pow2_of(t);
    return x < 0 ? T : 1 - T;
}

/* Circular functions of a half below 2^21 in magnitude. x = q pi + r: sin(x) = (-1)^q sin(r); for
 * the cosine q is a whole number and a half. The first difference in r is exact. */
PRO_FN uint8_t half_is_low(float x) { return f32_abs(x) < 0x1p21f; }
#if defined FP_FAST_FMAF || defined __CUDACC__
PRO_FN float f32_sin_of_half(float x) {
    float t = f32_fma(x, 0x1.45f306p-2f, F32_ROUND), q = t - F32_ROUND;
    float r = f32_fma(q, -0x1.4442d2p-23f, f32_fma(q, -0x1.921fb4p+1f, x)), z = r * r;
    float p = f32_of_4(z, z * z, -0x1.55555p-3f, 0x1.110ef6p-7f, -0x1.9f6f72p-13f, 0x1.5db6a8p-19f);
    uint32_t sign = (uint32_t)f32_bits(t) << 31;
    return f32_of_bits(f32_bits(r * f32_fma(z, p, 1.0f)) ^ (int32_t)sign);
}
PRO_FN float f32_cos_of_half(float x) {
    float t = f32_fma(x, 0x1.45f306p-2f, -0.5f) + F32_ROUND, q = t - F32_ROUND + 0.5f;
    float r = f32_fma(q, -0x1.4442d2p-23f, f32_fma(q, -0x1.921fb4p+1f, x)), z = r * r;
    float p =
        f32_of_4(z, z * z, -0x1.55554cp-3f, 0x1.110ed2p-7f, -0x1.9f6f72p-13f, 0x1.5db8cap-19f);
    uint32_t sign = ((uint32_t)f32_bits(t) + 1) << 31;
    return f32_of_bits(f32_bits(r * f32_fma(z, p, 1.0f)) ^ (int32_t)sign);
}
PRO_FN float f32_tan_of_half(float x) { /* x = q pi/2 + r */
    float t = f32_fma(x, 0x1.45f306p-1f, F32_ROUND), q = t - F32_ROUND;
    float r = f32_fma(q, -0x1.4442d2p-24f, f32_fma(q, -0x1.921fb4p+0f, x)), z = r * r;
    float p = f32_fma(z, f32_fma(z, 0x1.49992ap-6f, 0x1.a8c7ap-7f), 0x1.d236d8p-5f);
    p = f32_fma(z * z, p, f32_fma(z, 0x1.103f3ap-3f, 0x1.55596ep-2f));
    float y = f32_fma(r * z, p, r);
    return f32_bits(t) & 1 ? -1 / y : y;
}
#else
PRO_FN float f32_sin_of_half(float x) { return f32_sin_low(x); }
PRO_FN float f32_cos_of_half(float x) { return f32_cos_low(x); }
PRO_FN float f32_tan_of_half(float x) { return f32_tan_low(x); }
#endif
/* Of any bfloat16. Kernels of the CPU with both forms are in kernel_loops.h; a device's threads
 * branch. */
#ifdef __CUDACC__
PRO_FN float f32_sin_of_bf16(float x) { return half_is_low(x) ? f32_sin_of_half(x) : f32_sin(x); }
PRO_FN float f32_cos_of_bf16(float x) { return half_is_low(x) ? f32_cos_of_half(x) : f32_cos(x); }
PRO_FN float f32_tan_of_bf16(float x) { return half_is_low(x) ? f32_tan_of_half(x) : f32_tan(x); }
#else
PRO_FN float f32_sin_of_bf16(float x) { return f32_sin(x); }
PRO_FN float f32_cos_of_bf16(float x) { return f32_cos(x); }
PRO_FN float f32_tan_of_bf16(float x) { return f32_tan(x); }
#endif

/* Of these the long forms are computed in double, which takes less time where there is no
 * instruction for fma. */
#if defined FP_FAST_FMAF || defined __CUDACC__
/* z p(z^2), from 1 on pi/2 + (-1 / x) p. */
PRO_FN float f32_atan_of_half(float x) {
    float a = f32_abs(x), z = a > 1 ? -1 / a : a, u = z * z, u2 = u * u;
    float p = f32_of_4(u, u2, 0x1.fffff6p-1f, -0x1.5550dcp-2f, 0x1.98f3acp-3f, -0x1.1f16c2p-3f);
    float q = f32_of_4(u, u2, 0x1.960fdp-4f, -0x1.e7493ep-5f, 0x1.8d71a2p-6f, -0x1.33e288p-8f);
    p = f32_fma(u2 * u2, q, p);
    return f32_copysign(f32_fma(z, p, a > 1 ? 0x1.921fb4p+0f : 0.0f), x);
}
/* e^a / 2 for a >= 0, inf from 89.5 on. */
PRO_FN float f32_half_exp(float a) {
    const float round = F32_ROUND + 126.0f, c = 0x1.715476p+0f;
    a = a > 89.5f ? 89.5f : a;
    float t = f32_fma(a, c, round), f = f32_fma(a, c, round - t);
    float q = f32_of_6(f, f * f, 0x1.000002p+0f, 0x1.62e428p-1f, 0x1.ebf916p-3f, 0x1.c6bb18p-5f,
                       0x1.3d0c52p-7f, 0x1.5c08b6p-10f);
    return q * f32_pow2_of(t);
}
PRO_FN float f32_sinh_of_half(float x) {
    float a = f32_abs(x), z = a * a, h = f32_half_exp(a);
    float p = f32_of_4(z, z * z, 1.0f, 0x1.5555bcp-3f, 0x1.10f648p-7f, 0x1.abb1b8p-13f);
    return f32_copysign(a < 1 ? a * p : h - 0.25f / h, x);
}
PRO_FN float f32_cosh_of_half(float x) {
    float h = f32_half_exp(f32_abs(x));
    return h + 0.25f / h;
}
/* 2 u = m 2^e with 2/3 <= m < 4/3, for normal u > 0: returns e. */
PRO_FN float f32_log_parts(float u, float *m) {
    int32_t i = (int32_t)((uint32_t)f32_bits(u) - 0x3eaaaaabu);
    *m = f32_of_bits((i & 0x7fffff) + 0x3f2aaaab);
    return (float)(i >> 23);
}
/* log(2 u) = e ln 2 + 2 atanh(w), 2 u = x + sqrt(x^2 + 1), w = (m - 1) / (m + 1); near 0 e is 0
 * and w = x / (sqrt(x^2 + 1) + 1). */
PRO_FN float f32_asinh_of_half(float x) {
    float a = f32_abs(x), r = __builtin_sqrtf(f32_fma(a, a, 1.0f)), m;
    int32_t is_near = a < 0.75f;
    float e = f32_log_parts(f32_fma(a > 0x1p60f ? a : r, 0.5f, 0.5f * a), &m);
    e = is_near ? 0.0f : e;
    float w = (is_near ? a : m - 1) / ((is_near ? r : m) + 1), z = w * w;
    float p = f32_of_4(z, z * z, 0x1.fffffcp+0f, 0x1.555e2p-1f, 0x1.95396p-2f, 0x1.60c0bap-2f);
    float y = f32_fma(e, 0x1.62e42ep-1f, f32_fma(w, p, e * 0x1.bf7788p-25f));
    return f32_copysign(a < f32_inf ? y : a, x);
}
/* The same of x + sqrt(x^2 - 1); near 1 w = sqrt(x^2 - 1) / (x + 1). */
PRO_FN float f32_acosh_of_half(float x) {
    float r = __builtin_sqrtf(f32_fma(x, x, -1.0f)), m;
    int32_t is_near = x < 1.25f;
    float e = f32_log_parts(f32_fma(x > 0x1p60f ? x : r, 0.5f, 0.5f * x), &m);
    e = is_near ? 0.0f : e;
    float w = (is_near ? r : m - 1) / ((is_near ? x : m) + 1), z = w * w;
    float p = f32_of_4(z, z * z, 0x1.fffff2p+0f, 0x1.555fb6p-1f, 0x1.951bcep-2f, 0x1.60c9e6p-2f);
    float y = f32_fma(e, 0x1.62e43p-1f, w * p);
    y = x < f32_inf ? y : x;
    return x < 1 ? f32_nan : y;
}
/* (1 + a) / (1 - a) = 2^-e (1 + w) / (1 - w): e ln(2) / -2 + atanh(w), near 0 e is 0 and w is a. */
PRO_FN float f32_atanh_of_half(float x) {
    float a = f32_abs(x), d = 1 - a;
    int32_t i = (int32_t)((uint32_t)f32_bits(d) - 0x3f2aaaabu);
    float e = (float)(i >> 23), m = f32_of_bits((i & 0x7fffff) + 0x3f2aaaab);
    float w = (1 + a - m) / (1 + a + m), u = w * w;
    float p = f32_of_6(u, u * u, 1.0f, 0x1.5556d4p-2f, 0x1.99125ep-3f, 0x1.2d2f58p-3f,
                       0x1.4b83e8p-4f, 0x1.78b34ap-3f);
    float y = f32_fma(e, -0x1.62e42ep-2f, w * p);
    y = a < 0x1p-10f ? a : y; /* there the half is x, and 1 + a is not exact */
    y = a < 1 ? y : a == 1 ? f32_inf : f32_nan;
    return f32_copysign(y, x);
}
PRO_FN float f32_log2_of_half(float x) {
    float e, f = f32_split_of_half(x, &e);
    float p = f32_of_8(f, 0x1.71547p+0f, -0x1.7153eep-1f, 0x1.ec7906p-2f, -0x1.71263ap-2f,
                       0x1.25487ap-2f, -0x1.0ab476p-2f, 0x1.ed8514p-3f, 0.0f);
    return f32_log_ends(x, f32_fma(f, p, e));
}
PRO_FN float f32_log10_of_half(float x) {
    float e, f = f32_split_of_half(x, &e);
    float p = f32_of_8(f, 0x1.bcb7bep-2f, -0x1.bcb762p-3f, 0x1.288778p-3f, -0x1.bcca98p-4f,
                       0x1.5f86fcp-4f, -0x1.24da22p-4f, 0x1.33d1c6p-4f, -0x1.0e33f8p-4f);
    return f32_log_ends(x, f32_fma(f, p, e * 0x1.344134p-2f));
}
#else
PRO_FN float f32_log2_of_half(float x) { return f32_log2(x); }
PRO_FN float f32_log10_of_half(float x) { return f32_log10(x); }
PRO_FN float f32_atan_of_half(float x) { return f32_atan(x); }
PRO_FN float f32_sinh_of_half(float x) { return f32_sinh(x); }
PRO_FN float f32_cosh_of_half(float x) { return f32_cosh(x); }
PRO_FN float f32_asinh_of_half(float x) { return f32_asinh(x); }
PRO_FN float f32_acosh_of_half(float x) { return f32_acosh(x); }
PRO_FN float f32_atanh_of_half(float x) { return f32_atanh(x); }
#endif
#endif
