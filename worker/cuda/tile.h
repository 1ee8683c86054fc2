/* tile.h: a tile of a matrix product, for kernels that include this text: the order of additions is
 * that of runtime/base/tree.h, and so the bits are those of the engine cpu.
 *
 * Before this text come the types T of an element and ACC of its sums, IN(x), which makes an
 * accumulator of an element, STEP(x, y, z), which is x * y + z, ADD(x, y), and IS_WHOLE, which is 1
 * if the order of additions does not matter.
 *
 * A thread block of TILE_THREADS computes TILE x TILE results, EACH x EACH of them in the registers
 * of a thread. It brings DEEP elements of K of both operands at a time into shared memory.
 *
 * Sums of nodes that wait for their right half: those of one leaf lie in shared memory if they have
 * 4 bytes. The others lie in global memory, an area of TILE x TILE for each level, as in a binary
 * counter: for two leaves an area is stored and read.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_TILE_H
#define GT_WORKER_CUDA_TILE_H

/* How a block reads an operand's elements: threads side by side along k, or along the other axis
 * ("lines"), one element at a time or 16 bytes. */
enum { BY_K, BY_LINES, WIDE_BY_K, WIDE_BY_LINES };

#ifdef __CUDACC__
#ifndef FILLS_AT_ONCE
#define FILLS_AT_ONCE 2 /* turns of `fill` whose loads are under way together */
#endif
enum {
    TILE = 64,
    EACH = 4,
    TILE_THREADS = 256,
    LEAF_K = 64,
    DEEP = sizeof(ACC) == 8 ? 16 : 32,
    LINE = TILE + 4, /* of shared memory; not 64, so that stores across lines meet fewer banks */
    PACK = 16 / sizeof(ACC),
    VECTOR = 16 / sizeof(T),
    WAITS_FROM = sizeof(ACC) == 8 ? 0 : 1 /* the first level in global memory */
};

template <typename A> struct PackOf;
template <> struct PackOf<float> { typedef float4 V; };
template <> struct PackOf<int> { typedef int4 V; };
template <> struct PackOf<double> { typedef double2 V; };
template <> struct PackOf<long long> { typedef longlong2 V; };
typedef PackOf<ACC>::V Pack;

__device__ __forceinline__ void get4(const ACC *p, ACC *to) {
#pragma unroll
    for (int i = 0; i < EACH / PACK; i++) {
        const Pack v = ((const Pack *)p)[i];
        memcpy(to + i * PACK, &v, sizeof v);
    }
}
__device__ __forceinline__ void put4(ACC *p, const ACC *from) {
#pragma unroll
    for (int i = 0; i < EACH / PACK; i++) {
        Pack v;
        memcpy(&v, from + i * PACK, sizeof v);
        ((Pack *)p)[i] = v;
    }
}

/* W elements side by side, of which `left` are there; the others are 0. */
template <int W> __device__ __forceinline__ Wide<T, W> load_some(const T *from, int left) {
    if (left >= W) return wide_load<T, W>((const char *)from, 0);
    Wide<T, W> w;
#pragma unroll
    for (int j = 0; j < W; j++) w.at[j] = j < left ? from[j] : (T)0;
    return w;
}

/* An operand in memory: element k of line l is p[l * line + k * k_step]. lines: how many there are
 * from p on. Each call brings the next elements of K. */
struct Strided {
    const T *p;
    int64_t line, k_step;
    int lines, read;

