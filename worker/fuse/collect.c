/* collect.c: see collect.h. SPDX-License-Identifier: MIT */
#include "worker/fuse/collect.h"
#include "runtime/base/env.h"
#include "runtime/base/log.h"
#include "worker/kernel/emit.h"
#include "worker/exec/cancel.h"
#include "worker/exec/exec.h"
#include "worker/exec/hash.h"
#include "worker/exec/issue.h"
#include "worker/exec/mark.h"
#include "worker/exec/queue.h"
#include "worker/exec/watch.h"
#include "worker/fuse/fit.h"
#include "worker/jit/jit_shipped.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* When no instruction comes, the fusion waits this long for one before it is flushed. With 1 to
     * 1000 us the programs of tests/cli/fuse_law.sh take 0.5 to 0.8 s of CPU time, without waiting
     * more than 20 s. Charlm, an LSTM and loops that print take the same with 50 and 200 us. */
    IDLE_NS = 100000,
    /* Requests before a kernel is looked for. A program of 400 fusions that run once takes 1.46
     * times its CPU time with 1, and the same with 4. */
    MIN_REQUESTS = 2,
    /* Time that a kernel must be able to save before it is compiled. 40 fusions of 20,000 elements
     * that run 20 times take 1.09 times their CPU time with 0 and 5 ms, and 1.01 times with 20 ms.
     * A loop of 15 operations over 100,000 elements whose kernel has to be compiled takes 0.97
     * times with 5 ms, 0.92 with 20 ms, 1.04 with 0. */
    WORTH_NS = 10000000,
    /* Nodes of a fusion that is flushed at a loop's edge. 20,000 times x = x * 0.999 + b of 100,000
     * elements take 1.4 times the CPU time with 6, 1.1 to 1.3 with 24, 3.5 with 1. */
    EDGE_MIN = 12
};

typedef struct Collect {
    Stage stage; /* first */
    Jit *jit;
    Engine *maker; /* the engine, if its kernels are of its own compiler (maker.h); else NULL */
    bool waits;    /* for each kernel; for tests */
    bool is_list;  /* requests the sources of kernels; fusions end where the program says */
    bool is_off;   /* there will be no kernels */
    uint64_t luck; /* not 0: uses about every other kernel that is ready, at random; for tests */
    bool is_auto;  /* false: collects only in scopes with `compile: true` */
    int batch_max; /* nodes of a fusion */
    int n;
    Job *job[FUSE_NODES];
    FuseRef operand[FUSE_NODES][3]; /* of each node: its tensor operands, by index in Job.held */
    int uses[FUSE_NODES];           /* of each node: how often pending jobs read it */
    Job *product;                   /* a pending matmul, issued before the fusion; NULL: none */
    int passed;                     /* instructions issued since the last one that became pending */
    bool is_at_edge;                /* nothing was issued since a loop's edge */
    bool is_soon;    /* a node is in a scope with `compile: true`: it needs its kernel soon */
    int64_t idle_ns; /* start of the idle time; 0: not idle */
    Fusion fuse;
    /* During a flush: */
    JitEntry *entry; /* NULL: the fusion can have no kernel */
    ChoiceTrial *trial;
    bool is_timed;
    int64_t begin_ns, alone_ns; /* when it began; when its product was done */
    bool has_product;
    uint64_t launches, fused_ops, eager_ops, unstored, bytes_saved, products;
    const char *why; /* why the jobs run one by one; NULL: they do not */
    uint32_t kernel; /* jit_number; 0: none was looked up */
} Collect;

static bool compiled(Stage *s, TimeRow *row) {
    JitCall call;
    if (!jit_call(((Collect *)s)->jit, &call)) return false;
    *row = (TimeRow){.begin_ns = call.begin_ns,
                     .ns = (uint64_t)(call.end_ns - call.begin_ns),
                     .bytes = call.n,
                     .id = call.key,
                     .kind = TIME_COMPILE};
    return true;
}

static void free_stage(Stage *s) {
    Collect *c = (Collect *)s;
    assert(c->n == 0 && !c->product);
    jit_free(&c->jit);
    free(c);
}

static void edge(Stage *s) {
    Collect *c = (Collect *)s;
    if (c->n >= EDGE_MIN) stages_flush(s->x);
    c->is_at_edge = true;
}

static void idle(Stage *s, bool is_idle) {
    Collect *c = (Collect *)s;
    if (c->is_list) return;
    int64_t now = is_idle ? exec_now_ns(s->x) : 0;
    if (!is_idle || !c->idle_ns) c->idle_ns = now;
    if (is_idle && (c->is_at_edge || now - c->idle_ns > IDLE_NS)) stages_flush(s->x);
}

