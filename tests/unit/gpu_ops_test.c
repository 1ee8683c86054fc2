/* gpu_ops_test.c: every instruction of the emulated GPU that only computes (tests/gpu/ptx_ops.def)
 * on edge values and random ones, with all threads and under a guard, against the same in C:
 * written here a second time, from the manual of PTX, and from the name alone. A row without an
 * expectation fails.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/gpu.h"
#include "tests/unit/random.h"
#include <fenv.h>
#include <math.h>

enum { N = 1024, WORDS = 6, TEXT_MAX = 1 << 20 };
enum { FACT_TAKES = 1, FACT_GIVES = 2, FACT_NEAR = 4 };

/* ---- Values ---- */

/* clang-format off */
static const uint64_t whole[] = {
    0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7fff,
    0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 0x100000000,
    0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffffe, 0xffffffffffffffff, 0x5410,
    0x7632, 0x0123456789abcdef};
/* clang-format on */
/* clang-format off */
static const double real[] = {
    0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 1e-3, 0x1p-126, 0x1p-149, -0x1p-140,
    0x1.fffffcp-127, 0x1.fffffep127, -0x1.fffffep127, INFINITY, -INFINITY, NAN, 65504, 65519,
    65520, 65536, 0x1p-14, 0x1p-24, 0x1p-25, 0x1.8p-25, 2147483647, 2147483648.0, -2147483648.0,
    -2147483649.0, 4294967295.0, 4294967296.0, 9.2233720368547758e18, 1.8446744073709552e19,
    127.5, 128, -128.5, 255.5, 32767.5, 32768, 0x1p-1022, 0x1p-1074, 0x1.fffffffffffffp1023,
    1e300, 1e-300, 0x1.000001p0, 0x1.0000010000001p0, 3.14159, -7.25};
/* clang-format on */

static uint64_t bits_of(double x, bool is_single) {
    uint64_t u = 0;
    float f = (float)x;
    if (is_single)
        memcpy(&u, &f, 4);
    else
        memcpy(&u, &x, 8);
    return u;
}
static uint64_t pick(Rand *r, bool is_float, char width) {
    int how = rand_below(r, 8);
    uint64_t v = how == 0   ? rand_u64(r)
                 : how == 1 ? rand_u64(r) >> rand_below(r, 64)
                            : whole[rand_below(r, sizeof whole / sizeof *whole)];
    if (is_float && how > 1)
        v = bits_of(real[rand_below(r, sizeof real / sizeof *real)], width == 'w');
    if (is_float && how == 1) v = bits_of((double)(int64_t)rand_u64(r) * 0x1p-60, width == 'w');
    return width == 'p'                   ? v & 1
           : width == 'b' || width == 'h' ? v & 0xffff
           : width == 'w'                 ? (uint32_t)v
                                          : v;
}

/* ---- What C gives ---- */

typedef struct Case {
    char word[WORDS][16];
    int n;
    const char *type; /* the last word */
    uint64_t s[4];
    uint32_t carry;
    uint64_t want;
    uint32_t want_carry;
    double near; /* an approximation: the most that it may be off, relatively */
    bool is_undefined, is_any_nan;
} Case;

