/* emit_pass.h: the inner part of emit_cluster.c: expressions of a cluster's nodes, and the loop of
 * one pass over a row's elements. Its users write the loops around it: emit_cluster.c those of
 * elements, of blocks and of long rows, emit_rows.c those of short rows, all passes in one.
 *
 * Names in the source: x input, s scalar, v value of the space, r value of a row, T accumulators of
 * blocks, f accumulators of a row, k kept values of a row, c values laid out for a reduction, l
 * accumulators of a lane of rows, w values between the pieces of a loop's body; b where an input's
 * row begins, y its value there; p, o, q, a, g where a line of x, of a stored value, of k, l, c
 * begins, j an index, t values of a turn on their way out: numbers are those of the cluster.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EMIT_EMIT_PASS_H
#define GT_WORKER_EMIT_EMIT_PASS_H
#include "worker/kernel/emit.h"
#include "worker/emit/fuse.h"

typedef struct Emit {
    const Fuse *f;
    FusePlan plan;
    Bytes *out;
    int depth;
    bool needs[FUSE_NODES], needs_input[FUSED_INPUTS]; /* by the loop of the pass */
    bool picks;                                        /* one element, which is not stored */
    bool is_short;                   /* rows of one block and one line: emit_rows.c */
    int slots[FUSE_NODES];           /* is_short: of so many rows a kept node's values are there */
    int n_pieces, piece[FUSE_NODES]; /* of the loop's body, in which a node is computed */
    bool streams[FUSE_NODES];        /* stored, not read again here: may go past the caches */
    bool in_full;                    /* a turn of whole lanes: values of such go to t first */
    int last_use[FUSED_INPUTS];      /* 2 pass, + 1: after the pass's loop; by rows: never over */
} Emit;

enum { EMIT_NEVER_OVER = 1 << 20 };

typedef struct EmitName {
    char text[16];
} EmitName;

/* A line of source, at its depth: one that ends in { begins a block, one that begins with } ends
 * one. At most 511 bytes. */
__attribute__((format(printf, 2, 3))) void emit_line(Emit *e, const char *format, ...);
EmitName emit_name(const Emit *e, FuseRef r, bool in_row);
DType emit_dtype(const Emit *e, FuseRef r);
const char *emit_held(DType d); /* the C type in which a value of dtype d is held, ... */
int emit_held_size(DType d);    /* ... and its bytes */
/* "sum_f32": the kernel of reduction i; and the C type of its accumulators. */
EmitName emit_kernel(const Emit *e, int i);
const char *emit_lane_type(const Emit *e, int i);
/* const T y3 = *(const T *)WHERE, widened; letter: x or y. */
void emit_input(Emit *e, char letter, int k, const char *where);
/* The definition of node i: `reduced`, where that is the source of its value, else its operation.
 */
void emit_value(Emit *e, int i, const char *reduced);

/* In the pass a value per row is folded from node i's operand; the node, computed before, is
 * loaded; is computed; is stored or kept; is folded over the rows. */
bool pass_folds(const Emit *e, int i, int pass);
bool pass_loads(const Emit *e, int i, int pass);
bool pass_computes(const Emit *e, int i, int pass);
bool pass_writes(const Emit *e, int i, int pass);
bool pass_has_column(const Emit *e, int i, int pass);

/* Sets e->streams. */
void pass_find_streams(Emit *e);
/* In a turn of whole lanes, from element i0 of the line on: places for what goes out; and then it
 * goes, past the caches if is_far, and inputs that have not been asked for are. */
void pass_places(Emit *e, int pass);
void pass_out(Emit *e, int pass, bool is_far, bool *asked);

/* What the pass's loop needs, for the functions below; false: it has none. */
bool pass_find_needs(Emit *e, int pass);
/* Pointers of one line, from element `at` of the row on. */
void pass_pointers(Emit *e, int pass);
/* Turn i of the loop, as a whole. */
void pass_body(Emit *e, int pass);
/* The loop over elements [from, to) of the row. */
void pass_loop(Emit *e, int pass);
/* Node i, a GATHER: one element of the row, as the loop of the pass would compute it. */
void pass_pick(Emit *e, int i, int pass);
#endif