void collect_launched(Stage *s, JitEntry *e) {
    Collect *c = (Collect *)s;
    c->launches++;
    jit_launched(c->jit, e);
}

void collect_count(Stage *s, uint64_t fused_ops, uint64_t unstored, uint64_t bytes_saved,
                   uint64_t products) {
    Collect *c = (Collect *)s;
    c->products += products;
    c->fused_ops += fused_ops;
    c->unstored += unstored;
    c->bytes_saved += bytes_saved;
}

static void stats(const Stage *stage, Bytes *out) {
    const Collect *c = (const Collect *)stage;
    JitStats s = jit_stats(c->jit);
    MakerStats more = {0};
    if (c->maker) c->maker->ops->maker->stats(c->maker, &more);
    bytes_printf(out, "fused.launches=%llu\nfused.ops=%llu\nfused.eager_ops=%llu\n",
                 (unsigned long long)c->launches, (unsigned long long)c->fused_ops,
                 (unsigned long long)c->eager_ops);
    bytes_printf(out, "fused.unstored=%llu\nfused.bytes_saved=%llu\nfused.products=%llu\n",
                 (unsigned long long)c->unstored, (unsigned long long)c->bytes_saved,
                 (unsigned long long)c->products);
    bytes_printf(out, "jit.hits=%llu\njit.misses=%llu\njit.compiled=%llu\njit.cached=%llu\n",
                 (unsigned long long)s.hits, (unsigned long long)s.misses,
                 (unsigned long long)(s.compiled + more.compiled),
                 (unsigned long long)(s.cached + more.cached));
    bytes_printf(out, "jit.shipped=%llu\njit.pending=%llu\njit.failed=%llu\n",
                 (unsigned long long)s.shipped, (unsigned long long)s.pending,
                 (unsigned long long)(s.failed + more.failed));
    bytes_printf(out, "jit.compile_ms=%.0f\n", s.compile_ms + more.compile_ms);
}

/* ---- Gathering ---- */

/* True if the result has one element and the open fusion has more: then the fusion stays open. */
static bool is_aside(const Collect *c, const TensorType *type) {
    return c->n && type_numel(type) == 1 && type_numel(&c->fuse.space) > 1;
}

/* Makes j pending: it holds its operands; its result has a name, but no memory. */
static void promise(Collect *c, Job *j, const TensorType *type, JobKind kind) {
    Exec *x = c->stage.x;
    x->pending_of = j->frame->client;
    c->passed = 0;
    c->is_at_edge = false;
    for (int k = 0; k < j->n_held; k++) storage_ref(j->held[k])->users++;
    j->kind = (uint8_t)kind;
    j->state = JOB_WAITS;
    j->call.n_out = 1;
    Storage *st = storage_deferred(&x->store, j->frame->client->names, type_bytes(type), j);
    View *v = &j->call.out[0];
    v->type = *type;
    v->is_scalar = false;
    view_strides(type, v->stride);
    j->out[0] = st;
    storage_ref(st)->users++;
    exec_name(x, j, 0, st, type);
    j->frame->pending++;
}

/* True if it may pay off to keep the matmul j pending. */
static bool suits_waiting(const Exec *x, const Job *j, const TensorType *type) {
    const TensorType *a = &j->call.in[0].type;
    return x->ops->fused_product && type->dtype == DT_F32 && type->rank >= 2 && a->rank >= 2 &&
           type_numel(type) > 0;
}

/* Makes the matmul j the pending product. Returns false if it does not; then j's operands are
 * settled, or *poison is set. */
static bool add_product(Collect *c, Job *j, const TensorType *type, ErrCode *poison) {
    Exec *x = c->stage.x;
    const Client *client = j->frame->client;
    if (!stages_settle(x, j, poison)) return false;
    if (c->n || !suits_waiting(x, j, type)) return false;
    stages_flush(x); /* executes the previous product */
    if (!client_is_clear(client) || x->first || j->n_unstarted) return false;
    promise(c, j, type, JOB_PRODUCT);
    c->product = j;
    return true;
}

static FuseRef fit(Collect *c, int n, const Job *j, const TensorType *type) {
    return fit_job(&c->fuse, n, j, type, c->operand[n],
                   c->maker ? c->maker->ops->maker->fits : NULL);
}

/* Adds j to the open fusion or to a new one, or makes it the pending product. Returns false if it
 * does none of these. */
