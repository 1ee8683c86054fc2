/* mem.h: a worker's arena (DESIGN 6, Memory): one sparse reservation of `total` bytes,
 * size-class free lists on top; pages are kept until mem_trim. Owned by one thread. Used
 * by the engines that live in host memory. Its pages are this process's alone, or a file's without
 * a name (memfd) that cannot shrink, so that other processes can map it and read on even after this
 * one has died.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_MEM_H
#define GT_WORKER_ENGINE_MEM_H
#include "runtime/base/err.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct Mem Mem;
/* total rounded up to pages; is_shared: a memfd, where the system has such. */
Mem *mem_open(uint64_t total_bytes, bool is_shared, Err *err);
void mem_close(Mem **m);
/* 64-byte aligned; NULL: full. bytes 0 gives a valid pointer. */
void *mem_alloc(Mem *m, uint64_t bytes);
/* The same bytes as asked for. Under sanitizers they are filled with NaN. */
void mem_release(Mem *m, void *p, uint64_t bytes);
/* Requests of so many bytes in all, with 64 for the head of each and rounded up to as many, can be
 * met. */
bool mem_has(const Mem *m, uint64_t bytes);
void mem_usage(const Mem *m, uint64_t *used, uint64_t *peak, uint64_t *total);
/* Gives the pages of what is free back to the system; the next use of them costs a page fault. */
void mem_trim(Mem *m);
/* All that alloc gives lies there; fd -1: it is no file. */
void mem_range(const Mem *m, void **base, uint64_t *bytes, int *fd);
/* For another worker in this process (any thread): is this one of its arenas? Then it stays
 * readable until mem_let_go, even if it is closed meanwhile. */
bool mem_hold(const void *base, uint64_t bytes);
void mem_let_go(const void *base);
/* 80 % of what the cgroup or the machine has free, shared by the workers of the host. */
uint64_t mem_default_bytes(int workers_on_host);
#endif
