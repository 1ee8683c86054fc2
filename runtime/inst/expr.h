/* expr.h: the meaning of F_xxx in the expressions of ops.def, in plain C. F_ADD(a, b) is
 * KIND_add(a, b). The including file defines KIND as b1 (bool: 0 or 1), int (integers in int64,
 * wrapping; division by zero gives 0) or float (in double, by libm), and T as the type of a, b
 * and c. IF_##in(...) drops rows that do not take the kind. The reference engine and the
 * language's numbers compute with these; the kernels' prologue.h is checked against them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_EXPR_H
#define GT_RUNTIME_INST_EXPR_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define EXPR_GLUE(a, b)  a##b
#define EXPR(kind, f)    EXPR_GLUE(kind, f)
#define F_ADD(a, b)      EXPR(KIND, _add)(a, b)
#define F_SUB(a, b)      EXPR(KIND, _sub)(a, b)
#define F_MUL(a, b)      EXPR(KIND, _mul)(a, b)
#define F_FLOORDIV(a, b) EXPR(KIND, _floordiv)(a, b)
#define F_MOD(a, b)      EXPR(KIND, _mod)(a, b)
#define F_FMOD(a, b)     EXPR(KIND, _fmod)(a, b)
#define F_POW(a, b)      EXPR(KIND, _pow)(a, b)
#define F_MAX(a, b)      EXPR(KIND, _max)(a, b)
#define F_MIN(a, b)      EXPR(KIND, _min)(a, b)
#define F_NEG(a)         EXPR(KIND, _neg)(a)
#define F_ABS(a)         EXPR(KIND, _abs)(a)
#define F_SIGN(a)        EXPR(KIND, _sign)(a)
#define F_FLOOR(a)       EXPR(KIND, _floor)(a)
#define F_CEIL(a)        EXPR(KIND, _ceil)(a)
#define F_ROUND(a)       EXPR(KIND, _round)(a)
#define F_TRUNC(a)       EXPR(KIND, _trunc)(a)
#define F_ISNAN(a)       EXPR(KIND, _isnan)(a)
#define F_ISFINITE(a)    EXPR(KIND, _isfinite)(a)
#define F_NOT(a)         EXPR(KIND, _not)(a)
#define F_LOWEST         EXPR(KIND, _lowest)
#define F_HIGHEST        EXPR(KIND, _highest)
/* For floats only: */
#define F_ATAN2(a, b)     atan2(a, b)
#define F_HYPOT(a, b)     hypot(a, b)
#define F_EXP(a)          exp(a)
#define F_EXPM1(a)        expm1(a)
#define F_LOG(a)          log(a)
#define F_LOG1P(a)        log1p(a)
#define F_SQRT(a)         sqrt(a)
#define F_SIN(a)          sin(a)
#define F_COS(a)          cos(a)
#define F_TAN(a)          tan(a)
#define F_ASIN(a)         asin(a)
#define F_ACOS(a)         acos(a)
#define F_ATAN(a)         atan(a)
#define F_SINH(a)         sinh(a)
#define F_COSH(a)         cosh(a)
#define F_ASINH(a)        asinh(a)
#define F_ACOSH(a)        acosh(a)
#define F_ATANH(a)        atanh(a)
#define F_LOG2(a)         log2(a)
#define F_LOG10(a)        log10(a)
#define F_EXP2(a)         exp2(a)
#define F_TANH(a)         tanh(a)
#define F_ERF(a)          erf(a)
#define F_LGAMMA(a)       float_lgamma(a)
#define F_DIGAMMA(a)      float_polygamma(0, a)
#define F_POLYGAMMA(a, b) float_polygamma(a, b)
#define F_SIGMOID(a)      float_sigmoid(a)
#define F_SOFTPLUS(a)     float_softplus(a)
#define F_GELU(a)         float_gelu(a)
#define F_GELU_DX(a)      float_gelu_dx(a)

/* ---- Drop rows that do not take the kind: IF_ALL, IF_NUM, IF_INT, IF_BITS, IF_FLOAT ---- */

#define IF_ALL(...)   __VA_ARGS__
#define IF_NUM(...)   EXPR(IF_NUM_, KIND)(__VA_ARGS__)
#define IF_INT(...)   EXPR(IF_INT_, KIND)(__VA_ARGS__)
#define IF_BITS(...)  EXPR(IF_BITS_, KIND)(__VA_ARGS__)
#define IF_FLOAT(...) EXPR(IF_FLOAT_, KIND)(__VA_ARGS__)
#define IF_NUM_b1(...)
#define IF_NUM_int(...)   __VA_ARGS__
#define IF_NUM_float(...) __VA_ARGS__
#define IF_INT_b1(...)
#define IF_INT_int(...) __VA_ARGS__
#define IF_INT_float(...)
#define IF_BITS_b1(...)  __VA_ARGS__
#define IF_BITS_int(...) __VA_ARGS__
#define IF_BITS_float(...)
#define IF_FLOAT_b1(...)
#define IF_FLOAT_int(...)
#define IF_FLOAT_float(...) __VA_ARGS__

/* ---- Bool ---- */

static inline int64_t b1_add(int64_t a, int64_t b) { return a | b; }
static inline int64_t b1_mul(int64_t a, int64_t b) { return a & b; }
static inline int64_t b1_max(int64_t a, int64_t b) { return a | b; }
static inline int64_t b1_min(int64_t a, int64_t b) { return a & b; }
static inline int64_t b1_not(int64_t a) { return !a; }