    /* W elements side by side along k or lines. What is outside is 0, which changes no sum. */
    template <int W, bool ALONG_K> __device__ __forceinline__ void fill(ACC *to, int deep) const {
        enum { ACROSS = (ALONG_K ? DEEP : TILE) / W, ITEMS = TILE * DEEP / W };
#pragma unroll(ITEMS <= TILE_THREADS ? 1 : FILLS_AT_ONCE)
        for (int i = threadIdx.x; i < ITEMS; i += TILE_THREADS) {
            const int l = ALONG_K ? i / ACROSS : i % ACROSS * W,
                      k = ALONG_K ? i % ACROSS * W : i / ACROSS;
            const T *from = p + l * line + k * k_step;
            const int left = ALONG_K ? l < lines ? deep - k : 0 : k < deep ? lines - l : 0;
            const Wide<T, W> w = load_some<W>(from, left);
#pragma unroll
            for (int j = 0; j < W; j++)
                to[(ALONG_K ? k + j : k) * LINE + (ALONG_K ? l : l + j)] = IN(w.at[j]);
        }
    }
    __device__ __forceinline__ void operator()(ACC *to, int deep) {
        if (read == WIDE_BY_K)
            fill<VECTOR, true>(to, deep);
        else if (read == WIDE_BY_LINES)
            fill<VECTOR, false>(to, deep);
        else if (read == BY_K)
            fill<1, true>(to, deep);
        else
            fill<1, false>(to, deep);
        p += deep * k_step;
    }
};
__device__ __forceinline__ int at_most_tile(int64_t n) { return n < TILE ? (int)n : TILE; }

struct Sums {
    ACC at[EACH][EACH];
};
#define EACH_SUM                                                                                   \
    _Pragma("unroll") for (int i = 0; i < EACH; i++)                                               \
        _Pragma("unroll") for (int j = 0; j < EACH; j++)

/* s = the waiting sums of this thread plus s: packs that lie TILE_THREADS apart. */
__device__ __forceinline__ void add_waiting(const ACC *waits, Sums &s) {
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        ACC w[EACH];
        get4(waits + (i * TILE_THREADS + threadIdx.x) * EACH, w);
#pragma unroll
        for (int j = 0; j < EACH; j++) s.at[i][j] = ADD(w[j], s.at[i][j]);
    }
}
__device__ __forceinline__ void let_wait(ACC *waits, const Sums &s) {
#pragma unroll
    for (int i = 0; i < EACH; i++) put4(waits + (i * TILE_THREADS + threadIdx.x) * EACH, s.at[i]);
}

/* Adds `deep` products to each sum. */
__device__ __forceinline__ void multiply(const ACC *left, const ACC *right, int deep, Sums &s) {
    left += threadIdx.x / (TILE / EACH) * EACH, right += threadIdx.x % (TILE / EACH) * EACH;
    for (int k = 0; k < deep; k += 4, left += 4 * LINE, right += 4 * LINE) {
#pragma unroll
        for (int d = 0; d < 4; d++) {
            ACC a[EACH], b[EACH];
            get4(left + d * LINE, a);
            get4(right + d * LINE, b);
            EACH_SUM s.at[i][j] = STEP(a[i], b[j], s.at[i][j]);
        }
    }
}

/* s = the sum over n elements of K from the start of a leaf on, whose number is a multiple of a
 * power of two that is not less than the number of leaves. All threads of the block call it. Left
 * and Right bring the next elements into shared memory, and zeros up to DEEP. */
template <class Left, class Right>
__device__ __forceinline__ void tile_sum(Left &bring_left, Right &bring_right, int n, ACC *waits,
                                         Sums &s) {
    enum { AREA = TILE * TILE };
    __shared__ __align__(16) ACC left[DEEP * LINE], right[DEEP * LINE],
        near[WAITS_FROM && !IS_WHOLE ? AREA : PACK];
    EACH_SUM s.at[i][j] = 0;
    for (int leaf = 0; n > 0; leaf++) {
        const int of_leaf = n < LEAF_K ? n : LEAF_K;
        n -= of_leaf;
        if (!IS_WHOLE) EACH_SUM s.at[i][j] = 0;
        for (int k = 0; k < of_leaf; k += DEEP) {
            const int deep = of_leaf - k < DEEP ? of_leaf - k : DEEP;
            __syncthreads();
            bring_left(left, deep);
            bring_right(right, deep);
            __syncthreads();
            multiply(left, right, deep, s);
        }
        /* Of the last leaf all sums that wait are on the left. */
        for (int level = 0; !IS_WHOLE; level++) {
            ACC *at = level < WAITS_FROM ? near : waits + (level - WAITS_FROM) * AREA;
            if (n == 0 && leaf >> level == 0) break;
            if (leaf >> level & 1) {
                add_waiting(at, s);
            } else if (n > 0) {
                let_wait(at, s);
                break;
            }
        }
    }
}
#endif
#endif
