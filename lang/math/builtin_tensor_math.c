/* builtin_tensor_math.c: pointwise functions of tensors and host numbers, and reductions.
 * Composites of one line are in the prelude; the functions here handle axes, dtypes or numerical
 * range.
 * SPDX-License-Identifier: MIT */
#include "lang/math/builtin_tensor.h"
#include "lang/tensor/pair.h"
#include "lang/tensor/autograd.h"
#include "runtime/inst/expr.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- pointwise ---- */

/* Evaluates a row of ops.def on whole numbers; false if the row does not accept them. */
#define KIND int
static bool whole_row(Op op, int64_t a, int64_t b, int64_t c, int64_t *out) {
    typedef int64_t T;
    switch (op) {
#define MAP(id, name, arity, in, out_, grad, facts, expr, ...)                                     \
    IF_##in(case OP_##id : *out = (expr); return true;)
#include "runtime/inst/ops.def"
    default: return false;
    }
}
#undef KIND
#define KIND float
static bool real_row(Op op, double a, double b, double c, double *out) {
    typedef double T;
    switch (op) {
#define MAP(id, name, arity, in, out_, grad, facts, expr, ...)                                     \
    IF_##in(case OP_##id : *out = (expr); return true;)
#include "runtime/inst/ops.def"
    default: return false;
    }
}
#undef KIND

static int64_t whole(Value v) { return v.kind == V_INT ? v.i : v.b; }

/* Applies a MAP row to numbers. Whole numbers give a whole number if the row accepts them and the
 * result fits; otherwise it computes in floats, by IEEE rules: log(0) is -inf. Rounding gives whole
 * numbers, as in Python. */
static bool map_host(Op op, const Value *arg, Value *out) {
    const OpInfo *info = &op_info[op];
    bool is_whole = true, is_bool = true;
    double x[3] = {0}, real = 0;
    int64_t k[3] = {0}, n = 0;
    if (op_has(op, FACT_PICKS)) return *out = value_double(arg[0]) != 0 ? arg[1] : arg[2], true;
    for (int i = 0; i < info->arity; i++) {
        is_whole &= arg[i].kind != V_FLOAT, is_bool &= arg[i].kind == V_BOOL;
        x[i] = value_double(arg[i]);
        if (arg[i].kind != V_FLOAT) k[i] = whole(arg[i]);
    }
    if (op == OP_MAXIMUM || op == OP_MINIMUM) { /* returns one of the two unchanged */
        bool first = op == OP_MAXIMUM ? x[0] >= x[1] : x[0] <= x[1];
        return *out = isnan(x[0]) || (!isnan(x[1]) && first) ? arg[0] : arg[1], true;
    }
    bool has_real = real_row(op, x[0], x[1], x[2], &real);
    bool by_zero = k[1] == 0 && (op == OP_FLOORDIV || op == OP_MOD || op == OP_FMOD);
    bool is_part = by_zero || (op == OP_POW && k[1] < 0);
    bool fits = !has_real || fabs(real) < 0x1p63;
    if (is_whole && !is_part && fits && whole_row(op, k[0], k[1], k[2], &n)) {
        bool is_truth = info->out == OUT_boolean || (is_bool && info->in == DSET_BITS);
        *out = is_truth ? v_bool(n & 1) : v_int(n);
        return true;
    }
    bool rounds = op == OP_FLOOR || op == OP_CEIL || op == OP_TRUNC || op == OP_ROUND;
    *out = info->out == OUT_boolean        ? v_bool(real != 0)
           : rounds && fabs(real) < 0x1p63 ? v_int((int64_t)real)
                                           : v_float(real);
    return has_real;
}

bool map_call(Interp *in, Op op, const Value *arg, Value *out, LangError *e) {
    int n = op_info[op].arity;
    Arg a[3];
    Tensor *t;
    bool all_numbers = true;
    for (int i = 0; i < n; i++) all_numbers &= value_is_number(arg[i]);
    if (all_numbers) {
        if (map_host(op, arg, out)) return true;
        return error_set(e, "%s needs a tensor here, not only numbers", op_info[op].name);
    }
    for (int i = 0; i < n; i++) {
        if (arg_from_value(in, arg[i], &a[i], e)) continue;
        return error_set(e, "%s works on tensors and numbers, not %s", op_info[op].name,
                         value_type_name(arg[i]));
    }
    TRY(tensor_op(in, op, a, n, NULL, 0, &t, e));
    *out = v_tensor(t);
    return true;
}

