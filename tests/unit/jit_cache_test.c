/* jit_cache_test: which files the cache of kernels accepts: those with a correct checksum, in a
 * directory that only its owner can write.
 * SPDX-License-Identifier: MIT */
#include "worker/jit/jit_cache.h"
#include "tests/unit/check.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[PATH_MAX / 4];

/* A sealed file is accepted. It is refused with any byte of contents or seal changed, truncated,
 * longer, or without seal. */
static void test_seal(void) {
    enum { BYTES = 300 };
    char path[PATH_MAX], text[BYTES], all[BYTES + 64];
    for (int i = 0; i < BYTES; i++) text[i] = (char)(i * 7);
    snprintf(path, sizeof path, "%s/kernel.so", dir);
    CHECK(cache_write(path, text, BYTES) && !cache_verify(path));
    CHECK(cache_seal(path) && cache_verify(path));
    int fd = open(path, O_RDWR);
    ssize_t n = read(fd, all, sizeof all);
    CHECK(n > BYTES && !memcmp(all, text, BYTES));
    for (ssize_t i = 0; i < n; i++) {
        char changed = (char)(all[i] ^ 4);
        CHECK(pwrite(fd, &changed, 1, i) == 1);
        CHECK_MSG(!cache_verify(path), "byte %d of %d is not checked", (int)i, (int)n);
        CHECK(pwrite(fd, &all[i], 1, i) == 1);
    }
    CHECK(cache_verify(path));
    CHECK(pwrite(fd, all, 1, n) == 1 && !cache_verify(path));
    CHECK(ftruncate(fd, n - 1) == 0 && !cache_verify(path));
    close(fd);
    unlink(path);
    CHECK(!cache_verify(path));
}

/* The cache is used only if nobody else may write to its directory. A directory that it creates
 * gives others no permissions. */
static void test_directory(void) {
    Cache c;
    char path[PATH_MAX / 2], why[200];
    struct stat st;
    snprintf(path, sizeof path, "%s/a/b", dir);
    cache_init(&c, path, 1 << 20);
    mode_t before = umask(0);
    CHECK(cache_open(&c, why, sizeof why));
    umask(before);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0700);
    for (unsigned mode = 0700; mode <= 0777; mode++) {
        why[0] = 0;
        CHECK(chmod(path, mode) == 0);
        bool is_private = !(mode & 022);
        CHECK_MSG(cache_open(&c, why, sizeof why) == is_private, "mode %o: %s", mode, why);
        CHECK_MSG(is_private || strstr(why, "only its owner can write"), "mode %o: %s", mode, why);
    }
    rmdir(path);
    snprintf(path, sizeof path, "%s/a", dir);
    rmdir(path);
}

int main(void) {
    snprintf(dir, sizeof dir, "/tmp/gt_jit_cache_test.XXXXXX");
    CHECK(mkdtemp(dir) != NULL);
    test_seal();
    test_directory();
    rmdir(dir);
    return check_report("jit_cache");
}
