/* kernel_fused.h: what kernels compiled at run time are made of besides their own source: the walk
 * over broadcast axes, reductions, the prologue's functions. The text of this file and of all that
 * it includes is part of the program (scripts/embedc) and begins every source that jit.c compiles.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_KERNEL_FUSED_H
#define GT_WORKER_KERNEL_KERNEL_FUSED_H
#include "worker/kernel/fused.h"
#include "worker/kernel/kernel_reduce.h"
#include "worker/kernel/prologue.h"

typedef struct FusedWalk {
    int64_t index[FUSED_RANK], offset[FUSED_INPUTS];
} FusedWalk;

/* To position i of the loop's row-major order. */
PRO_FN void fused_seek(FusedWalk *w, const FusedLoop *l, int inputs, int64_t i) {
    for (int k = 0; k < inputs; k++) w->offset[k] = 0;
    for (int64_t d = l->rank - 1; d >= 0; d--) {
        w->index[d] = i % l->shape[d];
        i /= l->shape[d];
        for (int k = 0; k < inputs; k++) w->offset[k] += w->index[d] * l->stride[k][d];
    }
}
PRO_FN void fused_next(FusedWalk *w, const FusedLoop *l, int inputs) {
    for (int64_t d = l->rank - 1; d >= 0; d--) {
        for (int k = 0; k < inputs; k++) w->offset[k] += l->stride[k][d];
        if (++w->index[d] < l->shape[d]) return;
        for (int k = 0; k < inputs; k++) w->offset[k] -= l->shape[d] * l->stride[k][d];
        w->index[d] = 0;
    }
}

/* What FusedArgs.is_far asks for. In assembler, because the compiler takes its own functions for
 * such that may read and write anything, and keeps no reduction in registers across one; so what is
 * written by fused_past must not be read in the same kernel. bytes: 16, 32, 64 or 128, aligned. */
#if defined(__x86_64__)
#if defined(__AVX512F__)
enum { FUSED_WIDE = 64 };
#define FUSED_PAST "vmovntps %1, (%0)"
#elif defined(__AVX__)
enum { FUSED_WIDE = 32 };
#define FUSED_PAST "vmovntps %1, (%0)"
#else
enum { FUSED_WIDE = 16 };
#define FUSED_PAST "movntps %1, (%0)"
#endif
typedef float FusedWide __attribute__((vector_size(FUSED_WIDE), may_alias));
typedef float FusedSixteen __attribute__((vector_size(16), may_alias));
PRO_FN void fused_past(void *to_, const void *from_, int64_t bytes) {
    char *to = to_;
    const char *from = from_;
    if (bytes < FUSED_WIDE) {
#pragma GCC unroll 2
        for (int64_t k = 0; k < bytes; k += 16)
            __asm__ volatile(FUSED_PAST ::"r"(to + k), "v"(*(const FusedSixteen *)(from + k)));
    } else {
#pragma GCC unroll 8
        for (int64_t k = 0; k < bytes; k += FUSED_WIDE)
            __asm__ volatile(FUSED_PAST ::"r"(to + k), "v"(*(const FusedWide *)(from + k)));
    }
}
/* An address that is none does no harm. bytes: of which the first are asked for, a line or two. */
PRO_FN void fused_ahead(const void *p, int64_t ahead, int64_t bytes) {
    __asm__ volatile("prefetcht0 (%0)" ::"r"((const char *)p + ahead));
    if (bytes > FUSED_LINE)
        __asm__ volatile("prefetcht0 (%0)" ::"r"((const char *)p + ahead + FUSED_LINE));
}
/* Behind what was written so, before the kernel ends: who sees it ended sees that. */
PRO_FN void fused_settle(void) { __asm__ volatile("sfence" ::: "memory"); }
#else
PRO_FN void fused_past(void *to, const void *from, int64_t bytes) {
    __builtin_memcpy(to, from, (uint64_t)bytes);
}
PRO_FN void fused_ahead(const void *p, int64_t ahead, int64_t bytes) {
    __builtin_prefetch((const char *)p + ahead);
    (void)bytes;
}
PRO_FN void fused_settle(void) {}
#endif

/* Index i of n elements. A bad one is told, and is element 0. */
PRO_FN int64_t fused_index(const FusedArgs *a, int64_t i, int64_t n) {
    if (i >= 0 && i < n) return i;
    __atomic_store_n(a->bad, 1, __ATOMIC_RELAXED);
    return 0;
}

/* Of `height` rows of a block those whose lanes are in [low, low + width): how many they are. */
PRO_FN int64_t fused_lane_rows(int64_t height, int64_t low, int64_t width) {
    int64_t rest = height % LANES - low;
    return height / LANES * width + (rest < 0 ? 0 : rest < width ? rest : width);
}

/* NAME_lanes: t (blocks of rows, LANES, n), one accumulator each: for columns [begin, end) of n
 * they become one, which is then in t[begin] ...: lanes by a tree, then blocks, as in cpu_reduce.c.
 * NAME_tree: the accumulators of n >= 1 blocks become one, as cpu_reduce.c combines its table.
 * NAME_ending: the lanes of a row become one. */
#define REDUCE_REST(NAME, A, R, INIT)                                                              \
    PRO_FN R NAME##_tree(R *t, int64_t n) {                                                        \
        for (int64_t s = 1; s < n; s *= 2)                                                         \
            for (int64_t b = 0; b + s < n; b += 2 * s) t[b] = NAME##_both(t[b], t[b + s]);         \
        return t[0];                                                                               \
    }                                                                                              \
    __attribute__((noinline, unused)) static void NAME##_lanes(R *t, int64_t rows, int64_t n,      \
                                                               int64_t begin, int64_t end) {       \
        int64_t blocks = (rows + FUSED_BLOCK - 1) / FUSED_BLOCK;                                   \
        for (int64_t b = 0; b < blocks; b++) {                                                     \
            R *x = t + b * LANES * n;                                                              \
            int64_t used = rows - b * FUSED_BLOCK;                                                 \
            for (int w = LANES / 2; w; w /= 2)                                                     \
                for (int l = 0; l < w && l + w < used; l++)                                        \
                    for (int64_t c = begin; c < end; c++)                                          \
                        x[l * n + c] = NAME##_both(x[l * n + c], x[(l + w) * n + c]);              \
        }                                                                                          \
        for (int64_t s = 1; s < blocks; s *= 2)                                                    \
            for (int64_t b = 0; b + s < blocks; b += 2 * s)                                        \
                for (int64_t c = begin; c < end; c++)                                              \
                    t[b * LANES * n + c] =                                                         \
                        NAME##_both(t[b * LANES * n + c], t[(b + s) * LANES * n + c]);             \
    }                                                                                              \
    PRO_FN R NAME##_init(void) { return (R)(INIT); }                                               \
    PRO_FN R NAME##_ending(R *lane) {                                                              \
        FOLD_LANES(NAME, 8)                                                                        \
        FOLD_LANES(NAME, 4) FOLD_LANES(NAME, 2) FOLD_LANES(NAME, 1) return lane[0];                \
    }
#endif
