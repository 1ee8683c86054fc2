/* ref.c: the engine `reference`: runs every call inside submit, with plain loops, in the arena of
 * mem.h. The rows are in the other files ref_*.c. ref.h says what the engine is for.
 * SPDX-License-Identifier: MIT */
#include "worker/ref/ref.h"
#include "runtime/base/buf.h"
#include "worker/engine/factor.h"
#include "worker/engine/host.h"

#include <stdlib.h>
#include <string.h>

static bool (*const kernels[OP_COUNT])(const Call *, Err *) = {
#define KERNEL(id, ...) [OP_##id] = ref_##id,
#include "runtime/inst/ops.def"
};

static Engine *ref_open(const EngineConfig *config, Err *err) {
    HostEngine *h = xcalloc(1, sizeof *h);
    if (!host_open(h, &engine_reference, config, err)) return free(h), NULL;
    return &h->engine;
}

static void ref_close(Engine **e) {
    if (!*e) return;
    host_close((HostEngine *)*e);
    free(*e);
    *e = NULL;
}

static const char *ref_isa(const Engine *e) { return "reference"; }

/* ---- Halves: computed in double, rounded by way of float32 when the row is done ---- */

static bool is_half(const View *v) { return dtype_is_half((DType)v->type.dtype); }

/* True if v is widened to double: a half, or an immediate of a call with halves, which is a
 * float32. */
static bool widens(const View *v) {
    return is_half(v) || (v->is_scalar && v->type.dtype == DT_F32);
}

static View wide_view(const View *v) {
    View w = view_dense(&v->type, xcalloc((size_t)type_numel(&v->type) + 1, sizeof(double)));
    w.type.dtype = DT_F64;
    w.is_scalar = v->is_scalar;
    return w;
}
static void convert(const View *from, const View *to) {
    int64_t index[MAX_DIMS] = {0}, at = 0;
    if (ref_is_empty(&to->type)) return;
    do {
        ref_set_float(to, at++, ref_float(from, ref_offset(from, index, to->type.rank)));
    } while (ref_step(index, &to->type));
}

/* Returns the call with doubles in place of halves; narrow converts its results back. */
static Call widen(const Call *c) {
    Call w = *c;
    w.in = xcalloc((size_t)c->n_in + 1, sizeof *w.in);
    for (int i = 0; i < c->n_in; i++) {
        w.in[i] = c->in[i];
        if (widens(&c->in[i])) w.in[i] = wide_view(&c->in[i]), convert(&c->in[i], &w.in[i]);
    }
    for (int i = 0; i < c->n_out; i++)
        if (is_half(&c->out[i])) w.out[i] = wide_view(&c->out[i]);
    return w;
}

static void narrow(Call *wide, const Call *c) {
    for (int i = 0; i < c->n_in; i++)
        if (widens(&c->in[i])) free(wide->in[i].data);
    for (int i = 0; i < c->n_out; i++) {
        if (!is_half(&c->out[i])) continue;
        convert(&wide->out[i], &c->out[i]);
        free(wide->out[i].data);
    }
    free(wide->in);
}

static bool has_half(const Call *c) {
    bool has = false;
    for (int i = 0; i < c->n_in; i++) has |= is_half(&c->in[i]);
    for (int i = 0; i < c->n_out; i++) has |= is_half(&c->out[i]);
    return has;
}

/* Returns the bytes that a row takes beside its results. Operands count with all their
 * elements: one that is broadcast may be far larger than the memory. */
static double side_bytes(const Call *c) {
    Op op = c->inst->op;
    const View *x = &c->in[0], *o = &c->out[0];
    double bytes = 0;
    switch (op) {
    case OP_SORT:
    case OP_ARGSORT:
    case OP_TOPK: bytes = 16 * (double)x->type.shape[inst_attr(c->inst, ATTR_AXIS)->ints[0]]; break;
    case OP_CHOLESKY:
    case OP_LU:
    case OP_SOLVE:
    case OP_SOLVE_TRIANGULAR: {
        double n = (double)o->type.shape[o->type.rank - 2];
        bytes = 8 * n * (n + 2 * (double)o->type.shape[o->type.rank - 1]);
        break;
    }
    case OP_QR:
    case OP_EIGH:
    case OP_SVD: {
        int64_t m = x->type.shape[x->type.rank - 2], n = x->type.shape[x->type.rank - 1];
        int64_t each = o->type.shape[o->type.rank - 2] * o->type.shape[o->type.rank - 1];
        bytes = 8 * (double)(m * n + each + linalg_factor_work(op, m, n));
        break;
    }
    default: break;
    }
    if (!has_half(c) || op == OP_CAST) return bytes;
    for (int i = 0; i < c->n_in; i++)
        if (widens(&c->in[i])) bytes += 8 * (double)type_numel(&c->in[i].type);
    for (int i = 0; i < c->n_out; i++)
        if (is_half(&c->out[i])) bytes += 8 * (double)type_numel(&c->out[i].type);
    return bytes;
}

/* True if that much would fit into the engine's memory, although the row allocates it elsewhere. */
static bool has_room(const HostEngine *r, const Call *c, Err *err) {
    char need[24], all[24];
    uint64_t used, peak, total;
    double bytes = side_bytes(c);
    mem_usage(r->mem, &used, &peak, &total);
    if (bytes <= (double)total) return true;
    return err_set(err, ERR_MEMORY, "out of memory: '%s' needs %s beside its result, of %s",
                   op_info[c->inst->op].name,
                   bytes_text(bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX, need),
                   bytes_text(total, all));
}

/* Runs a MAP or KERNEL row. */
static bool run_row(const HostEngine *r, const Call *c, Err *err) {
    Op op = c->inst->op;
    if (!has_room(r, c, err)) return false;
    bool is_map = op_info[op].class_ == CLASS_MAP, ok = true;
    bool is_wide = has_half(c) && op != OP_CAST; /* a cast handles any dtype */
    Call call = is_wide ? widen(c) : *c;
    if (is_map)
        ref_map(&call);
    else
        ok = kernels[op](&call, err);
    if (is_wide) narrow(&call, c);
    return ok;
}

static Ticket ref_submit(Engine *e, const Call *call, const Ticket *after, int n_after) {
    HostEngine *r = (HostEngine *)e;
    Op op = call->inst->op;
    Err err = {0};
    bool ok = true;
    switch (op_info[op].class_) {
    case CLASS_REDUCE: ref_reduce(call); break;
    case CLASS_VIEW: ref_copy(&call->in[0], call->out[0].data); break;
    case CLASS_SOURCE: ref_source(call); break;
    case CLASS_MAP:
    case CLASS_KERNEL: ok = run_row(r, call, &err); break;
    case CLASS_CONTROL: panic("'%s' is not for engines", op_info[op].name);
    }
    return host_ticket(r, ok ? NULL : &err);
}

static void ref_copy_out(Engine *e, void *host, const View *v) { ref_copy(v, host); }

const EngineOps engine_reference = {
    HOST_ENGINE_OPS,    .hash = host_hash, .name = "reference",  .open = ref_open,
    .close = ref_close, .isa = ref_isa,    .submit = ref_submit, .copy_out = ref_copy_out,
};
