/* cpu_reduce.c: REDUCE rows, in the order that is the same for every engine and thread count. The
 * reduced axes give each element of a result its logical index; blocks of 4096; in each block 16
 * lanes by index mod 16; lanes and then blocks combined by binary trees (kernels.h). Work is split
 * into tiles of results times blocks. If there are several blocks, each writes its value to a
 * table, whose rows are combined last.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"
#include "worker/kernel/emit.h"
#include <string.h>

typedef struct ReduceRun {
    Loop kept, reduced; /* one operand: the input */
    ReduceFn fn;
    const char *x;
    int size, acc_size;
    char *to; /* (blocks, results) accumulators */
    int64_t blocks;
    int64_t width; /* results of a tile: adjacent on the innermost kept axis */
    int64_t tiles_per_line;
    bool gathers; /* elements of a block are gathered first */
    MapFn widen;  /* for halves: the kernel reads and writes float32 */
    Pool *pool;
} ReduceRun;

/* For adjacent results: converts a few columns of the block at a time to float32. */
enum { WIDE_COLUMNS = 64 };
static void widened_columns(const ReduceRun *r, int64_t n, int64_t width, const char *x,
                            int64_t stride, char *to, int thread) {
    float *side = pool_scratch(r->pool, thread, (size_t)(n * WIDE_COLUMNS) * sizeof *side);
    for (int64_t c = 0; c < width; c += WIDE_COLUMNS) {
        int64_t w = width - c < WIDE_COLUMNS ? width - c : WIDE_COLUMNS;
        for (int64_t i = 0; i < n; i++) {
            const void *row = x + (i * stride + c) * r->size;
            r->widen(w, side + i * w, &row, 0);
        }
        r->fn(n, w, side, w, 1, to + c * r->acc_size);
    }
}

/* Computes results [first, first + width) of one line of the innermost kept axis, one block of
 * each. */
static void reduce_tile(const ReduceRun *r, int64_t line, int64_t first, int64_t width,
                        int64_t block, int thread) {
    int64_t length = r->kept.rank ? r->kept.shape[r->kept.rank - 1] : 1;
    int64_t step = r->kept.rank ? r->kept.stride[0][r->kept.rank - 1] : 0;
    int64_t result = line * length + first;
    const char *x = r->x + loop_offset(&r->kept, 0, result) * r->size;
    char *to = r->to + (block * r->kept.n + result) * r->acc_size;
    int64_t begin = block * REDUCE_BLOCK, n = r->reduced.n - begin;
    if (n > REDUCE_BLOCK) n = REDUCE_BLOCK;
    int64_t stride = r->reduced.rank ? r->reduced.stride[0][0] : 1;
    if (!r->gathers && !r->widen) {
        r->fn(n, width, x + begin * stride * r->size, stride, step, to);
        return;
    }
    if (r->widen && !r->gathers && stride != 1) {
        widened_columns(r, n, width, x + begin * stride * r->size, stride, to, thread);
        return;
    }
    char *side = pool_scratch(r->pool, thread, (size_t)(n * (r->size + 4)));
    float *wide = (float *)(void *)side;
    if (r->widen) side += n * 4;
    for (int64_t i = 0; i < width; i++) {
        const char *row = x + (i * step + begin * stride) * r->size;
        if (r->gathers) {
            loop_gather(&r->reduced, 0, x + i * step * r->size, r->size, begin, begin + n, side);
            row = side;
        }
        const void *from = row;
        if (r->widen) r->widen(n, wide, &from, 0);
        r->fn(n, 1, r->widen ? wide : from, 1, 0, to + i * r->acc_size);
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

/* Turns n accumulators into the results. table NULL: they already are. */
static void finish(Cpu *c, const Call *call, DType acc, int64_t n, const char *table) {
    const View *o = &call->out[0];
    if (!table) return;
    if (acc == o->type.dtype)
        memcpy(o->data, table, (size_t)(n * view_size(o)));
    else
        cpu_cast(c->kernels, n, o->data, o->type.dtype, table, acc);
}

/* Returns the width of a tile of adjacent results: whole rows of x if they are short and few
 * threads wait for a tile, because memory is read fastest in long runs. */
static int64_t tile_width(const Cpu *c, int64_t results) {
    enum { WIDEST = 1024, LINE = 64 };
    int64_t threads = pool_threads(c->pool), wanted = threads > 1 ? 4 * threads : 1;
    int64_t width = WIDEST;
    while (width > LINE && results / width < wanted) width /= 2;
    return width;
}

enum { MERGE_POLLS = 1024 };
bool cpu_reduce(Cpu *c, const Call *call, Err *err) {
    const View *x = &call->in[0];
    Op op = call->inst->op;
    bool is_half = dtype_is_half((DType)x->type.dtype);
    DType d = is_half ? DT_F32 : x->type.dtype, acc = emit_accumulator(op, d);
    ReduceRun r = {.fn = c->kernels->reduce[op][d],
                   .widen = is_half ? c->kernels->cast[x->type.dtype][DT_F32] : NULL,
                   .x = x->data,
                   .size = view_size(x),
                   .to = call->out[0].data,
                   .acc_size = dtype_info[acc].size_bytes,
                   .pool = c->pool};
    split_axes(call, &r.kept, &r.reduced);
    if (r.kept.n == 0) return true;
    int64_t n = r.reduced.n;
    /* Several blocks need rows of accumulators; so does one whose accumulators are not the
     * results. */
    r.blocks = n ? (n + REDUCE_BLOCK - 1) / REDUCE_BLOCK : 1;
    char *table = NULL;
    if (r.blocks > 1 || acc != call->out[0].type.dtype) {
        r.to = table = cpu_side(c, call, r.blocks * r.kept.n * r.acc_size, err);
        if (!table) return false;
    }
    if (n == 0) { /* empty: initial values; x is never read */
        r.fn(0, r.kept.n, x->data, 1, 0, r.to);
        finish(c, call, acc, r.kept.n, table);
        return true;
    }
    int inner = r.kept.rank - 1;
    int64_t length = r.kept.rank ? r.kept.shape[inner] : 1;
    int64_t step = r.kept.rank ? r.kept.stride[0][inner] : 1;
    int64_t stride = r.reduced.rank ? r.reduced.stride[0][0] : 1;
    bool is_line = r.reduced.rank <= 1;
    r.gathers = !is_line || (stride != 1 && step != 1);
    int64_t block = n < REDUCE_BLOCK ? n : REDUCE_BLOCK;
    /* Adjacent results are read row by row, so a tile should span whole cache lines. */
    r.width = cpu_part(block);
    if (stride != 1 && step == 1) r.width = tile_width(c, r.kept.n * r.blocks);
    if (r.width > length) r.width = length;
    r.tiles_per_line = (length + r.width - 1) / r.width;
    int64_t tiles = r.kept.n / length * r.tiles_per_line * r.blocks;
    cpu_ranges(c, tiles, cpu_part(r.width * block), reduce_range, &r);
    if (!table) return true;
    int64_t line = r.kept.n * r.acc_size;
    for (int64_t s = 1; s < r.blocks; s *= 2) {
        for (int64_t b = 0; b + s < r.blocks; b += 2 * s) {
            if (b / (2 * s) % MERGE_POLLS == MERGE_POLLS - 1 && pool_is_cancelled(c->pool, 0))
                return true;
            c->kernels->merge[op][d](r.kept.n, table + b * line, table + (b + s) * line);
        }
    }
    finish(c, call, acc, r.kept.n, table);
    return true;
}
