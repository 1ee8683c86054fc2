/* builtin_tensor_shape.c: functions that rearrange, join and split tensors. Each is one or a few
 * instructions, by PyTorch's conventions (pad counts from the last axis, repeat tiles, chunk rounds
 * its size up).
 * SPDX-License-Identifier: MIT */
#include "lang/math/builtin_tensor.h"
#include "lang/tensor/index.h"
#include <stdlib.h>
#include <string.h>

static const TensorType *type_of(const Tensor *t) { return tensor_type(t); }

/* Returns t in *out and drops x. */
static bool finish(Tensor *x, Tensor *t, Value *out) {
    tensor_unref(x);
    return give_tensor(t, out);
}

/* A star argument, or the list that it holds alone: x.permute(0, 1), x.permute([0, 1]). */
static Value unwrapped(Value list) {
    bool holds_list = value_count(list) == 1 && value_count(value_at(list, 0)) >= 0;
    return holds_list ? value_at(list, 0) : list;
}

/* ---- new shape ---- */

/* arg_shape for a function of a tensor, where a dtype was meant to convert it. */
static bool shape_of_result(Value v, int64_t *shape, int *rank, LangError *e) {
    if (arg_shape(v, shape, rank, e)) return true;
    Value first = value_count(v) > 0 ? value_at(v, 0) : v;
    return first.kind == V_DTYPE ? error_hint(e, "x.to(%s)", dtype_info[first.dtype].name) : false;
}

BUILTIN(reshape) { /* x, *shape */
    int64_t shape[MAX_DIMS], known = 1;
    int rank, free_axis = -1;
    char a[256], b[256];
    TRY(shape_of_result(arg[1], shape, &rank, e));
    Tensor *x = arg_as_tensor(in, arg[0], e);
    if (!x) return false;
    TensorType want = {.rank = (uint8_t)rank};
    memcpy(want.shape, shape, sizeof *shape * (size_t)rank);
    int64_t n = tensor_numel(x);
    bool ok = true;
    for (int i = 0; ok && i < rank; i++) {
        if (shape[i] >= 0) {
            if (__builtin_mul_overflow(known, shape[i], &known))
                ok = error_set(e, "the shape %s is too large", type_shape_text(&want, a));
        } else if (shape[i] != -1 || free_axis >= 0) {
            ok = error_set(e,
                           shape[i] == -1 ? "only one axis of a shape can be -1"
                                          : "an axis cannot have %lld elements",
                           (long long)shape[i]);
        } else
            free_axis = i;
    }
    if (ok && free_axis >= 0 && known > 0 && n % known == 0)
        shape[free_axis] = n / known;
    else if (ok && free_axis >= 0) {
        ok = error_set(e, "cannot reshape %s to %s: %lld elements do not divide by %lld",
                       type_shape_text(type_of(x), a), type_shape_text(&want, b), (long long)n,
                       (long long)known);
    }
    return finish(x, ok ? tensor_reshape(in, x, shape, rank, e) : NULL, out);
}

BUILTIN(flatten) { /* x, start, end */
    Tensor *x = arg_as_tensor(in, arg[0], e), *t = NULL;
    int start = 0, end = 0;
    if (!x) return false;
    TensorType s = *type_of(x);
    if (!s.rank) s.shape[s.rank++] = 1;
    if (arg_axis(arg[1], s.rank, &start, e) && arg_axis(arg[2], s.rank, &end, e)) {
        if (start > end)
            error_set(e, "flatten: axis %d comes after axis %d", start, end);
        else {
            for (int i = start + 1; i <= end; i++) s.shape[start] *= s.shape[i];
            memmove(s.shape + start + 1, s.shape + end + 1,
                    sizeof s.shape[0] * (size_t)(s.rank - end - 1));
            t = tensor_reshape(in, x, s.shape, s.rank - (end - start), e);
        }
    }
    return finish(x, t, out);
}

BUILTIN(squeeze) { /* x, axis */
    Tensor *x = arg_as_tensor(in, arg[0], e);
    int64_t axes[MAX_DIMS], shape[MAX_DIMS];
    int n, rank = 0;
    if (!x) return false;
    if (!arg_axes(arg[1], type_of(x)->rank, axes, &n, e)) return finish(x, NULL, out);
    for (int i = 0; i < type_of(x)->rank; i++) {
        bool asked = false;
        for (int k = 0; k < n; k++) asked |= axes[k] == i;
        if (!asked || type_of(x)->shape[i] != 1) shape[rank++] = type_of(x)->shape[i];
    }
    return finish(x, tensor_reshape(in, x, shape, rank, e), out);
}

