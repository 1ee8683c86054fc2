/* kernel_cuda.h: prepended to the CUDA C of kernels for the engine cuda (worker/emit/emit_cuda.c):
 * names of gcc's that NVRTC lacks, the arguments, the prologue's functions. The text of this file
 * and of all that it includes is in the program, as kernel_fused.h is. It is
 * included by no C file: only NVRTC compiles it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_KERNEL_CUDA_H
#define GT_WORKER_KERNEL_KERNEL_CUDA_H

#define __builtin_memcpy         memcpy
#define __builtin_fmaf           fmaf
#define __builtin_fma            fma
#define __builtin_fabsf          fabsf
#define __builtin_copysignf      copysignf
#define __builtin_floorf         floorf
#define __builtin_ceilf          ceilf
#define __builtin_truncf         truncf
#define __builtin_rintf          rintf
#define __builtin_sqrtf          sqrtf
#define __builtin_fmodf          fmodf
#define __builtin_floor          floor
#define __builtin_ceil           ceil
#define __builtin_trunc          trunc
#define __builtin_rint           rint
#define __builtin_sqrt           sqrt
#define __builtin_fabs           fabs
#define __builtin_copysign(a, b) copysign((double)(a), (double)(b))
#define __builtin_inff()         __int_as_float(0x7f800000)
#define __builtin_inf()          __longlong_as_double(0x7ff0000000000000)
#define __builtin_nanf(x)        __int_as_float(0x7fc00000)
#define __builtin_nan(x)         __longlong_as_double(0x7ff8000000000000)

#include "runtime/base/rng.h"
#include "worker/kernel/fused.h"
#include "worker/kernel/kernel_reduce.h"
#include "worker/kernel/prologue.h"

enum { CUDA_EACH = 4, CUDA_TILE = 32, CUDA_THREADS = 256 }; /* as in emit_cuda.h */
/* Blocks of 256 threads that are half of what a processor holds: 1,536 threads on sm_86 to sm_89
 * and from sm_120 on, 2,048 on others. */
#define HALF_BLOCKS (__CUDA_ARCH__ >= 1200 || (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) ? 3 : 4)

/* ---- Reductions: what kernel_fused.h has, for one thread ---- */

/* The value that thread l + by of 16 has. mask: those 16 of the warp. All must call it. */
template <typename R> __device__ __forceinline__ R lane_above(R value, int by, unsigned mask) {
    unsigned word[(sizeof(R) + 3) / 4] = {};
    memcpy(word, &value, sizeof value);
    for (int k = 0; k < (int)(sizeof word / sizeof *word); k++)
        word[k] = __shfl_down_sync(mask, word[k], by, LANES);
    memcpy(&value, word, sizeof value);
    return value;
}

/* NAME_lanes: reduces a block of n elements by 16 threads, one for each lane; the result is that of
 * lane 0. */
#define REDUCE_ABREAST(NAME, A, R, INIT)
#define REDUCE_IN_TURN(NAME, A, R)
#define REDUCE_REST(NAME, A, R, INIT)                                                              \
    PRO_FN R NAME##_tree(R *t, int64_t n) {                                                        \
        for (int64_t s = 1; s < n; s *= 2)                                                         \
            for (int64_t b = 0; b + s < n; b += 2 * s) t[b] = NAME##_both(t[b], t[b + s]);         \
        return t[0];                                                                               \
    }                                                                                              \
    /* By eights in registers, so that up to eight leaves are only read. */                        \
    PRO_FN R NAME##_leaves(R *t, int64_t leaves, int64_t n, int64_t c) {                           \
        for (int64_t g = 0; g < leaves; g += 8) {                                                  \
            R x[8];                                                                                \
            _Pragma("unroll") for (int k = 0; k < 8; k++) x[k] =                                   \
                g + k < leaves ? t[(g + k) * n + c] : (R)(INIT);                                   \
            _Pragma("unroll") for (int s = 1; s < 8; s *= 2)                                       \
                _Pragma("unroll") for (int b = 0; b < 8; b += 2 * s) if (g + b + s < leaves)       \
                    x[b] = NAME##_both(x[b], x[b + s]);                                            \
            if (leaves <= 8) return x[0];                                                          \
            t[g * n + c] = x[0];                                                                   \
        }                                                                                          \
        for (int64_t s = 8; s < leaves; s *= 2)                                                    \
            for (int64_t b = 0; b + s < leaves; b += 2 * s)                                        \
                t[b * n + c] = NAME##_both(t[b * n + c], t[(b + s) * n + c]);                      \
        return t[c];                                                                               \
    }                                                                                              \
    PRO_FN R NAME##_init() { return (R)(INIT); }                                                   \
    PRO_FN R NAME##_lanes(const A *x, int n, int lane, unsigned mask) {                            \
        enum { ROUND = 8 * LANES };                                                                \
        R r = (R)(INIT);                                                                           \
        int left = n - lane;                                                                       \
        x += lane;                                                                                 \
        _Pragma("unroll 1") for (; left > ROUND - LANES; left -= ROUND, x += ROUND)                \
            _Pragma("unroll") for (int k = 0; k < 8; k++) r = NAME##_op(r, x[k * LANES]);          \
        _Pragma("unroll 1") for (; left > 0; left -= LANES, x += LANES) r = NAME##_op(r, *x);      \
        for (int by = LANES / 2; by; by /= 2) r = NAME##_both(r, lane_above(r, by, mask));         \
        return r;                                                                                  \
    }                                                                                              \
    PRO_FN R NAME##_ending(R *lane) {                                                              \
        FOLD_LANES(NAME, 8)                                                                        \
        FOLD_LANES(NAME, 4) FOLD_LANES(NAME, 2) FOLD_LANES(NAME, 1) return lane[0];                \
    }

