/* half.h: float16 and bfloat16 as numbers, for the emulator: rounded to nearest, ties to even, with
 * the one nan of devices.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_GPU_HALF_H
#define GT_TESTS_GPU_HALF_H
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t f32_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float f32_from(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
static inline uint16_t half_of(double a) {
    uint16_t sign = signbit(a) ? 0x8000 : 0;
    double x = fabs(a);
    if (x != x) return 0x7fff;
    if (x >= 65520) return sign | 0x7c00;
    if (x < 0x1p-14) return sign | (uint16_t)nearbyint(x * 0x1p24);
    int e = ilogb(x);
    return sign | (uint16_t)(((e + 15) << 10) + (int)nearbyint(ldexp(x, 10 - e)) - 1024);
}
static inline float of_half(uint16_t h) {
    int e = h >> 10 & 31, m = h & 1023;
    float v = e == 31 ? (m ? NAN : INFINITY)
              : e     ? ldexpf((float)(1024 + m), e - 25)
                      : ldexpf((float)m, -24);
    return h & 0x8000 ? -v : v;
}
static inline uint16_t bhalf_of(float x) {
    uint32_t u = f32_bits(x);
    return x != x ? 0x7fff : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static inline float of_bhalf(uint16_t h) { return f32_from((uint32_t)h << 16); }
#endif
