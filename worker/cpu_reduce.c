/* cpu_reduce.c: REDUCE rows, in the order that is the same for every engine and thread count: the
 * reduced axes give each element of a result its logical index; blocks of 4096, in each 16 lanes by
 * index mod 16, lanes and then blocks combined by binary trees (kernels.h). Work is cut into tiles
 * of results times blocks; when there are several blocks, each leaves its value in a table, whose
 * rows are combined last. SPDX-License-Identifier: MIT */
#include "worker/cpu.h"
#include "worker/emit.h"
#include <string.h>

typedef struct ReduceRun {
    Loop kept, reduced; /* one operand: the input */
    ReduceFn fn;
    const char *x;
    int size, acc_size;
    char *to; /* (blocks, results) accumulators */
    int64_t blocks;
    int64_t width; /* results of a tile: side by side along the innermost kept axis */
    int64_t tiles_per_line;
    bool gathers; /* elements of a block are first laid side by side */
    Pool *pool;
} ReduceRun;

/* Results [first, first + width) of one line of the innermost kept axis, one block of each. */
static void reduce_tile(const ReduceRun *r, int64_t line, int64_t first, int64_t width,
                        int64_t block, int thread) {
    int64_t length = r->kept.rank ? r->kept.shape[r->kept.rank - 1] : 1;
    int64_t step = r->kept.rank ? r->kept.stride[0][r->kept.rank - 1] : 0;
    int64_t result = line * length + first;
    const char *x = r->x + loop_offset(&r->kept, 0, result) * r->size;
    char *to = r->to + (block * r->kept.n + result) * r->acc_size;
    int64_t begin = block * REDUCE_BLOCK, n = r->reduced.n - begin;
    if (n > REDUCE_BLOCK) n = REDUCE_BLOCK;
    if (!r->gathers) {
        int64_t stride = r->reduced.rank ? r->reduced.stride[0][0] : 1;
        r->fn(n, width, x + begin * stride * r->size, stride, step, to);
        return;
    }
    char *side = pool_scratch(r->pool, thread, (size_t)(n * r->size));
    for (int64_t i = 0; i < width; i++) {
        loop_gather(&r->reduced, 0, x + i * step * r->size, r->size, begin, begin + n, side);
        r->fn(n, 1, side, 1, 0, to + i * r->acc_size);
    }
}

static void reduce_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const ReduceRun *r = ctx;
    int64_t length = r->kept.rank ? r->kept.shape[r->kept.rank - 1] : 1;
    for (int64_t t = begin; t < end; t++) {
        int64_t block = t % r->blocks, tile = t / r->blocks;
        int64_t line = tile / r->tiles_per_line, first = tile % r->tiles_per_line * r->width;
        int64_t width = length - first < r->width ? length - first : r->width;
        reduce_tile(r, line, first, width, block, thread);
    }
}

/* Splits the axes of x into kept and reduced, each as a loop over x. */
static void split_axes(const Call *call, Loop *kept, Loop *reduced) {
    const View *x = &call->in[0];
    const Attr *axis = inst_attr(call->inst, ATTR_AXIS);
    View k = *x, r = *x;
    for (int d = 0; d < x->type.rank; d++) {
        bool is_reduced = !axis;
        for (uint32_t i = 0; axis && i < axis->n; i++) is_reduced |= axis->ints[i] == d;
        if (is_reduced)
            k.type.shape[d] = 1;
        else
            r.type.shape[d] = 1;
    }
    loop_init(kept, &k.type, (const View *const[]){&k}, 1);
    loop_init(reduced, &r.type, (const View *const[]){&r}, 1);
}

bool cpu_reduce(Cpu *c, const Call *call, Err *err) {
    const View *x = &call->in[0];
    Op op = call->inst->op;
    DType d = x->type.dtype;
    ReduceRun r = {.fn = c->kernels->reduce[op][d],
                   .x = x->data,
                   .size = view_size(x),
                   .to = call->out[0].data,
                   .acc_size = view_size(&call->out[0]),
                   .pool = c->pool};
    split_axes(call, &r.kept, &r.reduced);
    if (r.kept.n == 0) return true;
    int64_t n = r.reduced.n;
    if (n == 0) { /* nothing to fold: initial values; x is never read */
        r.fn(0, r.kept.n, x->data, 1, 0, r.to);
        return true;
    }
    int inner = r.kept.rank - 1;
    int64_t length = r.kept.rank ? r.kept.shape[inner] : 1;
    int64_t step = r.kept.rank ? r.kept.stride[0][inner] : 1;
    int64_t stride = r.reduced.rank ? r.reduced.stride[0][0] : 1;
    bool is_line = r.reduced.rank <= 1;
    r.gathers = !is_line || (stride != 1 && step != 1);
    r.blocks = (n + REDUCE_BLOCK - 1) / REDUCE_BLOCK;
    int64_t block = n < REDUCE_BLOCK ? n : REDUCE_BLOCK;
    /* Side by side results are read row by row, so a tile should span whole cache lines. */
    r.width = cpu_part(block);
    if (stride != 1 && step == 1 && r.width < 64) r.width = 64;
    if (r.width > length) r.width = length;
    r.tiles_per_line = (length + r.width - 1) / r.width;
    int64_t tiles = r.kept.n / length * r.tiles_per_line * r.blocks;
    char *table = NULL;
    if (r.blocks > 1) {
        r.to = table = cpu_side(c, call, r.blocks * r.kept.n * r.acc_size, err);
        if (!table) return false;
    }
    cpu_ranges(c, tiles, cpu_part(r.width * block), reduce_range, &r);
    if (!table) return true;
    int64_t line = r.kept.n * r.acc_size;
    for (int64_t s = 1; s < r.blocks; s *= 2) {
        for (int64_t b = 0; b + s < r.blocks; b += 2 * s) {
            c->kernels->merge[op][d](r.kept.n, table + b * line, table + (b + s) * line);
        }
    }
    memcpy(call->out[0].data, table, (size_t)line);
    return true;
}
