/* history_test.c: the history file on file systems with and without locks. flock below stands in
 * for the system's.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"
#include "lang/shell/edit.h"
#include "lang/shell/history_file.h"
#include "runtime/base/arena.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static int lock_error, n_locks;
static const char *replaced; /* by another prompt, while the first lock is taken; or NULL */

int flock(int fd, int how) {
    (void)fd, (void)how;
    if (replaced && n_locks == 0) CHECK(unlink(replaced) == 0 && close(creat(replaced, 0600)) == 0);
    n_locks++;
    errno = lock_error;
    return lock_error ? -1 : 0;
}

/* Adds an entry while locks fail so; returns how often one was asked for. */
static int add(const char *path, int error) {
    lock_error = error, n_locks = 0;
    history_file_add(path, "x = 1", 5);
    return n_locks;
}

static size_t entries(const char *path) {
    Bytes text = {0};
    size_t n = 0;
    if (bytes_read(&text, path, 1 << 20))
        for (const char *s = text.n ? text.data : ""; (s = strstr(s, "=")); s++) n++;
    bytes_fini(&text);
    return n;
}

int main(void) {
    char dir[] = "/tmp/gt-history-XXXXXX", path[80];
    CHECK(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/sub/history", dir);
    setenv("GT_HISTFILE", path, 1);
    char *opened = history_file_open();
    CHECK_STR(opened, path);
    CHECK_INT(add(path, 0), 1);
    CHECK_INT(add(path, ENOLCK), 1);
    CHECK_INT(add(path, EOPNOTSUPP), 1);
    int tries = add(path, EWOULDBLOCK);
    CHECK_MSG(tries > 10, "%d tries", tries);
#ifndef EDIT_NONE
    CHECK_INT(entries(path), 4); /* it is written all the same */
#endif
    replaced = path; /* the lock of a file that is gone is of no use */
    CHECK_INT(add(path, 0), 2);
    unlink(path);
    snprintf(path, sizeof path, "%s/sub", dir);
    CHECK(rmdir(path) == 0 && rmdir(dir) == 0);
    free(opened);
    return check_report("history");
}
