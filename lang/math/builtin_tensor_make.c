/* builtin_tensor_make.c: creation of tensors: from host data, constant, counted, random. Every
 * random instruction takes the next key (seed, k), so a program's numbers depend only on its seed
 * and the order of its random instructions.
 * SPDX-License-Identifier: MIT */
#include "lang/math/builtin_tensor.h"
#include "lang/text/effects.h"
#include "lang/text/pieces.h"
#include "runtime/inst/element.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* Returns t, or a parameter with its value if requires_grad. Takes ownership of t. */
static bool give_maybe_param(Interp *in, Tensor *t, Value requires_grad, Value *out, LangError *e) {
    bool is_param;
    if (!t) return false;
    if (!arg_bool_of(requires_grad, "requires_grad", &is_param, e)) return tensor_unref(t), false;
    if (!is_param) return *out = v_tensor(t), true;
    *out = tensor_param(in, t, false, e);
    tensor_unref(t);
    return out->kind == V_TENSOR;
}

/* Whole numbers on the host become floats in a parameter: param([1, 2]). A tensor keeps its
 * dtype. */
static bool numbers_as_float(Interp *in, Value v, Value *made, LangError *e) {
    if (v.kind == V_TENSOR || dtype_is_float(tensor_type(made->tensor)->dtype)) return true;
    Tensor *t = tensor_cast(in, made->tensor, in->float_dtype, e);
    if (t) value_set(made, v_tensor(t));
    return t != NULL;
}

BUILTIN(tensor) { /* data, dtype, requires_grad */
    DType d;
    Value made;
    bool on;
    TRY(arg_dtype_of(arg[1], DT_NONE, &d, e));
    TRY(arg_bool_of(arg[2], "requires_grad", &on, e));
    TRY(tensor_from_value(in, arg[0], d, &made, e));
    if (on && d == DT_NONE && !numbers_as_float(in, arg[0], &made, e))
        return give_if(false, made, out);
    Tensor *plain = tensor_detach(in, made.tensor);
    value_drop(made);
    return give_maybe_param(in, plain, arg[2], out, e);
}

static bool shape_of(const Value *arg, int64_t *shape, int *rank, LangError *e) {
    return arg_shape(arg[0], shape, rank, e) && shape_is_valid(shape, *rank, e);
}

static bool constant(Interp *in, const Value *arg, int value, Value *out,
                     LangError *e) { /* *shape, dtype, requires_grad */
    int64_t shape[MAX_DIMS];
    int rank;
    DType d;
    TRY(shape_of(arg, shape, &rank, e) && arg_dtype_of(arg[1], in->float_dtype, &d, e));
    Operand v = {.kind = IN_IMM_INT, .i = value};
    return give_maybe_param(in, tensor_full(in, shape, rank, d, v, e), arg[2], out, e);
}

BUILTIN(zeros) { return constant(in, arg, 0, out, e); }
BUILTIN(ones) { return constant(in, arg, 1, out, e); }

/* A host number as an immediate of dtype d. */
static bool number_for(Interp *in, Value v, DType *d, Operand *imm, LangError *e) {
    if (!value_is_number(v))
        return error_set(e, "'value' must be a number, not %s", value_type_name(v));
    if (*d == DT_NONE)
        *d = v.kind == V_FLOAT ? in->float_dtype : v.kind == V_INT ? DT_I64 : DT_BOOL;
    if (v.kind == V_FLOAT && !dtype_is_float(*d))
        v = *d == DT_BOOL ? v_bool(v.f != 0) : v_int((int64_t)v.f);
    if (v.kind == V_INT && *d == DT_BOOL) v = v_bool(v.i != 0);
    if (v.kind == V_BOOL && *d != DT_BOOL) v = v_int(v.b);
    *imm = v.kind == V_FLOAT ? arg_float(v.f).imm
           : v.kind == V_INT ? arg_int(v.i).imm
                             : arg_bool(v.b).imm;
    return true;
}

BUILTIN(full) { /* shape, value, dtype, requires_grad */
    int64_t shape[MAX_DIMS];
    int rank;
    DType d;
    Operand v;
    TRY(shape_of(arg, shape, &rank, e) && arg_dtype_of(arg[2], DT_NONE, &d, e) &&
        number_for(in, arg[1], &d, &v, e));
    return give_maybe_param(in, tensor_full(in, shape, rank, d, v, e), arg[3], out, e);
}

