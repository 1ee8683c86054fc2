/* locate.h: this rank's part of an instruction that several ranks execute.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_LOCATE_H
#define GT_WORKER_EXEC_LOCATE_H
#include "worker/exec/job.h"

/* Reads which ranks run j, and sets j->group and j->part. Returns false if this rank is none of
 * them, or, with a code in err, if the ranks cannot be read. */
bool locate_begin(Exec *x, Job *j, Err *err);
/* As inst_infer, for the local parts of the results. Sets j->call.inst to the instruction with
 * local sizes. */
bool locate_infer(Exec *x, Job *j, TensorType *types, int *n_out, Err *err);
/* Makes j->call a `full` of the neutral element of a REDUCE operation. */
void locate_neutral(Job *j, Op row, const TensorType *type);
/* Returns the group with this id; NULL: unknown. */
const Group *locate_group(const Exec *x, uint32_t id);
#endif
