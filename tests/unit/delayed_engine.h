/* delayed_engine.h: the reference engine with delays, for tests. Calls finish later, one at a time,
 * in a random order that respects `after`. Frees take effect when the calls submitted before them
 * are done. Outputs hold garbage until then. Counts violations by exec: reading a result that is
 * not done, or changing a call that is borrowed.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_DELAYED_ENGINE_H
#define GT_TESTS_UNIT_DELAYED_ENGINE_H
#include "worker/engine/host.h"
#include "worker/ref/ref.h"

#include <stdlib.h>
#include <string.h>

typedef struct Late Late;
struct Late {
    Late *next;
    const Call *call;
    Call copy;
    View in[8];
    Ticket ticket, after[16];
    int n_after;
};
typedef struct LateFree {
    struct LateFree *next;
    void *p;
    uint64_t bytes;
    Ticket last;
} LateFree;
typedef struct LateErr {
    struct LateErr *next;
    Ticket ticket;
    Err err;
} LateErr;
typedef struct Delayed {
    Engine engine, *inner;
    Late *late;
    LateFree *frees;
    LateErr *errs;
    Ticket last;
    uint64_t rng;
    int n_late;
} Delayed;

static const EngineOps engine_delayed;
static int delayed_violations;

static void delayed_seed(Engine *e, uint64_t seed) { ((Delayed *)e)->rng = seed | 1; }
/* Calls that ran before an older one. */
__attribute__((unused)) static int delayed_was_late(Engine *e) { return ((Delayed *)e)->n_late; }

