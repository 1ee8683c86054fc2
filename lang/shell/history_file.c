/* history_file.c: see history_file.h. Prompts that run at the same time append to one file, each
 * entry under a lock. A file that has too many entries is replaced as a whole, under the same lock.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/history_file.h"
#include "lang/shell/edit.h"
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/base/folder.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES_KEPT = 10000, LOCK_TRIES = 100, LOCK_WAIT_US = 5000 };

/* $GT_HISTFILE (empty: none), else $XDG_STATE_HOME/gt/history, else ~/.local/state/gt/history. A
 * relative $XDG_STATE_HOME is ignored. */
static char *history_path(void) {
    const char *file = getenv("GT_HISTFILE");
    char folder[PATH_MAX];
    Bytes b = {0};
    if (file) return *file ? xstrdup(file) : NULL;
    if (folder_of_user("XDG_STATE_HOME", ".local/state", folder, sizeof folder))
        bytes_printf(&b, "%s/history%s", folder, edit_history_suffix);
    return b.data;
}

/* $GT_HISTFILESIZE. */
static int entries_kept(void) {
    const char *text = getenv("GT_HISTFILESIZE");
    if (!text || !*text) return ENTRIES_KEPT;
    if (!text[strspn(text, "0123456789")] && strlen(text) <= 9) return atoi(text);
    fprintf(stderr, "GT_HISTFILESIZE is a number of entries, got '%.60s'; %d are kept\n", text,
            ENTRIES_KEPT);
    return ENTRIES_KEPT;
}

/* Opens the file at path and takes its lock. The file may be replaced meanwhile: the lock is that
 * of the file that is there. Another prompt holds it for a moment only: after half a second *locked
 * is false, and at once where the file system has no locks. Returns -1 if the file cannot be
 * opened; create: makes it if it is not there. */
static int lock_file(const char *path, bool create, bool *locked) {
    for (int k = 0;; k++) {
        struct stat mine, there;
        int flags = O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), fd = open(path, flags, 0600);
        if (fd < 0) return -1;
        bool is_locked = flock(fd, LOCK_EX | LOCK_NB) == 0,
             is_held = !is_locked && (errno == EWOULDBLOCK || errno == EINTR);
        bool is_there = !fstat(fd, &mine) && !stat(path, &there) && mine.st_ino == there.st_ino &&
                        mine.st_dev == there.st_dev;
        *locked = is_locked && is_there;
        if (*locked || (!is_locked && !is_held) || k == LOCK_TRIES) return fd;
        close(fd);
        if (is_held) usleep(LOCK_WAIT_US);
    }
}

/* Replaces the file by the entries that the editor has. If that fails, the file stays as it is. */
static void replace_file(const char *path) {
    char *target = realpath(path, NULL); /* the path may be a link */
    Bytes fresh = {0};
    if (!target) return;
    bytes_printf(&fresh, "%s.XXXXXX", target);
    int fd = mkstemp(fresh.data); /* with mode 0600 */
    if (fd >= 0) {
        bool ok = edit_history_write(fresh.data) && chmod(fresh.data, 0600) == 0;
        close(fd);
        if (!ok || rename(fresh.data, target) != 0) unlink(fresh.data);
    }
    bytes_fini(&fresh);
    free(target);
}

char *history_file_open(void) {
    bool is_locked = false;
    char *path = history_path();
    int kept = entries_kept(), lock = path ? lock_file(path, false, &is_locked) : -1;
    if (edit_history_open(path, kept) && is_locked) replace_file(path);
    if (lock >= 0) close(lock);
    return path;
}

void history_file_add(const char *path, const char *text, size_t n) {
    while (n && text[n - 1] == '\n') n--;
    if (n == 0 || text[0] == ' ') return;
    char *entry = xstrndup(text, n);
    add_history(entry);
    free(entry);
    if (!path) return;
    char folder[PATH_MAX];
    folder_make_above(path, 0700, folder);
    bool is_locked;
    int lock = lock_file(path, true, &is_locked); /* a shell's history is for its owner only, too */
    if (lock < 0) return;
    edit_history_append(path);
    close(lock);
}
