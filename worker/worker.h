/* worker.h: one worker: a step function over messages, with a thin shell that runs it in a
 * thread (embedded) or a process.
 *
 * worker_on_message takes what the dispatcher sent; worker_step executes some of what is pending
 * (at most about `budget_us` of kernels) and worker_next yields what is to be sent back. The
 * shell, worker_run, does I/O and sleeps. exec.c holds the tables; engines are behind engine.h.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_WORKER_H
#define GT_WORKER_WORKER_H
#include "runtime/net.h"
#include "worker/engine.h"

typedef struct WorkerConfig {
    const char *engine;    /* "cpu", "reference"; NULL: GT_BACKEND, else cpu */
    int threads;           /* of the pool, the worker's own included; 0: its share of the cores */
    uint64_t memory_bytes; /* of the arena; 0: its share of 80 % of the free memory */
    int workers_on_host;   /* for the shares above; 0 means 1 */
    const char *endpoint;  /* the dispatcher's, for worker_run */
    Err *why;              /* filled when worker_run cannot start or is refused; NULL: to stderr */
} WorkerConfig;

typedef struct Worker Worker;
Worker *worker_new(const WorkerConfig *config, Err *err);
void worker_free(Worker **w);                   /* waits for the engine, frees all */
void worker_on_message(Worker *w, Msg *m);      /* consumes m */
bool worker_step(Worker *w, int64_t budget_us); /* true: there is more to do now */
bool worker_next(Worker *w, Msg *out);          /* next message for the dispatcher; false: none */
bool worker_has_left(const Worker *w);          /* BYE, REFUSE or a lost dispatcher */
/* Connects, says hello, and serves until told to leave. Returns the process's exit code. Safe to
 * run in a thread. */
int worker_run(const WorkerConfig *config);
#endif
