/* prologue.h: the functions in the expressions of ops.def, per dtype. F_EXP(a) in a row is
 * f32_exp(a) or f64_exp(a) in a kernel: F_ becomes the dtype's prefix (b1_ u8_ i8_ i32_ i64_ f32_
 * f64_; halves have conversions only) and T its C type. Built-in kernels and kernels compiled at
 * run time include this one file, so that they agree to the last bit.
 *
 * Everything is C that is nearly CUDA C, without undefined behaviour: ints wrap, division of ints
 * by zero gives 0. No contraction; fma only where written. Where the processor has no FMA (the
 * `base` kernels) a written fma is computed in double and rounded a second time, which differs once
 * in about 2^29: the bits depend on the instruction set, the accuracy does not. (A nan's payload
 * and sign are not specified.) float32 is in prologue_f32.h, float64, without fma, in
 * prologue_f64.h; gamma functions call libm, everywhere the same way. Compile with
 * -ffp-contract=off -fno-math-errno -fno-trapping-math and no other flag that changes floats.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_PROLOGUE_H
#define GT_WORKER_KERNEL_PROLOGUE_H
#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define PRO_FN   static __device__ __forceinline__
#define PRO_DATA __device__
#else
#define PRO_FN   static inline __attribute__((always_inline, unused))
#define PRO_DATA __attribute__((unused))
#endif

#include "worker/kernel/prologue_f32.h"
#include "worker/kernel/prologue_half.h"

/* ---- float64 ---- */

#define f64_lowest  (-__builtin_inf())
#define f64_highest __builtin_inf()

PRO_FN double f64_add(double a, double b) { return a + b; }
PRO_FN double f64_sub(double a, double b) { return a - b; }
PRO_FN double f64_mul(double a, double b) { return a * b; }
PRO_FN double f64_neg(double a) { return -a; }
PRO_FN double f64_abs(double a) { return __builtin_fabs(a); }
PRO_FN double f64_sign(double a) { return a != a ? a : (double)((a > 0) - (a < 0)); }
PRO_FN double f64_max(double a, double b) { return a > b ? a : a != a ? a : b; }
PRO_FN double f64_min(double a, double b) { return a < b ? a : a != a ? a : b; }
PRO_FN double f64_floor(double a) { return __builtin_floor(a); }
PRO_FN double f64_ceil(double a) { return __builtin_ceil(a); }
PRO_FN double f64_trunc(double a) { return __builtin_trunc(a); }
PRO_FN double f64_round(double a) { return __builtin_rint(a); }
PRO_FN double f64_sqrt(double a) { return __builtin_sqrt(a); }
PRO_FN uint8_t f64_isnan(double a) { return a != a; }
PRO_FN uint8_t f64_isfinite(double a) { return __builtin_fabs(a) < __builtin_inf(); }

#include "worker/kernel/prologue_f64.h"

/* ---- gamma functions; float32 by way of float64 ---- */

#ifdef __CUDACC__
PRO_FN double f64_lgamma(double a) { return lgamma(a); }
#else
extern double lgamma_r(double a, int *sign); /* lgamma also writes a global variable */
PRO_FN double f64_lgamma(double a) {
    int sign;
    return lgamma_r(a, &sign);
}
#endif
/* Asymptotic from 10 on; below, by psi(x) = psi(x + 1) - 1 / x; below 0, by reflection: as
 * PyTorch. */
PRO_FN double f64_digamma(double a) {
    double y = 0, x = a < 0 ? 1 - a : a;
    if (a < 0) y = -3.14159265358979323846 / tan(3.14159265358979323846 * (a - __builtin_trunc(a)));
    for (int i = 0; i < 10 && x < 10; i++, x += 1) y -= 1 / x;
    double z = 1 / (x * x), p = 8.33333333333333333333e-2;
    p = p * z - 2.10927960927960927961e-2;
    p = p * z + 7.57575757575757575758e-3;
    p = p * z - 4.16666666666666666667e-3;
    p = p * z + 3.96825396825396825397e-3;
    p = p * z - 8.33333333333333333333e-3;
    p = p * z + 8.33333333333333333333e-2;
    y += log(x) - 0.5 / x - z * p;
    y = a < 0 && a == __builtin_trunc(a) ? __builtin_nan("") : y;
    return a == 0 ? -__builtin_copysign(__builtin_inf(), a) : y;
}
/* The sum of (x + i)^-s for i >= 0, s > 1: nine terms, then the Euler-Maclaurin formula, as in
 * Moshier's Cephes. Below -1000 nan. */
