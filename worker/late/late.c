/* late.c: the engine `late`, for tests of ordered engines (engine.h) and of what runs on them. It
 * is the engine `cpu`, with these differences:
 *
 *  - What it is asked to do goes into a batch, which a thread of its own executes in order: when a
 *    mark that lies behind it is waited for, or when the batch is full, but not before.
 *  - exec's addresses are in a range that nobody can read (PROT_NONE); the tensors are elsewhere.
 * So an access that is not made through the engine faults.
 *  - Memory that was freed may be allocated again at once. In its turn, it is filled with NaN.
 *  - Host memory that is to be filled holds garbage until then.
 *  - Another engine `late` of the process may read its memory (reach), as late as all else.
 *
 * Limits of memory are those of `cpu`, whose calls may need memory beside their results. A call
 * that might find none is executed at once, after all others; that memory is taken from an arena of
 * the same size and fill.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/arena.h"
#include "runtime/base/buf.h"
#include "worker/emit/fuse.h"
#include "worker/engine/box.h"
#include "worker/engine/mem.h"
#include "worker/engine/view.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    BATCH_MAX = 256,        /* requests of a batch, ... */
    STAGED_MAX = 16 << 20,  /* ... the bytes of host memory that it holds, ... */
    POLLS_MAX = 1000,       /* ... and how often it is asked for before it is executed */
    BATCHES_MAX = 4,        /* full batches that wait; more wait for them */
    BESIDE = 8,             /* a call needs at most so many times its tensors beside them, ... */
    BESIDE_LEAST = 1 << 20, /* ... and so many bytes more */
    LINE_MOST = 1 << 22     /* elements of a row of a fusion; `cpu` refuses some longer ones */
};

typedef enum Kind { RUN_CALL, RUN_FUSED, RUN_COPY, RUN_READ, RUN_WRITE, RUN_FILL } Kind;

/* One request; addresses are those of the tensors. */
typedef struct Request Request;
struct Request {
    Request *next;
    Kind kind;
    Ticket ticket;
    Call call;
    Fusion *fuse;
    const FusedKernel *kernel;
    bool has_product;
    View to, from;
    uint64_t begin, bytes, used; /* used: fill of the arena, if it is to be that of `beside` */
    void *host;
    Err *refused; /* set if there is no memory beside the results; NULL: there is enough */
};

typedef struct Batch Batch;
struct Batch {
    Batch *next;
    Arena arena;
    Request *first, *last;
    int n, polls;
    uint64_t staged;
};

typedef struct Failure Failure;
struct Failure {
    Failure *next;
    Ticket ticket;
    int node;
    Err err;
};

/* Where the tensors are, for which exec sees other addresses; scratch memory lies behind them. */
typedef struct Tensors Tensors;
struct Tensors {
    char *shown, *device;
    uint64_t bytes;
    int users;     /* their engine, and those that reach them */
    Tensors *next; /* of this process */
};

typedef struct Late Late;
struct Late {
    Engine engine;
    Engine *inner; /* its arena is for memory beside results */
    Mem *mem;      /* used for its addresses: the arena that exec sees */
    char *heads;   /* mem's memory */
    Tensors *own;
    Tensors **reached; /* of other engines */
    int n_reached;
    Batch *open;    /* being filled */
    Ticket n;       /* requests so far; tickets of requests are even, marks are odd */
    Ticket refused; /* of a call whose lack of memory is known; 0: none */
    Err why;        /* ... and its reason */
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t has_batch, has_ended;
    /* Under the lock: */
    Batch *first, *last; /* to be executed; the first one is being executed */
    int n_batches;
    Ticket done; /* requests that are done */
    Failure *failures, *last_failure;
    bool ends;
};

/* ---- Addresses ---- */

static bool holds(const Tensors *t, const void *p) {
    return (const char *)p >= t->shown && (const char *)p < t->shown + t->bytes + ENGINE_SCRATCH;
}

static char *at_device(const Late *l, const void *p) {
    const Tensors *t = l->own;
    for (int k = 0; !holds(t, p); k++) {
        if (k == l->n_reached) panic("late: %p is not in memory that the engine reaches", p);
        t = l->reached[k];
    }
    return t->device + ((const char *)p - t->shown);
}

static View view_of(const Late *l, const View *v) {
    View r = *v;
    r.data = at_device(l, v->data);
    return r;
}

/* ---- The thread ---- */

