/* io_format.c: what the decoders share: reading a part of a file, a limit on inflated bytes, and
 * the JSON text beside tensors.
 * SPDX-License-Identifier: MIT */
#include "lang/file/io_format.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { META_NODES = 2 * 1000 * 1000, INFLATE_RATIO = 128 };
#define INFLATE_BASE ((size_t)64 << 20)

bool io_read_part(int fd, uint64_t at, size_t n, Buf **out, Err *err) {
    Buf *b = buf_new(n + 1);
    while (b->n < n) {
        size_t most = n - b->n < (1u << 30) ? n - b->n : (1u << 30);
        ssize_t got = pread(fd, b->data + b->n, most, (off_t)(at + b->n));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            if (got < 0)
                err_set(err, ERR_IO, "%s", strerror(errno));
            else
                err_set(err, ERR_IO, "the file was cut off while it was read");
            buf_unref(&b);
            return false;
        }
        b->n += (size_t)got;
    }
    *out = b;
    return true;
}

size_t io_inflate_limit(size_t n) { return INFLATE_BASE + INFLATE_RATIO * n; }

bool io_put_meta(const char *json, size_t n, IoValue *flat, Err *err) {
    IoValue host;
    TRY(json_parse(json, n, META_NODES, &host, err));
    for (uint32_t i = 0; host.kind == IO_MAP && i < host.n; i++) {
        *io_put(flat, host.key[i], strlen(host.key[i])) = host.kid[i];
        host.kid[i] = (IoValue){0};
    }
    io_fini(&host);
    return true;
}