static bool is(const Case *c, int k, const char *word) {
    return k < c->n && !strcmp(c->word[k], word);
}
static int bits(const char *type) {
    return !strcmp(type, "pred") ? 1 : atoi(type + 1 + (type[0] == 'b' && type[1] == 'f'));
}
static bool is_float(const char *type) { return type[0] == 'f'; }
static uint64_t cut(uint64_t v, int n) { return n >= 64 ? v : v & ((UINT64_C(1) << n) - 1); }
static __int128 value(uint64_t v, const char *type) {
    int n = bits(type);
    v = cut(v, n);
    if (type[0] != 's' || !(v >> (n - 1) & 1)) return (__int128)v;
    return (__int128)v - ((__int128)1 << n);
}
static double number(uint64_t v, const char *type) {
    float f;
    double d;
    memcpy(&f, &v, 4);
    memcpy(&d, &v, 8);
    return bits(type) == 32 ? (double)f : d;
}
static void give(Case *c, double x, const char *type) {
    if (x != x && bits(type) == 32)
        c->want = 0x7fffffff;
    else
        c->want = bits_of(x, bits(type) == 32);
    c->is_any_nan = x != x && bits(type) == 64;
}
static int rounding(const char *word) {
    return !strcmp(word, "rz")   ? FE_TOWARDZERO
           : !strcmp(word, "rm") ? FE_DOWNWARD
           : !strcmp(word, "rp") ? FE_UPWARD
                                 : FE_TONEAREST;
}
/* One operation on floats in its own precision and rounding. */
static double float_op(const Case *c, double x, double y, double z) {
    bool single = bits(c->type) == 32;
    const char *op = c->word[0];
    volatile float fx = (float)x, fy = (float)y, fz = (float)z, f = 0;
    volatile double dx = x, dy = y, dz = z, d = 0;
    fesetround(rounding(c->word[1]));
    if (!strcmp(op, "add"))
        single ? (f = fx + fy) : (d = dx + dy);
    else if (!strcmp(op, "sub"))
        single ? (f = fx - fy) : (d = dx - dy);
    else if (!strcmp(op, "mul"))
        single ? (f = fx * fy) : (d = dx * dy);
    else if (!strcmp(op, "div"))
        single ? (f = fx / fy) : (d = dx / dy);
    else if (!strcmp(op, "rcp"))
        single ? (f = 1 / fx) : (d = 1 / dx);
    else if (!strcmp(op, "sqrt"))
        single ? (f = sqrtf(fx)) : (d = sqrt(dx));
    else
        single ? (f = fmaf(fx, fy, fz)) : (d = fma(dx, dy, dz));
    fesetround(FE_TONEAREST);
    return single ? (double)f : d;
}
static double smaller(double x, double y) { return x < y || (x == y && signbit(x)) ? x : y; }
static bool float_row(Case *c) {
    const char *op = c->word[0], *t = c->type;
    uint64_t top = UINT64_C(1) << (bits(t) - 1);
    double x = number(c->s[0], t), y = number(c->s[1], t), z = number(c->s[2], t);
    bool rounds = c->n == 3 && c->word[1][0] == 'r' && strlen(c->word[1]) == 2;
    if (rounds)
        give(c, float_op(c, x, y, z), t);
    else if (!strcmp(op, "neg"))
        c->want = c->s[0] ^ top;
    else if (!strcmp(op, "abs"))
        c->want = c->s[0] & ~top;
    else if (!strcmp(op, "copysign"))
        c->want = (c->s[1] & ~top) | (c->s[0] & top);
    else if (!strcmp(op, "mov"))
        c->want = c->s[0];
    else if (!strcmp(op, "selp"))
        c->want = c->s[2] ? c->s[0] : c->s[1];
    else if (!strcmp(op, "slct"))
        c->want = z >= 0 ? c->s[0] : c->s[1];
    else if (!strcmp(op, "min") || !strcmp(op, "max")) {
        double m = !strcmp(op, "min") ? smaller(x, y) : -smaller(-x, -y);
        bool keeps = is(c, 1, "NaN");
        give(c, x != x || y != y ? (keeps ? (double)NAN : x != x ? y : x) : m, t);
    } else if (!strcmp(op, "testp")) {
        const char *w = c->word[1];
        bool small = bits(t) == 32 ? fabs(x) < 0x1p-126 : fabs(x) < 0x1p-1022;
        c->want = !strcmp(w, "finite")       ? isfinite(x)
                  : !strcmp(w, "infinite")   ? isinf(x) != 0
                  : !strcmp(w, "number")     ? x == x
                  : !strcmp(w, "notanumber") ? x != x
                  : !strcmp(w, "subnormal")  ? small && x != 0
                                             : isfinite(x) && !small;
    } else
        return false;
    return true;
}
static double flush(double x) { return fabs(x) < 0x1p-126 ? copysign(0, x) : x; }
static bool near_row(Case *c) {
    const char *op = c->word[0], *t = c->type;
    double x = number(c->s[0], t);
    if (!strcmp(op, "div")) {
        double y = number(c->s[1], t);
        give(c, (double)(float)(x / y), t);
        c->near = 0x1p-21, c->is_undefined = fabs(y) > 0x1p126 || fabs(x / y) < 0x1p-125;
        return true;
    }
    if (bits(t) == 32) x = flush(x);
    double y = !strcmp(op, "ex2")     ? exp2(x)
               : !strcmp(op, "lg2")   ? log2(x)
               : !strcmp(op, "rcp")   ? 1 / x
               : !strcmp(op, "rsqrt") ? 1 / sqrt(x)
                                      : sqrt(x);
    if (bits(t) == 32) y = flush((double)(float)y);
    give(c, y, t);
    c->near = bits(t) == 32 ? 0x1p-20 : 0x1p-19;
    c->is_undefined = (!strcmp(op, "lg2") && fabs(y) < 1) || fabs(y) < 0x1p-125 ||
                      (bits(t) == 64 && (fabs(x) < 0x1p-1020 || fabs(y) < 0x1p-1020));
    return true;
}
static bool compare_row(Case *c) {
    const char *w = c->word[1], *t = c->type;
    int less, equal, none = 0;
    if (is_float(t)) {
        double x = number(c->s[0], t), y = number(c->s[1], t);
        less = x < y, equal = x == y, none = x != x || y != y;
        if (!strcmp(w, "num") || !strcmp(w, "nan"))
            return c->want = !strcmp(w, "num") ? !none : none, true;
        if (none) return c->want = w[2] == 'u', true;
    } else {
        __int128 x = value(c->s[0], t), y = value(c->s[1], t);
        less = x < y, equal = x == y;
    }
    if (!strncmp(w, "eq", 2))
        c->want = equal;
    else if (!strncmp(w, "ne", 2))
        c->want = !equal;
    else if (!strncmp(w, "lt", 2) || !strcmp(w, "lo"))
        c->want = less;
    else if (!strncmp(w, "le", 2) || !strcmp(w, "ls"))
        c->want = less || equal;
    else if (!strncmp(w, "gt", 2) || !strcmp(w, "hi"))
        c->want = !less && !equal;
    else if (!strncmp(w, "ge", 2) || !strcmp(w, "hs"))
        c->want = !less;
    else
        return false;
    return true;
}
/* The half nearest to x, found among all: none of the emulator's ways. */
static uint16_t nearest_half(double x) {
    if (x != x) return 0x7fff;
    uint16_t best = 0;
    double off = INFINITY;
    for (uint32_t h = 0; h <= 0x7c00; h++) {
        int e = (int)(h >> 10), m = h & 1023;
        double v = h == 0x7c00 ? 65536 : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
        double d = fabs(fabs(x) - v);
        if (isinf(x))
            d = h == 0x7c00 ? 0 : 1;
        else if (fabs(x) >= 65536)
            d = h == 0x7c00 ? 0 : 1;
        if (d < off || (d == off && !(h & 1))) off = d, best = (uint16_t)h;
    }
    return best | (signbit(x) ? 0x8000 : 0);
}
static uint16_t bhalf(uint64_t f) {
    float x;
    memcpy(&x, &f, 4);
    if (x != x) return 0x7fff;
    uint32_t low = (uint32_t)f & 0xffff, high = (uint32_t)f >> 16;
    return (uint16_t)(high + (low > 0x8000 || (low == 0x8000 && (high & 1))));
}
static double half_value(uint16_t h) {
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (m ? (double)NAN : (double)INFINITY)
               : e     ? ldexp(1024 + m, e - 25)
                       : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}
