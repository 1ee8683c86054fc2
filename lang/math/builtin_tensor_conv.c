/* builtin_tensor_conv.c: convolutions and poolings over 1, 2 or 3 spatial axes; each name has a
 * function. Arguments follow PyTorch: an int applies to all spatial axes; an input without a batch
 * axis is one image.
 * SPDX-License-Identifier: MIT */
#include "lang/math/builtin_tensor.h"
#include "runtime/infer/window.h"
#include <string.h>

typedef int64_t Axes[WINDOW_AXES];

/* Reads an int for all n axes, or a list of n. none gives `missing`, or an error if that is
 * negative. */
static bool per_axis(Value v, const char *name, int n, int64_t missing, Axes out, LangError *e) {
    int64_t count = value_count(v);
    if (count == 1) v = value_at(v, 0), count = -1;
    if (count >= 0 && count != n)
        return error_set(e, "'%s' must be a whole number or %d of them, not %lld", name, n,
                         (long long)count);
    for (int i = 0; i < n; i++) {
        Value one = count >= 0 ? value_at(v, i) : v;
        if (one.kind == V_NONE && missing >= 0)
            out[i] = missing;
        else
            TRY(arg_int_of(one, name, &out[i], e));
    }
    return true;
}

/* x with a batch axis, added if it lacks one (*is_one): rank n + 2. */
static Tensor *as_images(Steps *s, const char *name, Value v, int n, bool *is_one) {
    Tensor *x = steps_arg(s, v);
    if (!x) return NULL;
    TensorType t = *tensor_type(x);
    char text[256];
    *is_one = t.rank == n + 1;
    if (t.rank == n + 2) return x;
    if (t.rank != n + 1) {
        error_set(s->e, "%s%dd: the input needs %d axes (images, channels, ...), not shape %s",
                  name, n, n + 2, type_shape_text(&t, text));
        return NULL;
    }
    memmove(t.shape + 1, t.shape, sizeof t.shape[0] * (size_t)t.rank);
    t.shape[0] = 1;
    return step_reshape(s, x, t.shape, n + 2);
}

/* With a bias, float16 and bfloat16 results are rounded once, after it is added: an attribute asks
 * for unrounded float32 sums. */
static int put_wide(Value bias, const Tensor *x, const Tensor *w, Attr *attr) {
    DType d = (DType)tensor_type(x)->dtype;
    bool rounds = bias.kind != V_NONE && dtype_is_half(d) && tensor_type(w)->dtype == d;
    if (rounds) *attr = attr_dtype(DT_F32);
    return rounds;
}

/* Adds the bias (channels), casts to `narrow` unless that is DT_NONE, and drops a batch axis that
 * as_images added. Ends the steps; y may be NULL. */
static bool finish(Steps *s, const char *name, Tensor *y, Value bias, DType narrow, int n,
                   bool is_one, Value *out) {
    if (y && bias.kind != V_NONE) {
        Tensor *b = steps_arg(s, bias);
        int64_t channels = tensor_type(y)->shape[1], shape[] = {channels, 1, 1, 1};
        char text[256];
        if (b && (tensor_type(b)->rank != 1 || tensor_type(b)->shape[0] != channels)) {
            error_set(s->e, "%s%dd: a bias of shape %s for %lld output channels", name, n,
                      type_shape_text(tensor_type(b), text), (long long)channels);
            b = NULL;
        }
        y = step2(s, OP_ADD, arg_tensor(y), arg_tensor(step_reshape(s, b, shape, n + 1)));
    }
    if (narrow != DT_NONE) y = step_cast(s, y, narrow);
    if (y && is_one) {
        TensorType t = *tensor_type(y);
        y = step_reshape(s, y, t.shape + 1, n + 1);
    }
    return steps_give(s, y, out);
}

/* ---- convolution ---- */

typedef struct ConvArgs {
    Axes stride, padding, dilation;
    int64_t groups;
    bool drops_first[WINDOW_AXES]; /* drop the first result of an axis */
} ConvArgs;

/* padding: numbers, "valid" or "same". If "same" needs one more after than before, both sides are
 * padded by the larger amount and the first result is dropped. */
static bool read_padding(Value v, int n, const Tensor *w, ConvArgs *a, LangError *e) {
    if (v.kind != V_STR) return per_axis(v, "padding", n, 0, a->padding, e);
    bool is_same = !strcmp(v.str->s, "same");
    if (!is_same && strcmp(v.str->s, "valid"))
        return error_set(e, "'padding' must be numbers, \"same\" or \"valid\", not \"%s\"",
                         v.str->s);
    for (int i = 0; i < n; i++) {
        a->padding[i] = 0;
        if (!is_same || tensor_type(w)->rank != n + 2) continue;
        if (a->stride[i] != 1) return error_set(e, "padding=\"same\" needs stride 1");
        int64_t all;
        if (__builtin_mul_overflow(a->dilation[i], tensor_type(w)->shape[2 + i] - 1, &all) ||
            all < 0)
            all = 0; /* the operation reports the error */
        a->padding[i] = (all + 1) / 2, a->drops_first[i] = all % 2;
    }
    return true;
}