static Tensor *unsqueezed(Interp *in, Tensor *x, int axis, LangError *e) {
    TensorType s = *type_of(x);
    if (s.rank == MAX_DIMS) return error_set(e, "a tensor has at most %d axes", MAX_DIMS), NULL;
    memmove(s.shape + axis + 1, s.shape + axis, sizeof s.shape[0] * (size_t)(s.rank - axis));
    s.shape[axis] = 1;
    return tensor_reshape(in, x, s.shape, s.rank + 1, e);
}

BUILTIN(unsqueeze) { /* x, axis */
    Tensor *x = arg_as_tensor(in, arg[0], e);
    int axis;
    if (!x) return false;
    return finish(
        x, arg_axis(arg[1], type_of(x)->rank + 1, &axis, e) ? unsqueezed(in, x, axis, e) : NULL,
        out);
}

BUILTIN(permute) { /* x, *axes */
    Tensor *x = arg_as_tensor(in, arg[0], e), *t = NULL;
    int64_t axes[MAX_DIMS];
    int n;
    if (!x) return false;
    if (arg_axes(unwrapped(arg[1]), type_of(x)->rank, axes, &n, e)) {
        if (n != type_of(x)->rank)
            error_set(e, "permute needs all %d axes, got %d", type_of(x)->rank, n);
        else
            t = tensor_permute(in, x, axes, n, e);
    }
    return finish(x, t, out);
}

BUILTIN(transpose) { /* x, a, b */
    bool is_bare = arg[1].kind == V_NONE && arg[2].kind == V_NONE;
    if (!is_bare && (arg[1].kind == V_NONE || arg[2].kind == V_NONE)) {
        error_set(e, "transpose swaps two axes, but got one argument");
        return error_hint(e, "x.T, x.transpose(0, 1); a new order of all axes: x.permute(2, 0, 1)");
    }
    Tensor *x = arg_as_tensor(in, arg[0], e);
    int a, b;
    if (!x) return false;
    bool ok = arg_axis(is_bare ? v_int(-2) : arg[1], type_of(x)->rank, &a, e) &&
              arg_axis(is_bare ? v_int(-1) : arg[2], type_of(x)->rank, &b, e);
    return finish(x, ok ? tensor_transpose(in, x, a, b, e) : NULL, out);
}

BUILTIN(t) { /* x */
    Tensor *x = arg_as_tensor(in, arg[0], e);
    if (!x) return false;
    int rank = type_of(x)->rank;
    if (rank > 2) {
        error_set(e, "t() transposes a matrix, not a tensor of %d axes", rank);
        error_hint(e, "x.mT, or x.transpose(a, b)");
        return finish(x, NULL, out);
    }
    return finish(x, rank == 2 ? tensor_transpose(in, x, 0, 1, e) : tensor_ref(x), out);
}

BUILTIN(expand) { /* x, *shape; -1 keeps an axis */
    int64_t shape[MAX_DIMS];
    int rank;
    TRY(shape_of_result(arg[1], shape, &rank, e));
    Tensor *x = arg_as_tensor(in, arg[0], e);
    if (!x) return false;
    int lead = rank - type_of(x)->rank;
    for (int i = 0; i < rank; i++)
        if (shape[i] == -1 && i >= lead) shape[i] = type_of(x)->shape[i - lead];
    return finish(x, tensor_expand(in, x, shape, rank, e), out);
}

/* Tiles x n times along one axis: (before, 1, size, after) expanded to (before, n, size, after).
 * Takes ownership of x. */
static Tensor *tiled(Interp *in, Tensor *x, int axis, int64_t n, LangError *e) {
    TensorType t = *type_of(x);
    Steps s = {in, e};
    int64_t four[4] = {1, 1, t.shape[axis], 1};
    for (int i = 0; i < axis; i++) four[0] *= t.shape[i];
    for (int i = axis + 1; i < t.rank; i++) four[3] *= t.shape[i];
    Tensor *a = step_reshape(&s, steps_keep(&s, x), four, 4);
    four[1] = n;
    t.shape[axis] *= n;
    Tensor *b = a ? steps_keep(&s, tensor_expand(in, a, four, 4, e)) : NULL;
    return steps_end(&s, step_reshape(&s, b, t.shape, t.rank));
}

