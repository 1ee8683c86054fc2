/* fused.h: what a kernel compiled at run time shares with the engine that calls it: its arguments.
 * Stands at the head of every such kernel's source (kernel_fused.h), so it includes nothing else.
 *
 * A cluster (fuse.h) has a space of rows * n elements; a row is what its reductions fold, without
 * reductions everything is one row. Ranges of a kernel are of
 *   elements, when nothing is reduced;
 *   blocks of rows (row * blocks + block), when what is reduced ends the cluster: `run` leaves one
 *     accumulator per block in args->table, `finish` combines them for a range of rows;
 *   rows, when elements are computed from what is reduced: several passes over each row;
 *   lanes, when rows are folded: 16 for each FUSED_BLOCK rows, lane l being the rows whose number
 *     mod 16 is l. `run` leaves its accumulators in args->table, `finish` combines them for a range
 *     of columns.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_FUSED_H
#define GT_WORKER_KERNEL_FUSED_H
#include <stdint.h>

enum {
    FUSED_RANK = 8,
    FUSED_INPUTS = 16,
    FUSED_OUTPUTS = 48,
    FUSED_SCALARS = 24,
    FUSED_BLOCK = 4096,    /* elements of one block of a reduction */
    FUSED_LANE_COUNT = 16, /* its lanes */
    FUSED_LINE = 64 /* is_far: outputs begin, and rows of them, at so many bytes or multiples */
};

/* Axes, outermost first, with each input's distance in bytes. */
typedef struct FusedLoop {
    int64_t rank;
    int64_t shape[FUSED_RANK];
    int64_t stride[FUSED_INPUTS][FUSED_RANK];
} FusedLoop;

typedef struct FusedArgs {
    int64_t rows, n, blocks;    /* blocks of a row */
    FusedLoop outer;            /* the rows */
    FusedLoop inner;            /* the lines of a row: all its axes but the last, ... */
    int64_t line;               /* ... which has so many elements */
    int64_t step[FUSED_INPUTS]; /* and these distances, in elements: 0, 1 or another */
    const char *in[FUSED_INPUTS];
    char *out[FUSED_OUTPUTS]; /* row-major, elements of the space or one per row */
    char scalar[FUSED_SCALARS][8];
    int64_t zero; /* is 0 */
    /* More goes through the kernel than caches hold: it asks for its inputs `ahead` bytes before it
     * reads them, and writes past the caches, lines that it does not have to read first. */
    int64_t is_far, ahead[FUSED_INPUTS];
    int32_t *bad; /* set to 1 where an index is out of range: then what is stored means nothing */
    char *table;  /* (reductions, rows, blocks) accumulators of 8 bytes; or see FUSED_LANES */
} FusedArgs;

/* scratch: 64-byte aligned memory of the thread, see FusedKernel. */
typedef void (*FusedFn)(const FusedArgs *args, int64_t begin, int64_t end, char *scratch);

typedef enum FusedUnit { FUSED_ELEMENTS, FUSED_BLOCKS, FUSED_ROWS, FUSED_LANES } FusedUnit;

typedef struct FusedKernel {
    FusedFn run, finish;           /* finish: with FUSED_BLOCKS and FUSED_LANES only */
    int32_t unit;                  /* FusedUnit: what run's range counts */
    int32_t reductions;            /* of rows */
    int32_t columns, totals;       /* reductions over the rows: of columns, of row values */
    int64_t scratch_n, scratch;    /* fused_scratch */
    int32_t cost;                  /* of an element, in units of one easy op */
    uint32_t reuse[FUSED_OUTPUTS]; /* output k may be written over input i: bit i */
    const unsigned char *signature;
    int64_t signature_bytes;
} FusedKernel;
/* FUSED_LANES: the table has for each reduction over the rows, those of columns first, an
 * accumulator of at most 8 bytes for each lane and column (or one for each lane). */
static inline int64_t fused_lanes(const FusedArgs *a) {
    return (a->rows + FUSED_BLOCK - 1) / FUSED_BLOCK * FUSED_LANE_COUNT;
}
static inline int64_t fused_table(const FusedArgs *a, int64_t columns, int64_t totals) {
    return 8 * fused_lanes(a) * (columns * a->n + totals);
}
/* Bytes that a thread needs for rows of n elements. */
static inline int64_t fused_scratch(const FusedKernel *k, int64_t n) {
    int64_t blocks = k->unit >= FUSED_ROWS ? (n + FUSED_BLOCK - 1) / FUSED_BLOCK : 0;
    return k->scratch + n * k->scratch_n + 8 * k->reductions * blocks;
}
#endif
