/* step_trace.h: where the operands of a round come from. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STEP_STEP_TRACE_H
#define GT_LANG_STEP_STEP_TRACE_H
#include "lang/step/step_cut.h"

/* Adds the effects that the step has: those of every round, and those after the last. */
void cut_add_effects(Cut *c);
/* Finds out where the operands of a round come from. Rounds at the beginning that differ become
 * part of what comes before. */
bool cut_trace(Cut *c);
/* The round of the value id, and the item of that round that makes it; false if none does. */
bool cut_find_made(const Cut *c, uint64_t id, int *round, int *offset);
#endif