/* Adds the attribute unless all values equal its default, `absent`. */
static int put_axes(Attr *attr, AttrKey key, const int64_t *v, int n, int64_t absent) {
    for (int i = 0; i < n; i++)
        if (v[i] != absent) return *attr = attr_ints(key, v, n), 1;
    return 0;
}

static int conv_attrs(const ConvArgs *a, int n, Attr *attr) {
    int k = put_axes(attr, ATTR_STRIDE, a->stride, n, 1);
    k += put_axes(attr + k, ATTR_PADDING, a->padding, n, 0);
    k += put_axes(attr + k, ATTR_DILATION, a->dilation, n, 1);
    if (a->groups != 1) attr[k++] = attr_int(ATTR_GROUPS, a->groups);
    return k;
}

/* x, weight, bias, stride, padding, dilation, groups */
static bool conv(Interp *in, int n, const Value *arg, Value *out, LangError *e) {
    ConvArgs a = {0};
    Steps s = {in, e};
    bool is_one;
    DType narrow = DT_NONE;
    Tensor *y = NULL, *x = as_images(&s, "conv", arg[0], n, &is_one);
    Tensor *w = x ? steps_arg(&s, arg[1]) : NULL;
    if (w && per_axis(arg[3], "stride", n, 1, a.stride, e) &&
        per_axis(arg[5], "dilation", n, 1, a.dilation, e) && read_padding(arg[4], n, w, &a, e) &&
        arg_int_of(arg[6], "groups", &a.groups, e)) {
        Attr attr[5];
        int n_attr = conv_attrs(&a, n, attr), is_wide = put_wide(arg[2], x, w, attr + n_attr);
        if (is_wide) narrow = (DType)tensor_type(x)->dtype;
        y = step_op(&s, OP_CONV, (Arg[]){arg_tensor(x), arg_tensor(w)}, 2, attr, n_attr + is_wide);
    }
    for (int i = 0; y && i < n; i++)
        if (a.drops_first[i])
            y = steps_keep(&s,
                           tensor_slice(in, y, 2 + i, 1, tensor_type(y)->shape[2 + i] - 1, 1, e));
    return finish(&s, "conv", y, arg[2], narrow, n, is_one, out);
}

/* The output shape of a transposed convolution: the input shape of the convolution that it
 * transposes. */
static bool transposed_shape(const Tensor *x, const Tensor *w, int n, const ConvArgs *a,
                             const int64_t *extra, int64_t *shape, LangError *e) {
    const TensorType *tx = tensor_type(x), *tw = tensor_type(w);
    char ts[256], tu[256];
    if (tw->rank != n + 2 || tw->shape[0] != tx->shape[1])
        return error_set(e,
                         "conv_transpose%dd: input of shape %s has %lld channels, weights (input "
                         "channels, output channels / groups, ...) of shape %s do not fit",
                         n, type_shape_text(tx, ts), (long long)tx->shape[1],
                         type_shape_text(tw, tu));
    shape[0] = tx->shape[0];
    if (a->groups < 1 || __builtin_mul_overflow(tw->shape[1], a->groups, &shape[1]))
        return error_set(e, "conv_transpose%dd: groups must be at least 1, not %lld", n,
                         (long long)a->groups);
    for (int i = 0; i < n; i++) {
        int64_t s = a->stride[i], d = a->dilation[i], most = s > d ? s : d;
        if (extra[i] < 0 || (extra[i] && extra[i] >= most))
            return error_set(e,
                             "conv_transpose%dd: output_padding must be below stride or "
                             "dilation, not %lld",
                             n, (long long)extra[i]);
        __int128 size = (__int128)(tx->shape[2 + i] - 1) * s - 2 * (__int128)a->padding[i] +
                        (__int128)d * (tw->shape[2 + i] - 1) + extra[i] + 1;
        if (size < 1 || size > MAX_NUMEL)
            return error_set(e, "conv_transpose%dd: axis %d of the result would have %lld elements",
                             n, 2 + i, (long long)size);
        shape[2 + i] = (int64_t)size;
    }
    return true;
}

