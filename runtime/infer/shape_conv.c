/* shape_conv.c: shape rules of convolutions and poolings, and window.h's reading of the
 * attributes they accepted. The three convolution rows share one rule: of input, weights and
 * output, two are operands and the third is the result. In a gradient row the attribute `shape`
 * gives the result's shape. Output sizes are PyTorch's, including pooling's ceil_mode.
 * SPDX-License-Identifier: MIT */
#include "runtime/infer/shape.h"
#include "runtime/infer/window.h"
#include <stdio.h>

/* ---- Windows ---- */

int64_t window_count(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                     bool ceil) {
    int64_t reach, free;
    if (kernel < 1 || __builtin_mul_overflow(dilation, kernel - 1, &reach)) return 0;
    if (__builtin_sub_overflow(in + 2 * padding - 1, reach, &free) || free < 0) return 0;
    int64_t n = (free + (ceil ? stride - 1 : 0)) / stride + 1;
    return ceil && (n - 1) * stride >= in + padding ? n - 1 : n;
}

/* Attribute `key` for spatial axis i of n, or `missing`. */
static int64_t per_axis(const Inst *inst, AttrKey key, int i, int64_t missing) {
    const Attr *a = inst_attr(inst, key);
    return a ? a->ints[i] : missing;
}

/* in, out and kernel: the extents of the last n axes. */
static void window_init(Window *w, const Inst *inst, int n, const int64_t *in, const int64_t *out,
                        const int64_t *kernel) {
    bool is_pool = inst_attr(inst, ATTR_KERNEL) != NULL;
    int lead = WINDOW_AXES - n;
    w->n = n;
    for (int i = 0; i < lead; i++) {
        w->in[i] = w->out[i] = w->kernel[i] = w->stride[i] = w->dilation[i] = 1;
        w->padding[i] = 0;
    }
    for (int i = 0; i < n; i++) {
        w->in[lead + i] = in[i], w->out[lead + i] = out[i], w->kernel[lead + i] = kernel[i];
        w->stride[lead + i] = per_axis(inst, ATTR_STRIDE, i, is_pool ? kernel[i] : 1);
        w->padding[lead + i] = per_axis(inst, ATTR_PADDING, i, 0);
        w->dilation[lead + i] = per_axis(inst, ATTR_DILATION, i, 1);
    }
}

void conv_shape(ConvShape *c, const Inst *inst, const TensorType *x, const TensorType *w,
                const TensorType *y) {
    c->N = x->shape[0], c->C = x->shape[1], c->O = w->shape[0];
    c->groups = inst_int(inst, ATTR_GROUPS, 1);
    window_init(&c->window, inst, x->rank - 2, x->shape + 2, y->shape + 2, w->shape + 2);
}

void pool_shape(PoolShape *p, const Inst *inst, const TensorType *x, const TensorType *y) {
    const Attr *kernel = inst_attr(inst, ATTR_KERNEL);
    int lead = x->rank - (int)kernel->n;
    p->planes = 1;
    for (int i = 0; i < lead; i++) p->planes *= x->shape[i];
    window_init(&p->window, inst, (int)kernel->n, x->shape + lead, y->shape + lead, kernel->ints);
    p->count_pad = inst_bool(inst, ATTR_COUNT_PAD, true);
    p->divisor = inst_int(inst, ATTR_DIVISOR, 0);
}

double pool_divisor(const PoolShape *p, const int64_t o[WINDOW_AXES]) {
    if (p->divisor) return (double)p->divisor;
    double n = 1;
    for (int i = 0; i < WINDOW_AXES; i++) {
        const Window *w = &p->window;
        int64_t start = o[i] * w->stride[i] - w->padding[i], end = start + w->kernel[i];
        int64_t lowest = p->count_pad ? start : 0;
        int64_t highest = w->in[i] + (p->count_pad ? w->padding[i] : 0);
        if (start < lowest) start = lowest;
        if (end > highest) end = highest;
        n *= (double)(end - start);
    }
    return n;
}

/* ---- Checks ---- */

enum { MOST = 1 << 30 }; /* for stride, padding and dilation: products of two stay far from 2^63 */

static const char *spatial_text(const int64_t *v, int n, ShapeText *text) {
    TensorType t = {.rank = (uint8_t)n};
    for (int i = 0; i < n; i++) t.shape[i] = v[i];
    return shape_text(&t, text);
}

/* Writes the operation's name with n, its number of spatial axes, into buf, and returns it:
 * "conv2d", "max_pool1d", "conv2d_dx". */
