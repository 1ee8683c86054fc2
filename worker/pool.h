/* pool.h: threads that run kernels, with static partition: part p of n always does the same
 * indices, so nothing depends on timing. The caller is thread 0 and takes part. No OpenMP: TSan
 * cannot see through it. Idle threads spin about 100 us (less when there are more threads than
 * cores), then sleep on a futex.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_POOL_H
#define GT_WORKER_POOL_H
#include <stddef.h>

typedef struct Pool Pool;
/* thread: 0 <= thread < pool_threads, for scratch memory */
typedef void (*PoolFn)(void *ctx, int part, int thread);

Pool *pool_new(int threads); /* threads >= 1; 1 makes no thread at all */
void pool_free(Pool **p);
int pool_threads(const Pool *p);
/* Runs fn for every part 0 .. n_parts-1 and returns when all are done: thread t takes the parts p
 * with p % threads == t (p < n_parts). Results must not depend on n_parts being related to the
 * number of threads. Not reentrant. */
void pool_run(Pool *p, int n_parts, PoolFn fn, void *ctx);
/* Scratch of a thread, at least `bytes`, 64-byte aligned, kept between calls; valid until the next
 * call for that thread. */
void *pool_scratch(Pool *p, int thread, size_t bytes);
#endif
