/* fuse.h: fusions: several instructions that one kernel computes in one or a few passes over
 * memory. A fusion is a small graph of MAP rows, casts and reductions over one space of elements.
 * The kernel that emit_fusion.c writes for it gives the same bits as the engine op by op.
 *
 * The space has a shape, whose last `trailing` axes are the row that reductions fold; without
 * reductions `trailing` is 0, and the whole space is one row. A node is of the space (one value per
 * element) or of rows (one per row: the result of a reduction, or computed from such values).
 * Softmax along the last axis: max (rows), sub, exp (space), sum (rows), div (space). A fold along
 * the other axes, over the rows, gives one value per column, or one value if it folds row values: a
 * bias's gradient, a loss's sum, a total. Nothing in the fusion reads these, except that a node
 * computed from totals alone is another total.
 *
 * Inputs are views that broadcast to the space, read in place; scalars are immediates. Stored
 * values are outputs, row-major; all others exist in registers only, rounded to their dtype like
 * every tensor.
 *
 * The signature holds all that the kernel's source depends on: graph, dtypes, which nodes are
 * stored, how each input steps along the innermost axis. Shapes, outer strides and scalars are
 * arguments. Equal signatures have equal sources; they are compared in full.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EMIT_FUSE_H
#define GT_WORKER_EMIT_FUSE_H
#include "worker/engine/engine.h"
#include "worker/kernel/fused.h"

enum {
    FUSE_NODES = FUSED_OUTPUTS, /* any of them may be stored */
    FUSE_SIGNATURE = FUSE_NODES * 8 + FUSED_INPUTS * 2 + FUSED_SCALARS + 8
};

/* An operand: a node, an input or a scalar. FUSE_NONE: the fusion is full. */
typedef int FuseRef;
enum { FUSE_INPUT = FUSE_NODES, FUSE_SCALAR = FUSE_INPUT + FUSED_INPUTS, FUSE_NONE = -1 };
static inline bool fuse_is_node(FuseRef r) { return r < FUSE_INPUT; }
static inline bool fuse_is_input(FuseRef r) { return r >= FUSE_INPUT && r < FUSE_SCALAR; }

typedef enum FuseStride { STRIDE_ZERO, STRIDE_ONE, STRIDE_OTHER } FuseStride; /* step 0, 1, other */

typedef struct FuseNode {
    uint8_t op, dtype, n_in;
    uint8_t in[3];  /* FuseRef */
    bool is_row;    /* one value per row */
    bool is_column; /* a REDUCE over the rows; with is_row: a total, of row values or of totals */
    bool is_stored;
    uint8_t output; /* is_stored: its index in args.out */
} FuseNode;

typedef struct Fusion {
    TensorType space; /* dtype unused */
    int trailing;
    int n_nodes, n_inputs, n_scalars, n_outputs;
    FuseNode node[FUSE_NODES];
    View input[FUSED_INPUTS];
    DType scalar[FUSED_SCALARS];
    /* Filled by fuse_done, except `out` and `table`, which the caller fills. */
    FusedArgs args;
    FusedBad bad[FUSED_FAILS]; /* of engines in host memory: where args.bad points */
    bool is_lined;             /* a row may be several lines (inner.rank > 0) */
    FuseStride stride_kind[FUSED_INPUTS];
    uint64_t hash;
    size_t signature_bytes;
    unsigned char signature[FUSE_SIGNATURE];
} Fusion;

void fuse_init(Fusion *f, const TensorType *space, int trailing);
/* Adds an input: v broadcasts to the space (right-aligned axes); the same view twice is one input.
 * Halves are read as float. Returns FUSE_NONE if the fusion is full, as do all functions below. */
FuseRef fuse_input(Fusion *f, const View *v);
/* Adds a scalar. value: of dtype d; for halves a float32, as exec makes them. Never shared. */
FuseRef fuse_scalar(Fusion *f, DType d, const void *value);
/* Adds a MAP row, a CAST, or a REDUCE over the trailing axes, with its result's dtype; FULL of a
 * scalar; and, where rows have one axis, GATHER (in: of the space; an index of rows; gives rows)
 * and SCATTER_ADD (in: of the space; an index and a summand, of rows). is_row: one value per row;
 * always so for a REDUCE. The operands of other is_row nodes are of rows, scalars, or inputs that
 * do not change along a row. A reduction's operand is a node of the space or an input. */
FuseRef fuse_node(Fusion *f, Op op, DType dtype, bool is_row, const FuseRef *in, int n_in);
/* Adds a REDUCE over the rows, of a node of space or rows, or of an input. is_row: of a row value,
 * or of an input that does not change along a row; then only fuse_total may use it. */
FuseRef fuse_column(Fusion *f, Op op, DType dtype, bool is_row, FuseRef in);
/* Adds a MAP row or a CAST of totals, scalars and inputs of one element. */
FuseRef fuse_total(Fusion *f, Op op, DType dtype, const FuseRef *in, int n_in);
/* Makes the node's value an output. Returns the address of its pointer in args.out, or NULL if
 * there are too many outputs. */
char **fuse_store(Fusion *f, FuseRef node);
/* Lays out loops and signature; no nodes may be added afterwards. Returns false if it cannot be one
 * kernel: nothing is stored, the space is empty, or a row is too long for the passes that it
 * needs. */
bool fuse_done(Fusion *f);
/* True if the node reads at an index, so that it fails if that is out of range. */
static inline bool fuse_may_fail(const FuseNode *n) { return op_has((Op)n->op, FACT_FAILS); }
/* Which of those nodes node i is: its index in args.bad. */
int fuse_fail(const Fusion *f, int i);
/* Points args.bad to f->bad, and clears it. */
void fuse_clear_bad(Fusion *f);
bool fuse_is_bad(const Fusion *f); /* f->bad has an index out of range */
/* Fills err with what a node of that space reports, and returns false; true: `bad` has none. */
bool fuse_check_bad(const TensorType *space, const FusedBad *bad, Err *err);
/* True if one kernel is likely to pay off; false if lines are so short that walking over them costs
 * more than the ops. */
bool fuse_is_worth(const Fusion *f);

/* Estimates which part of the time of the separate operations a kernel saves, from 0 to 1. A kernel
 * makes one trip to memory, or none if the fusion is fused with a product. Expensive computations
 * take as long as before. */
double fuse_gain(const Fusion *f, bool has_product);

/* ---- for the emitter: emit_fusion.c, emit_rows.c, emit_pass.c ---- */

static inline bool fuse_is_reduce(const FuseNode *n) { /* over a row */
    return op_info[n->op].class_ == CLASS_REDUCE && !n->is_column;
}

/* The dtype in which values of dtype d are computed and held. */
static inline DType fuse_computes(DType d) { return dtype_is_half(d) ? DT_F32 : d; }

/* The pass in which each node is computed. Nodes that need no reduction are in pass 0. A reduction
 * is in the pass of its operand, and its value is known in the next. */
typedef struct FusePlan {
    int n_passes;
    bool has_reduce, has_columns;
    int cost;                    /* of an element, in units of an addition */
    int pass[FUSE_NODES];        /* of the space: computed first in it; of rows: known before it */
    bool is_used[FUSE_NODES];    /* stored, or an operand of a used node */
    bool is_kept[FUSE_NODES];    /* not stored, but kept in scratch memory for later passes */
    bool is_chunked[FUSE_NODES]; /* a REDUCE whose operand is laid out for it, block by block */
} FusePlan;
void fuse_plan(const Fusion *f, FusePlan *p);
#endif