static void fail(Late *l, const Request *r, int node, const Err *err) {
    Failure *f = xmalloc(sizeof *f);
    *f = (Failure){NULL, r->ticket, node, *err};
    pthread_mutex_lock(&l->lock);
    if (l->failures)
        l->last_failure->next = f;
    else
        l->failures = f;
    l->last_failure = f;
    pthread_mutex_unlock(&l->lock);
}

/* True if the request runs at once, and its caller takes the refusal. */
static bool refuse(Request *r, const Err *err) {
    if (!r->refused) return false;
    *r->refused = *err;
    return true;
}

static void run_call(Late *l, Request *r) {
    const EngineOps *ops = l->inner->ops;
    Err err = {0};
    Ticket t = ops->submit(l->inner, &r->call, NULL, 0);
    if (ops->done(l->inner, t, true, &err) > 0) return;
    if (err.code == ERR_MEMORY && refuse(r, &err)) return;
    if (!op_has(r->call.inst->op, FACT_FAILS))
        panic("late: '%s' failed: %s", op_info[r->call.inst->op].name, err.text);
    fail(l, r, 0, &err);
}

static void run_fused(Late *l, Request *r) {
    const EngineOps *ops = l->inner->ops;
    const Fusion *f = r->fuse;
    Err err = {0};
    bool ok = r->has_product ? ops->fused_product(l->inner, &r->call, r->fuse, r->kernel)
                             : ops->fused(l->inner, r->fuse, r->kernel);
    if (ok) return;
    for (int i = 0; i < f->n_nodes; i++)
        if (fuse_may_fail(&f->node[i]) &&
            !fuse_check_bad(&f->space, &f->bad[fuse_fail(f, i)], &err))
            fail(l, r, i, &err);
    if (!fuse_is_bad(f) && (err_set(&err, ERR_MEMORY, "no memory"), !refuse(r, &err)))
        panic("late: a fusion failed");
}

static void run(Late *l, Request *r) {
    const EngineOps *ops = l->inner->ops;
    /* As full as the arena that exec sees: a block counts as 64 bytes more. */
    uint64_t beside = r->used > MEM_ALIGN ? r->used - MEM_ALIGN : 0;
    void *fill = beside ? ops->alloc(l->inner, beside) : NULL;
    switch (r->kind) {
    case RUN_CALL: run_call(l, r); break;
    case RUN_FUSED: run_fused(l, r); break;
    case RUN_COPY: box_copy(&r->to, &r->from); break;
    case RUN_READ: box_get(&r->from, r->begin, r->bytes, r->host); break;
    case RUN_WRITE: box_put(&r->to, r->begin, r->bytes, r->host); break;
    case RUN_FILL: memset(r->to.data, 0xff, r->bytes); break; /* NaN in every float dtype */
    }
    if (fill) ops->free(l->inner, fill, beside);
}

