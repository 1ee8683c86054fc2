/* buf.h: reference-counted bytes that are immutable once shared: frames, payloads, replies. Counts
 * are atomic, because a Buf crosses threads by pointer in an embedded cluster.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_BUF_H
#define GT_RUNTIME_BASE_BUF_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Buf {
    _Atomic uint32_t refs;
    size_t n, cap;
    uint8_t *data;                          /* 64-byte aligned when made by buf_new */
    void (*release)(void *data, void *ctx); /* NULL: data belongs to the Buf  */
    void *ctx;
} Buf;

Buf *buf_new(size_t cap_bytes); /* n = 0, refs = 1; never NULL */
Buf *buf_wrap(void *data, size_t n, void (*release)(void *data, void *ctx), void *ctx);
/* Bytes inside another Buf, shared: one reference, which holds one of `whole`. */
Buf *buf_part(Buf *whole, const void *data, size_t n);
Buf *buf_copy(const void *data, size_t n);
Buf *buf_ref(Buf *b);
void buf_unref(Buf **b);                /* NULL-safe; always nulls *b */
void buf_reserve(Buf *b, size_t extra); /* precondition: refs == 1 and the data is its own */
/* A number of bytes for people: "4.0 GiB", "812 B". buf has at least 24 bytes. Returns buf. */
const char *bytes_text(uint64_t bytes, char *buf);
#endif
