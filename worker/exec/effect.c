/* effect.c: effects: copies their operands' values to host memory and sends them in a REPLY. Of a
 * tensor larger than the threshold, print and peek send only the edge items: printing 4 GB sends
 * less than 1 KB.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/effect.h"
#include "worker/exec/exec.h"
#include "worker/exec/issue.h"
#include "worker/exec/mark.h"
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
static bool take_value(Exec *x, Arena *a, const Inst *in, const View *v, ReplyValue *r, Buf **buf) {
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
        to = arena_alloc(a, r->bytes);
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

/* Reports a plain assertion that fails. An assertion with values in its text, or with braces, is
 * checked by the client, which formats the text from the reply. is_true: its value. */
static ErrCode check_assertion(Exec *x, Job *j, bool (*is_true)(Exec *x, const Job *j)) {
    const Attr *text = inst_attr(&j->inst, ATTR_FORMAT);
    if (j->inst.n_in > 1 ||
        (text && (memchr(text->str, '{', text->n) || memchr(text->str, '}', text->n))))
        return ERR_NONE;
    if (is_true(x, j)) return ERR_NONE;
    Err err = {0};
    if (text && text->n)
        err_set(&err, ERR_ASSERT, "%.*s", (int)(text->n < 500 ? text->n : 500), text->str);
    else
        err_set(&err, ERR_ASSERT, "assertion failed");
    exec_fail(x, j, &err);
    return ERR_ASSERT;
}

static bool is_true_here(Exec *x, const Job *j) {
    uint8_t value[8];
    if (j->held[0]->poison) return true;
    x->ops->copy_out(x->engine, value, &j->call.in[0]);
    return element_float((DType)j->call.in[0].type.dtype, value) != 0; /* no int but 0 gives 0 */
}

static Reply new_reply(const Job *j, Arena *a, Buf ***bufs) {
    uint32_t n = j->inst.n_in;
    Reply reply = {.client = j->frame->client->id, .seq = j->seq, .n = n};
    reply.value = arena_zalloc(a, sizeof *reply.value * (n + 1));
    *bufs = arena_zalloc(a, sizeof **bufs * (n + 1));
    return reply;
}

/* Sends the reply, or drops it if the client is gone. */
static void send_reply(Exec *x, Job *j, const Reply *reply, Buf **bufs) {
    if (!j->frame->client->is_gone) {
        Msg m = {0};
        wire_reply(reply, bufs, &m);
        j->frame->client->unread += msg_bytes(&m);
        exec_send(x, &m);
        return;
    }
    for (uint32_t i = 0; i < reply->n; i++) buf_unref(&bufs[i]);
}

void effect_run(Exec *x, Job *j) {
    uint64_t bytes = 0;
    Buf **bufs;
    watch_begin(x, j);
    Reply reply = new_reply(j, &x->scratch, &bufs);
    ErrCode failed = j->lost;
    if (!failed && j->inst.op == OP_ASSERT) failed = check_assertion(x, j, is_true_here);
    for (uint32_t i = 0; i < reply.n; i++) {
        ReplyValue *r = &reply.value[i];
        if (j->lost) {
            r->status = (uint8_t)j->lost;
        } else if (j->held[i]->poison) {
            r->status = (uint8_t)j->held[i]->poison;
        } else if (failed) { /* the client skips the effect: the other values are not needed */
            r->status = (uint8_t)failed;
        } else {
            if (!take_value(x, &x->scratch, &j->inst, &j->call.in[i], r, &bufs[i]))
                r->status = (uint8_t)(failed = fail_value(x, j, r));
        }
    }
    for (uint32_t i = 0; i < reply.n; i++) bytes += reply.value[i].bytes;
    watch_done(x, j, bytes);
    send_reply(x, j, &reply, bufs);
    arena_reset(&x->scratch);
}

/* ---- With an ordered engine ---- */

struct Answer {
    Reply reply;
    Buf **buf;
    ErrCode *poison; /* of each operand */
    Doubt **doubt;
    bool *is_lost; /* there is no host memory for the value */
};

void effect_take(Exec *x, Job *j) {
    Arena *a = &j->frame->arena;
    Answer *t = j->answer = arena_zalloc(a, sizeof *t);
    uint32_t n = j->inst.n_in;
    t->reply = new_reply(j, a, &t->buf);
    t->poison = arena_zalloc(a, sizeof *t->poison * (n + 1));
    t->doubt = arena_zalloc(a, sizeof(Doubt *) * (n + 1));
    t->is_lost = arena_zalloc(a, n + 1);
    for (uint32_t i = 0; i < n && !j->lost; i++) {
        ReplyValue *r = &t->reply.value[i];
        t->poison[i] = j->held[i]->poison;
        if (t->poison[i]) continue;
        doubt_add(x, &t->doubt[i], &t->poison[i], doubt_bits(j->held[i]->doubt));
        t->is_lost[i] = !take_value(x, a, &j->inst, &j->call.in[i], r, &t->buf[i]);
    }
}

static bool is_true_there(Exec *x, const Job *j) {
    const Answer *t = j->answer;
    const ReplyValue *r = &t->reply.value[0];
    if (t->poison[0] || t->is_lost[0]) return true;
    return element_float((DType)r->type.dtype, r->data) != 0;
}

/* Takes the value out of the reply. */
static void drop_value(Answer *t, uint32_t i, ErrCode why) {
    t->reply.value[i] = (ReplyValue){.status = (uint8_t)why};
    if (t->buf[i]) buf_unref(&t->buf[i]);
    t->buf[i] = NULL;
}

void effect_send(Exec *x, Job *j) {
    Answer *t = j->answer;
    uint64_t bytes = 0;
    ErrCode failed = j->lost;
    watch_begin(x, j);
    if (!failed && j->inst.op == OP_ASSERT) failed = check_assertion(x, j, is_true_there);
    for (uint32_t i = 0; i < t->reply.n; i++) {
        ReplyValue *r = &t->reply.value[i];
        if (j->lost)
            r->status = (uint8_t)j->lost;
        else if (t->poison[i] || failed)
            drop_value(t, i, t->poison[i] ? t->poison[i] : failed);
        else if (t->is_lost[i])
            r->status = (uint8_t)(failed = fail_value(x, j, r));
        bytes += r->bytes;
    }
    watch_done(x, j, bytes);
    send_reply(x, j, &t->reply, t->buf);
}

void effect_drop(Job *j) {
    for (uint32_t i = 0; i < j->answer->reply.n; i++) {
        buf_unref(&j->answer->buf[i]);
        doubt_drop(&j->answer->doubt[i]);
    }
}
