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
#endif
