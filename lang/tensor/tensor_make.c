/* tensor_make.c: shorthands for single ops, for gradient rules and builtins, and conversion of host
 * values to tensors (nested lists) and back (item, tolist). A shorthand that would change nothing
 * returns its operand.
 * SPDX-License-Identifier: MIT */
#include "lang/file/io.h"
#include "lang/tensor/autograd.h"
#include "lang/tensor/tensor.h"
#include "lang/value/mapv.h"
#include "runtime/inst/element.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t tensor_numel(const Tensor *t) { return type_numel(tensor_type(t)); }

/* ---- one op each ---- */

static Tensor *op_attrs(Interp *in, Op op, const Arg *arg, int n, const Attr *attr, int n_attr,
                        LangError *e) {
    Tensor *out[MAX_OUT];
    return tensor_op(in, op, arg, n, attr, n_attr, out, e) ? out[0] : NULL;
}

Tensor *tensor_op1(Interp *in, Op op, Arg a, LangError *e) {
    return op_attrs(in, op, &a, 1, NULL, 0, e);
}

Tensor *tensor_op2(Interp *in, Op op, Arg a, Arg b, LangError *e) {
    Arg arg[2] = {a, b};
    return op_attrs(in, op, arg, 2, NULL, 0, e);
}

Tensor *tensor_cast(Interp *in, Tensor *t, DType d, LangError *e) {
    if (tensor_type(t)->dtype == d) return tensor_ref(t);
    Arg arg = arg_tensor(t);
    Attr attr = attr_dtype(d);
    return op_attrs(in, OP_CAST, &arg, 1, &attr, 1, e);
}

static bool has_shape(const Tensor *t, const int64_t *shape, int rank) {
    return tensor_type(t)->rank == rank &&
           !memcmp(tensor_type(t)->shape, shape, sizeof *shape * (size_t)rank);
}

static Tensor *op_shape(Interp *in, Op op, Tensor *t, const int64_t *shape, int rank,
                        LangError *e) {
    if (has_shape(t, shape, rank)) return tensor_ref(t);
    Arg arg = arg_tensor(t);
    Attr attr = attr_ints(ATTR_SHAPE, shape, rank);
    return op_attrs(in, op, &arg, 1, &attr, 1, e);
}

Tensor *tensor_reshape(Interp *in, Tensor *t, const int64_t *shape, int rank, LangError *e) {
    return op_shape(in, OP_RESHAPE, t, shape, rank, e);
}

Tensor *tensor_expand(Interp *in, Tensor *t, const int64_t *shape, int rank, LangError *e) {
    return op_shape(in, OP_EXPAND, t, shape, rank, e);
}

Tensor *tensor_permute(Interp *in, Tensor *t, const int64_t *axes, int n, LangError *e) {
    Arg arg = arg_tensor(t);
    Attr attr = attr_ints(ATTR_AXES, axes, n);
    int i = 0;
    while (i < n && axes[i] == i) i++;
    return i == n && n == tensor_type(t)->rank ? tensor_ref(t)
                                               : op_attrs(in, OP_PERMUTE, &arg, 1, &attr, 1, e);
}

Tensor *tensor_transpose(Interp *in, Tensor *t, int a, int b, LangError *e) {
    int64_t axes[MAX_DIMS];
    for (int i = 0; i < tensor_type(t)->rank; i++) axes[i] = i == a ? b : i == b ? a : i;
    return tensor_permute(in, t, axes, tensor_type(t)->rank, e);
}

Tensor *tensor_slice(Interp *in, Tensor *t, int axis, int64_t start, int64_t size, int64_t step,
                     LangError *e) {
    const TensorType *type = tensor_type(t);
    int64_t starts[MAX_DIMS] = {0}, sizes[MAX_DIMS], steps[MAX_DIMS];
    if (start == 0 && size == type->shape[axis] && (step == 1 || size <= 1)) return tensor_ref(t);
    for (int i = 0; i < type->rank; i++) sizes[i] = type->shape[i], steps[i] = 1;
    starts[axis] = start, sizes[axis] = size, steps[axis] = step;
    Arg arg = arg_tensor(t);
    Attr attr[3] = {attr_ints(ATTR_START, starts, type->rank),
                    attr_ints(ATTR_SIZE, sizes, type->rank),
                    attr_ints(ATTR_STEP, steps, type->rank)};
    return op_attrs(in, OP_SLICE, &arg, 1, attr, 3, e);
}

