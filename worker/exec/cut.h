/* cut.h: cancelling calls that the engine is executing.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_CUT_H
#define GT_WORKER_EXEC_CUT_H
#include "worker/exec/job.h"

/* hear(ctx) is called every few ms during a long call. It receives messages, and calls exec_cut_off
 * for those that end the call. NULL: none. */
void exec_on_hear(Exec *x, void (*hear)(void *ctx), void *ctx);
/* A cancel (seq) or the client's end (UINT64_MAX) has arrived, but is not handled yet. If the
 * running call is of that client and before seq it is cut off and poisoned, and reported as
 * cancelled. */
void exec_cut_off(Exec *x, uint32_t client, uint64_t seq);
void exec_end(Exec *x); /* the worker leaves: all calls are cut off from now on */

/* ---- For the files of exec and for stages ---- */

/* Submits a client's call to the engine, such that a cancel or the client's end cuts it off. */
Ticket exec_call(Exec *x, Client *c, uint64_t seq, const Call *call, const Ticket *after,
                 int n_after);
bool exec_fused(Exec *x, Client *c, uint64_t seq, const Call *product, struct Fuse *f,
                const struct FusedKernel *k); /* product: NULL without one */
void exec_uncut(Exec *x, Client *c);          /* the cancel has been handled */
/* Reports the engine's failure of j in order; if j was cut off, as cancelled. */
void exec_call_failed(Exec *x, Job *j, const Err *err);
#endif
