/* exec.h: what a worker does with instructions: the tables behind worker.h, without any I/O.
 *
 * Frames are issued in order per client, clients in turns by the time they have used. A MAP,
 * REDUCE, KERNEL or SOURCE instruction becomes a Job that the engine may finish at any later
 * time; views, frees and names are done at once. A job whose operands are not there yet (they are
 * made by one that waits for another worker), or for whose results there is no memory now, waits
 * too, and what does not depend on it runs on. Each client has one queue of its unfinished jobs
 * and effects in the order of its stream; what is said of them (replies, errors,
 * acknowledgements) is said in that order. With an engine that finishes inside `submit`, and no
 * other worker, the queues stay empty and a Job never leaves the free list for longer than one
 * instruction.
 *
 * Every effect (fetch, peek, print, write, assert, save, track, sync) gets exactly one REPLY,
 * after the ERROR if it failed.
 *
 * Files: exec.c frames, clients and turns, issue.c one instruction, locate.c its part, queue.c what
 * waits (there: why nothing gets stuck), move.c tensors that come from other workers, peer.c what
 * is said between workers, box.c copying, effect.c answers, check.c nan, cut.c calls that end
 * early, stats.c figures, watch.c times, job.h what they share; stage.h what other folders put in
 * (clusters, plans).
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_EXEC_H
#define GT_WORKER_EXEC_EXEC_H
#include "worker/exec/job.h"

Exec *exec_new(const EngineOps *ops, const EngineConfig *config, Err *err);
void exec_free(Exec **x);                   /* waits for the engine */
void exec_set_rank(Exec *x, uint32_t rank); /* "w0" in messages */
Engine *exec_engine(Exec *x);

void exec_on_frame(Exec *x, Msg *m); /* consumes m */
/* Drops the client's instructions with sequence < seq that have not begun, and poisons their
 * outputs. One ERROR with code cancelled names the first of them: it and all others below seq are
 * lost. Frees among them still take effect. */
void exec_on_cancel(Exec *x, uint32_t client, uint64_t seq);
void exec_on_gone(Exec *x, uint32_t client);
/* The client has read so many more bytes of answers. While REPLY_BYTES of them are unread, nothing
 * of the client is issued and none of its effects carried out. */
void exec_on_heard(Exec *x, uint32_t client, uint64_t bytes);
/* A hot body of a client without unfinished work here. */
void exec_on_body(Exec *x, const Msg *m);

/* Issues for about budget_us, then returns; waits for the engine only if there is nothing else to
 * do. True: there is more to do. */
bool exec_step(Exec *x, int64_t budget_us);
/* True if the only work left is to wait a little for more instructions (collect.h): a caller that
 * can sleep until a message arrives need not call exec_step for EXEC_PATIENCE_MS. */
enum { EXEC_PATIENCE_MS = 1 };
bool exec_is_patient(const Exec *x);
bool exec_next(Exec *x, Msg *out); /* replies, errors, acknowledgements */
/* exec_frames: the number of frames received; exec_has_done: all up to the n-th are done, of one
 * client or (0) of all. */
uint64_t exec_frames(const Exec *x);
bool exec_has_done(const Exec *x, uint64_t n, uint32_t client);

/* ---- For the files of exec and for stages ---- */

void exec_send(Exec *x, Msg *m); /* consumes m */
Client *exec_client(Exec *x, uint32_t id, bool creates);
/* A job of f has ended, or f was issued completely. May free a client that is gone. */
void exec_frame_done(Exec *x, Frame *f);
int64_t exec_now_ns(const Exec *x); /* monotonic */
#endif
