/* op.c: runs fusions; and single calls: pointwise operations, casts and constants as fusions of one
 * node, reductions too.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/element.h"
#include "runtime/layout/nodes.h"
#include "runtime/inst/reduction.h"
#include "worker/cuda/op.h"
#include "worker/cuda/copy.h"
#include "worker/cuda/fail.h"
#include "worker/cuda/hosted.h"
#include "worker/cuda/kernel.h"
#include <string.h>

/* Sets is_far if all vectors of the kernel's wide loop are aligned. */
static void find_wide(Fusion *f, int wide) {
    bool is = wide > 1;
    for (int k = 0; k < f->n_inputs; k++) {
        uint64_t bytes = (uint64_t)(wide * dtype_info[f->input[k].type.dtype].size_bytes);
        if (f->stride_kind[k] == STRIDE_ONE) is &= (uintptr_t)f->args.in[k] % bytes == 0;
    }
    for (int i = 0; i < f->n_nodes; i++) {
        uint64_t bytes = (uint64_t)(wide * dtype_info[f->node[i].dtype].size_bytes);
        if (f->node[i].is_stored) is &= (uintptr_t)f->args.out[f->node[i].output] % bytes == 0;
    }
    f->args.is_far = is;
}

/* Finds the axis along which operands that are read across have adjacent elements. Fills what the
 * kernel needs to know. Returns how many tiles there are; 0: it is not worth it. */
static int64_t find_tiles(Fusion *f, uint32_t may_tile) {
    enum { FEW = 8 };
    FusedArgs *a = &f->args;
    int64_t axis = -1;
    a->is_far = 0;
    for (int k = 0; k < f->n_inputs; k++) {
        int64_t size = dtype_info[f->input[k].type.dtype].size_bytes;
        if (!(may_tile >> k & 1)) continue;
        for (int64_t d = 0; d < a->inner.rank && axis < 0; d++)
            if (a->inner.stride[k][d] == size && a->inner.shape[d] >= FEW) axis = d;
        if (axis >= 0 && a->inner.stride[k][axis] == size) a->is_far |= INT64_C(1) << k;
    }
    if (axis < 0 || a->line < FEW) return a->is_far = 0;
    a->ahead[0] = axis;
    int64_t deep = a->inner.shape[axis];
    return a->n / a->line / deep * ((a->line + CUDA_TILE - 1) / CUDA_TILE) *
           ((deep + CUDA_TILE - 1) / CUDA_TILE);
}

static bool run_elements(Cuda *c, Fusion *f, const CudaKernel *k) {
    int64_t tiles = k->form.tiles ? find_tiles(f, k->form.tiles) : 0;
    if (tiles) return cuda_launch(c, k->finish, tiles * CUDA_THREADS, &f->args);
    find_wide(f, k->form.wide);
    int64_t turns = f->args.is_far ? f->args.n / k->form.wide : f->args.n;
    return cuda_launch(c, k->run, turns ? turns : 1, &f->args);
}

static bool run_rows(Cuda *c, Fusion *f, const CudaKernel *k, Err *err) {
    f->args.blocks = (f->args.n + k->block - 1) / k->block;
    uint64_t bytes = 8 * (uint64_t)(k->form.reductions * f->args.rows * f->args.blocks +
                                    k->form.columns * fused_leaves(&f->args) * f->args.n);
    Engine *e = &c->host.engine;
    if (cuda_holds_rows(k, &f->args)) bytes = 0;
    bytes += 8 * (uint64_t)(k->form.totals * f->args.rows);
    f->args.table = bytes ? e->ops->alloc(e, bytes) : NULL;
    if (bytes && !f->args.table) return err_set(err, ERR_MEMORY, "no memory for a reduction");
    bool ok = cuda_launch_rows(c, k, &f->args);
    if (bytes) e->ops->free(e, f->args.table, bytes);
    return ok;
}