/* a op alpha * b: PyTorch's add and sub. */
static bool scaled_call(Interp *in, Op op, const Value *arg, Value *out, LangError *e) {
    if (arg[2].kind == V_INT && arg[2].i == 1) return map_call(in, op, arg, out, e);
    Value by[2] = {arg[1], arg[2]}, both[2] = {arg[0], v_none()};
    TRY(map_call(in, OP_MUL, by, &both[1], e));
    bool ok = map_call(in, op, both, out, e);
    value_drop(both[1]);
    return ok;
}
BUILTIN(add) { return scaled_call(in, OP_ADD, arg, out, e); } /* a, b, alpha */
BUILTIN(sub) { return scaled_call(in, OP_SUB, arg, out, e); }

BUILTIN(div) { /* a, b, rounding_mode */
    if (arg[2].kind == V_NONE) return map_call(in, OP_DIV, arg, out, e);
    const char *how = arg[2].kind == V_STR ? arg[2].str->s : "";
    if (!strcmp(how, "floor")) return map_call(in, OP_FLOORDIV, arg, out, e);
    if (strcmp(how, "trunc"))
        return error_set(e, "'rounding_mode' is none, \"floor\" or \"trunc\"");
    Value rest, whole[2] = {arg[0], v_none()}, quotient[2] = {v_none(), arg[1]};
    TRY(map_call(in, OP_FMOD, arg, &rest, e));
    bool is_float = rest.kind == V_TENSOR ? dtype_is_float(tensor_type(rest.tensor)->dtype)
                                          : rest.kind == V_FLOAT;
    whole[1] = rest;
    Op first = is_float ? OP_DIV : OP_SUB, then = is_float ? OP_TRUNC : OP_FLOORDIV;
    bool ok = map_call(in, first, is_float ? arg : whole, &quotient[0], e);
    value_drop(rest);
    ok = ok && map_call(in, then, quotient, out, e);
    value_drop(quotient[0]);
    return ok;
}

/* Sets *out to x where product is above the threshold, else to soft. */
static bool above_threshold(Interp *in, Value product, double threshold, Value x, Value soft,
                            Value *out, LangError *e) {
    Value pair[2] = {product, v_float(threshold)}, choice[3] = {v_none(), x, soft};
    TRY(map_call(in, OP_GT, pair, &choice[0], e));
    bool ok = map_call(in, OP_WHERE, choice, out, e);
    value_drop(choice[0]);
    return ok;
}

/* x, beta, threshold. It is accurate everywhere: above 20 the threshold makes no difference. Above
 * 100 the result is x in every dtype, also where beta * x is too large for it. */
BUILTIN(softplus) {
    double beta, threshold;
    TRY(arg_float_of(arg[1], "beta", &beta, e));
    TRY(arg_float_of(arg[2], "threshold", &threshold, e));
    bool has_threshold = threshold < 20 || beta > 1;
    if (threshold >= 20) threshold = 100;
    if (beta == 1 && !has_threshold) return map_call(in, OP_SOFTPLUS, arg, out, e);
    Value v[2] = {arg[0], v_float(beta)}, soft[2] = {v_none(), v_float(beta)}, product, whole;
    TRY(map_call(in, OP_MUL, v, &product, e));
    bool ok = map_call(in, OP_SOFTPLUS, &product, &soft[0], e);
    ok = ok && map_call(in, OP_DIV, soft, &whole, e);
    value_drop(soft[0]);
    if (ok && has_threshold) {
        ok = above_threshold(in, product, threshold, arg[0], whole, out, e);
        value_drop(whole);
    } else if (ok)
        *out = whole;
    value_drop(product);
    return ok;
}

/* c, a, b; where(c) alone is nonzero(c, as_tuple=true). */
BUILTIN(where) {
    if (arg[1].kind == V_NONE && arg[2].kind == V_NONE)
        return bi_nonzero(in, (const Value[]){arg[0], v_bool(true)}, out, e);
    if (arg[1].kind == V_NONE || arg[2].kind == V_NONE)
        return error_set(e, "where needs both values, for true and for false");
    return map_call(in, OP_WHERE, arg, out, e);
}

/* x as float32 or float64 (whole numbers: the default dtype), for means and the like. give_rounded
 * casts results of halves back at the end. */
static Tensor *as_float(Steps *s, Tensor *x) {
    DType d = x ? (DType)tensor_type(x)->dtype : DT_NONE;
    if (!dtype_is_float(d)) d = s->in->float_dtype;
    return step_cast(s, x, d == DT_F64 ? DT_F64 : DT_F32);
}

