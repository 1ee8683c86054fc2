/* hosted.c: what has no kernel for the device: convolutions with extents that conv.cu cannot count.
 * The device is waited for, their operands are copied to the host, the engine cpu computes, and its
 * results are copied back in stream order. So they have the bits and errors of that engine, and are
 * slow: they wait.
 *
 * The host memory is an arena of its own, as large as the device's. Its pages exist once used.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/hosted.h"
#include "worker/cuda/copy.h"
#include "worker/cuda/fail.h"
#include "worker/cuda/graph.h"
#include <stdlib.h>

/* v without the axes along which it only repeats: they have extent 1. */
static View distinct(const View *v) {
    View r = *v;
    for (int d = 0; d < r.type.rank; d++)
        if (r.stride[d] == 0 && r.type.shape[d] > 1) r.type.shape[d] = 1;
    return r;
}

/* Copies operand v to `to`, row-major; *copy is the view of it there. */
static void fetch(Cuda *c, const View *v, void *to, View *copy) {
    View from = distinct(v);
    cuda_read(&c->host.engine, &from, 0, type_bytes(&from.type), to);
    *copy = *v;
    copy->data = to;
    view_strides(&from.type, copy->stride);
    for (int d = 0; d < v->type.rank; d++)
        if (from.type.shape[d] != v->type.shape[d]) copy->stride[d] = 0;
}

/* Reserves host memory for tensors of the call; views without data have none. */
static bool reserve(Engine *inner, const Call *call, View *in, View *out, Err *err) {
    bool ok = true;
    for (int i = 0; i < call->n_in; i++) {
        View v = distinct(&call->in[i]);
        in[i] = call->in[i];
        if (!v.is_scalar)
            ok &= (in[i].data = inner->ops->alloc(inner, type_bytes(&v.type))) != NULL;
    }
    for (int k = 0; k < call->n_out; k++) {
        out[k] = call->out[k];
        ok &= (out[k].data = inner->ops->alloc(inner, type_bytes(&out[k].type))) != NULL;
    }
    return ok || err_set(err, ERR_MEMORY, "no host memory for '%s'", op_info[call->inst->op].name);
}

static void release(Engine *inner, const Call *call, const View *in, const View *out) {
    for (int i = 0; i < call->n_in; i++) {
        View v = distinct(&call->in[i]);
        if (!v.is_scalar && in[i].data) inner->ops->free(inner, in[i].data, type_bytes(&v.type));
    }
    for (int k = 0; k < call->n_out; k++)
        if (out[k].data) inner->ops->free(inner, out[k].data, type_bytes(&out[k].type));
}

bool cuda_hosted(Cuda *c, const Call *call, Err *err) {
    EngineConfig config = {.memory_bytes = c->total, .threads = c->threads};
    if (cuda_is_captured(c)) return false;
    if (!c->inner) {
        c->inner = engine_cpu.open(&config, err);
        if (!c->inner) return false;
        c->inner->ops->set_cancel(c->inner, c->is_cancelled, c->cancel_ctx);
    }
    Ticket ticket = c->host.engine.last;
    Call inner = *call;
    Err why = {0};
    View *in = xcalloc((size_t)call->n_in + 1, sizeof *in);
    bool ok = reserve(c->inner, call, in, inner.out, err);
    for (int i = 0; i < call->n_in && ok; i++)
        if (!in[i].is_scalar) fetch(c, &call->in[i], in[i].data, &in[i]);
    if (ok && (ok = cuda_settle(c))) {
        inner.in = in;
        Ticket t = c->inner->ops->submit(c->inner, &inner, NULL, 0);
        ok = c->inner->ops->done(c->inner, t, true, &why) > 0;
        c->inner->ops->cancel(c->inner, false);
        for (int k = 0; k < call->n_out; k++)
            cuda_copy_in(&c->host.engine, call->out[k].data, inner.out[k].data,
                         type_bytes(&call->out[k].type));
    }
    release(c->inner, call, in, inner.out);
    free(in);
    if (why.code && why.code != ERR_MEMORY && why.code != ERR_CANCELLED) /* it depends on values */
        return cuda_fail(c, ticket, &why), true;
    if (why.code && err) *err = why;
    return ok;
}
