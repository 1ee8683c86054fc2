/* conv.c: convolutions and their gradients, by conv.cu. A result is a function of its image and the
 * weights alone, in an order of additions that depends on shapes alone; so are the sums of a block
 * of images of a weight gradient.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/conv.h"
#include "runtime/base/tree.h"
#include "runtime/infer/window.h"
#include "worker/cuda/copy.h"
#include "worker/cuda/hosted.h"
#include "worker/cuda/kernel.h"
#include "worker/cuda/op.h"
#include "worker/cuda/product.h"
#include "worker/cuda/texts.h"
#include "worker/engine/view.h"
#include <stdio.h>

enum { TILE = 64, PER_PROCESSOR = 3 };

/* An operand in row-major order; bytes 0: it was so, else of memory that the caller frees. */
typedef struct Dense {
    char *data;
    uint64_t bytes;
} Dense;
static bool make_dense(Cuda *c, const View *v, Dense *d, Err *err) {
    Engine *e = &c->host.engine;
    *d = (Dense){v->data, 0};
    if (view_is_contiguous(v)) return true;
    View to = view_dense(&v->type, e->ops->alloc(e, type_bytes(&v->type)));
    if (!to.data) return err_set(err, ERR_MEMORY, "no memory for a copy of an operand");
    *d = (Dense){to.data, type_bytes(&v->type)};
    return cuda_copy(c, &to, v, err);
}
static void drop(Cuda *c, const Dense *d) {
    if (d->bytes) c->host.engine.ops->free(&c->host.engine, d->data, d->bytes);
}

/* The weights (groups, O, C, k) as (groups, C, O, k). */
static View swapped(const View *w, int64_t groups) {
    View v = {.type = {.dtype = w->type.dtype, .rank = (uint8_t)(w->type.rank + 1)}};
    int64_t *shape = v.type.shape, *stride = v.stride, O = w->type.shape[0] / groups;
    shape[0] = groups, stride[0] = O * w->stride[0];
    shape[1] = w->type.shape[1], stride[1] = w->stride[1];
    shape[2] = O, stride[2] = w->stride[0];
    for (int d = 2; d < w->type.rank; d++)
        shape[d + 1] = w->type.shape[d], stride[d + 1] = w->stride[d];
    v.data = w->data;
    return v;
}

/* Sets what is gathered from: x, or dy of an input gradient. */
static void gather_from(ConvArgs *a, const ConvShape *s, const View *from, bool is_dx) {
    const Window *w = &s->window;
    a->from = from->data, a->from_image = from->stride[0], a->from_channel = from->stride[1];
    a->channels = (is_dx ? s->O : s->C) / s->groups;
    for (int d = 0; d < WINDOW_AXES; d++) {
        int axis = 2 + d - (WINDOW_AXES - w->n);
        a->from_axis[d] = axis < 2 ? 0 : from->stride[axis];
        a->inside[d] = (int32_t)(is_dx ? w->out[d] : w->in[d]);
        a->pixel[d] = (int32_t)(is_dx ? w->in[d] : w->out[d]);
        a->kernel[d] = (int32_t)w->kernel[d];
        a->pixel_step[d] = is_dx ? 1 : (int32_t)w->stride[d];
        a->pixel_first[d] = (int32_t)(is_dx ? w->padding[d] : -w->padding[d]);
        a->kernel_step[d] = (int32_t)(is_dx ? -w->dilation[d] : w->dilation[d]);
        a->divisor[d] = is_dx ? (int32_t)w->stride[d] : 1;
    }
    a->groups = s->groups, a->images = s->N;
    a->K = a->channels * window_volume(w->kernel);
    a->pixels = window_volume(is_dx ? w->in : w->out);
}

/* False: an extent that conv.cu cannot count. */
static bool is_countable(const ConvShape *s) {
    const Window *w = &s->window;
    const int64_t most = 1 << 29;
    bool ok = s->C * window_volume(w->kernel) < most && s->O * window_volume(w->kernel) < most &&
              window_volume(w->in) < most && window_volume(w->out) < most;
    for (int d = 0; d < WINDOW_AXES; d++)
        ok &= w->kernel[d] * w->dilation[d] < most && w->padding[d] < most && w->stride[d] < most &&
              w->out[d] * w->stride[d] < most;
    return ok;
}

/* Allocates parts and waiting sums, for as many thread blocks as can be had. As find_room of
 * product.c. */
