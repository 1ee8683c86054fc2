/* locate.h: this rank's part of an instruction that several ranks execute.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_LOCATE_H
#define GT_WORKER_EXEC_LOCATE_H
#include "worker/exec/job.h"

/* Reads where j is executed. Returns false if not here, or if it cannot be read (err has a
 * code). */
bool locate_begin(Exec *x, Job *j, Err *err);
/* As inst_infer: types of the parts; sets j->call.inst to the instruction for the engine. */
bool locate_infer(Exec *x, Job *j, TensorType *types, int *n_out, Err *err);
/* Makes j->call fill its result with the neutral element of a REDUCE row. */
void locate_neutral(Job *j, Op row, const TensorType *type);
const Group *locate_group(const Exec *x, uint32_t id);
#endif
