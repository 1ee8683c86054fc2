/* fused.h: the interface between a kernel compiled at run time and the engine that calls it: the
 * kernel's arguments. It is the head of every such kernel's source (kernel_fused.h), so it includes
 * nothing else.
 *
 * A fusion (fuse.h) has a space of rows * n elements. A row is what its reductions fold; without
 * reductions everything is one row. A kernel's range counts
 *   elements, when nothing is reduced;
 *   blocks of rows (row * blocks + block), when the fusion ends with its reductions: `run` leaves
 *     one accumulator per block in args->table, `finish` combines them for a range of rows;
 *   rows, when elements are computed from reductions: several passes over each row;
 *   leaves of FUSED_LEAF rows, when rows are folded: `run` leaves in args->table the sums of each
 *     leaf's columns, and row values, whose totals have the order of any row. `finish` combines
 *     them for a range of columns.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_FUSED_H
#define GT_WORKER_KERNEL_FUSED_H
#include <stdint.h>

enum {
    FUSED_RANK = 8,
    FUSED_INPUTS = 16,
    FUSED_OUTPUTS = 48,
    FUSED_SCALARS = 24,
    FUSED_FAILS = 8,       /* nodes that read at an index */
    FUSED_BLOCK = 4096,    /* elements of one block of a reduction */
    FUSED_LANE_COUNT = 16, /* lanes of a block */
    FUSED_LEAF = 64,       /* rows of a leaf (runtime/base/tree.h) */
    FUSED_LINE = 64        /* is_far: outputs and their rows are aligned to this, in bytes */
};

/* Axes, outermost first, with each input's stride in bytes. */
typedef struct FusedLoop {
    int64_t rank;
    int64_t shape[FUSED_RANK];
    int64_t stride[FUSED_INPUTS][FUSED_RANK];
} FusedLoop;

/* The first row whose index is out of range: row << 32, with the index's upper half in `high` and
 * its lower half in `low`. Kernels take the minimum of each, so both are of the same row, whatever
 * the order. All bits set: there is none. */
typedef struct FusedBad {
    uint64_t high, low;
} FusedBad;

typedef struct FusedArgs {
    int64_t rows, n, blocks;    /* blocks per row */
    FusedLoop outer;            /* the rows */
    FusedLoop inner;            /* the lines of a row: all its axes but the last ... */
    int64_t line;               /* ... the elements of a line, along that last axis ... */
    int64_t step[FUSED_INPUTS]; /* ... and each input's step there, in elements */
    const char *in[FUSED_INPUTS];
    char *out[FUSED_OUTPUTS]; /* row-major: elements of the space, or one per row */
    char scalar[FUSED_SCALARS][8];
    int64_t zero; /* always 0, unknown to the compiler */
    /* is_far: the kernel reads and writes more than the caches hold. It prefetches its inputs
     * `ahead` bytes before it reads them, and writes with non-temporal stores, which need not read
     * a cache line first. CUDA: of elements, vectors are aligned, or
     * emit_cuda_tiles.c; of rows in shared memory, bit k:
     * all rows have the same elements of input k; bit FUSED_INPUTS: in all rows elements are
     * aligned by fours. */
    int64_t is_far, ahead[FUSED_INPUTS];
    /* For each node that reads at an index, in order. If one is bad, what depends on it is
     * undefined.
     */
    FusedBad *bad[FUSED_FAILS];
    char *table;      /* accumulators of 8 bytes (reductions, rows, blocks), or see fused_leaves */
} FusedArgs;

/* scratch: 64-byte aligned memory of the thread, of fused_scratch bytes. */
typedef void (*FusedFn)(const FusedArgs *args, int64_t begin, int64_t end, char *scratch);

typedef enum FusedUnit { FUSED_ELEMENTS, FUSED_BLOCKS, FUSED_ROWS, FUSED_LEAVES } FusedUnit;

typedef struct FusedKernel {
    FusedFn run, finish;           /* finish: NULL but for FUSED_BLOCKS and FUSED_LEAVES */
    int32_t unit;                  /* FusedUnit: the unit of run's range */
    int32_t reductions;            /* along rows */
    int32_t columns, totals;       /* reductions over the rows: of columns, of row values */
    int64_t scratch_n, scratch;    /* see fused_scratch */
    int32_t cost;                  /* of an element; 1: an addition */
    uint32_t reuse[FUSED_OUTPUTS]; /* of output k: bit i: it may overwrite input i */
    const unsigned char *signature;
    int64_t signature_bytes;
} FusedKernel;
/* FUSED_LEAVES: for each reduction over the rows, those of columns first, the table has an
 * accumulator of at most 8 bytes for each leaf and column (of row values: for each row). */
static inline int64_t fused_leaves(const FusedArgs *a) {
    return (a->rows + FUSED_LEAF - 1) / FUSED_LEAF;
}
static inline int64_t fused_table(const FusedArgs *a, int64_t columns, int64_t totals) {
    return 8 * (fused_leaves(a) * columns * a->n + totals * a->rows);
}
/* Returns the bytes of scratch that a thread needs for rows of n elements. */
static inline int64_t fused_scratch(const FusedKernel *k, int64_t n) {
    int64_t blocks = k->unit >= FUSED_ROWS ? (n + FUSED_BLOCK - 1) / FUSED_BLOCK : 0;
    return k->scratch + n * k->scratch_n + 8 * k->reductions * blocks;
}
#endif
