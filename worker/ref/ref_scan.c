/* ref_scan.c: KERNEL rows of the reference engine that scan along an axis: running sums, linear
 * recurrences, running extremes; and search in sorted lines.
 * SPDX-License-Identifier: MIT */
#include "worker/ref/ref.h"

#include <math.h>

/* Returns the type of x with one element along the axis: an index for each line. */
static TensorType lines_of(const View *x, int axis) {
    TensorType t = x->type;
    t.shape[axis] = 1;
    return t;
}

bool ref_CUMSUM(const Call *c, Err *err) {
    const View *x = &c->in[0], *o = &c->out[0];
    int axis = ref_axis(c);
    TensorType lines = lines_of(x, axis);
    int64_t n = x->type.shape[axis];
    if (ref_is_empty(&x->type)) return true;
    int64_t index[MAX_DIMS] = {0};
    do {
        RefSum sum = {0};
        int64_t at = ref_offset(o, index, o->type.rank), from = ref_offset(x, index, o->type.rank);
        for (int64_t i = 0; i < n; i++, at += o->stride[axis], from += x->stride[axis]) {
            ref_sum_add(&sum, x, from);
            ref_set_sum(o, at, &sum);
        }
    } while (ref_step(index, &lines));
    return true;
}

bool ref_RECURRENCE(const Call *c, Err *err) {
    const View *a = &c->in[0], *b = &c->in[1], *o = &c->out[0];
    int axis = ref_axis(c);
    bool reverse = inst_bool(c->inst, ATTR_REVERSE, false);
    TensorType lines = lines_of(a, axis);
    int64_t n = a->type.shape[axis];
    if (ref_is_empty(&a->type)) return true;
    int64_t index[MAX_DIMS] = {0};
    do {
        double y = 0;
        uint64_t whole = 0;
        for (int64_t k = 0; k < n; k++) {
            index[axis] = reverse ? n - 1 - k : k;
            int64_t at = ref_offset(o, index, o->type.rank);
            int64_t at_a = ref_offset(a, index, o->type.rank);
            int64_t at_b = ref_offset(b, index, o->type.rank);
            if (ref_is_float(a)) {
                y = (k ? ref_float(a, at_a) * y : 0) + ref_float(b, at_b);
                ref_set_float(o, at, y);
            } else {
                whole = (uint64_t)ref_int(a, at_a) * whole + (uint64_t)ref_int(b, at_b);
                ref_set_int(o, at, (int64_t)whole);
            }
        }
        index[axis] = 0;
    } while (ref_step(index, &lines));
    return true;
}

/* True if element i of v is at least as good as element j; nan is the best. */
static bool is_no_worse(const View *v, int64_t i, int64_t j, bool largest) {
    if (!ref_is_float(v))
        return largest ? ref_int(v, i) >= ref_int(v, j) : ref_int(v, i) <= ref_int(v, j);
    double x = ref_float(v, i), y = ref_float(v, j);
    return isnan(x) || (largest ? x >= y : x <= y);
}

bool ref_CUMMAX(const Call *c, Err *err) {
    const View *x = &c->in[0], *value = &c->out[0], *place = &c->out[1];
    int axis = ref_axis(c);
    bool largest = inst_bool(c->inst, ATTR_LARGEST, true);
    TensorType lines = lines_of(x, axis);
    int64_t n = x->type.shape[axis];
    if (ref_is_empty(&x->type)) return true;
    int64_t index[MAX_DIMS] = {0};
    do {
        int64_t first = ref_offset(x, index, x->type.rank), best = 0;
        int64_t at = ref_offset(value, index, x->type.rank);
        for (int64_t i = 0; i < n; i++, at += value->stride[axis]) {
            int64_t step = x->stride[axis];
            if (is_no_worse(x, first + i * step, first + best * step, largest)) best = i;
            ref_copy_element(value, at, x, first + best * step);
            ref_set_int(place, at, best);
        }
    } while (ref_step(index, &lines));
    return true;
}

/* True if element i of x comes before element j of v; nan comes last. */
static bool is_before(const View *x, int64_t i, const View *v, int64_t j, bool right) {
    if (!ref_is_float(x)) {
        int64_t a = ref_int(x, i), b = ref_int(v, j);
        return right ? a <= b : a < b;
    }
    double a = ref_float(x, i), b = ref_float(v, j);
    if (isnan(b)) return right || !isnan(a);
    return right ? a <= b : a < b;
}

bool ref_SEARCHSORTED(const Call *c, Err *err) {
    const View *x = &c->in[0], *v = &c->in[1], *o = &c->out[0];
    bool right = inst_bool(c->inst, ATTR_RIGHT, false);
    int last = x->type.rank - 1;
    if (ref_is_empty(&o->type)) return true;
    int64_t index[MAX_DIMS] = {0}, at = 0;
    do {
        int64_t line = 0, low = 0, high = x->type.shape[last];
        for (int i = 0; i < last; i++) line += x->stride[i] * index[i];
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (is_before(x, line + middle * x->stride[last], v, ref_offset(v, index, v->type.rank),
                          right))
                low = middle + 1;
            else
                high = middle;
        }
        ref_set_int(o, at++, low);
    } while (ref_step(index, &o->type));
    return true;
}
