/* effect.c: effects: copies their operands' values to host memory and sends them in a REPLY. Of a
 * tensor larger than the threshold, print and peek send only the edge items: printing 4 GB sends
 * less than 1 KB.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/effect.h"
#include "worker/exec/exec.h"
#include "worker/exec/issue.h"
#include "worker/exec/watch.h"
#include "runtime/inst/element.h"
#include "runtime/wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_THRESHOLD = 1000, DEFAULT_EDGE = 3, SMALL_BYTES = INLINE_BYTES };

/* Copies the edge items of the axes from `axis` on to *to, row-major, and advances *to. */
static void copy_edges(Exec *x, View v, int axis, int64_t edge, char **to) {
    int64_t n = v.type.shape[axis], size = dtype_info[v.type.dtype].size_bytes;
    bool is_elided = n > 2 * edge;
    char *base = v.data;
    if (axis == v.type.rank - 1) {
        View run = {
            .type = {.dtype = v.type.dtype, .rank = 1}, .stride = {v.stride[axis]}, .data = base};
        run.type.shape[0] = is_elided ? edge : n;
        x->ops->copy_out(x->engine, *to, &run);
        *to += run.type.shape[0] * size;
        if (!is_elided) return;
        run.data = base + (n - edge) * v.stride[axis] * size;
        x->ops->copy_out(x->engine, *to, &run);
        *to += edge * size;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (is_elided && i == edge) i = n - edge;
        v.data = base + i * v.stride[axis] * size;
        copy_edges(x, v, axis + 1, edge, to);
    }
}

static uint32_t edge_of(const Inst *in, const TensorType *t) {
    if (t->rank == 0 || (in->op != OP_PRINT && in->op != OP_PEEK)) return 0;
    if (type_numel(t) <= inst_int(in, ATTR_THRESHOLD, DEFAULT_THRESHOLD)) return 0;
    int64_t edge = inst_int(in, ATTR_EDGE, DEFAULT_EDGE);
    return edge < 1 ? 1 : (uint32_t)edge;
}

static void free_data(void *data, void *ctx) {
    (void)ctx;
    free(data);
}

/* Copies a value into r; a large one into *buf, which is sent without another copy. Returns false
 * if there is no host memory for it (an expanded view may be far larger than its storage). */
static bool take_value(Exec *x, const Inst *in, const View *v, ReplyValue *r, Buf **buf) {
    r->type = v->type;
    r->edge = edge_of(in, &v->type);
    r->bytes =
        reply_value_numel(&v->type, r->edge) * (uint64_t)dtype_info[v->type.dtype].size_bytes;
    char *to;
    if (r->bytes > SMALL_BYTES) {
        to = r->bytes <= MAX_MSG_BYTES ? malloc(r->bytes) : NULL;
        if (!to) return false;
        *buf = buf_wrap(to, r->bytes, free_data, NULL);
    } else {
        to = arena_alloc(&x->scratch, r->bytes);
    }
    r->data = to;
    if (r->bytes == 0) return true;
    if (r->edge)
        copy_edges(x, *v, 0, r->edge, &to);
    else
        x->ops->copy_out(x->engine, to, v);
    return true;
}

static ErrCode fail_value(Exec *x, Job *j, ReplyValue *r) {
    Err err = {0};
    char size[24];
    err_set(&err, ERR_MEMORY, "%s: no memory on the host for a value of %s",
            op_info[j->inst.op].name, bytes_text(r->bytes, size));
    exec_fail(x, j, &err);
    r->bytes = 0;
    return ERR_MEMORY;
}

static bool is_true(Exec *x, const View *v) {
    uint8_t value[8];
    x->ops->copy_out(x->engine, value, v);
    return element_float((DType)v->type.dtype, value) != 0; /* no int but 0 converts to 0 */
}

/* Reports a plain assertion that fails. An assertion with values in its text, or with braces, is
 * checked by the client, which formats the text from the reply. */
static ErrCode check_assertion(Exec *x, Job *j) {
    const Attr *text = inst_attr(&j->inst, ATTR_FORMAT);
    if (j->inst.n_in > 1 ||
        (text && (memchr(text->str, '{', text->n) || memchr(text->str, '}', text->n))))
        return ERR_NONE;
    if (j->held[0]->poison || is_true(x, &j->call.in[0])) return ERR_NONE;
    Err err = {0};
    if (text && text->n)
        err_set(&err, ERR_ASSERT, "%.*s", (int)(text->n < 500 ? text->n : 500), text->str);
    else
        err_set(&err, ERR_ASSERT, "assertion failed");
    exec_fail(x, j, &err);
    return ERR_ASSERT;
}

void effect_run(Exec *x, Job *j) {
    int n = j->inst.n_in;
    uint64_t bytes = 0;
    watch_begin(x, j);
    Reply reply = {.client = j->frame->client->id, .seq = j->seq, .n = (uint32_t)n};
    reply.value = arena_zalloc(&x->scratch, sizeof *reply.value * (size_t)(n + 1));
    Buf **bufs = arena_zalloc(&x->scratch, sizeof *bufs * (size_t)(n + 1));
    ErrCode failed = j->lost;
    if (!failed && j->inst.op == OP_ASSERT) failed = check_assertion(x, j);
    for (int i = 0; i < n; i++) {
        ReplyValue *r = &reply.value[i];
        if (j->lost) {
            r->status = (uint8_t)j->lost;
        } else if (j->held[i]->poison) {
            r->status = (uint8_t)j->held[i]->poison;
            r->type = j->call.in[i].type;
        } else if (failed) { /* the client skips the effect: the other values are not needed */
            r->status = (uint8_t)failed;
            r->type = j->call.in[i].type;
        } else {
            if (!take_value(x, &j->inst, &j->call.in[i], r, &bufs[i]))
                r->status = (uint8_t)(failed = fail_value(x, j, r));
        }
    }
    for (int i = 0; i < n; i++) bytes += reply.value[i].bytes;
    watch_done(x, j, bytes);
    if (!j->frame->client->is_gone) {
        Msg m = {0};
        wire_reply(&reply, bufs, &m);
        j->frame->client->unread += msg_bytes(&m);
        exec_send(x, &m);
    } else {
        for (int i = 0; i < n; i++) buf_unref(&bufs[i]);
    }
    arena_reset(&x->scratch);
}
