/* mem.h: a worker's arena (DESIGN 6, Memory): one sparse reservation of `total` bytes,
 * size-class free lists on top; pages are kept while the worker lives. Owned by one thread. Used
 * by the engines that live in host memory.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_MEM_H
#define GT_WORKER_MEM_H
#include "runtime/err.h"
#include <stdint.h>

typedef struct Mem Mem;
Mem *mem_open(uint64_t total_bytes, Err *err); /* total rounded up to pages */
void mem_close(Mem **m);
/* 64-byte aligned; NULL: full. bytes 0 gives a valid pointer. */
void *mem_alloc(Mem *m, uint64_t bytes);
/* The same bytes as asked for. Under sanitizers they are filled with NaN. */
void mem_release(Mem *m, void *p, uint64_t bytes);
void mem_usage(const Mem *m, uint64_t *used, uint64_t *peak, uint64_t *total);
void mem_range(const Mem *m, void **base, uint64_t *bytes); /* all that alloc gives lies there */
/* 80 % of what the cgroup or the machine has free, shared by the workers of the host. */
uint64_t mem_default_bytes(int workers_on_host);
#endif
