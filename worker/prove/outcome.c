/* outcome.c: see outcome.h.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/outcome.h"
#include "runtime/inst/element.h"
#include "worker/engine/view.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Executing ---- */

int call_engine(Engine *e, const Inst *what, View *in, int n, const View *out, Err *err) {
    Operand tensor[3] = {
        {.kind = IN_TENSOR, .id = 1}, {.kind = IN_TENSOR, .id = 2}, {.kind = IN_TENSOR, .id = 3}};
    Inst inst = *what;
    Call call = {.inst = &inst, .n_in = n, .n_out = 1, .in = in, .out = {*out}};
    inst.in = tensor, inst.n_in = (uint16_t)n, inst.n_out = 1;
    return e->ops->done(e, e->ops->submit(e, &call, NULL, 0), true, err);
}

int engine_settle(Engine *e, Ticket *of, Err *err) {
    Ticket failed, t;
    Err why = {0};
    int node, n = 0;
    if (!e->ops->is_ordered) return 0;
    t = e->ops->mark(e);
    while (!e->ops->done(e, t, true, NULL)) {}
    while (e->ops->failed(e, &failed, &node, &why)) {
        if (n++) continue;
        if (of) *of = failed;
        if (err) *err = why;
    }
    return n;
}

/* The value of immediate i, as exec gives it to engines. */
static View scalar_of(const Case *c, int i, void *room) {
    const Operand *o = &c->in[i];
    bool is_real = dtype_is_float((DType)c->out[0].dtype) && c->inst.op != OP_RANDINT;
    DType d = op_info[c->inst.op].class_ == CLASS_MAP ? c->dtype : is_real ? DT_F64 : DT_I64;
    if (dtype_is_half(d)) d = DT_F32;
    if (o->kind != IN_IMM_FLOAT)
        element_set_int(d, room, o->kind == IN_IMM_BOOL ? o->b : o->i);
    else if (dtype_is_float(d))
        element_set_float(d, room, o->f);
    else
        element_set_int(d, room, (int64_t)o->f);
    return (View){.type = {.dtype = (uint8_t)d}, .is_scalar = true, .data = room};
}

static void read_results(const Case *c, Engine *e, const View *out, Outcome *o) {
    for (int k = 0; k < c->inst.n_out; k++) {
        o->out[k] = xmalloc(type_bytes(&c->out[k]) + 1);
        e->ops->copy_out(e, o->out[k], &out[k]);
    }
    if (engine_settle(e, NULL, &o->err)) o->result = -1;
}

/* Views move nothing; the copy of a reshape must show what the view shows. */
static void run_view(const Case *c, Engine *e, const View *view, const Call *call, Outcome *o) {
    Outcome copy = {0};
    o->result = 1;
    read_results(c, e, view, o);
    if (c->inst.op != OP_RESHAPE) return;
    copy.result = e->ops->done(e, e->ops->submit(e, call, NULL, 0), true, &copy.err);
    read_results(c, e, call->out, &copy);
    if (copy.result != 1 || memcmp(copy.out[0], o->out[0], type_bytes(&c->out[0]))) {
        o->result = -1;
        o->err = copy.err;
        if (copy.result == 1) err_set(&o->err, ERR_INTERNAL, "the copy is not what the view shows");
    }
    outcome_free(&copy);
}