/* x, weight, bias, stride, padding, output_padding, groups, dilation */
static bool conv_transpose(Interp *in, int n, const Value *arg, Value *out, LangError *e) {
    ConvArgs a = {0};
    Axes extra;
    Steps s = {in, e};
    bool is_one;
    int64_t shape[WINDOW_AXES + 2];
    DType narrow = DT_NONE;
    Tensor *y = NULL, *x = as_images(&s, "conv_transpose", arg[0], n, &is_one);
    Tensor *w = x ? steps_arg(&s, arg[1]) : NULL;
    if (w && per_axis(arg[3], "stride", n, 1, a.stride, e) &&
        per_axis(arg[4], "padding", n, 0, a.padding, e) &&
        per_axis(arg[5], "output_padding", n, 0, extra, e) &&
        arg_int_of(arg[6], "groups", &a.groups, e) &&
        per_axis(arg[7], "dilation", n, 1, a.dilation, e) &&
        transposed_shape(x, w, n, &a, extra, shape, e)) {
        Attr attr[6];
        int n_attr = conv_attrs(&a, n, attr), is_wide = put_wide(arg[2], x, w, attr + n_attr);
        if (is_wide) narrow = (DType)tensor_type(x)->dtype;
        n_attr += is_wide;
        attr[n_attr++] = attr_ints(ATTR_SHAPE, shape, n + 2);
        y = step_op(&s, OP_CONV_DX, (Arg[]){arg_tensor(x), arg_tensor(w)}, 2, attr, n_attr);
    }
    return finish(&s, "conv_transpose", y, arg[2], narrow, n, is_one, out);
}

/* ---- pooling ---- */

/* x, kernel_size, stride, padding, dilation, ceil_mode, return_indices */
static bool max_pool(Interp *in, int n, const Value *arg, Value *out, LangError *e) {
    Axes kernel, stride, padding, dilation;
    bool ceil = false, both = false;
    TRY(per_axis(arg[1], "kernel_size", n, -1, kernel, e));
    TRY(per_axis(arg[3], "padding", n, 0, padding, e) &&
        per_axis(arg[4], "dilation", n, 1, dilation, e) &&
        arg_bool_of(arg[5], "ceil_mode", &ceil, e) &&
        arg_bool_of(arg[6], "return_indices", &both, e));
    bool has_stride = arg[2].kind != V_NONE;
    TRY(per_axis(arg[2], "stride", n, 1, stride, e));
    Tensor *x = arg_as_tensor(in, arg[0], e), *r[MAX_OUT] = {0};
    if (!x) return false;
    Attr attr[5] = {attr_ints(ATTR_KERNEL, kernel, n)};
    int k = 1;
    if (has_stride) attr[k++] = attr_ints(ATTR_STRIDE, stride, n);
    k += put_axes(attr + k, ATTR_PADDING, padding, n, 0);
    k += put_axes(attr + k, ATTR_DILATION, dilation, n, 1);
    if (ceil) attr[k++] = attr_bool(ATTR_CEIL, true);
    Arg operand = arg_tensor(x);
    bool ok = tensor_op(in, OP_MAX_POOL, &operand, 1, attr, k, r, e);
    tensor_unref(x);
    if (!ok) return false;
    if (!both) {
        tensor_unref(r[1]);
        return *out = v_tensor(r[0]), true;
    }
    *out = v_pair(in, v_tensor(r[0]), v_tensor(r[1]));
    return true;
}

/* x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override */
static bool avg_pool(Interp *in, int n, const Value *arg, Value *out, LangError *e) {
    Axes kernel, stride, padding;
    bool ceil = false, count = true, has_stride = arg[2].kind != V_NONE;
    int64_t divisor = 0;
    TRY(per_axis(arg[1], "kernel_size", n, -1, kernel, e) &&
        per_axis(arg[2], "stride", n, 1, stride, e) &&
        per_axis(arg[3], "padding", n, 0, padding, e) &&
        arg_bool_of(arg[4], "ceil_mode", &ceil, e) &&
        arg_bool_of(arg[5], "count_include_pad", &count, e));
    bool divides = arg[6].kind != V_NONE;
    if (divides) TRY(arg_int_of(arg[6], "divisor_override", &divisor, e));
    Steps s = {in, e};
    Attr attr[6] = {attr_ints(ATTR_KERNEL, kernel, n)};
    int k = 1;
    if (has_stride) attr[k++] = attr_ints(ATTR_STRIDE, stride, n);
    k += put_axes(attr + k, ATTR_PADDING, padding, n, 0);
    if (ceil) attr[k++] = attr_bool(ATTR_CEIL, true);
    if (!count) attr[k++] = attr_bool(ATTR_COUNT_PAD, false);
    if (divides) attr[k++] = attr_int(ATTR_DIVISOR, divisor);
    Arg x = arg_tensor(steps_arg(&s, arg[0]));
    return steps_give(&s, step_op(&s, OP_AVG_POOL, &x, 1, attr, k), out);
}

#define PER_AXES(name, n)                                                                          \
    bool bi_##name##n##d(Interp *in, const Value *arg, Value *out, LangError *e) {                 \
        return name(in, n, arg, out, e);                                                           \
    }
PER_AXES(conv, 1)
PER_AXES(conv, 2)
PER_AXES(conv, 3)
PER_AXES(conv_transpose, 1)
PER_AXES(conv_transpose, 2)
PER_AXES(conv_transpose, 3)
PER_AXES(max_pool, 1)
PER_AXES(max_pool, 2)
PER_AXES(max_pool, 3)
PER_AXES(avg_pool, 1)
PER_AXES(avg_pool, 2)
PER_AXES(avg_pool, 3)
