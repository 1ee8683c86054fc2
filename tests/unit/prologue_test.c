/* prologue_test: the float32 functions, as the kernels of each instruction set of this machine
 * compute them, against references of high precision: largest error in ulp over a seeded sample of
 * all floats, of every exponent, and around difficult points; infinities, nan, denormals and signed
 * zeros; one element at a time against many. Then integers, bool and conversions.
 *
 * The reference is libm in double for all of the sample (of digamma, and for float64, in long
 * double), and __float128 (libquadmath) for the worst and a random argument of every exponent:
 * these decide, and show that double is precise enough.
 *
 * Usage: prologue_test [STRIDE [PART]]; a stride of 1 tries every float, which takes some minutes a
 * function. prologue_test -l lists the parts, each function of one float32 and `others`, which
 * `make accuracy` runs side by side.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"
#include "worker/kernel/kernels.h"
#include "worker/kernel/prologue.h"
#include <stdbool.h>
#ifdef HAVE_QUADMATH
#include <quadmath.h>
typedef __float128 Quad;
#define Q(name) name##q
#else
typedef long double Quad;
#define Q(name) name##l
#endif

static double d_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double d_softplus(double x) { return x > 40 ? x : log1p(exp(x)); }
static double d_gelu(double x) { return x < -40 ? -0.0 : 0.5 * x * erfc(-x * M_SQRT1_2); }
static Quad q_gelu_dx(Quad x) {
    if (x < -100 || x > 100) return x < 0 ? -(Quad)0 : 1;
    return Q(erfc)(-x / Q(sqrt)(2)) / 2 + x * Q(exp)(-x * x / 2) / Q(sqrt)(2 * Q(acos)(-1));
}
/* Near its root the two terms cancel. */
static double d_gelu_dx(double x) {
    if ((x > -1 && x < -0.5) || fabs(x) > 40) return (double)q_gelu_dx((Quad)x);
    return 0.5 * erfc(-x * M_SQRT1_2) + x * exp(-0.5 * x * x) * 0.3989422804014327;
}
static double d_rsqrt(double x) { return 1 / sqrt(x); }
/* By the asymptotic series from 40 on; where that does not converge, by reflection. */
static Quad q_digamma(Quad x) {
    static const double a[] = {12, -120, 252, -240, 132, -32760 / 691.0, 12, -8160 / 3617.0};
    const Quad pi = Q(acos)(-1);
    Quad y = 0, power = 1;
    if (x < 0 && x == Q(floor)(x)) return NAN;
    if (x == 0) return -1 / x;
    if (x < 0) return q_digamma(1 - x) - pi / Q(tan)(pi * (x - Q(trunc)(x)));
    for (; x < 40; x += 1) y -= 1 / x;
    y += Q(log)(x) - 1 / (2 * x);
    for (int i = 0; i < 8; i++) y -= 1 / (a[i] * (power *= x * x));
    return y;
}
/* In long double, whose 64 bits suffice where the terms do not cancel. */
static double d_digamma(double x) {
    static const long double a[] = {12, -120, 252, -240, 132, -32760 / 691.0L, 12, -8160 / 3617.0L};
    const long double pi = acosl(-1);
    if (x == 0 || (x < 0 && x == floor(x))) return (double)q_digamma(x);
    if (fabs(x) < 0x1p-20) /* by Euler's constant, zeta(2) and zeta(3); the next term is x^3 */
        return (double)(-1 / (long double)x - 0.577215664901532860607L +
                        x * (1.64493406684822643647L - x * 1.2020569031595942854L));
    long double z = x < 0 ? 1 - (long double)x : x, y = 0, size = 0, power = 1;
    for (; z < 16; z += 1) y -= 1 / z, size += 1 / z;
    y += logl(z) - 1 / (2 * z), size += logl(z);
    for (int i = 0; i < 8; i++) y -= 1 / (a[i] * (power *= z * z));
    if (x < 0) {
        long double more = pi / tanl(pi * (x - rintl(x)));
        y -= more, size += fabsl(more);
    }
    return fabsl(y) < size / 256 ? (double)q_digamma(x) : (double)y;
}
static Quad q_sigmoid(Quad x) { return 1 / (1 + Q(exp)(-x)); }
static Quad q_softplus(Quad x) { return x > 100 ? x : Q(log1p)(Q(exp)(x)); }
static Quad q_gelu(Quad x) { return x < -100 ? -(Quad)0 : x * Q(erfc)(-x / Q(sqrt)(2)) / 2; }
static Quad q_rsqrt(Quad x) { return 1 / Q(sqrt)(x); }

typedef struct Unary {
    const char *name;
    Op op;
    double (*want)(double);
    Quad (*exact)(Quad);
    double ulp_max;
    float hard[4]; /* arguments near the largest errors, found by trying all */
} Unary;

#define ROW(OP, name, ulp_max, ...)                                                                \
    {                                                                                              \
#name, OP_##OP, name, Q(name), ulp_max, { __VA_ARGS__ }                                    \
    }
#define OWN(OP, name, ulp_max, ...)                                                                \
    {                                                                                              \
#name, OP_##OP, d_##name, q_##name, ulp_max, { __VA_ARGS__ }                               \
    }