static bool add(Collect *c, Job *j, const TensorType *type, ErrCode *poison) {
    Exec *x = c->stage.x;
    const Client *client = j->frame->client;
    *poison = ERR_NONE;
    FuseRef r = FUSE_NONE;
    bool may = !c->is_off && (fit_is_kind(j->inst.op) || j->inst.op == OP_MATMUL) &&
               !client->checks_nan && client_is_clear(client) && !x->first && j->inst.n_out == 1 &&
               (c->is_auto || client->compiles);
    if (may && j->inst.op == OP_MATMUL) return add_product(c, j, type, poison);
    if (may && c->n < c->batch_max) r = fit(c, c->n, j, type);
    bool ends = may && !fit_is_source(j->inst.op) && !is_aside(c, type);
    if (r == FUSE_NONE && (job_reads_pending(j) || (c->n && ends))) {
        if (!stages_settle(x, j, poison)) return false;
        stages_flush(x);
        if (may && client_is_clear(client) && !x->first) r = fit(c, 0, j, type);
    }
    if (r == FUSE_NONE) return false;
    assert(r == c->n);
    c->job[c->n++] = j;
    c->uses[r] = 0;
    c->is_soon |= client->compiles;
    j->node = r;
    for (int k = 0; k < j->n_held; k++)
        if (fit_is_pending(j->held[k])) c->uses[j->held[k]->maker->node]++;
    promise(c, j, type, JOB_PENDING);
    return true;
}

static bool take(Stage *s, Job *j, const TensorType *type, ErrCode *poison) {
    Collect *c = (Collect *)s;
    if (add(c, j, type, poison)) return true;
    if (*poison) return false;
    c->is_at_edge = false; /* j is issued, and the fusion stays open */
    if (s->x->pending_of && ++c->passed > FUSE_NODES) stages_flush(s->x);
    return false;
}

/* ---- Executing ---- */

static bool fill(Exec *x, Storage *st) {
    while (!storage_fill(&x->store, st)) {
        if (!x->first) return false;
        exec_retire(x, true);
    }
    return true;
}

/* Moves the memory of `from`, which nothing else uses, to `to`. */
static void take_memory(Storage *to, Storage *from) {
    to->data = from->data;
    from->data = NULL;
}

/* Counts the references of pending jobs to a storage. */
static uint32_t held_here(const Collect *c, const Storage *st) {
    uint32_t n = 0;
    for (int i = 0; i < c->n; i++) {
        n += c->job[i]->out[0] == st;
        for (int k = 0; k < c->job[i]->n_held; k++) n += c->job[i]->held[k] == st;
    }
    return n;
}
/* True if something other than pending jobs may read the result of node i. */
static bool is_wanted(const Collect *c, int i) {
    return c->job[i]->out[0]->refs > 1 + (uint32_t)c->uses[i];
}

/* Returns the storage of input k of the fusion if this fusion is its last reader, else NULL. */
static Storage *dying_input(const Collect *c, int k, const Storage *out) {
    const View *v = &c->fuse.input[k];
    Storage *st = NULL;
    for (int i = 0; i < c->n && !st; i++)
        for (int h = 0; h < c->job[i]->n_held; h++)
            if (c->operand[i][h] == FUSE_INPUT + k) st = c->job[i]->held[h];
    if (!st || st->bytes != out->bytes || !storage_may_give(st, v, held_here(c, st)) ||
        !fit_is_space(&c->fuse, &v->type))
        return NULL;
    for (int o = 0; o < c->fuse.n_inputs; o++) {
        const char *p = c->fuse.input[o].data;
        if (o != k && p >= (char *)st->data && p < (char *)st->data + st->bytes) return NULL;
    }
    return st;
}

/* With an ordered engine: makes room for the slots that the fusion needs. Returns false if it
 * cannot run as a kernel: an operand turned out to be poisoned. */
static bool prepare_late(Collect *c) {
    Exec *x = c->stage.x;
    int n = 0;
    for (int i = 0; i < c->n; i++) n += op_has(c->job[i]->inst.op, FACT_FAILS);
    doubt_reserve(x, n);
    for (int i = c->product ? -1 : 0; i < c->n; i++) {
        const Job *j = i < 0 ? c->product : c->job[i];
        for (int k = 0; k < j->n_held; k++)
            if (j->held[k]->poison) return false;
    }
    return true;
}

static void make_source(void *ctx, Bytes *out) { emit_fusion(out, ctx); }

/* Requests the kernel of the fusion. Returns it if it is ready. */
static const FusedKernel *want(Collect *c) {
    Fusion *f = &c->fuse;
    const Maker *maker = c->maker ? c->maker->ops->maker : NULL;
    const FusedKernel *k = jit_kernel(c->entry);
    if (k) return k;
    Exec *x = c->stage.x;
    uint64_t began = maker ? watch_tick(x) : 0;
    exec_begin_call(x, x->pending_of, c->job[0]->seq);
    jit_want(c->jit, c->entry, f->hash, maker ? maker->source : make_source, f, c->is_soon);
    exec_end_call(x);
    if (!maker) return NULL;
    exec_watch_waited(x, began, IDLE_COMPILE);
    return jit_kernel(c->entry);
}