/* Runs the kernel of a fusion whose outputs are filled in. False: err says why. */
static bool run_fusion(Cuda *c, Fusion *f, const CudaKernel *k, Err *err) {
    return k->form.unit == FUSED_ELEMENTS ? run_elements(c, f, k) : run_rows(c, f, k, err);
}

/* Of a device that is lost the next mark says so. It is lost too if there is no memory for a later
 * kernel of the fusion: the first may have overwritten an operand. */
bool cuda_fused(Engine *e, Fusion *f, const FusedKernel *k) {
    Cuda *c = (Cuda *)e;
    Err err = {0};
    e->last = c->requests += 2;
    if (!cuda_enter(c) || !cuda_take_fused_slots(c, f) ||
        run_fusion(c, f, (const CudaKernel *)(const void *)k, &err))
        return true;
    if (c->no_room.code && c->has_launched && !c->lost.code) c->lost = c->no_room;
    return c->lost.code || (err.code != ERR_MEMORY && !c->no_room.code);
}

/* The same with the kernel of a single operation. block: see cuda_kernel. */
static bool run_single(Cuda *c, Fusion *f, int block, Err *err) {
    const CudaKernel *k = cuda_kernel(c, f, block, err);
    return k && run_fusion(c, f, k, err);
}

/* One operation: a MAP row, a cast, a constant. */
static bool run_node(Cuda *c, const Call *call, Op op, Err *err) {
    const View *out = &call->out[0];
    Fusion f;
    FuseRef in[3];
    fuse_init(&f, &out->type, 0);
    for (int i = 0; i < call->n_in; i++) {
        const View *v = &call->in[i];
        in[i] = v->is_scalar ? fuse_scalar(&f, (DType)v->type.dtype, v->data) : fuse_input(&f, v);
    }
    FuseRef node = fuse_node(&f, op, (DType)out->type.dtype, false, in, call->n_in);
    char **to = fuse_store(&f, node);
    if (!fuse_done(&f)) return true; /* no elements */
    *to = out->data;
    return run_single(c, &f, FUSED_BLOCK, err);
}

/* Sets all elements to a value: int64 or float64, as immediates of sources are.*/
static bool fill(Cuda *c, const View *out, DType from, const void *value, Err *err) {
    DType d = fuse_computes((DType)out->type.dtype);
    double room = 0;
    Fusion f;
    if (from == DT_F64)
        element_set_float(d, &room, element_float(from, value));
    else
        element_set_int(d, &room, element_int(from, value));
    fuse_init(&f, &out->type, 0);
    FuseRef in = fuse_scalar(&f, d, &room);
    char **to = fuse_store(&f, fuse_node(&f, OP_FULL, (DType)out->type.dtype, false, &in, 1));
    if (!fuse_done(&f)) return true;
    *to = out->data;
    return run_single(c, &f, FUSED_BLOCK, err);
}

/* ---- Reductions ---- */

/* x with its reduced axes last, or first. Returns how many they are. */
static int turned(const View *x, uint32_t reduced, bool is_first, View *out) {
    int n = 0, trailing = 0;
    *out = *x;
    for (int k = 0; k < 2; k++)
        for (int d = 0, pass = k ^ is_first; d < x->type.rank; d++) {
            if ((reduced >> d & 1) != (unsigned)pass) continue;
            out->type.shape[n] = x->type.shape[d];
            out->stride[n++] = x->stride[d];
            trailing += pass;
        }
    return trailing;
}

typedef struct Reduction {
    Op op;
    int trailing; /* reduced axes: the last ones, or the first of a sum over rows */
    /* A sum over rows has leaves: of rows, or, if the last axis is reduced too, of elements. */
    bool has_leaves, sums_rows;
} Reduction;

