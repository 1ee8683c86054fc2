/* prologue_test: the float32 functions of the prologue against libm in double, over a stride
 * through all floats and around their difficult points: largest error in ulp, infinities, nan,
 * denormals and signed zeros. Then whole numbers, bool and conversions. PROLOGUE_STRIDE=1 in the
 * environment tries every float there is (some minutes). SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"
#include "worker/prologue.h"
#include <stdbool.h>

static double ref_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double ref_softplus(double x) { return x > 40 ? x : log1p(exp(x)); }
static double ref_gelu(double x) { return x < -40 ? -0.0 : 0.5 * x * erfc(-x * M_SQRT1_2); }
static double ref_rsqrt(double x) { return 1 / sqrt(x); }
static float f32_rsqrt(float x) { return 1 / f32_sqrt(x); }

/* Error of got in units of the last place of a float near want. */
static double ulp_error(float got, double want) {
    if (want != want || got != got) return (want != want) == (got != got) ? 0 : 1e30;
    float rounded = (float)want;
    if (rounded == got) return fabs((double)got - want) > 0 && isinf(got) ? 0 : 0.5;
    if (isinf(got)) return fabs(want) > 0x1.fffffep127 - 0x1p103 ? 0 : 1e20;
    if (isinf(rounded)) return fabs((double)got) > 0x1.fffffcp127 ? 1 : 1e20;
    int e;
    frexp(want, &e);
    return fabs((double)got - want) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

typedef struct Unary {
    const char *name;
    float (*f)(float);
    double (*want)(double);
    double ulp_max;
    bool has_sign_of_zero; /* f(-0) = -0 */
} Unary;

#define ROW(name, want, ulp_max, zero)                                                             \
    { #name, f32_##name, want, ulp_max, zero }
static const Unary unary[] = {
    ROW(exp, exp, 1, false),
    ROW(expm1, expm1, 2, true),
    ROW(log, log, 1, false),
    ROW(log1p, log1p, 2, true),
    ROW(sqrt, sqrt, 0.5, true),
    ROW(rsqrt, ref_rsqrt, 2, false),
    ROW(sin, sin, 2, true),
    ROW(cos, cos, 2, false),
    ROW(tan, tan, 1, true),
    ROW(asin, asin, 1, true),
    ROW(acos, acos, 1, false),
    ROW(atan, atan, 1, true),
    ROW(sinh, sinh, 1, true),
    ROW(cosh, cosh, 1, false),
    ROW(asinh, asinh, 1, true),
    ROW(acosh, acosh, 1, false),
    ROW(atanh, atanh, 1, true),
    ROW(log2, log2, 1, false),
    ROW(log10, log10, 1, false),
    ROW(exp2, exp2, 1, false),
    ROW(trunc, trunc, 0.5, true),
    ROW(tanh, tanh, 2, true),
    ROW(erf, erf, 2, true),
    ROW(sigmoid, ref_sigmoid, 2, false),
    ROW(softplus, ref_softplus, 2, false),
    ROW(gelu, ref_gelu, 2, true),
    ROW(floor, floor, 0.5, true),
    ROW(ceil, ceil, 0.5, true),
    ROW(round, rint, 0.5, true),
};

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static void test_unary(const Unary *u, uint32_t stride) {
    double worst = 0;
    float at = 0;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += stride) {
        float x = float_of((uint32_t)bits);
        double e = ulp_error(u->f(x), u->want((double)x));
        if (e > worst) worst = e, at = x;
    }
    static const float centres[] = {0.35f, 0.5f, 0.6f,  0.85f, 0.925f, 1,      2,
                                    4,     9,    14.5f, 17.4f, 88.7f,  103.9f, 0x1p-126f};
    for (size_t i = 0; i < sizeof centres / sizeof *centres; i++) {
        for (int k = -20000; k <= 20000; k += 7) {
            float c = float_of((uint32_t)(f32_bits(centres[i]) + k));
            for (int s = 0; s < 2; s++, c = -c) {
                double e = ulp_error(u->f(c), u->want((double)c));
                if (e > worst) worst = e, at = c;
            }
        }
    }
    CHECK_MSG(worst <= u->ulp_max, "%s is off by %.2f ulp at %a, not at most %.1f", u->name, worst,
              at, u->ulp_max);
    printf("  %-9s %.2f ulp at most\n", u->name, worst);
    static const float special[] = {INFINITY, -INFINITY, NAN,        0.0f,
                                    -0.0f,    0x1p-149f, -0x1p-149f, 0x1p-126f};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        float got = u->f(special[i]), want = (float)u->want((double)special[i]);
        if (special[i] == -INFINITY && u->f == f32_gelu)
            want = 0; /* the limit; the formula gives nan */
        CHECK_MSG(ulp_error(got, (double)want) <= 1, "%s(%a) is %a, not %a", u->name, special[i],
                  got, want);
    }
    if (u->has_sign_of_zero) {
        CHECK_MSG(signbit(u->f(-0.0f)) && !signbit(u->f(0.0f)), "%s loses the sign of zero",
                  u->name);
    }
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

/* atan2 and hypot: random floats of all sizes, and every pair of special ones. */
static void test_pairs(uint32_t n) {
    double worst[2] = {0};
    uint64_t state = 11;
    static const float s[] = {0.0f, -0.0f,     1,         -1,       3,         -0.5f,
                              1e-40f, -1e-40f, 3e38f,     -3e38f,   INFINITY,  -INFINITY,
                              NAN,  0x1p-149f, 0x1p-126f, 1.00001f, -1.00001f, 0.4142136f};
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

int main(void) {
    const char *env = getenv("PROLOGUE_STRIDE");
    uint32_t stride = env ? (uint32_t)strtoul(env, NULL, 10) : 20011;
    if (stride == 0) stride = 1;
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++) test_unary(&unary[i], stride);
    test_pow(400000);
    test_pairs(400000);
    test_division();
    test_ints();
    test_conversions();
    return check_report("prologue");
}