static bool is_worth(const Collect *c) {
    return c->maker ? c->maker->ops->maker->pays(c->maker, &c->fuse) : fuse_is_worth(&c->fuse);
}

static bool is_lucky(Collect *c) {
    c->luck = c->luck * UINT64_C(6364136223846793005) + 1442695040888963407; /* Knuth's */
    return c->luck >> 63;
}

/* A bad index must be reported even if nothing reads the result. So nodes that may fail and are not
 * read are stored. Returns false if there are too many outputs. */
static bool store_unread(Fusion *f) {
    bool is_read[FUSE_NODES] = {0};
    for (int i = f->n_nodes; i-- > 0;) {
        const FuseNode *n = &f->node[i];
        if (op_has((Op)n->op, FACT_FAILS) && !is_read[i] && !n->is_stored && !fuse_store(f, i))
            return false;
        for (int k = 0; k < n->n_in && (is_read[i] || n->is_stored); k++)
            if (fuse_is_node(n->in[k])) is_read[n->in[k]] = true;
    }
    return true;
}

/* Returns the kernel if the fusion is to run as one. Else returns NULL and sets c->why. */
static const FusedKernel *chosen_kernel(Collect *c) {
    Fusion *f = &c->fuse;
    c->why = "a single operation";
    if (c->n < 2 && !c->product) return NULL;
    c->why = "more results than a kernel can have";
    for (int i = 0; i < c->n; i++)
        if (is_wanted(c, i) && !fuse_store(f, i)) return NULL;
    if (!store_unread(f)) return NULL;
    c->why = "no result is used, or its rows are too long";
    if (!fuse_done(f)) return NULL;
    c->why = "rows too short or too strided: one kernel would not pay off";
    if (!is_worth(c)) return NULL;
    c->why = "an operand is poisoned";
    if (c->stage.x->marks && !prepare_late(c)) return NULL;
    c->why = "no kernel yet";
    c->entry = jit_entry(c->jit, f->signature, f->signature_bytes, f->hash);
    if (!c->entry) return NULL;
    c->kernel = jit_number(c->entry);
    const FusedKernel *k = want(c);
    if (c->waits || c->is_list) {
        uint64_t began = watch_tick(c->stage.x);
        if (!k && jit_wait(c->jit, -1)) k = jit_kernel(c->entry);
        exec_watch_waited(c->stage.x, began, IDLE_COMPILE);
        return k;
    }
    if (c->luck) return is_lucky(c) ? k : NULL;
    const View *a = c->product ? &c->product->call.in[0] : NULL; /* (.., M, K) */
    c->has_product = a != NULL;
    c->trial = choice_trial(jit_choice(c->entry), type_numel(&f->space),
                            a ? a->type.shape[a->type.rank - 1] : 0);
    if (k && c->stage.x->marks) return k; /* the engine's time is not seen here */
    c->is_timed = true;
    Way way = k ? choice_way(c->trial, &c->is_timed) : WAY_EAGER;
    if (!k) c->is_off = jit_is_off(c->jit);
    if (k && way == WAY_EAGER) c->why = "measured: not faster than one by one";
    if (c->is_timed) c->begin_ns = c->alone_ns = exec_now_ns(c->stage.x);
    return way == WAY_FUSED ? k : NULL;
}

bool collect_has_news(const CollectTrial *t) {
    if (!t->has_kernel) return jit_kernel(t->entry) || !jit_is_requested(t->entry);
    if (t->trial->size != t->size) return true;
    Way way = t->is_fused ? WAY_FUSED : WAY_EAGER;
    return t->trial->is_decided || t->trial->n[way] >= CHOICE_TRIALS;
}

void collect_report(Stage *s, const CollectTrial *t, int64_t ns, int64_t alone_ns) {
    const Collect *c = (const Collect *)s;
    Way way = t->is_fused ? WAY_FUSED : WAY_EAGER;
    if (t->trial->size == t->size) choice_report(t->trial, way, t->elements, ns);
    if (!t->is_fused) jit_lost(c->jit, t->entry, (int64_t)((double)alone_ns * t->gain));
}

/* If the run was timed, reports the time to choice_report and the trial to the observer. begin,
 * alone: Observer.n_steps before the fusion and after its product. */
static void report_time(Collect *c, bool is_fused, int begin, int alone) {
    if (!c->is_timed) return;
    Observer *o = c->stage.x->observer;
    CollectTrial t = {.entry = c->entry,
                      .trial = c->trial,
                      .size = c->trial->size,
                      .is_fused = is_fused,
                      .has_kernel = jit_kernel(c->entry) != NULL,
                      .elements = type_numel(&c->fuse.space),
                      .gain = fuse_gain(&c->fuse, c->has_product)};
    int64_t now = exec_now_ns(c->stage.x);
    collect_report(&c->stage, &t, now - c->begin_ns, now - c->alone_ns);
    if (o) o->saw_trial(o, begin, alone, &t);
}

