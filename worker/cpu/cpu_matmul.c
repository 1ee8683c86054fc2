/* cpu_matmul.c: matrix products. Each is cut into blocks of rows and columns, which threads compute
 * by the kernels gemm (kernels.h). The order of additions is a function of K alone
 * (runtime/base/tree.h), so the blocks may depend on anything, such as the number of threads.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"
#include "worker/engine/view.h"
#include <string.h>

/* out (batch, M, N) = a (batch, M, K) @ b (batch, K, N), with broadcast batch axes in the loop. */
typedef struct Product {
    Cpu *cpu;
    Loop batch; /* operand 0: a, operand 1: b */
    int64_t M, N, K, a_m, a_k, b_k, b_n;
    const char *a, *b;
    char *out;
    GemmFn gemm;
    int size;
    DType dtype;
    int64_t down, across; /* blocks of a matrix */
    int64_t m, n;         /* rows and columns of a block, at most */
    bool is_small;        /* contiguous matrices of at most 16 KiB, one block each */
    RangeFn after;        /* for blocks of whole rows; NULL: none */
    void *ctx;
} Product;

static void product_init(Product *p, Cpu *c, const Call *call) {
    const View *a = &call->in[0], *b = &call->in[1], *o = &call->out[0];
    int ra = a->type.rank, rb = b->type.rank;
    p->cpu = c;
    p->K = a->type.shape[ra - 1];
    p->M = ra > 1 ? a->type.shape[ra - 2] : 1;
    p->N = rb > 1 ? b->type.shape[rb - 1] : 1;
    p->a_k = a->stride[ra - 1], p->a_m = ra > 1 ? a->stride[ra - 2] : 0;
    p->b_k = b->stride[rb > 1 ? rb - 2 : 0], p->b_n = rb > 1 ? b->stride[rb - 1] : 0;
    View ba = *a, bb = *b;
    TensorType batch = o->type;
    ba.type.rank = (uint8_t)(ra > 2 ? ra - 2 : 0);
    bb.type.rank = (uint8_t)(rb > 2 ? rb - 2 : 0);
    batch.rank = (uint8_t)(o->type.rank - (ra > 1) - (rb > 1));
    loop_init(&p->batch, &batch, (const View *const[]){&ba, &bb}, 2);
    p->a = a->data, p->b = b->data, p->out = o->data;
    p->size = view_size(o), p->dtype = (DType)o->type.dtype;
    /* If the batch shares the right operand, the batch becomes more rows, provided that these are
     * equally spaced. */
    Loop *l = &p->batch;
    if (l->rank == 1 && l->stride[1][0] == 0 && (p->M == 1 || l->stride[0][0] == p->M * p->a_m)) {
        if (p->M == 1) p->a_m = l->stride[0][0];
        p->M *= l->n;
        l->rank = 0, l->n = 1;
    }
    if (p->N == 1) { /* a column: computed as a row, whose elements fill vectors */
        Product t = *p;
        p->M = 1, p->N = t.M;
        p->a = t.b, p->a_m = t.b_n, p->a_k = t.b_k;
        p->b = t.a, p->b_n = t.a_m, p->b_k = t.a_k;
        for (int d = 0; d < l->rank; d++)
            l->stride[0][d] = t.batch.stride[1][d], l->stride[1][d] = t.batch.stride[0][d];
    }
}

/* Returns the kernel: of results as narrow as half a vector of v4, that of v3, whose bits are the
 * same, and which has no lanes to spare. */
static GemmFn kernel_of(const Cpu *c, DType d, int64_t columns, int size) {
    bool is_narrow = c->kernels == &kernels_v4 && dtype_is_float(d) && columns * size <= 32;
    return (is_narrow ? &kernels_v3 : c->kernels)->gemm[d];
}

/* Chooses the blocks: as large as the caches allow (the rows of a that a block reads for one leaf
 * of K fit the second level), and enough of them for all threads. Columns are cut last, because
 * `after` needs whole rows. */
static void cut(Product *p) {
    enum { A_BYTES = 1536 /* per k */, ROWS = 16, LINE = 128, SMALL = 1 << 21 };
    /* Without AVX-512 each block of columns packs a again. */
    const int64_t most_columns = p->cpu->kernels == &kernels_v4 ? 512 : 1024;
    bool is_float = dtype_is_float(p->dtype), is_long = p->M <= GEMM_LONG && p->b_n == 1;
    int64_t rows = is_float ? A_BYTES / p->size : GEMM_M,
            columns = is_float ? most_columns : GEMM_N;
    int64_t threads = pool_threads(p->cpu->pool), wanted = threads > 1 ? 4 * threads : 1;
    /* A product worth sharing. One row, or column, takes several times as long for as much work. */
    const int64_t small = p->M == 1 ? SMALL / 8 : SMALL;
    if (is_float && is_long) columns *= 8, wanted = threads; /* memory bounds it: runs are long */
    p->n = p->N <= columns || (is_float && p->N <= 2 * most_columns) ? p->N : columns;
    for (p->down = (p->M + rows - 1) / rows;;) {
        p->m = (p->M + p->down - 1) / p->down;
        p->across = (p->N + p->n - 1) / p->n;
        if (p->batch.n * p->down * p->across >= wanted || p->m * p->n <= small / p->K) break;
        if (p->m >= 2 * ROWS)
            p->down *= 2;
        else if (p->n > LINE)
            p->n = (p->n / 2 + LINE - 1) / LINE * LINE;
        else
            break;
    }
    /* There may be as few blocks as threads: no one may be left with a narrow rest. */
    if (is_long && p->across > 1) {
        p->n = ((p->N + p->across - 1) / p->across + LINE - 1) / LINE * LINE;
        p->across = (p->N + p->n - 1) / p->n;
    }
}