PRO_FN double f64_zeta(double s, double x) {
    double sum = 0, w = x, b = 0, f = 1;
    if (x < -1000) return __builtin_nan("");
    for (int i = 0; i < 10 || w <= 10; i++, w += 1) sum += b = pow(w, -s);
    w -= 1;
    sum += b * w / (s - 1) - 0.5 * b;
    /* (2k)! over Bernoulli's numbers */
    const double over[12] = {12.0,
                             -720.0,
                             30240.0,
                             -1209600.0,
                             47900160.0,
                             -1.8924375803183791606e9,
                             7.47242496e10,
                             -2.950130727918164224e12,
                             1.1646782814350067249e14,
                             -4.5979787224074726105e15,
                             1.8152105401943546773e17,
                             -7.1661652561756670113e18};
    for (int i = 0; i < 12; i++) {
        f *= s + 2 * i, b /= w;
        sum += f * b / over[i];
        f *= s + 2 * i + 1, b /= w;
    }
    return sum;
}
PRO_FN double f64_polygamma(double n, double x) {
    const double pi = 3.14159265358979323846;
    if (n == 0) return f64_digamma(x);
    if (!(n > 0) || n != __builtin_floor(n) || x != x) return __builtin_nan("");
    if (x <= 0 && x == __builtin_floor(x)) return __builtin_inf();
    if (n == 1 && x < 0) {
        double s = sin(pi * (x - __builtin_trunc(x)));
        return pi * pi / (s * s) - f64_zeta(2, 1 - x);
    }
    if (x == __builtin_inf()) return 0;
    double y = tgamma(n + 1) * f64_zeta(n + 1, x);
    return fmod(n, 2) != 0 ? y : -y;
}
PRO_FN float f32_lgamma(float a) { return (float)f64_lgamma((double)a); }
PRO_FN float f32_digamma(float a) { return (float)f64_digamma((double)a); }
PRO_FN float f32_polygamma(float n, float x) { return (float)f64_polygamma((double)n, (double)x); }

#include "worker/kernel/prologue_div.h"

/* ---- whole numbers: S signed type, U the unsigned type in which it wraps ---- */

#define PRO_INT(P, S, U, LOW, HIGH, NEGATIVE)                                                      \
    PRO_FN S P##_add(S a, S b) { return (S)((U)a + (U)b); }                                        \
    PRO_FN S P##_sub(S a, S b) { return (S)((U)a - (U)b); }                                        \
    PRO_FN S P##_mul(S a, S b) { return (S)((U)a * (U)b); }                                        \
    PRO_FN S P##_neg(S a) { return (S)((U)0 - (U)a); }                                             \
    PRO_FN S P##_abs(S a) { return NEGATIVE(a) ? P##_neg(a) : a; }                                 \
    PRO_FN S P##_sign(S a) { return (S)((a > 0) - NEGATIVE(a)); }                                  \
    PRO_FN S P##_max(S a, S b) { return a > b ? a : b; }                                           \
    PRO_FN S P##_min(S a, S b) { return a < b ? a : b; }                                           \
    PRO_FN S P##_floor(S a) { return a; }                                                          \
    PRO_FN S P##_ceil(S a) { return a; }                                                           \
    PRO_FN S P##_round(S a) { return a; }                                                          \
    PRO_FN S P##_trunc(S a) { return a; }                                                          \
    PRO_FN S P##_not(S a) { return (S)~a; }                                                        \
    PRO_FN uint8_t P##_isnan(S a) {                                                                \
        (void)a;                                                                                   \
        return 0;                                                                                  \
    }                                                                                              \
    PRO_FN uint8_t P##_isfinite(S a) {                                                             \
        (void)a;                                                                                   \
        return 1;                                                                                  \
    }                                                                                              \
    /* b = 0 and b = -1, which traps for the lowest number, never reach the division. */           \
    PRO_FN S P##_floordiv(S a, S b) {                                                              \
        S d = (b == 0) | (NEGATIVE(b) & (b == (S)-1)) ? (S)1 : b;                                  \
        S q = (S)(a / d);                                                                          \
        q = (S)(q - ((a % d != 0) & (NEGATIVE(a) != NEGATIVE(d))));                                \
        return b == 0 ? (S)0 : d != b ? P##_neg(a) : q;                                            \
    }                                                                                              \
    PRO_FN S P##_mod(S a, S b) {                                                                   \
        S d = (b == 0) | (NEGATIVE(b) & (b == (S)-1)) ? (S)1 : b;                                  \
        S m = (S)(a % d);                                                                          \
        return (m != 0) & (NEGATIVE(m) != NEGATIVE(d)) ? (S)(m + d) : m;                           \
    }                                                                                              \
    PRO_FN S P##_fmod(S a, S b) {                                                                  \
        S d = (b == 0) | (NEGATIVE(b) & (b == (S)-1)) ? (S)1 : b;                                  \
        return (S)(a % d);                                                                         \
    }                                                                                              \
    /* By squaring; a negative exponent gives 0 unless the base is 1 or -1. */                     \
    PRO_FN S P##_pow(S a, S b) {                                                                   \
        U n = NEGATIVE(b) ? (U)0 - (U)b : (U)b;                                                    \
        U base = (U)a, y = 1;                                                                      \
        for (; n != 0; n = (U)(n >> 1), base = (U)(base * base)) y = n & 1 ? (U)(y * base) : y;    \
        return NEGATIVE(b) & (a != 1) & (a != (S)-1) ? (S)0 : (S)y;                                \
    }                                                                                              \
    static PRO_DATA const S P##_lowest = LOW, P##_highest = HIGH;

