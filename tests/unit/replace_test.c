/* replace_test: how io_write replaces a file: what has happened to the new one when it takes the
 * old one's name, who may read it until then, and what a link in its way does. fsync(), rename(),
 * fchown() and unlink() are this file's own, so that it sees the calls and can come between them.
 * SPDX-License-Identifier: MIT */
#include "lang/file/io.h"
#include "tests/unit/check.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/gt-replace-test-XXXXXX";
static char target[100], victim[100];
static char calls[100]; /* f: a file synced, d: a directory, o: an owner set, r: renamed */
static int mode_at_chown;
static uid_t owner;          /* set: fchown to this */
static gid_t group;          /* ... */
static int fails_chown;      /* so many calls of fchown fail */
static bool plants, no_sync; /* a link where a file was removed; fsync fails */

static void note(char call) {
    size_t n = strlen(calls);
    if (n + 1 < sizeof calls) calls[n] = call, calls[n + 1] = '\0';
}

int fsync(int fd) {
    struct stat s;
    note(!fstat(fd, &s) && S_ISDIR(s.st_mode) ? 'd' : 'f');
    errno = EIO;
    return no_sync ? -1 : 0;
}

int rename(const char *from, const char *to) {
    note('r');
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int fchown(int fd, uid_t uid, gid_t gid) {
    struct stat s;
    note('o');
    mode_at_chown = fstat(fd, &s) ? -1 : (int)(s.st_mode & 07777);
    owner = uid, group = gid;
    errno = EPERM;
    return fails_chown-- > 0 ? -1 : 0;
}

int unlink(const char *path) {
    int rc = unlinkat(AT_FDCWD, path, 0);
    if (plants) CHECK(!symlinkat(victim, AT_FDCWD, path));
    return rc;
}

static void put(const char *path, const char *text, mode_t mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !fchmod(fd, mode));
    close(fd);
}

static const char *text_of(const char *path) {
    static char text[100];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[n < 0 ? 0 : n] = '\0';
    if (fd >= 0) close(fd);
    return text;
}

static int mode_of(const char *path) {
    struct stat s;
    return lstat(path, &s) ? -1 : (int)(s.st_mode & 07777);
}

static bool write_new(Err *err) {
    calls[0] = '\0';
    *err = (Err){0};
    return io_write(target, "new", 3, err);
}

/* The bytes are on the disk before the name leads to them, and the name before the call returns. */
static void test_order(void) {
    Err err;
    umask(022);
    put(target, "old", 0640);
    CHECK(write_new(&err));
    CHECK_STR(calls, "ofrd");
    CHECK_INT(mode_at_chown, 0600); /* nobody else could open it before it had its owner */
    CHECK_INT(mode_of(target), 0640);
    CHECK(owner == getuid() && group == getgid());
    CHECK_STR(text_of(target), "new");
    CHECK(!unlink(target) && write_new(&err));
    CHECK_STR(calls, "frd");
    CHECK_INT(mode_of(target), 0644);
    put(target, "old", 0640);
    no_sync = true;
    CHECK(!write_new(&err) && err.code == ERR_IO);
    no_sync = false;
    CHECK_STR(calls, "of");
    CHECK_STR(text_of(target), "old");
}

/* Where the owner cannot be kept the group is; where neither can, the new group may do what others
 * may. */
static void test_owner(void) {
    Err err;
    put(target, "old", 0664);
    fails_chown = 1;
    CHECK(write_new(&err));
    CHECK(owner == (uid_t)-1 && group == getgid());
    CHECK_INT(mode_of(target), 0664);
    fails_chown = 2;
    CHECK(write_new(&err));
    CHECK_INT(mode_of(target), 0644);
    fails_chown = 0;
}

/* A link that appears where the new file is to be made is not followed, and nothing is lost. */
static void test_link(void) {
    Err err;
    char link[150];
    put(target, "old", 0600), put(victim, "precious", 0600);
    plants = true;
    bool ok = write_new(&err);
    plants = false;
    CHECK(!ok && err.code == ERR_IO);
    CHECK_STR(text_of(victim), "precious");
    CHECK_STR(text_of(target), "old");
    snprintf(link, sizeof link, "%s/.target.%ld.tmp", dir, (long)getpid());
    CHECK(!unlink(link));
}

/* A file that this user may not write is not replaced, though the directory would allow it. */
static void test_closed(void) {
    Err err;
    put(target, "old", 0400);
    pid_t child = fork(); /* as another user if this is root, who may write everything */
    if (child == 0) {
        bool is_root = getuid() == 0;
        if (is_root && (chown(dir, 65534, 65534) || chown(target, 65534, 65534))) _exit(2);
        if (is_root && (setgid(65534) || setuid(65534))) _exit(3);
        bool ok = write_new(&err);
        _exit(ok || err.code != ERR_IO || strcmp(text_of(target), "old") ? 1 : 0);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK_STR(text_of(target), "old");
}

int main(void) {
    if (!mkdtemp(dir)) return 1;
    snprintf(target, sizeof target, "%s/target", dir);
    snprintf(victim, sizeof victim, "%s/victim", dir);
    test_order();
    test_owner();
    test_link();
    unlink(target);
    test_closed();
    unlink(target), unlink(victim);
    CHECK_INT(rmdir(dir), 0); /* nothing is left beside */
    return check_report("replace");
}
