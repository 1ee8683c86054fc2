/* product.c: matrix products, by product.cu and thin.cu.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/product_args.h"
#include "runtime/base/tree.h"
#include "worker/cuda/product.h"
#include "worker/cuda/blas.h"
#include "worker/cuda/kernel.h"
#include "worker/cuda/op.h"
#include "worker/cuda/texts.h"
#include "worker/engine/view.h"
#include <stdio.h>
#include <stdlib.h>

/* TILE is that of tile.h, COLUMNS that of thin.cu; a chunk has at most *_LEAVES leaves of K. */
enum {
    TILE = 64,
    COLUMNS = 32,
    CHUNK_LEAST = 4,
    TILE_LEAVES = 1 << 24, /* so that a kernel can count elements of K as int */
    THIN_LEAVES = 64,
    PER_PROCESSOR = 4
};

DType cuda_put_types(Bytes *out, DType from, DType to) {
    bool is_whole = !dtype_is_float(from);
    DType acc = !is_whole ? fuse_computes(from) : from == DT_I64 ? DT_I64 : DT_I32;
    const char *in = dtype_info[from].text, *d = dtype_info[acc].text;
    bytes_printf(out, "typedef %s T;\ntypedef %s ACC;\n", emit_ctype(from), emit_ctype(acc));
    bytes_printf(out, "#define IS_WHOLE %d\n#define ADD(x, y) %s_add(x, y)\n", is_whole, d);
    if (acc == DT_F32)
        bytes_puts(out, "#define STEP(x, y, z) fmaf(x, y, z)\n");
    else if (acc == DT_F64)
        bytes_puts(out, "#define STEP(x, y, z) fma(x, y, z)\n");
    else
        bytes_printf(out, "#define STEP(x, y, z) %s_add(%s_mul(x, y), z)\n", d, d);
    if (is_whole || from == acc)
        bytes_puts(out, "#define IN(x) ((ACC)(x))\n");
    else
        bytes_printf(out, "#define IN(x) %s_to_f32(x)\n", in);
    bytes_printf(out, "typedef %s RESULT;\n", emit_ctype(to));
    if (is_whole || to == acc)
        bytes_puts(out, "#define OUT(x) ((RESULT)(x))\n");
    else
        bytes_printf(out, "#define OUT(x) f32_to_%s(x)\n", dtype_info[to].text);
    return acc;
}

/* Returns how to read an operand. Its elements lie k apart along K, and `line` apart across K. */
static int find_read(const char *data, int size, int64_t line, int64_t k, int64_t lines,
                     const int64_t *batch, int64_t rank) {
    bool by_k = k == 1 || (line != 1 && llabs(k) < llabs(line));
    int64_t other = by_k ? lines > 1 ? line : 0 : k;
    bool is_wide = (by_k ? k : line) == 1 && (uintptr_t)data % 16 == 0 && other * size % 16 == 0;
    for (int64_t d = 0; d < rank; d++) is_wide &= batch[d] * size % 16 == 0;
    return is_wide ? by_k ? WIDE_BY_K : WIDE_BY_LINES : by_k ? BY_K : BY_LINES;
}

/* Replaces a @ b by the product of the transposed operands, whose result is transposed. */
static void transpose(ProductArgs *p) {
    ProductArgs was = *p;
    p->a = was.b, p->b = was.a, p->M = was.N, p->N = was.M;
    p->a_m = was.b_n, p->a_k = was.b_k, p->b_k = was.a_k, p->b_n = was.a_m;
    p->out_m = was.out_n, p->out_n = was.out_m;
    for (int d = 0; d < PRODUCT_AXES; d++)
        p->a_batch[d] = was.b_batch[d], p->b_batch[d] = was.a_batch[d];
}

/* Chooses how many leaves of K a chunk has: halves it while there are fewer units of work (chunks
 * of tiles) than two per multiprocessor. The choice changes no bit. */
static void choose_chunk(const Cuda *c, ProductArgs *p, int64_t tiles, int64_t most) {
    int64_t leaves = p->K ? tree_leaves(p->K) : 1;
    for (p->chunk = 1; p->chunk < leaves;) p->chunk *= 2;
    if (p->chunk > most) p->chunk = most;
    while (p->chunk > CHUNK_LEAST &&
           tiles * ((leaves + p->chunk - 1) / p->chunk) < (int64_t)2 * c->processors)
        p->chunk /= 2;
    p->chunks = (leaves + p->chunk - 1) / p->chunk;
}

/* Allocates what `run` needs beside the operands. Halves *blocks, the number of thread blocks,
 * until there is enough memory. Returns the bytes allocated; -1: too little for one block. */
static int64_t find_room(Cuda *c, ProductArgs *p, int acc_size, bool is_thin, int64_t *blocks) {
    Engine *e = &c->host.engine;
    int64_t leaves = p->K ? tree_leaves(p->K) : 1;
    int64_t parts = p->chunks > 1 ? p->chunks * p->batch * p->M * p->N * acc_size : 0;
    parts = (parts + 15) / 16 * 16;
    p->levels = is_thin ? 0 : tree_depth(leaves < p->chunk ? leaves : p->chunk);
    if (acc_size < 8 && p->levels) p->levels--; /* one is in shared memory */
    for (;; *blocks /= 2) {
        int64_t bytes = parts + *blocks * p->levels * TILE * TILE * acc_size;
        if (!bytes || (p->parts = e->ops->alloc(e, (uint64_t)bytes))) {
            p->waits = p->parts + parts;
            return bytes;
        }
        if (*blocks == 1) return -1;
    }
}

