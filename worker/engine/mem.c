/* mem.c: the arena: a two-level segregated fit (Masmano, Ripoll, Crespo, Real: "TLSF: a new dynamic
 * memory allocator for real-time systems", ECRTS 2004) over one sparse reservation.
 *
 * Every block has a 64-byte head before its payload. Neighbours in memory are found through sizes
 * and back pointers, so a freed block is merged with its free neighbours at once. Free blocks are
 * in lists by size, eight classes per power of two. A request first tries a few blocks of its own
 * class (a loop requests the sizes it has just freed), then takes the head of the next class that
 * has any: constant time, at most an eighth of slack, which is split off again. Large blocks come
 * from the high end of a free block and small ones from its low end, so that small long-lived ones
 * do not fragment it.
 *
 * Under sanitizers (or -DGT_DEBUG) freed bytes are filled with NaN, and poisoned for ASan.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || defined GT_DEBUG
enum { FILLS_FREED = 1 };
#else
enum { FILLS_FREED = 0 };
#endif

enum {
    UNIT = MEM_ALIGN, /* alignment, head size and granularity                        */
    CLASSES = 8 * 42, /* up to 2^44 units                                            */
    WORDS = (CLASSES + 63) / 64,
    LOOKS = 8,      /* blocks of its own class that a request tries */
    LARGE = 1 << 20 /* blocks of at least this size come from the high end */
};

typedef struct Block Block;
struct Block {
    uint64_t units;     /* of the payload                                              */
    uint64_t bytes;     /* requested; UINT64_MAX: free */
    Block *below;       /* the neighbour at the lower address, or NULL                 */
    Block *next, *prev; /* of the free list                                            */
} __attribute__((aligned(UNIT)));

typedef struct Pages Pages;
struct Mem {
    Pages *pages;
    char *base; /* theirs */
    uint64_t total, used, peak;
    uint64_t has[WORDS]; /* a bit for each nonempty list */
    Block *list[CLASSES];
};

static void *payload(Block *b) { return (char *)b + UNIT; }
static Block *above(Block *b) { return (Block *)((char *)b + UNIT + b->units * UNIT); }
static bool is_free(const Block *b) { return b->bytes == UINT64_MAX; }

/* Returns the class of a block of `units`: the last whose smallest size is at most that. Below 16
 * units each size is a class. */
static int class_of(uint64_t units) {
    if (units < 8) return (int)units;
    int top = 63 - __builtin_clzll(units);
    return (top - 2) * 8 + (int)((units >> (top - 3)) & 7);
}
/* Returns the first class whose blocks all hold `units`. */
static int class_above(uint64_t units) {
    if (units < 16) return class_of(units);
    int top = 63 - __builtin_clzll(units);
    return class_of(units + ((UINT64_C(1) << (top - 3)) - 1));
}

static void list_add(Mem *m, Block *b) {
    int c = class_of(b->units);
    b->bytes = UINT64_MAX;
    b->prev = NULL;
    b->next = m->list[c];
    if (b->next) b->next->prev = b;
    m->list[c] = b;
    m->has[c / 64] |= UINT64_C(1) << (c % 64);
}
static void list_remove(Mem *m, Block *b) {
    int c = class_of(b->units);
    if (b->next) b->next->prev = b->prev;
    if (b->prev) {
        b->prev->next = b->next;
    } else {
        m->list[c] = b->next;
        if (!b->next) m->has[c / 64] &= ~(UINT64_C(1) << (c % 64));
    }
}

/* ---- Pages ---- */

/* The reservation itself. It outlives its arena while another worker of this process reads it. */
struct Pages {
    Pages *next;
    char *base;
    uint64_t bytes;
    int fd, refs;
};
static pthread_mutex_t pages_lock = PTHREAD_MUTEX_INITIALIZER;
static Pages *all_pages; /* of this process, few */

/* `ulimit -f` limits memfds too, and exceeding it raises a signal, not an error. So the limit is
 * raised during the call, if that is allowed. */
static bool file_grow(int fd, uint64_t bytes) {
    struct rlimit before, wide;
    if (getrlimit(RLIMIT_FSIZE, &before)) return false;
    wide = before;
    if (wide.rlim_cur < bytes) wide.rlim_cur = wide.rlim_max;
    if (wide.rlim_cur < bytes || setrlimit(RLIMIT_FSIZE, &wide)) return false;
    bool ok = !ftruncate(fd, (off_t)bytes);
    setrlimit(RLIMIT_FSIZE, &before);
    return ok;
}

/* Makes a file without a name that can never shrink, so that a process that maps it can read all of
 * it at any time. Sparse: no memory is reserved. Returns -1 if the system has no such files. */
