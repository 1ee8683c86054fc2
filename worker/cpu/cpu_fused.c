/* cpu_fused.c: runs the kernel of a fusion (fuse.h) on the pool, in parts of fixed boundaries, or
 * after a matmul, tile by tile.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"
#include "worker/emit/fuse.h"

/* The parts below which one thread does all the work. A fusion computes in registers, several
 * times faster than its cost suggests. The client that sends its instructions takes as long and
 * needs a core too. Waking another thread for less work makes both slower. */
enum { FUSED_ALONE = 4 };

typedef struct FusedRun {
    const FusedArgs *args;
    FusedFn fn;
    Pool *pool;
    size_t scratch_bytes;
    int64_t unit; /* after a matmul: elements per unit of run's range */
} FusedRun;

/* Returns the items per part, of n items of `cost` each. */
static int64_t fused_part(int64_t n, int64_t cost) {
    return n <= FUSED_ALONE * (int64_t)CPU_PART / (cost < 1 ? 1 : cost) ? n : cpu_part(cost);
}

static void fused_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const FusedRun *r = ctx;
    char *scratch = r->scratch_bytes ? pool_scratch(r->pool, thread, r->scratch_bytes) : NULL;
    r->fn(r->args, begin, end, scratch);
}

/* Runs the kernel on elements [begin, end) of the matmul's result, which are computed. */
static void product_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const FusedRun *r = ctx;
    fused_range(ctx, begin / r->unit, end / r->unit, thread);
}

bool cpu_fused_product(Engine *e, const Call *product, Fusion *f, const FusedKernel *k) {
    Cpu *c = (Cpu *)e;
    const View *out = &product->out[0];
    int rank = out->type.rank;
    int64_t n = f->args.n, N = rank ? out->type.shape[rank - 1] : 1;
    bool is_rows = k->unit == FUSED_ROWS;
    bool fits = k->unit == FUSED_ELEMENTS || (is_rows && n > 0 && N % n == 0);
    FusedRun r = {&f->args, k->run, c->pool, (size_t)fused_scratch(k, n), is_rows ? n : 1};
    fuse_clear_bad(f);
    f->args.is_far = 0;
    Err err;
    bool was_called;
    bool ok = cpu_product(c, product, fits ? product_range : NULL, &r, &was_called, &err);
    cpu_free_sides(c);
    ok = ok && !pool_was_cancelled(c->pool);
    return ok && (was_called ? !fuse_is_bad(f) : cpu_fused(e, f, k));
}

/* Sets is_far and `ahead`. If the kernel reads and writes more than the caches hold, cached outputs
 * would only evict useful lines, and each line would be read before it is written; and prefetched
 * inputs arrive sooner. The bits are the same. Not for an output over an input, whose lines are
 * cached. */
static void set_far(const Cpu *c, Fusion *f, const FusedKernel *k) {
    enum { AHEAD_BYTES = 8192 };
    FusedArgs *a = &f->args;
    uint64_t bytes = 0, size = (uint64_t)(a->rows * a->n);
    bool is_rows = k->unit >= FUSED_ROWS;
    int64_t last = a->outer.rank - 1;
    a->is_far = is_rows ? a->n % FUSED_LINE == 0 : k->unit == FUSED_ELEMENTS;
    for (int i = 0; i < f->n_inputs; i++) {
        int64_t row = is_rows && last >= 0 ? a->outer.stride[i][last] : 0;
        bool is_along = is_rows ? row >= AHEAD_BYTES : f->stride_kind[i] == STRIDE_ONE;
        int64_t rows = 1 + AHEAD_BYTES / 4 / a->n;
        a->ahead[i] = is_along ? AHEAD_BYTES : rows * row;
        if (a->ahead[i]) bytes += size * (uint64_t)dtype_info[f->input[i].type.dtype].size_bytes;
    }
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (!n->is_stored || n->is_row || n->is_column) continue;
        const char *to = a->out[n->output];
        bytes += size * (uint64_t)dtype_info[n->dtype].size_bytes;
        a->is_far &= (uintptr_t)to % FUSED_LINE == 0;
        for (int j = 0; j < f->n_inputs; j++) a->is_far &= to != a->in[j];
    }
    a->is_far &= bytes / 3 > c->cache_bytes / 4;
}

