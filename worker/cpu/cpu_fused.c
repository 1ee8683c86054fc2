/* cpu_fused.c: calls the kernel of a cluster (fuse.h) over the pool, in parts of fixed
 * boundaries; or behind a matmul, tile by tile. SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"
#include "worker/emit/fuse.h"

/* Parts of work that one thread does alone. What a cluster does to an element it does in registers,
 * several times faster than cost says, and who sent its instructions took as long and wants a core
 * too: to wake another one up for less makes both slower. */
enum { FUSED_ALONE = 4 };

typedef struct FusedRun {
    const FusedArgs *args;
    FusedFn fn;
    Pool *pool;
    size_t scratch_bytes;
    int64_t unit; /* elements in one of what run's range counts, after a matmul */
} FusedRun;

/* Of n items of `cost` each. */
static int64_t fused_part(int64_t n, int64_t cost) {
    return n <= FUSED_ALONE * (int64_t)CPU_PART / (cost < 1 ? 1 : cost) ? n : cpu_part(cost);
}

static void fused_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const FusedRun *r = ctx;
    char *scratch = r->scratch_bytes ? pool_scratch(r->pool, thread, r->scratch_bytes) : NULL;
    r->fn(r->args, begin, end, scratch);
}

/* Elements [begin, end) of the matmul that the cluster reads are there. */
static void product_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const FusedRun *r = ctx;
    fused_range(ctx, begin / r->unit, end / r->unit, thread);
}

bool cpu_fused_product(Engine *e, const Call *product, Fuse *f, const FusedKernel *k) {
    Cpu *c = (Cpu *)e;
    const View *out = &product->out[0];
    int rank = out->type.rank;
    int64_t n = f->args.n, N = rank ? out->type.shape[rank - 1] : 1;
    bool is_rows = k->unit == FUSED_ROWS;
    bool fits = k->unit == FUSED_ELEMENTS || (is_rows && n > 0 && N % n == 0);
    FusedRun r = {&f->args, k->run, c->pool, (size_t)fused_scratch(k, n), is_rows ? n : 1};
    int32_t bad = 0;
    f->args.bad = &bad;
    f->args.is_far = 0;
    Err err;
    bool is_told;
    bool ok = cpu_product(c, product, fits ? product_range : NULL, &r, &is_told, &err);
    cpu_free_sides(c);
    ok = ok && !pool_was_cut(c->pool);
    return ok && (is_told ? !bad : cpu_fused(e, f, k));
}

/* What goes through the caches and out of them: is what the kernel reads and writes more than
 * they hold, its outputs would only push out what is needed, and cost a reading of their lines
 * before that; and its inputs come sooner when they are asked for. Bits are the same. Not for an
 * output over an input, whose lines are there. */
static void set_far(const Cpu *c, Fuse *f, const FusedKernel *k) {
    enum { AHEAD_BYTES = 8192 };
    FusedArgs *a = &f->args;
    uint64_t bytes = 0, size = (uint64_t)(a->rows * a->n);
    bool is_rows = k->unit >= FUSED_ROWS;
    int64_t last = a->outer.rank - 1;
    a->is_far = is_rows ? a->n % FUSED_LINE == 0 : k->unit == FUSED_ELEMENTS;
    for (int i = 0; i < f->n_inputs; i++) {
        int64_t row = is_rows && last >= 0 ? a->outer.stride[i][last] : 0;
        bool is_along = is_rows ? row >= AHEAD_BYTES : f->lies[i] == LIES_DENSE;
        int64_t rows = k->unit == FUSED_LANES ? FUSED_LANE_COUNT : 1 + AHEAD_BYTES / 4 / a->n;
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

/* One row, or one lane, is what a thread does without asking whether it is to end early (pool_ask):
 * some tenths of a second at most. What is longer (a view may show far more than there is memory)
 * is done op by op. */
static bool is_endless(const Fuse *f, const FusedKernel *k) {
    enum { MOST = 1 << 28 };
    const FusedArgs *a = &f->args;
    if (k->unit == FUSED_ROWS) return a->n > MOST;
    return k->unit == FUSED_LANES &&
           a->n * ((a->rows + fused_lanes(a) - 1) / fused_lanes(a)) > MOST;
}

enum { ROWS_OF_PART = 64, WHOLE_LINES = 512 /* elements */ };
bool cpu_fused(Engine *e, Fuse *f, const FusedKernel *k) {
    Cpu *c = (Cpu *)e;
    FusedArgs *a = &f->args;
    int32_t bad = 0; /* then it is done op by op, which says what is wrong */
    a->bad = &bad;
    if (is_endless(f, k)) return false;
    set_far(c, f, k);
    FusedRun r = {a, k->run, c->pool, (size_t)fused_scratch(k, a->n), 0};
    int64_t cost = 1 + k->cost / 4; /* of an element, in those of a plain kernel */
    if (k->unit == FUSED_ELEMENTS) {
        /* Parts begin where cache lines do, whatever the dtype, and only the last has a rest. */
        int64_t part = fused_part(a->n, cost);
        cpu_ranges(c, a->n, (part + WHOLE_LINES - 1) / WHOLE_LINES * WHOLE_LINES, fused_range, &r);
        return !bad && !pool_was_cut(c->pool);
    }
    if (k->unit == FUSED_ROWS) {
        /* Each part begins and ends with passes that have no row: some rows to a part. */
        int64_t part = fused_part(a->rows, cost * a->n),
                share = a->rows / pool_threads(c->pool) / 4;
        int64_t many = share < ROWS_OF_PART ? share : ROWS_OF_PART;
        cpu_ranges(c, a->rows, part < many ? many : part, fused_range, &r);
        return !bad && !pool_was_cut(c->pool);
    }
    bool is_lanes = k->unit == FUSED_LANES;
    uint64_t table_bytes = (uint64_t)(is_lanes ? fused_table(a, k->columns, k->totals)
                                               : 8 * k->reductions * a->rows * a->blocks);
    a->table = mem_alloc(c->mem, table_bytes);
    if (!a->table) return false;
    if (is_lanes) {
        int64_t lanes = fused_lanes(a), rows = (a->rows + lanes - 1) / lanes; /* of a lane */
        /* Lanes side by side are rows side by side: some of them to a part, if all have work. */
        int64_t part = fused_part(lanes, (cost + k->columns) * a->n * rows);
        int64_t share = lanes / pool_threads(c->pool);
        int64_t wide = share < 4 ? share : 4;
        cpu_ranges(c, lanes, part < wide ? wide : part, fused_range, &r);
        r.fn = k->finish;
        cpu_ranges(c, a->n, cpu_part(lanes * (k->columns + k->totals)), fused_range, &r);
    } else {
        int64_t block = a->n < FUSED_BLOCK ? a->n : FUSED_BLOCK;
        cpu_ranges(c, a->rows * a->blocks, fused_part(a->rows * a->blocks, cost * block),
                   fused_range, &r);
        r.fn = k->finish;
        cpu_ranges(c, a->rows, cpu_part(a->blocks + 4), fused_range, &r);
    }
    mem_release(c->mem, a->table, table_bytes);
    return !bad && !pool_was_cut(c->pool);
}