/* Returns the input of the fusion that is the result of the pending product, if the fusion's
 * space has as many elements; else -1. */
static int product_input(const Collect *c) {
    const Storage *t = c->product ? c->product->out[0] : NULL;
    if (!t || !c->n || type_numel(&c->fuse.space) != type_numel(&c->product->call.out[0].type))
        return -1;
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < c->job[i]->n_held; k++)
            if (c->job[i]->held[k] == t) return c->operand[i][k] - FUSE_INPUT;
    return -1;
}

/* Returns where to write the product; NULL if there is no memory. If only the fusion reads the
 * product, it may lie in the memory of a result, which then overwrites it. from: for each node, the
 * input whose memory its result has taken, or NULL. */
static char *place_product(const Collect *c, const FusedKernel *k, int input,
                           Storage *const *from) {
    Storage *t = c->product->out[0];
    bool is_read_elsewhere = t->refs > 1 + held_here(c, t);
    for (int i = 0; i < c->n && !is_read_elsewhere; i++) {
        const FuseNode *n = &c->fuse.node[i];
        const Storage *st = c->job[i]->out[0];
        if (n->is_stored && !from[i] && st->bytes == t->bytes && k->reuse[n->output] >> input & 1)
            return st->data;
    }
    return fill(c->stage.x, t) ? t->data : NULL;
}

/* Runs the product and the fusion, whose outputs have memory. */
static bool run_with_product(Collect *c, const FusedKernel *k, Storage *const *from) {
    Exec *x = c->stage.x;
    int input = product_input(c);
    char *at = place_product(c, k, input, from);
    if (!at) return false;
    c->product->call.out[0].data = at;
    c->fuse.args.in[input] = at;
    Storage *t = c->product->out[0];
    if (exec_fused(x, x->pending_of, c->product->seq, &c->product->call, &c->fuse, k)) {
        if (t->data) storage_note(t, FILLED_ALONE, OP_MATMUL, 0);
        return true;
    }
    if (t->data) storage_empty(&x->store, t);
    return false;
}

/* Lists the operations of the kernel that was called, its product first. Returns how many. */
static int kernel_jobs(const Collect *c, Job *job[FUSE_NODES + 1], bool is_stored[FUSE_NODES + 1]) {
    int n = 0;
    if (c->product) {
        is_stored[n] = c->product->out[0]->data != NULL;
        job[n++] = c->product;
    }
    for (int i = 0; i < c->n; i++) {
        is_stored[n] = c->fuse.node[i].is_stored;
        job[n++] = c->job[i];
    }
    return n;
}

/* Returns the operation with the most work (exec_work), the last of equals. The tools name and
 * classify the kernel by it. */
static const Job *heaviest(const Collect *c) {
    const Job *best = c->product ? c->product : c->job[0];
    double most = exec_work(&best->call);
    for (int i = !c->product; i < c->n; i++) {
        double work = exec_work(&c->job[i]->call);
        if (work >= most) best = c->job[i], most = work;
    }
    return best;
}

/* Tells those that watch (row), the client's profile and the observer of the kernel that was
 * called. */
static void report_kernel(const Collect *c, const FusedKernel *k, const Job *heaviest,
                          WatchRow *row) {
    const Exec *x = c->stage.x;
    Profile *p = x->pending_of->profile;
    Job *job[FUSE_NODES + 1];
    bool is_stored[FUSE_NODES + 1];
    ProfileShare share[FUSE_NODES + 1];
    int n = kernel_jobs(c, job, is_stored);
    row->kind = TIME_FUSED;
    row->op = (uint16_t)heaviest->inst.op;
    row->from = heaviest->inst.out[0];
    row->bytes = 0;
    for (int i = 0; i < n; i++)
        if (is_stored[i]) row->bytes += job[i]->out[0]->bytes;
    if (p) {
        profile_shares(p, job, is_stored, n, share);
        profile_add_shares(p, share, n, row->end - row->begin);
    }
    if (x->observer)
        x->observer->saw_fusion(x->observer, &(FusionRun){&c->fuse, c->entry, k, c->job, c->n,
                                                          c->operand, c->product, product_input(c),
                                                          job, is_stored, n, heaviest, row->bytes});
}

/* Hashes the results that are stored. */
static void hash_fusion(Collect *c) {
    if (c->product) hash_results(c->stage.x, c->product);
    for (int i = 0; i < c->n; i++)
        if (c->fuse.node[i].is_stored) hash_results(c->stage.x, c->job[i]);
}