static void to_whole(Case *c, const char *to, const char *from, const char *how) {
    double x = number(c->s[0], from);
    int n = bits(to);
    double y = how[1] == 'n'   ? nearbyint(x)
               : how[1] == 'z' ? trunc(x)
               : how[1] == 'm' ? floor(x)
                               : ceil(x);
    __int128 top = (__int128)1 << (n - (to[0] == 's')), low = to[0] == 's' ? -top : 0, v;
    if (x != x)
        v = bits(from) == 64 || n == 64 ? (__int128)1 << (n - 1) : 0;
    else
        v = y >= (double)top ? top - 1 : y < (double)low ? low : (__int128)y;
    c->want = cut((uint64_t)v, n);
}
static bool convert_row(Case *c) {
    const char *to = c->word[c->n - 2], *from = c->type, *how = c->n > 3 ? c->word[1] : "";
    if (!strcmp(to, "f16x2"))
        c->want = (uint64_t)nearest_half(number(c->s[0], from)) << 16 |
                  nearest_half(number(c->s[1], from));
    else if (!strcmp(to, "bf16x2"))
        c->want = (uint64_t)bhalf(c->s[0]) << 16 | bhalf(c->s[1]);
    else if (!strcmp(to, "f16"))
        c->want = nearest_half(number(c->s[0], from));
    else if (!strcmp(to, "bf16"))
        c->want = bhalf(c->s[0]);
    else if (!strcmp(from, "f16"))
        give(c, half_value((uint16_t)c->s[0]), to);
    else if (!strcmp(from, "bf16"))
        give(c, number(c->s[0] << 16, "f32"), to);
    else if (!strcmp(how, "sat")) {
        double x = number(c->s[0], from);
        give(c, x > 0 ? x < 1 ? x : 1 : 0, to);
    } else if (is_float(to) && is_float(from) && strlen(how) == 3) {
        double x = number(c->s[0], from);
        give(c,
             how[1] == 'n'   ? nearbyint(x)
             : how[1] == 'z' ? trunc(x)
             : how[1] == 'm' ? floor(x)
                             : ceil(x),
             to);
    } else if (is_float(to) && is_float(from)) {
        volatile double x = number(c->s[0], from);
        fesetround(rounding(how));
        volatile float f = (float)x;
        fesetround(FE_TONEAREST);
        give(c, bits(to) == 32 ? (double)f : x, to);
    } else if (is_float(to)) {
        __int128 v = value(c->s[0], from);
        give(c, bits(to) == 32 ? (double)(float)v : (double)v, to);
    } else if (is_float(from))
        to_whole(c, to, from, how);
    else
        c->want = (uint64_t)value(c->s[0], from);
    int n = bits(to);
    if (n == 8)
        c->want = to[0] == 's' ? cut((uint64_t)value(c->want, "s8"), 16) : cut(c->want, 8);
    else if (!is_float(to) && to[0] != 'b')
        c->want = cut(c->want, n);
    return true;
}
static bool carry_row(Case *c, bool takes) {
    bool is_mad = !strncmp(c->word[0], "mad", 3), is_sub = !strncmp(c->word[0], "sub", 3);
    uint64_t a = (uint32_t)c->s[0], b = (uint32_t)c->s[1], in = takes ? c->carry : 0;
    if (is_mad) a = is(c, 1, "hi") ? a * b >> 32 : (uint32_t)(a * b), b = (uint32_t)c->s[2];
    uint64_t v = is_sub ? a - b - in : a + b + in;
    c->want = (uint32_t)v;
    c->want_carry = v >> 32 & 1;
    return true;
}
static bool field_row(Case *c) {
    const char *op = c->word[0], *t = c->type;
    int n = bits(t);
    uint64_t a = cut(c->s[0], n);
    if (!strcmp(op, "bfe")) {
        uint64_t at = c->s[1] & 255, count = c->s[2] & 255, v = 0;
        uint64_t last = at + count - 1 < (uint64_t)n - 1 ? at + count - 1 : (uint64_t)n - 1;
        bool sign = t[0] == 's' && count && a >> last & 1;
        for (uint64_t k = 0; k < (uint64_t)n; k++)
            v |= (uint64_t)(k < count && at + k < (uint64_t)n ? a >> (at + k) & 1 : sign) << k;
        c->want = v;
    } else if (!strcmp(op, "bfi")) {
        uint64_t v = cut(c->s[1], n), at = c->s[2] & 255, count = c->s[3] & 255;
        for (uint64_t k = 0; k < count && at + k < (uint64_t)n; k++)
            v = (v & ~(UINT64_C(1) << (at + k))) | (a >> k & 1) << (at + k);
        c->want = v;
    } else if (!strcmp(op, "lop3")) {
        for (int k = 0; k < 32; k++) {
            int row = (int)((a >> k & 1) << 2 | (c->s[1] >> k & 1) << 1 | (c->s[2] >> k & 1));
            c->want |= (c->s[3] >> row & 1) << k;
        }
    } else if (!strcmp(op, "prmt")) {
        for (int k = 0; k < 4; k++) {
            int s = (int)(c->s[2] >> (4 * k)) & 15;
            uint64_t byte = (s & 4 ? c->s[1] : c->s[0]) >> (8 * (s & 3)) & 255;
            c->want |= (s & 8 ? (byte & 128 ? 255 : 0) : byte) << (8 * k);
        }
    } else if (!strcmp(op, "shf")) {
        uint64_t both = c->s[1] << 32 | c->s[0], by = is(c, 2, "wrap") ? c->s[2] & 31
                                                      : c->s[2] < 32   ? c->s[2]
                                                                       : 32;
        c->want = is(c, 1, "l") ? (uint32_t)((both << by) >> 32) : (uint32_t)(both >> by);
    } else
        return false;
    return true;
}
static bool bit_row(Case *c) {
    const char *op = c->word[0], *t = c->type;
    int n = bits(t), count = 0, high = -1;
    uint64_t a = cut(c->s[0], n), b = cut(c->s[1], n), back = 0;
    for (int k = 0; k < n; k++) {
        if (a >> k & 1) count++, back |= UINT64_C(1) << (n - 1 - k);
        bool differs = (a >> k & 1) != (t[0] == 's' ? a >> (n - 1) & 1 : 0);
        if (differs) high = k;
    }
    if (!strcmp(op, "and"))
        c->want = a & b;
    else if (!strcmp(op, "or"))
        c->want = a | b;
    else if (!strcmp(op, "xor"))
        c->want = a ^ b;
    else if (!strcmp(op, "not"))
        c->want = cut(~a, n);
    else if (!strcmp(op, "popc"))
        c->want = (uint64_t)count;
    else if (!strcmp(op, "clz"))
        c->want = (uint64_t)(n - 1 - high);
    else if (!strcmp(op, "brev"))
        c->want = back;
    else if (!strcmp(op, "bfind"))
        c->want = high < 0 ? UINT32_MAX : (uint64_t)(is(c, 1, "shiftamt") ? n - 1 - high : high);
    else if (!strcmp(op, "shl"))
        c->want = (uint32_t)c->s[1] < (uint32_t)n ? cut(a << c->s[1], n) : 0;
    else if (!strcmp(op, "shr")) {
        uint32_t by = (uint32_t)c->s[1] < (uint32_t)n ? (uint32_t)c->s[1] : (uint32_t)n;
        c->want = cut((uint64_t)(value(a, t) >> by), n);
    } else
        return field_row(c);
    return true;
}
static bool whole_row(Case *c) {
    const char *op = c->word[0], *t = c->type;
    int n = bits(t);
    __int128 a = value(c->s[0], t), b = value(c->s[1], t), d = value(c->s[2], t), v;
    unsigned __int128 product = (unsigned __int128)a * (unsigned __int128)b;
    bool is_wide = is(c, 1, "wide");
    if (!strcmp(op, "mul24")) {
        int shift = t[0] == 's' ? 104 : 0;
        a = shift ? (__int128)((unsigned __int128)a << shift) >> shift : a & 0xffffff;
        b = shift ? (__int128)((unsigned __int128)b << shift) >> shift : b & 0xffffff;
        v = a * b;
    } else if (!strcmp(op, "add"))
        v = a + b;
    else if (!strcmp(op, "sub"))
        v = a - b;
    else if (!strcmp(op, "neg"))
        v = -a;
    else if (!strcmp(op, "abs"))
        v = a < 0 ? -a : a;
    else if (!strcmp(op, "min"))
        v = a < b ? a : b;
    else if (!strcmp(op, "max"))
        v = a > b ? a : b;
    else if (!strcmp(op, "div"))
        v = (c->is_undefined = !b) ? 0 : a / b;
    else if (!strcmp(op, "rem"))
        v = (c->is_undefined = !b) ? 0 : a % b;
    else if (!strcmp(op, "sad"))
        v = (a < b ? b - a : a - b) + d;
    else if (!strcmp(op, "dp4a")) {
        v = (__int128)(uint32_t)c->s[2];
        for (int k = 0; k < 4; k++)
            v += value(c->s[0] >> (8 * k), t[0] == 's' ? "s8" : "u8") *
                 value(c->s[1] >> (8 * k), t[0] == 's' ? "s8" : "u8");
    } else if (!strcmp(op, "mul") || !strcmp(op, "mad")) {
        v = (__int128)product;
        if (is(c, 1, "hi")) v = t[0] == 's' ? v >> n : (__int128)(product >> n);
        if (!strcmp(op, "mad")) v += is_wide ? (__int128)c->s[2] : d;
    } else if (!strcmp(op, "mov"))
        v = a;
    else if (!strcmp(op, "selp"))
        v = c->s[2] ? a : b;
    else if (!strcmp(op, "slct"))
        v = (int32_t)c->s[2] >= 0 ? (__int128)c->s[0] : (__int128)c->s[1];
    else
        return bit_row(c);
    c->want = cut((uint64_t)v, is_wide || (!strcmp(op, "slct") && is(c, 1, "b64")) ? 2 * n : n);
    return true;
}
static bool expect(Case *c, uint8_t facts) {
    if (facts & (FACT_TAKES | FACT_GIVES)) return carry_row(c, facts & FACT_TAKES);
    if (facts & FACT_NEAR) return near_row(c);
    if (!strcmp(c->word[0], "setp")) return compare_row(c);
    if (!strcmp(c->word[0], "cvt")) return convert_row(c);
    return is_float(c->type) ? float_row(c) : whole_row(c);
}