void outcome_run(const Case *c, Engine *e, bool in_place, Outcome *o) {
    View in[CASE_ARGS], view;
    double room[CASE_ARGS];
    void *base[CASE_ARGS] = {0};
    OpClass class_ = op_info[c->inst.op].class_;
    *o = (Outcome){0};
    for (int i = 0; i < c->inst.n_in; i++) {
        const CaseArg *a = &c->arg[i];
        if (a->is_imm) {
            in[i] = scalar_of(c, i, &room[i]);
            continue;
        }
        base[i] = e->ops->alloc(e, a->base_bytes);
        e->ops->copy_in(e, base[i], a->base, a->base_bytes);
        in[i] = a->view;
        in[i].data = (char *)base[i] + a->offset * dtype_info[a->view.type.dtype].size_bytes;
    }
    int model = class_ == CLASS_SOURCE && c->inst.n_in > 0 && c->in[0].kind == IN_TENSOR;
    Call call = {
        .inst = &c->inst, .n_in = c->inst.n_in - model, .n_out = c->inst.n_out, .in = in + model};
    for (int k = 0; k < call.n_out; k++) {
        void *to = in_place ? in[0].data : e->ops->alloc(e, type_bytes(&c->out[k]));
        call.out[k] = view_dense(&c->out[k], to);
    }
    if (class_ == CLASS_VIEW && view_apply(&c->inst, &in[0], &c->out[0], &view)) {
        run_view(c, e, &view, &call, o);
    } else {
        o->result = e->ops->done(e, e->ops->submit(e, &call, NULL, 0), true, &o->err);
        if (o->result == 1) read_results(c, e, call.out, o);
    }
    for (int k = 0; k < call.n_out && !in_place; k++)
        e->ops->free(e, call.out[k].data, type_bytes(&c->out[k]));
    for (int i = 0; i < c->inst.n_in; i++)
        if (base[i]) e->ops->free(e, base[i], c->arg[i].base_bytes);
}

void outcome_free(Outcome *o) {
    for (int k = 0; k < MAX_OUT; k++) free(o->out[k]);
    *o = (Outcome){0};
}

bool case_may_be_in_place(const Case *c) {
    const CaseArg *a = &c->arg[0];
    return op_info[c->inst.op].class_ == CLASS_MAP && !a->is_imm &&
           type_equal(&a->view.type, &c->out[0]) && a->offset == 0 &&
           a->base_bytes == type_bytes(&c->out[0]) && view_is_contiguous(&a->view);
}

/* ---- Comparing ---- */

/* lgamma has zeros; CUDA states 4 ulp for it, and more for some negative numbers. */
bool outcome_is_of_library(Op op, DType d) {
    bool is_gamma = op == OP_LGAMMA || op == OP_DIGAMMA || op == OP_POLYGAMMA;
    return d == DT_F64 && (is_gamma || op == OP_RANDN);
}

bool outcome_may_be_of_library(Op op, DType d) {
    bool is_circular = op == OP_SIN || op == OP_COS || op == OP_TAN;
    return outcome_is_of_library(op, d) || (d == DT_F64 && is_circular);
}

/* The engine cpu convolves float32 by oneDNN, whose order of additions is its own. */
static bool is_other_order(Op op, DType d) {
    return (op == OP_CONV || op == OP_CONV_DX || op == OP_CONV_DW) && dtype_is_float(d) &&
           d != DT_F64;
}

bool element_is_same(DType d, const void *a, const void *b) {
    if (!memcmp(a, b, (size_t)dtype_info[d].size_bytes)) return true;
    return dtype_is_float(d) && isnan(element_float(d, a)) && isnan(element_float(d, b));
}

/* |x - y| as a part of the tolerance; above 1: too far. */
static double library_share(double x, double y) {
    return fabs(x - y) / (0x1p-49 * fmax(fabs(y), 1));
}
static double near_share(double x, double y, DType d, Agree how, double terms) {
    double eps = d == DT_F64 ? 0x1p-52 : d == DT_F32 && how == AGREE_TF32 ? 0x1p-10 : 0x1p-23;
    double rtol = eps * (16 + terms), atol = eps * (8 + 40 * terms);
    /* Nearly equal values may round to neighbours. */
    if (d == DT_F16) rtol += 0x1p-10, atol += 0x1p-24;
    if (d == DT_BF16) rtol += 0x1p-7;
    return fabs(x - y) / (atol + rtol * fabs(y));
}