/* Ends the steps with t, cast to x's dtype if that is a half. The cast comes after all others are
 * dropped: it can use their memory. */
static bool give_rounded(Steps *s, Tensor *t, const Tensor *x, Value *out) {
    DType d = x ? (DType)tensor_type(x)->dtype : DT_NONE;
    Steps last = {s->in, s->e};
    t = steps_end(s, t);
    if (!t || !dtype_is_half(d)) return give_tensor(t, out);
    return steps_give(&last, step_cast(&last, steps_keep(&last, t), d), out);
}

/* x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) */
static Tensor *gelu_tanh(Steps *s, Tensor *x) {
    Tensor *t = step1(s, OP_SQUARE, x);
    t = step2(s, OP_MUL, arg_tensor(t), arg_float(0.044715 * M_SQRT1_2 * M_2_SQRTPI));
    t = step2(s, OP_ADD, arg_tensor(t), arg_float(M_SQRT1_2 * M_2_SQRTPI));
    t = step1(s, OP_TANH, step2(s, OP_MUL, arg_tensor(x), arg_tensor(t)));
    t = step2(s, OP_ADD, arg_tensor(t), arg_float(1));
    Tensor *half = step2(s, OP_MUL, arg_tensor(x), arg_float(0.5));
    return step2(s, OP_MUL, arg_tensor(half), arg_tensor(t));
}

BUILTIN(gelu) { /* x, approximate */
    const char *how = arg[1].kind == V_STR ? arg[1].str->s : "";
    if (!strcmp(how, "none")) return map_call(in, OP_GELU, arg, out, e);
    if (strcmp(how, "tanh")) return error_set(e, "'approximate' is \"none\" or \"tanh\"");
    Steps s = {in, e};
    Tensor *x = steps_arg(&s, arg[0]);
    return give_rounded(&s, gelu_tanh(&s, as_float(&s, x)), x, out);
}

BUILTIN(round) { /* x, n */
    int64_t n;
    TRY(arg_int_of(arg[1], "n", &n, e));
    if (!n) return map_call(in, OP_ROUND, arg, out, e);
    if (n < -300 || n > 300)
        return error_set(e, "'n' must be in -300 to 300, not %lld", (long long)n);
    double by = pow(10, (double)llabs(n));
    Op up = n > 0 ? OP_MUL : OP_DIV, down = n > 0 ? OP_DIV : OP_MUL;
    Steps s = {in, e};
    Tensor *t = step2(&s, up, arg_tensor(steps_arg(&s, arg[0])), arg_float(by));
    return steps_give(&s, step2(&s, down, arg_tensor(step1(&s, OP_ROUND, t)), arg_float(by)), out);
}

/* An error of where in the name of the function that the program called. */
static bool not_where(LangError *e, const char *name) {
    char text[sizeof e->what];
    if (strncmp(e->what, "where: ", 7)) return false;
    snprintf(text, sizeof text, "%s: %s", name, e->what + 7);
    snprintf(e->what, sizeof e->what, "%s", text);
    return false;
}

/* where(x <= bound, bound, x): for a number as bound the gradient at the bound is 0, as PyTorch's,
 * and nan stays nan. Drops the condition, so that a second limit can use its memory. */
static Tensor *limit(Steps *s, Tensor *x, Op beyond, Value bound) {
    Arg b;
    Steps own = {s->in, s->e};
    if (!x || bound.kind == V_NONE) return x;
    if (bound.kind == V_TENSOR) /* ties share the gradient, as with PyTorch's tensor bounds */
        return step2(s, beyond == OP_LE ? OP_MAXIMUM : OP_MINIMUM, arg_tensor(x),
                     arg_tensor(bound.tensor));
    if (!arg_from_value(s->in, bound, &b, s->e)) return NULL;
    Tensor *hit = step2(&own, beyond, arg_tensor(x), b);
    Tensor *t = step_where(&own, hit, b, arg_tensor(x));
    if (hit && !t) not_where(s->e, "clamp");
    return steps_keep(s, steps_end(&own, t));
}

BUILTIN(clamp) { /* x, min, max */
    if (arg[1].kind == V_NONE && arg[2].kind == V_NONE)
        return error_set(e, "clamp needs min, max or both");
    if (value_is_number(arg[0]) && arg[1].kind != V_TENSOR && arg[2].kind != V_TENSOR) {
        Value v = arg[0];
        if (arg[1].kind != V_NONE && value_double(v) < value_double(arg[1])) v = arg[1];
        if (arg[2].kind != V_NONE && value_double(v) > value_double(arg[2])) v = arg[2];
        return *out = v, true;
    }
    Steps s = {in, e};
    Tensor *t = limit(&s, steps_arg(&s, arg[0]), OP_LE, arg[1]);
    return steps_give(&s, limit(&s, t, OP_GE, arg[2]), out);
}