/* x, *times: counts of the last axes; is_repeat: of all axes. */
static bool repeat(Interp *in, const Value *arg, bool is_repeat, Value *out, LangError *e) {
    int64_t times[MAX_DIMS];
    int n;
    TRY(shape_of_result(arg[1], times, &n, e) && shape_is_valid(times, n, e));
    Tensor *x = arg_as_tensor(in, arg[0], e);
    if (!x) return false;
    if (is_repeat && n < type_of(x)->rank) {
        error_set(e, "repeat needs a count for each of the %d axes, got %d", type_of(x)->rank, n);
        return finish(x, NULL, out);
    }
    while (x && type_of(x)->rank < n) {
        Tensor *more = unsqueezed(in, x, 0, e);
        tensor_unref(x), x = more;
    }
    int lead = x ? type_of(x)->rank - n : 0;
    for (int i = 0; x && i < n; i++)
        if (times[i] != 1) x = tiled(in, x, lead + i, times[i], e);
    return give_tensor(x, out);
}
BUILTIN(repeat) { return repeat(in, arg, true, out, e); }
BUILTIN(tile) { return repeat(in, arg, false, out, e); }

/* ---- joining and splitting ---- */

/* The elements of a list as tensors: new references in a malloc'ed array. */
static Tensor **tensor_list(Interp *in, Value v, int64_t *n, const char *what, LangError *e) {
    *n = v.kind == V_TENSOR && type_of(v.tensor)->rank ? type_of(v.tensor)->shape[0]
                                                       : value_count(v);
    if (*n < 1) {
        error_set(e, *n == 0 ? "%s of an empty list" : "%s needs a list of tensors", what);
        if (*n < 0) error_hint(e, "%s([a, b], axis=0)", what);
        return NULL;
    }
    Tensor **t = xcalloc((size_t)*n, sizeof *t);
    bool ok = true;
    for (int64_t i = 0; ok && i < *n; i++) {
        Value x = v_none();
        if (v.kind == V_TENSOR)
            ok = tensor_iter(in, v.tensor, i, &x, e) && (t[i] = x.tensor);
        else
            ok = (t[i] = arg_as_tensor(in, value_at(v, i), e)) != NULL;
    }
    for (int64_t i = 0; !ok && i < *n; i++) tensor_unref(t[i]);
    if (!ok) free(t);
    return ok ? t : NULL;
}

/* Empty vectors are left out of cat, as in PyTorch, so that a loop may start with one. */
static int64_t without_empty(Tensor **t, int64_t n) {
    bool has_other = false;
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) has_other |= type_of(t[i])->rank != 1;
    for (int64_t i = 0; i < n && has_other; i++) {
        if (type_of(t[i])->rank == 1 && type_of(t[i])->shape[0] == 0)
            tensor_unref(t[i]);
        else
            t[kept++] = t[i];
    }
    return has_other ? kept : n;
}

/* False, with an error, for cat(a, b), a habit from NumPy's append. */
static bool is_listed(const Value *arg, const char *what, LangError *e) {
    if (arg[1].kind != V_TENSOR) return true;
    error_set(e, "%s takes a list of tensors, then an axis", what);
    return error_hint(e, "%s([a, b])", what);
}

BUILTIN(cat) { /* tensors, axis */
    int64_t n;
    int axis;
    TRY(is_listed(arg, "cat", e));
    Tensor **t = tensor_list(in, arg[0], &n, "cat", e), *r = NULL;
    if (!t) return false;
    n = without_empty(t, n);
    if (arg_axis(arg[1], type_of(t[0])->rank, &axis, e)) r = tensor_cat(in, t, n, axis, e);
    for (int64_t i = 0; i < n; i++) tensor_unref(t[i]);
    free(t);
    return give_tensor(r, out);
}

BUILTIN(stack) { /* tensors, axis */
    int64_t n;
    int axis = 0;
    char a[256], b[256];
    TRY(is_listed(arg, "stack", e));
    Tensor **t = tensor_list(in, arg[0], &n, "stack", e), *r = NULL;
    if (!t) return false;
    TensorType first = *type_of(t[0]);
    bool ok = arg_axis(arg[1], first.rank + 1, &axis, e);
    for (int64_t i = 0; ok && i < n; i++) {
        const TensorType *s = type_of(t[i]);
        if (!type_same_shape(s, &first)) {
            ok = error_set(e, "stack needs equal shapes, got %s and %s", type_shape_text(&first, a),
                           type_shape_text(s, b));
            break;
        }
        Tensor *one = unsqueezed(in, t[i], axis, e);
        tensor_unref(t[i]), t[i] = one, ok = one != NULL;
    }
    if (ok) r = tensor_cat(in, t, n, axis, e);
    for (int64_t i = 0; i < n; i++) tensor_unref(t[i]);
    free(t);
    return give_tensor(r, out);
}