/* Runs the product that p describes. Sets the members of p that say how it is cut and read.
 * subtracts: from the result. */
static bool run(Cuda *c, ProductArgs *p, DType from, DType to, bool subtracts, Err *err) {
    Bytes head = {0};
    char name[48];
    int size = dtype_info[from].size_bytes;
    DType acc = cuda_put_types(&head, from, to);
    bytes_printf(&head, "#define SUBTRACTS %d\n", subtracts);
    int acc_size = dtype_info[acc].size_bytes, thin = 16 / acc_size;
    if (p->N < p->M && p->N <= thin) transpose(p);
    bool is_thin = p->M <= thin;
    p->read_a = find_read(p->a, size, p->a_m, p->a_k, p->M, p->a_batch, p->rank);
    p->read_b = find_read(p->b, size, p->b_n, p->b_k, p->N, p->b_batch, p->rank);
    int64_t four = (int64_t)4 * dtype_info[to].size_bytes;
    if (four > 16) four = 16;
    p->is_wide = p->out_n == 1 && (uintptr_t)p->out % 16 == 0 &&
                 p->out_m * dtype_info[to].size_bytes % four == 0 &&
                 p->out_batch * dtype_info[to].size_bytes % four == 0;
    int64_t down = is_thin ? 1 : (p->M + TILE - 1) / TILE,
            across = is_thin ? (p->N + COLUMNS - 1) / COLUMNS : (p->N + TILE - 1) / TILE;
    choose_chunk(c, p, p->batch * down * across, is_thin ? THIN_LEAVES : TILE_LEAVES);
    snprintf(name, sizeof name, "%s %d %d %d", is_thin ? "thin" : "product", from, to, subtracts);
    const CudaKernel *k =
        cuda_written(c, name, &head, is_thin ? cuda_thin_cu : cuda_product_cu, "finish", err);
    if (!k) return false;
    int64_t units = p->batch * p->chunks * down * across,
            blocks = units < (int64_t)PER_PROCESSOR * c->processors
                         ? units
                         : (int64_t)PER_PROCESSOR * c->processors;
    int64_t bytes = find_room(c, p, acc_size, is_thin, &blocks);
    if (bytes < 0)
        return err_set(err, ERR_MEMORY, "no memory for the partial sums of a matrix product");
    bool ok = cuda_launch(c, k->run, blocks * CUDA_THREADS, p);
    if (p->chunks > 1)
        ok = ok && cuda_launch(c, k->finish, p->batch * p->M * p->N * (CUDA_THREADS / 32), p);
    if (bytes) c->host.engine.ops->free(&c->host.engine, p->parts, (uint64_t)bytes);
    return ok;
}

static bool product(Cuda *c, const Call *call, Err *err) {
    const View *a = &call->in[0], *b = &call->in[1], *o = &call->out[0];
    int ra = a->type.rank, rb = b->type.rank;
    ProductArgs p = {.a = a->data, .b = b->data, .out = o->data, .batch = 1};
    if (type_numel(&o->type) == 0) return true;
    p.K = a->type.shape[ra - 1];
    p.M = ra > 1 ? a->type.shape[ra - 2] : 1, p.N = rb > 1 ? b->type.shape[rb - 1] : 1;
    p.a_k = a->stride[ra - 1], p.a_m = ra > 1 ? a->stride[ra - 2] : 0;
    p.b_k = b->stride[rb > 1 ? rb - 2 : 0], p.b_n = rb > 1 ? b->stride[rb - 1] : 0;
    p.out_m = p.N, p.out_n = 1, p.out_batch = p.M * p.N;
    p.rank = o->type.rank - (ra > 1) - (rb > 1);
    for (int d = 0; d < p.rank; d++) {
        int in_a = d - ((int)p.rank - (ra > 2 ? ra - 2 : 0)),
            in_b = d - ((int)p.rank - (rb > 2 ? rb - 2 : 0));
        p.shape[d] = o->type.shape[d];
        p.batch *= p.shape[d];
        if (in_a >= 0 && a->type.shape[in_a] != 1) p.a_batch[d] = a->stride[in_a];
        if (in_b >= 0 && b->type.shape[in_b] != 1) p.b_batch[d] = b->stride[in_b];
    }
    int done =
        cuda_blas_product(c, call->inst, &p, (DType)a->type.dtype, (DType)o->type.dtype, err);
    if (done) return done > 0;
    return run(c, &p, (DType)a->type.dtype, (DType)o->type.dtype, false, err);
}

bool cuda_subtract_product(Cuda *c, ProductArgs *p, DType d, Err *err) {
    return run(c, p, d, d, true, err);
}

bool cuda_MATMUL(Cuda *c, const Call *call, Err *err) {
    const Attr *nodes = inst_attr(call->inst, ATTR_NODES);
    if (!nodes) return product(c, call, err);
    for (uint32_t k = 0; k < nodes->n; k++) {
        Call one = *call;
        View in[2];
        view_of_node(call, nodes, k, in, &one.out[0]);
        one.in = in;
        if (!product(c, &one, err)) return false;
    }
    return true;
}
