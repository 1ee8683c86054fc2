/* builtin_tensor.c: the table of tensor functions and methods, and reading
 * arguments. The table has the rows of functions.def, then the pointwise MAP rows of ops.def. A
 * function that needs more than its row (axes, shapes, random keys) is in a builtin_tensor_*.c; one
 * that can be written in the language is in the prelude.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/builtin.h"
#include "lang/math/builtin_tensor.h"
#include <string.h>

/* ---- arguments ---- */

Tensor *arg_as_tensor(Interp *in, Value v, LangError *e) {
    Value made;
    if (v.kind == V_TENSOR) return tensor_ref(v.tensor);
    if (!value_is_number(v) && value_count(v) < 0) {
        error_set(e, "expected a tensor, got %s", value_type_name(v));
        tensor_hint_map(v, e);
        return NULL;
    }
    return tensor_from_value(in, v, DT_NONE, &made, e) ? made.tensor : NULL;
}

bool arg_int_of(Value v, const char *name, int64_t *out, LangError *e) {
    if (v.kind == V_INT) return *out = v.i, true;
    return error_set(e, "'%s' must be a whole number, not %s", name, value_type_name(v));
}

bool arg_float_of(Value v, const char *name, double *out, LangError *e) {
    if (v.kind == V_FLOAT) return *out = v.f, true;
    if (v.kind == V_INT) return *out = (double)v.i, true;
    return error_set(e, "'%s' must be a number, not %s", name, value_type_name(v));
}

bool arg_bool_of(Value v, const char *name, bool *out, LangError *e) {
    if (v.kind == V_BOOL) return *out = v.b, true;
    error_set(e, "'%s' must be true or false, not %s", name, value_type_name(v));
    return v.kind == V_INT && !strcmp(name, "keepdims") &&
           error_hint(e, "several axes are a list: x.sum([0, 1])");
}

/* As a dtype, the builtins float, int and bool stand for float32, int64 and bool. */
bool arg_dtype_of(Value v, DType missing, DType *out, LangError *e) {
    if (v.kind == V_NONE) return *out = missing, true;
    if (v.kind == V_DTYPE) return *out = v.dtype, true;
    const char *name = v.kind == V_STR ? v.str->s : v.kind == V_BUILTIN ? v.builtin->name : NULL;
    if (name && v.kind == V_BUILTIN && !strcmp(name, "int")) name = "int64";
    DType d = name ? dtype_find(name, strlen(name)) : DT_NONE;
    if (d != DT_NONE) return *out = d, true;
    if (name)
        error_set(e, "'%s' is not a dtype", name);
    else
        error_set(e, "'dtype' must be a dtype, not %s", value_type_name(v));
    return error_hint(e, "bool uint8 int8 int32 int64 float16 bfloat16 float32 float64");
}

bool arg_axis(Value v, int rank, int *out, LangError *e) {
    int64_t i = 0;
    TRY(arg_int_of(v, "axis", &i, e));
    if (i >= -rank && i < rank) return *out = (int)(i < 0 ? i + rank : i), true;
    if (!rank)
        return error_set(e, "axis %lld, but the tensor is a single number without axes",
                         (long long)i);
    return error_set(e, "axis %lld is not in %d to %d", (long long)i, -rank, rank - 1);
}

bool arg_axes(Value v, int rank, int64_t *axes, int *n, LangError *e) {
    int64_t count = value_count(v);
    int axis;
    *n = 0;
    if (v.kind == V_NONE) {
        for (; *n < rank; (*n)++) axes[*n] = *n;
        return true;
    }
    if (count < 0) return arg_axis(v, rank, &axis, e) && (axes[(*n)++] = axis, true);
    if (count > rank)
        return error_set(e, "%lld axes for a tensor of rank %d", (long long)count, rank);
    for (int64_t i = 0; i < count; i++) {
        TRY(arg_axis(value_at(v, i), rank, &axis, e));
        for (int k = 0; k < *n; k++)
            if (axes[k] == axis) return error_set(e, "axis %d is given twice", axis);
        axes[(*n)++] = axis;
    }
    return true;
}

