/* heap.c: see heap.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/heap.h"
#include <malloc.h>

void heap_keep(void) {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
}
