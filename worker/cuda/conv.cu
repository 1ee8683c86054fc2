/* conv.cu: convolutions and their gradients as products, whose columns are gathered into shared
 * memory and never stored. RESULT is an element of the result, and OUT(x) makes one of a sum;
 * tile.h says what else a dtype defines. With IS_DW `run` computes a weight gradient: for each
 * block of images the sum, image by image, and `finish` adds the blocks. The order of additions is
 * that of worker/cpu/cpu_conv.c where that does not use oneDNN.
 * SPDX-License-Identifier: MIT */
#define FILLS_AT_ONCE 1 /* more need too many registers */
#include "worker/cuda/conv.h"

/* Where lines and elements of K of a tile are, along each axis and beside them. */
struct Places {
    int line[CONV_AXES][TILE], deep[CONV_AXES][DEEP];
    int64_t of_line[TILE], of_deep[DEEP];
    /* What the block computes: first row and column, group, block of images. Here they take no
     * registers while the sums do. */
    volatile int64_t m0, n0, group, block;
};
enum { NOWHERE = -(1 << 30) };

struct Gather {
    const ConvArgs *P;
    Places *places;
    const T *from;
    int64_t at; /* the next element of K, or pixel of an image */

    __device__ __forceinline__ void set(int *to, int apart, int64_t *beside, int64_t i,
                                        bool is_pixel, bool is_in) {
        const int *shape = is_pixel ? P->pixel : P->kernel;
        const int volume = shape[0] * shape[1] * shape[2];
        const int64_t outer = i / volume;
        int rest = (int)(i - outer * volume);
        for (int d = CONV_AXES - 1; d >= 0; d--) {
            const int e = rest % shape[d];
            rest /= shape[d];
            to[d * apart] =
                is_pixel ? e * P->pixel_step[d] + P->pixel_first[d] : e * P->kernel_step[d];
        }
        if (!is_in) to[0] = NOWHERE;
        *beside = outer * (is_pixel ? P->from_image : P->from_channel);
    }
    /* Lines from `first` on, of n. */
    __device__ __forceinline__ void set_lines(int64_t first, int64_t n) {
        const int l = threadIdx.x;
        __syncthreads();
        if (l < TILE)
            set(&places->line[0][l], TILE, &places->of_line[l], first + l, !IS_DW, first + l < n);
    }
    __device__ __forceinline__ void operator()(ACC *to, int deep) {
        const int t = threadIdx.x;
        if (t < DEEP) set(&places->deep[0][t], DEEP, &places->of_deep[t], at + t, IS_DW, t < deep);
        __syncthreads();
#pragma unroll 1
        for (int i = t; i < TILE * DEEP; i += TILE_THREADS) {
            const int l = IS_DW ? i / DEEP : i % TILE, k = IS_DW ? i % DEEP : i / TILE;
            int64_t offset = places->of_line[l] + places->of_deep[k];
            bool is_in = true;
#pragma unroll
            for (int d = 0; d < CONV_AXES; d++) {
                int q = places->line[d][l] + places->deep[d][k];
                is_in = is_in && q >= 0;
                if (P->divisor[d] != 1) {
                    is_in = is_in && q % P->divisor[d] == 0;
                    q /= P->divisor[d];
                }
                is_in = is_in && q < P->inside[d];
                offset += q * P->from_axis[d];
            }
            to[k * LINE + l] = is_in ? IN(from[offset]) : (ACC)0;
        }
        at += deep;
    }
};

/* Thread blocks of a processor: the small ones have shared memory for two. */
enum { BLOCKS_WANTED = HALF_BLOCKS == 3 ? 2 : 4 };
extern "C" __global__ void __launch_bounds__(TILE_THREADS, BLOCKS_WANTED)
    FUSED(run)(const __grid_constant__ ConvArgs args) {
    enum { AREA = TILE * TILE };
    const ConvArgs *const P = &args;
    __shared__ Places places;
    const int64_t columns = IS_DW ? P->K : P->images * P->pixels;
    const int64_t down = (P->rows + TILE - 1) / TILE, across = (columns + TILE - 1) / TILE;
    const int64_t units = (IS_DW ? P->blocks : 1) * P->groups * down * across;
    ACC *waits = (ACC *)P->waits + blockIdx.x * P->levels * (int64_t)AREA;
    for (int64_t unit = blockIdx.x; unit < units; unit += gridDim.x) {
        __syncthreads();
        if (threadIdx.x == 0) {
            places.m0 = unit / across % down * TILE, places.n0 = unit % across * TILE;
            places.group = unit / (across * down) % P->groups;
            places.block = unit / (across * down) / P->groups;
        }
        __syncthreads();
        Gather right = {P, &places,
                        (const T *)P->from + places.group * P->channels * P->from_channel, 0};
        Sums s;
        right.set_lines(places.n0, columns);
#if IS_DW
        ACC *total = waits + (P->levels - 1) * AREA;
        EACH_SUM s.at[i][j] = 0;
        let_wait(total, s);
        for (int64_t image = places.block * P->block;
             image < P->images && image < (places.block + 1) * P->block; image++)
            for (int64_t p = 0; p < P->pixels; p += CONV_PIXELS) {
                const int n = P->pixels - p < CONV_PIXELS ? (int)(P->pixels - p) : CONV_PIXELS;
                const int64_t m0 = places.m0,
                              row = (image * P->groups + places.group) * P->rows + m0;
                Strided left = {(const T *)P->left + row * P->pixels + p, P->pixels, 1,
                                at_most_tile(P->rows - m0), P->read_left};
                right.at = image * P->pixels + p;
                tile_sum(left, right, n, waits, s);
                EACH_SUM s.at[i][j] = ADD(s.at[i][j], (ACC)0);
                add_waiting(total, s);
                let_wait(total, s);
            }
#else
        Strided left = {(const T *)P->left + (places.group * P->rows + places.m0) * P->K, P->K, 1,
                        at_most_tile(P->rows - places.m0), P->read_left};
        tile_sum(left, right, (int)P->K, waits, s);
#endif
        EACH_SUM {
            const int64_t m = places.m0 + threadIdx.x / (TILE / EACH) * EACH + i,
                          n = places.n0 + threadIdx.x % (TILE / EACH) * EACH + j;
            const ACC x = ADD(s.at[i][j], (ACC)0);
            if (m >= P->rows || n >= columns) continue;
            const int64_t row = places.group * P->rows + m, all = P->groups * P->rows;
            if (IS_DW && P->parts)
                ((ACC *)P->parts)[(places.block * all + row) * P->K + n] = x;
            else
                ((RESULT *)
                     P->out)[IS_DW ? row * P->K + n
                                   : (n / P->pixels * all + row) * P->pixels + n % P->pixels] =
                    OUT(x);
        }
    }
}

extern "C" __global__ void FUSED(finish)(const __grid_constant__ ConvArgs args) {
    const int64_t n = args.groups * args.rows * args.K, step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < n; e += step) {
        ACC *sum = (ACC *)args.parts + e;
        for (int64_t s = 1; s < args.blocks; s *= 2)
            for (int64_t b = 0; b + s < args.blocks; b += 2 * s)
                sum[b * n] = ADD(sum[b * n], sum[(b + s) * n]);
        ((RESULT *)args.out)[e] = OUT(sum[0]);
    }
}