static int64_t find_room(Cuda *c, ConvArgs *a, int acc_size, int64_t *blocks) {
    Engine *e = &c->host.engine;
    int64_t parts = a->blocks > 1 ? a->blocks * a->groups * a->rows * a->K * acc_size : 0;
    parts = (parts + 15) / 16 * 16;
    for (;; *blocks /= 2) {
        int64_t bytes = parts + *blocks * a->levels * TILE * TILE * acc_size;
        char *room = bytes ? e->ops->alloc(e, (uint64_t)bytes) : NULL;
        if (!bytes || room) {
            a->parts = parts ? room : NULL, a->waits = room + parts;
            return bytes;
        }
        if (*blocks == 1) return -1;
    }
}

static bool run(Cuda *c, ConvArgs *a, DType from, DType to, bool is_dw, Err *err) {
    Bytes head = {0};
    char name[40];
    DType acc = cuda_put_types(&head, from, to);
    int acc_size = dtype_info[acc].size_bytes, size = dtype_info[from].size_bytes;
    snprintf(name, sizeof name, "conv %d %d %d", from, to, is_dw);
    bytes_printf(&head, "#define IS_DW %d\n", is_dw);
    const CudaKernel *k = cuda_written(c, name, &head, cuda_conv_cu, "finish", err);
    if (!k) return false;
    int64_t line = is_dw ? a->pixels : a->K;
    a->read_left = line * size % 16 == 0 && (uintptr_t)a->left % 16 == 0 ? WIDE_BY_K : BY_K;
    int64_t n = is_dw && a->pixels > CONV_PIXELS ? CONV_PIXELS : line;
    a->levels = n ? tree_depth(tree_leaves(n)) : 0;
    if (acc_size < 8 && a->levels) a->levels--; /* one is in shared memory */
    a->levels += is_dw;
    int64_t columns = is_dw ? a->K : a->images * a->pixels;
    int64_t units = (is_dw ? a->blocks : 1) * a->groups * ((a->rows + TILE - 1) / TILE) *
                    ((columns + TILE - 1) / TILE);
    int64_t most = (int64_t)PER_PROCESSOR * c->processors, blocks = units < most ? units : most;
    int64_t bytes = find_room(c, a, acc_size, &blocks);
    if (bytes < 0)
        return err_set(err, ERR_MEMORY, "no memory for the partial sums of a convolution");
    bool ok = cuda_launch(c, k->run, blocks * CUDA_THREADS, a);
    if (a->parts) ok = ok && cuda_launch(c, k->finish, a->groups * a->rows * a->K, a);
    if (bytes)
        c->host.engine.ops->free(&c->host.engine, a->parts ? a->parts : a->waits, (uint64_t)bytes);
    return ok;
}

static bool conv(Cuda *c, const Call *call, Err *err) {
    Op op = call->inst->op;
    const View *first = &call->in[0], *second = &call->in[1], *out = &call->out[0];
    ConvArgs a = {.out = out->data, .blocks = 1};
    ConvShape s;
    if (type_numel(&out->type) == 0) return true;
    bool is_dx = op == OP_CONV_DX, is_dw = op == OP_CONV_DW;
    conv_shape(&s, call->inst, is_dx ? &out->type : &first->type,
               is_dw ? &out->type : &second->type,
               is_dx   ? &first->type
               : is_dw ? &second->type
                       : &out->type);
    if (!is_countable(&s)) return cuda_hosted(c, call, err);
    gather_from(&a, &s, first, is_dx);
    a.rows = (is_dx ? s.C : s.O) / s.groups;
    if (is_dw && s.N == 0) return cuda_clear(c, out->data, type_bytes(&out->type));
    if (is_dw) a.block = conv_leaf(a.pixels), a.blocks = (s.N + a.block - 1) / a.block;
    View left = is_dx ? swapped(second, s.groups) : *second;
    Dense dense;
    bool ok = make_dense(c, &left, &dense, err);
    a.left = dense.data;
    ok = ok && run(c, &a, (DType)first->type.dtype, (DType)out->type.dtype, is_dw, err);
    drop(c, &dense);
    return ok;
}
bool cuda_CONV(Cuda *c, const Call *call, Err *err) { return conv(c, call, err); }
bool cuda_CONV_DX(Cuda *c, const Call *call, Err *err) { return conv(c, call, err); }
bool cuda_CONV_DW(Cuda *c, const Call *call, Err *err) { return conv(c, call, err); }
