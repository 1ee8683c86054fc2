/* pool.h: threads that run kernels. The parts of a job are fixed, and each has a preferred thread,
 * so that data stay near a core; a thread that has finished its own parts steals those of others
 * that have not begun. So a thread that wakes up late, or whose core runs another program, delays
 * the job by at most the part it is in. Which thread ran a part changes no result. The caller is
 * thread 0 and takes part. Not OpenMP, which TSan cannot see through. Idle threads spin for about
 * 100 us (less if there are more threads than cores), then sleep on a futex.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_POOL_H
#define GT_WORKER_ENGINE_POOL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Pool Pool;
/* thread: 0 <= thread < pool_threads, for scratch memory */
typedef void (*PoolFn)(void *ctx, int part, int thread);

Pool *pool_new(int threads); /* threads >= 1; 1 starts no thread */
void pool_free(Pool **p);
int pool_threads(const Pool *p);
/* Runs fn for every part 0 .. n_parts-1, each once, and returns when all are done. The parts are
 * divided into consecutive shares, one for each thread with work. `thread` may be any of the pool,
 * however few the parts; a single part runs in the caller. Results must not depend on `thread`. Not
 * reentrant. If cancelled, it returns early. */
void pool_run(Pool *p, int n_parts, PoolFn fn, void *ctx);
/* Cancelling. The pool's caller calls is_cancelled (NULL: never) about every 5 ms, between parts
 * and while it waits for other threads. Once that returns true, or after pool_cancel(p, true),
 * pool_run skips all parts that have not begun, until pool_cancel(p, false). The results are then
 * undefined, and must not be used as indices either. */
void pool_set_cancel(Pool *p, bool (*is_cancelled)(void *ctx), void *ctx);
void pool_cancel(Pool *p, bool is_cancelled);
/* Does not call is_cancelled; for the caller, after pool_run. */
bool pool_was_cancelled(const Pool *p);
/* For long parts: the thread that runs one calls it every millisecond or so. True: end early. */
bool pool_is_cancelled(Pool *p, int thread);
/* Returns the index at which a loop up to n, now at i, must call this again; i if it has ended or
 * must end early:
 *   for (int64_t i = 0, end; (end = pool_ahead(p, thread, i, n)) > i;)
 *       for (; i < end; i++) ... */
enum { POOL_AHEAD = 1 << 18 };
static inline int64_t pool_ahead(Pool *p, int thread, int64_t i, int64_t n) {
    if (n - i <= 0 || (i >= POOL_AHEAD && pool_is_cancelled(p, thread))) return i;
    return n - i < POOL_AHEAD ? n : i + POOL_AHEAD;
}
/* Between these two calls, by any thread, idle threads of all pools sleep at once and leave their
 * cores to other work of the process, such as a compiler. */
void pool_lend(void);
void pool_return(void);
/* Returns scratch memory of a thread, at least `bytes`, 64-byte aligned; valid until the next call
 * for that thread. */
void *pool_scratch(Pool *p, int thread, size_t bytes);
#endif