/* Gives memory to each stored result: that of an input whose last reader is this fusion, or new
 * memory. Sets from[i] to the input whose memory node i has. Returns false if there is too little.
 */
static bool fill_results(Collect *c, const FusedKernel *k, Storage *from[FUSE_NODES]) {
    Fusion *f = &c->fuse;
    uint32_t taken = 0;
    for (int i = 0; i < c->n; i++) {
        if (!f->node[i].is_stored) continue;
        Storage *st = c->job[i]->out[0];
        uint32_t over = k->reuse[f->node[i].output] & ~taken;
        for (int in = 0; over && in < f->n_inputs && !from[i]; in++) {
            if (!(over >> in & 1) || !(from[i] = dying_input(c, in, st))) continue;
            taken |= UINT32_C(1) << in;
        }
        if (from[i])
            take_memory(st, from[i]);
        else if (!fill(c->stage.x, st))
            return false;
        f->args.out[f->node[i].output] = st->data;
    }
    return true;
}

/* After a failure: gives the inputs their memory back. */
static void empty_results(Collect *c, Storage *from[FUSE_NODES]) {
    for (int i = 0; i < c->n; i++) {
        Storage *st = c->job[i]->out[0];
        if (from[i])
            take_memory(from[i], st);
        else if (st->data)
            storage_empty(&c->stage.x->store, st);
    }
}

static void count_fusion(Collect *c) {
    collect_launched(&c->stage, c->entry);
    c->fused_ops += (uint64_t)c->n;
    if (c->product) {
        c->products++;
        if (!c->product->out[0]->data) c->unstored++, c->bytes_saved += c->product->out[0]->bytes;
    }
    for (int i = 0; i < c->n; i++) {
        if (c->fuse.node[i].is_stored) {
            storage_note(c->job[i]->out[0], FILLED_FUSED, c->job[i]->inst.op, c->kernel);
            continue;
        }
        c->unstored++;
        c->bytes_saved += 2 * c->job[i]->out[0]->bytes;
    }
    c->stage.x->kernels++;
    c->stage.x->pending_of->kernels++;
}

/* With an ordered engine: the results get doubt (mark.h), and the call is counted. */
static void pass_doubt(Collect *c) {
    Exec *x = c->stage.x;
    double work = 0;
    if (c->product) doubt_result(x, c->product, 0, false), work += exec_work(&c->product->call);
    for (int i = 0; i < c->n; i++) {
        doubt_result(x, c->job[i], i, false);
        work += exec_work(&c->job[i]->call);
    }
    marks_count(x, work);
}

static bool run_fused(Collect *c) {
    Exec *x = c->stage.x;
    const FusedKernel *k = chosen_kernel(c);
    if (!k) return false;
    c->why = "not enough memory right now";
    Storage *from[FUSE_NODES] = {0};
    bool ok = fill_results(c, k, from);
    Job *last = c->job[c->n - 1]; /* a monitor sees one launch */
    const Job *main = heaviest(c);
    watch_begin(x, last);
    x->watch->running_op = (uint16_t)main->inst.op;
    ok = ok && (c->product ? run_with_product(c, k, from)
                           : exec_fused(x, x->pending_of, c->job[0]->seq, NULL, &c->fuse, k));
    if (!ok) {
        empty_results(c, from);
        c->is_timed = false; /* the clock started before the failure: the time would be too long */
        return false;
    }
    WatchRow *row = watch_row_of(x, last, 0);
    if (x->marks) pass_doubt(c);
    if (x->hashing) hash_fusion(c);
    c->why = NULL;
    count_fusion(c);
    report_kernel(c, k, main, row);
    return true;
}

static void let_go(Exec *x, Storage *st) {
    st->users--;
    storage_unref(&x->store, st);
}
static void let_job_go(Exec *x, Job *j) {
    Frame *f = j->frame;
    if (j->out[0]->maker == j) j->out[0]->maker = NULL;
    let_go(x, j->out[0]);
    for (int k = 0; k < j->n_held; k++) let_go(x, j->held[k]);
    f->pending--;
    cell_put(&x->jobs, j);
    exec_frame_done(x, f);
}

/* Gives the result of job i memory: that of an operand that nothing else uses, or new memory. */
static bool fill_result(Collect *c, int i) {
    Job *j = c->job[i];
    Storage *out = j->out[0];
    int k = exec_ending_operand(j, &j->call.out[0].type, NULL);
    if (k >= 0) {
        take_memory(out, j->held[k]);
        return true;
    }
    return fill(c->stage.x, out);
}