/* ---- A kernel for each row ---- */

typedef struct Text {
    char *at, *end;
} Text;
__attribute__((format(printf, 2, 3))) static void put(Text *t, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(t->at, (size_t)(t->end - t->at), format, ap);
    va_end(ap);
    if (n > 0 && n < t->end - t->at) t->at += n;
}
static const char *reg(char width) {
    return width == 'p' ? "%p" : width == 'h' || width == 'b' ? "%rs" : width == 'w' ? "%r" : "%rd";
}
static void put_store(Text *t, char width, int number, int at) {
    if (width == 'p')
        put(t, "selp.u32 %%r30, 1, 0, %%p%d; st.global.u32 [%%rd20+%d], %%r30;\n", number, at);
    else
        put(t, "st.global.%s [%%rd20+%d], %s%d;\n",
            width == 'w'   ? "b32"
            : width == 'd' ? "b64"
                           : "b16",
            at, reg(width), number);
}
/* Thread i reads 40 bytes (four sources, a carry) and writes 24: the result, that of odd threads,
 * the carry. */
static void put_kernel(Text *t, int k, const char *name, const char *widths, uint8_t facts) {
    char dotted[64], sources[80] = "";
    snprintf(dotted, sizeof dotted, "%s", name);
    for (char *p = dotted; *p; p++)
        if (*p == '_') *p = '.';
    put(t,
        ".visible .entry row%d(.param .u64 in, .param .u64 out) {\n"
        ".reg .pred %%p<10>; .reg .b16 %%rs<10>; .reg .b32 %%r<40>; .reg .b64 %%rd<30>;\n"
        "ld.param.u64 %%rd21, [in]; ld.param.u64 %%rd22, [out];\n"
        "mov.u32 %%r31, %%tid.x; mov.u32 %%r32, %%ctaid.x; mad.lo.u32 %%r33, %%r32, 128, %%r31;\n"
        "mad.wide.u32 %%rd21, %%r33, 40, %%rd21; mad.wide.u32 %%rd20, %%r33, 24, %%rd22;\n"
        "and.b32 %%r34, %%r33, 1; setp.ne.u32 %%p9, %%r34, 0; ld.global.u32 %%r35, [%%rd21+32];\n",
        k);
    for (int s = 0; widths[2 + s]; s++) {
        char w = widths[2 + s];
        if (w == 'p')
            put(t, "ld.global.u32 %%r30, [%%rd21+%d]; setp.ne.u32 %%p%d, %%r30, 0;\n", 8 * s, s);
        else
            put(t, "ld.global.%s %s%d, [%%rd21+%d];\n",
                w == 'w'   ? "b32"
                : w == 'd' ? "b64"
                           : "b16",
                reg(w), s, 8 * s);
        snprintf(sources + strlen(sources), sizeof sources - strlen(sources), ", %s%d", reg(w), s);
    }
    char d = widths[0];
    if (d == 'p')
        put(t, "setp.ne.u32 %%p8, 0, 0;\n");
    else
        put(t, "mov.b%d %s8, 21845;\n", d == 'w' ? 32 : d == 'd' ? 64 : 16, reg(d));
    if (facts & FACT_TAKES) put(t, "add.cc.u32 %%r36, %%r35, 0xffffffff;\n");
    put(t, "@%%p9 %s %s8%s;\n", dotted, reg(d), sources);
    if (facts & FACT_TAKES) put(t, "add.cc.u32 %%r36, %%r35, 0xffffffff;\n");
    put(t, "%s %s7%s;\n", dotted, reg(d), sources);
    if (facts & FACT_GIVES) put(t, "addc.u32 %%r36, 0, 0; st.global.u32 [%%rd20+16], %%r36;\n");
    put_store(t, d, 7, 0), put_store(t, d, 8, 8);
    put(t, "ret; }\n");
}
static Case split(const char *name) {
    Case c = {.n = 0};
    while (*name && c.n < WORDS) {
        size_t n = strcspn(name, "_");
        snprintf(c.word[c.n++], sizeof c.word[0], "%.*s", (int)n, name);
        name += n + (name[n] == '_');
    }
    return c;
}
static bool is_right(const Case *c, uint64_t got, char width) {
    if (got == c->want || c->is_undefined) return true;
    if (!c->near && !c->is_any_nan) return false;
    const char *t = width == 'w' ? "f32" : "f64";
    double x = number(got, t), y = number(c->want, t);
    if (y != y) return x != x;
    return c->near > 0 && fabs(x - y) <= fabs(y) * c->near;
}
static int test_row(const char *ptx_name, CUmodule module, int k, const char *widths, uint8_t facts,
                    Rand *r) {
    static uint64_t in[N][5], out[N][3];
    char entry[20], d = widths[0];
    Case c = split(ptx_name);
    const char *type = c.word[c.n - 1];
    for (int i = 0; i < N; i++) {
        for (int s = 0; s < 4; s++) {
            char w = s < (int)strlen(widths) - 2 ? widths[2 + s] : 'w';
            in[i][s] = pick(r, type[0] == 'f' && strcmp(type, "f16") != 0, w);
        }
        in[i][4] = (uint64_t)rand_below(r, 2);
    }
    memset(out, 0, sizeof out);
    CUfunction f;
    snprintf(entry, sizeof entry, "row%d", k);
    CHECK_CU(gpu.cuModuleGetFunction(&f, module, entry));
    CUdeviceptr from = gpu_buffer(in, sizeof in), to = gpu_buffer(out, sizeof out);
    void *param[] = {&from, &to};
    CHECK_CU(gpu_run(f, N / 128, 128, 0, param));
    CHECK_CU(gpu.cuMemcpyDtoH_v2(out, to, sizeof out));
    gpu.cuMemFree_v2(from), gpu.cuMemFree_v2(to);
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        Case one = c;
        one.type = one.word[one.n - 1];
        memcpy(one.s, in[i], sizeof one.s);
        one.carry = (uint32_t)in[i][4];
        if (!expect(&one, facts)) {
            CHECK_MSG(0, "%s: nothing says what it gives", ptx_name);
            return 1;
        }
        uint64_t idle = d == 'p' ? 0 : 21845;
        bool ok = is_right(&one, out[i][0], d) &&
                  (i & 1 ? is_right(&one, out[i][1], d) : out[i][1] == idle);
        if (facts & FACT_GIVES) ok = ok && out[i][2] == one.want_carry;
        if (!ok && !wrong++)
            CHECK_MSG(
                0, "%s(%#llx, %#llx, %#llx, %#llx) carry %u gives %#llx %#llx %llu, not %#llx %u",
                ptx_name, (unsigned long long)in[i][0], (unsigned long long)in[i][1],
                (unsigned long long)in[i][2], (unsigned long long)in[i][3], one.carry,
                (unsigned long long)out[i][0], (unsigned long long)out[i][1],
                (unsigned long long)out[i][2], (unsigned long long)one.want, one.want_carry);
    }
    CHECK(!wrong);
    return wrong;
}
int main(int argc, char **argv) {
    Rand r = {rand_seed(argc, argv)};
    if (!gpu_open(r.state)) return 1;
    Text t = {.at = malloc(TEXT_MAX)};
    char *text = t.at;
    t.end = text + TEXT_MAX;
    put(&t, ".version 8.0\n.target sm_80\n.address_size 64\n");
    const char *name, *widths;
    uint8_t facts;
    int n = 0;
    for (; gpu.emu_row(n, &name, &widths, &facts); n++) put_kernel(&t, n, name, widths, facts);
    CUmodule module;
    CHECK_CU(gpu.cuModuleLoadData(&module, text));
    for (int k = 0; k < n; k++) {
        gpu.emu_row(k, &name, &widths, &facts);
        test_row(name, module, k, widths, facts, &r);
    }
    printf("gpu_ops: %d instructions\n", n);
    free(text);
    return check_report("gpu_ops");
}
