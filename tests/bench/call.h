/* call.h: one call of the cpu engine from text, for rows_bench and products_bench: its instruction,
 * operands with the numbers of rows.py, and results.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_BENCH_CALL_H
#define GT_TESTS_BENCH_CALL_H
#include "runtime/inst/element.h"
#include "runtime/inst/inst.h"
#include "worker/engine/engine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 6 };
typedef struct Work {
    Arena arena;
    InstLine line;
    TensorType type[MOST], out[MAX_OUT];
    View view[MOST];
    void *memory[MOST + MAX_OUT];
    int n_memory;
    double numbers[2]; /* immediates of sources */
    Call call;
    double bytes, flops;
} Work;

static Engine *engine;
static void submit(void *ctx) {
    Work *w = ctx;
    Err err;
    Ticket t = engine->ops->submit(engine, &w->call, NULL, 0);
    if (engine->ops->done(engine, t, true, &err) < 0) w->bytes = -1;
}
static void *room(Work *w, uint64_t bytes) {
    return w->memory[w->n_memory++] = aligned_alloc(64, (size_t)(bytes / 64 + 1) * 64);
}

static void fill(const TensorType *t, char *p, const char *how) {
    int64_t n = type_numel(t), columns = t->rank ? t->shape[t->rank - 1] : 1;
    int size = dtype_info[t->dtype].size_bytes;
    int64_t below = how ? atoll(how) : 0;
    for (int64_t i = 0; i < n; i++, p += size) {
        uint64_t mixed = ((uint64_t)i * 0x9E3779B97F4A7C15u) >> 20;
        int64_t whole = how && *how == 'e'   ? i / columns == i % columns
                        : how && *how == 'r' ? i
                        : below              ? (int64_t)(mixed % (uint64_t)below)
                                             : (int64_t)(mixed % 3);
        if (!how && dtype_is_float((DType)t->dtype))
            element_set_float((DType)t->dtype, p, (double)(mixed % 1000) * 0.003 - 1.2);
        else
            element_set_int((DType)t->dtype, p, whole);
    }
}

/* One operand from text: type, contents. */
static const char *add_operand(Work *w, const char *s, DType d) {
    int i = w->call.n_in++;
    char name[8] = "", how[16] = "";
    int n = 0, at = 0;
    if (sscanf(s, "%7[^[][%n", name, &n) != 1) panic("bad operand %s", s);
    TensorType *t = &w->type[i];
    *t = (TensorType){.dtype = (uint8_t)(*name == 'T' ? d : dtype_find(name, strlen(name)))};
    for (s += n; *s != ']'; s += at + (s[at] == ',')) {
        long long extent;
        if (sscanf(s, "%lld%n", &extent, &at) != 1) panic("bad extent %s", s);
        t->shape[t->rank++] = extent;
    }
    s++;
    View *v = &w->view[i];
    v->type = *t;
    view_strides(t, v->stride);
    if (*s == '\'') {
        v->stride[t->rank - 2] = 1, v->stride[t->rank - 1] = t->shape[t->rank - 2];
        s++;
    }
    if (*s == '~' && sscanf(s + 1, "%15[^ ]%n", how, &n) == 1) s += 1 + n;
    v->data = room(w, type_bytes(t));
    fill(t, v->data, *how ? how : NULL);
    w->bytes += (double)type_bytes(t);
    return *s == ' ' ? s + 1 : s;
}

/* Makes operands, instruction and results; false: inference refuses them. */
static bool prepare(Work *w, Op op, const char *operands, const char *attrs, DType d, Err *err) {
    w->call = (Call){.in = w->view};
    while (*operands) operands = add_operand(w, operands, d);
    char text[400], *p = text, *end = text + sizeof text;
    p += snprintf(p, 64, "t100%s = %s",
                  op == OP_LU || op == OP_TOPK || op == OP_CUMMAX || op == OP_MAX_POOL ? ",t101"
                                                                                       : "",
                  op_info[op].name);
    for (int i = 0; i < w->call.n_in; i++) p += snprintf(p, (size_t)(end - p), " t%d", i);
    snprintf(p, (size_t)(end - p), "%s", attrs);
    if (!inst_parse(text, strlen(text), &w->arena, &w->line, err)) return false;
    Inst *in = &w->line.inst;
    int n_out;
    if (!inst_infer(in, w->type, w->out, &n_out, err)) return false;
    w->call.inst = in, w->call.n_out = n_out;
    if (op_info[op].class_ == CLASS_SOURCE) {
        bool is_real = dtype_is_float((DType)w->out[0].dtype) && op != OP_RANDINT;
        for (int i = 0; i < in->n_in; i++) {
            View *v = &w->view[w->call.n_in++];
            *v = (View){.type.dtype = is_real ? DT_F64 : DT_I64, .is_scalar = true};
            v->data = &w->numbers[i];
            double x = in->in[i].kind == IN_IMM_INT ? (double)in->in[i].i : in->in[i].f;
            if (is_real)
                element_set_float(DT_F64, v->data, x);
            else
                element_set_int(DT_I64, v->data, (int64_t)x);
        }
    }
    for (int i = 0; i < n_out; i++) {
        View *o = &w->call.out[i];
        o->type = w->out[i];
        view_strides(&o->type, o->stride);
        o->data = room(w, type_bytes(&o->type));
        w->bytes += (double)type_bytes(&o->type);
    }
    return true;
}

static void work_free(Work *w) {
    for (int i = 0; i < w->n_memory; i++) free(w->memory[i]);
    arena_fini(&w->arena);
}
#endif
