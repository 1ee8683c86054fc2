/* cpu_reduce.c: REDUCE rows, in the order of all engines but `reference`, with any number of
 * threads. The reduced axes give each element of a result its logical index.
 *
 * A sum of floats over rows (an axis behind the first reduced one is kept: nodes_sums_rows) has the
 * order of products, runtime/base/tree.h. But if the last axis is reduced too, so that elements lie
 * side by side, a leaf has lanes as below.
 *
 * All others: blocks of 4096; in each block 16 lanes by index mod 16; lanes and then blocks
 * combined by binary trees (kernels.h). Work is split into tiles of results times blocks. If there
 * are several blocks, each writes its value to a table, whose rows are combined last. Blocks are
 * nodes of tree.h's tree, too.
 *
 * With the attribute `nodes`, the elements are those of several adjacent nodes of a larger sum, of
 * so many elements each, and the results are the nodes' (runtime/layout/nodes.h): blocks begin anew
 * with each.
 * SPDX-License-Identifier: MIT */
#include "runtime/layout/nodes.h"
#include "worker/cpu/cpu.h"
#include "worker/kernel/emit.h"
#include <string.h>

typedef struct ReduceRun {
    Loop kept, reduced; /* one operand: the input */
    ReduceFn fn;
    RowsFn sum_rows; /* of sums over rows; else NULL */
    bool has_leaves; /* sums over rows and the last axis */
    const char *x;
    int size, acc_size;
    char *to; /* (blocks, results) accumulators */
    int64_t blocks;
    const Attr *nodes; /* NULL: one */
    int64_t width;     /* results of a tile: adjacent on the innermost kept axis */
    int64_t tiles_per_line;
    bool gathers; /* elements of a block are gathered first */
    MapFn widen;  /* for halves: the kernel reads and writes float32 */
    Pool *pool;
} ReduceRun;

/* The sum of n <= REDUCE_BLOCK adjacent elements. NAME_leaves: in leaves of lanes; NAME_chains:
 * each leaf is a chain, several of which are under way. */
#define FOLD_LINE(NAME, T)                                                                         \
    static T NAME##_tree(int64_t leaves, T *sum) {                                                 \
        for (int64_t s = 1; s < leaves; s *= 2)                                                    \
            for (int64_t i = 0; i + s < leaves; i += 2 * s) sum[i] += sum[i + s];                  \
        return sum[0];                                                                             \
    }                                                                                              \
    static T NAME##_leaves(ReduceFn fn, int64_t n, const T *x) {                                   \
        T sum[REDUCE_BLOCK / LEAF];                                                                \
        const int64_t whole = n / LEAF, leaves = tree_leaves(n);                                   \
        fn(LEAF, whole, x, 1, LEAF, sum);                                                          \
        if (whole < leaves) fn(n - whole * LEAF, 1, x + whole * LEAF, 1, 0, sum + whole);          \
        return NAME##_tree(leaves, sum);                                                           \
    }                                                                                              \
    static T NAME##_chains(int64_t n, const T *x) {                                                \
        T sum[REDUCE_BLOCK / LEAF] = {0};                                                          \
        int64_t i = 0;                                                                             \
        for (; i + ABREAST * LEAF <= n; i += ABREAST * LEAF) {                                     \
            T s[ABREAST] = {0};                                                                    \
            for (int64_t k = i; k < i + LEAF; k++)                                                 \
                _Pragma("GCC unroll 8") for (int w = 0; w < ABREAST; w++) s[w] += x[k + w * LEAF]; \
            memcpy(sum + i / LEAF, s, sizeof s);                                                   \
        }                                                                                          \
        for (; i < n; i++) sum[i / LEAF] += x[i];                                                  \
        return NAME##_tree(tree_leaves(n), sum);                                                   \
    }
enum { ABREAST = 8 };
FOLD_LINE(f32, float)
FOLD_LINE(f64, double)

static void fold_line(const ReduceRun *r, int64_t n, const void *x, char *to) {
    if (r->acc_size == 4)
        *(float *)(void *)to = r->has_leaves ? f32_leaves(r->fn, n, x) : f32_chains(n, x);
    else
        *(double *)(void *)to = r->has_leaves ? f64_leaves(r->fn, n, x) : f64_chains(n, x);
}

