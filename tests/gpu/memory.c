/* memory.c: allocations, and the marks of each byte. Pages of marks cost nothing before their first
 * use.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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
static void release(Block *b) {
    munmap(b->writer, b->mapped);
    free(b);
}
void memory_fini(Memory *m) {
    for (int k = 0; k < m->n_blocks; k++) release(m->block[k]);
    free(m->block);
    memset(m, 0, sizeof *m);
}
Block *memory_alloc(Memory *m, uint64_t bytes, void *host) {
    if (!bytes || bytes > UINT64_C(1) << 40) return NULL;
    uint64_t room = (bytes + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
    if (!host && (room > m->limit || m->used > m->limit - room)) return NULL;
    Block *b = calloc(1, sizeof *b);
    if (!b) abort();
    b->mapped = (size_t)room * (host ? 9 : 10);
    uint8_t *at = map(b->mapped);
    if (!at) {
        free(b);
        return NULL;
    }
    *b = (Block){.at = m->next, .bytes = bytes, .mapped = b->mapped, .is_pinned = host != NULL};
    b->writer = (uint32_t *)at, b->reader = (uint32_t *)(at + 4 * room);
    b->written = at + 8 * room;
    b->data = host ? host : at + 9 * room;
    if (host)
        memset(b->written, 1, bytes);
    else
        m->used += room;
    m->next += room + MEMORY_GAP;
    if (m->n_blocks == m->cap_blocks) {
        m->cap_blocks = m->cap_blocks ? 2 * m->cap_blocks : 64;
        m->block = realloc(m->block, (size_t)m->cap_blocks * sizeof *m->block);
        if (!m->block) abort();
    }
    return m->block[m->n_blocks++] = b;
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
    if (!b->is_pinned) m->used -= (b->bytes + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
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
static bool touch_byte(Block *b, uint64_t k, Access access, const Actor *a, char *err,
                       size_t size) {
    uint32_t writer = b->writer[k], serial = writer & ~TOUCH_ATOMIC, reader = b->reader[k];
    bool both_atomic = access == ACCESS_ATOMIC && writer & TOUCH_ATOMIC;
    if (!both_atomic && !is_ordered(a, serial))
        return race(b, k, access == ACCESS_READ ? "one writes and another reads" : "two write", a,
                    serial, err, size);
    uint32_t last = reader & ~TOUCH_SEVERAL;
    bool others_read = last >= a->floor && ((reader & TOUCH_SEVERAL) || last != a->me);
    if (access == ACCESS_READ) {
        b->reader[k] = others_read ? a->me | TOUCH_SEVERAL : a->me;
        return true;
    }
    if (others_read && ((reader & TOUCH_SEVERAL && last == a->me) || !is_ordered(a, last)))
        return race(b, k, "one reads and another writes", a, last, err, size);
    bool stays_plain = access == ACCESS_ATOMIC && writer == a->me;
    b->writer[k] = access == ACCESS_ATOMIC && !stays_plain ? a->me | TOUCH_ATOMIC : a->me;
    return true;
}
/* Most accesses meet bytes that nobody else touched since the last order: eight at a time, without
 * branches. */
static bool is_quiet(const Block *b, uint64_t from, uint64_t n, const Actor *a) {
    uint32_t floor = a->floor, me = a->me, loud = 0;
    const uint32_t *writer = b->writer + from, *reader = b->reader + from;
    for (uint64_t k = 0; k < n; k++) loud |= (writer[k] >= floor) & (writer[k] != me);
    for (uint64_t k = 0; k < n; k++) loud |= (reader[k] >= floor) & (reader[k] != me);
    return !loud;
}
bool memory_touch(Block *b, uint64_t offset, uint64_t n, Access access, const Actor *a, char *err,
                  size_t size) {
    if (access != ACCESS_WRITE) {
        const uint8_t *hole = memchr(b->written + offset, 0, n);
        if (hole) {
            snprintf(err, size, "byte %llu of an allocation of %llu was never written",
                     (unsigned long long)(hole - b->written), (unsigned long long)b->bytes);
            return false;
        }
    }
    if (access != ACCESS_ATOMIC && is_quiet(b, offset, n, a)) {
        uint32_t *mark = (access == ACCESS_READ ? b->reader : b->writer) + offset;
        for (uint64_t k = 0; k < n; k++) mark[k] = a->me;
    } else {
        for (uint64_t k = offset; k < offset + n; k++)
            if (!touch_byte(b, k, access, a, err, size)) return false;
    }
    if (access != ACCESS_READ) memset(b->written + offset, 1, n);
    return true;
}