static bool reduce(Cuda *c, const Reduction *r, const View *v, const View *out, Err *err) {
    Fusion f;
    DType d = (DType)out->type.dtype;
    fuse_init(&f, &v->type, r->sums_rows ? v->type.rank - r->trailing : r->trailing);
    FuseRef in = fuse_input(&f, v);
    FuseRef node =
        r->sums_rows ? fuse_column(&f, r->op, d, false, in) : fuse_node(&f, r->op, d, true, &in, 1);
    char **to = fuse_store(&f, node);
    if (!fuse_done(&f)) return err_set(err, ERR_INTERNAL, "an empty reduction");
    *to = out->data;
    bool has_nodes = r->has_leaves && !r->sums_rows; /* of elements: blocks of another length */
    if (has_nodes) f.args.blocks = 0;
    return run_single(c, &f, has_nodes ? FUSED_LEAF : FUSED_BLOCK, err);
}

/* The elements are those of several nodes of a larger sum (runtime/layout/nodes.h), of a result
 * each. They are copied, so that a node's elements are a part of one axis. */
static bool reduce_nodes(Cuda *c, const Reduction *r, const Attr *nodes, const View *v,
                         const View *out, Err *err) {
    Engine *e = &c->host.engine;
    uint64_t bytes = type_bytes(&v->type);
    int size = dtype_info[v->type.dtype].size_bytes, kept = v->type.rank - r->trailing;
    View all = view_dense(&v->type, e->ops->alloc(e, bytes)), part, one = *out;
    if (!all.data) return err_set(err, ERR_MEMORY, "no memory for a reduction");
    bool ok = cuda_copy(c, &all, v, err);
    int64_t n = 1;
    for (int k = 0; k < r->trailing; k++) n *= v->type.shape[r->sums_rows ? k : kept + k];
    part = all;
    part.type.rank = (uint8_t)(kept + 1);
    int axis = r->sums_rows ? 0 : kept;
    for (int k = 0; k < kept && r->sums_rows; k++)
        part.type.shape[1 + k] = v->type.shape[r->trailing + k];
    part.type.shape[axis] = n;
    view_strides(&part.type, part.stride);
    one.type.rank--;
    for (int k = 0; k < one.type.rank; k++) one.type.shape[k] = out->type.shape[k + 1];
    Reduction along = *r;
    along.trailing = 1;
    for (uint32_t k = 0; k < nodes->n && ok; k++) {
        part.type.shape[axis] = nodes->ints[k];
        ok = reduce(c, &along, &part, &one, err);
        part.data = (char *)part.data + nodes->ints[k] * part.stride[axis] * size;
        one.data = (char *)one.data + type_bytes(&one.type);
    }
    e->ops->free(e, all.data, bytes);
    return ok;
}

static bool run_reduce(Cuda *c, const Call *call, Err *err) {
    const View *x = &call->in[0], *out = &call->out[0];
    const Attr *nodes = inst_attr(call->inst, ATTR_NODES);
    Reduction r = {.op = call->inst->op};
    View v;
    uint32_t reduced = nodes_reduced(call->inst, x->type.rank);
    r.has_leaves = nodes_sums_rows(call->inst, &x->type);
    r.sums_rows = r.has_leaves && !(reduced >> (x->type.rank - 1) & 1);
    r.trailing = turned(x, reduced, r.sums_rows, &v);
    if (type_numel(&out->type) == 0) return true;
    if (!r.trailing) { /* of a scalar */
        r.trailing = 1;
        v.stride[v.type.rank] = 1, v.type.shape[v.type.rank++] = 1;
    }
    if (type_numel(&v.type) == 0) /* inference refuses the largest of none */
        return fill(c, out, DT_I64, &(int64_t){op_neutral_int(r.op, DT_I64)}, err);
    return nodes ? reduce_nodes(c, &r, nodes, &v, out, err) : reduce(c, &r, &v, out, err);
}

/* A copy of the elements in row-major order. */
static bool run_reshape(Cuda *c, const Call *call, Err *err) {
    View to = view_dense(&call->in[0].type, call->out[0].data);
    return cuda_copy(c, &to, &call->in[0], err);
}

/* ---- Halves ---- */

