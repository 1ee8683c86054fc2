/* builtin_tensor.h: what the files of tensor builtins share: readers of arguments (tensors, axes,
 * shapes, dtypes), whose errors name the argument, and the functions behind the rows of
 * functions.def.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_MATH_BUILTIN_TENSOR_H
#define GT_LANG_MATH_BUILTIN_TENSOR_H
#include "lang/tensor/autograd.h"
#include "lang/tensor/tensor.h"

/* Returns a new reference, or NULL with e set. Lists and numbers become tensors. */
Tensor *arg_as_tensor(Interp *in, Value v, LangError *e);
bool arg_int_of(Value v, const char *name, int64_t *out, LangError *e);
bool arg_float_of(Value v, const char *name, double *out, LangError *e); /* int or float */
bool arg_dtype_of(Value v, DType missing, DType *out,
                  /* v: none (gives `missing`), a dtype, its name, or int float bool */
                  LangError *e);
bool arg_bool_of(Value v, const char *name, bool *out, LangError *e);
/* An axis in 0 .. rank-1; negative ones count from the end. */
bool arg_axis(Value v, int rank, int *out, LangError *e);
/* v: none (all axes, n = rank), an int, or a list of ints. */
bool arg_axes(Value v, int rank, int64_t *axes, int *n, LangError *e);
/* Checked bounds of a uniform distribution, lo <= hi; mean and deviation of a normal one, sigma >=
 * 0. */
bool uniform_bounds(Value from, Value to, double *lo, double *hi, LangError *e);
bool normal_shape(Value mean, Value deviation, double *mu, double *sigma, LangError *e);
/* r * scale + shift. Takes ownership of r (or NULL). */
Tensor *random_scaled(Interp *in, Tensor *r, double scale, double shift, LangError *e);
/* A shape from an int, a list of ints, or a list that holds only such a list (*shape given as one
 * list). At most MAX_DIMS axes; the caller checks for negative extents. */
bool arg_shape(Value v, int64_t *shape, int *rank, LangError *e);
bool shape_is_valid(const int64_t *shape, int rank, LangError *e);

static inline bool give_tensor(Tensor *t, Value *out) {
    return t ? (*out = v_tensor(tensor_value(t)), true) : false;
} /* takes ownership of t; the result is never a parameter */

bool map_call(Interp *in, Op op, const Value *arg, Value *out,
              LangError *e); /* a MAP row on tensors or host numbers */

/* The tensors between the arguments of a function and its result. A step with a missing operand,
 * because an earlier one failed, gives NULL: only the result is checked. All tensors returned are
 * borrowed from the steps, which steps_end and steps_give drop. */
typedef struct Steps {
    Interp *in;
    LangError *e;
    Tensor *t[16];
    int n;
} Steps;
Tensor *steps_keep(Steps *s, Tensor *t); /* takes ownership of t (or NULL), and returns it */
Tensor *steps_arg(Steps *s, Value v);    /* arg_as_tensor */
Tensor *step_op(Steps *s, Op op, const Arg *arg, int n_args, const Attr *attr, int n_attr);
Tensor *step1(Steps *s, Op op, Tensor *x);
Tensor *step2(Steps *s, Op op, Arg a, Arg b);
Tensor *step_where(Steps *s, Tensor *c, Arg a, Arg b);
Tensor *step_cast(Steps *s, Tensor *x, DType d);
Tensor *step_reshape(Steps *s, Tensor *x, const int64_t *shape, int rank);
Tensor *steps_end(Steps *s, Tensor *t); /* returns a new reference to t, or NULL */
static inline bool steps_give(Steps *s, Tensor *t, Value *out) {
    return give_tensor(steps_end(s, t), out);
}

/* The functions behind the rows of functions.def. */
#define BUILTIN(name)      bool bi_##name(Interp *in, const Value *arg, Value *out, LangError *e)
#define ROW(name, fn, ...) BUILTIN(fn);
#include "lang/math/functions.def"
#endif