#define PRO_IS_NEGATIVE(x) ((x) < 0)
#define PRO_NEVER(x)       0
PRO_INT(u8, uint8_t, uint8_t, 0, UINT8_MAX, PRO_NEVER)
PRO_INT(i8, int8_t, uint8_t, INT8_MIN, INT8_MAX, PRO_IS_NEGATIVE)
PRO_INT(i32, int32_t, uint32_t, INT32_MIN, INT32_MAX, PRO_IS_NEGATIVE)
PRO_INT(i64, int64_t, uint64_t, INT64_MIN, INT64_MAX, PRO_IS_NEGATIVE)

/* ---- bool: 0 or 1 in a byte ---- */

static PRO_DATA const uint8_t b1_lowest = 0, b1_highest = 1;
PRO_FN uint8_t b1_add(uint8_t a, uint8_t b) { return a | b; }
PRO_FN uint8_t b1_mul(uint8_t a, uint8_t b) { return a & b; }
PRO_FN uint8_t b1_max(uint8_t a, uint8_t b) { return a | b; }
PRO_FN uint8_t b1_min(uint8_t a, uint8_t b) { return a & b; }
PRO_FN uint8_t b1_not(uint8_t a) { return a ^ 1; }

/* ---- conversions: x_to_y. Floats to ints truncate; what does not fit int64 gives its lowest
 * value, and narrower ints take the low bits of the int64. ---- */

PRO_FN int64_t f32_to_i64(float a) { return a >= -0x1p63f && a < 0x1p63f ? (int64_t)a : INT64_MIN; }
PRO_FN int64_t f64_to_i64(double a) { return a >= -0x1p63 && a < 0x1p63 ? (int64_t)a : INT64_MIN; }
PRO_FN int32_t f32_to_i32(float a) { return (int32_t)(uint32_t)f32_to_i64(a); }
PRO_FN int32_t f64_to_i32(double a) { return (int32_t)(uint32_t)f64_to_i64(a); }
PRO_FN uint8_t f32_to_u8(float a) { return (uint8_t)f32_to_i64(a); }
PRO_FN uint8_t f64_to_u8(double a) { return (uint8_t)f64_to_i64(a); }
PRO_FN int8_t f32_to_i8(float a) { return (int8_t)f32_to_u8(a); }
PRO_FN int8_t f64_to_i8(double a) { return (int8_t)f64_to_u8(a); }

#define PRO_TO(FROM, F, TO, S)                                                                     \
    PRO_FN S FROM##_to_##TO(F a) { return (S)a; }
#define PRO_TO_BOOL(FROM, F)                                                                       \
    PRO_FN uint8_t FROM##_to_b1(F a) { return a != 0; }
#define PRO_FROM_INT(FROM, F)                                                                      \
    PRO_TO(FROM, F, u8, uint8_t)                                                                   \
    PRO_TO(FROM, F, i8, int8_t)                                                                    \
    PRO_TO(FROM, F, i32, int32_t)                                                                  \
    PRO_TO(FROM, F, i64, int64_t) PRO_TO(FROM, F, f32, float) PRO_TO(FROM, F, f64, double)         \
        PRO_TO_BOOL(FROM, F)
PRO_FROM_INT(b1, uint8_t)
PRO_FROM_INT(u8, uint8_t)
PRO_FROM_INT(i8, int8_t)
PRO_FROM_INT(i32, int32_t)
PRO_FROM_INT(i64, int64_t)
PRO_TO(f32, float, f32, float)
PRO_TO(f32, float, f64, double)
PRO_TO(f64, double, f32, float)
PRO_TO(f64, double, f64, double)
PRO_TO_BOOL(f32, float)
PRO_TO_BOOL(f64, double)
#endif
