/* element.c: see element.h. A half has `digits` significant binary digits and a smallest
 * exponent `lowest`. A float is converted to it by rounding the float's multiple of the half's last
 * digit; frexp gives that digit's exponent.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/element.h"
#include <math.h>
#include <string.h>

typedef struct Half {
    int digits, lowest;
    uint16_t infinity, nan;
} Half;
static Half half_of(DType d) {
    return d == DT_F16 ? (Half){11, -14, 0x7c00, 0x7e00} : (Half){8, -126, 0x7f80, 0x7fc0};
}

uint16_t half_from_float(DType d, float x) {
    Half h = half_of(d);
    if (isnan(x)) return h.nan;
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (isinf(x)) return sign | h.infinity;
    int exponent;
    frexp((double)x, &exponent); /* 2^(exponent - 1) <= |x| */
    if (x == 0 || exponent - 1 < h.lowest) exponent = h.lowest + 1;
    double units = nearbyint(ldexp(fabs((double)x), h.digits - exponent));
    /* Rounding up to the next power of two carries into the exponent, as it should. */
    double bits = units + ldexp(exponent - 1 - h.lowest, h.digits - 1);
    return sign | (bits < h.infinity ? (uint16_t)bits : h.infinity);
}

float half_to_float(DType d, uint16_t bits) {
    Half h = half_of(d);
    int magnitude = bits & 0x7fff, step = 1 << (h.digits - 1);
    if (magnitude > h.infinity) return NAN;
    int exponent = magnitude / step, fraction = magnitude % step;
    double a = magnitude == h.infinity ? INFINITY
               : exponent == 0         ? ldexp(fraction, h.lowest - h.digits + 1)
                                       : ldexp(fraction + step, h.lowest - h.digits + exponent);
    return (float)(bits & 0x8000 ? -a : a);
}

#define LOAD(T, p)                                                                                 \
    T x;                                                                                           \
    memcpy(&x, p, sizeof x)

int64_t element_int(DType d, const void *p) {
    switch (d) {
    case DT_I8: return *(const int8_t *)p;
    case DT_I32: {
        LOAD(int32_t, p);
        return x;
    }
    case DT_I64: {
        LOAD(int64_t, p);
        return x;
    }
    default: return *(const uint8_t *)p; /* bool, u8 */
    }
}

double element_float(DType d, const void *p) {
    switch (d) {
    case DT_F16:
    case DT_BF16: {
        LOAD(uint16_t, p);
        return half_to_float(d, x);
    }
    case DT_F32: {
        LOAD(float, p);
        return x;
    }
    case DT_F64: {
        LOAD(double, p);
        return x;
    }
    default: return (double)element_int(d, p);
    }
}

void element_set_float(DType d, void *p, double x) {
    float f = (float)x;
    if (dtype_is_half(d)) {
        uint16_t bits = half_from_float(d, f);
        memcpy(p, &bits, 2);
    } else if (d == DT_F32) {
        memcpy(p, &f, 4);
    } else {
        memcpy(p, &x, 8);
    }
}

void element_set_int(DType d, void *p, int64_t x) {
    int32_t i = (int32_t)x;
    if (dtype_is_half(d) || d == DT_F64) {
        element_set_float(d, p, (double)x);
        return;
    }
    float f = (float)x; /* rounded once, not by way of double */
    switch (d) {
    case DT_BOOL: *(uint8_t *)p = x != 0; break;
    case DT_I32: memcpy(p, &i, 4); break;
    case DT_I64: memcpy(p, &x, 8); break;
    case DT_F32: memcpy(p, &f, 4); break;
    default: *(uint8_t *)p = (uint8_t)x; /* u8, i8 */
    }
}

void dtype_range(DType d, int64_t *low, int64_t *high) {
    int bits = 8 * dtype_info[d].size_bytes - 1;
    *high = d == DT_BOOL ? 1 : d == DT_U8 ? UINT8_MAX : (int64_t)((UINT64_C(1) << bits) - 1);
    *low = d == DT_BOOL || d == DT_U8 ? 0 : -*high - 1;
}

bool dtype_holds_int(DType d, int64_t x) {
    if (dtype_is_float(d)) return dtype_holds_float(d, (double)x);
    int64_t low, high;
    dtype_range(d, &low, &high);
    return x >= low && x <= high;
}

bool dtype_holds_float(DType d, double x) {
    return !dtype_is_half(d) || !isfinite(x) ||
           !isinf(half_to_float(d, half_from_float(d, (float)x)));
}
