/* emit_rows.h: the loops over the rows of a fusion (fuse.h), between emit_pass.c, which writes the
 * loop over a row's elements, and emit_fusion.c, which writes the functions around.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EMIT_EMIT_ROWS_H
#define GT_WORKER_EMIT_EMIT_ROWS_H
#include "worker/emit/emit_pass.h"

/* True if node i is used and is folded over the rows, into an accumulator per lane or column; if it
 * is one value for all rows. */
bool emit_folds_rows(const Emit *e, int i);
bool emit_is_total(const Emit *e, int i);
/* The type in which a fold over the rows keeps what it has in the table. */
const char *emit_folded(const Emit *e, int i);

/* Returns the number of pointers to elements in all passes over a short row. With more than
 * EMIT_STREAMS the passes run in turn. Measured on Zen 4, rows of 512 to 4,096 elements, float32,
 * in turn beside staggered: layer norm with backward (15 pointers) takes 0.35 to 0.80 of the time;
 * softmax with backward (9) 0.86 to 1.3, layer norm (6) 0.95 to 1.6. */
enum { EMIT_STREAMS = 12 };
int emit_streams(Emit *e);
/* Divides the scratch memory. Returns its fixed bytes; *per_element: more bytes for each element of
 * a row. */
int64_t emit_scratch(Emit *e, int64_t *per_element);
/* Writes FusedWalk rows, at row `from`; and b, where each input's row begins. */
void emit_walk(Emit *e, const char *from);
void emit_bases(Emit *e);
/* Writes the inputs that row values need. */
void emit_row_inputs(Emit *e);
/* Writes the row values that the previous pass made known. */
void emit_row_values(Emit *e, int pass, bool stores);
/* Writes the block's accumulators T of the nodes that the pass folds. */
void emit_folds(Emit *e, int pass);

/* Writes all passes over rows 0 to count - 1. next writes lines that define `row`, the number in
 * memory of row `step`, and that move the walk there if it is not there already. */
void emit_rows(Emit *e, const char *count, void (*next)(Emit *e, const char *step));
#endif