static const char *name_of(const Infer *s, int n, char buf[32]) {
    const char *name = s->info->name, *tail = name;
    while (*tail && !(tail[0] == '_' && tail[1] == 'd')) tail++;
    snprintf(buf, 32, "%.*s%dd%s", (int)(tail - name), name, n, tail);
    return buf;
}

/* STRIDE, PADDING and DILATION have n numbers each, in range. */
static bool need_window(Infer *s, const char *name, int n) {
    static const AttrKey keys[] = {ATTR_STRIDE, ATTR_PADDING, ATTR_DILATION};
    for (int k = 0; k < 3; k++) {
        const Attr *a = inst_attr(s->inst, keys[k]);
        int64_t least = keys[k] != ATTR_PADDING;
        if (!a) continue;
        if (a->n != (uint32_t)n)
            return err_set(s->err, ERR_ARG, "%s: %s needs %d number%s, not %u", name,
                           attr_info[keys[k]].name, n, n == 1 ? "" : "s", a->n);
        for (int i = 0; i < n; i++)
            if (a->ints[i] < least || a->ints[i] > MOST)
                return err_set(s->err, ERR_ARG, "%s: %s must be at least %lld, not %lld", name,
                               attr_info[keys[k]].name, (long long)least, (long long)a->ints[i]);
    }
    return true;
}

/* Extents of the result over the n spatial axes. */
static bool count_windows(Infer *s, const char *name, int n, const int64_t *in,
                          const int64_t *kernel, int64_t *out) {
    bool is_pool = inst_attr(s->inst, ATTR_KERNEL) != NULL;
    bool ceil = inst_bool(s->inst, ATTR_CEIL, false);
    for (int i = 0; i < n; i++) {
        int64_t stride = per_axis(s->inst, ATTR_STRIDE, i, is_pool ? kernel[i] : 1);
        int64_t padding = per_axis(s->inst, ATTR_PADDING, i, 0);
        int64_t dilation = per_axis(s->inst, ATTR_DILATION, i, 1);
        out[i] = window_count(in[i], kernel[i], stride, padding, dilation, ceil);
        if (out[i] >= 1) continue;
        ShapeText tk, ti;
        char with[64] = "", around[48] = "";
        if (dilation > 1) snprintf(with, sizeof with, " with dilation %lld", (long long)dilation);
        if (padding) snprintf(around, sizeof around, " and padding %lld", (long long)padding);
        return err_set(s->err, ERR_SHAPE, "%s: a kernel of %s%s does not fit into an input of %s%s",
                       name, spatial_text(kernel, n, &tk), with, spatial_text(in, n, &ti), around);
    }
    return true;
}

/* ---- Convolutions ---- */

/* y's type from x's and w's. */
static bool conv_type(Infer *s, const TensorType *x, const TensorType *w, TensorType *y) {
    ShapeText tx, tw;
    char name[32];
    int n = x->rank - 2;
    if (n < 1 || n > WINDOW_AXES)
        return op_fail(s, ERR_SHAPE,
                       ": the input needs images, channels and 1 to 3 more axes, not shape %s",
                       shape_text(x, &tx));
    name_of(s, n, name);
    if (w->rank != x->rank)
        return err_set(s->err, ERR_SHAPE,
                       "%s: input of shape %s needs weights of %d axes, not of shape %s", name,
                       shape_text(x, &tx), x->rank, shape_text(w, &tw));
    TRY(need_window(s, name, n));
    int64_t groups = inst_int(s->inst, ATTR_GROUPS, 1), C = x->shape[1], O = w->shape[0], want;
    if (groups < 1)
        return err_set(s->err, ERR_ARG, "%s: groups must be at least 1, not %lld", name,
                       (long long)groups);
    if (C % groups || O % groups)
        return err_set(s->err, ERR_SHAPE, "%s: groups=%lld does not divide the %lld %s channels",
                       name, (long long)groups, (long long)(C % groups ? C : O),
                       C % groups ? "input" : "output");
    if (__builtin_mul_overflow(w->shape[1], groups, &want) || C != want)
        return err_set(s->err, ERR_SHAPE,
                       "%s: input of shape %s has %lld channels, the weights of shape %s with "
                       "groups=%lld want %lld",
                       name, shape_text(x, &tx), (long long)C, shape_text(w, &tw),
                       (long long)groups, (long long)want);
    *y = (TensorType){.dtype = x->dtype, .rank = x->rank, .shape = {x->shape[0], O}};
    TRY(count_windows(s, name, n, x->shape + 2, w->shape + 2, y->shape + 2));
    return need_numel(s, y);
}

