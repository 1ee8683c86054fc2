/* lanes.c: the instructions that only compute, over the 32 lanes of a warp: ptx_ops.def as loops,
 * and found by name. The expressions are this file's own, not the worker's: what is compared with
 * them must not share their mistakes.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/half.h"
#include "tests/gpu/ptx.h"
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- What the rows use ---- */

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    return z ^ z >> 29;
}
/* What a division by 0 gives: no result may depend on it. */
static inline uint64_t undefined(const LaneArgs *x) { return next_random(x->random); }
static double off(uint64_t *state) { return (double)(int64_t)next_random(state) * 0x1p-63; }
/* Devices give one nan of float32. */
static inline float canonical(float x) { return x == x ? x : f32_from(0x7fffffff); }
static float flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
/* Within so many ulps. The error makes no infinity. */
static float moved(double y, double ulps, uint64_t *state) {
    if (!isfinite(y) || y == 0) return (float)y;
    float near = (float)(y + y * off(state) * ulps * 0x1p-24);
    return isinf(near) ? (float)y : near;
}
static float f32_near(double y, double ulps, uint64_t *state) {
    return canonical(flushed(moved(y, ulps, state)));
}
/* Whole powers are exact: exponentials are scaled with them. */
static float power_near(float x, uint64_t *state) {
    return f32_near(exp2((double)x), x == floorf(x) ? 0 : 2, state);
}
static float logarithm_near(float x, uint64_t *state) {
    double y = log2((double)x);
    return x > 0.5f && x < 2 ? canonical((float)(y + off(state) * 0x1p-22)) : f32_near(y, 2, state);
}
static float quotient_near(float a, float b, uint64_t *state) {
    if (fabsf(b) > 0x1p126f && isfinite(b))
        return isinf(a) ? canonical(NAN) : a * b < 0 ? -0.0f : 0;
    return canonical(moved((double)a / (double)b, 2, state));
}
/* Of a double the upper 32 bits count; so it is with the result. */
static double f64_high(double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    u &= ~UINT64_C(0xffffffff);
    memcpy(&x, &u, sizeof x);
    return fabs(x) < 0x1p-1022 ? copysign(0, x) : x;
}
static double f64_near(double y, uint64_t *state) {
    if (isfinite(y) && y != 0) y += y * off(state) * 0x1p-21;
    return f64_high(y);
}
static uint32_t reversed(uint32_t v) {
    v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
    v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(v);
}
static uint32_t highest(uint64_t v) { return v ? 63 - (uint32_t)__builtin_clzll(v) : UINT32_MAX; }
static uint64_t field(uint64_t v, uint32_t at, uint32_t count, uint32_t bits, bool is_signed) {
    at &= 255, count &= 255;
    if (!count) return 0;
    uint32_t top = at + count - 1 < bits ? at + count - 1 : bits - 1;
    bool sign = is_signed && v >> top & 1;
    uint64_t x = at < bits ? v >> at : 0;
    if (at < bits && count < bits) x &= (UINT64_C(1) << (top - at + 1)) - 1;
    if (at >= bits) return sign ? UINT64_MAX : 0;
    uint32_t has = top - at + 1;
    return sign && has < 64 ? x | UINT64_MAX << has : x;
}
static uint64_t inserted(uint64_t a, uint64_t b, uint32_t at, uint32_t count, uint32_t bits) {
    at &= 255, count &= 255;
    if (!count || at >= bits) return b;
    uint64_t mask = (count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1) << at;
    return (b & ~mask) | (a << at & mask);
}
static uint32_t looked_up(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t v = 0;
    for (uint32_t k = 0; k < 8; k++)
        if (table >> k & 1) v |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    return v;
}
static uint32_t permuted(uint32_t a, uint32_t b, uint32_t how) {
    uint64_t v = (uint64_t)b << 32 | a;
    uint32_t out = 0;
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t s = how >> (4 * k) & 15, byte = v >> (8 * (s & 7)) & 255;
        if (s & 8) byte = byte & 0x80 ? 255 : 0;
        out |= byte << (8 * k);
    }
    return out;
}
static uint32_t dot4(uint32_t a, uint32_t b, bool is_signed_a, bool is_signed_b) {
    int32_t sum = 0;
    for (int k = 0; k < 4; k++) {
        int32_t x = a >> (8 * k) & 255, y = b >> (8 * k) & 255;
        if (is_signed_a) x = (int8_t)x;
        if (is_signed_b) y = (int8_t)y;
        sum += x * y;
    }
    return (uint32_t)sum;
}
/* ---- How a type lies in its slot: S_ in memory, V_ as a value, PUT_ to memory ---- */

