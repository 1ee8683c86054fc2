/* builtin_tensor.c: the table of tensor functions and methods (LANGUAGE 3.1), and reading
 * arguments. Pointwise functions come from the MAP rows of ops.def. A function that needs more than
 * its row (axes, shapes, random keys) is in a builtin_tensor_*.c; one that can be written in the
 * language is in the prelude.
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
        return NULL;
    }
    return tensor_from_value(in, v, DT_NONE, &made, e) ? made.tensor : NULL;
}

bool arg_int_of(Value v, const char *name, int64_t *out, LangError *e) {
    if (v.kind == V_INT) return *out = v.i, true;
    if (v.kind == V_BOOL) return *out = v.b, true;
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
            if (x.kind == V_DTYPE) error_hint(e, "dtype=%s", dtype_info[x.dtype].name);
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

/* ---- pointwise rows ---- */

#define MAP(id, ...)                                                                               \
    static bool bi_map_##id(Interp *in, const Value *arg, Value *out, LangError *e) {              \
        return map_call(in, OP_##id, arg, out, e);                                                 \
    }
#include "runtime/inst/ops.def"

#define MAP_SIGNATURE_1 "x"
#define MAP_SIGNATURE_2 "a, b"
#define MAP_SIGNATURE_3 "c, a, b"
#define TENSOR          (1u << V_TENSOR)
/* ROW: function and method. F: named as its C function; M: by another name. METHOD: method only. C:
 * function only. */
