/* queue.h: jobs in flight, jobs that wait, and the order in which a client gets their reports.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_QUEUE_H
#define GT_WORKER_EXEC_QUEUE_H
#include "worker/exec/job.h"

extern const double exec_first_pace; /* Exec.pace before the first measurement */
/* True if enough calls are in flight: a cancel has to wait for all of them. */
bool exec_is_far_ahead(const Exec *x);
/* With an ordered engine: n more calls (< 0: fewer) are in flight, with so much work in all. */
void queue_count(Exec *x, int n, double work);
bool queue_is_much(const Exec *x, double work); /* some of what may be in flight */
/* Estimates the work of a call: about the bytes that it moves, and more with FACT_CUBIC. */
double exec_work(const Call *call);
/* Retires the calls that are done, or goes on with what waits for marks. wait: waits for one. */
void exec_retire(Exec *x, bool wait);
/* Of an allocation: done; wait, because other jobs may free memory; or out of memory. */
typedef enum Alloc { ALLOC_DONE, ALLOC_LATER, ALLOC_NEVER } Alloc;
Alloc queue_new_storage(Exec *x, Job *j, uint64_t bytes, Storage **out);
Alloc queue_fill(Exec *x, Job *j); /* allocates all n_out of j->out */
/* True if j may take `need` bytes before older jobs that wait for memory. */
bool queue_may_pass(const Exec *x, const Job *j, uint64_t need);
/* Queues a job whose effect or error waits for its turn. */
void queue_report(Exec *x, Job *j);
/* Queues j until its operands' makers have started (until_filled: finished) and `more` further
 * events have arrived. Its results are named now; they get memory when j starts. */
void queue_wait(Exec *x, Job *j, const TensorType *types, bool until_filled, uint32_t more);
/* As queue_wait, for a pending job: its result has a name already, but no memory. */
void queue_adopt(Exec *x, Job *j);
void queue_arrive(Job *j);                        /* one of the `more` events */
void queue_done(Exec *x, Job *j, ErrCode poison); /* ends a queued job; does not free its client */
void queue_submit(Exec *x, Job *j, bool is_queued); /* call.out must have memory */
bool queue_run(Exec *x, Client *c);    /* starts the oldest ready job that can start; false: none */
void queue_settle(Exec *x, Client *c); /* reports, in order, the jobs that are done */
void queue_cancel(Exec *x, Client *c); /* drops waiting calls below cancel_end */
void queue_drop(Exec *x, Client *c);   /* drops all jobs but those in flight; c is gone */
#endif