static int file_make(uint64_t bytes) {
    int fd = memfd_create("gt-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return -1;
    if (file_grow(fd, bytes) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        return fd;
    close(fd);
    return -1;
}

/* base stays NULL if the address space has no room. */
static Pages *pages_new(uint64_t bytes, bool is_shared) {
    Pages *p = xcalloc(1, sizeof *p);
    p->bytes = bytes;
    p->refs = 1;
    p->fd = is_shared ? file_make(bytes) : -1;
    int flags = p->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, p->fd, 0);
    p->base = base == MAP_FAILED ? NULL : base;
    pthread_mutex_lock(&pages_lock);
    p->next = all_pages;
    all_pages = p;
    pthread_mutex_unlock(&pages_lock);
    return p;
}

/* Called under the lock. */
static Pages *pages_find(const void *base) {
    Pages *p = all_pages;
    while (p && p->base != base) p = p->next;
    return p;
}

static void pages_unref(Pages *p) {
    pthread_mutex_lock(&pages_lock);
    bool is_last = --p->refs == 0;
    Pages **at = &all_pages;
    while (is_last && *at != p) at = &(*at)->next;
    if (is_last) *at = p->next;
    pthread_mutex_unlock(&pages_lock);
    if (!is_last) return;
    if (p->base) munmap(p->base, p->bytes);
    if (p->fd >= 0) close(p->fd);
    free(p);
}

bool mem_ref(const void *base, uint64_t bytes) {
    pthread_mutex_lock(&pages_lock);
    Pages *p = base ? pages_find(base) : NULL;
    bool is_found = p && p->bytes == bytes;
    if (is_found) p->refs++;
    pthread_mutex_unlock(&pages_lock);
    return is_found;
}

void mem_unref(const void *base) {
    pthread_mutex_lock(&pages_lock);
    Pages *p = pages_find(base);
    pthread_mutex_unlock(&pages_lock);
    assert(p); /* the caller holds it */
    pages_unref(p);
}

/* ---- Making and unmaking ---- */

Mem *mem_open(uint64_t total_bytes, bool is_shared, Err *err) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (total_bytes > UINT64_C(1) << 46) {
        err_set(err, ERR_MEMORY, "an arena of %llu bytes is more than this machine can address",
                (unsigned long long)total_bytes);
        return NULL;
    }
    uint64_t total = (total_bytes + page - 1) / page * page;
    if (total < 4 * page) total = 4 * page;
    Pages *pages = pages_new(total, is_shared);
    char *base = pages->base;
    if (!base) {
        err_set(err, ERR_MEMORY, "cannot reserve %.1f GiB for tensors: %s",
                (double)total / (1 << 30), strerror(errno));
        err_hint(err, "reserve less, for example --memory 1G");
        pages_unref(pages);
        return NULL;
    }
    madvise(base, total, MADV_HUGEPAGE); /* a hint: fewer and cheaper first touches */
    madvise(base, total, MADV_DONTDUMP);
    Mem *m = xcalloc(1, sizeof *m);
    m->pages = pages;
    m->base = base;
    m->total = total;
    /* One free block, and a head of zero units at the end that is never free. */
    Block *all = (Block *)base;
    all->below = NULL;
    all->units = total / UNIT - 2;
    list_add(m, all);
    Block *end = above(all);
    *end = (Block){.units = 0, .bytes = 0, .below = all};
    return m;
}

void mem_close(Mem **m) {
    if (!*m) return;
    ASAN_UNPOISON_MEMORY_REGION((*m)->base, (*m)->total);
    pages_unref((*m)->pages);
    free(*m);
    *m = NULL;
}

static Block *find(const Mem *m, uint64_t units) {
    int own = class_of(units), looks = 0;
    for (Block *b = m->list[own]; b && looks < LOOKS; b = b->next, looks++)
        if (b->units >= units) return b;
    int c = class_above(units);
    if (c >= CLASSES) return NULL;
    uint64_t bits = m->has[c / 64] & (UINT64_MAX << (c % 64));
    for (int w = c / 64;; bits = m->has[w]) {
        if (bits) return m->list[w * 64 + __builtin_ctzll(bits)];
        if (++w == WORDS) break;
    }
    /* Nearly full: any block of its own class that fits. */
    for (Block *b = m->list[own]; b; b = b->next)
        if (b->units >= units) return b;
    return NULL;
}

static uint64_t units_of(uint64_t bytes) { return bytes ? (bytes + UNIT - 1) / UNIT : 1; }
/* Returns the bytes in use, with heads, but without the excess unit that a block may have because
 * it is too small to split off: the same tensors always use the same number of bytes. */
static uint64_t used_by(uint64_t bytes) { return (units_of(bytes) + 1) * UNIT; }

void *mem_alloc(Mem *m, uint64_t bytes) {
    if (bytes > m->total) return NULL;
    uint64_t units = units_of(bytes);
    Block *b = find(m, units);
    if (!b) return NULL;
    list_remove(m, b);
    if (b->units > units + 1) { /* the rest has a head and at least one unit */
        uint64_t left = b->units - units - 1;
        if (bytes >= LARGE) {
            b->units = left;
            Block *high = above(b);
            ASAN_UNPOISON_MEMORY_REGION(high, UNIT);
            high->units = units;
            high->below = b;
            list_add(m, b);
            b = high;
        } else {
            b->units = units;
            Block *rest = above(b);
            ASAN_UNPOISON_MEMORY_REGION(rest, UNIT);
            rest->units = left;
            rest->below = b;
            above(rest)->below = rest;
            list_add(m, rest);
        }
        above(b)->below = b;
    }
    b->bytes = bytes;
    m->used += used_by(bytes);
    if (m->used > m->peak) m->peak = m->used;
    ASAN_UNPOISON_MEMORY_REGION(payload(b), bytes);
    return payload(b);
}

