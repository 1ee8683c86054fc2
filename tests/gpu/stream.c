/* stream.c: queues of operations, clocks, and running them as late as those allow.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/device.h"
#include <stdlib.h>
#include <string.h>

void clock_join(Clock *to, const Clock *from) {
    for (int k = 0; k < STREAMS_MAX; k++)
        if (from->upto[k] > to->upto[k]) to->upto[k] = from->upto[k];
}
CUstream stream_of(CUstream handle) {
    if (!handle) return &device.stream[0];
    for (int k = 1; k < STREAMS_MAX; k++)
        if (handle == &device.stream[k] && handle->is_alive) return handle;
    return NULL;
}
CUstream stream_new(int of, bool is_blocking) {
    for (int k = 1; k < STREAMS_MAX; k++) {
        CUstream s = &device.stream[k];
        if (s->is_alive) continue;
        s->index = k, s->is_alive = true, s->is_blocking = is_blocking;
        s->device = of;
        s->now = device.host;
        s->now.upto[k] = s->issued;
        return s;
    }
    return NULL;
}
Op *op_new(OpKind kind) {
    Op *op = device_new(sizeof *op);
    op->kind = kind;
    return op;
}
void op_free(Op *op) {
    if (!op) return;
    free(op->param);
    free(op->staged);
    if (op->kind == OP_WORK) free(op->ctx);
    free(op);
}
/* Of a kernel; its parameters are copied. */
Op *op_copy(const Op *op) {
    Op *copy = op_new(op->kind);
    *copy = *op;
    copy->next = NULL;
    uint32_t n = op->function->module->program->function[op->function->index].param_bytes;
    copy->param = device_new(n + 1);
    memcpy(copy->param, op->param, n);
    return copy;
}
/* The default stream waits for all blocking streams, and they for it. */
void stream_order(CUstream s) {
    clock_join(&s->now, &device.host);
    for (int k = 0; k < STREAMS_MAX; k++) {
        CUstream t = &device.stream[k];
        bool is_joined = s->index == 0 ? t->is_alive && t->is_blocking : k == 0 && s->is_blocking;
        if (is_joined && t->issued > s->now.upto[k]) s->now.upto[k] = t->issued;
    }
}
static void drift(void) {
    if (device.seed % 3 == 2) stream_run_all();
    if (device.seed % 3 != 1 || device_random() % 2) return;
    CUstream s = &device.stream[device_random() % STREAMS_MAX];
    if (s->first) stream_run(s, s->first->number);
}
CUresult stream_submit(CUstream s, Op *op) {
    op->stream = s;
    stream_order(s);
    op->number = ++s->issued;
    op->after = s->now;
    s->now.upto[s->index] = op->number;
    if (op->kind == OP_KERNEL) op->function->module->launched.upto[s->index] = op->number;
    if (s->last)
        s->last->next = op;
    else
        s->first = op;
    s->last = op;
    if (s->issued - s->done > QUEUE_MAX) stream_run(s, s->first->number);
    drift();
    return device.context[s->device].error;
}
static void remember(CUstream s, const Op *op, uint32_t serial) {
    if (op->number >= s->cap_serial) {
        s->cap_serial = 2 * op->number + 64;
        s->serial = realloc(s->serial, s->cap_serial * sizeof *s->serial);
        if (!s->serial) abort();
    }
    s->serial[op->number] = serial;
    if (device.n_ran == device.cap_ran) {
        device.cap_ran = 2 * device.cap_ran + 256;
        device.ran = realloc(device.ran, device.cap_ran * sizeof *device.ran);
        if (!device.ran) abort();
    }
    device.ran[device.n_ran++] = (Ran){serial, op->number, s->index, op->kind};
}
/* Operations that it comes after may lie in other streams; clocks point backwards, so this ends. */
void stream_run(CUstream s, uint32_t number) {
    while (s->first && s->first->number <= number) {
        Op *op = s->first;
        for (int k = 0; k < STREAMS_MAX; k++)
            if (k != s->index && device.stream[k].done < op->after.upto[k])
                stream_run(&device.stream[k], op->after.upto[k]);
        s->first = op->next;
        if (!s->first) s->last = NULL;
        op->next = NULL;
        remember(s, op, device.serial);
        s->done = op->number;
        op_run(op);
    }
}
void stream_run_all(void) {
    for (int k = 0; k < STREAMS_MAX; k++) stream_run(&device.stream[k], UINT32_MAX);
}
void host_learns(const Clock *clock) {
    clock_join(&device.host, clock);
    bool is_idle = true;
    for (int k = 0; k < STREAMS_MAX; k++) is_idle &= device.host.upto[k] >= device.stream[k].issued;
    if (is_idle) memory_settle(&device.memory);
    for (Op **at = &device.arriving; *at;) {
        Op *op = *at;
        if (device.host.upto[op->stream->index] < op->number) {
            at = &op->next;
            continue;
        }
        memcpy(op->host, op->staged, op->bytes);
        *at = op->next;
        op_free(op);
    }
}