/* A thread computes one row, or one leaf, without checking pool_is_cancelled: some tenths of a
 * second at most. A longer one (a view may show far more than there is memory) runs op by op. */
static bool is_endless(const Fusion *f, const FusedKernel *k) {
    enum { MOST = 1 << 28 };
    const FusedArgs *a = &f->args;
    if (k->unit == FUSED_ROWS) return a->n > MOST;
    return k->unit == FUSED_LEAVES && a->n * FUSED_LEAF > MOST;
}

enum { ROWS_OF_PART = 64, WHOLE_LINES = 512 /* elements */ };
bool cpu_fused(Engine *e, Fusion *f, const FusedKernel *k) {
    Cpu *c = (Cpu *)e;
    FusedArgs *a = &f->args;
    fuse_clear_bad(f); /* if one is bad, it runs again op by op, which reports the index */
    if (is_endless(f, k)) return false;
    set_far(c, f, k);
    FusedRun r = {a, k->run, c->pool, (size_t)fused_scratch(k, a->n), 0};
    int64_t cost = 1 + k->cost / 4; /* of an element, relative to a plain kernel */
    if (k->unit == FUSED_ELEMENTS) {
        /* Parts begin at cache lines, whatever the dtype, and only the last has a remainder. */
        int64_t part = fused_part(a->n, cost);
        cpu_ranges(c, a->n, (part + WHOLE_LINES - 1) / WHOLE_LINES * WHOLE_LINES, fused_range, &r);
        return !fuse_is_bad(f) && !pool_was_cancelled(c->pool);
    }
    if (k->unit == FUSED_ROWS) {
        /* Each part begins and ends with passes that have no row, so a part has several rows. */
        int64_t part = fused_part(a->rows, cost * a->n),
                share = a->rows / pool_threads(c->pool) / 4;
        int64_t many = share < ROWS_OF_PART ? share : ROWS_OF_PART;
        cpu_ranges(c, a->rows, part < many ? many : part, fused_range, &r);
        return !fuse_is_bad(f) && !pool_was_cancelled(c->pool);
    }
    bool has_leaves = k->unit == FUSED_LEAVES;
    uint64_t table_bytes = (uint64_t)(has_leaves ? fused_table(a, k->columns, k->totals)
                                                 : 8 * k->reductions * a->rows * a->blocks);
    a->table = mem_alloc(c->host.mem, table_bytes);
    if (!a->table) return false;
    if (has_leaves) {
        int64_t leaves = fused_leaves(a);
        /* Several leaves, whose rows are adjacent, if all threads still have work. */
        int64_t part = fused_part(leaves, (cost + k->columns) * a->n * FUSED_LEAF);
        int64_t share = leaves / pool_threads(c->pool) / 4;
        cpu_ranges(c, leaves, part < share ? share : part, fused_range, &r);
        r.fn = k->finish;
        cpu_ranges(c, a->n, cpu_part(leaves * (k->columns + k->totals)), fused_range, &r);
    } else {
        int64_t block = a->n < FUSED_BLOCK ? a->n : FUSED_BLOCK;
        cpu_ranges(c, a->rows * a->blocks, fused_part(a->rows * a->blocks, cost * block),
                   fused_range, &r);
        r.fn = k->finish;
        cpu_ranges(c, a->rows, cpu_part(a->blocks + 4), fused_range, &r);
    }
    mem_release(c->host.mem, a->table, table_bytes);
    return !fuse_is_bad(f) && !pool_was_cancelled(c->pool);
}
