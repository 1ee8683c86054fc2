/* builtin_tensor.h: what the files of tensor builtins share: readers of arguments (tensors, axes,
 * shapes, dtypes), whose errors name the argument, and the functions behind the rows of the table
 * in builtin_tensor.c.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_MATH_BUILTIN_TENSOR_H
#define GT_LANG_MATH_BUILTIN_TENSOR_H
#include "lang/tensor/grad.h"
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
/* A shape from an int, a list of ints, or a list that holds only such a list (*shape given as one
 * list). At most MAX_DIMS axes; the caller checks for negative extents. */
bool arg_shape(Value v, int64_t *shape, int *rank, LangError *e);
bool shape_is_valid(const int64_t *shape, int rank, LangError *e);

static inline bool give_tensor(Tensor *t, Value *out) {
    return t ? (*out = v_tensor(tensor_value(t)), true) : false;
} /* takes ownership of t; the result is never a parameter */

#define BUILTIN(name) bool bi_##name(Interp *in, const Value *arg, Value *out, LangError *e)
/* builtin_place.c */
BUILTIN(placement);
/* builtin_tensor_make.c */
BUILTIN(tensor);
BUILTIN(zeros);
BUILTIN(ones);
BUILTIN(full);
BUILTIN(rand);
BUILTIN(randn);
BUILTIN(randint);
BUILTIN(randperm);
BUILTIN(uniform);
BUILTIN(normal);
BUILTIN(bernoulli);
BUILTIN(arange);
BUILTIN(linspace);
BUILTIN(eye);
BUILTIN(zeros_like);
BUILTIN(ones_like);
BUILTIN(full_like);
BUILTIN(rand_like);
BUILTIN(randn_like);
BUILTIN(param);
BUILTIN(buffer);
BUILTIN(seed);
BUILTIN(set_default_dtype);
BUILTIN(get_default_dtype);
/* builtin_tensor_math.c */
BUILTIN(add);
BUILTIN(sub);
BUILTIN(div);
BUILTIN(softplus);
BUILTIN(where);
BUILTIN(gelu);
BUILTIN(round);
BUILTIN(clamp);
BUILTIN(masked_fill);
BUILTIN(sum);
BUILTIN(prod);
BUILTIN(mean);
BUILTIN(max);
BUILTIN(amax);
BUILTIN(amin);
BUILTIN(with_indices);
BUILTIN(min);
BUILTIN(any);
BUILTIN(all);
BUILTIN(argmax);
BUILTIN(argmin);
BUILTIN(var);
BUILTIN(std);
BUILTIN(norm);
BUILTIN(logsumexp);
BUILTIN(cumsum);
BUILTIN(cummax);
BUILTIN(cummin);
BUILTIN(recurrence);
BUILTIN(sort);
BUILTIN(argsort);
BUILTIN(topk);
BUILTIN(matmul);
bool map_call(Interp *in, Op op, const Value *arg, Value *out,
              LangError *e); /* a MAP row on tensors or host numbers */
/* einsum.c */
BUILTIN(einsum);
/* builtin_tensor_linalg.c */
BUILTIN(cholesky);
BUILTIN(lu);
BUILTIN(qr_packed);
BUILTIN(eigh_packed);
BUILTIN(svd_packed);
BUILTIN(solve);
BUILTIN(solve_triangular);
/* builtin_tensor_shape.c */
BUILTIN(reshape);
BUILTIN(flatten);
BUILTIN(permute);
BUILTIN(transpose);
BUILTIN(squeeze);
BUILTIN(unsqueeze);
BUILTIN(expand);
BUILTIN(repeat);
BUILTIN(cat);
BUILTIN(stack);
BUILTIN(split);
BUILTIN(chunk);
BUILTIN(unbind);
BUILTIN(flip);
BUILTIN(tril);
BUILTIN(triu);
BUILTIN(gather);
BUILTIN(index_select);
BUILTIN(scatter_add);
BUILTIN(scatter_with);
BUILTIN(index_put);
BUILTIN(searchsorted);
BUILTIN(one_hot);
BUILTIN(nonzero);
BUILTIN(meshgrid);
BUILTIN(tile);
/* builtin_tensor_pad.c */
BUILTIN(pad);
/* builtin_tensor_conv.c */
BUILTIN(conv1d);
BUILTIN(conv2d);
BUILTIN(conv3d);
BUILTIN(conv_transpose1d);
BUILTIN(conv_transpose2d);
BUILTIN(conv_transpose3d);
BUILTIN(max_pool1d);
BUILTIN(max_pool2d);
BUILTIN(max_pool3d);
BUILTIN(avg_pool1d);
BUILTIN(avg_pool2d);
BUILTIN(avg_pool3d);
/* builtin_tensor_method.c */
BUILTIN(item);
BUILTIN(tolist);
BUILTIN(to);
BUILTIN(to_float);
BUILTIN(to_half);
BUILTIN(to_bfloat16);
BUILTIN(to_char);
BUILTIN(to_byte);
BUILTIN(to_double);
BUILTIN(to_long);
BUILTIN(to_int);
BUILTIN(to_bool);
BUILTIN(size);
BUILTIN(numel);
BUILTIN(dim);
BUILTIN(itself);
BUILTIN(detach);
BUILTIN(cuda);
BUILTIN(info);
BUILTIN(requires_grad_);
BUILTIN(zero_);
BUILTIN(copy_);
BUILTIN(fill_);
BUILTIN(lerp_);
BUILTIN(normal_);
BUILTIN(uniform_);
BUILTIN(add_);
BUILTIN(sub_);
BUILTIN(mul_);
BUILTIN(div_);
BUILTIN(backward);
BUILTIN(grad);
BUILTIN(checkpoint);
BUILTIN(tape);
BUILTIN(get_tape);
BUILTIN(print_tape);
BUILTIN(set_print);
#undef BUILTIN
#endif