/* A tensor with the shape of x, and its dtype unless one is given. x is an operand of the
 * instruction, so the result gets the layout of x. */
static bool like(Interp *in, Op op, Value x, Value dtype, const Operand *imm, Value *out,
                 LangError *e) {
    Tensor *model = arg_as_tensor(in, x, e), *made[MAX_OUT] = {0};
    DType d = DT_NONE;
    if (!model) return false;
    bool ok = arg_dtype_of(dtype, DT_NONE, &d, e);
    if (d == DT_NONE && op != OP_FULL && !dtype_is_float(tensor_type(model)->dtype))
        d = in->float_dtype;
    Arg a[2] = {arg_tensor(model), {.imm = imm ? *imm : (Operand){0}}};
    int64_t key[2] = {(int64_t)in->seed, op == OP_FULL ? 0 : (int64_t)in->rng_counter++};
    Attr attr[2];
    int n = 0;
    if (d != DT_NONE) attr[n++] = attr_dtype(d);
    if (op != OP_FULL) attr[n++] = attr_ints(ATTR_RNG, key, 2);
    in->no_grad_depth++;
    ok = ok && tensor_op(in, op, a, imm ? 2 : 1, attr, n, made, e);
    in->no_grad_depth--;
    tensor_unref(model);
    return ok && give_tensor(made[0], out);
}

static bool full_like(Interp *in, Value x, Value value, Value dtype, Value *out, LangError *e) {
    DType d;
    Operand imm;
    TRY(arg_dtype_of(dtype, DT_NONE, &d, e));
    if (d == DT_NONE && x.kind == V_TENSOR) d = (DType)tensor_type(x.tensor)->dtype;
    TRY(number_for(in, value, &d, &imm, e));
    return like(in, OP_FULL, x, dtype, &imm, out, e);
}

BUILTIN(zeros_like) { return full_like(in, arg[0], v_int(0), arg[1], out, e); }
BUILTIN(ones_like) { return full_like(in, arg[0], v_int(1), arg[1], out, e); }
BUILTIN(full_like) { return full_like(in, arg[0], arg[1], arg[2], out, e); }
BUILTIN(rand_like) { return like(in, OP_RAND, arg[0], arg[1], NULL, out, e); }
BUILTIN(randn_like) { return like(in, OP_RANDN, arg[0], arg[1], NULL, out, e); }

BUILTIN(eye) { /* n, m, dtype */
    int64_t n, m;
    DType d;
    TRY(arg_int_of(arg[0], "n", &n, e) && arg_dtype_of(arg[2], in->float_dtype, &d, e));
    m = n;
    if (arg[1].kind != V_NONE) TRY(arg_int_of(arg[1], "m", &m, e));
    TRY(shape_is_valid((int64_t[]){n, m}, 2, e));
    Steps s = {in, e};
    Tensor *i = steps_keep(&s, tensor_arange(in, arg_int(0), arg_int(1), n, DT_I64, e)), *j = NULL;
    Tensor *rows = step_reshape(&s, i, (int64_t[]){n, 1}, 2);
    if (rows) j = steps_keep(&s, tensor_arange(in, arg_int(0), arg_int(1), m, DT_I64, e));
    Tensor *hit = step2(&s, OP_EQ, arg_tensor(rows), arg_tensor(j));
    return steps_give(&s, step_cast(&s, hit, d), out);
}

BUILTIN(arange) { /* a, b, step, dtype */
    Value a = arg[0], b = arg[1];
    const char *last = b.kind == V_NONE ? "a" : "b";
    if (b.kind == V_NONE) b = a, a = v_int(0);
    double lo, hi, step, count;
    DType d;
    TRY(arg_float_of(a, "a", &lo, e) && arg_float_of(b, last, &hi, e) &&
        arg_float_of(arg[2], "step", &step, e));
    bool is_int = a.kind == V_INT && b.kind == V_INT && arg[2].kind == V_INT;
    TRY(arg_dtype_of(arg[3], is_int ? DT_I64 : in->float_dtype, &d, e));
    if (step == 0) return error_set(e, "arange: the step is 0");
    if (is_int) {
        int64_t gap = step > 0 ? b.i - a.i : a.i - b.i, by = step > 0 ? arg[2].i : -arg[2].i;
        count = gap > 0 ? (double)((gap - 1) / by + 1) : 0;
    } else
        count = ceil((hi - lo) / step);
    if (!(count < (double)MAX_NUMEL))
        return error_set(e, "arange: %g elements are too many", count);
    if (count < 0) count = 0;
    Arg start = is_int ? arg_int(a.i) : arg_float(lo),
        by = is_int ? arg_int(arg[2].i) : arg_float(step);
    if (!is_int && !dtype_is_float(d)) start = arg_int((int64_t)lo), by = arg_int((int64_t)step);
    return give_tensor(tensor_arange(in, start, by, (int64_t)count, d, e), out);
}