static const Unary unary[] = {
    ROW(EXP, exp, 1, -5.88952f, 88.72f, -87.4f, -103.9f),
    ROW(EXPM1, expm1, 2, 0.376542f, -17.4f, 88.72f),
    ROW(LOG, log, 1, 1.33535f, 0.668f, 2.6694f, 0x1p-126f),
    ROW(LOG1P, log1p, 2, 0.335356f, -0.3356f, 2.268e38f),
    ROW(SQRT, sqrt, 0.5, 0x1p-126f),
    OWN(RSQRT, rsqrt, 2, 0x1p-126f),
    ROW(SIN, sin, 2, 3.1415927f, 0.7853982f),
    ROW(COS, cos, 2, 1.5707964f, 0.7853982f),
    ROW(TAN, tan, 1, 1.5707964f),
    ROW(ASIN, asin, 1, 0.5f, 1),
    ROW(ACOS, acos, 1, 0.5f, 1),
    ROW(ATAN, atan, 1, 0.4142136f, 1),
    ROW(SINH, sinh, 1, 1, 89.4f),
    ROW(COSH, cosh, 1, 89.4f),
    ROW(ASINH, asinh, 1, 0x1p-12f),
    ROW(ACOSH, acosh, 1, 1),
    ROW(ATANH, atanh, 1, 0x1p-12f, 1),
    ROW(LOG2, log2, 1, 1, 0.6678f),
    ROW(LOG10, log10, 1, 1, 0.6678f),
    ROW(EXP2, exp2, 1, 128, -126, -149),
    ROW(TRUNC, trunc, 0.5, 1, 0x1p23f),
    ROW(TANH, tanh, 2, 0.204661f, 0.17f, 0.1238f, 9.01f),
    ROW(ERF, erf, 2, 0.220514f, 4),
    ROW(LGAMMA, lgamma, 1, 1, 2, -2.7475f, 1.46163f),
    OWN(DIGAMMA, digamma, 1, 1.46163f, -0.504083f, -1.5735f, 10),
    OWN(SIGMOID, sigmoid, 2, -1.10405f, -16.6355f, -88.7f, -103.9f),
    OWN(SOFTPLUS, softplus, 2, -0.449931f, 0.0206042f, 64, -103.9f),
    OWN(GELU, gelu, 2, -0.885506f, -1.4f, -13.3f, 0.651285f),
    OWN(GELU_DX, gelu_dx, 2, -0.751792f, -0.827633f, -1.84f, -13.3f),
    ROW(FLOOR, floor, 0.5, 1, 0x1p23f),
    ROW(CEIL, ceil, 0.5, 1, 0x1p23f),
    ROW(ROUND, rint, 0.5, 0.5f, 0x1p22f),
};

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}
static double double_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, 8);
    return x;
}
/* e where |x| is 2^(e - 1) or more and less than 2^e; -1022 for 0 and denormals. */
static int exponent_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return (int)(bits >> 52 & 0x7ff) - 1022;
}
/* 1 ulp of floats like `want`. */
static double ulp_of(double want) {
    int e = exponent_of(want);
    return double_of((uint64_t)((e < -125 ? -125 : e) - 24 + 1023) << 52);
}
/* Error of got, in ulp, where `want` may also overflow float32. */
static double ulp_error(float got, double want) {
    if (want != want || got != got) return (want != want) == (got != got) ? 0 : 1e30;
    float rounded = (float)want;
    if (rounded == got) return isinf(got) ? 0 : fabs((double)got - want) / ulp_of(want);
    if (isinf(got)) return fabs(want) > 0x1.fffffep127 - 0x1p103 ? 0 : 1e20;
    if (isinf(rounded)) return fabs((double)got) > 0x1.fffffcp127 ? 1 : 1e20;
    return fabs((double)got - want) / ulp_of(want);
}
static double ulp_exact(float got, Quad want) {
    double near = (double)want;
    if (near != near || got != got || isinf(near) || isinf(got)) return ulp_error(got, near);
    if (isinf((float)near)) return ulp_error(got, near);
    Quad off = (Quad)got - want;
    return (double)(off < 0 ? -off : off) / ulp_of(near);
}

static const Kernels *isas[3];
static int n_isas;
static void find_isas(void) {
    const Kernels *best = kernels_find();
    isas[n_isas++] = best;
    if (best == &kernels_v4) isas[n_isas++] = &kernels_v3;
    if (best != &kernels_base) isas[n_isas++] = &kernels_base;
}

/* The worst argument of an exponent and sign, and one at random, for the exact reference. */
typedef struct Worst {
    double ulp;
    float x, got;
} Worst;
enum { BATCH = 4096, BINS = 512 };
typedef struct Run {
    const Unary *u;
    MapFn fn[3];
    Worst bin[3][BINS], any[BINS];
    int n;
    float x[BATCH], y[BATCH];
} Run;