/* A list of slices of x along axis, of the given sizes in order. Takes ownership of x. */
static bool split_by_sizes(Interp *in, Tensor *x, int axis, const int64_t *size, int64_t n,
                           bool drop_axis, Value *out, LangError *e) {
    Value list = v_list(in, (size_t)n);
    int64_t start = 0;
    bool ok = true;
    for (int64_t i = 0; ok && i < n; start += size[i++]) {
        Tensor *t = tensor_slice(in, x, axis, start, size[i], 1, e);
        if (t && drop_axis) {
            TensorType s = *type_of(t);
            memmove(s.shape + axis, s.shape + axis + 1,
                    sizeof s.shape[0] * (size_t)(s.rank - axis - 1));
            Tensor *flat = tensor_reshape(in, t, s.shape, s.rank - 1, e);
            tensor_unref(t), t = flat;
        }
        ok = t != NULL;
        if (ok) list_push(list.list, v_tensor(tensor_value(t)));
    }
    tensor_unref(x);
    return give_if(ok, list, out);
}

/* Parts of equal size; the last may be smaller. */
static bool cut_equal(Interp *in, Tensor *x, int axis, int64_t size, bool drop_axis, Value *out,
                      LangError *e) {
    int64_t length = type_of(x)->shape[axis], n = length      ? (length - 1) / size + 1
                                                  : drop_axis ? 0
                                                              : 1;
    int64_t *sizes = xmalloc(sizeof *sizes * (size_t)(n + 1));
    for (int64_t i = 0; i < n; i++) sizes[i] = i < n - 1 ? size : length - size * (n - 1);
    if (!length && n) sizes[0] = 0;
    bool ok = split_by_sizes(in, x, axis, sizes, n, drop_axis, out, e);
    free(sizes);
    return ok;
}

/* x and one of its axes; a new reference in *x. */
static bool axis_of(Interp *in, Value v, Value axis, Tensor **x, int *a, LangError *e) {
    *x = arg_as_tensor(in, v, e);
    if (!*x) return false;
    return arg_axis(axis, type_of(*x)->rank, a, e) || (tensor_unref(*x), false);
}

BUILTIN(split) { /* x, size or sizes, axis */
    Tensor *x;
    int axis;
    int64_t n = value_count(arg[1]), size, sum = 0;
    TRY(axis_of(in, arg[0], arg[2], &x, &axis, e));
    if (n < 0) {
        bool ok = arg_int_of(arg[1], "size", &size, e);
        if (ok && size < 1)
            ok = error_set(e, "split needs a size of at least 1, not %lld", (long long)size);
        return ok ? cut_equal(in, x, axis, size, false, out, e) : (tensor_unref(x), false);
    }
    int64_t *sizes = xmalloc(sizeof *sizes * (size_t)(n + 1));
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++) {
        ok = arg_int_of(value_at(arg[1], i), "sizes", &sizes[i], e) &&
             shape_is_valid(&sizes[i], 1, e);
        if (ok && __builtin_add_overflow(sum, sizes[i], &sum))
            ok = error_set(e, "split: the sizes are too large");
    }
    if (ok && sum != type_of(x)->shape[axis])
        ok = error_set(e, "split: the sizes sum to %lld, but axis %d has %lld", (long long)sum,
                       axis, (long long)type_of(x)->shape[axis]);
    ok = ok ? split_by_sizes(in, x, axis, sizes, n, false, out, e) : (tensor_unref(x), false);
    free(sizes);
    return ok;
}

BUILTIN(chunk) { /* x, n, axis */
    Tensor *x;
    int axis;
    int64_t n;
    TRY(arg_int_of(arg[1], "n", &n, e));
    if (n < 1) return error_set(e, "chunk needs at least one part, not %lld", (long long)n);
    TRY(axis_of(in, arg[0], arg[2], &x, &axis, e));
    int64_t length = type_of(x)->shape[axis];
    if (length) return cut_equal(in, x, axis, (length - 1) / n + 1, false, out, e);
    if (n > 1 << 16) return tensor_unref(x), error_set(e, "chunk: too many parts of an empty axis");
    /* an empty axis gives n parts, as in PyTorch */
    int64_t *sizes = xcalloc((size_t)n, sizeof *sizes);
    bool ok = split_by_sizes(in, x, axis, sizes, n, false, out, e);
    free(sizes);
    return ok;
}

