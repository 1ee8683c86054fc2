/* pool.h: threads that run kernels. What the parts of a job are is fixed, and each has a thread
 * that should run it, so that data stay near a core; who is done with its own parts takes those
 * of others that have not begun. So a thread that wakes up late, or whose core is taken by
 * another program, delays nobody by more than the part it is in. Who ran a part changes no
 * result. The caller is thread 0 and takes part. No OpenMP: TSan cannot see through it. Idle
 * threads spin about 100 us (less when there are more threads than cores), then sleep on a
 * futex. SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_POOL_H
#define GT_WORKER_ENGINE_POOL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Pool Pool;
/* thread: 0 <= thread < pool_threads, for scratch memory */
typedef void (*PoolFn)(void *ctx, int part, int thread);

Pool *pool_new(int threads); /* threads >= 1; 1 makes no thread at all */
void pool_free(Pool **p);
int pool_threads(const Pool *p);
/* Runs fn for every part 0 .. n_parts-1, each once, and returns when all are done: thread t begins
 * with a run of parts, the t-th of as many as there are threads with work. `thread` may be any of
 * the pool, however few the parts; one part alone runs in the caller. Results must not depend on
 * it. Not reentrant. Cut off (pool_ask), it returns early. */
void pool_run(Pool *p, int n_parts, PoolFn fn, void *ctx);
/* Whether the work under way is to end early. The pool's caller asks (NULL: it does not), about
 * every 5 ms, between parts and while it waits for the other threads. Once the answer was true, or
 * pool_cut said so, pool_run leaves out all parts that have not begun, until pool_cut(p, false):
 * results are not to be read then, nor used as places. */
void pool_ask(Pool *p, bool (*is_cut)(void *ctx), void *ctx);
void pool_cut(Pool *p, bool is_cut);
bool pool_was_cut(const Pool *p); /* nobody is asked; for the caller, behind pool_run */
/* For parts that take long, every millisecond or so, by the thread that runs one: end early? */
bool pool_is_cut(Pool *p, int thread);
/* Where a loop up to n, which is at i, asks next; i itself when it has ended or is to end early:
 *   for (int64_t i = 0, end; (end = pool_ahead(p, thread, i, n)) > i;)
 *       for (; i < end; i++) ... */
enum { POOL_AHEAD = 1 << 18 };
static inline int64_t pool_ahead(Pool *p, int thread, int64_t i, int64_t n) {
    if (n - i <= 0 || (i >= POOL_AHEAD && pool_is_cut(p, thread))) return i;
    return n - i < POOL_AHEAD ? n : i + POOL_AHEAD;
}
/* Between these calls, by any thread, threads of all pools sleep as soon as they have nothing to
 * do, so that other work of the process has their cores meanwhile: a compiler. */
void pool_lend(void);
void pool_return(void);
/* Scratch of a thread, at least `bytes`, 64-byte aligned, kept between calls; valid until the next
 * call for that thread. */
void *pool_scratch(Pool *p, int thread, size_t bytes);
#endif