/* Checks the operands of where under the names that masked_fill has for them. */
static bool mask_fits(const Arg *mask, const Arg *value, const Tensor *x, LangError *e) {
    TensorType both;
    const TensorType *t = tensor_type(x);
    char of_x[256], other[256];
    if (!mask->t || tensor_type(mask->t)->dtype != DT_BOOL) {
        error_set(e, "masked_fill: the mask must be a tensor of bool, not %s",
                  mask->t ? dtype_info[tensor_type(mask->t)->dtype].name : "a number");
        return error_hint(e, "mask != 0");
    }
    for (int i = 0; i < 2; i++) {
        const Tensor *o = i ? value->t : mask->t;
        if (!o || shape_broadcast(tensor_type(o), t, &both)) continue;
        return error_set(e, "masked_fill: the %s of shape %s does not fit x of shape %s",
                         i ? "value" : "mask", type_shape_text(tensor_type(o), other),
                         type_shape_text(t, of_x));
    }
    return true;
}

BUILTIN(masked_fill) { /* x, mask, value */
    Arg a[3];
    Tensor *t;
    TRY(arg_from_value(in, arg[1], &a[0], e) && arg_from_value(in, arg[2], &a[1], e) &&
        arg_from_value(in, arg[0], &a[2], e));
    if (!a[2].t) return error_set(e, "masked_fill needs a tensor first");
    TRY(mask_fits(&a[0], &a[1], a[2].t, e));
    if (!tensor_op(in, OP_WHERE, a, 3, NULL, 0, &t, e)) return not_where(e, "masked_fill");
    return give_tensor(t, out);
}

/* The product of arg[0] and arg[1] as `name` defines it: its arguments have `a_rank` and `b_rank`
 * axes (0: any), and one length of the batch if they have three. */
static bool product(Interp *in, const char *name, int a_rank, int b_rank, const Value *arg,
                    Value *out, LangError *e) {
    Steps s = {in, e};
    Tensor *a = steps_arg(&s, arg[0]), *b = a ? steps_arg(&s, arg[1]) : NULL, *t;
    DType wide = DT_NONE;
    bool ok = b;
    if (ok && a_rank && (tensor_type(a)->rank != a_rank || tensor_type(b)->rank != b_rank)) {
        ok = error_set(e, "%s takes tensors of %d and %d axes, not of %d and %d", name, a_rank,
                       b_rank, tensor_type(a)->rank, tensor_type(b)->rank);
        error_hint(e, "a @ b multiplies tensors of any number of axes");
    } else if (ok && a_rank == 3 && tensor_type(a)->shape[0] != tensor_type(b)->shape[0]) {
        ok = error_set(e, "%s: batches of %lld and of %lld matrices", name,
                       (long long)tensor_type(a)->shape[0], (long long)tensor_type(b)->shape[0]);
        error_hint(e, "a @ b repeats a batch of one");
    }
    ok =
        ok && arg_dtype_of(arg[2], DT_NONE, &wide, e) && tensor_matmul(in, a, b, wide, NULL, &t, e);
    return steps_give(&s, ok ? steps_keep(&s, t) : NULL, out);
}

BUILTIN(matmul) { return product(in, "matmul", 0, 0, arg, out, e); }
BUILTIN(mm) { return product(in, "mm", 2, 2, arg, out, e); }
BUILTIN(bmm) { return product(in, "bmm", 3, 3, arg, out, e); }
BUILTIN(dot) { return product(in, "dot", 1, 1, arg, out, e); }

/* ---- reductions: arguments x, axis, keepdims unless a comment says otherwise ---- */

typedef struct Fold {
    Tensor *x;
    int64_t axes[MAX_DIMS];
    int n;
    bool keepdims;
} Fold;

static bool fold_args(Steps *s, Value x, Value axis, Value keepdims, Fold *f) {
    f->x = steps_arg(s, x);
    return f->x && arg_axes(axis, tensor_type(f->x)->rank, f->axes, &f->n, s->e) &&
           arg_bool_of(keepdims, "keepdims", &f->keepdims, s->e);
}

/* Handles an empty list of axes, which reduces nothing; tensor_reduce would reduce all axes. */
static Tensor *fold(Steps *s, Op op, Tensor *x, const Fold *f, bool keepdims) {
    if (!x || (!f->n && tensor_type(x)->rank)) return x;
    return steps_keep(s, tensor_reduce(s->in, op, x, f->axes, f->n, keepdims, s->e));
}