/* See ReduceFn. */
static void fold(const ReduceRun *r, int64_t n, int64_t rows, const void *x, int64_t stride,
                 int64_t row_stride, char *to) {
    bool are_rows = stride != 1 || (n == 1 && row_stride == 1);
    if (r->sum_rows && are_rows)
        r->sum_rows(n, rows, x, stride, to);
    else if (r->sum_rows || r->has_leaves)
        for (int64_t i = 0; i < rows; i++)
            fold_line(r, n, (const char *)x + i * row_stride * r->acc_size, to + i * r->acc_size);
    else
        r->fn(n, rows, x, stride, row_stride, to);
}

/* For adjacent results: converts a few columns of the block at a time to float32. */
enum { WIDE_COLUMNS = 64 };
static void widened_columns(const ReduceRun *r, int64_t n, int64_t width, const char *x,
                            int64_t stride, char *to, int thread) {
    float *wide = pool_scratch(r->pool, thread, (size_t)(n * WIDE_COLUMNS) * sizeof *wide);
    for (int64_t c = 0; c < width; c += WIDE_COLUMNS) {
        int64_t w = width - c < WIDE_COLUMNS ? width - c : WIDE_COLUMNS;
        for (int64_t i = 0; i < n; i++) {
            const void *row = x + (i * stride + c) * r->size;
            r->widen(w, wide + i * w, &row, 0);
        }
        fold(r, n, w, wide, w, 1, to + c * r->acc_size);
    }
}