Tensor *tensor_reduce(Interp *in, Op op, Tensor *t, const int64_t *axes, int n, bool keepdims,
                      LangError *e) {
    Arg arg = arg_tensor(t);
    Attr attr[2];
    int n_attr = 0;
    if (n && n < tensor_type(t)->rank)
        attr[n_attr++] = attr_ints(ATTR_AXIS, axes, n); /* absent: all axes */
    if (keepdims) attr[n_attr++] = attr_bool(ATTR_KEEPDIMS, true);
    return op_attrs(in, op, &arg, 1, attr, n_attr, e);
}

Tensor *tensor_full(Interp *in, const int64_t *shape, int rank, DType d, Operand v, LangError *e) {
    Arg arg = {.imm = v};
    Attr attr[2] = {attr_ints(ATTR_SHAPE, shape, rank), attr_dtype(d)};
    return op_attrs(in, OP_FULL, &arg, 1, attr, 2, e);
}

Tensor *tensor_arange(Interp *in, Arg start, Arg step, int64_t n, DType d, LangError *e) {
    Arg arg[2] = {start, step};
    Attr attr[2] = {attr_ints(ATTR_SHAPE, &n, 1), attr_dtype(d)};
    return op_attrs(in, OP_ARANGE, arg, 2, attr, 2, e);
}

Tensor *tensor_random(Interp *in, Op op, const int64_t *shape, int rank, DType d, const Arg *arg,
                      int n_args, LangError *e) {
    int64_t key[2] = {(int64_t)in->seed, (int64_t)in->rng_counter++};
    Attr attr[3] = {attr_ints(ATTR_SHAPE, shape, rank), attr_dtype(d), attr_ints(ATTR_RNG, key, 2)};
    return op_attrs(in, op, arg, n_args, attr, 3, e);
}

Tensor *tensor_data(Interp *in, const TensorType *type, const void *data, LangError *e) {
    Handle *h = stream_data(in->stream, type, data, NULL, interp_span(in), e);
    return h ? tensor_new(in, h) : NULL;
}

Tensor *tensor_of_buf(Interp *in, const TensorType *type, Buf *b, LangError *e) {
    Handle *h = stream_data(in->stream, type, b->data, b, interp_span(in), e);
    return h ? tensor_new(in, h) : NULL;
}

/* An instruction has at most MAX_IN operands: more are first joined in groups. */
Tensor *tensor_cat(Interp *in, Tensor *const *t, int64_t n, int axis, LangError *e) {
    if (n > MAX_IN) {
        int64_t groups = (n - 1) / MAX_IN + 1, made = 0;
        Tensor **part = xmalloc(sizeof *part * (size_t)groups), *all = NULL;
        for (; made < groups; made++) {
            int64_t rest = n - made * MAX_IN;
            if (!(part[made] =
                      tensor_cat(in, t + made * MAX_IN, rest < MAX_IN ? rest : MAX_IN, axis, e)))
                break;
        }
        if (made == groups) all = tensor_cat(in, part, groups, axis, e);
        while (made-- > 0) tensor_unref(part[made]);
        free(part);
        return all;
    }
    Arg *arg = xmalloc((size_t)n * sizeof *arg);
    for (int64_t i = 0; i < n; i++) arg[i] = arg_tensor(t[i]);
    int64_t a = axis;
    Attr attr = attr_ints(ATTR_AXIS, &a, 1);
    Tensor *out = op_attrs(in, OP_CAT, arg, (int)n, &attr, 1, e);
    free(arg);
    return out;
}

Tensor *tensor_detach(Interp *in, Tensor *t) {
    if (!t->node && !t->is_param && !t->is_buffer && !t->pair) return tensor_ref(t);
    return tensor_new(in, handle_ref(t->handle));
}

Tensor *tensor_value(Tensor *t) {
    if (!t->is_param && !t->is_buffer && !t->pair) return t;
    Tensor *v = tensor_new(t->in, handle_ref(t->handle));
    if (t->node && (t->pair || (grad_is_on(t->in) && tensor_needs_grad(t))))
        v->node = t->node, v->node->refs++;
    tensor_unref(t);
    return v;
}

/* ---- host values in ---- */

int64_t value_count(Value v) {
    if (v.kind == V_LIST) return v.list->n;
    if (v.kind != V_RANGE) return -1;
    const Range *r = v.range;
    if (r->step > 0) return r->start < r->stop ? (r->stop - r->start - 1) / r->step + 1 : 0;
    return r->start > r->stop ? (r->start - r->stop - 1) / -r->step + 1 : 0;
}

