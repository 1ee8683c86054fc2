/* source.cu: ranges, and random numbers as runtime/base/rng.h defines them: an element for each
 * thread. T, the type of an element, and what MAKE makes of index i of the whole are defined
 * before.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/source.h"

/* Word k of the four: an index that is no constant would keep them in memory. */
PRO_FN uint32_t pick(const Philox *p, int k) {
    const uint32_t low = k & 1 ? p->w[1] : p->w[0], high = k & 1 ? p->w[3] : p->w[2];
    return k & 2 ? high : low;
}
/* The words of element i of 4 bytes, or of 8. */
PRO_FN uint32_t word_of(const SourceArgs *A, int64_t i) {
    const Philox p = philox(A->seed, A->counter, (uint64_t)i / 4);
    return pick(&p, (int)(i % 4));
}
PRO_FN void words_of(const SourceArgs *A, int64_t i, uint32_t *low, uint32_t *high) {
    const Philox p = philox(A->seed, A->counter, (uint64_t)i / 2);
    *low = pick(&p, (int)(i % 2 * 2)), *high = pick(&p, (int)(i % 2 * 2 + 1));
}

PRO_FN float make_uniform(const SourceArgs *A, int64_t i, int bits) {
    return (float)(int32_t)(word_of(A, i) >> (32 - bits)) * (1 / (float)(1 << bits));
}
PRO_FN double make_uniform_f64(const SourceArgs *A, int64_t i) {
    uint32_t low, high;
    words_of(A, i, &low, &high);
    return rng_double(low, high);
}
/* As in kernel_random.h. */
PRO_FN float make_normal(const SourceArgs *A, int64_t i) {
    const Philox p = philox(A->seed, A->counter, (uint64_t)i / 4);
    const int k = (int)(i % 4 / 2 * 2);
    const float u = rng_float(pick(&p, k)), v = rng_float(pick(&p, k + 1));
    const float r = f32_sqrt(-2 * f32_log(1 - u));
    const double turn = 4 * (double)v, whole = turn + 0x1.8p52;
    const int32_t q = (int32_t)(f64_bits(whole) & 3);
    return r * f32_quarter(turn - (whole - 0x1.8p52), i % 2 ? q : q + 1);
}
PRO_FN double make_normal_f64(const SourceArgs *A, int64_t i) {
    const int64_t k = i / 2 * 2;
    const double u = make_uniform_f64(A, k), v = make_uniform_f64(A, k + 1);
    const double length = sqrt(-2 * log(1 - u)), turn = 2 * 3.14159265358979323846 * v;
    return length * (i % 2 ? sin(turn) : cos(turn));
}
PRO_FN int64_t make_int(const SourceArgs *A, int64_t i) {
    return rng_int32(word_of(A, i), A->low, A->high);
}
PRO_FN int64_t make_int_64(const SourceArgs *A, int64_t i) {
    uint32_t low, high;
    words_of(A, i, &low, &high);
    return rng_int64(low, high, A->low, A->high);
}
PRO_FN double make_range(const SourceArgs *A, int64_t i) { return A->start + (double)i * A->step; }
PRO_FN uint64_t make_range_int(const SourceArgs *A, int64_t i) {
    return (uint64_t)A->low + (uint64_t)i * (uint64_t)A->high;
}

extern "C" __global__ void __launch_bounds__(256)
    FUSED(run)(const __grid_constant__ SourceArgs args) {
    const SourceArgs *const A = &args;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (int64_t k = first; k < A->n; k += threads) {
        const int64_t i = (k / A->row * A->rows + A->begin) * A->inner + k % A->row;
        ((T *)A->out)[k] = MAKE;
    }
}
