/* emit_cuda.h: writes the CUDA C of a fusion (fuse.h), for the engine cuda. The values of nodes
 * have the text that the C emitter gives them (emit_pass.h), and folds have its order, so that both
 * give the same bits. The source begins with the text of kernel_cuda.h (emit_cuda_head).
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EMIT_EMIT_CUDA_H
#define GT_WORKER_EMIT_EMIT_CUDA_H
#include "worker/emit/emit_pass.h"

extern const char emit_cuda_head[];

/* How the kernels are launched. */
enum { CUDA_EACH = 4 };      /* elements of a thread in each chunk of a row */
enum { CUDA_TILE = 32 };     /* see emit_cuda_tiles.c */
enum { CUDA_THREADS = 256 }; /* of a block, where a kernel does not say otherwise */
typedef struct CudaForm {
    FusedUnit unit;
    int wide; /* FUSED_ELEMENTS: elements of a thread's turn, if args.is_far says that vectors of so
               * many are aligned */
    uint32_t tiles; /* FUSED_ELEMENTS: inputs that FUSED(tiled) may read across; 0: there is none */
    /* Others: blocks of (x, y) threads: y groups of x, a power of two from 16 to 256. Shared
     * memory: emit_cuda_shared. args.table: 8 bytes for each reduction, row and block, or for each
     * of FUSED_LEAVES' folds, leaf and column. */
    int folds, nodes, reductions, columns;
    int totals; /* folds of row values: 8 bytes of args.table for each and row, before all others */
    /* FUSED_ROWS: of the kernel for rows that fit into shared memory (emit_cuda_held). has_long:
     * there is one for others besides, since some of that signature do not. */
    int held_bytes, held_folds, held_frees;
    uint8_t fixed[FUSED_INPUTS]; /* bytes of an element, if the block may keep it: args.is_far */
    bool has_long;
    /* It has loops over four elements at a time, which args.is_far switches on if these are aligned
     * to so many bytes; 0: they need not be. */
    bool has_quads;
    uint8_t quad_in[FUSED_INPUTS], quad_out[FUSED_OUTPUTS];
    uint32_t reuse[FUSED_OUTPUTS]; /* of output k: bit i: it may overwrite input i */
} CudaForm;
static inline int64_t emit_cuda_shared(const CudaForm *f, int x, int y) {
    return (int64_t)y * 8 * (f->folds * CUDA_EACH * x + f->nodes);
}
/* Rows of which a thread has about CUDA_HELD_EACH elements; y rows of n elements. */
enum { CUDA_HELD_EACH = 16, CUDA_SHARED_MOST = 48 << 10 };
static inline int64_t emit_cuda_held_shared(const CudaForm *f, int y, int64_t n, int64_t blocks) {
    int64_t row = (n + 15) / 16 * 16 * f->held_bytes + (8 * f->held_folds * blocks + 15) / 16 * 16;
    return y * row + 4 * CUDA_THREADS * f->held_frees;
}

/* Rows of a fusion that folds row values: one block of threads does it. */
enum { CUDA_TOTAL_ROWS = 16 * FUSED_BLOCK };

/* True if a fusion of these nodes has a kernel for this engine. None of them need be stored yet. */
bool emit_cuda_fits(const Fusion *f);
/* Returns false if the fusion has no kernel for this engine. `form` depends on the signature
 * alone. */
bool emit_cuda_form(const Fusion *f, CudaForm *form);
/* Appends the functions FUSED(run) and, for FUSED_ELEMENTS, if `tiles`, FUSED(tiled); for
 * FUSED_BLOCKS and FUSED_LEAVES, FUSED(finish); for FUSED_ROWS, if has_long, FUSED(longer) for rows
 * that do not fit; if `totals`, FUSED(total), for one block of 256 threads behind all others.
 * FUSED(x) must be defined before that text. */
void emit_cuda(Bytes *out, const Fusion *f);

/* ---- emit_cuda_rows.c ---- */
void emit_cuda_rows(Emit *e, FusedUnit unit, const char *name);
int emit_cuda_folds(const Emit *e); /* the most reductions of a pass */
void cuda_put_reductions(Emit *e);  /* the functions of all folds */
void cuda_put_rows_head(Emit *e, const char *name);
void cuda_put_bases(Emit *e);            /* declares b: where the unit's row begins in each input */
void cuda_put_row_inputs(Emit *e);       /* the inputs that row values need */
void cuda_put_inputs(Emit *e);           /* those of e->needs_input, of element i of the row */
int emit_cuda_totals_of(const Emit *e);  /* how many values of rows are folded */
void cuda_put_totals(Emit *e, int pass); /* keeps those that the pass before made known */
void emit_cuda_totals(Emit *e);
void cuda_put_pick(Emit *e, int i);       /* the value of a GATHER */
void cuda_put_indices(Emit *e, int pass); /* declares j of each SCATTER_ADD in the pass's loop */

/* ---- emit_cuda_tiles.c ---- */
bool emit_cuda_may_tile(const Fusion *f, int k);
void emit_cuda_tiles(Emit *e); /* what follows the kernel's head */
void cuda_put_values(Emit *e); /* emit_cuda.c: computes and stores element i */

/* ---- emit_cuda_held.c ---- */
void emit_cuda_held_form(const Fusion *f, CudaForm *form); /* fills held_bytes, held_folds */
void emit_cuda_held(Emit *e, const char *name);
#endif