#define S_u8   uint32_t
#define S_s8   uint32_t
#define S_u16  uint32_t
#define S_s16  uint32_t
#define S_b16  uint32_t
#define S_u32  uint32_t
#define S_s32  uint32_t
#define S_b32  uint32_t
#define S_pred uint32_t
#define S_f32  float
#define S_u64  uint64_t
#define S_s64  uint64_t
#define S_b64  uint64_t
#define S_f64  double
#define V_u8   uint8_t
#define V_s8   int8_t
#define V_u16  uint16_t
#define V_s16  int16_t
#define V_b16  uint16_t
#define V_u32  uint32_t
#define V_s32  int32_t
#define V_b32  uint32_t
#define V_pred uint32_t
#define V_f32  float
#define V_u64  uint64_t
#define V_s64  int64_t
#define V_b64  uint64_t
#define V_f64  double
#define U_u16  uint16_t
#define U_s16  uint16_t
#define U_b16  uint16_t
#define U_u32  uint32_t
#define U_s32  uint32_t
#define U_b32  uint32_t
#define U_pred uint32_t
#define U_f32  float
#define U_u64  uint64_t
#define U_s64  uint64_t
#define U_b64  uint64_t
#define U_f64  double
/* A register of 16 bits holds no more. */
#define PUT_u8(v)   (uint8_t)(v)
#define PUT_s8(v)   (uint16_t)(int16_t)(v)
#define PUT_u16(v)  (uint16_t)(v)
#define PUT_s16(v)  (uint16_t)(v)
#define PUT_b16(v)  (uint16_t)(v)
#define PUT_u32(v)  (uint32_t)(v)
#define PUT_s32(v)  (uint32_t)(v)
#define PUT_b32(v)  (uint32_t)(v)
#define PUT_pred(v) (uint32_t)(v)
#define PUT_f32(v)  (v)
#define PUT_u64(v)  (uint64_t)(v)
#define PUT_s64(v)  (uint64_t)(v)
#define PUT_b64(v)  (uint64_t)(v)
#define PUT_f64(v)  (v)
#define W_u8        "b"
#define W_s8        "b"
#define W_u16       "h"
#define W_s16       "h"
#define W_b16       "h"
#define W_u32       "w"
#define W_s32       "w"
#define W_b32       "w"
#define W_f32       "w"
#define W_pred      "p"
#define W_u64       "d"
#define W_s64       "d"
#define W_b64       "d"
#define W_f64       "d"

/* ---- The rows as functions ---- */

/* A result may lie in a source's slot: lane by lane that is no dependence. */
#ifdef __clang__
#define EACH_LANE _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < LANES; l++)
#else
#define EACH_LANE _Pragma("GCC ivdep") for (int l = 0; l < LANES; l++)
#endif
#define ROW(name, facts, D, A, B, C, widths, ...)                                                  \
    static void lane_##name(const LaneArgs *x) {                                                   \
        S_##D *out = x->d;                                                                         \
        const S_##A *pa = x->s[0];                                                                 \
        const S_##B *pb = x->s[1];                                                                 \
        const S_##C *pc = x->s[2];                                                                 \
        EACH_LANE {                                                                                \
            const V_##A a = (V_##A)pa[l];                                                          \
            const V_##B b = (V_##B)pb[l];                                                          \
            const V_##C c = (V_##C)pc[l];                                                          \
            V_##D d;                                                                               \
            (void)a, (void)b, (void)c;                                                             \
            __VA_ARGS__;                                                                           \
            out[l] = PUT_##D(d);                                                                   \
        }                                                                                          \
    }
