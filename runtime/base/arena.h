/* arena.h: bump memory that is freed all at once (one input line, one frame, one parsed file), and
 * growing byte strings.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_ARENA_H
#define GT_RUNTIME_BASE_ARENA_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct ArenaBlock ArenaBlock;
typedef struct Arena {
    ArenaBlock *block;
} Arena; /* zero-initialised is a valid empty arena */

void *arena_alloc(Arena *a, size_t size_bytes); /* 16-byte aligned, uninitialised; never NULL */
void *arena_zalloc(Arena *a, size_t size_bytes);
char *arena_strndup(Arena *a, const char *s, size_t n); /* adds the NUL */
char *arena_printf(Arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_reset(Arena *a); /* keeps one block for reuse */
void arena_fini(Arena *a);

/* A growing byte string; data is always NUL-terminated beyond n. Zero-initialised is valid and
 * empty (data NULL). */
typedef struct Bytes {
    char *data;
    size_t n, cap;
} Bytes;
void bytes_reserve(Bytes *b, size_t extra);
void bytes_add(Bytes *b, const void *p, size_t n);
void bytes_puts(Bytes *b, const char *s);
static inline void bytes_putc(Bytes *b, char c) {
    if (b->cap - b->n < 2) bytes_reserve(b, 1);
    b->data[b->n++] = c;
    b->data[b->n] = 0;
}
void bytes_printf(Bytes *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends the file at path, at most a little more than `most` bytes of it, and a NUL that is not
 * counted. Returns false, with errno set, if it cannot be read. */
bool bytes_read(Bytes *b, const char *path, size_t most);
void bytes_write(Bytes *b, FILE *out); /* and frees it */
void bytes_fini(Bytes *b);             /* frees; b is valid and empty again */
#endif
