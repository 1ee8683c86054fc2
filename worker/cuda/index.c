/* index.c: rows that read or write at indices, by index.cu. See fail.c for indices out of range.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/index.h"
#include "runtime/infer/shape.h"
#include "worker/cuda/copy.h"
#include "worker/cuda/fail.h"
#include "worker/cuda/kernel.h"
#include "worker/cuda/op.h"
#include "worker/cuda/texts.h"
#include "worker/engine/view.h"
#include <stdio.h>
#include <string.h>

/* Stride of v along axis d of a shape of `rank` axes to which it broadcasts. */
static int64_t stride_along(const View *v, int rank, int d) {
    int own = d - (rank - v->type.rank);
    return own < 0 || v->type.shape[own] == 1 ? 0 : v->stride[own];
}

/* Fills what concerns the index operands of x's axes from of->axis on. */
static void set_indices(IndexArgs *a, const Indices *of, const View *x) {
    const TensorType *common = &of->common;
    a->from_zero = of->from_zero;
    a->common_rank = common->rank, a->common_n = type_numel(common);
    for (int d = 0; d < common->rank; d++) a->common[d] = common->shape[d];
    for (int k = 0; k < of->n; k++) {
        const View *idx = &of->idx[k];
        int bytes = dtype_info[idx->type.dtype].size_bytes;
        a->idx[k] = idx->data;
        a->idx_bytes |= (int64_t)(idx->type.dtype == DT_U8 ? 2 : bytes) << 4 * k;
        a->size[k] = of->size[k];
        a->step[k] = x->stride[of->axis + k];
        for (int d = 0; d < common->rank; d++)
            a->common_stride[k][d] = stride_along(idx, common->rank, d);
    }
}

/* The k index operands of an instruction on x. */
static Indices indices_of(const Call *call, const View *x, const View *idx, int k) {
    Indices of = {.n = k, .axis = (int)inst_attr(call->inst, ATTR_AXIS)->ints[0]};
    of.from_zero = inst_bool(call->inst, ATTR_FROM_ZERO, false);
    of.common = idx[0].type;
    for (int i = 0; i < k; i++) {
        TensorType before = of.common;
        if (i) shape_broadcast(&before, &idx[i].type, &of.common);
        of.idx[i] = idx[i];
        of.size[i] = x->type.shape[of.axis + i];
    }
    return of;
}
static Indices index_along(const Call *call, const View *x) {
    Indices of = indices_of(call, x, &call->in[1], 1);
    of.from_zero = of.is_along = true;
    return of;
}

/* Adds an axis of the space. idx: the axis of the indices' common shape; -1: none. */
static void add_axis(IndexArgs *a, const Indices *of, int64_t extent, int64_t own, int64_t value,
                     int idx) {
    int64_t d = a->rank++;
    a->shape[d] = extent, a->own[d] = own, a->value[d] = value;
    for (int k = 0; k < of->n && idx >= 0; k++)
        a->stride[k][d] = stride_along(&of->idx[k], of->common.rank, idx);
}