#define ROW4(name, D, A, widths, statement)                                                        \
    static void lane_##name(const LaneArgs *x) {                                                   \
        S_##D *out = x->d;                                                                         \
        const S_##A *pa = x->s[0], *pb = x->s[1];                                                  \
        const uint32_t *pc = x->s[2], *pe = x->s[3];                                               \
        EACH_LANE {                                                                                \
            const V_##A a = pa[l], b = pb[l];                                                      \
            const uint32_t c = pc[l], e = pe[l];                                                   \
            V_##D d;                                                                               \
            statement;                                                                             \
            out[l] = PUT_##D(d);                                                                   \
        }                                                                                          \
    }
#define TYPES(t)                                                                                   \
    typedef V_##t T __attribute__((unused));                                                       \
    typedef U_##t U __attribute__((unused))
#define ONE(op, t, expr) ROW(op##_##t, 0, t, t, t, t, W_##t "=" W_##t, TYPES(t); d = (expr))
#define TWO(op, t, expr) ROW(op##_##t, 0, t, t, t, t, W_##t "=" W_##t W_##t, TYPES(t); d = (expr))
#define THREE(op, t, expr)                                                                         \
    ROW(op##_##t, 0, t, t, t, t, W_##t "=" W_##t W_##t W_##t, TYPES(t); d = (expr))
#define TO(name, D, S, expr)      ROW(name, 0, D, S, S, S, W_##D "=" W_##S, d = (V_##D)(expr))
#define WIDE(name, D, S, expr)    ROW(name, 0, D, S, S, S, W_##D "=" W_##S W_##S, d = (expr))
#define WIDEADD(name, D, S, expr) ROW(name, 0, D, S, S, D, W_##D "=" W_##S W_##S W_##D, d = (expr))
#define SHIFT(op, t, expr)                                                                         \
    ROW(op##_##t, 0, t, t, u32, u32, W_##t "=" W_##t "w", TYPES(t); d = (T)(expr))
#define TEST(name, expr)                                                                           \
    ROW(name##_f32, 0, pred, f32, f32, f32, "p=w", d = (expr) != 0)                                \
    ROW(name##_f64, 0, pred, f64, f64, f64, "p=d", d = (expr) != 0)
#define APPROX(name, t, expr)   ROW(name, IS_APPROXIMATE, t, t, t, t, W_##t "=" W_##t, d = (expr))
#define COMPARE(c, sign, types) COMPARE_##types(c, sign)
#define COMPARE_ONE(c, sign, t)                                                                    \
    ROW(setp_##c##_##t, IS_COMPARISON, pred, t, t, t, "p=" W_##t W_##t, d = a sign b)
#define COMPARE_LOW(c, sign)                                                                       \
    COMPARE_ONE(c, sign, u16) COMPARE_ONE(c, sign, u32) COMPARE_ONE(c, sign, u64)
#define COMPARE_NUM(c, sign)                                                                       \
    COMPARE_LOW(c, sign)                                                                           \
    COMPARE_ONE(c, sign, s16) COMPARE_ONE(c, sign, s32) COMPARE_ONE(c, sign, s64)
#define COMPARE_INT(c, sign)                                                                       \
    COMPARE_NUM(c, sign)                                                                           \
    COMPARE_ONE(c, sign, b16) COMPARE_ONE(c, sign, b32) COMPARE_ONE(c, sign, b64)
#define FCOMPARE(c, expr)                                                                          \
    ROW(setp_##c##_f32, IS_COMPARISON, pred, f32, f32, f32, "p=ww", d = (expr))                    \
    ROW(setp_##c##_f64, IS_COMPARISON, pred, f64, f64, f64, "p=dd", d = (expr))
#define SELECT(t) ROW(selp_##t, 0, t, t, t, pred, W_##t "=" W_##t W_##t "p", d = c ? a : b)
#define MOVE(t)   ROW(mov_##t, 0, t, t, t, t, W_##t "=" W_##t, d = a)
#define FROM(S)                                                                                    \
    TO(cvt_u8_##S, u8, S, a)                                                                       \
    TO(cvt_s8_##S, s8, S, a)                                                                       \
    TO(cvt_u16_##S, u16, S, a)                                                                     \
    TO(cvt_s16_##S, s16, S, a)                                                                     \
    TO(cvt_u32_##S, u32, S, a)                                                                     \
    TO(cvt_s32_##S, s32, S, a) TO(cvt_u64_##S, u64, S, a) TO(cvt_s64_##S, s64, S, a)
#define FLOATS_FROM(S) TO(cvt_rn_f32_##S, f32, S, (float)a) TO(cvt_rn_f64_##S, f64, S, (double)a)
/* Out of range gives the nearest, nan 0 or, where 64 bits take part, the highest bit alone. */
#define TO_INT(how, round, D, F, low, high)                                                        \
    ROW(cvt_##how##_##D##_##F, 0, D, F, F, F, W_##D "=" W_##F, const V_##F y = (V_##F)round(a);    \
        d = y != y                                                                                 \
                ? (V_##D)(sizeof a == 8 || sizeof d == 8 ? UINT64_C(1) << (8 * sizeof d - 1) : 0)  \
            : y < (V_##F)(low)                                                                     \
                ? (V_##D)(sizeof d == 8 ? (low) < 0 ? INT64_MIN : 0 : (int64_t)(low))              \
            : y >= (V_##F)(high)                                                                   \
                ? (V_##D)((low) < 0 ? (uint64_t)INT64_MAX >> (64 - 8 * sizeof d) : UINT64_MAX)     \
                : (V_##D)y)
#define TO_INT_TYPES(how, round, F)                                                                \
    TO_INT(how, round, u8, F, 0.0, 0x1p8)                                                          \
    TO_INT(how, round, s8, F, -0x1p7, 0x1p7)                                                       \
    TO_INT(how, round, u16, F, 0.0, 0x1p16)                                                        \
    TO_INT(how, round, s16, F, -0x1p15, 0x1p15)                                                    \
    TO_INT(how, round, u32, F, 0.0, 0x1p32)                                                        \
    TO_INT(how, round, s32, F, -0x1p31, 0x1p31)                                                    \
    TO_INT(how, round, u64, F, 0.0, 0x1p64) TO_INT(how, round, s64, F, -0x1p63, 0x1p63)
#define TO_INTS(F)                                                                                 \
    TO_INT_TYPES(rni, rint, F)                                                                     \
    TO_INT_TYPES(rzi, trunc, F) TO_INT_TYPES(rmi, floor, F) TO_INT_TYPES(rpi, ceil, F)
#define CARRY(name, facts, expr) CARRY_ROW(name, facts, "w=ww", pa[l], pb[l], 0, x->s[3], expr)
#define CARRYMAD(name, facts, expr)                                                                \
    CARRY_ROW(name, facts, "w=www", pa[l], pb[l], pc[l], x->s[3], expr)
#define CARRY_ROW(name, facts, widths, va, vb, vc, in, expr)                                       \
    static void lane_##name(const LaneArgs *x) {                                                   \
        uint32_t *out = x->d, *out_carry = x->d2;                                                  \
        const uint32_t *pa = x->s[0], *pb = x->s[1], *pc = x->s[2], *pcarry = in;                  \
        (void)pc;                                                                                  \
        EACH_LANE {                                                                                \
            const uint32_t a = va, b = vb, c = vc, carry = pcarry[l];                              \
            (void)c, (void)carry;                                                                  \
            const uint64_t v = (expr);                                                             \
            out[l] = (uint32_t)v;                                                                  \
            if ((facts)&GIVES_CARRY) out_carry[l] = v >> 32 & 1;                                   \
        }                                                                                          \
    }
/* In other directions than to the nearest. */
#define ROUNDED_ROW(name, t, s, widths, mode, expr)                                                \
    ROW(nearest_##name, 0, t, s, s, s, widths, d = (expr))                                         \
    static void lane_##name(const LaneArgs *x) {                                                   \
        fesetround(mode);                                                                          \
        LaneFn *volatile fn = lane_nearest_##name;                                                 \
        fn(x);                                                                                     \
        fesetround(FE_TONEAREST);                                                                  \
    }
#define ROUNDED(op, t, widths, expr)                                                               \
    ROUNDED_ROW(op##_rz_##t, t, t, widths, FE_TOWARDZERO, expr)                                    \
    ROUNDED_ROW(op##_rm_##t, t, t, widths, FE_DOWNWARD, expr)                                      \
    ROUNDED_ROW(op##_rp_##t, t, t, widths, FE_UPWARD, expr)
#define ROUNDED1(op, t, expr) ROUNDED(op, t, W_##t "=" W_##t, expr)
#define ROUNDED2(op, t, expr) ROUNDED(op, t, W_##t "=" W_##t W_##t, expr)
#define ROUNDED3(op, t, expr) ROUNDED(op, t, W_##t "=" W_##t W_##t W_##t, expr)
#define ROUNDED_CVT(t, s, expr)                                                                    \
    ROUNDED_ROW(cvt_rz_##t##_##s, t, s, W_##t "=" W_##s, FE_TOWARDZERO, expr)                      \
    ROUNDED_ROW(cvt_rm_##t##_##s, t, s, W_##t "=" W_##s, FE_DOWNWARD, expr)                        \
    ROUNDED_ROW(cvt_rp_##t##_##s, t, s, W_##t "=" W_##s, FE_UPWARD, expr)
#include "tests/gpu/ptx_ops.def"

/* ---- The rows as a table ---- */

#undef ROW
#undef ROW4
#undef CARRY_ROW
#undef ROUNDED_ROW
#define ROW(name, facts, D, A, B, C, widths, ...)            {#name, widths, lane_##name, facts},
#define ROW4(name, D, A, widths, statement)                  {#name, widths, lane_##name, 0},
#define CARRY_ROW(name, facts, widths, va, vb, vc, in, expr) {#name, widths, lane_##name, facts},
#define ROUNDED_ROW(name, t, s, widths, mode, expr)          {#name, widths, lane_##name, 0},
static const LaneOp rows[] = {
#include "tests/gpu/ptx_ops.def"
};
enum { ROWS = sizeof rows / sizeof *rows, BUCKETS = 2048 };
static uint16_t bucket[BUCKETS]; /* row + 1 */
static pthread_once_t bucket_once = PTHREAD_ONCE_INIT;

static uint32_t hash(const char *name) {
    uint32_t h = 2166136261u;
    for (; *name; name++) h = (h ^ (uint8_t)(*name == '.' ? '_' : *name)) * 16777619u;
    return h;
}
static bool same(const char *row, const char *name) {
    for (; *row && *name; row++, name++)
        if (*row != (*name == '.' ? '_' : *name)) return false;
    return !*row && !*name;
}
static void fill(void) {
    for (int k = 0; k < ROWS; k++) {
        uint32_t h = hash(rows[k].name) % BUCKETS;
        while (bucket[h]) h = (h + 1) % BUCKETS;
        bucket[h] = (uint16_t)(k + 1);
    }
}
const LaneOp *lanes_find(const char *name) {
    pthread_once(&bucket_once, fill);
    for (uint32_t h = hash(name) % BUCKETS; bucket[h]; h = (h + 1) % BUCKETS)
        if (same(rows[bucket[h] - 1].name, name)) return &rows[bucket[h] - 1];
    return NULL;
}
const LaneOp *lanes_row(int k) { return k >= 0 && k < ROWS ? &rows[k] : NULL; }

static bool has(const char *name, const char *part) { return strstr(name, part) != NULL; }
const char *lanes_refusal(const char *name) {
    size_t n = strlen(name);
    bool is_float =
        n > 4 && (!strcmp(name + n - 4, ".f32") || !strcmp(name + n - 4, ".f64") ||
                  !strcmp(name + n - 4, ".f16") || has(name, ".f16x2") || has(name, "bf16"));
    bool is_sum =
        !strncmp(name, "add.", 4) || !strncmp(name, "sub.", 4) || !strncmp(name, "mul.", 4);
    if (has(name, ".approx")) return "its bits are not defined";
    if (has(name, ".full")) return "its bits are not defined";
    if (has(name, ".ftz")) return "it flushes denormals";
    if (is_float && is_sum) return "without .rn an assembler may contract it";
    if (is_float && !strncmp(name, "mad.", 4)) return "its rounding is not said";
    return NULL;
}