/* Finds the elements of a block. */
static int64_t block_begin(const ReduceRun *r, int64_t block, int64_t *n) {
    int64_t begin = 0, end = r->reduced.n;
    for (uint32_t k = 0; r->nodes; k++, begin = end) {
        int64_t length = r->nodes->ints[k], blocks = (length + REDUCE_BLOCK - 1) / REDUCE_BLOCK;
        end = begin + length;
        if (block < blocks) break;
        block -= blocks;
    }
    begin += block * REDUCE_BLOCK;
    *n = end - begin < REDUCE_BLOCK ? end - begin : REDUCE_BLOCK;
    return begin;
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
    int64_t n, begin = block_begin(r, block, &n);
    int64_t stride = r->reduced.rank ? r->reduced.stride[0][0] : 1;
    if (!r->gathers && !r->widen) {
        fold(r, n, width, x + begin * stride * r->size, stride, step, to);
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
        fold(r, n, 1, r->widen ? wide : from, 1, 0, to + i * r->acc_size);
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

/* Combines the blocks of each node, from row `first` of the table on, into its first row. Returns
 * false if the call was cancelled. */
enum { MERGE_POLLS = 1024 };
static bool merge(Cpu *c, const ReduceRun *r, MergeFn fn, char *table, int64_t blocks) {
    int64_t line = r->kept.n * r->acc_size;
    for (int64_t s = 1; s < blocks; s *= 2) {
        for (int64_t b = 0; b + s < blocks; b += 2 * s) {
            if (b / (2 * s) % MERGE_POLLS == MERGE_POLLS - 1 && pool_is_cancelled(c->pool, 0))
                return false;
            fn(r->kept.n, table + b * line, table + (b + s) * line);
        }
    }
    return true;
}

/* Turns the table into the results. */
static void finish(Cpu *c, const Call *call, const ReduceRun *r, DType acc, char *table) {
    const View *o = &call->out[0];
    DType d = dtype_is_half((DType)call->in[0].type.dtype) ? DT_F32 : call->in[0].type.dtype;
    MergeFn fn = c->kernels->merge[call->inst->op][d];
    char *to = o->data;
    for (uint32_t k = 0; k < (r->nodes ? r->nodes->n : 1); k++) {
        int64_t n = r->nodes ? r->nodes->ints[k] : r->reduced.n;
        int64_t blocks = n ? (n + REDUCE_BLOCK - 1) / REDUCE_BLOCK : 1;
        if (!merge(c, r, fn, table, blocks)) return;
        if (acc == o->type.dtype)
            memcpy(to, table, (size_t)(r->kept.n * r->acc_size));
        else
            cpu_cast(c->kernels, r->kept.n, to, o->type.dtype, table, acc);
        table += blocks * r->kept.n * r->acc_size;
        to += r->kept.n * view_size(o);
    }
}

static int64_t count_blocks(const Attr *nodes, int64_t n) {
    int64_t blocks = 0;
    if (!nodes) return n ? (n + REDUCE_BLOCK - 1) / REDUCE_BLOCK : 1;
    for (uint32_t k = 0; k < nodes->n; k++)
        blocks += (nodes->ints[k] + REDUCE_BLOCK - 1) / REDUCE_BLOCK;
    return blocks;
}

/* Returns the width of a tile of adjacent results: whole rows of x if they are short and few
 * threads wait for a tile, because memory is read fastest in long runs. */
static int64_t tile_width(const Pool *p, int64_t results) {
    enum { WIDEST = 1024, LINE = 64 };
    int64_t threads = pool_threads(p), wanted = threads > 1 ? 4 * threads : 1;
    int64_t width = WIDEST;
    while (width > LINE && results / width < wanted) width /= 2;
    return width;
}

/* Chooses the tiles' width and whether elements are gathered. Returns the number of tiles. */
static int64_t cut(ReduceRun *r, int64_t *cost) {
    int inner = r->kept.rank - 1;
    int64_t n = r->reduced.n, length = r->kept.rank ? r->kept.shape[inner] : 1;
    int64_t step = r->kept.rank ? r->kept.stride[0][inner] : 1;
    int64_t stride = r->reduced.rank ? r->reduced.stride[0][0] : 1;
    bool is_line = r->reduced.rank <= 1;
    r->gathers = !is_line || r->has_leaves || (stride != 1 && step != 1);
    int64_t block = n < REDUCE_BLOCK ? n : REDUCE_BLOCK;
    r->width = cpu_part(block);
    if (stride != 1 && step == 1) r->width = tile_width(r->pool, r->kept.n * r->blocks);
    if (r->width > length) r->width = length;
    r->tiles_per_line = (length + r->width - 1) / r->width;
    *cost = cpu_part(r->width * block);
    return r->kept.n / length * r->tiles_per_line * r->blocks;
}

bool cpu_reduce(Cpu *c, const Call *call, Err *err) {
    const View *x = &call->in[0];
    Op op = call->inst->op;
    bool is_half = dtype_is_half((DType)x->type.dtype);
    DType d = is_half ? DT_F32 : x->type.dtype, acc = emit_accumulator(op, d);
    ReduceRun r = {.fn = c->kernels->reduce[op][d],
                   .nodes = inst_attr(call->inst, ATTR_NODES),
                   .widen = is_half ? c->kernels->cast[x->type.dtype][DT_F32] : NULL,
                   .x = x->data,
                   .size = view_size(x),
                   .to = call->out[0].data,
                   .acc_size = dtype_info[acc].size_bytes,
                   .pool = c->pool};
    if (nodes_sums_rows(call->inst, &x->type)) {
        r.has_leaves = nodes_reduced(call->inst, x->type.rank) >> (x->type.rank - 1) & 1;
        if (!r.has_leaves) r.sum_rows = c->kernels->sum_rows[d];
    }
    split_axes(call, &r.kept, &r.reduced);
    if (type_numel(&call->out[0].type) == 0) return true;
    int64_t n = r.reduced.n;
    /* Several blocks need rows of accumulators; so does one whose accumulators are not the
     * results. */
    r.blocks = count_blocks(r.nodes, n);
    char *table = NULL;
    if (r.blocks > 1 || acc != call->out[0].type.dtype) {
        r.to = table = cpu_side(c, call, r.blocks * r.kept.n * r.acc_size, err);
        if (!table) return false;
    }
    if (n == 0) { /* empty: initial values; x is never read */
        r.fn(0, r.kept.n, x->data, 1, 0, r.to);
    } else {
        int64_t part, tiles = cut(&r, &part);
        cpu_ranges(c, tiles, part, reduce_range, &r);
    }
    if (table) finish(c, call, &r, acc, table);
    return true;
}