static bool simple_fold(Interp *in, Op op, const Value *arg, Value *out, LangError *e) {
    Fold f;
    Steps s = {in, e};
    bool ok = fold_args(&s, arg[0], arg[1], arg[2], &f);
    return steps_give(&s, ok ? fold(&s, op, f.x, &f, f.keepdims) : NULL, out);
}

/* x cast to the dtype argument of a reduction; a new value. */
static bool cast_first(Interp *in, Value x, Value dtype, Value *out, LangError *e) {
    DType d;
    TRY(arg_dtype_of(dtype, DT_NONE, &d, e));
    if (d == DT_NONE) return *out = value_ref(x), true;
    Steps s = {in, e};
    return steps_give(&s, step_cast(&s, steps_arg(&s, x), d), out);
}

/* x, axis, keepdims, dtype */
static bool cast_fold(Interp *in, Op op, const Value *arg, Value *out, LangError *e) {
    Value a[3] = {v_none(), arg[1], arg[2]};
    TRY(cast_first(in, arg[0], arg[3], &a[0], e));
    bool ok = simple_fold(in, op, a, out, e);
    value_drop(a[0]);
    return ok;
}

BUILTIN(sum) { return cast_fold(in, OP_SUM, arg, out, e); }
BUILTIN(prod) { return cast_fold(in, OP_PROD, arg, out, e); }
BUILTIN(any) { return simple_fold(in, OP_ANY, arg, out, e); }
BUILTIN(all) { return simple_fold(in, OP_ALL, arg, out, e); }

/* x, axis, keepdims; or two tensors: the larger (smaller) of each pair of elements. Along one axis
 * the result has .indices. */
static bool extreme(Interp *in, Op op, const Value *arg, Value *out, LangError *e) {
    Steps s = {in, e};
    if (arg[1].kind == V_TENSOR) {
        Op each = op == OP_MAX ? OP_MAXIMUM : OP_MINIMUM;
        Arg a = arg_tensor(steps_arg(&s, arg[0]));
        return steps_give(&s, step2(&s, each, a, arg_tensor(arg[1].tensor)), out);
    }
    if (arg[0].kind == V_TENSOR && !tensor_type(arg[0].tensor)->rank && arg[1].kind != V_NONE) {
        error_set(e, "%s(x, n) reduces axis n, but x is a single number", op_info[op].name);
        return error_hint(e, "elementwise: %simum(x, n)", op_info[op].name);
    }
    if (arg[1].kind == V_FLOAT) {
        error_set(e, "the second argument of %s must be an axis, not %s", op_info[op].name,
                  value_type_name(arg[1]));
        return error_hint(e, "elementwise: %simum(a, b)", op_info[op].name);
    }
    if (arg[1].kind != V_INT) return simple_fold(in, op, arg, out, e);
    Fold f;
    if (!fold_args(&s, arg[0], arg[1], arg[2], &f)) return steps_give(&s, NULL, out);
    Tensor *t = fold(&s, op, f.x, &f, f.keepdims);
    if (t) grad_to_first(t, op);
    PairIndices how = {.op = op == OP_MAX ? OP_ARGMAX : OP_ARGMIN,
                       .of = f.x->handle,
                       .axis = f.axes[0],
                       .flag = ATTR_KEEPDIMS,
                       .is_set = f.keepdims};
    if (t) *out = v_tensor(pair_later(in, tensor_ref(t), op_info[op].name, &how));
    return steps_end(&s, NULL), t != NULL;
}

BUILTIN(amax) { return simple_fold(in, OP_MAX, arg, out, e); }
BUILTIN(amin) { return simple_fold(in, OP_MIN, arg, out, e); }
BUILTIN(max) { return extreme(in, OP_MAX, arg, out, e); }
BUILTIN(min) { return extreme(in, OP_MIN, arg, out, e); }

static int64_t fold_count(const Fold *f) {
    int64_t n = 1;
    for (int i = 0; i < f->n; i++) n *= tensor_type(f->x)->shape[f->axes[i]];
    return n;
}

static Tensor *mean_of(Steps *s, Tensor *x, const Fold *f, double count, bool keepdims) {
    return step2(s, OP_DIV, arg_tensor(fold(s, OP_SUM, x, f, keepdims)), arg_float(count));
}

