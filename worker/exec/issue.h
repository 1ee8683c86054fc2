/* issue.h: takes one decoded instruction and submits it to the engine, or queues it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_ISSUE_H
#define GT_WORKER_EXEC_ISSUE_H
#include "worker/exec/job.h"

/* Reads the operands' views and storages into j, their names and types into x, and the poison of
 * the first poisoned one (else ERR_NONE). Returns false on an unknown id. */
bool exec_gather(Exec *x, Job *j, ErrCode *poison, Err *err);
void exec_fail(Exec *x, const Job *j, const Err *err); /* sends ERROR to the client now */
/* ... after older jobs' reports, when j is queued (exec_finish), or exec_report_apart is called. */
void exec_fail_in_order(Exec *x, Job *j, const Err *err);
/* If j, which is in no queue, has an error: queues another job that reports it in its turn. */
void exec_report_apart(Exec *x, Job *j);
void exec_report_cancelled(Exec *x, Job *j); /* ... once per cancel */
void exec_fail_memory(Exec *x, Job *j);      /* ... no memory for j->call.out */
void exec_poison_outputs(Exec *x, Job *j, ErrCode why, const TensorType *types);
/* Names st as result k of j. Consumes one reference. */
void exec_name(Exec *x, Job *j, int k, Storage *st, const TensorType *type);
/* Names a view of operand 0's storage as j's result and ends j. Owns j. */
void exec_name_view(Exec *x, Job *j, const View *view);
/* Returns the index in held of an operand that the result of j, a MAP, may overwrite; -1: none. It
 * has the result's type, covers its storage, and dies here: `free`, the next instruction, frees it;
 * or, with free NULL, j (started from the queue) has the only reference. */
int exec_ending_operand(const Job *j, const TensorType *out, const Inst *free);
/* Allocates and names the results and submits the call, or queues it. Owns j. following: the next
 * instruction, which may free an operand; NULL: unknown. */
void exec_submit(Exec *x, Job *j, const Job *following, const TensorType *types);
/* Ends j; if it has an error, queues it until the error's turn. Owns j. */
void exec_finish(Exec *x, Job *j);
void exec_issue(Exec *x, Job *j, const Job *following); /* owns j; following: as above */
/* Writes an immediate to `value` (8 bytes) as a scalar of dtype t, and returns the scalar's dtype.
 * Inference has checked that it fits. For a half it is a float32, rounded to the half unless op has
 * FACT_SCALES. */
DType exec_immediate(Op op, const Operand *o, DType t, void *value);
/* This rank's part of the payload of j, a `data`; and copies it to j's result. */
View exec_payload(const Job *j);
void exec_copy_payload(Exec *x, const Job *j);
#endif