/* False with an error if x, a bound of a range, is outside d. */
static bool bound_fits(const char *name, double x, DType d, LangError *e) {
    bool fits;
    if (dtype_is_float(d))
        fits = !isfinite(x) ||
               (dtype_holds_float(d, x) && (d != DT_F32 || fabs(x) <= (double)FLT_MAX));
    else
        fits = d == DT_BOOL || (x > -9.2e18 && x < 9.2e18 &&
                                dtype_holds_int(d, (int64_t)(x < 0 ? floor(x) : ceil(x))));
    return fits || error_set(e, "%s: %g does not fit %s", name, x, dtype_info[d].name);
}

BUILTIN(linspace) { /* a, b, n, dtype; computed in float64, so that the last element is b */
    double a, b;
    int64_t n;
    DType d;
    TRY(arg_float_of(arg[0], "a", &a, e) && arg_float_of(arg[1], "b", &b, e) &&
        arg_int_of(arg[2], "n", &n, e));
    TRY(arg_dtype_of(arg[3], in->float_dtype, &d, e));
    if (n < 0 || n > MAX_NUMEL)
        return error_set(e, "linspace: cannot make %lld elements", (long long)n);
    TRY(bound_fits("linspace", a, d, e) && bound_fits("linspace", b, d, e));
    Steps s = {in, e};
    Arg step = arg_float(n > 1 ? (b - a) / (double)(n - 1) : 0);
    Tensor *t = steps_keep(&s, tensor_arange(in, arg_float(a), step, n, DT_F64, e));
    return steps_give(&s, step_cast(&s, t, d), out);
}

/* ---- random ---- */

static bool random_shape(Interp *in, Op op, const Value *arg, Value *out,
                         LangError *e) { /* *shape, dtype, requires_grad */
    int64_t shape[MAX_DIMS];
    int rank;
    DType d;
    TRY(shape_of(arg, shape, &rank, e) && arg_dtype_of(arg[1], in->float_dtype, &d, e));
    return give_maybe_param(in, tensor_random(in, op, shape, rank, d, NULL, 0, e), arg[2], out, e);
}

BUILTIN(rand) { return random_shape(in, OP_RAND, arg, out, e); }
BUILTIN(randn) { return random_shape(in, OP_RANDN, arg, out, e); }

BUILTIN(randint) { /* lo, hi, shape, dtype */
    Value lo = arg[0], hi = arg[1], s = arg[2];
    int64_t shape[MAX_DIMS], a, b;
    int rank;
    DType d;
    if (s.kind == V_NONE && value_count(hi) >= 0) s = hi, hi = v_none();
    if (s.kind == V_NONE) {
        error_set(e, "randint needs a shape");
        return error_hint(e, "randint(hi, shape) or randint(lo, hi, shape)");
    }
    if (hi.kind == V_NONE) hi = lo, lo = v_none();
    if (lo.kind == V_NONE) lo = v_int(0);
    if (hi.kind == V_NONE) return error_set(e, "randint() needs 'hi'");
    TRY(arg_int_of(lo, "lo", &a, e) && arg_int_of(hi, "hi", &b, e) &&
        arg_shape(s, shape, &rank, e));
    TRY(shape_is_valid(shape, rank, e) && arg_dtype_of(arg[3], DT_I64, &d, e));
    Arg bounds[2] = {arg_int(a), arg_int(b)};
    return give_tensor(tensor_random(in, OP_RANDINT, shape, rank, d, bounds, 2, e), out);
}

BUILTIN(randperm) { /* n: argsort of n random numbers */
    int64_t n, axis = 0;
    TRY(arg_int_of(arg[0], "n", &n, e) && shape_is_valid(&n, 1, e));
    Steps s = {in, e};
    Arg r = arg_tensor(steps_keep(&s, tensor_random(in, OP_RAND, &n, 1, DT_F64, NULL, 0, e)));
    Attr attr = attr_ints(ATTR_AXIS, &axis, 1);
    return steps_give(&s, step_op(&s, OP_ARGSORT, &r, 1, &attr, 1), out);
}