BUILTIN(mean) { /* x, axis, keepdims, dtype */
    Fold f;
    Value cast;
    Steps s = {in, e};
    TRY(cast_first(in, arg[0], arg[3], &cast, e));
    bool fits = fold_args(&s, cast, arg[1], arg[2], &f);
    value_drop(cast);
    if (!fits) return steps_give(&s, NULL, out);
    Tensor *t = mean_of(&s, as_float(&s, f.x), &f, (double)fold_count(&f), f.keepdims);
    return give_rounded(&s, t, f.x, out);
}

/* Warns, once per position, of n elements with no degree of freedom: the result is nan. */
static void warn_of_freedom(Interp *in, const char *name, int64_t n, double correction) {
    LangError w = {0};
    error_at(&w, interp_span(in), "%s of %lld element%s is nan, since the correction is %g", name,
             (long long)n, n == 1 ? "" : "s", correction);
    if (n > 0) error_hint(&w, "unbiased=false divides by the number of elements");
    interp_warn_once(in, &w);
}

/* x, axis, correction, keepdims, unbiased; *from: x itself */
static Tensor *variance(Steps *s, const char *name, const Value *arg, Tensor **from) {
    Fold f;
    double correction;
    Value c = arg[4].kind == V_NONE ? arg[2] : arg[4]; /* PyTorch's older name: true is 1 */
    if (c.kind == V_BOOL) c = v_int(c.b);
    if (!arg_float_of(c, "correction", &correction, s->e) ||
        !fold_args(s, arg[0], arg[1], arg[3], &f))
        return NULL;
    double n = (double)fold_count(&f);
    bool is_empty = n > 0 && type_numel(tensor_type(f.x)) == 0;
    if (n <= correction && !is_empty) warn_of_freedom(s->in, name, fold_count(&f), correction);
    Tensor *x = as_float(s, *from = f.x), *m = mean_of(s, x, &f, n, true);
    Tensor *gap = step2(s, OP_SUB, arg_tensor(x), arg_tensor(m));
    return mean_of(s, step1(s, OP_SQUARE, gap), &f, n - correction > 0 ? n - correction : 0,
                   f.keepdims);
}

/* The square root of a sum of squares, with gradient 0 where it is 0, as PyTorch's norm and
 * std. */
static Tensor *root(Steps *s, Tensor *sum) {
    if (!sum || !grad_is_on(s->in) || !tensor_needs_grad(sum)) return step1(s, OP_SQRT, sum);
    Tensor *zero = step2(s, OP_EQ, arg_tensor(sum), arg_int(0));
    Tensor *r = step1(s, OP_SQRT, step_where(s, zero, arg_int(1), arg_tensor(sum)));
    return step_where(s, zero, arg_int(0), arg_tensor(r));
}

BUILTIN(var) {
    Steps s = {in, e};
    Tensor *x = NULL, *t = variance(&s, "var", arg, &x);
    return give_rounded(&s, t, x, out);
}

BUILTIN(std) {
    Steps s = {in, e};
    Tensor *x = NULL, *t = root(&s, variance(&s, "std", arg, &x));
    return give_rounded(&s, t, x, out);
}

/* x ** p, with gradient 0 where x is 0, as in PyTorch's norms. Drops its own steps, which are as
 * large as x, before the reduction that follows. */
static Tensor *power_beside_0(Steps *s, Tensor *x, double p) {
    Steps own = {s->in, s->e};
    Tensor *zero = step2(&own, OP_EQ, arg_tensor(x), arg_int(0));
    Tensor *safe = step_where(&own, zero, arg_int(1), arg_tensor(x));
    Tensor *power = step2(&own, OP_POW, arg_tensor(safe), arg_float(p));
    Tensor *t = step_where(&own, zero, arg_float(p < 0 ? INFINITY : 0), arg_tensor(power));
    return steps_keep(s, steps_end(&own, t));
}

BUILTIN(norm) { /* x, p, axis, keepdims */
    Fold f;
    double p = 2;
    Steps s = {in, e};
    bool is_plain =
        arg[1].kind == V_NONE || (arg[1].kind == V_STR && !strcmp(arg[1].str->s, "fro"));
    if (!is_plain) TRY(arg_float_of(arg[1], "p", &p, e));
    if (!fold_args(&s, arg[0], arg[2], arg[3], &f)) return steps_give(&s, NULL, out);
    Tensor *x = as_float(&s, f.x), *t = step1(&s, p == 2 ? OP_SQUARE : OP_ABS, x);
    bool has_power = p != 0 && p != 1 && p != 2 && !isinf(p);
    if (p == 0) t = step2(&s, OP_NE, arg_tensor(t), arg_int(0));
    if (has_power) t = power_beside_0(&s, t, p);
    t = fold(&s, isinf(p) ? p > 0 ? OP_MAX : OP_MIN : OP_SUM, t, &f, f.keepdims);
    if (p == 2) t = root(&s, t);
    if (p == 0 && x) t = step_cast(&s, t, (DType)tensor_type(x)->dtype);
    if (has_power) t = power_beside_0(&s, t, 1 / p);
    return give_rounded(&s, t, f.x, out);
}