static void flush(Run *r) {
    static double want[BATCH], off[BATCH];
    static float judged[BATCH]; /* the results that `off` belongs to: mostly all sets give them */
    for (int i = 0; i < r->n; i++) want[i] = r->u->want((double)r->x[i]);
    for (int k = 0; k < n_isas; k++) {
        r->fn[k](r->n, r->y, (const void *const[]){r->x}, 0);
        if (k == 0 || memcmp(r->y, judged, (size_t)r->n * sizeof *judged)) {
            for (int i = 0; i < r->n; i++) off[i] = ulp_error(r->y[i], want[i]);
            memcpy(judged, r->y, (size_t)r->n * sizeof *judged);
        }
        for (int i = 0; i < r->n; i++) {
            Worst *w = &r->bin[k][(uint32_t)f32_bits(r->x[i]) >> 23];
            if (off[i] > w->ulp) *w = (Worst){off[i], r->x[i], r->y[i]};
            if (k == 0)
                r->any[(uint32_t)f32_bits(r->x[i]) >> 23] = (Worst){off[i], r->x[i], r->y[i]};
        }
        /* One element alone is computed by the loop's tail: the same bits. */
        for (int i = 0; i < r->n; i += 1 + r->n / 4) {
            float one;
            r->fn[k](1, &one, (const void *const[]){&r->x[i]}, 0);
            CHECK_MSG(f32_bits(one) == f32_bits(r->y[i]) || (one != one && r->y[i] != r->y[i]),
                      "%s(%a) of %s is %a alone and %a among others", r->u->name, r->x[i],
                      isas[k]->isa, one, r->y[i]);
        }
    }
    r->n = 0;
}
static void add(Run *r, uint32_t bits) {
    r->x[r->n++] = float_of(bits);
    if (r->n == BATCH) flush(r);
}

/* f(0), f(-0), infinities and nan: if the exact result is a float, it is that one, including its
 * sign. */
static void test_special(const Run *r) {
    static const float special[] = {INFINITY, -INFINITY, NAN, -NAN, 0.0f, -0.0f, 1, -1};
    for (int k = 0; k < n_isas; k++) {
        for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
            float x = special[i], got;
            r->fn[k](1, &got, (const void *const[]){&x}, 0);
            Quad want = r->u->exact((Quad)x);
            float near = (float)want;
            bool is_exact = near != near || (Quad)near == want;
            bool same = near != near ? got != got : f32_bits(got) == f32_bits(near);
            CHECK_MSG(is_exact ? same : ulp_exact(got, want) <= r->u->ulp_max,
                      "%s: %s(%a) is %a, not %a", isas[k]->isa, r->u->name, x, got, near);
        }
    }
}

static void test_unary(const Unary *u, uint32_t stride) {
    static Run r;
    memset(&r, 0, sizeof r);
    r.u = u;
    for (int k = 0; k < n_isas; k++) r.fn[k] = isas[k]->map[u->op][DT_F32];
    uint64_t state = 99;
    for (uint64_t bits = stride / 2; bits <= UINT32_MAX; bits += stride) add(&r, (uint32_t)bits);
    for (uint32_t e = 0; e < BINS; e++) { /* every exponent: its ends, and 200 at random */
        add(&r, e << 23);
        add(&r, e << 23 | 0x7fffff);
        for (int i = 0; i < 200; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            add(&r, e << 23 | (uint32_t)(state >> 41));
        }
    }
    for (int i = 0; i < 4 && u->hard[i] != 0; i++)
        for (int k = -6000; k <= 6000; k++)
            for (uint32_t sign = 0; sign < 2; sign++)
                add(&r, ((uint32_t)(f32_bits(u->hard[i]) + k)) ^ sign << 31);
    flush(&r);
    test_special(&r);
    double worst[3] = {0};
    float at = 0;
    for (int bin = 0; bin < BINS; bin++) {
        for (int k = 0; k <= n_isas; k++) {
            const Worst *w = k < n_isas ? &r.bin[k][bin] : &r.any[bin];
            if (w->ulp == 0) continue; /* exact, or nan */
            double e = ulp_exact(w->got, u->exact((Quad)w->x));
            CHECK_MSG(fabs(e - w->ulp) < 1e-6, "%s(%a): by double %.7f ulp, exactly %.7f", u->name,
                      w->x, w->ulp, e);
            if (k < n_isas && e > worst[k]) worst[k] = e, at = k ? at : w->x;
        }
    }
    printf("  %-9s", u->name);
    for (int k = 0; k < n_isas; k++) {
        CHECK_MSG(worst[k] <= u->ulp_max, "%s: %s is off by %.3f ulp, not at most %.1f",
                  isas[k]->isa, u->name, worst[k], u->ulp_max);
        printf(" %s %.3f", isas[k]->isa, worst[k]);
    }
    printf(" ulp at most, the first at %a\n", at);
}

static void test_pow(uint32_t n) {
    double worst = 0;
    float at_x = 0, at_y = 0;
    uint64_t state = 7;
    for (uint32_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        float x = float_of((uint32_t)(state >> 32)), y = float_of((uint32_t)state);
        if (i % 4 == 1) x = f32_abs(x), y = (float)(int32_t)(state >> 40) * 0x1p-18f;
        if (i % 4 == 2)
            x = 1 + (float)(int32_t)(state >> 32) * 0x1p-40f, y = (float)(int32_t)state * 0x1p-18f;
        if (i % 4 == 3)
            x = (float)(int32_t)(state >> 32) * 0x1p-28f, y = (float)(int32_t)(state & 31) - 15;
        double e = ulp_error(f32_pow(x, y), pow((double)x, (double)y));
        if (e > worst) worst = e, at_x = x, at_y = y;
    }
    worst = ulp_exact(f32_pow(at_x, at_y), Q(pow)((Quad)at_x, (Quad)at_y));
    CHECK_MSG(worst <= 2, "pow is off by %.2f ulp at (%a, %a)", worst, at_x, at_y);
    printf("  %-9s %.2f ulp at most\n", "pow", worst);
    static const float s[] = {0.0f,      -0.0f,    1,         -1,       2,     -2,
                              3,         -3,       0.5f,      -0.5f,    1.5f,  -1.5f,
                              0x1p24f,   -0x1p24f, 0x1.8p23f, 16777215, 1e30f, -1e30f,
                              0x1p-149f, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof s / sizeof *s; i++) {
        for (size_t j = 0; j < sizeof s / sizeof *s; j++) {
            float got = f32_pow(s[i], s[j]), want = powf(s[i], s[j]);
            CHECK_MSG(ulp_error(got, (double)want) <= 1 &&
                          (want != want || signbit(got) == signbit(want)),
                      "pow(%g, %g) is %g, not %g", s[i], s[j], got, want);
        }
    }
}

