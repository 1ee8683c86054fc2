/* product.c: matrix products, by product.cu.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/product.h"
#include "worker/cuda/cuda.h"
#include "worker/engine/view.h"
#include <stdio.h>

/* Writes what product.cu needs to know of a dtype. */
static void put_types(Bytes *out, DType from, DType to) {
    DType acc = fuse_computes(from);
    const char *in = dtype_info[from].text, *d = dtype_info[acc].text;
    bytes_printf(out, "typedef %s T;\ntypedef %s ACC;\n", emit_ctype(from), emit_ctype(acc));
    bytes_printf(out, "#define ADD(x, y) %s_add(x, y)\n", d);
    if (acc == DT_F32)
        bytes_puts(out, "#define STEP(x, y, z) fmaf(x, y, z)\n");
    else if (acc == DT_F64)
        bytes_puts(out, "#define STEP(x, y, z) fma(x, y, z)\n");
    else
        bytes_printf(out, "#define STEP(x, y, z) %s_add(%s_mul(x, y), z)\n", d, d);
    if (from == acc)
        bytes_puts(out, "#define IN(x) (x)\n");
    else
        bytes_printf(out, "#define IN(x) %s_to_f32(x)\n", in);
    if (to == acc)
        bytes_printf(out, "typedef %s RESULT;\n#define OUT(x) (x)\n", emit_ctype(to));
    else
        bytes_printf(out, "typedef %s RESULT;\n#define OUT(x) f32_to_%s(x)\n", emit_ctype(to),
                     dtype_info[to].text);
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
    p.rank = o->type.rank - (ra > 1) - (rb > 1);
    for (int d = 0; d < p.rank; d++) {
        int in_a = d - ((int)p.rank - (ra > 2 ? ra - 2 : 0)),
            in_b = d - ((int)p.rank - (rb > 2 ? rb - 2 : 0));
        p.shape[d] = o->type.shape[d];
        p.batch *= p.shape[d];
        if (in_a >= 0 && a->type.shape[in_a] != 1) p.a_batch[d] = a->stride[in_a];
        if (in_b >= 0 && b->type.shape[in_b] != 1) p.b_batch[d] = b->stride[in_b];
    }
    char name[48];
    snprintf(name, sizeof name, "product %d %d", a->type.dtype, o->type.dtype);
    Bytes source = {0};
    put_types(&source, (DType)a->type.dtype, (DType)o->type.dtype);
    bytes_puts(&source, cuda_product_cu);
    const CudaKernel *k = cuda_written(c, name, source.data, NULL, err);
    bytes_fini(&source);
    enum { TILE = 16 };
    int64_t units = p.batch * ((p.M + TILE - 1) / TILE) * ((p.N + TILE - 1) / TILE);
    return k && cuda_launch(c, k->run, units * CUDA_THREADS, &p);
}

bool cuda_product(Cuda *c, const Call *call, Err *err) {
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
