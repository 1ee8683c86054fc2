/* beside.c: see beside.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/beside.h"
#include "runtime/base/map.h"
#include "runtime/base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DATA_ALIGN = 64 };

struct Beside {
    char *path;
    const char *name; /* its file name, without the directory */
    int fd;           /* -1: nothing is stored yet */
    uint64_t bytes;
    struct Kept {
        uint64_t at, n;
        char sha256[65];
    } * kept;
    size_t n_kept, cap_kept;
    Map by_hash; /* of sha256 -> index + 1 in kept */
};

Beside *beside_new(const char *path) {
    Beside *b = xcalloc(1, sizeof *b);
    size_t n = strlen(path);
    b->path = xmalloc(n + sizeof ".data");
    memcpy(b->path, path, n);
    memcpy(b->path + n, ".data", sizeof ".data");
    const char *slash = strrchr(b->path, '/');
    b->name = slash ? slash + 1 : b->path;
    b->fd = -1;
    return b;
}

void beside_free(Beside **bp) {
    Beside *b = *bp;
    *bp = NULL;
    if (!b) return;
    if (b->fd >= 0) close(b->fd);
    free(b->path);
    free(b->kept);
    map_fini(&b->by_hash);
    free(b);
}

const char *beside_path(const Beside *b) { return b->path; }

static bool no_more(const Beside *b, const char *why, Err *err) {
    return err_set(err, ERR_IO, "'%.300s' takes no more elements: %s; lines say 'elided'", b->path,
                   why);
}

static bool open_new(Beside *b, Err *err) {
    if (b->fd >= 0) return true;
    if (unlink(b->path) != 0 && errno != ENOENT) return no_more(b, strerror(errno), err);
    b->fd = open(b->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return b->fd >= 0 || no_more(b, strerror(errno), err);
}

static bool write_all(int fd, const void *data, size_t n, uint64_t at) {
    const char *p = data;
    while (n > 0) {
        ssize_t w = pwrite(fd, p, n < (1u << 30) ? n : (1u << 30), (off_t)at);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return false;
        p += w, n -= (size_t)w, at += (uint64_t)w;
    }
    return true;
}

bool beside_keep(Beside *b, const void *data, size_t n, InstBeside *out, Err *err) {
    if (n > BESIDE_BYTES) return no_more(b, "it holds 1 GiB", err);
    sha256_hex(data, n, out->sha256);
    out->path = b->name;
    uint64_t key = hash_bytes(out->sha256, strlen(out->sha256), 0);
    uintptr_t old = (uintptr_t)map_get(&b->by_hash, key);
    if (old && b->kept[old - 1].n == n && !strcmp(b->kept[old - 1].sha256, out->sha256))
        return out->at = b->kept[old - 1].at, true;
    uint64_t at = (b->bytes + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN;
    if (at > BESIDE_BYTES - n) return no_more(b, "it holds 1 GiB", err);
    TRY(open_new(b, err));
    if (!write_all(b->fd, data, n, at)) return no_more(b, strerror(errno), err);
    ARRAY_ROOM(b->kept, b->n_kept, b->cap_kept, 16);
    struct Kept *kept = &b->kept[b->n_kept++];
    *kept = (struct Kept){.at = at, .n = n};
    memcpy(kept->sha256, out->sha256, sizeof kept->sha256);
    map_put(&b->by_hash, key, (void *)(uintptr_t)b->n_kept);
    b->bytes = at + n;
    out->at = at;
    return true;
}
