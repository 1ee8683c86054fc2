/* exec.h: executes the instructions of frames. Takes and returns messages; does no I/O.
 *
 * The frames of one client are issued in order. Clients take turns; the one that has used least
 * time is next. A MAP, REDUCE, KERNEL or SOURCE instruction becomes a Job, which the engine may
 * finish at any later time. Views, frees and names take effect at once. A job waits if an operand
 * is not there yet (its maker waits for another worker) or if there is no memory for its results;
 * jobs that do not depend on it continue. Each client has one queue of its unfinished jobs and
 * effects, in the order of its stream. Replies, errors and acknowledgements are sent in that order.
 * With an engine that finishes inside `submit`, and one worker, the queues stay empty.
 *
 * Every effect (fetch, peek, print, write, assert, save, track, sync) gets exactly one REPLY,
 * after the ERROR if it failed.
 *
 * Files: exec.c frames, clients, turns; issue.c one instruction; locate.c this rank's part of it;
 * queue.c jobs in flight and waiting, and why there is no deadlock; mark.c what waits for an
 * ordered engine, and its late failures; store.c tensors and their memory; move.c tensors from
 * other workers; fold.c adds the terms of an all_reduce; peer.c messages between workers, and dead
 * peers; effect.c replies; check.c nan; cancel.c cancelled calls; stats.c statistics; watch.c
 * times; profile.c times by source line; hash.c hashes of results; job.h shared types; stage.h the
 * interface for fusions and plans.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_EXEC_H
#define GT_WORKER_EXEC_EXEC_H
#include "worker/exec/job.h"

Exec *exec_new(const EngineOps *ops, const EngineConfig *config, Err *err);
void exec_free(Exec **x);                   /* waits for the engine */
void exec_set_rank(Exec *x, uint32_t rank); /* 0: "w0" in messages */
Engine *exec_engine(Exec *x);

void exec_on_frame(Exec *x, Msg *m); /* consumes m */
/* Drops the client's instructions with sequence < seq that have not started, and poisons their
 * outputs. One ERROR with code cancelled names the first of them and stands for all. Frees and
 * moves still take effect. */
void exec_on_cancel(Exec *x, uint32_t client, uint64_t seq);
void exec_on_gone(Exec *x, uint32_t client);
/* The client has read this many more bytes of answers. While REPLY_BYTES of them are unread, none
 * of its instructions is issued and none of its effects executed. */
void exec_on_credit(Exec *x, uint32_t client, uint64_t bytes);
/* Defines a hot body of a client that has no unfinished work here. */
void exec_on_body(Exec *x, const Msg *m);

/* Issues instructions for about budget_us. Waits for the engine only if there is nothing else to
 * do. Returns true if there is more to do. */
bool exec_step(Exec *x, int64_t budget_us);
/* True if all that is left are pending jobs, which wait for more instructions (collect.h). A caller
 * that can sleep until a message arrives may call exec_step up to EXEC_SLEEP_MS later. */
enum { EXEC_SLEEP_MS = 1 };
bool exec_can_sleep(const Exec *x);
bool exec_next(Exec *x, Msg *out);   /* replies, errors, acknowledgements */
uint64_t exec_frames(const Exec *x); /* the number of frames received */
/* True if the first n frames received are done; client 0: of all clients, else of that one. */
bool exec_has_done(const Exec *x, uint64_t n, uint32_t client);

/* ---- For the files of exec and for stages ---- */

void exec_send(Exec *x, Msg *m);                         /* consumes m */
Client *exec_client(Exec *x, uint32_t id, bool creates); /* NULL: unknown, and not creates */
/* Call this when a job of f has ended or f is issued. Acknowledges the frames that are done. May
 * free a client that is gone. */
void exec_frame_done(Exec *x, Frame *f);
int64_t exec_now_ns(const Exec *x); /* monotonic */
#endif
