/* line.c: rows that go along an axis, by scan.cu and sort.cu.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/line.h"
#include "worker/cuda/copy.h"
#include "worker/cuda/kernel.h"
#include "worker/cuda/op.h"
#include "worker/cuda/texts.h"
#include "worker/engine/view.h"
#include <stdio.h>

enum { ROW_BEST = 1, ROW_CUMSUM, ROW_RECURRENCE, ROW_EXTREME, ROW_SEARCH };

/* Adds the axes of the views but `axis`, which the lines go along; -1: none. NULL: not there. */
static LineArgs lines_of(const View *a, const View *b, const View *out, int axis) {
    const View *v[LINE_OPERANDS] = {a, b, out};
    LineArgs l = {.lines = 1, .n = axis < 0 ? 1 : a->type.shape[axis]};
    for (int k = 0; k < LINE_OPERANDS; k++)
        if (v[k] && axis >= 0) l.step[k] = v[k]->stride[axis];
    for (int d = 0; d < a->type.rank; d++) {
        if (d == axis || a->type.shape[d] == 1) continue;
        for (int k = 0; k < LINE_OPERANDS; k++)
            if (v[k]) l.stride[k][l.rank] = v[k]->stride[d];
        l.shape[l.rank++] = a->type.shape[d];
        l.lines *= a->type.shape[d];
    }
    l.in[0] = a->data, l.in[1] = b ? b->data : NULL;
    return l;
}

static View result(const Call *call, int k) {
    View o = call->out[k];
    view_strides(&o.type, o.stride);
    return o;
}
static int axis_of(const Call *call) { return (int)inst_attr(call->inst, ATTR_AXIS)->ints[0]; }

/* Writes what the kernels need to know of a dtype, whose elements they read. */
static void put_types(Bytes *out, DType d) {
    bool is_float = dtype_is_float(d);
    int bits = 8 * dtype_info[d].size_bytes;
    uint64_t most = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    bytes_printf(out, "typedef %s T;\n#define KEY(x) key_%s(x)\n", emit_ctype(d),
                 dtype_info[d].text);
    bytes_printf(out, "#define KEY_MOST %lluULL\n", (unsigned long long)most);
    bytes_printf(out, "#define NAN_KEY %lluULL\n", is_float ? (unsigned long long)most : 0);
    bytes_printf(out, "typedef %s ACC;\ntypedef %s R;\n", is_float ? "double" : "uint64_t",
                 is_float ? emit_ctype(d) : "int64_t");
}

/* Runs scan.cu's ROW on elements of dtype d. */
static bool scan(Cuda *c, int row, DType d, const LineArgs *l, Err *err) {
    enum { FEW = 2 }; /* lines for each processor: too few for a thread each */
    char name[32];
    Bytes head = {0};
    bool has_block = row == ROW_CUMSUM || row == ROW_RECURRENCE || row == ROW_EXTREME;
    bool is_exact = row == ROW_EXTREME || (row == ROW_CUMSUM && !dtype_is_float(d));
    snprintf(name, sizeof name, "scan %d %d", row, d);
    bytes_printf(&head, "#define ROW %d\n#define EXACT %d\n", row, is_exact);
    put_types(&head, d);
    const CudaKernel *k =
        cuda_written(c, name, &head, cuda_scan_cu, has_block ? "block" : NULL, err);
    if (!k) return false;
    if (row == ROW_BEST) return cuda_launch(c, k->run, l->lines * CUDA_THREADS, l);
    if (has_block && l->lines <= (int64_t)FEW * c->processors)
        return cuda_launch_blocks(c, k->finish, l->lines, CUDA_THREADS, l);
    return cuda_launch(c, k->run, l->lines, l);
}

static bool best(Cuda *c, const Call *call, Err *err) {
    const View *x = &call->in[0];
    const Attr *axis = inst_attr(call->inst, ATTR_AXIS);
    Engine *e = &c->host.engine;
    View flat = {.type = {.dtype = x->type.dtype, .rank = 1}, .stride = {1}, .data = x->data};
    int64_t n = flat.type.shape[0] = type_numel(&x->type);
    if (n == 0) return true;
    bool is_copied = !axis && !view_is_contiguous(x), ok = true;
    if (is_copied) {
        View to = view_dense(&x->type, e->ops->alloc(e, type_bytes(&x->type)));
        if (!to.data) return err_set(err, ERR_MEMORY, "no memory for a copy of the operand");
        flat.data = to.data;
        ok = cuda_copy(c, &to, x, err);
    }
    LineArgs l = axis ? lines_of(x, NULL, NULL, axis_of(call)) : lines_of(&flat, NULL, NULL, 0);
    l.out[0] = call->out[0].data;
    l.flag = call->inst->op == OP_ARGMAX;
    ok = ok && scan(c, ROW_BEST, (DType)x->type.dtype, &l, err);
    if (is_copied) e->ops->free(e, flat.data, type_bytes(&flat.type));
    return ok;
}
bool cuda_ARGMAX(Cuda *c, const Call *call, Err *err) { return best(c, call, err); }
bool cuda_ARGMIN(Cuda *c, const Call *call, Err *err) { return best(c, call, err); }

