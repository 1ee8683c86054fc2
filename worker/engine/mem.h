/* mem.h: a worker's arena: one sparse reservation of `total` bytes with size-class free lists.
 * Pages are kept until mem_trim. Used by one thread, of engines that compute in host memory. The
 * pages are private to the process, or belong to a memfd that is sealed against shrinking: other
 * processes can map it, and read it even after this one has died.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_MEM_H
#define GT_WORKER_ENGINE_MEM_H
#include "runtime/base/err.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct Mem Mem;
/* total is rounded up to pages. is_shared: a memfd, if the system has them. NULL: failed, see
 * err. */
Mem *mem_open(uint64_t total_bytes, bool is_shared, Err *err);
void mem_close(Mem **m);
enum { MEM_ALIGN = 64 }; /* bytes: a cache line, and the longest vector */
/* Returns memory aligned to MEM_ALIGN; NULL: full. bytes 0 gives a valid pointer. */
void *mem_alloc(Mem *m, uint64_t bytes);
/* bytes: as requested. Under sanitizers the memory is filled with NaN. */
void mem_release(Mem *m, void *p, uint64_t bytes);
/* True if requests of so many bytes in all will succeed; each counts as 64 bytes more, and rounded
 * up to 64. */
bool mem_has(const Mem *m, uint64_t bytes);
void mem_usage(const Mem *m, uint64_t *used, uint64_t *peak, uint64_t *total);
/* Returns the pages of free blocks to the system; their next use costs page faults. */
void mem_trim(Mem *m);
/* The range that contains all memory from alloc; fd -1: it is not a file. */
void mem_range(const Mem *m, void **base, uint64_t *bytes, int *fd);
/* Adds a reference, for another worker in this process (any thread), if this is an arena of the
 * process; else returns false. The arena stays readable until mem_unref, even if it is closed
 * before. */
bool mem_ref(const void *base, uint64_t bytes);
void mem_unref(const void *base);
/* Returns the default size: 80 % of what the cgroup or the machine has free, divided by the workers
 * on the host. */
uint64_t mem_default_bytes(int workers_on_host);
#endif
