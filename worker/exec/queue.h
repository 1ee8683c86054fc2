/* queue.h: jobs that the engine has, or that wait; and in what order a client hears of them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_QUEUE_H
#define GT_WORKER_EXEC_QUEUE_H
#include "worker/exec/job.h"

extern const double exec_first_pace; /* until it is known */
/* True if the engine has as much work as a cancel may have to wait for. */
bool exec_is_far_ahead(const Exec *x);
void exec_retire(Exec *x, bool wait); /* retires the calls that are done; wait: at least one */
/* Whether there is memory for results: now, perhaps later, or never. */
typedef enum Room { ROOM_NOW, ROOM_LATER, ROOM_NEVER } Room;
Room queue_new_storage(Exec *x, Job *j, uint64_t bytes, Storage **out);
Room queue_fill(Exec *x, Job *j); /* all j->out, of n_out */
/* True if j may take `need` bytes ahead of older jobs that wait for memory. */
bool queue_may_pass(const Exec *x, const Job *j, uint64_t need);
void queue_tell(Job *j); /* queues an effect or an error until its turn */
/* Queues j until its operands have started (`commits`: finished) and `more` further events have
 * arrived. Its results are named now; they get memory when j starts. */
void queue_wait(Exec *x, Job *j, const TensorType *types, bool commits, uint32_t more);
/* As queue_wait, for a job whose result already has a name, but no memory; j becomes its maker. */
void queue_adopt(Exec *x, Job *j);
void queue_arrive(Job *j);                        /* one of the `more` events */
void queue_done(Exec *x, Job *j, ErrCode poison); /* ends a queued job; does not free its client */
void queue_submit(Exec *x, Job *j, bool is_queued); /* call.out has memory */
bool queue_run(Exec *x, Client *c);    /* starts the oldest ready job that can; false: none */
void queue_settle(Exec *x, Client *c); /* sends replies, errors, acknowledgements */
void queue_cancel(Exec *x, Client *c); /* jobs below cancel_end */
void queue_drop(Exec *x, Client *c);   /* all that wait; it is gone */
#endif
