/* locate.h: this rank's part of an instruction that several carry out.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_LOCATE_H
#define GT_WORKER_EXEC_LOCATE_H
#include "worker/exec/job.h"

/* Reads where j is carried out; false: not here (or it cannot be read: err has a code). */
bool locate_begin(Exec *x, Job *j, Err *err);
/* As inst_infer: types of the parts; j->call.inst is what the engine is to do. */
bool locate_infer(Exec *x, Job *j, TensorType *types, int *n_out, Err *err);
/* j->call makes the neutral element of a REDUCE row everywhere in its result. */
void locate_neutral(Job *j, Op row, const TensorType *type);
const Group *locate_group(const Exec *x, uint32_t id);
#endif
