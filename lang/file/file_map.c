/* file_map.c: see file_map.h. A table holds all mappings, so that the handler of SIGBUS finds the
 * one that an address lies in without a lock. Its rows are written under a lock; `begin` is written
 * last and cleared first.
 * SPDX-License-Identifier: MIT */
#include "lang/file/file_map.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAPS_MAX = 256 }; /* at a time; further files are read */

/* One mapping. The file's pages are n_file bytes from begin; behind them is a page of memory with
 * the rest of the n bytes and the NUL. */
typedef struct FileMap {
    _Atomic(char *) begin; /* NULL: the row is free */
    size_t n_file, n_all;
    char *path;
    int fd;
    _Atomic size_t lost_at; /* where the bytes begin that were missing; SIZE_MAX: none were */
} FileMap;

static FileMap table[MAPS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before; /* of SIGBUS */
static bool is_installed;
static size_t page; /* bytes of one */
volatile int file_map_count, file_map_news;

static FileMap *find(const void *p) {
    for (int i = 0; i < MAPS_MAX; i++) {
        char *begin = atomic_load_explicit(&table[i].begin, memory_order_acquire);
        if (begin && (const char *)p >= begin && (const char *)p < begin + table[i].n_all)
            return &table[i];
    }
    return NULL;
}

/* ---- The handler ---- */

/* Does with a SIGBUS of others what would have been done without this file. */
static void pass_on(int sig, siginfo_t *info, void *context) {
    bool is_sent = info->si_code <= 0; /* by kill, not by an access */
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(sig, info, context);
    } else if (before.sa_handler == SIG_IGN && is_sent) {
        return;
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(sig);
    } else {
        signal(sig, SIG_DFL); /* the access is repeated, and ends the process */
        if (is_sent) raise(sig);
    }
}

/* Only async-signal-safe calls. mmap is called by number: a sanitizer wraps the function. */
static void on_sigbus(int sig, siginfo_t *info, void *context) {
    int saved = errno;
    uintptr_t at = (uintptr_t)info->si_addr & ~(uintptr_t)(page - 1);
    FileMap *m = info->si_code > 0 ? find(info->si_addr) : NULL;
    uintptr_t begin = m ? (uintptr_t)atomic_load(&m->begin) : 0, end = m ? begin + m->n_file : 0;
    if (at < end && syscall(SYS_mmap, at, end - at, PROT_READ,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (long)at) {
        if (at - begin < atomic_load(&m->lost_at)) atomic_store(&m->lost_at, at - begin);
        file_map_news = (int)(m - table) + 1;
    } else {
        pass_on(sig, info, context);
    }
    errno = saved;
}

static bool install(void) {
    struct sigaction act = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&act.sa_mask);
    page = (size_t)sysconf(_SC_PAGESIZE);
    if (!is_installed) is_installed = sigaction(SIGBUS, &act, &before) == 0;
    return is_installed;
}

#define LOST      "'%.200s' was cut off while it was in use: bytes that it had are gone"
#define LOST_HINT "replace a file by rename, as mv does; then load or read it again"

/* True if some of n bytes from `at` on were found missing, or the file is now shorter: then it
 * notes that. Of the page that a file ends in, the rest is zeros without a signal. */
static bool is_lost(FileMap *m, size_t at, size_t n) {
    struct stat st;
    size_t end = at + n < m->n_file ? at + n : m->n_file;
    if (at >= end) return false;
    if (fstat(m->fd, &st) == 0 && (size_t)st.st_size < end &&
        (size_t)st.st_size < atomic_load(&m->lost_at))
        atomic_store(&m->lost_at, (size_t)st.st_size);
    return atomic_load(&m->lost_at) < end;
}

/* The mapping of n bytes at p if some of them are lost; else NULL. */
static const FileMap *lost_of(const void *p, size_t n) {
    FileMap *m = find(p);
    return m && is_lost(m, (size_t)((const char *)p - atomic_load(&m->begin)), n) ? m : NULL;
}