/* atan2 and hypot: random floats of all magnitudes, and every pair of special ones. */
static void test_pairs(uint32_t n) {
    double worst[2] = {0};
    uint64_t state = 11;
    static const float s[] = {0.0f,   -0.0f,     1,         -1,       3,         -0.5f,
                              1e-40f, -1e-40f,   3e38f,     -3e38f,   INFINITY,  -INFINITY,
                              NAN,    0x1p-149f, 0x1p-126f, 1.00001f, -1.00001f, 0.4142136f};
    enum { SPECIAL = sizeof s / sizeof *s };
    for (uint32_t i = 0; i < n + SPECIAL * SPECIAL; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        float y = float_of((uint32_t)(state >> 32)), x = float_of((uint32_t)state);
        if (i % 2) y = (float)(int32_t)(state >> 32), x = (float)(int32_t)state;
        if (i >= n) y = s[(i - n) / SPECIAL], x = s[(i - n) % SPECIAL];
        float angle = f32_atan2(y, x);
        double want = atan2((double)y, (double)x), e = ulp_error(angle, want);
        CHECK_MSG(e <= 1 && (want != want || !signbit(angle) == !signbit(want)),
                  "atan2(%a, %a) is %a, not %a", y, x, angle, want);
        if (e > worst[0]) worst[0] = e;
        e = ulp_error(f32_hypot(y, x), hypot((double)y, (double)x));
        CHECK_MSG(e <= 1, "hypot(%a, %a) is %a, not %a", y, x, f32_hypot(y, x),
                  hypot((double)y, (double)x));
        if (e > worst[1]) worst[1] = e;
    }
    printf("  atan2     %.2f ulp at most\n  hypot     %.2f ulp at most\n", worst[0], worst[1]);
}

/* ---- float64 ---- */

static bool is_same(double a, double b) {
    return a == b ? signbit(a) == signbit(b) : a != a && b != b;
}