/* Maxima and minima of float32 in any order. NAME_any: of two; nan if either is, and 0 above -0.
 * NAME_threads: of what n threads found, a multiple of 16, by 16 of them; the result is in all. */
#define REDUCE_ANY(NAME, PTX)                                                                      \
    PRO_FN float NAME##_any(float a, float b) {                                                    \
        float y;                                                                                   \
        asm(PTX ".NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));                                \
        return y;                                                                                  \
    }                                                                                              \
    PRO_FN float NAME##_threads(const float *x, int n, int lane, unsigned mask) {                  \
        float r = x[lane];                                                                         \
        _Pragma("unroll 1") for (int k = lane + LANES; k < n; k += LANES) r = NAME##_any(r, x[k]); \
        _Pragma("unroll") for (int by = LANES / 2; by; by /= 2) r =                                \
            NAME##_any(r, __shfl_xor_sync(mask, r, by, LANES));                                    \
        return r;                                                                                  \
    }
REDUCE_ANY(max_f32, "max")
REDUCE_ANY(min_f32, "min")

/* Returns the row's index i of n elements. One out of range is noted, and returns 0. */
PRO_FN int64_t fused_index(FusedBad *bad, int64_t row, int64_t i, int64_t n) {
    typedef unsigned long long Bits;
    if (i >= 0 && i < n) return i;
    atomicMin((Bits *)&bad->high, (Bits)row << 32 | (Bits)i >> 32);
    atomicMin((Bits *)&bad->low, (Bits)row << 32 | (uint32_t)i);
    return 0;
}

/* ---- Several adjacent elements by one access ----
 * The accesses are assembler because NVRTC splits the copy of a struct into its elements, which
 * takes 2.5 times the traffic. A vector has at most 16 bytes and is aligned to its size. */

template <int BYTES> struct WideBits;
template <> struct WideBits<1> { unsigned char v; };
template <> struct WideBits<2> { unsigned short v; };
template <> struct WideBits<4> { unsigned v; };
template <> struct WideBits<8> { unsigned v, w; };
template <> struct WideBits<16> { unsigned v, w, x, y; };
__device__ __forceinline__ void wide_get(const char *p, WideBits<1> &b) {
    b.v = *(const unsigned char *)p;
}
__device__ __forceinline__ void wide_get(const char *p, WideBits<2> &b) {
    b.v = *(const unsigned short *)p;
}
__device__ __forceinline__ void wide_get(const char *p, WideBits<4> &b) {
    b.v = *(const unsigned *)p;
}
__device__ __forceinline__ void wide_get(const char *p, WideBits<8> &b) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];"
                 : "=r"(b.v), "=r"(b.w)
                 : "l"(__cvta_generic_to_global(p)));
}
__device__ __forceinline__ void wide_get(const char *p, WideBits<16> &b) {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(b.v), "=r"(b.w), "=r"(b.x), "=r"(b.y)
                 : "l"(__cvta_generic_to_global(p)));
}
__device__ __forceinline__ void wide_put(char *p, const WideBits<1> &b) {
    *(unsigned char *)p = b.v;
}
__device__ __forceinline__ void wide_put(char *p, const WideBits<2> &b) {
    *(unsigned short *)p = b.v;
}
__device__ __forceinline__ void wide_put(char *p, const WideBits<4> &b) { *(unsigned *)p = b.v; }
__device__ __forceinline__ void wide_put(char *p, const WideBits<8> &b) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)), "r"(b.v),
                 "r"(b.w)
                 : "memory");
}
__device__ __forceinline__ void wide_put(char *p, const WideBits<16> &b) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)),
                 "r"(b.v), "r"(b.w), "r"(b.x), "r"(b.y)
                 : "memory");
}
template <typename T, int N> struct Wide { T at[N]; };
template <typename T, int N>
__device__ __forceinline__ Wide<T, N> wide_load(const char *p, int64_t turn) {
    WideBits<sizeof(T) * N> bits;
    Wide<T, N> w;
    wide_get(p + turn * (int64_t)(sizeof(T) * N), bits);
    memcpy(&w, &bits, sizeof w);
    return w;
}
template <typename T, int N>
__device__ __forceinline__ void wide_store(char *p, int64_t turn, const Wide<T, N> &w) {
    WideBits<sizeof(T) * N> bits;
    memcpy(&bits, &w, sizeof w);
    wide_put(p + turn * (int64_t)(sizeof(T) * N), bits);
}

/* The same for four elements, wherever they lie. The compiler does not split its own vectors. */
#define QUAD(T, V)                                                                                 \
    __device__ __forceinline__ Wide<T, 4> quad_load(const T *p) {                                  \
        const V v = *(const V *)p;                                                                 \
        return {{v.x, v.y, v.z, v.w}};                                                             \
    }                                                                                              \
    __device__ __forceinline__ void quad_store(T *p, const Wide<T, 4> &w) {                        \
        *(V *)p = {w.at[0], w.at[1], w.at[2], w.at[3]};                                            \
    }
QUAD(float, float4)
QUAD(int32_t, int4)
QUAD(uint16_t, ushort4)
QUAD(uint8_t, uchar4)
QUAD(int8_t, char4)
#endif
