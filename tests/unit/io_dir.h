/* io_dir.h: a folder of a test's own, and files in memory.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_IO_DIR_H
#define GT_TESTS_UNIT_IO_DIR_H
#include "lang/file/io.h"
#include "tests/unit/check.h"
#include <sys/stat.h>
#include <unistd.h>

static char dir[100];

/* The path of a name in the folder; valid until the fourth call from here. */
static inline const char *in_dir(const char *name) {
    static char path[4][200];
    static int k;
    k = (k + 1) % 4;
    snprintf(path[k], sizeof path[k], "%s/%s", dir, name);
    return path[k];
}

static inline void dir_open(const char *name) {
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/gt-%s-test-%ld", tmp ? tmp : "/tmp", name, (long)getpid());
    mkdir(dir, 0700);
}

/* Removes the files of this list (up to NULL) and the folder: nothing else may be left, such as
 * temporary files. */
static inline void dir_close(const char *const *left) {
    for (; *left; left++) remove(in_dir(*left));
    CHECK(rmdir(dir) == 0);
}

static inline bool decode(const char *name, const void *data, size_t n, IoValue *out, Err *e) {
    Buf *b = buf_copy(data, n);
    bool ok = io_decode(name, b, NULL, out, e);
    buf_unref(&b);
    return ok;
}
#endif
