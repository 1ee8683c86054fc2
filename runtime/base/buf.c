/* buf.c: reference-counted bytes. The count is the only field that several threads access at
 * once; data is written before the Buf is shared and never after.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/buf.h"
#include "runtime/base/err.h"

#include <stdio.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 64

static uint8_t *data_new(size_t cap) {
    assert(cap <= SIZE_MAX / 4);
    uint8_t *p = aligned_alloc(ALIGN, cap ? (cap + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN);
    if (!p) panic("out of host memory: %zu bytes", cap);
    return p;
}

static Buf *buf_make(void *data, size_t n, size_t cap) {
    Buf *b = xmalloc(sizeof *b);
    *b = (Buf){.n = n, .cap = cap, .data = data};
    atomic_init(&b->refs, 1);
    return b;
}

Buf *buf_new(size_t cap_bytes) { return buf_make(data_new(cap_bytes), 0, cap_bytes); }

Buf *buf_wrap(void *data, size_t n, void (*release)(void *data, void *ctx), void *ctx) {
    Buf *b = buf_make(data, n, n);
    assert(release);
    b->release = release, b->ctx = ctx;
    return b;
}

static void release_whole(void *data, void *ctx) {
    Buf *whole = ctx;
    buf_unref(&whole);
}

Buf *buf_part(Buf *whole, const void *data, size_t n) {
    return buf_wrap((void *)data, n, release_whole, buf_ref(whole));
}

Buf *buf_copy(const void *data, size_t n) {
    Buf *b = buf_new(n);
    if (n) memcpy(b->data, data, n);
    b->n = n;
    return b;
}

Buf *buf_ref(Buf *b) {
    uint32_t before = atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    assert(before > 0);
    return b;
}

void buf_unref(Buf **bp) {
    Buf *b = *bp;
    *bp = NULL;
    if (!b) return;
    /* acq_rel: the thread that frees must see all accesses of the other holders. */
    uint32_t before = atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1) return;
    if (b->release)
        b->release(b->data, b->ctx);
    else
        free(b->data);
    free(b);
}

void buf_reserve(Buf *b, size_t extra) {
    assert(!b->release && atomic_load_explicit(&b->refs, memory_order_relaxed) == 1);
    assert(extra <= SIZE_MAX / 4);
    if (b->cap - b->n >= extra) return;
    size_t cap = b->cap * 2 > b->n + extra ? b->cap * 2 : b->n + extra;
    uint8_t *data = data_new(cap);
    if (b->n) memcpy(data, b->data, b->n);
    free(b->data);
    b->data = data, b->cap = cap;
}

const char *bytes_text(uint64_t bytes, char *buf) {
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double x = (double)bytes;
    int u = 0;
    while (x >= 1024 && u < 4) x /= 1024, u++;
    snprintf(buf, 24, u == 0 || x >= 10 ? "%.0f %s" : "%.1f %s", x, unit[u]);
    return buf;
}