static void submit(Collect *c, Job *j) {
    Exec *x = c->stage.x;
    Err err;
    j->call.out[0].data = j->out[0]->data;
    if (x->marks && op_has(j->inst.op, FACT_FAILS)) doubt_reserve(x, 1);
    watch_begin(x, j);
    if (x->observer) x->observer->saw_call(x->observer, j);
    j->ticket = exec_call(x, j->frame->client, j->seq, &j->call, NULL, 0);
    if (x->ops->done(x->engine, j->ticket, true, &err) < 0) {
        exec_call_failed(x, j, &err);
        exec_report_apart(x, j);
        j->out[0]->poison = err.code ? err.code : ERR_INTERNAL;
    } else if (x->marks) {
        doubt_result(x, j, 0, false);
        marks_count(x, exec_work(&j->call));
    }
    watch_done(x, j, 0);
    hash_done(x, j);
    storage_note(j->out[0], c->n > 1 ? FILLED_IN_TURN : FILLED_ALONE, j->inst.op, c->kernel);
    x->kernels++;
    j->frame->client->kernels++;
    c->eager_ops++;
}

/* Puts j into the client's queue, where it waits for memory. The data of its operand views are
 * addresses. */
static void adopt(Exec *x, Job *j) {
    j->kind = JOB_CALL;
    queue_adopt(x, j);
    let_go(x, j->out[0]);
    for (int k = 0; k < j->n_held; k++) let_go(x, j->held[k]);
    j->frame->pending--; /* the queue counts it now */
}

/* Runs the product alone; the fusion's jobs then read its result. */
static void run_product(Collect *c) {
    Exec *x = c->stage.x;
    Job *p = c->product;
    Storage *t = p->out[0];
    c->product = NULL;
    for (int k = 0; k < p->n_held && !t->poison; k++) t->poison = p->held[k]->poison;
    if (t->refs > 1 && !t->poison) { /* else nothing can read the product */
        const char *before = storage_base(t);
        if (!fill(x, t)) {
            adopt(x, p);
            return;
        }
        submit(c, p);
        for (int i = 0; i < c->n; i++) {
            Job *j = c->job[i];
            for (int k = 0, a = 0; a < j->call.n_in; a++) {
                View *v = &j->call.in[a];
                if (v->is_scalar || j->held[k++] != t) continue;
                v->data = (char *)t->data + ((char *)v->data - before);
                FuseRef r = c->operand[i][k - 1];
                if (fuse_is_input(r)) c->fuse.input[r - FUSE_INPUT].data = v->data;
            }
        }
    }
    let_job_go(x, p);
}

static bool has_late(const Job *j) {
    for (int k = 0; k < j->n_held; k++)
        if (j->held[k]->maker) return true;
    return false;
}

/* Runs the jobs one by one, as if there were no fusions. */
static void run_eagerly(Collect *c) {
    Exec *x = c->stage.x;
    int n = c->n, i = 0;
    for (; i < n; i++) {
        Job *j = c->job[i];
        Storage *out = j->out[0];
        for (int k = 0, a = 0; a < j->call.n_in; a++) {
            if (j->call.in[a].is_scalar) continue;
            if (fuse_is_node(c->operand[i][k])) j->call.in[a].data = j->held[k]->data;
            k++;
        }
        if (has_late(j)) break; /* it reads the product, which waits for memory */
        for (int k = 0; k < j->n_held && !out->poison; k++) out->poison = j->held[k]->poison;
        /* with one reference, nothing can read the result */
        if ((out->refs > 1 || op_has(j->inst.op, FACT_FAILS)) && !out->poison) {
            if (!fill_result(c, i)) break;
            submit(c, j);
        }
        let_job_go(x, j);
    }
    if (i < n) c->is_timed = false;
    for (; i < n; i++) { /* no memory: they wait in the queue */
        Job *j = c->job[i];
        for (int k = 0, a = 0; a < j->call.n_in; a++) {
            if (j->call.in[a].is_scalar) continue;
            if (fuse_is_node(c->operand[i][k])) j->call.in[a].data = storage_base(j->held[k]);
            k++;
        }
        adopt(x, j);
    }
}

static const char *const states[] = {"seen", "asked", "compiled", "cached", "shipped", "failed"};