static bool two_numbers(Infer *s) {
    TRY(need_tensors(s, 2, 2));
    return need_dtype(s, 0) && need_dtype(s, 1) && need_same_dtype(s, 1);
}

bool infer_conv(Infer *s) {
    TRY(two_numbers(s));
    return conv_type(s, &s->in[0], &s->in[1], &s->out[0]) && sum_dtype(s, &s->out[0].dtype);
}

/* The gradient must have the shape of the forward result. */
static bool need_gradient_of(Infer *s, const TensorType *dy, const TensorType *y) {
    bool fits = dy->rank == y->rank;
    for (int i = 0; fits && i < y->rank; i++) fits = dy->shape[i] == y->shape[i];
    if (fits) return true;
    ShapeText td, ty;
    return op_fail(s, ERR_SHAPE, ": a gradient of shape %s, but the result has %s",
                   shape_text(dy, &td), shape_text(y, &ty));
}

bool infer_conv_dx(Infer *s) {
    TensorType x = {.dtype = s->in[0].dtype}, y;
    TRY(two_numbers(s));
    TRY(need_shape(s, &x));
    TRY(conv_type(s, &x, &s->in[1], &y) && need_gradient_of(s, &s->in[0], &y));
    s->out[0] = x;
    return sum_dtype(s, &s->out[0].dtype);
}

bool infer_conv_dw(Infer *s) {
    TensorType w = {.dtype = s->in[0].dtype}, y;
    TRY(two_numbers(s));
    TRY(need_shape(s, &w));
    TRY(conv_type(s, &s->in[0], &w, &y) && need_gradient_of(s, &s->in[1], &y));
    s->out[0] = w;
    return sum_dtype(s, &s->out[0].dtype);
}

/* ---- Poolings ---- */

static bool pool_type(Infer *s, const TensorType *x, TensorType *y) {
    const Attr *kernel = inst_attr(s->inst, ATTR_KERNEL);
    char name[32];
    ShapeText tx;
    if (!kernel) return missing_attr(s, ATTR_KERNEL);
    int n = kernel->n <= WINDOW_AXES ? (int)kernel->n : 0;
    if (n < 1) return op_fail(s, ERR_ARG, ": windows have 1 to 3 axes, not %u", kernel->n);
    name_of(s, n, name);
    if (x->rank < n)
        return err_set(s->err, ERR_SHAPE, "%s: the input needs %d spatial axes, not shape %s", name,
                       n, shape_text(x, &tx));
    TRY(need_window(s, name, n));
    for (int i = 0; i < n; i++) {
        int64_t k = kernel->ints[i], padding = per_axis(s->inst, ATTR_PADDING, i, 0), reach;
        if (k < 1 || k > MOST)
            return err_set(s->err, ERR_ARG, "%s: a window of %lld elements", name, (long long)k);
        reach = per_axis(s->inst, ATTR_DILATION, i, 1) * (k - 1) + 1;
        if (padding > reach / 2)
            return err_set(s->err, ERR_ARG,
                           "%s: padding is at most half of the window: %lld of %lld", name,
                           (long long)padding, (long long)reach);
    }
    int lead = x->rank - n;
    for (int i = 0; i < n; i++)
        if (x->shape[lead + i] == 0)
            return err_set(s->err, ERR_SHAPE, "%s: planes without elements: %s", name,
                           shape_text(x, &tx));
    *y = *x;
    TRY(count_windows(s, name, n, x->shape + lead, kernel->ints, y->shape + lead));
    return need_numel(s, y);
}

static bool one_number(Infer *s) {
    TRY(need_tensors(s, 1, 1));
    return need_dtype(s, 0);
}

bool infer_max_pool(Infer *s) {
    TRY(one_number(s));
    TRY(pool_type(s, &s->in[0], &s->out[0]));
    return op_gives_indices(s);
}

static bool need_average(Infer *s) {
    const Attr *divisor = inst_attr(s->inst, ATTR_DIVISOR);
    if (inst_attr(s->inst, ATTR_DILATION)) return op_fail(s, ERR_ARG, " has no dilation");
    if (divisor && divisor->i == 0) return op_fail(s, ERR_ARG, ": the divisor must not be 0");
    return one_number(s);
}

bool infer_avg_pool(Infer *s) { return need_average(s) && pool_type(s, &s->in[0], &s->out[0]); }

bool infer_avg_pool_dx(Infer *s) {
    TensorType x = {.dtype = s->in[0].dtype}, y;
    TRY(need_average(s));
    TRY(need_shape(s, &x));
    TRY(pool_type(s, &x, &y) && need_gradient_of(s, &s->in[0], &y));
    return op_gives(s, x);
}