static double d_sigmoid64(double x) {
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}
static double d_gelu64(double x) { return x < -40 ? -0.0 : 0.5 * x * erfc(-x * M_SQRT1_2); }
static double d_softplus64(double x) { return (x < 0 ? 0 : x) + log1p(exp(-fabs(x))); }
typedef struct Wide {
    const char *name;
    Op op;
    double (*plain)(double);           /* libm's, for infinities, nan and signed zeros */
    long double (*close)(long double); /* a reference within NEAR_ULP; NULL: only the exact one */
    Quad (*exact)(Quad);
    double low, high, ulp_max;
} Wide;
#define WIDE(OP, name, low, high, ulp_max)                                                         \
    { #name, OP_##OP, name, name##l, Q(name), low, high, ulp_max }
static const Wide wide[] = {
    WIDE(EXP, exp, -708, 709.7, 0.516),
    WIDE(EXP2, exp2, -1022, 1023.9, 0.518),
    WIDE(EXPM1, expm1, -40, 709, 0.65),
    WIDE(SINH, sinh, -709, 709, 2.1),
    WIDE(COSH, cosh, -709, 709, 1.1),
    WIDE(TANH, tanh, -20, 20, 2.3),
    WIDE(LOG, log, 0, 1e300, 0.51),
    WIDE(LOG2, log2, 0, 1e300, 0.52),
    WIDE(LOG10, log10, 0, 1e300, 0.51),
    WIDE(LOG1P, log1p, -1, 1e300, 0.51),
    WIDE(ASINH, asinh, -1e300, 1e300, 1.4),
    WIDE(ACOSH, acosh, 1, 1e300, 1.81),
    WIDE(ATANH, atanh, -1, 1, 1.1),
    WIDE(SIN, sin, -1e6, 1e6, 0.518),
    WIDE(COS, cos, -1e6, 1e6, 0.518),
    WIDE(TAN, tan, -1e6, 1e6, 0.62),
    WIDE(ASIN, asin, -1, 1, 0.54),
    WIDE(ACOS, acos, -1, 1, 0.53),
    WIDE(ATAN, atan, -1e300, 1e300, 0.53),
    WIDE(ERF, erf, -6, 6, 1.49),
    {"gelu", OP_GELU, d_gelu64, NULL, q_gelu, -37, 10, 8},
    {"gelu_dx", OP_GELU_DX, d_gelu_dx, NULL, q_gelu_dx, -38.6, 10, 5},
    {"sigmoid", OP_SIGMOID, d_sigmoid64, NULL, q_sigmoid, -700, 40, 2.5},
    {"softplus", OP_SOFTPLUS, d_softplus64, NULL, q_softplus, -700, 40, 1.5},
};
/* 1 ulp of doubles like `want`. */
static double wide_ulp(double want) {
    int e = exponent_of(want), bits = (e < -1021 ? -1021 : e) - 53 + 1023;
    return bits > 0 ? double_of((uint64_t)bits << 52) : ldexp(1, bits - 1023);
}
static double wide_error(double got, Quad want) {
    double near = (double)want;
    if (near != near || got != got) return (near != near) == (got != got) ? 0 : 1e30;
    if (isinf(near) || isinf(got)) return near == got ? 0 : 1e20;
    Quad off = (Quad)got - want; /* a double would round it near the smallest denormal */
    return (double)((off < 0 ? -off : off) / wide_ulp(near));
}
/* Returns the error of got, in ulp: exact if it is `least` or more; a smaller one may be off by
 * NEAR_ULP. An ulp has 2,048 steps of long double, and libm's functions err by a few of them. */
#define NEAR_ULP 0.01
static double wide_error_from(const Wide *w, double x, double got, double least) {
    long double close = w->close ? w->close(x) : NAN;
    if (isfinite((double)close) && isfinite(got)) {
        double e = (double)(fabsl(got - close) / wide_ulp((double)close));
        if (e < least - NEAR_ULP) return e;
    }
    return wide_error(got, w->exact((Quad)x));
}
static double unit_of(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t z = (*state ^ *state >> 31) * 0x9E3779B97F4A7C15u;
    return (double)((z ^ z >> 29) >> 11) * 0x1p-53;
}
/* Of the whole range, near 0, of every magnitude, near 1, and moderate ones. */
static double wide_sample(const Wide *w, uint64_t *state, int way) {
    double u = unit_of(state), v = unit_of(state), x;
    if (way == 0)
        x = w->low + u * (w->high - w->low);
    else if (way == 1)
        x = (u * 2 - 1) * 1.5;
    else if (way == 2)
        x = ldexp(1 + v, (int)(unit_of(state) * 80) - 60) * (u < 0.5 ? -1 : 1);
    else if (way == 3)
        x = 1 + (u * 2 - 1) * ldexp(1, -(int)(v * 30));
    else
        x = (u * 2 - 1) * 12;
    return x >= w->low && x <= w->high ? x : w->low < 0 ? (u - 0.5) * 0.9 : 1 + u * 0.1;
}
static void test_wide_special(const Wide *w) {
    static const double special[] = {0.0,   -0.0,    INFINITY,  -INFINITY, NAN,    1,
                                     -1,    5e-324,  -5e-324,   1.7e308,   1e-310, -1e-310,
                                     710.5, -800,    800,       -1.7e308,  2,      0x1p-60,
                                     -1075, -745.13, 0x1p-1022, -0x1p-60,  1e5,    -12000};
    for (int k = 0; k < n_isas; k++) {
        for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
            double x = special[i], got, want = w->plain(x);
            isas[k]->map[w->op][DT_F64](1, &got, (const void *const[]){&x}, 0);
            bool is_exact = want != want || want == 0 || isinf(want);
            CHECK_MSG(is_exact ? is_same(got, want) : wide_error(got, w->exact((Quad)x)) <= 2.5,
                      "%s: %s(%a) is %a, not %a", isas[k]->isa, w->name, x, got, want);
        }
    }
}
/* The largest error, and the same bits from every instruction set and alone. */
static void test_wide(const Wide *w, int64_t n) {
    enum { SOME = 512 };
    double x[SOME], y[SOME], other[SOME], worst = 0, at = 0;
    uint64_t state = 17;
    for (int64_t i = 0; i < n; i += SOME) {
        for (int k = 0; k < SOME; k++) x[k] = wide_sample(w, &state, (int)(i / SOME % 5));
        const void *in[] = {x};
        isas[0]->map[w->op][DT_F64](SOME, y, in, 0);
        for (int k = 1; k <= n_isas; k++) {
            if (k < n_isas)
                isas[k]->map[w->op][DT_F64](SOME, other, in, 0);
            else
                for (int j = 0; j < SOME; j++)
                    isas[0]->map[w->op][DT_F64](1, other + j, (const void *const[]){x + j}, 0);
            for (int j = 0; j < SOME; j++)
                CHECK_MSG(is_same(y[j], other[j]), "%s(%a): %a and %a", w->name, x[j], y[j],
                          other[j]);
        }
        for (int k = 0; k < SOME; k++) {
            double e = wide_error_from(w, x[k], y[k], k ? worst : INFINITY);
            if (k == 0) { /* and is the long double as close as it must be? */
                double exact = wide_error(y[k], w->exact((Quad)x[k]));
                CHECK_MSG(fabs(e - exact) <= NEAR_ULP,
                          "float64 %s(%a): by long double %.4f ulp, exactly %.4f", w->name, x[k], e,
                          exact);
                e = exact;
            }
            if (e > worst) worst = e, at = x[k];
        }
    }
    CHECK_MSG(worst <= w->ulp_max, "float64 %s is off by %.4f ulp at %a, not at most %g", w->name,
              worst, at, w->ulp_max);
    printf("  %-9s float64 %.4f ulp at most, at %a\n", w->name, worst, at);
    test_wide_special(w);
}

