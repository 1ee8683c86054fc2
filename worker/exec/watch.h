/* watch.h: what instructions took, for monitors.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_WATCH_H
#define GT_WORKER_EXEC_WATCH_H
#include "worker/exec/exec.h"

/* From now on, or no longer, exec_next says what instructions took (TIMES). */
void exec_watch(Exec *x, bool on);

/* Of what follows, all but the first only while Exec.watch is there. */
bool watch_next(Exec *x, Msg *out); /* the next message to who watches; false: none */
static inline void watch_begin(const Exec *x, Job *j) {
    if (__builtin_expect(x->watch != NULL, 0)) j->begin_ns = exec_now_ns(x);
}
/* It is done; bytes: beside those of its results. */
void watch_done(Exec *x, const Job *j, uint64_t bytes);
#endif
