/* cpu_matmul.c: matrix products. float32 goes to oneDNN (dnnl.c) if that is installed; a vector
 * times a matrix, and every other dtype, go to our own kernels. The method, and the order in which
 * each element is summed, depend on shapes, strides and dtype alone.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"
#include "worker/dnnl/dnnl.h"
#include <stdlib.h>
#include <string.h>

struct Dense {
    Dnnl *dnnl;
    bool has_tried;
};
Dense *dense_new(void) { return xcalloc(1, sizeof(Dense)); }
void dense_free(Dense **d) {
    if (!*d) return;
    dnnl_free(&(*d)->dnnl);
    free(*d);
    *d = NULL;
}

/* out (batch, M, N) = a (batch, M, K) @ b (batch, K, N), with broadcast batch axes in the loop. */
typedef struct Product {
    Cpu *cpu;
    Loop batch; /* operand 0: a, operand 1: b */
    int64_t M, N, K, a_m, a_k, b_k, b_n;
    const char *a, *b;
    char *out;
    int size;
    DType dtype;
    /* For the dot kernels: */
    char *to;
    int64_t blocks, width, tiles;
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
}

/* ---- Vector times matrix ---- */

/* x (K) times a matrix: element k of result r is at k * stride + r * row_stride. */
static void dot_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const Product *p = ctx;
    bool is_left = p->M == 1;
    int64_t results = is_left ? p->N : p->M;
    int64_t x_step = is_left ? p->a_k : p->b_k;
    int64_t stride = is_left ? p->b_k : p->a_k, row_stride = is_left ? p->b_n : p->a_m;
    uint64_t side[REDUCE_BLOCK];
    for (int64_t t = begin; t < end; t++) {
        int64_t block = t % p->blocks, tile = t / p->blocks % p->tiles,
                i = t / p->blocks / p->tiles;
        const char *a = p->a + loop_offset(&p->batch, 0, i) * p->size;
        const char *b = p->b + loop_offset(&p->batch, 1, i) * p->size;
        const char *x = is_left ? a : b, *matrix = is_left ? b : a;
        int64_t k = block * REDUCE_BLOCK, r = tile * p->width;
        int64_t n = p->K - k < REDUCE_BLOCK ? p->K - k : REDUCE_BLOCK;
        int64_t width = results - r < p->width ? results - r : p->width;
        x += k * x_step * p->size;
        if (x_step != 1) {
            copy_strided(side, x, x_step, n, p->size);
            x = (const char *)side;
        }
        matrix += (k * stride + r * row_stride) * p->size;
        char *to = p->to + ((block * p->batch.n + i) * results + r) * p->size;
        p->cpu->kernels->dot[p->dtype](n, width, x, matrix, stride, row_stride, to);
    }
}

static bool dot(Product *p, const Call *call, Err *err) {
    Cpu *c = p->cpu;
    int64_t results = p->M == 1 ? p->N : p->M, stride = p->M == 1 ? p->b_k : p->a_k;
    int64_t block = p->K < REDUCE_BLOCK ? p->K : REDUCE_BLOCK;
    p->blocks = (p->K + REDUCE_BLOCK - 1) / REDUCE_BLOCK;
    p->width = cpu_part(block);
    if (stride != 1 && p->width < 64) p->width = 64;
    p->tiles = (results + p->width - 1) / p->width;
    p->to = p->out;
    int64_t n = p->batch.n * results;
    char *table = NULL;
    if (p->blocks > 1) {
        p->to = table = cpu_side(c, call, p->blocks * n * p->size, err);
        if (!table) return false;
    }
    int64_t cost = block * (results < p->width ? results : p->width);
    cpu_ranges(c, p->batch.n * p->tiles * p->blocks, cpu_part(cost), dot_range, p);
    if (!table) return true;
    int64_t line = n * p->size;
    for (int64_t s = 1; s < p->blocks; s *= 2)
        for (int64_t b = 0; b + s < p->blocks; b += 2 * s)
            c->kernels->merge[OP_SUM][p->dtype](n, table + b * line, table + (b + s) * line);
    memcpy(p->out, table, (size_t)line);
    return true;
}

/* The dot kernels need one of the matrix's two strides to be 1. */
static bool suits_dot(const Product *p) {
    if (!dtype_is_float(p->dtype) || (p->M != 1 && p->N != 1)) return false;
    int64_t stride = p->M == 1 ? p->b_k : p->a_k, row = p->M == 1 ? p->b_n : p->a_m;
    return stride == 1 || row == 1 || p->K == 1 || (p->M == 1 && p->N == 1);
}

/* ---- Own tiles ---- */

static void gemm_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const Product *p = ctx;
    int64_t tiles_m = (p->M + GEMM_M - 1) / GEMM_M, tiles_n = (p->N + GEMM_N - 1) / GEMM_N;
    void *side = pool_scratch(p->cpu->pool, thread, GEMM_SIDE);
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t / (tiles_m * tiles_n), rest = t % (tiles_m * tiles_n);
        int64_t m = rest / tiles_n * GEMM_M, n = rest % tiles_n * GEMM_N;
        const char *a = p->a + (loop_offset(&p->batch, 0, i) + m * p->a_m) * p->size;
        const char *b = p->b + (loop_offset(&p->batch, 1, i) + n * p->b_n) * p->size;
        int64_t h = p->M - m < GEMM_M ? p->M - m : GEMM_M;
        int64_t w = p->N - n < GEMM_N ? p->N - n : GEMM_N;
        char *out = p->out + (i * p->M * p->N + m * p->N + n) * p->size;
        p->cpu->kernels->gemm[p->dtype](h, w, p->K, a, p->a_m, p->a_k, b, p->b_k, p->b_n, out, p->N,
                                        side);
    }
}

