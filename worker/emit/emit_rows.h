/* emit_rows.h: the loops over the rows of a cluster (fuse.h), between emit_pass.c, which writes the
 * loop over a row's elements, and emit_cluster.c, which writes the functions around.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EMIT_EMIT_ROWS_H
#define GT_WORKER_EMIT_EMIT_ROWS_H
#include "worker/emit/emit_pass.h"

/* Node i is used, and one value per row; is folded over the rows, into an accumulator per lane or
 * column; is one value for all rows. */
bool emit_is_row_value(const Emit *e, int i);
bool emit_folds_rows(const Emit *e, int i);
bool emit_is_total(const Emit *e, int i);

/* Takes the pieces of scratch memory; returns their fixed bytes, *per_element those for each
 * element of a row. */
int64_t emit_scratch(Emit *e, int64_t *per_element);
/* FusedWalk rows, at row `from`, and b: where each input's row begins. */
void emit_walk(Emit *e, const char *from);
void emit_bases(Emit *e);
/* The inputs that row values need. */
void emit_row_inputs(Emit *e);
/* Row values that are there before the pass, and not before the one before it. */
void emit_row_values(Emit *e, int pass, bool stores);
/* The accumulators T of the block, of what the pass folds. */
void emit_folds(Emit *e, int pass);

/* All passes over rows number 0 to count - 1; next: writes lines that define `row`, the number of
 * row `step` in memory, and move the walk to it, where it is not there anyway. */
void emit_rows(Emit *e, const char *count, void (*next)(Emit *e, const char *step));
#endif