/* Checks the indices, and runs the kernel with MEET(x, y) = meet; NULL: it only reads. */
static bool run(Cuda *c, IndexArgs *a, const Indices *of, DType d, const char *meet, Err *err) {
    static const char *const bits[] = {
        [1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t", [8] = "uint64_t"};
    bool moves = !meet || !strcmp(meet, "(y)");
    const char *type = moves ? bits[dtype_info[d].size_bytes] : emit_ctype(d);
    char name[96];
    Bytes head = {0};
    snprintf(name, sizeof name, "index %d %s %s", of->n, type, meet ? meet : "");
    bytes_printf(&head, "typedef %s T;\n#define INDICES %d\n#define PUTS %d\n", type, of->n,
                 meet != NULL);
    bytes_printf(&head, "#define MEET(x, y) %s\n", meet ? meet : "");
    const CudaKernel *k = cuda_written(c, name, &head, cuda_index_cu, "check", err);
    if (!k || !(a->record = cuda_take_slot(c, of))) return false;
    return cuda_launch(c, k->finish, a->common_n * of->n, a) &&
           cuda_launch(c, k->run, a->lines * a->buckets, a);
}

static bool read_at(Cuda *c, const Call *call, Err *err) {
    const View *x = &call->in[0], *o = &call->out[0];
    IndexArgs a = {.x = x->data, .out = o->data, .lines = type_numel(&o->type), .buckets = 1};
    if (a.lines == 0) return true;
    bool gathers = call->inst->op == OP_GATHER;
    Indices of = gathers ? index_along(call, x) : indices_of(call, x, call->in + 1, call->n_in - 1);
    int common = gathers ? 1 : of.common.rank;
    set_indices(&a, &of, x);
    for (int d = 0; d < o->type.rank; d++) {
        bool is_common = d >= of.axis && d < of.axis + common;
        int own = d < of.axis ? d : d - common + of.n, idx = d - of.axis;
        if (gathers) idx = d;
        add_axis(&a, &of, o->type.shape[d], is_common ? 0 : x->stride[own], 0,
                 gathers || is_common ? idx : -1);
    }
    return run(c, &a, &of, (DType)x->type.dtype, NULL, err);
}
bool cuda_INDEX(Cuda *c, const Call *call, Err *err) { return read_at(c, call, err); }
bool cuda_GATHER(Cuda *c, const Call *call, Err *err) { return read_at(c, call, err); }

/* Shares the lines between threads, so that there are enough. n: destinations of a line. */
static void share_lines(IndexArgs *a, int64_t unit, int64_t n) {
    enum { WANTED = 1024 };
    a->unit = unit;
    a->buckets = a->lines >= WANTED ? 1 : WANTED / a->lines;
    if (a->buckets > n) a->buckets = n;
    if (a->buckets > a->turns) a->buckets = a->turns;
    if (a->buckets < 1) a->buckets = 1;
}

static void name_meet(char *to, size_t size, DType d, const char *how) {
    snprintf(to, size, "%s_%s(x, y)", dtype_info[d].text, how);
}

bool cuda_INDEX_PUT(Cuda *c, const Call *call, Err *err) {
    View o = call->out[0];
    const View *v = &call->in[1];
    int k = call->n_in - 2;
    view_strides(&o.type, o.stride);
    if (!cuda_copy(c, &o, &call->in[0], err)) return false;
    Indices of = indices_of(call, &o, call->in + 2, k);
    IndexArgs a = {.out = o.data, .from = v->data, .lines = 1};
    int common = of.common.rank, rank = o.type.rank - k + common;
    int64_t n = 1;
    set_indices(&a, &of, &o);
    for (int d = 0; d < o.type.rank; d++) {
        if (d >= of.axis && d < of.axis + k) {
            n *= o.type.shape[d];
            continue;
        }
        int at = d < of.axis ? d : d - k + common;
        add_axis(&a, &of, o.type.shape[d], o.stride[d], stride_along(v, rank, at), -1);
        a.lines *= o.type.shape[d];
    }
    a.line_rank = a.rank;
    a.turns = type_numel(&of.common);
    for (int d = 0; d < common; d++)
        add_axis(&a, &of, of.common.shape[d], 0, stride_along(v, rank, of.axis + d), d);
    if (a.lines == 0 || a.turns == 0) return true;
    share_lines(&a, o.stride[of.axis + k - 1], n);
    DType d = (DType)o.type.dtype;
    char meet[32] = "(y)";
    if (inst_bool(call->inst, ATTR_ACCUMULATE, false)) name_meet(meet, sizeof meet, d, "add");
    return run(c, &a, &of, d, meet, err);
}

static bool scatter(Cuda *c, const Call *call, Err *err) {
    View o = call->out[0];
    const View *src = &call->in[2];
    view_strides(&o.type, o.stride);
    if (!cuda_copy(c, &o, &call->in[0], err)) return false;
    Indices of = index_along(call, &o);
    const TensorType *shape = &of.common;
    if (type_numel(shape) == 0) return true;
    IndexArgs a = {.out = o.data, .from = src->data};
    set_indices(&a, &of, &o);
    for (int d = 0; d < shape->rank; d++)
        if (d != of.axis) add_axis(&a, &of, shape->shape[d], o.stride[d], src->stride[d], d);
    a.line_rank = a.rank;
    a.turns = shape->shape[of.axis];
    a.lines = type_numel(shape) / a.turns;
    add_axis(&a, &of, a.turns, 0, src->stride[of.axis], of.axis);
    share_lines(&a, o.stride[of.axis], o.type.shape[of.axis]);
    const char *how = "add";
    if (call->inst->op == OP_SCATTER_REDUCE) {
        how = inst_attr(call->inst, ATTR_REDUCE)->str;
        how = how[0] == 'p' ? "mul" : how[2] == 'a' ? "max" : "min";
    }
    char meet[32];
    name_meet(meet, sizeof meet, (DType)o.type.dtype, how);
    return run(c, &a, &of, (DType)o.type.dtype, meet, err);
}
bool cuda_SCATTER_ADD(Cuda *c, const Call *call, Err *err) { return scatter(c, call, err); }
bool cuda_SCATTER_REDUCE(Cuda *c, const Call *call, Err *err) { return scatter(c, call, err); }