/* r * scale + shift. Takes ownership of r. */
Tensor *random_scaled(Interp *in, Tensor *r, double scale, double shift, LangError *e) {
    Steps s = {in, e};
    Tensor *t = step2(&s, OP_MUL, arg_tensor(steps_keep(&s, r)), arg_float(scale));
    return steps_end(&s, step2(&s, OP_ADD, arg_tensor(t), arg_float(shift)));
}

static bool give_scaled(Interp *in, Op op, const Value *arg, double scale, double shift, Value *out,
                        LangError *e) {
    int64_t shape[MAX_DIMS]; /* arg: shape, dtype */
    int rank;
    DType d;
    TRY(shape_of(arg, shape, &rank, e) && arg_dtype_of(arg[1], in->float_dtype, &d, e));
    return give_tensor(
        random_scaled(in, tensor_random(in, op, shape, rank, d, NULL, 0, e), scale, shift, e), out);
}

/* Asserts in the stream that every element of x compares true with `bound`, without waiting. */
static bool require(Interp *in, Tensor *x, Op compare, int64_t bound, const char *text,
                    LangError *e) {
    Pieces p = {0};
    Steps s = {in, e};
    in->no_grad_depth++;
    Tensor *all = step1(&s, OP_ALL, step2(&s, compare, arg_tensor(x), arg_int(bound)));
    in->no_grad_depth--;
    pieces_text(&p, text, strlen(text));
    bool ok = all && effect_assert(in, all, &p, e);
    pieces_fini(&p);
    return steps_end(&s, NULL), ok;
}

bool uniform_bounds(Value from, Value to, double *lo, double *hi, LangError *e) {
    TRY(arg_float_of(from, "lo", lo, e) && arg_float_of(to, "hi", hi, e));
    return *lo <= *hi || error_set(e, "uniform: no number is in [%g, %g)", *lo, *hi);
}

bool normal_shape(Value mean, Value deviation, double *mu, double *sigma, LangError *e) {
    TRY(arg_float_of(mean, "mu", mu, e) && arg_float_of(deviation, "sigma", sigma, e));
    return *sigma >= 0 || error_set(e, "normal: sigma must not be negative, not %g", *sigma);
}

BUILTIN(uniform) { /* lo, hi, shape, dtype */
    double lo, hi;
    TRY(uniform_bounds(arg[0], arg[1], &lo, &hi, e));
    return give_scaled(in, OP_RAND, arg + 2, hi - lo, lo, out, e);
}

/* normal() with tensors: one number for each element of mu and sigma. */
static bool normal_of(Interp *in, Value mu, Value sigma, Value *out, LangError *e) {
    Arg m, s;
    double plain;
    TRY(arg_from_value(in, mu, &m, e) && arg_from_value(in, sigma, &s, e));
    TRY(s.t ? require(in, s.t, OP_GE, 0, "normal: sigma must not be negative", e)
            : normal_shape(v_float(0), sigma, &plain, &plain, e));
    TensorType one = {.dtype = DT_I64}, shape;
    TensorType a = m.t ? *tensor_type(m.t) : one, b = s.t ? *tensor_type(s.t) : one;
    char ta[256], tb[256];
    if (!shape_broadcast(&a, &b, &shape))
        return error_set(e, "normal: mu of shape %s and sigma of shape %s do not broadcast",
                         type_shape_text(&a, ta), type_shape_text(&b, tb));
    DType d = a.dtype == DT_F64 || b.dtype == DT_F64                             ? DT_F64
              : dtype_is_float((DType)a.dtype) || dtype_is_float((DType)b.dtype) ? DT_F32
                                                                                 : in->float_dtype;
    if (m.t && dtype_is_float(a.dtype)) d = (DType)a.dtype;
    Steps steps = {in, e};
    Tensor *r = tensor_random(in, OP_RANDN, shape.shape, shape.rank, d, NULL, 0, e);
    Tensor *t = step2(&steps, OP_MUL, arg_tensor(steps_keep(&steps, r)), s);
    return steps_give(&steps, step2(&steps, OP_ADD, arg_tensor(t), m), out);
}