Value value_at(Value v, int64_t i) {
    return v.kind == V_LIST ? v.list->v[i] : v_int(v.range->start + i * v.range->step);
}

/* The contents of a nested list: its shape so far, and the highest category of its numbers. */
typedef struct Scan {
    TensorType type;
    bool any, has_int, has_float, has_tensor;
    char at[64];
} Scan;

bool tensor_hint_map(Value v, LangError *e) {
    Value key, item;
    if (v.kind != V_MAP || !mapv_at(v.map, 0, &key, &item)) return false;
    if (key.kind != V_STR || item.kind != V_TENSOR) return false;
    return error_hint(e, "the map's tensors by name: m[\"%.60s\"]", key.str->s);
}

static bool scan_value(Value v, int depth, Scan *s, LangError *e) {
    int64_t n = value_count(v);
    if (n < 0) {
        if (v.kind == V_TENSOR) return s->has_tensor = true;
        if (!value_is_number(v)) {
            error_set(e, "a tensor holds numbers, not %s (at %s)", value_type_name(v),
                      s->at[0] ? s->at : "the top");
            return tensor_hint_map(v, e);
        }
        s->has_int |= v.kind == V_INT, s->has_float |= v.kind == V_FLOAT;
        if (s->any && depth < s->type.rank)
            return error_set(e, "ragged list: at %s is a number, but its neighbours are lists",
                             s->at);
        if (!s->any) s->type.rank = (uint8_t)depth, s->any = true;
        return true;
    }
    if (depth >= MAX_DIMS)
        return error_set(e, "lists are nested deeper than %d, the most axes that a tensor has",
                         MAX_DIMS);
    size_t end = strlen(s->at);
    if (s->any && depth >= s->type.rank)
        return error_set(e, "ragged list: at %s is a list, but its neighbours are numbers", s->at);
    if (!s->any && s->type.shape[depth] < 0) s->type.shape[depth] = n;
    if (s->type.shape[depth] != n) {
        return error_set(
            e, "ragged list: the list at %s has %lld element%s, but its neighbours have %lld",
            s->at, (long long)n, n == 1 ? "" : "s", (long long)s->type.shape[depth]);
    }
    if (!n && !s->any)
        s->type.rank = (uint8_t)(depth + 1), s->any = true; /* tensor([[], []]) is (2, 0) */
    for (int64_t i = 0; i < n; i++) {
        if (end < sizeof s->at - 24)
            snprintf(s->at + end, sizeof s->at - end, "[%lld]", (long long)i);
        TRY(not_interrupted(e) && scan_value(value_at(v, i), depth + 1, s, e));
        s->at[end] = 0;
        if (s->has_tensor) return true;
    }
    return true;
}

static bool store(Value v, DType d, char **to, LangError *e) {
    int64_t n = value_count(v);
    TRY(not_interrupted(e));
    for (int64_t i = 0; i < n; i++) TRY(store(value_at(v, i), d, to, e));
    if (n >= 0) return true;
    double f = v.kind == V_FLOAT ? v.f : v.kind == V_INT ? (double)v.i : v.b;
    int64_t k = v.kind == V_FLOAT ? 0 : v.kind == V_INT ? v.i : v.b;
    if (v.kind == V_FLOAT && d != DT_BOOL && !dtype_is_float(d)) {
        if (!(f > -9.2e18 && f < 9.2e18))
            return error_set(e, "%g does not fit into %s", f, dtype_info[d].name);
        k = (int64_t)f;
    }
    if (!dtype_is_float(d) && d != DT_BOOL && !dtype_holds_int(d, k))
        return error_set(e, "%lld does not fit into %s", (long long)k, dtype_info[d].name);
    if (dtype_is_float(d))
        element_set_float(d, *to, f);
    else
        element_set_int(d, *to, d == DT_BOOL ? f != 0 : k);
    *to += dtype_info[d].size_bytes;
    return true;
}

/* For a list with tensors among its leaves: converts every element to a tensor, then stacks
 * them. */