static void about(const Stage *s, uint32_t kernel, Bytes *out) {
    Jit *jit = ((const Collect *)s)->jit;
    JitAbout about;
    bool is_known = jit_about(jit, kernel, &about);
    const char *why = is_known ? about.why : jit_why_off(jit);
    if (why) bytes_printf(out, "why=%s\n", why);
    if (!is_known) return;
    bytes_printf(out, "state=%s\nhits=%llu\n", states[about.state], (unsigned long long)about.hits);
    if (about.key)
        bytes_printf(out, "key=%s\nfile=%s%s\nbytes=%llu\ncompile_ms=%.0f\nbatch=%d\n", about.key,
                     about.key, about.suffix, (unsigned long long)about.bytes, about.compile_ms,
                     about.batch);
    for (const char *line = about.source; line && *line;) {
        size_t n = strcspn(line, "\n");
        bytes_printf(out, "source=%.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

/* "w0 c1: sub exp sum div over [64,64]: compiled, 3f0c..", or "...: one by one: no kernel yet" */
static void log_fusion(const Collect *c) {
    const Exec *x = c->stage.x;
    const Fusion *f = &c->fuse;
    Bytes line = {0};
    bytes_printf(&line, "w%u c%u:%s", x->rank, x->pending_of->id, c->product ? " matmul" : "");
    for (int i = 0; i < c->n; i++) bytes_printf(&line, " %s", op_info[f->node[i].op].name);
    bytes_puts(&line, " over [");
    for (int d = 0; d < f->space.rank; d++)
        bytes_printf(&line, d ? ",%lld" : "%lld", (long long)f->space.shape[d]);
    bytes_puts(&line, c->why ? "]: one by one: " : "]: ");
    JitAbout about;
    if (c->why) bytes_puts(&line, c->why);
    if (jit_about(c->jit, c->kernel, &about))
        bytes_printf(&line, "%s%s%s%.32s%s%s", c->why ? ", " : "", states[about.state],
                     about.key ? " " : "", about.key ? about.key : "", about.why ? ": " : "",
                     about.why ? about.why : "");
    log_line("COMPILE", "%s", line.data);
    bytes_fini(&line);
}

static void flush(Stage *s) {
    Collect *c = (Collect *)s;
    Exec *x = s->x;
    const Observer *o = x->observer;
    c->entry = NULL;
    c->kernel = 0;
    c->is_timed = false;
    if (c->product && product_input(c) < 0) run_product(c);
    int begin = o ? o->n_steps : 0, alone = begin;
    bool is_fused = c->n && run_fused(c);
    if (log_is(LOG_COMPILE) && c->n + (c->product != NULL) > 1) log_fusion(c);
    for (int i = 0; is_fused && i < c->n; i++) let_job_go(x, c->job[i]);
    if (c->product && is_fused) {
        let_job_go(x, c->product);
        c->product = NULL;
    } else if (c->product) {
        run_product(c);
        alone = o ? o->n_steps : 0;
        if (c->is_timed) c->alone_ns = exec_now_ns(x);
    }
    if (!is_fused) run_eagerly(c);
    report_time(c, is_fused, begin, alone);
    c->n = 0;
    x->pending_of = NULL;
    c->idle_ns = 0;
    c->is_soon = false;
}

/* No kernel is unloaded that an ordered engine still has to run. */
static void before_eviction(void *ctx) {
    Exec *x = ((Collect *)ctx)->stage.x;
    if (x->marks) marks_settle(x);
}

Stage *collect_new(const EngineOps *ops, Engine *e) {
    const char *on = env_word("GT_FUSE");
    if (!strcmp(on, "0") || !ops->fused) return NULL;
    int64_t most = env_int("GT_WORKER_BATCH_SIZE");
    if (!env_is_on("GT_COMPILE") || most < 2) return NULL;
    Collect *c = xcalloc(1, sizeof *c);
    c->stage = (Stage){.take = take,
                       .flush = flush,
                       .edge = edge,
                       .idle = idle,
                       .compiled = compiled,
                       .about = about,
                       .stats = stats,
                       .free = free_stage};
    c->is_auto = env_is_on("GT_AUTO_COMPILE");
    c->batch_max = most < FUSE_NODES ? (int)most : FUSE_NODES;
    c->waits = !strcmp(on, "wait");
    const char *isa = strchr(ops->isa(e), '-'); /* "cpu-v4" */
    c->is_list = !strcmp(on, "list");
    JitConfig config = {.isa = isa ? isa + 1 : "base", .min_requests = 1, .is_list = c->is_list};
    config.engine = e;
    c->maker = ops->maker ? e : NULL;
    if (!strncmp(on, "luck:", 5)) c->luck = strtoull(on + 5, NULL, 10) | 1;
    if (!c->waits && !c->luck && !c->is_list)
        config.min_requests = MIN_REQUESTS, config.worth_ns = WORTH_NS;
    const char *save = getenv("GT_SAVE_COMPILED_CODE"); /* of all kernels */
    bool has_shipped = env_is_on("GT_SHIPPED_KERNELS") && !c->is_list && (!save || !*save);
    has_shipped &= !c->maker;
    char *shipped = has_shipped ? shipped_find(config.isa) : NULL;
    config.shipped = shipped;
    c->jit = jit_new(&config);
    free(shipped);
    jit_on_evict(c->jit, before_eviction, c);
    return &c->stage;
}
