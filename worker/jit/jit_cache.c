/* jit_cache.c: see jit_cache.h. A sealed file ends in 24 bytes: "GTK1", 4 zeros, the length of the
 * data before them and its hash. Linkers and loaders ignore them.
 * SPDX-License-Identifier: MIT */
#include "worker/jit/jit_cache.h"
#include "runtime/base/clock.h"
#include "runtime/base/err.h"
#include "runtime/base/folder.h"
#include "runtime/base/map.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* The prefix of unfinished files, and the suffix of the records that a kernel is wanted. */
static const char temporary[] = "tmp.", wanted[] = ".want";

void cache_init(Cache *c, const char *dir, uint64_t bytes_max) {
    *c = (Cache){.suffix = ".so", .bytes_max = bytes_max ? bytes_max : UINT64_C(256) << 20};
    bool is_there = dir ? snprintf(c->dir, sizeof c->dir, "%s", dir) < (int)sizeof c->dir
                        : folder_of_user("XDG_CACHE_HOME", ".cache", c->dir, sizeof c->dir);
    if (!is_there) c->dir[0] = 0;
}

bool cache_open(Cache *c, char *why, size_t why_size) {
    struct stat st;
    char path[PATH_MAX], above[PATH_MAX];
    snprintf(path, sizeof path, "%s/", c->dir);
    if (!c->dir[0]) {
        snprintf(why, why_size,
                 "no place for the cache: neither XDG_CACHE_HOME nor HOME is an absolute path");
    } else if (!folder_make_above(path, 0700, above) || stat(path, &st) ||
               access(c->dir, W_OK | X_OK)) {
        snprintf(why, why_size, "%.150s: %s", c->dir, strerror(errno));
    } else if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022) {
        snprintf(why, why_size, "%.150s is not a directory that only its owner can write", c->dir);
    } else {
        return true;
    }
    return false;
}

void cache_path(const Cache *c, const char *key, char path[PATH_MAX]) {
    snprintf(path, PATH_MAX, "%s/%s%s", c->dir, key, c->suffix);
}
void cache_temporary(Cache *c, char path[PATH_MAX]) {
    snprintf(path, PATH_MAX, "%s/%s%ld.%p.%u.%lx.so", c->dir, temporary, (long)getpid(), (void *)c,
             c->n_temporary++, (unsigned long)(clock_ns(CLOCK_REALTIME) / 1000));
}

/* Writes data to a file opened with the flags `how`. */
static bool put(const char *path, int how, const char *data, size_t n) {
    int fd = open(path, O_WRONLY | O_CLOEXEC | how, 0600);
    if (fd < 0) return false;
    size_t at = 0;
    while (at < n) {
        ssize_t k = write(fd, data + at, n - at);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) break;
        at += (size_t)k;
    }
    int error = errno;
    bool ok = close(fd) == 0 && at == n;
    if (at < n) errno = error;
    return ok;
}

bool cache_write(const char *path, const char *data, size_t n) {
    return put(path, O_CREAT | O_TRUNC, data, n);
}

typedef struct Seal {
    char magic[8];
    uint64_t bytes, hash;
} Seal;
static Seal seal_of(const char *data, size_t n) {
    return (Seal){"GTK1", n, hash_bytes(data, n, 1)};
}

bool cache_seal(const char *path) {
    Bytes b = {0};
    bool ok = bytes_read(&b, path, SIZE_MAX) && b.n > 0;
    if (ok) {
        Seal s = seal_of(b.data, b.n);
        ok = put(path, O_APPEND, (const char *)&s, sizeof s);
    }
    bytes_fini(&b);
    return ok;
}

bool cache_read(const char *path, Bytes *out) {
    Bytes b = {0};
    bool ok = bytes_read(&b, path, SIZE_MAX) && b.n > sizeof(Seal);
    if (ok) {
        Seal s = seal_of(b.data, b.n - sizeof s);
        ok = !memcmp(b.data + b.n - sizeof s, &s, sizeof s);
        if (ok) utimensat(AT_FDCWD, path, NULL, 0);
        if (ok && out) bytes_add(out, b.data, b.n - sizeof s);
    }
    bytes_fini(&b);
    return ok;
}
bool cache_verify(const char *path) { return cache_read(path, NULL); }

bool cache_link(Cache *c, const char *from, const char *path) {
    char name[PATH_MAX];
    cache_temporary(c, name);
    if (link(from, name)) return false;
    bool ok = rename(name, path) == 0;
    unlink(name); /* it exists only if rename failed */
    return ok;
}

/* ---- What is wanted ---- */

static void wanted_path(const Cache *c, const char *key, char path[PATH_MAX]) {
    snprintf(path, PATH_MAX, "%s/%s%s", c->dir, key, wanted);
}
void cache_want(const Cache *c, const char *key, bool on) {
    char path[PATH_MAX];
    wanted_path(c, key, path);
    if (on)
        cache_write(path, "", 0);
    else
        unlink(path);
}
bool cache_is_wanted(const Cache *c, const char *key) {
    char path[PATH_MAX];
    wanted_path(c, key, path);
    return access(path, F_OK) == 0;
}

