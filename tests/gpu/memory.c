/* memory.c: allocations, and the marks of each byte. Pages of marks cost nothing before their first
 * use.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void memory_init(Memory *m, uint64_t limit) {
    memset(m, 0, sizeof *m);
    m->next = DEVICE_BASE;
    m->limit = limit;
}
static void *map(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}
/* Marks of each byte, which are this process's, then what the byte holds and whether it was
 * written, which may be a file's. */
enum { MARKS = 8, VALUES = 2, SHARED_LEAST = 1 << 20 };
static uint64_t room_of(uint64_t bytes) {
    return (bytes + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
}
static void release(Block *b) {
    munmap(b->writer, b->mapped);
    if (b->fd >= 0) {
        munmap(b->written, VALUES * room_of(b->bytes));
        close(b->fd);
    }
    free(b);
}
void memory_fini(Memory *m) {
    for (int k = 0; k < m->n_blocks; k++) release(m->block[k]);
    free(m->block);
    free(m->set);
    memset(m, 0, sizeof *m);
}
/* A file for large allocations, which others may open; -1: none. */
static int new_file(uint64_t room) {
    int fd = room < SHARED_LEAST ? -1 : memfd_create("device memory", MFD_CLOEXEC);
    if (fd >= 0 && !ftruncate(fd, (off_t)(VALUES * room))) return fd;
    if (fd >= 0) close(fd);
    return -1;
}
/* fd: the file, consumed; -1: none. */
static Block *add(Memory *m, int device, uint64_t bytes, void *host, int fd) {
    uint64_t room = room_of(bytes);
    Block *b = calloc(1, sizeof *b);
    if (!b) abort();
    b->mapped = (size_t)room * (MARKS + (fd >= 0 ? 0 : host ? 1 : VALUES));
    uint8_t *at = map(b->mapped), *values = at + MARKS * room;
    if (at && fd >= 0) {
        values =
            mmap(NULL, VALUES * room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        if (values == MAP_FAILED) munmap(at, b->mapped), at = NULL;
    }
    if (!at) {
        if (fd >= 0) close(fd);
        free(b);
        return NULL;
    }
    *b = (Block){.at = m->next,
                 .bytes = bytes,
                 .mapped = b->mapped,
                 .is_pinned = host != NULL,
                 .fd = fd,
                 .device = device};
    b->writer = (uint32_t *)at, b->reader = (uint32_t *)(at + 4 * room);
    b->written = values;
    b->data = host ? host : values + room;
    m->next += room + MEMORY_GAP;
    if (m->n_blocks == m->cap_blocks) {
        m->cap_blocks = m->cap_blocks ? 2 * m->cap_blocks : 64;
        m->block = realloc(m->block, (size_t)m->cap_blocks * sizeof *m->block);
        if (!m->block) abort();
    }
    return m->block[m->n_blocks++] = b;
}
Block *memory_alloc(Memory *m, int device, uint64_t bytes, void *host) {
    if (!bytes || bytes > UINT64_C(1) << 40) return NULL;
    uint64_t room = room_of(bytes);
    if (!host && (room > m->limit || m->used[device] > m->limit - room)) return NULL;
    Block *b = add(m, device, bytes, host, host ? -1 : new_file(room));
    if (b && host)
        memset(b->written, 1, bytes);
    else if (b)
        m->used[device] += room;
    return b;
}
Block *memory_open(Memory *m, int device, uint64_t bytes, int fd) {
    Block *b = add(m, device, bytes, NULL, fd);
    if (b) b->opened = 1;
    return b;
}
static int below(const Memory *m, uint64_t at) {
    int low = 0, high = m->n_blocks;
    while (low < high) {
        int mid = (low + high) / 2;
        if (m->block[mid]->at <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low - 1;
}
static bool lies_in(const Block *b, uint64_t at, uint64_t bytes) {
    return at >= b->at && at - b->at <= b->bytes && bytes <= b->bytes - (at - b->at);
}
Block *memory_find(Memory *m, uint64_t at, uint64_t bytes) {
    if (m->last && lies_in(m->last, at, bytes)) return m->last;
    int k = below(m, at);
    if (k < 0 || !lies_in(m->block[k], at, bytes)) return NULL;
    return m->last = m->block[k];
}
const Block *memory_below(const Memory *m, uint64_t at) {
    int k = below(m, at);
    return k < 0 ? NULL : m->block[k];
}
void memory_free(Memory *m, Block *b) {
    int k = below(m, b->at);
    if (k < 0 || m->block[k] != b) return;
    if (!b->is_pinned && !b->opened) m->used[b->device] -= room_of(b->bytes);
    memmove(&m->block[k], &m->block[k + 1], (size_t)(m->n_blocks - k - 1) * sizeof *m->block);
    m->n_blocks--;
    m->last = NULL;
    release(b);
}
void memory_forget(Block *b, uint64_t offset, uint64_t n) {
    if (!b->is_pinned) memset(b->written + offset, 0, n);
}

/* ---- Marks ---- */

static bool is_ordered(const Actor *a, uint32_t serial) {
    return serial < a->floor || serial == a->me || (a->is_before && a->is_before(a->ctx, serial));
}
static bool race(const Block *b, uint64_t k, const char *what, const Actor *a, uint32_t other,
                 char *err, size_t size) {
    snprintf(err, size, "race: %s byte %llu of an allocation of %llu, the other is %s", what,
             (unsigned long long)k, (unsigned long long)b->bytes,
             a->who_is ? a->who_is(a->ctx, other) : "unknown");
    return false;
}
static const ReaderSet *set_of(const Memory *m, uint32_t reader) {
    uint32_t id = reader & ~TOUCH_SEVERAL;
    return reader & TOUCH_SEVERAL && id >= m->set_base ? &m->set[id - m->set_base] : NULL;
}
void memory_settle(Memory *m) {
    m->set_base += m->n_sets;
    m->n_sets = 0;
}
static uint32_t intern(Memory *m, const ReaderSet *s) {
    if (s->n == 1 && !s->many[0]) return s->serial[0];
    for (uint32_t k = 0; k < 8 && k < m->n_sets; k++)
        if (!memcmp(&m->set[m->n_sets - 1 - k], s, sizeof *s))
            return (m->set_base + m->n_sets - 1 - k) | TOUCH_SEVERAL;
    if (m->n_sets == m->cap_sets) {
        m->cap_sets = 2 * m->cap_sets + 64;
        m->set = realloc(m->set, m->cap_sets * sizeof *m->set);
        if (!m->set) abort();
    }
    m->set[m->n_sets] = *s;
    return (m->set_base + m->n_sets++) | TOUCH_SEVERAL;
}
static void add_reader(ReaderSet *s, uint32_t serial, uint8_t many) {
    for (uint32_t k = 0; k < s->n; k++)
        if (s->serial[k] == serial && s->many[k] == many) return;
    if (s->n == READERS_MAX) return;
    s->serial[s->n] = serial;
    s->many[s->n++] = many;
}
/* One that read, beside the one that reads now: those of one launch become many. */
static bool join_reader(ReaderSet *s, const Actor *a, uint32_t serial, uint8_t many) {
    if (serial < a->floor || (serial == a->me && !many)) return false;
    if (many == MANY_BLOCKS && serial == a->first) return add_reader(s, serial, many), true;
    if (serial >= a->phase) return add_reader(s, a->phase, MANY_WARPS), true;
    if (a->is_before && a->is_before(a->ctx, serial)) return false;
    if (serial >= a->first) return add_reader(s, a->first, MANY_BLOCKS), true;
    add_reader(s, serial, many);
    return false;
}
/* The mark of a byte that `reader` marked, after a read. */
static uint32_t read_mark(Memory *m, uint32_t reader, const Actor *a) {
    ReaderSet s;
    memset(&s, 0, sizeof s);
    const ReaderSet *old = set_of(m, reader);
    bool has_me = false;
    if (!old)
        has_me = reader & TOUCH_SEVERAL ? false : join_reader(&s, a, reader, ONE_READER);
    else {
        const ReaderSet copy = *old;
        for (uint32_t k = 0; k < copy.n; k++)
            has_me |= join_reader(&s, a, copy.serial[k], copy.many[k]);
    }
    if (!has_me) add_reader(&s, a->me, ONE_READER);
    return intern(m, &s);
}
/* Many that the one at work is of. */
static bool is_mine(const Actor *a, uint32_t serial, uint8_t many) {
    return (many == MANY_WARPS && serial == a->phase) ||
           (many == MANY_BLOCKS && serial == a->first);
}
/* A reader that a write by `a` is not ordered after; 0: none. */
static uint32_t unordered_reader(const Memory *m, uint32_t reader, const Actor *a) {
    const ReaderSet *s = set_of(m, reader);
    if (!s) return reader & TOUCH_SEVERAL || is_ordered(a, reader) ? 0 : reader;
    for (uint32_t k = 0; k < s->n; k++) {
        uint32_t serial = s->serial[k];
        if (serial < a->floor || (serial == a->me && !s->many[k])) continue;
        bool others = is_mine(a, serial, s->many[k]);
        if (others || !a->is_before || !a->is_before(a->ctx, serial)) return serial;
    }
    return 0;
}
static bool touch_byte(Memory *m, Block *b, uint64_t k, Access access, const Actor *a, char *err,
                       size_t size) {
    uint32_t writer = b->writer[k], serial = writer & ~TOUCH_ATOMIC;
    bool both_atomic = access == ACCESS_ATOMIC && writer & TOUCH_ATOMIC;
    if (!both_atomic && !is_ordered(a, serial))
        return race(b, k, access == ACCESS_READ ? "one writes and another reads" : "two write", a,
                    serial, err, size);
    if (access == ACCESS_READ) {
        b->reader[k] = read_mark(m, b->reader[k], a);
        return true;
    }
    uint32_t reader = unordered_reader(m, b->reader[k], a);
    if (reader) return race(b, k, "one reads and another writes", a, reader, err, size);
    bool stays_plain = access == ACCESS_ATOMIC && writer == a->me;
    if (access == ACCESS_WRITE) b->reader[k] = 0; /* all that read come before */
    b->writer[k] = access == ACCESS_ATOMIC && !stays_plain ? a->me | TOUCH_ATOMIC : a->me;
    return true;
}
/* Most accesses meet bytes that nobody else touched since the last order: without branches. */
static bool is_quiet(const uint32_t *mark, uint64_t n, const Actor *a) {
    uint32_t floor = a->floor, me = a->me, loud = 0;
    for (uint64_t k = 0; k < n; k++) loud |= (mark[k] >= floor) & (mark[k] != me);
    return !loud;
}
/* Bytes that many of the launch read: one more changes nothing. */
static bool is_read_by_many(const Memory *m, const uint32_t *reader, uint64_t n, const Actor *a) {
    const ReaderSet *s = set_of(m, reader[0]);
    uint32_t differs = 0;
    for (uint64_t k = 0; k < n; k++) differs |= reader[k] ^ reader[0];
    return s && !differs && s->n == 1 && is_mine(a, s->serial[0], s->many[0]);
}
bool memory_touch(Memory *m, Block *b, uint64_t offset, uint64_t n, Access access, const Actor *a,
                  char *err, size_t size) {
    if (!b->is_pinned && a->closed >> b->device & 1) {
        snprintf(err, size, "memory of device %d, which this device does not reach", b->device);
        return false;
    }
    if (access != ACCESS_WRITE) {
        const uint8_t *hole = memchr(b->written + offset, 0, n);
        if (hole) {
            snprintf(err, size, "byte %llu of an allocation of %llu was never written",
                     (unsigned long long)(hole - b->written), (unsigned long long)b->bytes);
            return false;
        }
    }
    bool is_calm = access != ACCESS_ATOMIC && is_quiet(b->writer + offset, n, a);
    if (is_calm && access == ACCESS_READ && is_read_by_many(m, b->reader + offset, n, a))
        return true;
    if (is_calm && is_quiet(b->reader + offset, n, a)) {
        uint32_t *mark = (access == ACCESS_READ ? b->reader : b->writer) + offset;
        for (uint64_t k = 0; k < n; k++) mark[k] = a->me;
    } else {
        for (uint64_t k = offset; k < offset + n; k++)
            if (!touch_byte(m, b, k, access, a, err, size)) return false;
    }
    if (access != ACCESS_READ) memset(b->written + offset, 1, n);
    return true;
}