#define ROW(name, fn, signature, doc, facts)                                                       \
    { name, signature, bi_##fn, doc, TENSOR, facts }
#define F(name, signature, doc)          ROW(#name, name, signature, doc, BI_PURE)
#define M(name, fn, signature, doc)      ROW(name, fn, signature, doc, BI_PURE)
#define METHOD(name, fn, signature, doc) ROW(name, fn, signature, doc, BI_PURE | BI_METHOD)
#define C(name, signature, doc)                                                                    \
    { #name, signature, bi_##name, doc }
/* Not pure: they wait, print, draw random numbers or update. */
#define F_EFFECT(name, signature, doc)          ROW(#name, name, signature, doc, 0)
#define METHOD_EFFECT(name, fn, signature, doc) ROW(name, fn, signature, doc, BI_METHOD)

#define CONV   "x, weight, bias=none, stride=1, padding=0, dilation=1, groups=1"
#define CONV_T "x, weight, bias=none, stride=1, padding=0, output_padding=0, groups=1, dilation=1"
#define MAX_POOL                                                                                   \
    "x, kernel_size, stride=none, padding=0, dilation=1, ceil_mode=false, return_indices=false"
#define AVG_POOL                                                                                   \
    "x, kernel_size, stride=none, padding=0, ceil_mode=false, count_include_pad=true, "            \
    "divisor_override=none"

const Builtin builtins_tensor[] = {
    C(tensor, "data, dtype=none, requires_grad=false", "A tensor of a number or of nested lists."),
    C(zeros, "*shape, dtype=none, requires_grad=false", "All elements 0."),
    C(ones, "*shape, dtype=none, requires_grad=false", "All elements 1."),
    {"empty", "*shape, dtype=none, requires_grad=false", bi_zeros,
     "As zeros: gtsh has no uninitialised tensors."},
    C(full, "shape, value, dtype=none, requires_grad=false", "All elements equal to value."),
    C(eye, "n, m=none, dtype=none", "The identity matrix."),
    C(arange, "a, b=none, step=1, dtype=none",
      "a, a + step, ... up to but excluding b; starts at 0 if only one bound is given."),
    C(linspace, "a, b, n, dtype=none", "n numbers from a to b, both included."),
    C(rand, "*shape, dtype=none, requires_grad=false", "Uniform in [0, 1)."),
    C(randn, "*shape, dtype=none, requires_grad=false", "Standard normal."),
    C(randint, "lo, hi, shape=none, dtype=int64",
      "Whole numbers in [lo, hi); randint(hi, shape) starts at 0."),
    C(randperm, "n", "0 to n - 1 in random order."),
    C(uniform, "lo, hi, shape, dtype=none", "Uniform in [lo, hi)."),
    C(normal, "mu, sigma=1.0, shape=none, dtype=none",
      "Normal with mean mu and standard deviation sigma: numbers, or tensors that give the shape."),
    F_EFFECT(bernoulli, "p, shape=none", "1 with probability p, else 0; p may be a tensor."),
    F(zeros_like, "x, dtype=none", "Zeros in x's shape and dtype."),
    F(ones_like, "x, dtype=none", "Ones in x's shape and dtype."),
    M("empty_like", zeros_like, "x, dtype=none",
      "As zeros_like: gtsh has no uninitialised tensors."),
    F(full_like, "x, value, dtype=none", "value in x's shape and dtype."),
    F_EFFECT(rand_like, "x, dtype=none", "Uniform in [0, 1) in x's shape."),
    F_EFFECT(randn_like, "x, dtype=none", "Standard normal in x's shape."),
    F(param, "x, requires_grad=true",
      "A parameter: a leaf with .grad and in-place updates. Whole numbers become floats of the "
      "default dtype."),
    F(buffer, "x", "A buffer: saved with the model and updated in place, but without gradients."),
    C(set_default_dtype, "dtype",
      "Sets the dtype of floats where none is given: float literals, creation functions, layers, "
      "numbers in files, and whole numbers in / and functions. Initially float32."),
    C(get_default_dtype, "", "The dtype of floats where none is given."),
    C(seed, "n", "Restarts the random number generator from seed n."),

    F(add, "a, b, alpha=1", "a + alpha * b."),
    F(sub, "a, b, alpha=1", "a - alpha * b."),
    F(div, "a, b, rounding_mode=none", "a / b; rounded with \"floor\" or \"trunc\"."),
    F(where, "c, a=none, b=none",
      "a where c is true, else b; where(c) alone returns the indices of true elements, a list by "
      "axis."),
    F(softplus, "x, beta=1, threshold=20", "log(1 + exp(beta * x)) / beta, without overflow."),
    F(gelu, "x, approximate=\"none\"",
      "x times the normal distribution function at x, or its \"tanh\" approximation."),
    F(round, "x, n=0", "Nearest number with n decimals, halves to even."),
    F(clamp, "x, min=none, max=none", "x limited to [min, max]."),
    M("clip", clamp, "x, min=none, max=none", "As clamp."),
    F(masked_fill, "x, mask, value", "value where the mask is true, else x."),
    F(sum, "x, axis=none, keepdims=false, dtype=none", "Sum over the given axes, or over all."),
    F(prod, "x, axis=none, keepdims=false, dtype=none",
      "Product over the given axes, or over all."),
    F(mean, "x, axis=none, keepdims=false, dtype=none", "Mean over the given axes, or over all."),
    F(max, "x, axis=none, keepdims=false",
      "Largest value; along an axis also .indices; max(a, b) of two tensors is maximum(a, b)."),
    F(min, "x, axis=none, keepdims=false",
      "Smallest value; along an axis also .indices; min(a, b) of two tensors is minimum(a, b)."),
    F(amax, "x, axis=none, keepdims=false", "Largest value over the given axes, or over all."),
    F(amin, "x, axis=none, keepdims=false", "Smallest value over the given axes, or over all."),
    F(any, "x, axis=none, keepdims=false", "True where any element is not 0."),
    F(all, "x, axis=none, keepdims=false", "True where no element is 0."),
    F(argmax, "x, axis=none, keepdims=false",
      "Index of the largest element; of equal ones, the first."),
    F(argmin, "x, axis=none, keepdims=false",
      "Index of the smallest element; of equal ones, the first."),
    F(var, "x, axis=none, correction=1, keepdims=false, unbiased=none",
      "Variance: the sum of squared deviations from the mean, over n - correction."),
    F(std, "x, axis=none, correction=1, keepdims=false, unbiased=none", "Standard deviation."),
    F(norm, "x, p=2, axis=none, keepdims=false",
      "The p-norm; p = inf is the largest absolute value."),
    F(logsumexp, "x, axis=none, keepdims=false", "log(sum(exp(x))) without overflow."),
    F(cumsum, "x, axis, dtype=none", "Cumulative sum along an axis."),
    F(cummax, "x, axis",
      "[values, indices]: the cumulative maximum along an axis; of equal ones, the last."),
    F(cummin, "x, axis", "[values, indices]: the cumulative minimum along an axis."),
    F(recurrence, "a, b, axis=-1, reverse=false",
      "y[i] = a[i] * y[i - 1] + b[i] along an axis, from 0; cumprod, discounts, averages."),
    F(sort, "x, axis=-1, descending=false, stable=true",
      "Sorted values along an axis; .indices: their positions in x."),
    C(with_indices, "values, indices, name",
      "values with .indices, as the function `name` returns them."),
    F(argsort, "x, axis=-1, descending=false, stable=true",
      "The indices that sort an axis, stably."),
    F(topk, "x, k, axis=-1, largest=true, sorted=true",
      "[values, indices] of the k largest elements along an axis, sorted."),
    F(matmul, "a, b, out_dtype=none",
      "Matrix product of 1-D, 2-D and batched tensors, as a @ b. out_dtype=float32 returns "
      "products of float16 or bfloat16 as float32."),
    M("mm", matmul, "a, b, out_dtype=none", "As matmul."),
    M("bmm", matmul, "a, b, out_dtype=none", "As matmul."),
    M("dot", matmul, "a, b, out_dtype=none", "As matmul."),
    C(einsum, "spec, *operands",
      "Sum of products over named axes: einsum(\"ij,jk->ik\", a, b) is a @ b; \"...\" broadcasts."),
    F(cholesky, "a, upper=false",
      "The factor L with L @ L.T = a (upper: U with U.T @ U = a) of positive definite matrices."),
    F(lu, "a",
      "[LU, perm]: a[perm] = L @ U, both stored in one matrix; the diagonal of L is ones."),
    F(qr_packed, "a", "Q, and below it R transposed, of a (m, n) with m >= n; see qr."),
    F(eigh_packed, "a",
      "The eigenvalues, and below them the eigenvectors as columns; see linalg.eigh."),
    F(svd_packed, "a", "U, below it a row S, below that V; see linalg.svd."),
    F(solve, "a, b, left=true", "The x with a @ x = b, or x @ a = b; b may be a vector."),
    F(solve_triangular, "a, b, upper=false, left=true, unitriangular=false",
      "The x with a @ x = b; reads only the lower or upper triangle of a."),

    F(reshape, "x, *shape", "Same elements, new shape; one axis may be -1."),
    M("view", reshape, "x, *shape", "As reshape."),
    F(flatten, "x, start=0, end=-1", "Axes start to end merged into one."),
    F(permute, "x, *axes", "Axes in the given order."),
    F(transpose, "x, a=-2, b=-1", "Two axes swapped."),
    METHOD("t", transpose, "x, a=-2, b=-1", "As transpose."),
    M("swapaxes", transpose, "x, a, b", "As transpose."),
    F(squeeze, "x, axis=none", "Without the axes of size 1, or without the given one."),
    F(unsqueeze, "x, axis", "With a new axis of size 1."),
    F(expand, "x, *shape", "Axes of size 1 repeated without copying; -1 keeps an axis."),
    F(repeat, "x, *times", "Tiles: the whole tensor repeated along each axis."),
    F(tile, "x, *times", "Repeated along the last axes by the given counts."),
    C(cat, "tensors, axis=0", "Joined along an axis."),
    {"concat", "tensors, axis=0", bi_cat, "As cat."},
    {"concatenate", "tensors, axis=0", bi_cat, "As cat."},
    C(stack, "tensors, axis=0", "Joined along a new axis."),
    F(split, "x, size, axis=0", "A list of parts of this size, or of the sizes in a list."),
    F(chunk, "x, n, axis=0", "A list of at most n parts of equal size."),
    F(unbind, "x, axis=0", "A list of the slices along an axis."),
    F(flip, "x, *axis", "In reverse order along axes."),
    F(tril, "x, k=0", "The part of the last two axes on and below diagonal k, else 0."),
    F(triu, "x, k=0", "The part of the last two axes on and above diagonal k, else 0."),
    F(pad, "x, widths, mode=\"constant\", value=0",
      "Padded by [before, after] of the last axis, then of the one before, and so on; the padding "
      "is value, or by mode \"reflect\", \"replicate\", \"circular\". Negative widths crop."),
    F(gather, "x, axis, index", "out[i][j] = x[i][index[i][j]] for axis 1."),
    F(index_select, "x, axis, index", "The slices of an axis at these indices."),
    F(scatter_add, "x, axis, index, src", "x with src added at the positions that gather reads."),
    F(scatter_with, "x, axis, index, src, how",
      "x reduced with src at index, by \"prod\", \"amax\" or \"amin\"."),
    F(index_put, "x, indices, values, accumulate=false, from_zero=false",
      "x with values written, or added, at a list of index tensors. A negative index counts from "
      "the end, or is an error with from_zero."),
    F(searchsorted, "sorted, values, right=false, side=none",
      "The index at which each value keeps the sorted last axis in order; right: after equal "
      "elements."),
    F(one_hot, "ids, n=none",
      "1 at each id along a new last axis of size n, else 0; int64. Without n the size is the "
      "largest id + 1, which waits."),
    F(nonzero, "x, as_tuple=false",
      "The indices of non-zero elements, one row each, or a list by axis; waits for their number."),
    C(meshgrid, "*tensors, indexing=\"ij\"", "Grids in which the i-th vector varies along axis i."),

    F(conv1d, CONV, "Convolution of x (n, channels, w) with weights (out, channels / groups, kw)."),
    F(conv2d, CONV,
      "Convolution of images (n, channels, h, w) with weights (out, channels / groups, kh, kw)."),
    F(conv3d, CONV,
      "Convolution of volumes (n, channels, d, h, w) with weights (out, channels / groups, kd, kh, "
      "kw)."),
    F(conv_transpose1d, CONV_T, "Transposed convolution, the gradient of conv1d by its input."),
    F(conv_transpose2d, CONV_T, "Transposed convolution, the gradient of conv2d by its input."),
    F(conv_transpose3d, CONV_T, "Transposed convolution, the gradient of conv3d by its input."),
    F(max_pool1d, MAX_POOL,
      "Maximum of each window; with return_indices also its index in the plane."),
    F(max_pool2d, MAX_POOL,
      "Maximum of each window; with return_indices also its index in the plane."),
    F(max_pool3d, MAX_POOL,
      "Maximum of each window; with return_indices also its index in the plane."),
    F(avg_pool1d, AVG_POOL, "Mean of each window."),
    F(avg_pool2d, AVG_POOL, "Mean of each window."),
    F(avg_pool3d, AVG_POOL, "Mean of each window."),

    METHOD_EFFECT("item", item, "x", "The only element as a number; waits."),
    METHOD_EFFECT("tolist", tolist, "x", "Nested lists of numbers; waits."),
    METHOD("to", to, "x, dtype", "Cast to a dtype."),
    METHOD("type", to, "x, dtype", "Cast to a dtype."),
    METHOD("type_as", to, "x, dtype", "Cast to the dtype of another tensor."),
    METHOD("float", to_float, "x", "Cast to float32."),
    METHOD("half", to_half, "x", "Cast to float16."),
    METHOD("bfloat16", to_bfloat16, "x", "Cast to bfloat16."),
    METHOD("char", to_char, "x", "Cast to int8."),
    METHOD("byte", to_byte, "x", "Cast to uint8."),
    METHOD("double", to_double, "x", "Cast to float64."),
    METHOD("long", to_long, "x", "Cast to int64."),
    METHOD("int", to_int, "x", "Cast to int32."),
    METHOD("bool", to_bool, "x", "Cast to bool."),
    METHOD("size", size, "x, axis=none", "The shape, or the extent of one axis."),
    F(numel, "x", "Number of elements."),
    METHOD("dim", dim, "x", "Number of axes."),
    METHOD("contiguous", itself, "x", "x itself."),
    METHOD("clone", itself, "x", "x itself: tensors are immutable."),
    METHOD("cpu", itself, "x", "x itself."),
    F(detach, "x", "The same value, without its history for gradients."),
    METHOD("numpy", detach, "x", "As detach."),
    METHOD("cuda", cuda, "x", "Not needed: gtsh programs name no devices."),
    METHOD_EFFECT("requires_grad_", requires_grad_, "x, flag=true",
                  "Sets requires_grad of a parameter."),
    F_EFFECT(placement, "x",
             "The layout of x: a map of layout, workers, shapes and bytes; if split, with axis and "
             "block; if partial, with op; waits."),
    METHOD_EFFECT("info", info, "x", "Prints shape, dtype, size and statistics of the values."),
    METHOD_EFFECT("zero_", zero_, "p", "Sets a parameter to 0."),
    METHOD_EFFECT("copy_", copy_, "p, x", "Sets a parameter's value."),
    METHOD_EFFECT("fill_", fill_, "p, value", "Sets all elements of a parameter."),
    METHOD_EFFECT("lerp_", lerp_, "p, x, weight",
                  "Moves a parameter towards x: p += weight * (x - p)."),
    METHOD_EFFECT("normal_", normal_, "p, mu=0.0, sigma=1.0",
                  "Fills a parameter with normal random values."),
    METHOD_EFFECT("uniform_", uniform_, "p, lo=0.0, hi=1.0",
                  "Fills a parameter with uniform random values."),
    METHOD_EFFECT("add_", add_, "p, x, alpha=1", "p += alpha * x."),
    METHOD_EFFECT("sub_", sub_, "p, x, alpha=1", "p -= alpha * x."),
    METHOD_EFFECT("mul_", mul_, "p, x", "p *= x."),
    METHOD_EFFECT("div_", div_, "p, x", "p /= x."),
    F_EFFECT(backward, "y, seed=none, retain_graph=false",
             "Adds the gradients of y by all parameters that it depends on to their .grad."),
    C(grad, "y, xs, seed=none, create_graph=false",
      "The gradients of y by xs; leaves .grad alone."),
    C(checkpoint, "f, *xs", "f(*xs), keeping only the arguments: backward computes f again."),
    {"debug.tape", "x=none", bi_tape,
     "The recorded operations below x, or all that are alive, as text."},
    {"debug.get_tape", "x=none", bi_get_tape,
     "The recorded operations as a list of maps: output_id, output_shape, input_ids, grad_fn, "
     "line, signal."},
    {"debug.print_tape", "x=none", bi_print_tape, "Prints the recorded operations."},
    C(set_print, "precision=none, edgeitems=none, threshold=none, linewidth=none, sci=none",
      "Sets how tensors are printed."),

#define MAP(id, name, arity, in, out, grad, facts, expr, doc)                                      \
    {name, MAP_SIGNATURE_##arity, bi_map_##id, doc, TENSOR, BI_PURE},
#include "runtime/inst/ops.def"
    {NULL}};