/* Converts between dtypes. from: of any strides; to: row-major. */
static bool convert(Cuda *c, const View *from, const View *to, Err *err) {
    View in = *from;
    Call call = {.n_in = 1, .n_out = 1, .in = &in, .out = {*to}};
    return run_node(c, &call, OP_CAST, err);
}

/* Gives v, of halves, float32 memory, which the caller frees by v->data. */
static bool widen(Cuda *c, View *v, bool is_result, Err *err) {
    Engine *e = &c->host.engine;
    View from = *v;
    v->type.dtype = DT_F32;
    v->data = e->ops->alloc(e, type_bytes(&v->type));
    if (!v->data) return err_set(err, ERR_MEMORY, "no memory for float32 copies of operands");
    view_strides(&v->type, v->stride);
    return is_result || convert(c, &from, v, err);
}

/* For a row that has no code for halves: runs it with float32 operands, and rounds its results. */
static bool run_widened(Cuda *c, const Call *call, bool (*row)(Cuda *, const Call *, Err *),
                        Err *err) {
    Engine *e = &c->host.engine;
    Call wide = *call;
    View in[MAX_DIMS + 2];
    bool ok = true;
    wide.in = in;
    if (call->n_in > MAX_DIMS + 2) return cuda_hosted(c, call, err);
    for (int i = 0; i < call->n_in; i++) in[i] = call->in[i];
    for (int i = 0; i < call->n_in && ok; i++)
        if (dtype_is_half((DType)in[i].type.dtype)) ok = widen(c, &in[i], false, err);
    for (int k = 0; k < call->n_out && ok; k++)
        if (dtype_is_half((DType)wide.out[k].type.dtype)) ok = widen(c, &wide.out[k], true, err);
    ok = ok && row(c, &wide, err);
    for (int k = 0; k < call->n_out; k++) {
        if (wide.out[k].type.dtype == call->out[k].type.dtype || !wide.out[k].data) continue;
        ok = ok && convert(c, &wide.out[k], &call->out[k], err);
        e->ops->free(e, wide.out[k].data, type_bytes(&wide.out[k].type));
    }
    for (int i = 0; i < call->n_in; i++)
        if (in[i].type.dtype != call->in[i].type.dtype && in[i].data)
            e->ops->free(e, in[i].data, type_bytes(&in[i].type));
    return ok;
}

static bool has_half(const Call *call) {
    bool has = false;
    for (int i = 0; i < call->n_in; i++) has |= dtype_is_half((DType)call->in[i].type.dtype);
    for (int k = 0; k < call->n_out; k++) has |= dtype_is_half((DType)call->out[k].type.dtype);
    return has;
}

bool cuda_CAST(Cuda *c, const Call *call, Err *err) { return run_node(c, call, OP_CAST, err); }

typedef bool (*RowFn)(Cuda *c, const Call *call, Err *err);
static const RowFn rows[OP_COUNT] = {
#define KERNEL(id, ...) [OP_##id] = cuda_##id,
#include "runtime/inst/ops.def"
};

/* True if the row's function takes halves. */
static bool takes_halves(const Call *call) {
    Op op = call->inst->op;
    if (op_has(op, FACT_PRODUCT)) return true;
    return op_has(op, FACT_HALVES) && !inst_bool(call->inst, ATTR_ACCUMULATE, false);
}

bool cuda_run(Cuda *c, const Call *call, Err *err) {
    Op op = call->inst->op;
    switch (op_info[op].class_) {
    case CLASS_MAP: return run_node(c, call, op, err);
    case CLASS_REDUCE: return run_reduce(c, call, err);
    case CLASS_VIEW: return run_reshape(c, call, err);
    default: break;
    }
    if (op == OP_FULL)
        return fill(c, &call->out[0], (DType)call->in[0].type.dtype, call->in[0].data, err);
    if (op_info[op].class_ == CLASS_SOURCE) return cuda_source(c, call, err);
    if (takes_halves(call) || !has_half(call)) return rows[op](c, call, err);
    return run_widened(c, call, rows[op], err);
}
