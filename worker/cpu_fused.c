/* cpu_fused.c: calls the kernel of a cluster (fuse.h) over the pool, in parts of fixed boundaries.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu.h"
#include "worker/fuse.h"

typedef struct FusedRun {
    const FusedArgs *args;
    FusedFn fn;
    Pool *pool;
    size_t scratch_bytes;
} FusedRun;

static void fused_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const FusedRun *r = ctx;
    char *scratch = r->scratch_bytes ? pool_scratch(r->pool, thread, r->scratch_bytes) : NULL;
    r->fn(r->args, begin, end, scratch);
}

bool cpu_fused(Engine *e, Fuse *f, const FusedKernel *k) {
    Cpu *c = (Cpu *)e;
    FusedArgs *a = &f->args;
    int32_t bad = 0; /* then it is done op by op, which says what is wrong */
    a->bad = &bad;
    FusedRun r = {a, k->run, c->pool, (size_t)fused_scratch(k, a->n)};
    int64_t cost = 1 + k->cost / 4; /* of an element, in those of a plain kernel */
    if (k->unit == FUSED_ELEMENTS) {
        cpu_ranges(c, a->n, cpu_part(cost), fused_range, &r);
        return !bad;
    }
    if (k->unit == FUSED_ROWS) {
        cpu_ranges(c, a->rows, cpu_part(cost * a->n), fused_range, &r);
        return !bad;
    }
    bool is_lanes = k->unit == FUSED_LANES;
    uint64_t table_bytes = (uint64_t)(is_lanes ? fused_table(a, k->columns, k->totals)
                                               : 8 * k->reductions * a->rows * a->blocks);
    a->table = mem_alloc(c->mem, table_bytes);
    if (!a->table) return false;
    if (is_lanes) {
        int64_t lanes = fused_lanes(a), rows = (a->rows + lanes - 1) / lanes; /* of a lane */
        cpu_ranges(c, lanes, cpu_part((cost + k->columns) * a->n * rows), fused_range, &r);
        r.fn = k->finish;
        cpu_ranges(c, a->n, cpu_part(lanes * (k->columns + k->totals)), fused_range, &r);
    } else {
        int64_t block = a->n < FUSED_BLOCK ? a->n : FUSED_BLOCK;
        cpu_ranges(c, a->rows * a->blocks, cpu_part(cost * block), fused_range, &r);
        r.fn = k->finish;
        cpu_ranges(c, a->rows, cpu_part(a->blocks + 4), fused_range, &r);
    }
    mem_release(c->mem, a->table, table_bytes);
    return !bad;
}
