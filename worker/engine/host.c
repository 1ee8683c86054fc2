/* host.c: see host.h.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/host.h"
#include "runtime/inst/hash.h"
#include "worker/engine/box.h"
#include <stdlib.h>
#include <string.h>

struct HostFailure {
    Ticket ticket;
    Err err;
    HostFailure *next;
};

static Mem *mem_of(const Engine *e) { return ((const HostEngine *)e)->mem; }

bool host_open(HostEngine *h, const EngineOps *ops, const EngineConfig *config, Err *err) {
    h->engine.ops = ops;
    h->mem = mem_open(config->memory_bytes, config->is_shared, err);
    return h->mem != NULL;
}

void host_close(HostEngine *h) {
    while (h->failures) {
        HostFailure *f = h->failures;
        h->failures = f->next;
        free(f);
    }
    mem_close(&h->mem);
}

Ticket host_ticket(HostEngine *h, const Err *failure) {
    h->last++;
    if (failure) {
        HostFailure *f = xmalloc(sizeof *f);
        *f = (HostFailure){h->last, *failure, h->failures};
        h->failures = f;
    }
    return h->last;
}

/* A tensor without elements takes no memory: otherwise millions of them would fill the arena. */
void *host_alloc(Engine *e, uint64_t bytes) {
    if (bytes) return mem_alloc(mem_of(e), bytes);
    void *base;
    uint64_t all;
    int fd;
    mem_range(mem_of(e), &base, &all, &fd);
    return base;
}
void host_free(Engine *e, void *p, uint64_t bytes) {
    if (bytes) mem_release(mem_of(e), p, bytes);
}
void host_memory(const Engine *e, uint64_t *used, uint64_t *peak, uint64_t *total) {
    mem_usage(mem_of(e), used, peak, total);
}
bool host_has_room(const Engine *e, uint64_t bytes) { return mem_has(mem_of(e), bytes); }
void host_trim(Engine *e) { mem_trim(mem_of(e)); }
void host_arena(const Engine *e, void **base, uint64_t *bytes, int *fd) {
    mem_range(mem_of(e), base, bytes, fd);
}

int host_done(Engine *e, Ticket t, bool wait, Err *err) {
    for (HostFailure **at = &((HostEngine *)e)->failures; *at; at = &(*at)->next) {
        if ((*at)->ticket != t) continue;
        HostFailure *f = *at;
        *at = f->next;
        if (err) *err = f->err;
        free(f);
        return -1;
    }
    return 1;
}

void host_copy_in(Engine *e, void *device, const void *host, uint64_t bytes) {
    if (bytes) memcpy(device, host, bytes);
}
void host_copy(Engine *e, const View *to, const View *from) { box_copy(to, from); }
void host_read(Engine *e, const View *box, uint64_t begin, uint64_t bytes, void *host) {
    box_get(box, begin, bytes, host);
}
void host_write(Engine *e, const View *box, uint64_t begin, uint64_t bytes, const void *host) {
    box_put(box, begin, bytes, host);
}
uint64_t host_hash(Engine *e, const void *data, int64_t n, int size, uint64_t first,
                   uint16_t sample) {
    return hash_elements(hash_sums, data, n, size, first, sample);
}