bool mem_has(const Mem *m, uint64_t bytes) {
    return bytes <= m->total && find(m, units_of(bytes)) != NULL;
}

void mem_release(Mem *m, void *p, uint64_t bytes) {
    if (!p) return;
    Block *b = (Block *)((char *)p - UNIT);
    assert((char *)p > m->base && (char *)p < m->base + m->total);
    assert(b->bytes == bytes);
    if (FILLS_FREED) memset(p, 0xff, bytes); /* a NaN in every float dtype */
    ASAN_POISON_MEMORY_REGION(p, bytes);
    m->used -= used_by(bytes);
    Block *low = b->below, *high = above(b);
    if (is_free(high)) {
        list_remove(m, high);
        b->units += high->units + 1;
    }
    if (low && is_free(low)) {
        list_remove(m, low);
        low->units += b->units + 1;
        b = low;
    }
    above(b)->below = b;
    list_add(m, b);
}

void mem_usage(const Mem *m, uint64_t *used, uint64_t *peak, uint64_t *total) {
    *used = m->used;
    *peak = m->peak;
    *total = m->total;
}

void mem_trim(Mem *m) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    int how = m->pages->fd < 0 ? MADV_DONTNEED : MADV_REMOVE;
    for (int c = 0; c < CLASSES; c++)
        for (Block *b = m->list[c]; b; b = b->next) {
            uintptr_t begin = ((uintptr_t)payload(b) + page - 1) / page * page;
            uintptr_t end = (uintptr_t)above(b) / page * page;
            if (begin < end) madvise((void *)begin, end - begin, how);
        }
}

void mem_range(const Mem *m, void **base, uint64_t *bytes, int *fd) {
    *base = m->base;
    *bytes = m->total;
    *fd = m->pages->fd;
}

/* ---- How much there is ---- */

/* Returns the first number in a file, or in its line that begins with `key`; UINT64_MAX if there is
 * none ("max" is none). */
static uint64_t file_number(const char *path, const char *key) {
    FILE *f = fopen(path, "re");
    if (!f) return UINT64_MAX;
    char line[256];
    unsigned long long n;
    uint64_t found = UINT64_MAX;
    size_t k = key ? strlen(key) : 0;
    while (found == UINT64_MAX && fgets(line, sizeof line, f))
        if ((!key || !strncmp(line, key, k)) && sscanf(line + k, " %llu", &n) == 1) found = n;
    fclose(f);
    return found;
}

/* Returns the bytes below a cgroup's limit. Page cache that can be dropped counts as free. */
static uint64_t cgroup_room(const char *dir, const char *max, const char *now) {
    char path[4400];
    snprintf(path, sizeof path, "%s/%s", dir, max);
    uint64_t limit = file_number(path, NULL);
    if (limit >= UINT64_C(1) << 60) return UINT64_MAX;
    snprintf(path, sizeof path, "%s/%s", dir, now);
    uint64_t used = file_number(path, NULL);
    snprintf(path, sizeof path, "%s/memory.stat", dir);
    uint64_t cache = file_number(path, "inactive_file ");
    if (used == UINT64_MAX) used = 0;
    if (cache == UINT64_MAX) cache = 0;
    used = used > cache ? used - cache : 0;
    return limit > used ? limit - used : 0;
}

uint64_t mem_default_bytes(int workers_on_host) {
    uint64_t kib = file_number("/proc/meminfo", "MemAvailable:");
    uint64_t room = kib == UINT64_MAX ? UINT64_C(1) << 30 : kib << 10;
    FILE *f = fopen("/proc/self/cgroup", "re"); /* hierarchy:controllers:path */
    char line[4200], dir[4300];
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'),
             *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        bool is_v2 = !controllers[1], is_v1 = strstr(controllers, "memory") != NULL;
        if (!is_v2 && !is_v1) continue;
        for (;;) { /* every group up to the root may have a limit */
            snprintf(dir, sizeof dir, "/sys/fs/cgroup%s%s", is_v1 ? "/memory" : "", path);
            uint64_t here = is_v1
                                ? cgroup_room(dir, "memory.limit_in_bytes", "memory.usage_in_bytes")
                                : cgroup_room(dir, "memory.max", "memory.current");
            if (here < room) room = here;
            char *slash = strrchr(path, '/');
            if (!slash || !path[0]) break;
            *slash = 0;
        }
    }
    if (f) fclose(f);
    uint64_t bytes = room / 10 * 8 / (uint64_t)(workers_on_host > 0 ? workers_on_host : 1);
    uint64_t least = UINT64_C(64) << 20;
    return bytes < least ? least : bytes;
}
