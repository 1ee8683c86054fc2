/* count.h: counts a program's allocations, locks and system calls by replacing the C library's
 * functions in the program that includes this (in one file). Allocations: malloc and its kin.
 * Locks: pthread_mutex_lock. System calls: those by which threads wait, wake and communicate
 * (syscall, which futexes use, poll, read, write, sched_yield, nanosleep, mmap, munmap, madvise).
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_BENCH_COUNT_H
#define GT_TESTS_BENCH_COUNT_H
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef struct Counts {
    long allocations, locks, system_calls;
} Counts;
static _Atomic long count_allocations, count_locks, count_calls;

static inline Counts counts_now(void) {
    return (Counts){atomic_load(&count_allocations), atomic_load(&count_locks),
                    atomic_load(&count_calls)};
}
static inline void count(_Atomic long *what) {
    atomic_fetch_add_explicit(what, 1, memory_order_relaxed);
}

#ifdef __GLIBC__
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void *malloc(size_t n) { return count(&count_allocations), __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return count(&count_allocations), __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return count(&count_allocations), __libc_realloc(p, n); }
void *aligned_alloc(size_t a, size_t n) { return count(&count_allocations), __libc_memalign(a, n); }

/* The real one, looked up once. */
#define REAL(name)                                                                                 \
    static __typeof__(&name) real;                                                                 \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)

int pthread_mutex_lock(pthread_mutex_t *m) {
    REAL(pthread_mutex_lock);
    return count(&count_locks), real(m);
}
long syscall(long number, ...) {
    REAL(syscall);
    long a[6];
    va_list ap;
    va_start(ap, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(ap, long);
    va_end(ap);
    return count(&count_calls), real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
int poll(struct pollfd *p, nfds_t n, int timeout) {
    REAL(poll);
    return count(&count_calls), real(p, n, timeout);
}
ssize_t read(int fd, void *p, size_t n) {
    REAL(read);
    return count(&count_calls), real(fd, p, n);
}
ssize_t write(int fd, const void *p, size_t n) {
    REAL(write);
    return count(&count_calls), real(fd, p, n);
}
int sched_yield(void) {
    REAL(sched_yield);
    return count(&count_calls), real();
}
int nanosleep(const struct timespec *t, struct timespec *left) {
    REAL(nanosleep);
    return count(&count_calls), real(t, left);
}
void *mmap(void *p, size_t n, int protection, int flags, int fd, off_t at) {
    REAL(mmap);
    return count(&count_calls), real(p, n, protection, flags, fd, at);
}
int munmap(void *p, size_t n) {
    REAL(munmap);
    return count(&count_calls), real(p, n);
}
int madvise(void *p, size_t n, int advice) {
    REAL(madvise);
    return count(&count_calls), real(p, n, advice);
}
#undef REAL
#endif
#endif