static Engine *delayed_open(const EngineConfig *config, Err *err) {
    Engine *inner = engine_reference.open(config, err);
    if (!inner) return NULL;
    Delayed *d = xcalloc(1, sizeof *d);
    d->engine.ops = &engine_delayed;
    d->inner = inner;
    d->rng = 88172645463325252u;
    return &d->engine;
}
static uint64_t delayed_random(Delayed *d, uint64_t n) {
    d->rng ^= d->rng << 13, d->rng ^= d->rng >> 7, d->rng ^= d->rng << 17;
    return (d->rng >> 20) % n;
}
static bool is_late(const Delayed *d, Ticket t) {
    for (const Late *l = d->late; l; l = l->next)
        if (l->ticket == t) return true;
    return false;
}
static void free_what_may_go(Delayed *d) {
    Ticket oldest = UINT64_MAX;
    for (const Late *l = d->late; l; l = l->next)
        if (l->ticket < oldest) oldest = l->ticket;
    for (LateFree **at = &d->frees; *at;) {
        LateFree *f = *at;
        if (f->last >= oldest) {
            at = &f->next;
            continue;
        }
        engine_reference.free(d->inner, f->p, f->bytes);
        *at = f->next;
        free(f);
    }
}
/* Runs a random call whose predecessors are done. */
static void run_one(Delayed *d) {
    Late **ready[512];
    int n = 0;
    for (Late **at = &d->late; *at && n < 512; at = &(*at)->next) {
        bool waits = false;
        for (int i = 0; i < (*at)->n_after; i++) waits |= is_late(d, (*at)->after[i]);
        if (!waits) ready[n++] = at;
    }
    if (!n) return;
    Late **at = ready[delayed_random(d, (uint64_t)n)], *l = *at;
    d->n_late += at != &d->late;
    *at = l->next;
    bool intact = l->call->inst == l->copy.inst && l->call->n_in == l->copy.n_in;
    for (int i = 0; intact && i < l->copy.n_in && i < 8; i++)
        intact = l->call->in[i].data == l->in[i].data &&
                 type_equal(&l->call->in[i].type, &l->in[i].type);
    delayed_violations += !intact;
    Ticket t = engine_reference.submit(d->inner, l->call, NULL, 0);
    Err err = {0};
    if (engine_reference.done(d->inner, t, true, &err) < 0) {
        LateErr *e = xmalloc(sizeof *e);
        *e = (LateErr){d->errs, l->ticket, err};
        d->errs = e;
    }
    free(l);
    free_what_may_go(d);
}
static Ticket delayed_submit(Engine *e, const Call *call, const Ticket *after, int n_after) {
    Delayed *d = (Delayed *)e;
    Late *l = xcalloc(1, sizeof *l);
    *l = (Late){.call = call, .copy = *call, .ticket = ++d->last};
    for (int i = 0; i < call->n_in && i < 8; i++) l->in[i] = call->in[i];
    for (int i = 0; i < n_after; i++)
        if (is_late(d, after[i])) l->after[l->n_after++ % 16] = after[i];
    for (int k = 0; k < call->n_out; k++) {
        bool in_place = false;
        for (int i = 0; i < call->n_in; i++) in_place |= call->in[i].data == call->out[k].data;
        if (!in_place && call->out[k].data)
            memset(call->out[k].data, 0xa5, type_bytes(&call->out[k].type));
    }
    Late **at = &d->late;
    while (*at) at = &(*at)->next;
    *at = l;
    return l->ticket;
}
static int delayed_done(Engine *e, Ticket t, bool wait, Err *err) {
    Delayed *d = (Delayed *)e;
    if (wait)
        while (is_late(d, t)) run_one(d);
    else if (delayed_random(d, 3) == 0)
        run_one(d);
    if (is_late(d, t)) return 0;
    for (LateErr **at = &d->errs; *at; at = &(*at)->next) {
        if ((*at)->ticket != t) continue;
        LateErr *x = *at;
        if (err) *err = x->err;
        *at = x->next;
        free(x);
        return -1;
    }
    return 1;
}
static void delayed_close(Engine **e) {
    Delayed *d = (Delayed *)*e;
    if (!d) return;
    delayed_violations += d->late != NULL;
    free_what_may_go(d);
    engine_reference.close(&d->inner);
    free(d);
    *e = NULL;
}
static const char *delayed_isa(const Engine *e) { return "delayed"; }
static void *delayed_alloc(Engine *e, uint64_t bytes) {
    return engine_reference.alloc(((Delayed *)e)->inner, bytes);
}
static void delayed_free(Engine *e, void *p, uint64_t bytes) {
    Delayed *d = (Delayed *)e;
    LateFree *f = xmalloc(sizeof *f);
    *f = (LateFree){d->frees, p, bytes, d->last};
    d->frees = f;
    free_what_may_go(d);
}
static void delayed_memory(const Engine *e, uint64_t *used, uint64_t *peak, uint64_t *total) {
    engine_reference.memory(((const Delayed *)e)->inner, used, peak, total);
}
static void delayed_arena(const Engine *e, void **base, uint64_t *bytes, int *fd) {
    engine_reference.arena(((const Delayed *)e)->inner, base, bytes, fd);
}
static void delayed_copy_in(Engine *e, void *device, const void *host, uint64_t bytes) {
    engine_reference.copy_in(((Delayed *)e)->inner, device, host, bytes);
}
static void delayed_copy_out(Engine *e, void *host, const View *v) {
    Delayed *d = (Delayed *)e;
    for (const Late *l = d->late; l; l = l->next)
        for (int k = 0; k < l->copy.n_out; k++) {
            const char *at = l->copy.out[k].data, *p = v->data;
            delayed_violations += p >= at && p < at + type_bytes(&l->copy.out[k].type);
        }
    engine_reference.copy_out(d->inner, host, v);
}
static const EngineOps engine_delayed = {
    .name = "delayed",
    .open = delayed_open,
    .close = delayed_close,
    .isa = delayed_isa,
    .alloc = delayed_alloc,
    .free = delayed_free,
    .memory = delayed_memory,
    .arena = delayed_arena,
    .submit = delayed_submit,
    .done = delayed_done,
    .copy_in = delayed_copy_in,
    .copy_out = delayed_copy_out,
    .copy = host_copy,
    .read = host_read,
    .write = host_write,
    .hash = host_hash,
};
#endif