BUILTIN(unbind) { /* x, axis */
    Tensor *x;
    int axis;
    TRY(axis_of(in, arg[0], arg[1], &x, &axis, e));
    return cut_equal(in, x, axis, 1, true, out, e);
}

BUILTIN(flip) { /* x, *axis: slices with indices in descending order */
    Value list = unwrapped(arg[1]);
    int64_t axes[MAX_DIMS];
    int n;
    if (value_count(arg[1]) == 0) {
        error_set(e, "flip needs an axis");
        return error_hint(e, "x.flip(0); all of them: x.flip(list(range(x.ndim)))");
    }
    Tensor *x = arg_as_tensor(in, arg[0], e);
    if (!x) return false;
    if (!arg_axes(list, type_of(x)->rank, axes, &n, e)) return finish(x, NULL, out);
    for (int i = 0; x && i < n; i++) {
        Steps s = {in, e};
        int64_t size = type_of(x)->shape[axes[i]];
        Tensor *index =
            steps_keep(&s, tensor_arange(in, arg_int(size - 1), arg_int(-1), size, DT_I64, e));
        Arg a[2] = {arg_tensor(steps_keep(&s, x)), arg_tensor(index)};
        Attr attr = attr_ints(ATTR_AXIS, &axes[i], 1);
        x = steps_end(&s, step_op(&s, OP_INDEX, a, 2, &attr, 1));
    }
    return give_tensor(x, out);
}

/* ---- parts ---- */

/* where(column - row compared with k, x, 0), over the last two axes. */
static bool triangle(Interp *in, const Value *arg, Op keep, Value *out, LangError *e) {
    Steps s = {in, e};
    Tensor *x = steps_arg(&s, arg[0]), *t = NULL;
    int64_t k;
    if (x && type_of(x)->rank < 2)
        error_set(e, "a triangle needs a matrix, not %d axes", type_of(x)->rank);
    else if (x && arg_int_of(arg[1], "k", &k, e)) {
        const int64_t *size = type_of(x)->shape + type_of(x)->rank - 2;
        Tensor *row = steps_keep(&s, tensor_arange(in, arg_int(k), arg_int(1), size[0], DT_I64, e));
        Tensor *shifted = step_reshape(&s, row, (int64_t[]){size[0], 1}, 2), *column = NULL;
        if (shifted)
            column = steps_keep(&s, tensor_arange(in, arg_int(0), arg_int(1), size[1], DT_I64, e));
        Tensor *mask = step2(&s, keep, arg_tensor(column), arg_tensor(shifted));
        t = step_where(&s, mask, arg_tensor(x),
                       type_of(x)->dtype == DT_BOOL ? arg_bool(false) : arg_int(0));
    }
    return steps_give(&s, t, out);
}

BUILTIN(tril) { return triangle(in, arg, OP_LE, out, e); }
BUILTIN(triu) { return triangle(in, arg, OP_GE, out, e); }

/* Applies op to x, an index tensor and perhaps a third, along an axis. arg: x, axis, index[, src[,
 * how]]. */
static bool indexed(Interp *in, Op op, const Value *arg, int n, Value *out, LangError *e) {
    Steps s = {in, e};
    Arg a[3];
    Tensor *x;
    int axis;
    TRY(axis_of(in, arg[0], arg[1], &x, &axis, e));
    a[0] = arg_tensor(steps_keep(&s, x));
    for (int i = 1; i < n; i++) a[i] = arg_tensor(a[i - 1].t ? steps_arg(&s, arg[i + 1]) : NULL);
    int64_t k = axis;
    Attr attr[2] = {attr_ints(ATTR_AXIS, &k, 1), attr_bool(ATTR_FROM_ZERO, true)};
    if (op == OP_SCATTER_REDUCE)
        attr[1] = (Attr){.key = ATTR_REDUCE, .n = (uint32_t)arg[4].str->n, .str = arg[4].str->s};
    bool has_second = op == OP_INDEX || op == OP_SCATTER_REDUCE;
    return steps_give(&s, step_op(&s, op, a, n, attr, has_second ? 2 : 1), out);
}