/* log(sum(exp(x - m))) + m, with m the maximum, or 0 where that is infinite. m has no gradient. */
BUILTIN(logsumexp) {
    Fold f;
    Steps s = {in, e};
    if (!fold_args(&s, arg[0], arg[1], arg[2], &f)) return steps_give(&s, NULL, out);
    Tensor *x = as_float(&s, f.x), *gap = x, *safe = NULL, *t;
    bool is_empty = x && !tensor_numel(x); /* no maximum: the result is log(0) */
    if (!is_empty) {
        in->no_grad_depth++;
        Tensor *m = fold(&s, OP_MAX, x, &f, true);
        safe = step_where(&s, step1(&s, OP_ISFINITE, m), arg_tensor(m), arg_float(0));
        in->no_grad_depth--;
        gap = step2(&s, OP_SUB, arg_tensor(x), arg_tensor(safe));
    }
    t = step1(&s, OP_LOG, fold(&s, OP_SUM, step1(&s, OP_EXP, gap), &f, f.keepdims));
    if (t && !is_empty) {
        Tensor *back = step_reshape(&s, safe, tensor_type(t)->shape, tensor_type(t)->rank);
        t = step2(&s, OP_ADD, arg_tensor(t), arg_tensor(back));
    }
    return give_rounded(&s, t, f.x, out);
}

/* ---- along one axis ---- */

static bool arg_extreme(Interp *in, Op op, const Value *arg, Value *out, LangError *e) {
    Steps s = {in, e};
    Tensor *x = steps_arg(&s, arg[0]), *t = NULL;
    int axis = 0;
    bool keep = false;
    if (x && (arg[1].kind == V_NONE || arg_axis(arg[1], tensor_type(x)->rank, &axis, e)) &&
        arg_bool_of(arg[2], "keepdims", &keep, e)) {
        int64_t a = axis;
        Attr attr[2] = {attr_bool(ATTR_KEEPDIMS, keep), attr_ints(ATTR_AXIS, &a, 1)};
        t = step_op(&s, op, &(Arg){.t = x}, 1, attr, arg[1].kind == V_NONE ? 1 : 2);
    }
    return steps_give(&s, t, out);
}

BUILTIN(argmax) { return arg_extreme(in, OP_ARGMAX, arg, out, e); }
BUILTIN(argmin) { return arg_extreme(in, OP_ARGMIN, arg, out, e); }

/* x and one of its axes; a 0-d x gets one axis of size 1. A new reference in *x. */
static bool along(Interp *in, Value v, Value axis, Tensor **x, int64_t *a, LangError *e) {
    int k = 0;
    *x = arg_as_tensor(in, v, e);
    if (!*x) return false;
    if (!tensor_type(*x)->rank) {
        int64_t one = 1;
        Tensor *line = tensor_reshape(in, *x, &one, 1, e);
        tensor_unref(*x), *x = line;
        if (!line) return false;
    }
    if (!arg_axis(axis, tensor_type(*x)->rank, &k, e)) return tensor_unref(*x), false;
    return *a = k, true;
}

/* Removes the axis that `along` added to a 0-d x. Takes ownership of t. */
static Tensor *off_line(Interp *in, Value x, Tensor *t, LangError *e) {
    bool is_single = x.kind == V_TENSOR ? !tensor_type(x.tensor)->rank : value_count(x) < 0;
    if (!t || !is_single || tensor_numel(t) != 1) return t;
    int64_t none = 0;
    Tensor *one = tensor_reshape(in, t, &none, 0, e);
    tensor_unref(t);
    return one;
}

static bool run_along(Interp *in, Op op, Value x, Value axis, Attr flag, Value *out, LangError *e) {
    Tensor *t, *r = NULL;
    int64_t a;
    TRY(along(in, x, axis, &t, &a, e));
    Attr attr[2] = {attr_ints(ATTR_AXIS, &a, 1), flag};
    Arg operand = arg_tensor(t);
    if (!tensor_op(in, op, &operand, 1, attr, flag.key == ATTR_AXIS ? 1 : 2, &r, e)) r = NULL;
    tensor_unref(t);
    return give_tensor(off_line(in, x, r, e), out);
}