/* ---- Whole numbers ---- */

#define int_lowest  INT64_MIN
#define int_highest INT64_MAX
static inline int64_t int_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t int_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int64_t int_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static inline int64_t int_neg(int64_t a) { return int_sub(0, a); }
static inline int64_t int_abs(int64_t a) { return a < 0 ? int_neg(a) : a; }
static inline int64_t int_sign(int64_t a) { return (a > 0) - (a < 0); }
static inline int64_t int_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t int_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t int_not(int64_t a) { return ~a; }
static inline int64_t int_floor(int64_t a) { return a; }
static inline int64_t int_ceil(int64_t a) { return a; }
static inline int64_t int_round(int64_t a) { return a; }
static inline int64_t int_trunc(int64_t a) { return a; }
static inline bool int_isnan(int64_t a) { return (void)a, false; }
static inline bool int_isfinite(int64_t a) { return (void)a, true; }
static inline int64_t int_floordiv(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return int_neg(a);
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
static inline int64_t int_fmod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static inline int64_t int_mod(int64_t a, int64_t b) {
    int64_t r = int_fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline int64_t int_pow(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    int64_t result = 1;
    for (; b; b >>= 1, a = int_mul(a, a))
        if (b & 1) result = int_mul(result, a);
    return result;
}

/* ---- Floats: rounded where they are stored ---- */

#define float_lowest      (-INFINITY)
#define float_highest     INFINITY
#define float_add(a, b)   ((T)((a) + (b)))
#define float_sub(a, b)   ((T)((a) - (b)))
#define float_mul(a, b)   ((T)((a) * (b)))
#define float_fmod        fmod
#define float_pow         pow
#define float_neg(a)      (-(a))
#define float_abs         fabs
#define float_floor       floor
#define float_ceil        ceil
#define float_round       nearbyint
#define float_trunc       trunc
#define float_isnan(a)    isnan(a)
#define float_isfinite(a) isfinite(a)
static inline double float_max(double a, double b) { return isnan(a) || a > b ? a : b; }
static inline double float_min(double a, double b) { return isnan(a) || a < b ? a : b; }
static inline double float_sign(double a) { return a > 0 ? 1 : a < 0 ? -1 : a; }
/* As in Python: the sign of the divisor. */
static inline double float_mod(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline double float_floordiv(double a, double b) {
    if (b == 0) return a / b;
    double r = fmod(a, b), q = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0)) q -= 1;
    return isfinite(q) ? rint(q) : q;
}
static inline double float_sigmoid(double a) {
    return a >= 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a));
}
static inline double float_softplus(double a) { return float_max(a, 0) + log1p(exp(-fabs(a))); }
/* The limit at -inf is 0. */
static inline double float_gelu(double a) {
    return a == -INFINITY ? 0 : a * 0.5 * erfc(-a * M_SQRT1_2);
}
/* The limits at infinity are -0 and 1. */
static inline double float_gelu_dx(double a) {
    if (isinf(a)) return a > 0 ? 1 : -0.0;
    return 0.5 * erfc(-a * M_SQRT1_2) + a * exp(-0.5 * a * a) * 0.3989422804014327;
}
static inline double float_lgamma(double a) {
    int sign;
    return lgamma_r(a, &sign);
}
/* B(2k), k = 1 .. 8 */
static const double bernoulli[] __attribute__((unused)) = {
    1 / 6.0, -1 / 30.0, 1 / 42.0, -1 / 30.0, 5 / 66.0, -691 / 2730.0, 7 / 6.0, -3617 / 510.0};
/* Derivative number n of digamma (0: itself): recurrence up to 30, then the asymptotic series;
 * digamma and its first derivative below 0 by reflection. */
static inline double float_polygamma(double n, double x) {
    bool is_pole = x <= 0 && x == floor(x);
    double sum = 0, f = tgamma(n + 1), sign = fmod(n, 2) != 0 ? 1 : -1;
    if (!(n >= 0) || n != floor(n) || isnan(x)) return NAN;
    if (is_pole) return n > 0 ? INFINITY : x == 0 ? -copysign(INFINITY, x) : NAN;
    if (x < 0 && n == 0) return float_polygamma(0, 1 - x) - M_PI / tan(M_PI * (x - trunc(x)));
    if (x < 0 && n == 1)
        return pow(M_PI / sin(M_PI * (x - trunc(x))), 2) - float_polygamma(1, 1 - x);
    if (x < -1000) return NAN;
    if (isinf(x)) return n > 0 ? 0 : x;
    for (; x < 30; x++) sum += pow(x, -n - 1);
    sum += 0.5 * pow(x, -n - 1) + (n == 0 ? -log(x) : pow(x, -n) / n);
    double rising = 1; /* (n + 1) .. (n + 2k - 1) / (2k)! x^(-2k-n) */
    for (int k = 1; k <= 8; k++) {
        rising *= k == 1 ? (n + 1) / 2 : (n + 2 * k - 2) * (n + 2 * k - 1) / (2 * k * (2 * k - 1));
        sum += bernoulli[k - 1] * rising * pow(x, -n - 2 * k);
    }
    return sign * f * sum;
}
#endif
