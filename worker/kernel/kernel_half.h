/* kernel_half.h: the casts between float16 and float32, which every computation on float16 begins
 * and ends with. They use the processor's conversion where the instruction set has one, else
 * prologue_half.h. Both give the same bits (tests/unit/half_test.c tries all of them). Only
 * build/gen/kernels.c includes this file.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_KERNEL_HALF_H
#define GT_WORKER_KERNEL_KERNEL_HALF_H
#include "worker/kernel/kernel_loops.h"

#ifdef __F16C__
#include <immintrin.h>

static void cast_f16_f32(int64_t n, void *out_, const void *const *in, unsigned scalars) {
    float *out = out_;
    const uint16_t *x = in[0];
    int64_t i = 0, step = !scalars;
    for (; step && i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
    for (; i < n; i++) out[i] = f16_to_f32(x[i * step]);
}
static void cast_f32_f16(int64_t n, void *out_, const void *const *in, unsigned scalars) {
    uint16_t *out = out_;
    const float *x = in[0];
    int64_t i = 0, step = !scalars;
    const __m128i magnitude = _mm_set1_epi16(0x7fff), infinity = _mm_set1_epi16(0x7c00);
    for (; step && i + 8 <= n; i += 8) {
        __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
        __m128i is_nan = _mm_cmpgt_epi16(_mm_and_si128(h, magnitude), infinity);
        h = _mm_blendv_epi8(h, _mm_set1_epi16(0x7e00), is_nan); /* every nan becomes this one */
        _mm_storeu_si128((__m128i *)(out + i), h);
    }
    for (; i < n; i++) out[i] = f32_to_f16(x[i * step]);
}
#else
MAP1(cast_f16_f32, uint16_t, float, f16_to_f32(a))
MAP1(cast_f32_f16, float, uint16_t, f32_to_f16(a))
#endif
#endif