/* ---- One process at a time ---- */

/* Takes the lock of an open file, which it closes on failure. */
static int lock_file(int fd, int64_t timeout_ms, const _Atomic bool *ends) {
    for (int64_t ms = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB); ms += POLL_MS) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || ms >= timeout_ms || (ends && *ends)) {
            close(fd);
            return -1;
        }
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
    }
    return fd;
}
int cache_lock(const Cache *c, int64_t timeout_ms, const _Atomic bool *ends) {
    return lock_file(open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), timeout_ms, ends);
}

/* One of 256 files, by the first digits of the key. If one is removed meanwhile, two processes may
 * make the same kernel, which does no harm. */
int cache_lock_kernel(const Cache *c, const char *key, int64_t timeout_ms) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%slock.%.2s", c->dir, temporary, key);
    return lock_file(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), timeout_ms, NULL);
}

void cache_unlock(int lock) {
    if (lock >= 0) close(lock);
}

/* ---- Trimming ---- */

typedef struct File {
    char name[64];
    int64_t used;
    uint64_t bytes; /* its share of a file with several hard links */
} File;

static int by_age(const void *a, const void *b) {
    int64_t x = ((const File *)a)->used, y = ((const File *)b)->used;
    return (x > y) - (x < y);
}

void cache_trim(Cache *c) {
    DIR *d = opendir(c->dir);
    if (!d) return;
    File *file = NULL;
    size_t n = 0, cap = 0;
    uint64_t bytes = 0;
    char path[PATH_MAX];
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof file->name) continue;
        if (!strncmp(e->d_name, temporary, strlen(temporary))) continue;
        snprintf(path, sizeof path, "%s/%.63s", c->dir, e->d_name);
        if (stat(path, &st) || !S_ISREG(st.st_mode)) continue;
        if (n == cap) file = xrealloc(file, (cap = cap ? 2 * cap : 64) * sizeof *file);
        File *f = &file[n++];
        snprintf(f->name, sizeof f->name, "%.63s", e->d_name);
        f->used = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        f->bytes = (uint64_t)st.st_size / (st.st_nlink ? st.st_nlink : 1);
        bytes += f->bytes;
    }
    closedir(d);
    if (bytes > c->bytes_max) {
        qsort(file, n, sizeof *file, by_age);
        for (size_t i = 0; i < n && bytes > c->bytes_max / 4 * 3; i++) {
            snprintf(path, sizeof path, "%s/%s", c->dir, file[i].name);
            if (unlink(path) == 0) bytes -= file[i].bytes;
        }
    }
    free(file);
}

/* No process works on a file for as long as STALE_S: a compiler call ends after GT_CC_SECONDS. */
static bool is_stale(const char *name, time_t age_s) {
    enum { STALE_S = 600, WANTED_S = 7 * 86400 };
    const char *end = strstr(name, wanted);
    if (end && !end[strlen(wanted)]) return age_s > WANTED_S;
    return !strncmp(name, temporary, strlen(temporary)) && age_s > STALE_S;
}

void cache_sweep(const Cache *c) {
    DIR *d = opendir(c->dir);
    char path[PATH_MAX];
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (strlen(e->d_name) > 100 || !is_stale(e->d_name, INT32_MAX)) continue;
        snprintf(path, sizeof path, "%s/%.100s", c->dir, e->d_name);
        if (stat(path, &st) || !S_ISREG(st.st_mode)) continue;
        if (is_stale(e->d_name, time(NULL) - st.st_mtime)) unlink(path);
    }
    if (d) closedir(d);
}

bool cache_is_lost(const Cache *c, char *why, size_t why_size) {
    enum { ROOM = 65536 }; /* space for some kernels */
    struct statvfs fs;
    int error = statvfs(c->dir, &fs) ? errno : 0;
    if (!error && (uint64_t)fs.f_bavail * fs.f_frsize < ROOM) error = ENOSPC;
    if (error) snprintf(why, why_size, "%.150s: %s", c->dir, strerror(error));
    return error != 0;
}

bool cache_save_code(const char *head_name, const char *head, const char *name, const Bytes *text,
                     char path[PATH_MAX]) {
    const char *dir = getenv("GT_SAVE_COMPILED_CODE");
    if (!dir || !*dir) return true;
    char above[PATH_MAX];
    if (strlen(dir) > PATH_MAX - NAME_MAX) return errno = ENAMETOOLONG, false;
    snprintf(path, PATH_MAX, "%s/%s", dir, head_name);
    bool ok = folder_make_above(path, 0777, above);
    if (ok && access(path, F_OK)) ok = cache_write(path, head, strlen(head));
    if (ok) snprintf(path, PATH_MAX, "%s/%s", dir, name);
    return ok && cache_write(path, text->data, text->n);
}
