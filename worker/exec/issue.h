/* issue.h: one instruction, from decoded to submitted to the engine or left to the queue.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_ISSUE_H
#define GT_WORKER_EXEC_ISSUE_H
#include "worker/exec/job.h"

/* Reads operand views, types, names and storages into j and x. Returns false on an unknown id. */
bool exec_gather(Exec *x, Job *j, ErrCode *poison, Err *err);
void exec_fail(Exec *x, const Job *j, const Err *err);    /* ERROR to the client, now */
void exec_fail_in_order(Exec *x, Job *j, const Err *err); /* when older jobs have been reported */
void exec_tell_cancelled(Exec *x, Job *j);                /* once for each cancel */
void exec_fail_memory(Exec *x, Job *j);                   /* no memory for j->call.out */
void exec_poison_outputs(Exec *x, Job *j, ErrCode why, const TensorType *types);
void exec_name(Exec *x, Job *j, int k, Storage *st, const TensorType *type); /* result k */
/* The result is a view of operand 0's storage. Owns j. */
void exec_name_view(Exec *x, Job *j, const View *view);
/* Returns the operand of j, a MAP, by its index in held, that the result may overwrite: it has its
 * type, and the instruction `free` that follows frees it; free NULL: only j, which is running from
 * the queue, refers to it. -1: none. */
int exec_ending_operand(const Job *j, const TensorType *out, const Inst *free);
/* Allocates the results and submits the call, now or later. Owns j. `following` may show which
 * operand dies. */
void exec_submit(Exec *x, Job *j, const Job *following, const TensorType *types);
/* Ends j: only its error, if any, is still to be reported. Owns j. */
void exec_finish(Exec *x, Job *j);
void exec_issue(Exec *x, Job *j, const Job *following); /* owns j from here on */
/* Writes an immediate as a scalar of the given dtype to `value` (8 bytes); inference has checked
 * that it fits. For halves it is a float32, rounded to them unless it is a factor. Returns the
 * scalar's dtype. */
DType exec_immediate(Op op, const Operand *o, DType t, void *value);
void exec_copy_payload(Exec *x, const Job *j, const View *to); /* of `data` */
#endif