BUILTIN(normal) { /* mu, sigma, shape, dtype */
    double mu, sigma;
    if (arg[0].kind == V_TENSOR || arg[1].kind == V_TENSOR) {
        if (arg[2].kind == V_NONE) return normal_of(in, arg[0], arg[1], out, e);
        return error_set(e, "normal takes its shape from mu and sigma where they are tensors");
    }
    if (arg[2].kind == V_NONE) {
        error_set(e, "normal of numbers needs a shape");
        return error_hint(e, "normal(mu, sigma, [2, 3])");
    }
    TRY(normal_shape(arg[0], arg[1], &mu, &sigma, e));
    return give_scaled(in, OP_RANDN, arg + 2, sigma, mu, out, e);
}

BUILTIN(bernoulli) { /* p, shape: 1 where a uniform number is below p */
    Arg p;
    int64_t shape[MAX_DIMS];
    int rank = 0;
    static const char bounds[] = "bernoulli: p must lie in [0, 1]";
    double share;
    TRY(arg_from_value(in, arg[0], &p, e));
    if (p.t) {
        TRY(require(in, p.t, OP_GE, 0, bounds, e) && require(in, p.t, OP_LE, 1, bounds, e));
    } else {
        TRY(arg_float_of(arg[0], "p", &share, e));
        if (!(share >= 0 && share <= 1)) return error_set(e, "%s, not %g", bounds, share);
    }
    if (arg[1].kind != V_NONE)
        TRY(arg_shape(arg[1], shape, &rank, e) && shape_is_valid(shape, rank, e));
    else if (p.t)
        rank = tensor_type(p.t)->rank,
        memcpy(shape, tensor_type(p.t)->shape, sizeof shape[0] * (size_t)rank);
    Steps s = {in, e};
    in->no_grad_depth++;
    Tensor *r = steps_keep(&s, tensor_random(in, OP_RAND, shape, rank, DT_F32, NULL, 0, e));
    Tensor *t = step_cast(&s, step2(&s, OP_LT, arg_tensor(r), p), in->float_dtype);
    in->no_grad_depth--;
    return steps_give(&s, t, out);
}

BUILTIN(seed) {
    int64_t n;
    TRY(arg_int_of(arg[0], "n", &n, e));
    in->seed = (uint64_t)n, in->rng_counter = in->host_rng_counter = 0;
    return true;
}

BUILTIN(set_default_dtype) {
    DType d;
    TRY(arg_dtype_of(arg[0], DT_NONE, &d, e));
    if (d == DT_NONE || !dtype_is_float(d)) {
        error_set(e, "the default dtype is a dtype of floats");
        return error_hint(e, "set_default_dtype(float64)");
    }
    in->float_dtype = d;
    return true;
}
BUILTIN(get_default_dtype) { return *out = v_dtype(in->float_dtype), true; }

/* What the user says, and the attribute of products that says so. */
static const struct {
    const char *name, *allow;
} precision[] = {{"float32", NULL}, {"fast", "order"}, {"tf32", "tf32"}};

BUILTIN(set_precision) { /* precision */
    const char *name = arg[0].kind == V_STR ? arg[0].str->s : "";
    if (arg[0].kind == V_DTYPE && arg[0].dtype == DT_F32) name = "float32";
    for (int i = 0; i < 3; i++)
        if (!strcmp(name, precision[i].name))
            return in->allow = precision[i].allow, *out = v_none(), true;
    error_set(e, "the precision of products is \"float32\", \"fast\" or \"tf32\"");
    return error_hint(e, "set_precision(\"%s\")", /* PyTorch's words: highest, high, medium */
                      strcmp(name, "highest") ? "tf32" : "float32");
}
BUILTIN(get_precision) {
    int i = 0;
    while (in->allow != precision[i].allow) i++;
    return *out = v_str(precision[i].name, strlen(precision[i].name)), true;
}

/* ---- identity ---- */

static bool identity(Interp *in, Value v, bool is_buffer, Value *out, LangError *e) {
    Tensor *t = arg_as_tensor(in, v, e);
    if (!t) return false;
    Value made = v_tensor(t);
    if (is_buffer || numbers_as_float(in, v, &made, e))
        *out = tensor_param(in, made.tensor, is_buffer, e);
    value_drop(made);
    return out->kind == V_TENSOR;
}

BUILTIN(param) { /* x, requires_grad */
    bool on;
    TRY(arg_bool_of(arg[1], "requires_grad", &on, e) && identity(in, arg[0], false, out, e));
    return out->tensor->requires_grad = on, true;
}
BUILTIN(buffer) { return identity(in, arg[0], true, out, e); }
