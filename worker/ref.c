/* ref.c: the engine `reference`: runs every call at once, with plain loops, in the arena of
 * mem.h. Its other files are the rows: ref_map.c, ref_kernel.c, ref_index.c, ref_sort.c,
 * ref_source.c. See ref.h for what it is for.
 * SPDX-License-Identifier: MIT */
#include "worker/mem.h"
#include "worker/ref.h"

#include <stdlib.h>
#include <string.h>

typedef struct Failed Failed;
struct Failed {
    Ticket ticket;
    Err err;
    Failed *next;
};

typedef struct Ref {
    Engine engine;
    Mem *mem;
    Ticket last;
    Failed *failed; /* calls whose failure nobody has asked for yet */
} Ref;

static bool (*const kernels[OP_COUNT])(const Call *, Err *) = {
#define KERNEL(id, name, arity, in, shape, grad, doc) [OP_##id] = ref_##id,
#include "runtime/ops.def"
};

static Engine *ref_open(const EngineConfig *config, Err *err) {
    Mem *mem = mem_open(config->memory_bytes, err);
    if (!mem) return NULL;
    Ref *r = xcalloc(1, sizeof *r);
    r->engine.ops = &engine_reference;
    r->mem = mem;
    return &r->engine;
}

static void ref_close(Engine **e) {
    if (!*e) return;
    Ref *r = (Ref *)*e;
    while (r->failed) {
        Failed *f = r->failed;
        r->failed = f->next;
        free(f);
    }
    mem_close(&r->mem);
    free(r);
    *e = NULL;
}

static const char *ref_isa(const Engine *e) {
    (void)e;
    return "reference";
}
static void *ref_alloc(Engine *e, uint64_t bytes) { return mem_alloc(((Ref *)e)->mem, bytes); }
static void ref_free(Engine *e, void *p, uint64_t bytes) { mem_release(((Ref *)e)->mem, p, bytes); }
static void ref_memory(const Engine *e, uint64_t *used, uint64_t *peak, uint64_t *total) {
    mem_usage(((const Ref *)e)->mem, used, peak, total);
}

static Ticket ref_submit(Engine *e, const Call *call, const Ticket *after, int n_after) {
    (void)after, (void)n_after; /* all that was submitted is done */
    Ref *r = (Ref *)e;
    Ticket ticket = ++r->last;
    Op op = call->inst->op;
    switch (op_info[op].class_) {
    case CLASS_MAP: ref_map(call); break;
    case CLASS_REDUCE: ref_reduce(call); break;
    case CLASS_VIEW: ref_copy(&call->in[0], call->out[0].data); break;
    case CLASS_SOURCE: ref_source(call); break;
    case CLASS_KERNEL: {
        Err err = {0};
        if (kernels[op](call, &err)) break;
        Failed *f = xmalloc(sizeof *f);
        *f = (Failed){ticket, err, r->failed};
        r->failed = f;
        break;
    }
    case CLASS_CONTROL: panic("'%s' is not for engines", op_info[op].name);
    }
    return ticket;
}

static int ref_done(Engine *e, Ticket t, bool wait, Err *err) {
    (void)wait;
    for (Failed **at = &((Ref *)e)->failed; *at; at = &(*at)->next) {
        if ((*at)->ticket != t) continue;
        Failed *f = *at;
        *at = f->next;
        if (err) *err = f->err;
        free(f);
        return -1;
    }
    return 1;
}

static void ref_copy_in(Engine *e, void *device, const void *host, uint64_t bytes) {
    (void)e;
    if (bytes) memcpy(device, host, bytes);
}
static void ref_copy_out(Engine *e, void *host, const View *v) {
    (void)e;
    ref_copy(v, host);
}

const EngineOps engine_reference = {
    .name = "reference",
    .open = ref_open,
    .close = ref_close,
    .isa = ref_isa,
    .alloc = ref_alloc,
    .free = ref_free,
    .memory = ref_memory,
    .submit = ref_submit,
    .done = ref_done,
    .copy_in = ref_copy_in,
    .copy_out = ref_copy_out,
};
