/* half_test.c: float16 and bfloat16: all 65,536 values of each, both ways, on every instruction
 * set; the rounding of float32 around every boundary between two of them; and the functions that
 * have a shorter form for halves. Compared are the
 * definition of the format, runtime/inst/element.c, and the kernels' casts.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/element.h"
#include "tests/unit/check.h"
#include "worker/kernel/kernels.h"
#include "worker/kernel/prologue.h"

#include <math.h>
#include <string.h>

/* The value by definition: sign, exponent, fraction. */
static double by_definition(DType d, int bits) {
    int fraction_bits = d == DT_F16 ? 10 : 7, bias = d == DT_F16 ? 15 : 127;
    int fraction = bits & ((1 << fraction_bits) - 1), top = 2 * bias + 1;
    int exponent = bits >> fraction_bits & top;
    double sign = bits & 0x8000 ? -1 : 1, whole = 1 << fraction_bits;
    if (exponent == top) return fraction ? (double)NAN : sign * INFINITY;
    if (exponent == 0) return sign * fraction / whole * pow(2, 1 - bias);
    return sign * (1 + fraction / whole) * pow(2, exponent - bias);
}

static bool is_same(double x, double y) {
    return (isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y));
}

static const Kernels *const isas[] = {&kernels_base, &kernels_v3, &kernels_v4};
static bool runs_here(const Kernels *k) {
    const Kernels *best = kernels_find();
    return k == &kernels_base || k == best || (k == &kernels_v3 && best == &kernels_v4);
}

enum { ALL = 65536 };
static uint16_t bits[ALL], back[ALL];
static float wide[ALL], want[ALL];

static void test_all(DType d) {
    uint16_t nan = half_from_float(d, NAN);
    for (int i = 0; i < ALL; i++) {
        double x = by_definition(d, i);
        bits[i] = (uint16_t)i, want[i] = (float)x;
        CHECK(is_same(half_to_float(d, (uint16_t)i), x));
        uint16_t again = half_from_float(d, (float)x);
        CHECK_INT(again, isnan(x) ? nan : i);
        CHECK(element_float(d, &bits[i]) == x || isnan(x));
    }
    CHECK_INT(nan, d == DT_F16 ? 0x7e00 : 0x7fc0);
    for (size_t k = 0; k < sizeof isas / sizeof *isas; k++) {
        if (!runs_here(isas[k])) continue;
        const void *from = bits;
        isas[k]->cast[d][DT_F32](ALL, wide, &from, 0);
        from = wide;
        isas[k]->cast[DT_F32][d](ALL, back, &from, 0);
        int wrong = 0;
        for (int i = 0; i < ALL; i++)
            wrong += !is_same(wide[i], want[i]) || back[i] != (isnan(want[i]) ? nan : i);
        CHECK_MSG(wrong == 0, "%s %s: %d of 65536 are wrong", isas[k]->isa, dtype_info[d].name,
                  wrong);
    }
}

/* The float32 half way between two neighbours, and those just beside it. */
static void test_boundaries(DType d) {
    int largest = d == DT_F16 ? 0x7bff : 0x7f7f, wrong = 0, n = 0;
    for (int i = 0; i <= largest; i++) {
        double low = by_definition(d, i), up = by_definition(d, i + 1);
        if (i == largest) up = low + (low - by_definition(d, i - 1)); /* in place of inf */
        float middle = (float)(low + (up - low) / 2);
        CHECK((double)middle == low + (up - low) / 2);
        struct {
            float x;
            int want;
        } tries[] = {{nextafterf(middle, 0), i},
                     {middle, i + (i & 1)},
                     {nextafterf(middle, INFINITY), i + 1}};
        for (int t = 0; t < 3; t++) {
            for (int sign = 0; sign < 2; sign++) {
                float x = sign ? -tries[t].x : tries[t].x;
                int right = tries[t].want | (sign ? 0x8000 : 0);
                wrong += half_from_float(d, x) != right;
                wide[n] = x, back[n++] = (uint16_t)right;
            }
        }
        if (n + 6 <= ALL && i != largest) continue;
        for (size_t k = 0; k < sizeof isas / sizeof *isas; k++) {
            if (!runs_here(isas[k])) continue;
            const void *from = wide;
            isas[k]->cast[DT_F32][d](n, bits, &from, 0);
            CHECK_MSG(!memcmp(bits, back, (size_t)n * 2), "%s %s: boundaries below %d",
                      isas[k]->isa, dtype_info[d].name, i);
        }
        n = 0;
    }
    CHECK_MSG(wrong == 0, "%s: %d boundaries are wrong", dtype_info[d].name, wrong);
}