/* pow, atan2 and hypot of float64: random operands, and every pair of special ones as libm's. */
static void test_wide_pairs(int64_t n) {
    static const struct {
        Op op;
        double (*plain)(double, double);
        Quad (*exact)(Quad, Quad);
        double ulp_max;
    } rows[] = {{OP_POW, pow, Q(pow), 0.515},
                {OP_ATAN2, atan2, Q(atan2), 0.52},
                {OP_HYPOT, hypot, Q(hypot), 0.51}};
    static const double s[] = {0.0,    -0.0,    INFINITY,   -INFINITY,   NAN,   1,     -1,
                               5e-324, -5e-324, 1e-310,     1.7e308,     2,     -2,    3,
                               -3,     0.5,     -0.5,       1.5,         -1.5,  1e5,   0x1p52,
                               0x1p53, -0x1p53, 0x1p52 + 1, -0x1p53 + 1, 1e300, -1e300};
    enum { SPECIAL = sizeof s / sizeof *s, SOME = 512 };
    for (size_t f = 0; f < sizeof rows / sizeof *rows; f++) {
        double x[SOME], y[SOME], z[SOME], other[SOME], worst = 0, at[2] = {0};
        uint64_t state = 23;
        for (int64_t i = 0; i < n; i += SOME) {
            for (int k = 0; k < SOME; k++) {
                double u = unit_of(&state), v = unit_of(&state), w = unit_of(&state);
                int way = (int)(i / SOME % 4);
                x[k] = way == 0   ? u * 10
                       : way == 1 ? 1 + (u - 0.5) * ldexp(1, -(int)(w * 30))
                       : way == 2 ? ldexp(1 + u, (int)(w * 2000) - 1000)
                                  : (u - 0.5) * 100;
                y[k] = way == 3 ? (int)(v * 20) - 10 : (v - 0.5) * ldexp(1, (int)(w * 30));
                if (rows[f].op != OP_POW && way == 2) y[k] = x[k] * (v * 4 - 2);
                if (rows[f].op == OP_POW && fabs(y[k] * log2(fabs(x[k]))) > 1020) y[k] = 0.5;
            }
            const void *in[] = {x, y};
            isas[0]->map[rows[f].op][DT_F64](SOME, z, in, 0);
            for (int k = 1; k < n_isas; k++) {
                isas[k]->map[rows[f].op][DT_F64](SOME, other, in, 0);
                for (int j = 0; j < SOME; j++)
                    CHECK_MSG(is_same(z[j], other[j]), "%s(%a, %a): %a and %a",
                              op_info[rows[f].op].name, x[j], y[j], z[j], other[j]);
            }
            for (int k = 0; k < SOME; k++) {
                double e = wide_error(z[k], rows[f].exact((Quad)x[k], (Quad)y[k]));
                if (e > worst) worst = e, at[0] = x[k], at[1] = y[k];
            }
        }
        printf("  %-9s float64 %.4f ulp at most\n", op_info[rows[f].op].name, worst);
        CHECK_MSG(worst <= rows[f].ulp_max, "float64 %s is off by %.4f ulp at (%a, %a)",
                  op_info[rows[f].op].name, worst, at[0], at[1]);
        for (int i = 0; i < SPECIAL * SPECIAL; i++) {
            double a = s[i / SPECIAL], b = s[i % SPECIAL], got, want = rows[f].plain(a, b);
            isas[0]->map[rows[f].op][DT_F64](1, &got, (const void *const[]){&a, &b}, 0);
            bool is_exact = want != want || want == 0 || isinf(want);
            CHECK_MSG(is_exact ? is_same(got, want)
                               : wide_error(got, rows[f].exact((Quad)a, (Quad)b)) <= 1,
                      "%s(%a, %a) is %a, not %a", op_info[rows[f].op].name, a, b, got, want);
        }
    }
}

/* fmod, mod and floordiv of the kernels against C's fmod, to the bit: numbers of all magnitudes and
 * near each other, and every pair of special ones. */