/* How far got is from want, as a part of what may be. 0: the same; above 1: too far. */
static double share_of(const Case *c, DType d, Agree how, const void *got, const void *want) {
    if (!memcmp(got, want, (size_t)dtype_info[d].size_bytes)) return 0;
    if (!dtype_is_float(d)) return INFINITY;
    double x = element_float(d, got), y = element_float(d, want);
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y) ? 0 : INFINITY;
    if (how != AGREE_BITS && x == y) return 0; /* zeros of either sign */
    if (isinf(x) || isinf(y)) return INFINITY;
    if (how == AGREE_DEVICE && outcome_is_of_library(c->inst.op, d)) return library_share(x, y);
    bool is_whole = c->style == STYLE_WHOLE && op_has(c->inst.op, FACT_WHOLE);
    bool is_near = how <= AGREE_TF32 || (how == AGREE_DEVICE && is_other_order(c->inst.op, d));
    if (!is_near || c->is_exact || is_whole) return INFINITY;
    return near_share(x, y, d, how, c->terms);
}

bool outcome_agrees(const Case *c, const Outcome *got, const Outcome *want, Agree how,
                    Difference *diff) {
    *diff = (Difference){.at = -1};
    if (got->result != want->result) {
        snprintf(diff->text, sizeof diff->text, "%.70s, not %.70s",
                 got->result == 1 ? "computed" : got->err.text,
                 want->result == 1 ? "computed" : want->err.text);
        return false;
    }
    for (int k = 0; got->result == 1 && k < c->inst.n_out; k++) {
        DType d = (DType)c->out[k].dtype;
        int64_t n = type_numel(&c->out[k]), size = dtype_info[d].size_bytes;
        for (int64_t i = 0; i < n; i++) {
            const char *x = got->out[k] + i * size, *y = want->out[k] + i * size;
            double share = share_of(c, d, how, x, y);
            if (share <= 1) {
                if (share > diff->share) diff->share = share;
                continue;
            }
            diff->k = k, diff->at = i;
            snprintf(diff->text, sizeof diff->text, "element %lld of %lld is %.17g, not %.17g",
                     (long long)i, (long long)n, element_float(d, x), element_float(d, y));
            return false;
        }
    }
    return true;
}

/* ---- Text ---- */

__attribute__((format(printf, 3, 4))) static void append(char *buf, size_t size, const char *format,
                                                         ...) {
    size_t n = strlen(buf);
    va_list args;
    va_start(args, format);
    vsnprintf(buf + n, size - n, format, args);
    va_end(args);
}

static void append_attr(const Attr *a, char *buf, size_t size) {
    append(buf, size, " %s=", attr_info[a->key].name);
    switch (attr_info[a->key].type) {
    case AT_INTS:
        for (uint32_t k = 0; k < a->n; k++)
            append(buf, size, "%s%lld", k ? "," : "", (long long)a->ints[k]);
        break;
    case AT_DTYPE: append(buf, size, "%s", dtype_info[a->dtype].text); break;
    case AT_STR: append(buf, size, "%.*s", (int)a->n, a->str); break;
    case AT_FLOAT: append(buf, size, "%g", a->f); break;
    case AT_BOOL: append(buf, size, "%d", a->b); break;
    case AT_INT: append(buf, size, "%lld", (long long)a->i); break;
    }
}

char *case_text(const Case *c, char *buf, size_t size) {
    char text[256];
    buf[0] = 0;
    for (int i = 0; i < c->inst.n_in; i++) {
        append(buf, size, "%s%s", i ? ", " : "",
               c->arg[i].is_imm ? "imm" : type_text(&c->type[i], text));
        if (c->arg[i].is_imm || view_is_contiguous(&c->arg[i].view)) continue;
        append(buf, size, " strides");
        for (int d = 0; d < c->type[i].rank; d++)
            append(buf, size, " %lld", (long long)c->arg[i].view.stride[d]);
    }
    for (int i = 0; i < c->inst.n_attr; i++) append_attr(&c->attr[i], buf, size);
    return buf;
}