static void *serve(void *ctx) {
    Late *l = ctx;
    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (!l->first && !l->ends) pthread_cond_wait(&l->has_batch, &l->lock);
        Batch *b = l->first;
        if (!b) break;
        pthread_mutex_unlock(&l->lock);
        for (Request *r = b->first; r; r = r->next) run(l, r);
        pthread_mutex_lock(&l->lock);
        l->first = b->next;
        l->n_batches--;
        l->done = b->last->ticket;
        arena_fini(&b->arena);
        free(b);
        pthread_cond_broadcast(&l->has_ended);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* ---- Requests ---- */

/* Lets the thread execute what was asked for so far. */
static void hand_over(Late *l) {
    Batch *b = l->open;
    l->open = NULL;
    pthread_mutex_lock(&l->lock);
    if (b) {
        if (l->first)
            l->last->next = b;
        else
            l->first = b;
        l->last = b;
        l->n_batches++;
        pthread_cond_signal(&l->has_batch);
    }
    while (l->n_batches > BATCHES_MAX) pthread_cond_wait(&l->has_ended, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

/* Waits until all is done. */
static void drain(Late *l) {
    hand_over(l);
    pthread_mutex_lock(&l->lock);
    while (l->first) pthread_cond_wait(&l->has_ended, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

/* Returns a new request, which the caller fills. more: bytes of host memory that it will hold. */
static Request *ask(Late *l, Kind kind, uint64_t more) {
    if (l->open && (l->open->n >= BATCH_MAX || l->open->staged > STAGED_MAX)) hand_over(l);
    if (!l->open) l->open = xcalloc(1, sizeof *l->open);
    Batch *b = l->open;
    Request *r = arena_zalloc(&b->arena, sizeof *r);
    if (b->last)
        b->last->next = r;
    else
        b->first = r;
    b->last = r;
    b->n++;
    b->staged += more;
    r->kind = kind;
    r->ticket = l->n += 2;
    return r;
}

/* Copies a call with all that it points to but tensors. */
static void copy_call(Late *l, const Call *call, Request *r) {
    Arena *a = &l->open->arena;
    Call *c = &r->call;
    *c = *call;
    c->inst = inst_copy(call->inst, a);
    c->in = arena_alloc(a, sizeof *c->in * (size_t)(call->n_in + 1));
    for (int i = 0; i < call->n_in; i++) {
        const View *v = &call->in[i];
        c->in[i] = v->is_scalar ? *v : view_of(l, v);
        if (v->is_scalar) c->in[i].data = memcpy(arena_alloc(a, 8), v->data, 8);
    }
    for (int k = 0; k < call->n_out; k++) c->out[k] = view_of(l, &call->out[k]);
}

static uint64_t call_bytes(const Call *c) {
    uint64_t bytes = 0;
    for (int i = 0; i < c->n_in; i++) bytes += type_bytes(&c->in[i].type);
    for (int k = 0; k < c->n_out; k++) bytes += type_bytes(&c->out[k].type);
    return bytes;
}

/* Executes r, for tensors of so many bytes, at once if there may be no memory beside them. Returns
 * false, with l->why set, if there was none. */
static bool run_now(Late *l, Request *r, uint64_t bytes) {
    uint64_t used, peak, total;
    mem_usage(l->mem, &used, &peak, &total);
    if (bytes < total / BESIDE && total - used > BESIDE * bytes + BESIDE_LEAST) return true;
    r->used = used;
    r->refused = &l->why;
    l->why = (Err){0};
    drain(l);
    return !l->why.code;
}

static Ticket late_submit(Engine *e, const Call *call, const Ticket *after, int n_after) {
    Late *l = (Late *)e;
    Request *r = ask(l, RUN_CALL, 0);
    copy_call(l, call, r);
    e->last = r->ticket;
    if (!run_now(l, r, call_bytes(call))) l->refused = e->last;
    return e->last;
}

/* The kernel of a fusion, behind a product if that is not NULL. */
static bool ask_fused(Late *l, const Call *product, const Fusion *f, const FusedKernel *k) {
    if (f->args.n > LINE_MOST) return false;
    Request *r = ask(l, RUN_FUSED, 0);
    r->kernel = k;
    r->has_product = product != NULL;
    if (product) copy_call(l, product, r);
    Fusion *g = r->fuse = memcpy(arena_alloc(&l->open->arena, sizeof *f), f, sizeof *f);
    uint64_t space = (uint64_t)type_numel(&f->space), bytes = product ? call_bytes(product) : 0;
    for (int i = 0; i < g->n_inputs; i++) g->args.in[i] = at_device(l, f->args.in[i]);
    for (int i = 0; i < g->n_outputs; i++) g->args.out[i] = at_device(l, f->args.out[i]);
    bytes += 8 * space * (uint64_t)(g->n_inputs + g->n_outputs + 1);
    l->engine.last = r->ticket;
    return run_now(l, r, bytes);
}
static bool late_fused(Engine *e, Fusion *f, const FusedKernel *k) {
    return ask_fused((Late *)e, NULL, f, k);
}
static bool late_fused_product(Engine *e, const Call *product, Fusion *f, const FusedKernel *k) {
    return ask_fused((Late *)e, product, f, k);
}

static Ticket late_mark(Engine *e) { return ((Late *)e)->n + 1; }

/* True if the requests up to the ticket are done. */
static bool has_passed(Late *l, Ticket t, bool wait) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000000;
    if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
    pthread_mutex_lock(&l->lock);
    int rc = 0;
    while (wait && l->done + 1 < t && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&l->has_ended, &l->lock, &until);
    bool ok = l->done + 1 >= t;
    pthread_mutex_unlock(&l->lock);
    return ok;
}

static int late_done(Engine *e, Ticket t, bool wait, Err *err) {
    Late *l = (Late *)e;
    if (t % 2 == 0) {
        if (t == 0 || t != l->refused) return 1;
        l->refused = 0;
        if (err) *err = l->why;
        return -1;
    }
    Batch *b = l->open;
    if (b && b->first->ticket < t && (wait || ++b->polls > POLLS_MAX)) hand_over(l);
    return has_passed(l, t, wait);
}

static bool late_failed(Engine *e, Ticket *t, int *node, Err *err) {
    Late *l = (Late *)e;
    pthread_mutex_lock(&l->lock);
    Failure *f = l->failures;
    if (f) l->failures = f->next;
    pthread_mutex_unlock(&l->lock);
    if (!f) return false;
    *t = f->ticket, *node = f->node, *err = f->err;
    free(f);
    return true;
}

/* ---- Copies ---- */

static void late_write(Engine *e, const View *box, uint64_t begin, uint64_t bytes,
                       const void *host) {
    Late *l = (Late *)e;
    if (!bytes) return;
    Request *r = ask(l, RUN_WRITE, bytes);
    r->to = view_of(l, box);
    r->begin = begin, r->bytes = bytes;
    if (bytes > STAGED_MAX) {
        r->host = (void *)host;
        drain(l);
    } else {
        r->host = memcpy(arena_alloc(&l->open->arena, bytes), host, bytes);
    }
}

static void late_copy_in(Engine *e, void *device, const void *host, uint64_t bytes) {
    View to = bytes_view(device, bytes);
    late_write(e, &to, 0, bytes, host);
}

static void late_read(Engine *e, const View *box, uint64_t begin, uint64_t bytes, void *host) {
    Late *l = (Late *)e;
    if (!bytes) return;
    memset(host, 0xa5, bytes);
    Request *r = ask(l, RUN_READ, 0);
    r->from = view_of(l, box);
    r->begin = begin, r->bytes = bytes, r->host = host;
}

static void late_copy_out(Engine *e, void *host, const View *v) {
    late_read(e, v, 0, type_bytes(&v->type), host);
}

static void late_copy(Engine *e, const View *to, const View *from) {
    Late *l = (Late *)e;
    Request *r = ask(l, RUN_COPY, 0);
    r->to = view_of(l, to), r->from = view_of(l, from);
}

static uint64_t late_hash(Engine *e, const void *data, int64_t n, int size, uint64_t first,
                          uint16_t sample) {
    Late *l = (Late *)e;
    drain(l);
    return l->inner->ops->hash(l->inner, at_device(l, data), n, size, first, sample);
}

/* ---- Memory ---- */

/* A tensor without elements takes no memory: see host_alloc. */
static void *late_alloc(Engine *e, uint64_t bytes) {
    Late *l = (Late *)e;
    char *p = bytes ? mem_alloc(l->mem, bytes) : l->heads;
    return p ? l->own->shown + (p - l->heads) : NULL;
}

static void late_free(Engine *e, void *p, uint64_t bytes) {
    Late *l = (Late *)e;
    if (!p || !bytes) return;
    mem_release(l->mem, l->heads + ((char *)p - l->own->shown), bytes);
    Request *r = ask(l, RUN_FILL, 0);
    r->to.data = at_device(l, p), r->bytes = bytes;
}

static void late_memory(const Engine *e, uint64_t *used, uint64_t *peak, uint64_t *total) {
    mem_usage(((const Late *)e)->mem, used, peak, total);
}

static bool late_has_room(const Engine *e, uint64_t bytes) {
    return mem_has(((const Late *)e)->mem, bytes);
}

static void late_arena(const Engine *e, void **base, uint64_t *bytes, int *fd) {
    const Late *l = (const Late *)e;
    *base = l->own->shown, *bytes = l->own->bytes, *fd = -1;
}

static void *late_scratch(const Engine *e) {
    const Late *l = (const Late *)e;
    return l->own->shown + l->own->bytes;
}

/* ---- Memory of other engines ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Tensors *all; /* under the lock */

static char *reserve(uint64_t bytes, int prot) {
    void *p = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void tensors_drop(Tensors *t) {
    if (!t) return;
    pthread_mutex_lock(&lock);
    Tensors **at = &all;
    while (*at != t) at = &(*at)->next;
    bool is_last = --t->users == 0;
    if (is_last) *at = t->next;
    pthread_mutex_unlock(&lock);
    if (!is_last) return;
    if (t->shown) munmap(t->shown, t->bytes + ENGINE_SCRATCH);
    if (t->device) munmap(t->device, t->bytes + ENGINE_SCRATCH);
    free(t);
}

static Tensors *tensors_new(uint64_t bytes) {
    Tensors *t = xmalloc(sizeof *t);
    *t = (Tensors){.bytes = bytes, .users = 1};
    t->shown = reserve(bytes + ENGINE_SCRATCH, PROT_NONE);
    t->device = reserve(bytes + ENGINE_SCRATCH, PROT_READ | PROT_WRITE);
    bool ok = t->shown && t->device;
    pthread_mutex_lock(&lock);
    t->next = all, all = t;
    pthread_mutex_unlock(&lock);
    if (!ok) tensors_drop(t);
    return ok ? t : NULL;
}

static const void *late_reach(Engine *e, const void *base, uint64_t bytes,
                              const EngineHandle *handle) {
    Late *l = (Late *)e;
    if (handle) return NULL; /* of another process */
    pthread_mutex_lock(&lock);
    Tensors *t = all;
    while (t && (t->shown != base || t->bytes != bytes)) t = t->next;
    bool ok = t && t != l->own;
    if (ok) t->users++;
    pthread_mutex_unlock(&lock);
    if (!ok) return NULL;
    l->reached = xrealloc(l->reached, sizeof(Tensors *) * (size_t)(l->n_reached + 1));
    l->reached[l->n_reached++] = t;
    return base;
}

static void late_leave(Engine *e, const void *base) {
    Late *l = (Late *)e;
    drain(l);
    for (int k = l->n_reached; k-- > 0;) {
        if (l->reached[k]->shown != base) continue;
        tensors_drop(l->reached[k]);
        l->reached[k] = l->reached[--l->n_reached];
    }
}

/* ---- Opening ---- */

static const char *late_isa(const Engine *e) {
    const Late *l = (const Late *)e;
    return l->inner->ops->isa(l->inner);
}

static void late_close(Engine **e) {
    Late *l = (Late *)*e;
    if (!l) return;
    if (l->has_thread) {
        drain(l);
        pthread_mutex_lock(&l->lock);
        l->ends = true;
        pthread_cond_signal(&l->has_batch);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->thread, NULL);
    }
    Err err;
    Ticket t;
    for (int node; late_failed(&l->engine, &t, &node, &err);) {}
    while (l->n_reached) tensors_drop(l->reached[--l->n_reached]);
    free(l->reached);
    tensors_drop(l->own);
    mem_close(&l->mem);
    if (l->inner) l->inner->ops->close(&l->inner);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->has_batch);
    pthread_cond_destroy(&l->has_ended);
    free(l);
    *e = NULL;
}

static bool start(Late *l) {
    sigset_t signals, before;
    sigfillset(&signals);
    pthread_sigmask(SIG_SETMASK, &signals, &before);
    l->has_thread = !pthread_create(&l->thread, NULL, serve, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return l->has_thread;
}

static Engine *late_open(const EngineConfig *config, Err *err) {
    EngineConfig own = *config;
    Late *l = xcalloc(1, sizeof *l);
    Engine *e = &l->engine;
    int fd;
    void *base;
    uint64_t bytes;
    e->ops = &engine_late;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->has_batch, NULL);
    pthread_cond_init(&l->has_ended, NULL);
    own.is_shared = false;
    l->inner = engine_cpu.open(&own, err);
    l->mem = l->inner ? mem_open(config->memory_bytes, false, err) : NULL;
    if (!l->mem) return late_close(&e), NULL;
    mem_range(l->mem, &base, &bytes, &fd);
    l->heads = base;
    madvise(base, bytes, MADV_NOHUGEPAGE); /* only heads of blocks are touched */
    l->own = tensors_new(bytes);
    if (l->own && start(l)) return e;
    err_set(err, ERR_MEMORY, "cannot reserve memory for the engine 'late': %s", strerror(errno));
    late_close(&e);
    return NULL;
}

const EngineOps engine_late = {
    .name = "late",
    .is_ordered = true,
    .open = late_open,
    .close = late_close,
    .isa = late_isa,
    .alloc = late_alloc,
    .free = late_free,
    .memory = late_memory,
    .has_room = late_has_room,
    .arena = late_arena,
    .scratch = late_scratch,
    .submit = late_submit,
    .done = late_done,
    .mark = late_mark,
    .failed = late_failed,
    .copy_in = late_copy_in,
    .copy_out = late_copy_out,
    .copy = late_copy,
    .read = late_read,
    .write = late_write,
    .fused = late_fused,
    .fused_product = late_fused_product,
    .hash = late_hash,
    .reach = late_reach,
    .leave = late_leave,
};
