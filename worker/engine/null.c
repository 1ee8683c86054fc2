/* null.c: the engine `null`, for benchmarks and simulation. exec infers shapes and keeps its
 * tables, but nothing is computed and no tensor's memory is ever touched, so that one machine can
 * run many workers. Every value is zero. Memory is addresses only: allocations count
 * against --memory, and several tensors may get the same address.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/engine.h"
#include "worker/engine/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct Null {
    Engine engine;
    Mem *mem; /* only for its address range */
    char *base;
    uint64_t total, at, used, peak;
    Ticket last;
} Null;

static uint64_t rounded(uint64_t bytes) {
    return bytes ? (bytes + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN : MEM_ALIGN;
}

static Engine *null_open(const EngineConfig *config, Err *err) {
    Mem *mem = mem_open(config->memory_bytes, config->is_shared, err);
    if (!mem) return NULL;
    Null *n = xcalloc(1, sizeof *n);
    int fd;
    void *base;
    n->engine.ops = &engine_null;
    n->mem = mem;
    mem_range(mem, &base, &n->total, &fd);
    n->base = base;
    madvise(base, n->total, MADV_NOHUGEPAGE);
    madvise(base, n->total, MADV_DONTNEED); /* drops mem_open's headers, which are never read */
    return &n->engine;
}

static void null_close(Engine **e) {
    if (!*e) return;
    Null *n = (Null *)*e;
    mem_close(&n->mem);
    free(n);
    *e = NULL;
}

static const char *null_isa(const Engine *e) { return "null"; }

static void *null_alloc(Engine *e, uint64_t bytes) {
    Null *n = (Null *)e;
    uint64_t need = bytes <= n->total ? rounded(bytes) : bytes;
    if (need > n->total - n->used) return NULL;
    if (need > n->total - n->at) n->at = 0;
    void *p = n->base + n->at;
    n->at += need;
    n->used += need;
    if (n->used > n->peak) n->peak = n->used;
    return p;
}

static void null_free(Engine *e, void *p, uint64_t bytes) {
    if (p) ((Null *)e)->used -= rounded(bytes);
}

static void null_memory(const Engine *e, uint64_t *used, uint64_t *peak, uint64_t *total) {
    const Null *n = (const Null *)e;
    *used = n->used, *peak = n->peak, *total = n->total;
}

static void null_arena(const Engine *e, void **base, uint64_t *bytes, int *fd) {
    mem_range(((const Null *)e)->mem, base, bytes, fd);
}

static Ticket null_submit(Engine *e, const Call *call, const Ticket *after, int n_after) {
    return ++((Null *)e)->last;
}

static int null_done(Engine *e, Ticket t, bool wait, Err *err) { return 1; }

static void null_copy(Engine *e, const View *to, const View *from) {}

static void null_read(Engine *e, const View *box, uint64_t begin, uint64_t bytes, void *host) {
    if (bytes) memset(host, 0, bytes);
}

static void null_write(Engine *e, const View *box, uint64_t begin, uint64_t bytes,
                       const void *host) {}

static void null_copy_in(Engine *e, void *device, const void *host, uint64_t bytes) {}

static void null_copy_out(Engine *e, void *host, const View *v) {
    uint64_t bytes = type_bytes(&v->type);
    if (bytes) memset(host, 0, bytes);
}

const EngineOps engine_null = {
    .name = "null",
    .open = null_open,
    .close = null_close,
    .isa = null_isa,
    .alloc = null_alloc,
    .free = null_free,
    .memory = null_memory,
    .arena = null_arena,
    .submit = null_submit,
    .done = null_done,
    .copy_in = null_copy_in,
    .copy_out = null_copy_out,
    .copy = null_copy,
    .read = null_read,
    .write = null_write,
};