BUILTIN(cumsum) { /* x, axis, dtype */
    Value x;
    TRY(cast_first(in, arg[0], arg[2], &x, e));
    bool ok = run_along(in, OP_CUMSUM, x, arg[1], (Attr){.key = ATTR_AXIS}, out, e);
    value_drop(x);
    return ok;
}

/* The results of `op` on x along an axis (`along`), as a list of two. Takes ownership of t. */
static bool two_along(Interp *in, Op op, Value x, Tensor *t, const Attr *attr, int n_attr,
                      Value *out, LangError *e) {
    Tensor *r[MAX_OUT];
    bool ok = tensor_op(in, op, &(Arg){.t = t}, 1, attr, n_attr, r, e);
    tensor_unref(t);
    if (!ok) return false;
    *out = v_list(in, 2);
    for (int i = 0; i < 2; i++) {
        Tensor *one = off_line(in, x, r[i], e);
        ok &= one != NULL;
        if (one) list_push(out->list, v_tensor(one));
    }
    if (!ok) value_drop(*out);
    return ok;
}

static bool running_extreme(Interp *in, const Value *arg, bool largest, Value *out, LangError *e) {
    Tensor *t;
    int64_t a; /* arg: x, axis */
    TRY(along(in, arg[0], arg[1], &t, &a, e));
    Attr attr[2] = {attr_ints(ATTR_AXIS, &a, 1), attr_bool(ATTR_LARGEST, largest)};
    return two_along(in, OP_CUMMAX, arg[0], t, attr, 2, out, e);
}

BUILTIN(cummax) { return running_extreme(in, arg, true, out, e); }
BUILTIN(cummin) { return running_extreme(in, arg, false, out, e); }

BUILTIN(recurrence) { /* a, b, axis, reverse */
    bool reverse;
    int axis = 0;
    Steps s = {in, e};
    TRY(arg_bool_of(arg[3], "reverse", &reverse, e));
    Tensor *a = steps_arg(&s, arg[0]), *b = a ? steps_arg(&s, arg[1]) : NULL, *t = NULL;
    if (b && arg_axis(arg[2], tensor_type(a)->rank, &axis, e)) {
        int64_t k = axis;
        Attr attr[2] = {attr_ints(ATTR_AXIS, &k, 1), attr_bool(ATTR_REVERSE, reverse)};
        t = step_op(&s, OP_RECURRENCE, (Arg[]){arg_tensor(a), arg_tensor(b)}, 2, attr, 2);
    }
    return steps_give(&s, t, out);
}

BUILTIN(sort) { /* x, axis, descending */
    bool down;
    Tensor *x;
    int64_t a;
    TRY(arg_bool_of(arg[2], "descending", &down, e) && along(in, arg[0], arg[1], &x, &a, e));
    PairIndices how = {
        .op = OP_ARGSORT, .of = x->handle, .axis = a, .flag = ATTR_DESCENDING, .is_set = down};
    bool ok = run_along(in, OP_SORT, arg[0], arg[1], attr_bool(ATTR_DESCENDING, down), out, e);
    if (ok) out->tensor = pair_later(in, out->tensor, "sort", &how);
    tensor_unref(x);
    return ok;
}

BUILTIN(with_indices) { /* values, indices, name */
    Tensor *values = arg_as_tensor(in, arg[0], e),
           *i = values ? arg_as_tensor(in, arg[1], e) : NULL;
    if (i) *out = v_tensor(pair_new(in, tensor_ref(values), value_name(arg[2]), i));
    tensor_unref(values), tensor_unref(i);
    return i != NULL;
}

BUILTIN(argsort) {
    bool down;
    return arg_bool_of(arg[2], "descending", &down, e) &&
           run_along(in, OP_ARGSORT, arg[0], arg[1], attr_bool(ATTR_DESCENDING, down), out, e);
}

BUILTIN(topk) { /* x, k, axis, largest */
    Tensor *t;
    int64_t a, k;
    bool largest;
    TRY(arg_int_of(arg[1], "k", &k, e) && arg_bool_of(arg[3], "largest", &largest, e) &&
        along(in, arg[0], arg[2], &t, &a, e));
    Attr attr[3] = {attr_ints(ATTR_AXIS, &a, 1), attr_int(ATTR_K, k),
                    attr_bool(ATTR_LARGEST, largest)};
    return two_along(in, OP_TOPK, arg[0], t, attr, 3, out, e);
}
