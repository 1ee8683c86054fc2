/* io_sink.c: writes to a file, and a sync that Ctrl-C ends. The sync itself takes seconds for a
 * large file and does not end at a signal, so a thread does it.
 * SPDX-License-Identifier: MIT */
#include "lang/file/io_sink.h"
#include "lang/error/interrupt.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void io_put_bytes(IoSink *s, const void *data, size_t n) {
    enum { PIECE = 1 << 20 }; /* a busy disk lets a large write wait for seconds */
    const char *p = data;
    while (n && !s->failed && !interrupt_count) {
        ssize_t w = write(s->fd, p, n < PIECE ? n : PIECE);
        if (w < 0 && errno == EINTR) continue;
        if (w < 0) {
            s->failed = true;
            s->error = errno;
        } else {
            p += w;
            n -= (size_t)w;
            s->at += (uint64_t)w;
            meanwhile(); /* may set errno */
        }
    }
}

/* A copy of a descriptor that a thread syncs. */
typedef struct Syncing {
    int fd, error;
    sem_t done;
    atomic_int refs; /* the thread's and the caller's */
} Syncing;

static void syncing_unref(Syncing *s) {
    if (atomic_fetch_sub(&s->refs, 1) > 1) return;
    sem_destroy(&s->done);
    free(s);
}

static void *sync_copy(void *syncing) {
    Syncing *s = syncing;
    if (fsync(s->fd)) s->error = errno;
    close(s->fd);
    sem_post(&s->done);
    syncing_unref(s);
    return NULL;
}

/* Waits 20 ms at most; false if the time is over or a signal came. */
static bool wait_some(sem_t *done) {
    enum { WAIT_NS = 20000000, SECOND_NS = 1000000000 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WAIT_NS;
    until.tv_sec += until.tv_nsec / SECOND_NS;
    until.tv_nsec %= SECOND_NS;
    return !sem_timedwait(done, &until);
}

int io_sync(int fd) {
    pthread_t thread;
    sigset_t all, before;
    Syncing *s = xcalloc(1, sizeof *s);
    s->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    atomic_init(&s->refs, 2);
    sem_init(&s->done, 0, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the caller's thread */
    bool has_thread = s->fd >= 0 && !pthread_create(&thread, NULL, sync_copy, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!has_thread) {
        if (s->fd >= 0) close(s->fd);
        sem_destroy(&s->done);
        free(s);
        return fsync(fd);
    }
    pthread_detach(thread);
    bool is_done = false;
    while (!interrupt_count && !is_done) {
        is_done = wait_some(&s->done);
        meanwhile();
    }
    errno = is_done ? s->error : 0;
    bool has_failed = errno != 0;
    syncing_unref(s);
    return has_failed ? -1 : 0;
}