static double mod_of(double a, double b) {
    double m = fmod(a, b);
    return m != 0 ? (m < 0) != (b < 0) ? m + b : m : copysign(0, b);
}
static double floordiv_of(double a, double b) {
    double m = fmod(a, b), d = (a - m) / b;
    if (m != 0 && (m < 0) != (b < 0)) d -= 1;
    double f = floor(d);
    if (d - f > 0.5) f += 1;
    return b == 0 ? a / b : d == 0 ? copysign(0, a / b) : f;
}
static float floordiv_of_f32(float a, float b) {
    float m = fmodf(a, b), d = (a - m) / b;
    if (m != 0 && (m < 0) != (b < 0)) d -= 1;
    float f = floorf(d);
    if (d - f > 0.5f) f += 1;
    return b == 0 ? a / b : d == 0 ? copysignf(0, a / b) : f;
}
enum { DIVIDED = 4096 };
static void check_division(Op op, const float *a, const float *b, const double *c,
                           const double *d) {
    static float got[DIVIDED], alone[1];
    static double got64[DIVIDED];
    for (int k = 0; k < n_isas; k++) {
        isas[k]->map[op][DT_F32](DIVIDED, got, (const void *const[]){a, b}, 0);
        isas[k]->map[op][DT_F64](DIVIDED, got64, (const void *const[]){c, d}, 0);
        for (int i = 0; i < DIVIDED; i++) {
            float want = op == OP_FMOD  ? fmodf(a[i], b[i])
                         : op == OP_MOD ? (float)mod_of((double)a[i], (double)b[i])
                                        : floordiv_of_f32(a[i], b[i]);
            double want64 = op == OP_FMOD  ? fmod(c[i], d[i])
                            : op == OP_MOD ? mod_of(c[i], d[i])
                                           : floordiv_of(c[i], d[i]);
            isas[k]->map[op][DT_F32](1, alone, (const void *const[]){a + i, b + i}, 0);
            CHECK_MSG(is_same((double)got[i], (double)want), "%s: %s(%a, %a) is %a, not %a",
                      isas[k]->isa, op_info[op].name, a[i], b[i], got[i], want);
            CHECK_MSG(is_same((double)*alone, (double)want), "%s: %s(%a, %a) is %a alone, not %a",
                      isas[k]->isa, op_info[op].name, a[i], b[i], *alone, want);
            CHECK_MSG(is_same(got64[i], want64), "%s: %s(%a, %a) is %a, not %a", isas[k]->isa,
                      op_info[op].name, c[i], d[i], got64[i], want64);
        }
    }
}
static void test_remainders(int rounds) {
    static const float special[] = {0.0f,   -0.0f, 1,          -1,      INFINITY, -INFINITY,
                                    NAN,    5.5f,  -3,         0x1p24f, 1e-38f,   0x1p-149f,
                                    7e-42f, 3e38f, -0x1.8p97f, -3.4e38f};
    static float a[DIVIDED], b[DIVIDED];
    static double c[DIVIDED], d[DIVIDED];
    uint64_t state = 5;
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < DIVIDED; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint64_t u = state ^ state >> 29;
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint64_t v = state ^ state >> 31;
            a[i] = float_of((uint32_t)u), b[i] = float_of((uint32_t)v);
            if (r % 4 > 1) a[i] = (float)(int32_t)u, b[i] = (float)((int32_t)v >> v % 29);
            c[i] = f64_of_bits((int64_t)u);
            d[i] = f64_of_bits((int64_t)(u ^ (v & UINT64_C(0x801fffffffffffff))));
            if (r % 4 == 1) d[i] = f64_of_bits((int64_t)v);
            if (r % 4 == 2) c[i] = (double)u * 0x1p-1074, d[i] = (double)(v >> 17) * 0x1p-1074;
            if (r % 4 == 3) c[i] = (double)a[i], d[i] = (double)b[i];
            if (r == 0 && i < 256) a[i] = special[i / 16], b[i] = special[i % 16];
            if (r == 3 && i < 256) c[i] = (double)special[i / 16], d[i] = (double)special[i % 16];
        }
        check_division(OP_FMOD, a, b, c, d);
        check_division(OP_MOD, a, b, c, d);
        check_division(OP_FLOORDIV, a, b, c, d);
    }
}