static bool stack_values(Interp *in, Value v, DType dtype, Value *out, LangError *e) {
    int64_t n = value_count(v);
    if (n < 1) return error_set(e, "cannot stack no tensors");
    Tensor **part = xcalloc((size_t)n, sizeof *part), *all = NULL;
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++) {
        Value one;
        ok = tensor_from_value(in, value_at(v, i), dtype, &one, e);
        if (!ok) break;
        TensorType t = *tensor_type(one.tensor);
        if (i && ok &&
            (t.rank + 1 != tensor_type(part[0])->rank ||
             memcmp(t.shape, tensor_type(part[0])->shape + 1, sizeof t.shape[0] * t.rank))) {
            char a[256];
            ok = error_set(e,
                           "ragged list: the tensor at [%lld] has shape %s, unlike the one at [0]",
                           (long long)i, type_shape_text(&t, a));
        } else if (t.rank == MAX_DIMS)
            ok = error_set(e, "at most %d axes", MAX_DIMS);
        else {
            memmove(t.shape + 1, t.shape, sizeof t.shape[0] * t.rank);
            t.shape[0] = 1;
            ok = (part[i] = tensor_reshape(in, one.tensor, t.shape, t.rank + 1, e)) != NULL;
        }
        value_drop(one);
    }
    if (ok) ok = (all = tensor_cat(in, part, n, 0, e)) != NULL;
    for (int64_t i = 0; i < n; i++) tensor_unref(part[i]);
    free(part);
    if (ok) *out = v_tensor(all);
    return ok;
}

bool tensor_from_value(Interp *in, Value v, DType dtype, Value *out, LangError *e) {
    if (v.kind == V_TENSOR) {
        Tensor *t = dtype == DT_NONE ? tensor_ref(v.tensor) : tensor_cast(in, v.tensor, dtype, e);
        return t ? (*out = v_tensor(t), true) : false;
    }
    Scan s = {.type.rank = MAX_DIMS};
    for (int i = 0; i < MAX_DIMS; i++) s.type.shape[i] = -1;
    TRY(scan_value(v, 0, &s, e));
    if (s.has_tensor) return stack_values(in, v, dtype, out, e);
    for (int i = s.type.rank; i < MAX_DIMS; i++) s.type.shape[i] = 0;
    s.type.dtype = dtype != DT_NONE ? dtype
                   : s.has_float    ? in->float_dtype
                   : s.has_int      ? DT_I64
                                    : DT_BOOL;
    if (dtype == DT_NONE && !type_numel(&s.type)) s.type.dtype = in->float_dtype;
    char *data = xmalloc(type_bytes(&s.type)), *to = data;
    Tensor *t = store(v, s.type.dtype, &to, e) ? tensor_data(in, &s.type, data, e) : NULL;
    free(data);
    if (t) *out = v_tensor(t);
    return t != NULL;
}

/* ---- host values out ---- */

static Value element(DType d, const void *data, int64_t i) {
    const char *p = (const char *)data + i * dtype_info[d].size_bytes;
    if (dtype_is_float(d)) return v_float(element_float(d, p));
    return d == DT_BOOL ? v_bool(element_int(d, p) != 0) : v_int(element_int(d, p));
}

bool tensor_item(Interp *in, Tensor *t, Value *out, LangError *e) {
    const TensorType *type = tensor_type(t);
    char shape[256];
    void *data;
    if (type_numel(type) != 1) {
        error_set(e, "needs a single value, but the tensor has shape %s",
                  type_shape_text(type, shape));
        return error_hint(e, "x[i].item(), x.mean().item(), or x.tolist()");
    }
    TRY(stream_value(in->stream, t->handle, interp_span(in), &data, e));
    *out = element(type->dtype, data, 0);
    free(data);
    return true;
}

static Value nested(Interp *in, const TensorType *t, int axis, const void *data, int64_t *i) {
    if (axis == t->rank) return element(t->dtype, data, (*i)++);
    Value l = v_list(in, (size_t)t->shape[axis]);
    for (int64_t k = 0; k < t->shape[axis] && !interrupt_count; k++)
        list_push(l.list, nested(in, t, axis + 1, data, i));
    return l;
}

bool tensor_tolist(Interp *in, Tensor *t, Value *out, LangError *e) {
    void *data;
    int64_t i = 0;
    Err err = {0};
    if (!io_has_few_lists(tensor_type(t), &err)) {
        error_from(e, &err);
        return error_locate(e, interp_span(in));
    }
    TRY(stream_value(in->stream, t->handle, interp_span(in), &data, e));
    *out = nested(in, tensor_type(t), 0, data, &i);
    free(data);
    return true;
}