bool arg_shape(Value v, int64_t *shape, int *rank, LangError *e) {
    if (value_count(v) == 1 && value_count(value_at(v, 0)) >= 0) v = value_at(v, 0);
    int64_t n = value_count(v);
    *rank = 0;
    if (n < 0) return arg_int_of(v, "shape", &shape[(*rank)++], e);
    if (n > MAX_DIMS)
        return error_set(e, "%lld axes, but a tensor has at most %d", (long long)n, MAX_DIMS);
    for (int64_t i = 0; i < n; i++) {
        Value x = value_at(v, i);
        if (x.kind != V_INT) {
            error_set(e, "a shape is made of whole numbers, not %s", value_type_name(x));
            if (x.kind == V_FLOAT) error_hint(e, "a // b divides to a whole number");
            if (x.kind == V_TENSOR) error_hint(e, "int(n), of a tensor with one number");
            if (x.kind == V_DTYPE) error_hint(e, "dtype=%s", dtype_info[x.dtype].name);
            Value last = value_at(v, n - 1);
            if (i == 0 && n == 2 && last.kind == V_DTYPE) { /* zeros((2, 3), float32) */
                error_set(e, "the dtype behind a shape needs its name");
                error_hint(e, "dtype=%s", dtype_info[last.dtype].name);
            }
            return false;
        }
        shape[(*rank)++] = x.i;
    }
    return true;
}

bool shape_is_valid(const int64_t *shape, int rank, LangError *e) {
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0)
            return error_set(e, "an axis cannot have %lld elements", (long long)shape[i]);
    return true;
}

/* ---- steps ---- */

Tensor *steps_keep(Steps *s, Tensor *t) {
    if (s->n == sizeof s->t / sizeof *s->t) panic("a tensor function of too many steps");
    return s->t[s->n++] = t;
}

Tensor *steps_arg(Steps *s, Value v) { return steps_keep(s, arg_as_tensor(s->in, v, s->e)); }

Tensor *step_op(Steps *s, Op op, const Arg *arg, int n_args, const Attr *attr, int n_attr) {
    Tensor *t;
    for (int i = 0; i < n_args; i++)
        if (!arg[i].t && arg[i].imm.kind == IN_TENSOR) return NULL;
    bool ok = tensor_op(s->in, op, arg, n_args, attr, n_attr, &t, s->e);
    return ok ? steps_keep(s, t) : NULL;
}

Tensor *step1(Steps *s, Op op, Tensor *x) { return step_op(s, op, &(Arg){.t = x}, 1, NULL, 0); }
Tensor *step2(Steps *s, Op op, Arg a, Arg b) { return step_op(s, op, (Arg[]){a, b}, 2, NULL, 0); }
Tensor *step_where(Steps *s, Tensor *c, Arg a, Arg b) {
    return step_op(s, OP_WHERE, (Arg[]){arg_tensor(c), a, b}, 3, NULL, 0);
}
Tensor *step_cast(Steps *s, Tensor *x, DType d) {
    return x ? steps_keep(s, tensor_cast(s->in, x, d, s->e)) : NULL;
}
Tensor *step_reshape(Steps *s, Tensor *x, const int64_t *shape, int rank) {
    return x ? steps_keep(s, tensor_reshape(s->in, x, shape, rank, s->e)) : NULL;
}

Tensor *steps_end(Steps *s, Tensor *t) {
    if (t) tensor_ref(t);
    for (int i = 0; i < s->n; i++) tensor_unref(s->t[i]);
    return t;
}

/* ---- pointwise rows ---- */

#define MAP(id, ...)                                                                               \
    static bool bi_map_##id(Interp *in, const Value *arg, Value *out, LangError *e) {              \
        return map_call(in, OP_##id, arg, out, e);                                                 \
    }
#include "runtime/inst/ops.def"

#define MAP_SIGNATURE_1 "x"
#define MAP_SIGNATURE_2 "a, b"
#define MAP_SIGNATURE_3 "c, a, b"

const Builtin builtins_tensor[] = {
#define ROW(name, fn, signature, doc, kinds, facts) {name, signature, bi_##fn, doc, kinds, facts},
#include "lang/math/functions.def"
#define MAP(id, name, arity, in, out, grad, facts, expr, doc)                                      \
    {name, MAP_SIGNATURE_##arity, bi_map_##id, doc, 1u << V_TENSOR, BI_PURE},
#include "runtime/inst/ops.def"
    {NULL}};