/* Python: divmod(a, b). */
static void test_division(void) {
    static const double rows[][4] = {
        {7, 3, 2, 1}, {-7, 3, -3, 2}, {7, -3, -3, -2}, {-7, -3, 2, -1},
        {6, 3, 2, 0}, {-6, 3, -2, 0}, {0, 5, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double *r = rows[i];
        CHECK_INT(i32_floordiv((int32_t)r[0], (int32_t)r[1]), r[2]);
        CHECK_INT(i32_mod((int32_t)r[0], (int32_t)r[1]), r[3]);
        CHECK_INT(i64_floordiv((int64_t)r[0], (int64_t)r[1]), r[2]);
        CHECK_INT(i64_mod((int64_t)r[0], (int64_t)r[1]), r[3]);
        CHECK(f32_floordiv((float)r[0], (float)r[1]) == (float)r[2] &&
              f32_mod((float)r[0], (float)r[1]) == (float)r[3]);
        CHECK(f64_floordiv(r[0], r[1]) == r[2] && f64_mod(r[0], r[1]) == r[3]);
    }
    CHECK_INT(i32_fmod(-7, 3), -1);
    CHECK_INT(i32_fmod(7, -3), 1);
    CHECK_INT(i64_fmod(INT64_MIN, -1), 0);
    CHECK_INT(u8_fmod(7, 0), 0);
    CHECK(f32_fmod(-7, 3) == -1 && f64_fmod(7.5, -2) == 1.5 && isnan(f32_fmod(1, 0)));
    CHECK_INT(i32_floordiv(5, 0), 0);
    CHECK_INT(i32_mod(5, 0), 0);
    CHECK_INT(i32_floordiv(INT32_MIN, -1), INT32_MIN);
    CHECK_INT(i32_mod(INT32_MIN, -1), 0);
    CHECK_INT(i64_floordiv(INT64_MIN, -1), INT64_MIN);
    CHECK_INT(i64_mod(INT64_MIN, 0), 0);
    CHECK_INT(u8_floordiv(200, 255), 0);
    CHECK_INT(u8_mod(200, 255), 200);
    CHECK_INT(u8_floordiv(200, 0), 0);
    CHECK(f32_floordiv(1, 0) == INFINITY && f32_floordiv(-1, 0) == -INFINITY &&
          isnan(f32_floordiv(0, 0)));
    CHECK(isnan(f32_mod(1, 0)) && isnan(f32_mod(INFINITY, 2)) && f32_mod(-1, INFINITY) == INFINITY);
    CHECK(f64_floordiv(1, 0.1) == 9 &&
          fabs(f64_mod(1, 0.1) - 0.1) < 1e-15); /* as Python: 1 // 0.1 is 9.0 */
    CHECK(signbit(f32_mod(6, -3)) && !signbit(f32_mod(-6, 3)));
}

static void test_ints(void) {
    CHECK_INT(i32_add(INT32_MAX, 1), INT32_MIN);
    CHECK_INT(i32_mul(65536, 65536), 0);
    CHECK_INT(i64_sub(INT64_MIN, 1), INT64_MAX);
    CHECK_INT(u8_add(250, 10), 4);
    CHECK_INT(u8_neg(1), 255);
    CHECK_INT(i32_neg(INT32_MIN), INT32_MIN);
    CHECK_INT(i32_abs(INT32_MIN), INT32_MIN);
    CHECK_INT(i64_abs(-5), 5);
    CHECK_INT(i32_sign(-9), -1);
    CHECK_INT(u8_sign(9), 1);
    CHECK_INT(i64_pow(3, 13), 1594323);
    CHECK_INT(i32_pow(-3, 3), -27);
    CHECK_INT(i32_pow(2, 32), 0);
    CHECK_INT(i32_pow(7, 0), 1);
    CHECK_INT(i32_pow(0, 0), 1);
    CHECK_INT(i32_pow(0, -1), 0);
    CHECK_INT(i32_pow(5, -2), 0);
    CHECK_INT(i32_pow(1, -2), 1);
    CHECK_INT(i32_pow(-1, -2), 1);
    CHECK_INT(i32_pow(-1, -3), -1);
    CHECK_INT(i64_pow(-1, INT64_MIN), 1);
    CHECK_INT(u8_pow(3, 5), 243);
    CHECK_INT(u8_pow(255, 200), 1);
    CHECK_INT(b1_add(1, 1), 1);
    CHECK_INT(b1_mul(1, 0), 0);
    CHECK_INT(b1_not(1), 0);
    CHECK_INT(u8_not(1), 254);
    CHECK_INT(i32_max(-1, 1), 1);
    CHECK(isnan(f32_max(NAN, 1)) && isnan(f32_max(1, NAN)) && isnan(f32_min(NAN, 1)) &&
          isnan(f64_min(1, NAN)));
    CHECK(f32_round(0.5f) == 0 && f32_round(1.5f) == 2 && f64_round(2.5) == 2 &&
          f64_round(-0.5) == 0);
    CHECK(isnan(f32_sign(NAN)) && f32_sign(-2) == -1 && f64_sign(0) == 0);
}

static void test_conversions(void) {
    CHECK_INT(f32_to_i32(-2.9f), -2);
    CHECK_INT(f32_to_u8(300.7f), 44);
    CHECK_INT(f32_to_u8(-1), 255);
    CHECK_INT(f64_to_i32(4294967297.0), 1);
    CHECK_INT(f64_to_i64(1e300), INT64_MIN);
    CHECK_INT(f32_to_i64(NAN), INT64_MIN);
    CHECK_INT(f32_to_i64(INFINITY), INT64_MIN);
    CHECK_INT(f64_to_i64(-0x1p63), INT64_MIN);
    CHECK_INT(f32_to_b1(NAN), 1);
    CHECK_INT(f32_to_b1(-0.0f), 0);
    CHECK_INT(i64_to_b1(256), 1);
    CHECK_INT(i64_to_u8(256 + 7), 7);
    CHECK_INT(i32_to_u8(-1), 255);
    CHECK_INT(i64_to_i32(INT64_C(1) << 32 | 5), 5);
    CHECK(i64_to_f32(INT64_C(16777217)) == 16777216.0f && f64_to_f32(1e300) == INFINITY);
}

/* exp's variant for arguments <= 0: the same bits for all of them. */
static void test_below(uint32_t stride) {
    int64_t wrong = 0;
    float first = 0;
    for (uint64_t i = 0x80000000u; i <= 0xff800000u; i += stride > 61 ? 61 : stride) {
        float x = float_of((uint32_t)i);
        if (f32_bits(f32_exp_below(x)) == f32_bits(f32_exp(x))) continue;
        if (!wrong++) first = x;
    }
    CHECK(wrong == 0);
    if (wrong) printf("f32_exp_below: %lld differ, the first at %a\n", (long long)wrong, first);
    const float special[] = {0, -0.0f, -f32_inf, -0x1p-149f, -87.5f, -103.98f, -104, -104.00001f};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        CHECK(f32_bits(f32_exp_below(special[i])) == f32_bits(f32_exp(special[i])));
    CHECK(f32_exp_below(f32_nan) != f32_exp_below(f32_nan));
    CHECK(f32_exp_below(-f32_nan) != f32_exp_below(-f32_nan));
}

int main(int argc, char **argv) {
    const size_t unaries = sizeof unary / sizeof *unary, wides = sizeof wide / sizeof *wide;
    const char *part = argc > 2 ? argv[2] : NULL;
    uint32_t stride = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 6007;
    bool known = part == NULL;
    if (argc > 1 && !strcmp(argv[1], "-l")) {
        for (size_t i = 0; i < unaries; i++) puts(unary[i].name);
        puts("others");
        return 0;
    }
    if (stride == 0) stride = 1;
    const int64_t wide_n = stride == 1 ? 1 << 26 : stride < 2048 ? 1 << 20 : 1 << 15;
    find_isas();
    for (size_t i = 0; i < unaries; i++)
        if (!part || !strcmp(part, unary[i].name)) {
            test_unary(&unary[i], stride);
            known = true;
        }
    for (size_t i = 0; i < wides; i++)
        if (!part || !strcmp(part, wide[i].name)) test_wide(&wide[i], wide_n); /* of float64 */
    if (!part || !strcmp(part, "others")) {
        test_below(stride);
        test_pow(400000);
        test_pairs(400000);
        test_wide_pairs(40000);
        test_remainders(8);
        test_division();
        test_ints();
        test_conversions();
        known = true;
    }
    if (!known) {
        fprintf(stderr, "prologue_test: no part is named %s; -l lists them\n", part);
        return 2;
    }
    return check_report(part ? part : "prologue");
}
