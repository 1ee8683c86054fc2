/* watch.h: the execution times of instructions, for monitors.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_WATCH_H
#define GT_WORKER_EXEC_WATCH_H
#include "worker/exec/exec.h"

/* Starts or stops sending execution times (TIMES) through exec_next. */
void exec_watch(Exec *x, bool on);

/* Except for the first, the following are called only while Exec.watch is set. */
bool watch_next(Exec *x, Msg *out); /* the next message for monitors; false: none */
static inline void watch_begin(const Exec *x, Job *j) {
    if (__builtin_expect(x->watch != NULL, 0)) j->begin_ns = exec_now_ns(x);
}
/* j is done; bytes: moved beside those of its results. */
void watch_done(Exec *x, const Job *j, uint64_t bytes);
#endif
