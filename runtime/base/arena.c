/* arena.c: a list of blocks, newest first; only the newest is filled. A reset keeps the newest
 * (the largest ordinary one, because sizes double), so that a loop over lines or frames soon
 * stops calling malloc.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/arena.h"
#include "runtime/base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MIN ((size_t)4 << 10)
#define BLOCK_MAX ((size_t)1 << 20) /* larger blocks hold one allocation and are not kept */

struct ArenaBlock {
    ArenaBlock *next;
    size_t used, cap;
    size_t pad; /* data stays 16-byte aligned */
    unsigned char data[];
};

static void *alloc_slow(Arena *a, size_t size) {
    size_t cap = a->block ? a->block->cap * 2 : BLOCK_MIN;
    if (cap > BLOCK_MAX) cap = BLOCK_MAX;
    if (cap < size) cap = size;
    ArenaBlock *b = xmalloc(sizeof *b + cap);
    b->next = a->block, b->cap = cap, b->used = size;
    a->block = b;
    return b->data;
}

void *arena_alloc(Arena *a, size_t size_bytes) {
    assert(size_bytes <= SIZE_MAX / 4);
    size_t size = (size_bytes + 15) & ~(size_t)15;
    ArenaBlock *b = a->block;
    if (!b || b->cap - b->used < size) return alloc_slow(a, size);
    void *p = b->data + b->used;
    b->used += size;
    return p;
}

void *arena_zalloc(Arena *a, size_t size_bytes) {
    return memset(arena_alloc(a, size_bytes), 0, size_bytes);
}

char *arena_strndup(Arena *a, const char *s, size_t n) {
    char *p = arena_alloc(a, n + 1);
    if (n) memcpy(p, s, n);
    p[n] = 0;
    return p;
}

char *arena_printf(Arena *a, const char *format, ...) {
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    char small[256]; /* most texts fit and are formatted once */
    int n = vsnprintf(small, sizeof small, format, ap);
    va_end(ap);
    assert(n >= 0);
    char *p = arena_alloc(a, (size_t)n + 1);
    if ((size_t)n < sizeof small)
        memcpy(p, small, (size_t)n + 1);
    else
        vsnprintf(p, (size_t)n + 1, format, again);
    va_end(again);
    return p;
}

void arena_reset(Arena *a) {
    ArenaBlock *keep = a->block;
    if (!keep) return;
    ArenaBlock *b = keep->next;
    while (b) {
        ArenaBlock *next = b->next;
        free(b);
        b = next;
    }
    keep->next = NULL, keep->used = 0;
    if (keep->cap > BLOCK_MAX) {
        free(keep);
        a->block = NULL;
    }
}

void arena_fini(Arena *a) {
    while (a->block) {
        ArenaBlock *next = a->block->next;
        free(a->block);
        a->block = next;
    }
}

/* ---- Bytes ---- */

void bytes_reserve(Bytes *b, size_t extra) {
    assert(extra < SIZE_MAX / 4);
    if (b->data && b->cap - b->n > extra) return; /* one byte more than requested, for the NUL */
    size_t cap = b->cap * 2 < 64 ? 64 : b->cap * 2;
    if (cap < b->n + extra + 1) cap = b->n + extra + 1;
    b->data = xrealloc(b->data, cap);
    b->cap = cap;
    b->data[b->n] = 0;
}

void bytes_add(Bytes *b, const void *p, size_t n) {
    bytes_reserve(b, n);
    if (n) memcpy(b->data + b->n, p, n);
    b->n += n;
    b->data[b->n] = 0;
}

void bytes_puts(Bytes *b, const char *s) { bytes_add(b, s, strlen(s)); }

void bytes_printf(Bytes *b, const char *format, ...) {
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    bytes_reserve(b, 64);
    size_t room = b->cap - b->n;
    int n = vsnprintf(b->data + b->n, room, format, ap);
    va_end(ap);
    assert(n >= 0);
    if ((size_t)n >= room) {
        bytes_reserve(b, (size_t)n);
        vsnprintf(b->data + b->n, (size_t)n + 1, format, again);
    }
    va_end(again);
    b->n += (size_t)n;
}

bool bytes_read(Bytes *b, const char *path, size_t most) {
    char block[1 << 14];
    FILE *f = fopen(path, "rbe");
    if (!f) return false;
    for (size_t n; b->n <= most && (n = fread(block, 1, sizeof block, f)) > 0;)
        bytes_add(b, block, n);
    bool ok = !ferror(f);
    int why = errno;
    fclose(f);
    errno = why;
    bytes_puts(b, "");
    return ok;
}

void bytes_write(Bytes *b, FILE *out) {
    if (b->n) fwrite(b->data, 1, b->n, out);
    bytes_fini(b);
}

void bytes_fini(Bytes *b) {
    free(b->data);
    *b = (Bytes){0};
}
