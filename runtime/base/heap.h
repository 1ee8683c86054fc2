/* heap.h: what becomes of freed host memory.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_HEAP_H
#define GT_RUNTIME_BASE_HEAP_H

/* To be called at the start of a program, before there are threads: up to 64 MiB of freed memory
 * are kept for later allocations, and blocks below 32 MiB lie in the heap. Otherwise glibc gives
 * the heap's end back to the system whenever some MiB come and go, and each page of it costs a
 * fault when it is used again. A worker without work gives all of it back (exec_trim). */
void heap_keep(void);
#endif