static void block_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const Product *p = ctx;
    void *side = pool_scratch(p->cpu->pool, thread, gemm_side(p->m, p->n, p->K));
    const bool is_one = p->down * p->across == 1; /* block of each product */
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t, row = 0, column = 0, m = 0, h = p->M;
        if (!is_one) {
            row = t / p->across, column = t - row * p->across;
            i = row / p->down, row -= i * p->down;
            m = p->M * row / p->down, h = p->M * (row + 1) / p->down - m;
        }
        int64_t n = column * p->n, width = p->N - n < p->n ? p->N - n : p->n;
        int64_t at = (i * p->M + m) * p->N + n;
        const char *a = p->a + (loop_offset(&p->batch, 0, i) + m * p->a_m) * p->size;
        const char *b = p->b + (loop_offset(&p->batch, 1, i) + n * p->b_n) * p->size;
        const bool has_next = p->is_small && i + 1 < p->batch.n;
        GemmNext next = {0};
        if (has_next)
            next = (GemmNext){p->a + loop_offset(&p->batch, 0, i + 1) * p->size,
                              p->b + loop_offset(&p->batch, 1, i + 1) * p->size,
                              p->M * p->K * p->size, p->K * p->N * p->size};
        p->gemm(h, width, p->K, a, p->a_m, p->a_k, b, p->b_k, p->b_n, p->out + at * p->size, p->N,
                side, has_next ? &next : NULL);
        if (p->after) p->after(p->ctx, at, at + h * p->N, thread);
    }
}

/* True if the last two axes are row-major or column-major. */
static bool is_plain(const View *v) {
    int r = v->type.rank;
    int64_t columns = v->type.shape[r - 1], column = v->stride[r - 1];
    int64_t rows = r > 1 ? v->type.shape[r - 2] : 1, row = r > 1 ? v->stride[r - 2] : columns;
    if (rows == 1 || columns == 1) return rows == columns || (rows == 1 ? column : row) > 0;
    return (column == 1 && row >= columns) || (row == 1 && column >= rows);
}

/* was_called: `after` (or NULL) was called for all of the result. */
static bool matmul(Cpu *c, const Call *call, RangeFn after, void *ctx, bool *was_called, Err *err) {
    int64_t n = type_numel(&call->out[0].type);
    *was_called = false;
    if (n == 0) return true;
    /* Kernels take any strides, but a view may show far more elements than there is memory, and
     * such a product would run for hours: a copy limits it. */
    Call plain = *call;
    View in[2] = {call->in[0], call->in[1]};
    plain.in = in;
    for (int k = 0; k < 2; k++) {
        int64_t elements = type_numel(&in[k].type);
        if (!elements || !dtype_is_float((DType)in[k].type.dtype) || is_plain(&in[k])) continue;
        void *copy = cpu_side(c, call, elements * view_size(&in[k]), err);
        if (!copy) return false;
        cpu_copy(c, &call->in[k], copy);
        in[k].data = copy;
        view_strides(&in[k].type, in[k].stride);
    }
    Product p;
    product_init(&p, c, &plain);
    if (p.K == 0) {
        memset(p.out, 0, (size_t)(n * p.size));
        return true;
    }
    cut(&p);
    enum { SMALL_BYTES = 16 << 10, TINY_BYTES = 4 << 10 };
    int64_t bytes = (p.M + p.N) * p.K * p.size;
    p.is_small = p.batch.n > 1 && p.down * p.across == 1 && bytes > 2 * TINY_BYTES &&
                 bytes <= 2 * SMALL_BYTES;
    p.gemm = kernel_of(c, p.dtype, p.n, p.size);
    p.after = p.across == 1 ? after : NULL, p.ctx = ctx;
    cpu_ranges(c, p.batch.n * p.down * p.across, cpu_part(p.m * p.n * p.K / 16), block_range, &p);
    *was_called = p.after != NULL;
    return true;
}

/* With the attribute `nodes` each node of the sum is a product. */
bool cpu_MATMUL(Cpu *c, const Call *call, Err *err) {
    bool was_called;
    const Attr *nodes = inst_attr(call->inst, ATTR_NODES);
    if (!nodes) return matmul(c, call, NULL, NULL, &was_called, err);
    for (uint32_t k = 0; k < nodes->n; k++) {
        Call one = *call;
        View in[2];
        view_of_node(call, nodes, k, in, &one.out[0]);
        one.in = in;
        if (!matmul(c, &one, NULL, NULL, &was_called, err)) return false;
    }
    return true;
}

bool cpu_product(Cpu *c, const Call *call, RangeFn fn, void *ctx, bool *was_called, Err *err) {
    *was_called = false;
    if (call_has_half(call)) return cpu_widened(c, call, cpu_MATMUL, err);
    if (inst_attr(call->inst, ATTR_NODES)) return cpu_MATMUL(c, call, err);
    return matmul(c, call, fn, ctx, was_called, err);
}
