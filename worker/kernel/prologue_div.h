/* prologue_div.h: remainders and rounded quotients of floats, exact as C's fmod and without its
 * loop. With a divisor b, r - rint(r / b) b is exact as long as the quotient has so few bits that
 * its product with b is exact; it leaves |r| <= b / 2. float32 is computed in double, where a
 * quotient below 2^29 will do: f32_fmod divides ten times, by 2^252 b, 2^224 b .. b, which covers
 * all floats without a branch (r is scaled instead of b). F_near divides once; kernels use it for
 * runs of elements of which F_is_near says that once is enough (kernel_loops.h). Both give the same
 * bits. Part of prologue.h, which includes it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_PROLOGUE_DIV_H
#define GT_WORKER_KERNEL_PROLOGUE_DIV_H
#include "worker/kernel/prologue.h"

/* The remainder with the given sign, 0 too, from one of either sign. */
PRO_FN double f64_turn_to(double sign, double r, double b) {
    double other = r + __builtin_copysign(b, sign);
    r = (r != 0) & ((r < 0) != (sign < 0)) ? other : r;
    return __builtin_copysign(r, sign);
}

/* ---- float32 ---- */

/* To the nearest whole number, for |x| < 2^51. */
PRO_FN double f64_near_whole(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

PRO_FN uint8_t f32_is_near(float a, float b) { return f32_abs(a) < f32_abs(b) * 0x1p28f; }
PRO_FN double f32_rest_near(double a, double b) {
    double q = f64_near_whole(a / b);
    return q == 0 ? a : a - q * b; /* b may be infinite */
}
PRO_FN double f32_rest(double a, double b) {
    double over = 1 / b, r = a * 0x1p-252;
    for (int i = 0; i < 9; i++) r = (r - f64_near_whole(r * over) * b) * 0x1p28;
    r -= f64_near_whole(r * over) * b;
    return (__builtin_fabs(b) == f64_highest) & (__builtin_fabs(a) < f64_highest) ? a : r;
}

/* ---- float64: the remainder by libm, unless it is near ---- */

PRO_FN uint8_t f64_is_near(double a, double b) {
    double most = __builtin_fabs(b) * 0x1p23;
    return __builtin_fabs(a) < (most < 0x1p1000 ? most : 0x1p1000);
}
/* The quotient has 23 bits, the upper part of b 26, the lower part 27. */
PRO_FN double f64_rest_near(double a, double b) {
    double high = f64_of_bits(f64_bits(b) & ~INT64_C(0x7ffffff)), low = b - high;
    double q = f64_near_whole(a / b);
    return q == 0 ? a : (a - q * high) - q * low; /* b may be infinite */
}
PRO_FN double f64_rest(double a, double b) { return fmod(a, b); }

/* ---- fmod; mod and floordiv by Python's rule: the remainder has the divisor's sign. floordiv by
 * zero is a / b. The remainders are exact; only mod's may have to be rounded. ---- */

#define PRO_DIVISION(P, T, NEAR)                                                                   \
    PRO_FN T P##_fmod##NEAR(T a, T b) {                                                            \
        return (T)f64_turn_to((double)a, P##_rest##NEAR((double)a, (double)b), (double)b);         \
    }                                                                                              \
    PRO_FN T P##_mod##NEAR(T a, T b) {                                                             \
        return (T)f64_turn_to((double)b, P##_rest##NEAR((double)a, (double)b), (double)b);         \
    }                                                                                              \
    PRO_FN T P##_floordiv##NEAR(T a, T b) {                                                        \
        T m = P##_fmod##NEAR(a, b);                                                                \
        T d = (a - m) / b;                                                                         \
        d = (m != 0) & ((m < 0) != (b < 0)) ? d - 1 : d;                                           \
        T f = P##_floor(d);                                                                        \
        f = d - f > (T)0.5 ? f + 1 : f;                                                            \
        return b == 0 ? a / b : d == 0 ? (T)__builtin_copysign(0, (double)(a / b)) : f;            \
    }
PRO_DIVISION(f32, float, )
PRO_DIVISION(f32, float, _near)
PRO_DIVISION(f64, double, )
PRO_DIVISION(f64, double, _near)
#endif
