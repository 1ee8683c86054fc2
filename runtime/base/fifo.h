/* fifo.h: a queue of items of one size, in a ring that grows. All zero is an empty one. Items are
 * moved as bytes; a pointer to one holds until the next push. SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_FIFO_H
#define GT_RUNTIME_BASE_FIFO_H
#include "runtime/base/err.h"
#include <stdlib.h>
#include <string.h>

typedef struct Fifo {
    unsigned char *slot;
    size_t at, n, cap, size; /* cap: a power of 2 */
} Fifo;

/* The i-th oldest, i < n. */
static inline void *fifo_at(const Fifo *f, size_t i) {
    return f->slot + ((f->at + i) & (f->cap - 1)) * f->size;
}
/* A new youngest of `size` bytes, always the same; the caller fills it. */
static inline void *fifo_push(Fifo *f, size_t size) {
    if (f->n == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 16, first = f->cap - f->at;
        unsigned char *slot = xmalloc(cap * size);
        if (f->n) {
            memcpy(slot, f->slot + f->at * size, first * size);
            memcpy(slot + first * size, f->slot, f->at * size);
        }
        free(f->slot);
        *f = (Fifo){slot, 0, f->n, cap, size};
    }
    return fifo_at(f, f->n++);
}
/* Drops the oldest; there is one. */
static inline void fifo_pop(Fifo *f) { f->at = (f->at + 1) & (f->cap - 1), f->n--; }
static inline void fifo_fini(Fifo *f) {
    free(f->slot);
    *f = (Fifo){0};
}
#endif