static void gemm(Product *p) {
    int64_t h = p->M < GEMM_M ? p->M : GEMM_M, w = p->N < GEMM_N ? p->N : GEMM_N;
    int64_t tiles = (p->M + GEMM_M - 1) / GEMM_M * ((p->N + GEMM_N - 1) / GEMM_N);
    cpu_ranges(p->cpu, p->batch.n * tiles, cpu_part(h * w * p->K / 8), gemm_range, p);
}

/* ---- oneDNN ---- */

/* True if row-major or column-major, as the library needs; axes of one element may have any
 * stride. */
static bool is_plain(int64_t rows, int64_t columns, int64_t *row, int64_t *column) {
    if (rows == 1) *row = *column == 1 || columns == 1 ? columns : 1;
    if (columns == 1) *column = *row == 1 && rows > 1 ? rows : 1;
    if (*column == 1 && *row >= columns) return true;
    return *row == 1 && *column >= rows;
}

/* With fewer multiplications the library's primitive, or loading it, does not pay off. */
enum { TINY = 32 * 32 * 32 };

Dnnl *cpu_dnnl(Cpu *c) {
    Dense *d = c->dense;
    if (!d->has_tried) {
        d->has_tried = true;
        d->dnnl = dnnl_new(c->pool, c->kernels->isa);
    }
    return d->dnnl;
}

bool dense_product(Cpu *c, int64_t M, int64_t N, int64_t K, const void *a, int64_t a_m, int64_t a_k,
                   const void *b, int64_t b_k, int64_t b_n, void *out) {
    DnnlShape s = {M, N, K, a_m, a_k, b_k, b_n, N};
    Dnnl *d = cpu_dnnl(c);
    if (!d || !is_plain(M, K, &s.a_m, &s.a_k) || !is_plain(K, N, &s.b_k, &s.b_n)) return false;
    int64_t zero = 0;
    dnnl_multiply(d, 1, &s, a, &zero, b, &zero, out, NULL);
    return true;
}

/* Returns false if the library does not support these, or is not installed. */
static bool multiply(Product *p, int64_t *offset, const DnnlAfter *after, bool *was_called) {
    Dnnl *d = cpu_dnnl(p->cpu);
    if (!d) return false;
    if (!is_plain(p->M, p->K, &p->a_m, &p->a_k) || !is_plain(p->K, p->N, &p->b_k, &p->b_n))
        return false;
    int64_t n = p->batch.n;
    for (int64_t i = 0; i < n; i++) {
        offset[i] = loop_offset(&p->batch, 0, i);
        offset[n + i] = loop_offset(&p->batch, 1, i);
    }
    DnnlShape s = {p->M, p->N, p->K, p->a_m, p->a_k, p->b_k, p->b_n, p->N};
    *was_called = dnnl_multiply(d, n, &s, (const float *)p->a, offset, (const float *)p->b,
                                offset + n, (float *)p->out, after);
    return true;
}

/* was_called: `after` (or NULL) was called for all of the result. */
static bool matmul(Cpu *c, const Call *call, const DnnlAfter *after, bool *was_called, Err *err) {
    *was_called = false;
    int64_t n = type_numel(&call->out[0].type);
    if (n == 0) return true;
    Product p;
    product_init(&p, c, call);
    if (p.K == 0) {
        memset(p.out, 0, (size_t)(n * p.size));
        return true;
    }
    /* Only the slow kernel takes these strides: copies the operands first. */
    Call plain = *call;
    View in[2] = {call->in[0], call->in[1]};
    bool has_copy = false;
    for (int k = 0; k < 2; k++) {
        int64_t rows = k ? p.K : p.M, columns = k ? p.N : p.K;
        int64_t row = k ? p.b_k : p.a_m, column = k ? p.b_n : p.a_k;
        if (!dtype_is_float(p.dtype) || is_plain(rows, columns, &row, &column)) continue;
        void *copy = cpu_side(c, call, type_numel(&in[k].type) * p.size, err);
        if (!copy) return false;
        cpu_copy(c, &in[k], copy);
        in[k].data = copy;
        has_copy = true;
        view_strides(&in[k].type, in[k].stride);
    }
    if (has_copy) {
        plain.in = in;
        product_init(&p, c, &plain);
    }
    if (suits_dot(&p)) return dot(&p, call, err);
    if (p.dtype == DT_F32 && p.M * p.N > TINY / p.K) {
        int64_t few[64], *offset = few;
        if (p.batch.n > 32)
            offset = cpu_side(c, call, 2 * p.batch.n * (int64_t)sizeof *offset, err);
        if (!offset) return false;
        if (multiply(&p, offset, after, was_called)) return true;
    }
    gemm(&p);
    return true;
}

bool cpu_MATMUL(Cpu *c, const Call *call, Err *err) {
    bool was_called;
    return matmul(c, call, NULL, &was_called, err);
}

bool cpu_product(Cpu *c, const Call *call, RangeFn fn, void *ctx, bool *was_called, Err *err) {
    DnnlAfter after = {fn, ctx};
    *was_called = false;
    if (call_has_half(call)) return cpu_widened(c, call, cpu_MATMUL, err);
    return matmul(c, call, fn ? &after : NULL, was_called, err);
}
