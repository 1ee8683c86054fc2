/* prologue_half.h: float16 (f16) and bfloat16 (bf16) are stored as bits; every computation is in
 * float32. These conversions are their only functions: integer arithmetic without branches, so that
 * they vectorise, with the same bits on every machine. To a half: to nearest, ties to even; too
 * large gives inf; any nan gives the quiet nan without sign. Part of prologue.h, which includes it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_PROLOGUE_HALF_H
#define GT_WORKER_KERNEL_PROLOGUE_HALF_H
#include "worker/kernel/prologue.h"

PRO_FN uint32_t half_bits(float a) { return (uint32_t)f32_bits(a); }
PRO_FN float half_of_bits(uint32_t u) { return f32_of_bits((int32_t)u); }

PRO_FN float bf16_to_f32(uint16_t a) { return half_of_bits((uint32_t)a << 16); }

/* Devices from sm_80 on have instructions for the others. Their nan is 0x7fff. */
#ifdef __CUDACC__
PRO_FN uint16_t f32_to_bf16(float a) {
    uint16_t h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(a));
    return h == 0x7fff ? 0x7fc0 : h;
}
PRO_FN uint16_t f32_to_f16(float a) {
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(a));
    return h == 0x7fff ? 0x7e00 : h;
}
PRO_FN float f16_to_f32(uint16_t a) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(a));
    return f;
}
#else
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
#endif
