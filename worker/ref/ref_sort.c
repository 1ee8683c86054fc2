/* ref_sort.c: KERNEL rows of the reference engine about order: argmax, argmin, sort, argsort, topk.
 * They share one order: by value, nan above everything, equals by position.
 * SPDX-License-Identifier: MIT */
#include "worker/ref/ref.h"

#include <math.h>
#include <stdlib.h>

/* Returns -1, 0 or 1: a before, equal to, or after b in increasing order. */
static int compare(const View *x, int64_t a, int64_t b) {
    if (!ref_is_float(x)) {
        int64_t i = ref_int(x, a), j = ref_int(x, b);
        return (i > j) - (i < j);
    }
    double i = ref_float(x, a), j = ref_float(x, b);
    if (isnan(i) || isnan(j)) return !!isnan(i) - !!isnan(j);
    return (i > j) - (i < j);
}

/* nan wins either way; of equals the first. */
static bool arg_reduce(const Call *c, int sign) {
    const View *x = &c->in[0], *o = &c->out[0];
    const Attr *axis = inst_attr(c->inst, ATTR_AXIS);
    TensorType kept = x->type, folded = x->type;
    for (int d = 0; d < x->type.rank; d++) {
        if (!axis || d == axis->ints[0])
            kept.shape[d] = 1;
        else
            folded.shape[d] = 1;
    }
    if (ref_is_empty(&x->type)) return true;
    int64_t index[MAX_DIMS] = {0}, at = 0;
    do {
        int64_t base = ref_offset(x, index, x->type.rank), sub[MAX_DIMS] = {0}, n = 0, best = 0;
        int64_t best_at = base;
        do {
            int64_t here = base;
            for (int d = 0; d < x->type.rank; d++) here += x->stride[d] * sub[d];
            int order = compare(x, here, best_at);
            bool is_nan = isnan(ref_float(x, here)), was_nan = isnan(ref_float(x, best_at));
            if (is_nan || was_nan ? is_nan && !was_nan : order == sign) best = n, best_at = here;
            n++;
        } while (ref_step(sub, &folded));
        ref_set_int(o, at++, best);
    } while (ref_step(index, &kept));
    return true;
}
bool ref_ARGMAX(const Call *c, Err *err) { return arg_reduce(c, 1); }
bool ref_ARGMIN(const Call *c, Err *err) { return arg_reduce(c, -1); }

/* Merge sort: stable whatever compare returns. */
static void merge_sort(const View *x, int64_t base, int64_t step, int sign, int64_t *i,
                       int64_t *spare, int64_t n) {
    if (n < 2) return;
    int64_t half = n / 2, l = 0, r = half, k = 0;
    merge_sort(x, base, step, sign, i, spare, half);
    merge_sort(x, base, step, sign, i + half, spare, n - half);
    while (l < half || r < n) {
        bool takes_left =
            r == n || (l < half && compare(x, base + i[l] * step, base + i[r] * step) * sign <= 0);
        spare[k++] = takes_left ? i[l++] : i[r++];
    }
    for (k = 0; k < n; k++) i[k] = spare[k];
}

/* Writes the first `count` of each line along axis, in order: values to `value`, positions to
 * `position`; either may be NULL. */
static bool in_order(const Call *c, bool descends, int64_t count, const View *value,
                     const View *position) {
    const View *x = &c->in[0];
    int axis = ref_axis(c);
    int64_t n = x->type.shape[axis], index[MAX_DIMS] = {0};
    if (ref_is_empty(&x->type)) return true;
    TensorType lines = x->type;
    lines.shape[axis] = 1;
    int64_t *order = xmalloc((size_t)n * sizeof *order),
            *spare = xmalloc((size_t)n * sizeof *spare);
    const View *o = value ? value : position;
    do {
        int64_t base = ref_offset(x, index, x->type.rank);
        for (int64_t i = 0; i < n; i++) order[i] = i;
        merge_sort(x, base, x->stride[axis], descends ? -1 : 1, order, spare, n);
        for (int64_t i = 0; i < count; i++) {
            int64_t at = i * o->stride[axis], from = base + order[i] * x->stride[axis];
            for (int d = 0; d < x->type.rank; d++) at += index[d] * o->stride[d];
            if (value) ref_copy_element(value, at, x, from);
            if (position) ref_set_int(position, at, order[i]);
        }
    } while (ref_step(index, &lines));
    free(order);
    free(spare);
    return true;
}

static int64_t line_length(const Call *c) { return c->in[0].type.shape[ref_axis(c)]; }
bool ref_SORT(const Call *c, Err *err) {
    return in_order(c, inst_bool(c->inst, ATTR_DESCENDING, false), line_length(c), &c->out[0],
                    NULL);
}
bool ref_ARGSORT(const Call *c, Err *err) {
    return in_order(c, inst_bool(c->inst, ATTR_DESCENDING, false), line_length(c), NULL,
                    &c->out[0]);
}
bool ref_TOPK(const Call *c, Err *err) {
    int64_t k = inst_int(c->inst, ATTR_K, 0);
    return in_order(c, inst_bool(c->inst, ATTR_LARGEST, true), k, &c->out[0], &c->out[1]);
}