static bool scan_row(Cuda *c, const Call *call, Err *err) {
    Op op = call->inst->op;
    View out = result(call, 0);
    if (type_numel(&out.type) == 0) return true;
    bool has_two = op == OP_RECURRENCE;
    LineArgs l = lines_of(&call->in[0], has_two ? &call->in[1] : NULL, &out, axis_of(call));
    l.out[0] = out.data, l.out[1] = call->n_out > 1 ? call->out[1].data : NULL;
    l.flag = has_two ? inst_bool(call->inst, ATTR_REVERSE, false)
                     : inst_bool(call->inst, ATTR_LARGEST, true);
    int row = has_two ? ROW_RECURRENCE : op == OP_CUMSUM ? ROW_CUMSUM : ROW_EXTREME;
    return scan(c, row, (DType)call->in[0].type.dtype, &l, err);
}
bool cuda_CUMSUM(Cuda *c, const Call *call, Err *err) { return scan_row(c, call, err); }
bool cuda_RECURRENCE(Cuda *c, const Call *call, Err *err) { return scan_row(c, call, err); }
bool cuda_CUMMAX(Cuda *c, const Call *call, Err *err) { return scan_row(c, call, err); }

bool cuda_SEARCHSORTED(Cuda *c, const Call *call, Err *err) {
    const View *v = &call->in[1];
    View x = call->in[0], line = {.type = v->type, .data = x.data};
    int last = x.type.rank - 1;
    if (type_numel(&v->type) == 0) return true;
    for (int d = 0; d < last && d < v->type.rank; d++)
        line.stride[d] = x.type.shape[d] == 1 ? 0 : x.stride[d];
    LineArgs l = lines_of(&line, v, NULL, -1);
    l.n = x.type.shape[last], l.step[0] = x.stride[last];
    l.out[0] = call->out[0].data;
    l.flag = inst_bool(call->inst, ATTR_RIGHT, false);
    return scan(c, ROW_SEARCH, (DType)x.type.dtype, &l, err);
}

/* ---- Order ---- */

static bool sort(Cuda *c, const CudaKernel *k, LineArgs *l) {
    l->run = 0;
    bool ok = cuda_launch(c, k->run, l->lines * l->padded, l);
    for (l->run = 2; l->run <= l->padded && ok; l->run *= 2)
        for (l->apart = l->run / 2; l->apart && ok; l->apart /= 2)
            ok = cuda_launch(c, k->finish, l->lines * (l->padded / 2), l);
    l->run = 1;
    return ok && cuda_launch(c, k->run, l->lines * l->count, l);
}

static bool sort_row(Cuda *c, const Call *call, Err *err) {
    enum { ITEM_BYTES = 16 };
    const View *x = &call->in[0];
    Op op = call->inst->op;
    Engine *e = &c->host.engine;
    View out = result(call, 0);
    if (type_numel(&out.type) == 0) return true;
    LineArgs l = lines_of(x, NULL, &out, axis_of(call));
    l.count = out.type.shape[axis_of(call)];
    l.flag = op == OP_TOPK ? inst_bool(call->inst, ATTR_LARGEST, true)
                           : inst_bool(call->inst, ATTR_DESCENDING, false);
    l.out[0] = op == OP_ARGSORT ? NULL : out.data;
    l.out[1] = op == OP_ARGSORT ? out.data : op == OP_TOPK ? call->out[1].data : NULL;
    for (l.padded = 1; l.padded < l.n;) l.padded *= 2;
    uint64_t bytes = (uint64_t)(l.lines * l.padded) * ITEM_BYTES;
    l.items = e->ops->alloc(e, bytes);
    if (!l.items) return err_set(err, ERR_MEMORY, "no memory to sort in");
    Bytes head = {0};
    char name[32];
    snprintf(name, sizeof name, "sort %d", x->type.dtype);
    put_types(&head, (DType)x->type.dtype);
    const CudaKernel *k = cuda_written(c, name, &head, cuda_sort_cu, "step", err);
    bool ok = k && sort(c, k, &l);
    e->ops->free(e, l.items, bytes);
    return ok;
}
bool cuda_SORT(Cuda *c, const Call *call, Err *err) { return sort_row(c, call, err); }
bool cuda_ARGSORT(Cuda *c, const Call *call, Err *err) { return sort_row(c, call, err); }
bool cuda_TOPK(Cuda *c, const Call *call, Err *err) { return sort_row(c, call, err); }
