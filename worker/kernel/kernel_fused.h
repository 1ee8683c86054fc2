/* kernel_fused.h: prepended to the source of kernels compiled at run time: the walk over
 * broadcast axes, reductions, the prologue's functions. scripts/embedc puts the text of this file
 * and of all that it includes into the program, and jit.c begins every source with it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_KERNEL_FUSED_H
#define GT_WORKER_KERNEL_KERNEL_FUSED_H
#include "worker/kernel/fused.h"
#include "worker/kernel/kernel_reduce.h"
#include "worker/kernel/prologue.h"

typedef struct FusedWalk {
    int64_t index[FUSED_RANK], offset[FUSED_INPUTS];
} FusedWalk;

/* Sets the walk to position i of the loop's row-major order. */
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

/* Non-temporal stores and prefetches, for FusedArgs.is_far. They are assembler because the compiler
 * assumes that its intrinsics may read and write any memory, and keeps no reduction in registers
 * across one. So what fused_past writes must not be read in the same kernel. bytes: 16, 32, 64 or
 * 128, aligned. */
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
/* Prefetches from p + ahead, which may be an invalid address, to the L2 cache (the L1 cache is full
 * of rows): one cache line, or two if bytes > 64. */
PRO_FN void fused_ahead(const void *p, int64_t ahead, int64_t bytes) {
    __asm__ volatile("prefetcht1 (%0)" ::"r"((const char *)p + ahead));
    if (bytes > FUSED_LINE)
        __asm__ volatile("prefetcht1 (%0)" ::"r"((const char *)p + ahead + FUSED_LINE));
}
/* Orders non-temporal stores before the kernel's end, for a thread that sees that it has ended. */
PRO_FN void fused_settle(void) { __asm__ volatile("sfence" ::: "memory"); }
#else
PRO_FN void fused_past(void *to, const void *from, int64_t bytes) {
    __builtin_memcpy(to, from, (uint64_t)bytes);
}
PRO_FN void fused_ahead(const void *p, int64_t ahead, int64_t bytes) {
    __builtin_prefetch((const char *)p + ahead);
}
PRO_FN void fused_settle(void) {}
#endif

PRO_FN void fused_least(uint64_t *at, uint64_t value) {
    uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (value < old &&
           !__atomic_compare_exchange_n(at, &old, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}
__attribute__((noinline, unused)) static void fused_bad(FusedBad *bad, int64_t row, int64_t i) {
    fused_least(&bad->high, (uint64_t)row << 32 | (uint64_t)i >> 32);
    fused_least(&bad->low, (uint64_t)row << 32 | (uint32_t)i);
}
/* Returns the row's index i of n elements. One out of range is noted, and returns 0. */
PRO_FN int64_t fused_index(FusedBad *bad, int64_t row, int64_t i, int64_t n) {
    if (i >= 0 && i < n) return i;
    fused_bad(bad, row, i);
    return 0;
}

/* NAME_leaves: adds up the sums t (leaves, n) for the columns [begin, end), as runtime/base/tree.h
 * says, into t[begin] and on. NAME_tree: combines those of n >= 1 blocks, as cpu_reduce.c does its
 * table. NAME_total: reduces n >= 1 row values, whose memory holds accumulators too. NAME_ending:
 * combines the lanes of a row. */
#define REDUCE_ABREAST(NAME, A, R, INIT)
#define REDUCE_IN_TURN(NAME, A, R)
#define REDUCE_REST(NAME, A, R, INIT)                                                              \
    PRO_FN R NAME##_tree(R *t, int64_t n) {                                                        \
        for (int64_t s = 1; s < n; s *= 2)                                                         \
            for (int64_t b = 0; b + s < n; b += 2 * s) t[b] = NAME##_both(t[b], t[b + s]);         \
        return t[0];                                                                               \
    }                                                                                              \
    __attribute__((noinline, unused)) static void NAME##_leaves(R *t, int64_t leaves, int64_t n,   \
                                                                int64_t begin, int64_t end) {      \
        for (int64_t s = 1; s < leaves; s *= 2)                                                    \
            for (int64_t b = 0; b + s < leaves; b += 2 * s)                                        \
                for (int64_t c = begin; c < end; c++)                                              \
                    t[b * n + c] = NAME##_both(t[b * n + c], t[(b + s) * n + c]);                  \
    }                                                                                              \
    __attribute__((noinline, unused)) static R NAME##_total(void *t, int64_t n) {                  \
        int64_t blocks = (n + FUSED_BLOCK - 1) / FUSED_BLOCK;                                      \
        for (int64_t b = 0; b < blocks; b++) {                                                     \
            int64_t from = b * FUSED_BLOCK, left = n - from;                                       \
            R r = NAME##_row(left < FUSED_BLOCK ? left : FUSED_BLOCK, (const A *)t + from);        \
            __builtin_memcpy((R *)t + b, &r, sizeof r);                                            \
        }                                                                                          \
        return NAME##_tree(t, blocks);                                                             \
    }                                                                                              \
    PRO_FN R NAME##_init(void) { return (R)(INIT); }                                               \
    PRO_FN R NAME##_ending(R *lane) {                                                              \
        FOLD_LANES(NAME, 8)                                                                        \
        FOLD_LANES(NAME, 4) FOLD_LANES(NAME, 2) FOLD_LANES(NAME, 1) return lane[0];                \
    }
#endif