BUILTIN(gather) { return indexed(in, OP_GATHER, arg, 2, out, e); }
BUILTIN(index_select) { return indexed(in, OP_INDEX, arg, 2, out, e); }
BUILTIN(scatter_add) { return indexed(in, OP_SCATTER_ADD, arg, 3, out, e); }

BUILTIN(scatter_with) { /* x, axis, index, src, how: prod, amax or amin */
    if (arg[4].kind != V_STR) return error_set(e, "'how' is \"prod\", \"amax\" or \"amin\"");
    return indexed(in, OP_SCATTER_REDUCE, arg, 3, out, e);
}

BUILTIN(searchsorted) { /* sorted, values, right, side */
    bool right;
    TRY(arg_bool_of(arg[2], "right", &right, e));
    if (arg[3].kind == V_STR && !strcmp(arg[3].str->s, "right"))
        right = true;
    else if (arg[3].kind != V_NONE && (arg[3].kind != V_STR || strcmp(arg[3].str->s, "left")))
        return error_set(e, "'side' is \"left\" or \"right\"");
    Steps s = {in, e};
    Tensor *x = steps_arg(&s, arg[0]), *v = x ? steps_arg(&s, arg[1]) : NULL, *t = NULL;
    if (v) {
        DType d = dtype_promote((DType)type_of(x)->dtype, (DType)type_of(v)->dtype);
        x = step_cast(&s, x, d);
        if (x) v = step_cast(&s, v, d);
        Attr attr = attr_bool(ATTR_RIGHT, right);
        t = step_op(&s, OP_SEARCHSORTED, (Arg[]){arg_tensor(x), arg_tensor(v)}, 2, &attr, 1);
    }
    return steps_give(&s, t, out);
}

/* A new tensor: x with x[i, j, ...] = values, for a list of index tensors (none: a whole axis). */
BUILTIN(index_put) { /* x, indices, values, accumulate, from_zero */
    bool adds, from_zero;
    TRY(arg_bool_of(arg[3], "accumulate", &adds, e) &&
        arg_bool_of(arg[4], "from_zero", &from_zero, e));
    int64_t n = arg[1].kind == V_TENSOR ? 1 : value_count(arg[1]);
    if (n < 1 || n > MAX_DIMS) {
        error_set(e, "index_put needs a list of index tensors, one per axis");
        return error_hint(e, "x.index_put([rows, columns], values)");
    }
    Value sub[MAX_DIMS];
    for (int64_t i = 0; i < n; i++) {
        sub[i] = arg[1].kind == V_TENSOR ? arg[1] : value_at(arg[1], i);
        if (sub[i].kind != V_NONE) continue;
        sub[i] = v_slice(v_none(), v_none(), v_none());
    }
    bool ok = true;
    Tensor *x = arg_as_tensor(in, arg[0], e), *plain = NULL;
    if (!x) return false;
    if (adds) {
        ok = tensor_index_add(in, x, sub, (int)n, arg[2], from_zero, out, e);
    } else if (x->is_param || x->is_buffer) { /* a new value, not an in-place update */
        Arg a = arg_tensor(x);
        Attr attr = attr_ints(ATTR_SHAPE, type_of(x)->shape, type_of(x)->rank);
        if (!tensor_op(in, OP_RESHAPE, &a, 1, &attr, 1, &plain, e)) plain = NULL;
        ok = plain && tensor_index_put(in, plain, sub, (int)n, arg[2], from_zero, out, e);
        tensor_unref(plain);
    } else
        ok = tensor_index_put(in, x, sub, (int)n, arg[2], from_zero, out, e);
    for (int64_t i = 0; i < n; i++)
        if (arg[1].kind != V_TENSOR && value_at(arg[1], i).kind == V_NONE) value_drop(sub[i]);
    tensor_unref(x);
    return ok;
}

BUILTIN(nonzero) { /* x, as_tuple */
    bool apart;
    TRY(arg_bool_of(arg[1], "as_tuple", &apart, e));
    Tensor *x = arg_as_tensor(in, arg[0], e), *t = NULL;
    if (x && apart && !type_of(x)->rank) {
        int64_t one = 1;
        Tensor *line = tensor_reshape(in, x, &one, 1, e);
        tensor_unref(x), x = line;
    }
    if (x && !tensor_nonzero(in, x, &t, e)) t = NULL;
    tensor_unref(x);
    if (!t || !apart) return give_tensor(t, out);
    return cut_equal(in, t, 1, 1, true, out, e);
}