/* The mapping to report: as lost_of, or (p NULL) the one that was noted last, if it is still there.
 * That other bytes are whole is no answer to what was noted. */
static const FileMap *lost(const void *p, size_t n) {
    int news = file_map_news;
    const FileMap *m = p ? lost_of(p, n) : news ? &table[news - 1] : NULL;
    if (!p && m && (!atomic_load(&m->begin) || atomic_load(&m->lost_at) == SIZE_MAX)) m = NULL;
    if (!p || m) file_map_news = 0;
    return m;
}

void file_map_note(const void *p, size_t n) {
    const FileMap *m = lost_of(p, n);
    if (m) file_map_news = (int)(m - table) + 1;
}

bool file_map_look(const void *p, size_t n, Err *err) {
    const FileMap *m = lost(p, n);
    if (!m) return true;
    err_set(err, ERR_IO, LOST, m->path);
    return err_hint(err, LOST_HINT);
}

bool file_map_look_at(const void *p, size_t n, LangError *e) {
    const FileMap *m = lost(p, n);
    if (!m) return true;
    error_set(e, LOST, m->path);
    return error_hint(e, LOST_HINT);
}

/* ---- Mappings ---- */

static void release(void *data, void *ctx) {
    FileMap *m = ctx;
    pthread_mutex_lock(&lock);
    if (--file_map_count == 0) file_map_news = 0;
    close(m->fd);
    atomic_store(&m->begin, NULL);
    munmap(data, m->n_all);
    free(m->path);
    m->path = NULL;
    pthread_mutex_unlock(&lock);
}

/* Reads the bytes of the file from `at` on into to. */
static bool read_rest(int fd, char *to, size_t n, size_t at) {
    while (n) {
        ssize_t got = pread(fd, to, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got, at += (size_t)got, n -= (size_t)got;
    }
    return true;
}

/* The pages of the first n bytes of a file and one of memory, or NULL. */
static char *map_pages(int fd, size_t n) {
    size_t n_file = n / page * page, n_all = n_file + page;
    if (!n_file) return NULL;
    char *p = mmap(NULL, n_all, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (!mprotect(p + n_file, page, PROT_READ | PROT_WRITE) &&
        mmap(p, n_file, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED &&
        read_rest(fd, p + n_file, n - n_file, n_file) && !mprotect(p + n_file, page, PROT_READ))
        return p;
    munmap(p, n_all);
    return NULL;
}

Buf *file_map(int fd, size_t n, const char *path) {
    struct stat st;
    Buf *b = NULL;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (size_t)st.st_size < n) return NULL;
    pthread_mutex_lock(&lock);
    FileMap *m = table;
    while (m < table + MAPS_MAX && atomic_load(&m->begin)) m++;
    int own = m < table + MAPS_MAX && install() ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    char *p = own >= 0 ? map_pages(fd, n) : NULL;
    if (!p && own >= 0) close(own);
    if (p) {
        m->n_file = n / page * page, m->n_all = m->n_file + page;
        m->path = xstrdup(path);
        m->fd = own;
        file_map_count++;
        atomic_store(&m->lost_at, SIZE_MAX);
        atomic_store_explicit(&m->begin, p, memory_order_release);
        b = buf_wrap(p, n, release, m);
    }
    pthread_mutex_unlock(&lock);
    return b;
}

bool file_map_has(const void *p) { return find(p); }

void file_map_forget(const void *p, size_t n) {
    FileMap *m = find(p);
    if (!m) return;
    char *begin = atomic_load(&m->begin);
    size_t from = (size_t)((const char *)p - begin) / page * page,
           to = ((size_t)((const char *)p - begin) + n) / page * page;
    if (to > m->n_file) to = m->n_file;
    if (from < to) madvise(begin + from, to - from, MADV_DONTNEED);
}
