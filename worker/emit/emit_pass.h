/* emit_pass.h: the inner part of emit_fusion.c: writes the expressions of a fusion's nodes, and
 * the loop of one pass over a row's elements. The callers write the loops around it: emit_fusion.c
 * those over elements and blocks, emit_rows.c those over rows.
 *
 * Names in the source. The number of the input, node, ... in the fusion follows the letter:
 *   x input, y the input's value at the start of a row, s scalar, v value of the space,
 *   r value of a row, T accumulators of blocks, f accumulators of a row, k kept values of a row,
 *   c operand of a reduction, laid out, l accumulators of a lane of rows,
 *   w values that pass between the pieces of a loop's body, b start of an input's row,
 *   p, o, q, a, g start of a line of x, of a stored value, of k, of l, of c,
 *   j index, t values of a step before they are written.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EMIT_EMIT_PASS_H
#define GT_WORKER_EMIT_EMIT_PASS_H
#include "worker/kernel/emit.h"
#include "worker/emit/fuse.h"

typedef struct Emit {
    const Fusion *f;
    FusePlan plan;
    Bytes *out;
    int depth;
    bool needs[FUSE_NODES], needs_input[FUSED_INPUTS]; /* of the pass's loop */
    bool picks;                                        /* one element only, which is not stored */
    bool is_short;         /* rows of one block and one line: emit_rows.c */
    bool is_staggered;     /* is_short, with all passes in one loop */
    int slots[FUSE_NODES]; /* if is_staggered: the rows for which a kept node has values */
    int n_pieces, piece[FUSE_NODES]; /* of the loop's body; the piece that computes a node */
    bool streams[FUSE_NODES];        /* stored and not read again: non-temporal stores */
    bool in_full;               /* in a step of LANES elements: streams are written to t first */
    int last_use[FUSED_INPUTS]; /* 2 * pass, + 1: after its loop; or EMIT_NEVER_OVER */
    const char *place;          /* the source of the element of the row that a loop computes */
} Emit;

enum { EMIT_NEVER_OVER = INT32_MAX };

typedef struct EmitName {
    char text[16];
} EmitName;

typedef struct EmitIndex {
    char text[64];
} EmitIndex;

/* Writes a line of source, indented. A line that ends in { begins a block, one that begins with }
 * ends one. At most 511 bytes. */
__attribute__((format(printf, 2, 3))) void emit_line(Emit *e, const char *format, ...);
/* True if node i is used and has one value per row. */
bool emit_is_row_value(const Emit *e, int i);
EmitName emit_name(const Emit *e, FuseRef r, bool in_row);
DType emit_dtype(const Emit *e, FuseRef r);
const char *emit_held(DType d); /* the C type that holds a value of dtype d ... */
int emit_held_size(DType d);    /* ... and its bytes */
/* The kernel of reduction i, as "sum_f32", and the C type of its accumulators. */
EmitName emit_kernel(const Emit *e, int i);
const char *emit_lane_type(const Emit *e, int i);
/* The checked index of node i, a GATHER or SCATTER_ADD, of the present row. in_row: emit_name. */
EmitIndex emit_index(const Emit *e, int i, bool in_row);
/* Writes the definitions of all s. */
void emit_scalars(Emit *e);
/* Writes const T y3 = *(const T *)WHERE, widened; letter: x or y. */
void emit_input(Emit *e, char letter, int k, const char *where);
/* Writes the definition of node i. reduced: the source of its value; NULL: its operation. */
void emit_value(Emit *e, int i, const char *reduced);

/* What the pass does with node i: folds its operand to a value per row; loads it, computed by an
 * earlier pass; computes it; stores or keeps it; folds it over the rows. */
bool pass_folds(const Emit *e, int i, int pass);
bool pass_loads(const Emit *e, int i, int pass);
bool pass_computes(const Emit *e, int i, int pass);
bool pass_writes(const Emit *e, int i, int pass);
bool pass_has_column(const Emit *e, int i, int pass);
bool pass_has_folds(const Emit *e, int pass); /* pass_folds of any node */

/* Sets e->streams. */
void pass_find_streams(Emit *e);
/* For a step of LANES elements from element i0 of the line on. pass_places declares the buffers t
 * for results. pass_out writes them, with non-temporal stores if is_far, and prefetches the inputs
 * that are not marked in `asked` yet. */
void pass_places(Emit *e, int pass);
void pass_out(Emit *e, int pass, bool is_far, bool *asked);

/* Finds what the pass's loop needs, for the functions below. Returns false if it has no loop. */
bool pass_find_needs(Emit *e, int pass);
/* Writes the pointers of one line, from element `at` of the row on. */
void pass_pointers(Emit *e, int pass);
/* Writes iteration i of the loop, as one piece. */
void pass_body(Emit *e, int pass);
/* Writes the loop over elements [from, to) of the row. */
void pass_loop(Emit *e, int pass);
/* Node i is a GATHER: writes the computation of one element of the row, as in the pass's loop.
 * pass_find_pick finds what that needs, given what earlier passes have computed. */
void pass_pick(Emit *e, int i, int pass);
void pass_find_pick(Emit *e, int i, int pass);
#endif
