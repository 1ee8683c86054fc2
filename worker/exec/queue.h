/* queue.h: jobs that the engine has, or that wait; and in what order a client hears of them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_QUEUE_H
#define GT_WORKER_EXEC_QUEUE_H
#include "worker/exec/job.h"

extern const double exec_first_pace; /* until it is known */
/* The engine has as much before it as a cancel may have to wait for. */
bool exec_is_far_ahead(const Exec *x);
void exec_retire(Exec *x, bool wait); /* what the engine has done; wait: at least one */
/* Memory for results: there is some, there may be later, there is none. */
typedef enum Room { ROOM_NOW, ROOM_LATER, ROOM_NEVER } Room;
Room queue_new_storage(Exec *x, Job *j, uint64_t bytes, Storage **out);
Room queue_fill(Exec *x, Job *j);                                /* all j->out, of n_out */
bool queue_may_pass(const Exec *x, const Job *j, uint64_t need); /* older ones that wait */
void queue_tell(Job *j); /* an effect or an error that waits for its turn */
/* The results are named now and made later, when n_held operands (begun, or with `commits`: done)
 * and `more` other things are there. */
void queue_wait(Exec *x, Job *j, const TensorType *types, bool commits, uint32_t more);
/* As queue_wait for a job whose result has a name and no memory already; its maker is j. */
void queue_adopt(Exec *x, Job *j);
void queue_arrive(Job *j);                          /* one of the other things is there */
void queue_done(Exec *x, Job *j, ErrCode poison);   /* a job that waited; its client is not freed */
void queue_submit(Exec *x, Job *j, bool is_queued); /* call.out has memory */
bool queue_run(Exec *x, Client *c);    /* begins the oldest ready job that can; false: none */
void queue_settle(Exec *x, Client *c); /* says what is to be said */
void queue_cancel(Exec *x, Client *c); /* jobs below cancel_end */
void queue_drop(Exec *x, Client *c);   /* all that wait; it is gone */
#endif
