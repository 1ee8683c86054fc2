/* cut.h: calls of the engine that a cancel, or the client's end, cuts off.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_CUT_H
#define GT_WORKER_EXEC_CUT_H
#include "worker/exec/job.h"

/* While a call is carried out that takes long: hear(ctx) is called every few ms, is to take in what
 * has arrived, and to say by exec_cut_off what of it ends the call. NULL: no longer. */
void exec_on_hear(Exec *x, void (*hear)(void *ctx), void *ctx);
/* A cancel has arrived (seq), or the client's end (UINT64_MAX), but is not handed in yet: if the
 * call under way is of that client and before seq it is cut off, and poisoned; that it was is told
 * like what a cancel drops. */
void exec_cut_off(Exec *x, uint32_t client, uint64_t seq);
void exec_end(Exec *x); /* the worker leaves: every call from now on is cut off */

/* ---- For the files of exec and for stages ---- */

/* To the engine, as a call of the client that a cancel, or its end, cuts off. */
Ticket exec_call(Exec *x, Client *c, uint64_t seq, const Call *call, const Ticket *after,
                 int n_after);
bool exec_fused(Exec *x, Client *c, uint64_t seq, const Call *product, struct Fuse *f,
                const struct FusedKernel *k); /* product: NULL without one */
void exec_uncut(Exec *x, Client *c);          /* what cut it off has been handed in */
/* The engine's failure of j, told in order; one that was cut off says what a cancel says. */
void exec_call_failed(Exec *x, Job *j, const Err *err);
#endif
