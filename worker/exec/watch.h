/* watch.h: the execution times of instructions, for monitors.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_WATCH_H
#define GT_WORKER_EXEC_WATCH_H
#include "worker/exec/exec.h"

/* Starts or stops sending execution times (TIMES) through exec_next. */
void exec_watch(Exec *x, bool on);

/* Returns the next message for monitors; false: none. */
bool watch_next(Exec *x, Msg *out);
/* Sets the time at which j began, if a monitor watches. */
static inline void watch_begin(const Exec *x, Job *j) {
    if (__builtin_expect(x->watch != NULL, 0)) j->begin_ns = exec_now_ns(x);
}
/* Adds the time of j, which is done. bytes: moved in addition to its results. Exec.watch must be
 * set. */
void watch_done(Exec *x, const Job *j, uint64_t bytes);
#endif
