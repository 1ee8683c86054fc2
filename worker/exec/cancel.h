/* cancel.h: cancelling calls that the engine is executing.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_CANCEL_H
#define GT_WORKER_EXEC_CANCEL_H
#include "worker/exec/job.h"

/* During a long call the engine calls poll(ctx) every few ms. poll receives messages and calls
 * exec_cancel_running for those that end the call. NULL: the engine does not poll. */
void exec_set_poll(Exec *x, void (*poll)(void *ctx), void *ctx);
/* Reports a cancel (seq) or the client's end (UINT64_MAX) that has arrived but is not handled yet.
 * If the running call is that client's and is before seq, the engine ends it early: its results are
 * poisoned, and it is reported as cancelled. */
void exec_cancel_running(Exec *x, uint32_t client, uint64_t seq);
void exec_end(Exec *x); /* the worker shuts down: from now on all calls are cancelled */

/* ---- For the files of exec and for stages ---- */

/* Submits a client's call to the engine. A cancel or the client's end cancels it. */
Ticket exec_call(Exec *x, Client *c, uint64_t seq, const Call *call, const Ticket *after,
                 int n_after);
bool exec_fused(Exec *x, Client *c, uint64_t seq, const Call *product, struct Fusion *f,
                const struct FusedKernel *k); /* product: NULL without one */
/* Around work for a client's instruction that a cancel may end, such as making its kernel. */
void exec_begin_call(Exec *x, Client *c, uint64_t seq);
void exec_end_call(Exec *x);
void exec_cancel_done(Exec *x, Client *c); /* the cancel has been handled: calls run again */
/* Reports in order that the engine failed j; as cancelled if j was cancelled. */
void exec_call_failed(Exec *x, Job *j, const Err *err);
#endif