/* Any float32: the kernels agree with the plain definition. */
static void test_random(DType d) {
    uint64_t state = 1;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < ALL; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint32_t u = (uint32_t)(state >> 32);
            memcpy(&wide[i], &u, 4);
            bits[i] = half_from_float(d, wide[i]);
        }
        for (size_t k = 0; k < sizeof isas / sizeof *isas; k++) {
            if (!runs_here(isas[k])) continue;
            const void *from = wide;
            isas[k]->cast[DT_F32][d](ALL, back, &from, 0);
            CHECK(!memcmp(bits, back, sizeof bits));
        }
    }
}

/* Known values: 0.1, the largest, the next above it, the smallest, half of that. */
static void test_known(void) {
    CHECK_INT(half_from_float(DT_F16, 0.1f), 0x2e66);
    CHECK_INT(half_from_float(DT_BF16, 0.1f), 0x3dcd);
    CHECK_INT(half_from_float(DT_F16, 65504), 0x7bff);
    CHECK_INT(half_from_float(DT_F16, 65519), 0x7bff);
    CHECK_INT(half_from_float(DT_F16, 65520), 0x7c00);
    CHECK_INT(half_from_float(DT_F16, -1e30f), 0xfc00);
    CHECK_INT(half_from_float(DT_F16, 0x1p-24f), 1);
    CHECK_INT(half_from_float(DT_F16, 0x1p-25f), 0);
    CHECK_INT(half_from_float(DT_F16, 0x1.000002p-25f), 1);
    CHECK_INT(half_from_float(DT_BF16, 3.4e38f), 0x7f80);
    CHECK_INT(half_from_float(DT_BF16, 0x1p-133f), 1);
    CHECK(dtype_holds_float(DT_F16, 65519) && !dtype_holds_float(DT_F16, 65520));
    CHECK(dtype_holds_float(DT_F16, INFINITY) && dtype_holds_float(DT_F32, 1e300));
    CHECK(!dtype_holds_int(DT_I8, 128) && dtype_holds_int(DT_I8, -128));
    CHECK(!dtype_holds_int(DT_U8, -1) && dtype_holds_int(DT_I64, INT64_MIN));
}

/* Rows with a shorter form for halves: the same half as the row in float32, for all arguments. */
static void test_short(DType d) {
    int forms = 0;
    for (int i = 0; i < ALL; i++) wide[i] = half_to_float(d, (uint16_t)i);
    for (Op op = 0; op < OP_COUNT; op++)
        for (size_t k = 0; k < sizeof isas / sizeof *isas; k++) {
            if (!runs_here(isas[k]) || !isas[k]->map[op][d]) continue;
            const void *from = wide;
            int wrong = 0, at = 0;
            isas[k]->map[op][d](ALL, want, &from, 0);
            for (int i = 0; i < ALL; i++) back[i] = half_from_float(d, want[i]);
            isas[k]->map[op][DT_F32](ALL, want, &from, 0);
            for (int i = 0; i < ALL; i++)
                if (back[i] != half_from_float(d, want[i])) wrong++, at = i;
            CHECK_MSG(wrong == 0, "%s %s of %s: %d of 65536 differ, the last at %04x", isas[k]->isa,
                      op_info[op].name, dtype_info[d].name, wrong, at);
            forms++;
        }
    CHECK(forms > 0);
}

int main(void) {
    test_known();
    static const DType halves[] = {DT_F16, DT_BF16};
    for (int i = 0; i < 2; i++) {
        test_all(halves[i]);
        test_short(halves[i]);
        test_boundaries(halves[i]);
        test_random(halves[i]);
    }
    return check_report("half");
}
