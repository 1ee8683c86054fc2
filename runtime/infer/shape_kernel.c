/* shape_kernel.c: shape rules of the hand-written kernels: products, joins, indexing, order
 * statistics. See shape.h for shared checks, and inst_infer for what a rule guarantees.
 * SPDX-License-Identifier: MIT */
#include "runtime/infer/shape.h"

#include <stdio.h>
#include <string.h>

/* ---- Products ---- */

static bool cannot_multiply(Infer *s, const char *format, long long m, long long n) {
    ShapeText ta, tb;
    char why[120];
    snprintf(why, sizeof why, format, m, n);
    return err_set(s->err, ERR_SHAPE, "cannot multiply %s @ %s: %s", shape_text(&s->in[0], &ta),
                   shape_text(&s->in[1], &tb), why);
}

static bool allow_is_known(Infer *s) {
    const Attr *a = inst_attr(s->inst, ATTR_ALLOW);
    if (!a) return true;
    if ((a->n == 5 && !memcmp(a->str, "order", 5)) || (a->n == 4 && !memcmp(a->str, "tf32", 4)))
        return dtype_is_float((DType)s->in[0].dtype) ||
               op_fail(s, ERR_DTYPE, ": 'allow' is for floats, not for %s",
                       dtype_info[s->in[0].dtype].name);
    return op_fail(s, ERR_ARG, ": 'allow' is order or tf32");
}

/* (M, K) @ (K, N). 1-D operands are a row (left) or a column (right) whose axis is dropped from
 * the result; batch axes broadcast. */
bool infer_matmul(Infer *s) {
    TRY(need_tensors(s, 2, 2));
    TRY(need_dtype(s, 0) && need_dtype(s, 1) && need_same_dtype(s, 1));
    const TensorType *a = &s->in[0], *b = &s->in[1];
    if (a->rank == 0 || b->rank == 0) {
        cannot_multiply(s, "a tensor without axes", 0, 0);
        return err_hint(s->err, "* multiplies by a single value");
    }
    int64_t K = a->shape[a->rank - 1], Kb = b->shape[b->rank > 1 ? b->rank - 2 : 0];
    if (K != Kb) {
        cannot_multiply(s, "inner sizes %lld and %lld differ", K, Kb);
        if (b->rank > 1 && b->shape[b->rank - 1] == K)
            err_hint(s->err, "right.T would fit");
        else if (a->rank > 1 && a->shape[a->rank - 2] == Kb)
            err_hint(s->err, "left.T would fit");
        return false;
    }
    TensorType batch_a = *a, batch_b = *b, r;
    batch_a.rank = a->rank > 2 ? a->rank - 2 : 0;
    batch_b.rank = b->rank > 2 ? b->rank - 2 : 0;
    if (!shape_broadcast(&batch_a, &batch_b, &r))
        return cannot_multiply(s, "leading axes do not broadcast", 0, 0);
    TRY(sum_dtype(s, &r.dtype) && allow_is_known(s));
    if (a->rank > 1) r.shape[r.rank++] = a->shape[a->rank - 2];
    if (b->rank > 1) r.shape[r.rank++] = b->shape[b->rank - 1];
    return need_numel(s, &r) && op_gives(s, r);
}

/* ---- Joining and replacing ---- */

/* If two shapes differ along one axis only, suggests to join them along it. */
static bool cat_hint(Err *err, const TensorType *a, const TensorType *b) {
    int at = -1, n = 0;
    for (int k = 0; a->rank == b->rank && k < a->rank; k++)
        if (a->shape[k] != b->shape[k]) at = k, n++;
    return n == 1 && err_hint(err, "axis=%d fits", at);
}

bool infer_cat(Infer *s) {
    TRY(need_tensors(s, 1, MAX_IN));
    TensorType r = s->in[0];
    int axis;
    TRY(need_axis(s, r.rank, &axis));
    for (int i = 1; i < s->inst->n_in; i++) {
        const TensorType *t = &s->in[i];
        TRY(need_same_dtype(s, i));
        bool fits = t->rank == r.rank;
        for (int k = 0; fits && k < r.rank; k++) fits = k == axis || t->shape[k] == r.shape[k];
        if (!fits) {
            ShapeText ta, tb;
            err_set(s->err, ERR_SHAPE, "cannot join %s and %s along axis %d",
                    shape_text(&s->in[0], &ta), shape_text(t, &tb), axis);
            return cat_hint(s->err, &s->in[0], t);
        }
        r.shape[axis] += t->shape[axis];
    }
    return need_numel(s, &r) && op_gives(s, r);
}

/* v must broadcast to `to` without growing it. */
static bool need_broadcast_to(Infer *s, const TensorType *v, const TensorType *to) {
    bool fits = v->rank <= to->rank;
    for (int i = 1; fits && i <= v->rank; i++)
        fits = v->shape[v->rank - i] == to->shape[to->rank - i] || v->shape[v->rank - i] == 1;
    if (fits) return true;
    ShapeText tv, tt;
    return op_fail(s, ERR_SHAPE, ": a value of shape %s does not fit %s", shape_text(v, &tv),
                   shape_text(to, &tt));
}

bool infer_slice_put(Infer *s) {
    TRY(need_tensors(s, 2, 2));
    TRY(need_same_dtype(s, 1));
    TensorType part;
    TRY(slice_type(s, &s->in[0], &part));
    TRY(need_broadcast_to(s, &s->in[1], &part));
    return op_gives(s, s->in[0]);
}

/* ---- Indexing ---- */

/* Type of x[..., idx, ...] where operands first .. n_in-1 are indices of axes axis .. : the
 * indices' common shape B replaces the indexed axes: x.shape[:axis] + B + x.shape[axis+k:]. */
static bool indexed_type(Infer *s, int first, TensorType *out) {
    const TensorType *x = &s->in[0];
    int k = s->inst->n_in - first, axis;
    TRY(need_axis(s, x->rank, &axis));
    ShapeText ta, tb;
    if (axis + k > x->rank)
        return op_fail(s, ERR_ARG, ": %d indices from axis %d on, but the shape is %s", k, axis,
                       shape_text(x, &ta));
    TensorType b = s->in[first];
    for (int i = first; i < s->inst->n_in; i++) {
        TRY(need_index_dtype(s, i));
        TensorType before = b;
        if (!shape_broadcast(&before, &s->in[i], &b))
            return op_fail(s, ERR_SHAPE, ": indices of shapes %s and %s do not broadcast",
                           shape_text(&before, &ta), shape_text(&s->in[i], &tb));
    }
    int rank = x->rank - k + b.rank;
    if (rank > MAX_DIMS)
        return op_fail(s, ERR_LIMIT, ": a result of %d axes, but a tensor has at most %d", rank,
                       MAX_DIMS);
    TensorType r = {.dtype = x->dtype};
    for (int i = 0; i < axis; i++) r.shape[r.rank++] = x->shape[i];
    for (int i = 0; i < b.rank; i++) r.shape[r.rank++] = b.shape[i];
    for (int i = axis + k; i < x->rank; i++) r.shape[r.rank++] = x->shape[i];
    TRY(need_numel(s, &r));
    *out = r;
    return true;
}

bool infer_index(Infer *s) {
    TRY(need_tensors(s, 2, MAX_DIMS + 1));
    return indexed_type(s, 1, &s->out[0]);
}

bool infer_index_put(Infer *s) {
    TRY(need_tensors(s, 3, MAX_DIMS + 2));
    TRY(need_same_dtype(s, 1));
    TensorType part;
    TRY(indexed_type(s, 2, &part));
    TRY(need_broadcast_to(s, &s->in[1], &part));
    return op_gives(s, s->in[0]);
}

/* idx must have x's rank and at most its extents, except along axis. */
static bool need_index_within(Infer *s, const TensorType *idx, const TensorType *x, int axis) {
    bool fits = idx->rank == x->rank;
    for (int i = 0; fits && i < x->rank; i++) fits = i == axis || idx->shape[i] <= x->shape[i];
    if (fits) return true;
    ShapeText ti, tx;
    return op_fail(s, ERR_SHAPE, ": indices of shape %s reach beyond %s%s", shape_text(idx, &ti),
                   shape_text(x, &tx), idx->rank == x->rank ? "" : " (they need as many axes)");
}

bool infer_gather(Infer *s) {
    TRY(need_tensors(s, 2, 2));
    const TensorType *x = &s->in[0], *idx = &s->in[1];
    int axis;
    TRY(need_axis(s, x->rank, &axis));
    TRY(need_index_dtype(s, 1));
    TRY(need_index_within(s, idx, x, axis));
    TensorType r = *idx;
    r.dtype = x->dtype;
    return need_numel(s, &r) && op_gives(s, r);
}

bool infer_scatter_add(Infer *s) {
    TRY(need_tensors(s, 3, 3));
    TRY(need_dtype(s, 0) && need_index_dtype(s, 1) && need_same_dtype(s, 2));
    const TensorType *x = &s->in[0], *idx = &s->in[1];
    int axis;
    TRY(need_axis(s, x->rank, &axis));
    TRY(need_index_within(s, idx, x, axis));
    TRY(need_index_within(s, idx, &s->in[2], -1));
    return op_gives(s, *x);
}

bool infer_scatter_reduce(Infer *s) {
    TRY(infer_scatter_add(s));
    const Attr *how = inst_attr(s->inst, ATTR_REDUCE);
    if (!how) return missing_attr(s, ATTR_REDUCE);
    static const char *const known[] = {"prod", "amax", "amin"};
    for (int i = 0; i < 3; i++)
        if (how->n == 4 && !memcmp(how->str, known[i], 4)) return true;
    return op_fail(s, ERR_ARG, ": 'reduce' is prod, amax or amin");
}

/* ---- Order statistics and scans ---- */

bool infer_arg_reduce(Infer *s) {
    TRY(need_tensors(s, 1, 1));
    TRY(need_dtype(s, 0));
    const TensorType *x = &s->in[0];
    int axis = -1; /* all axes */
    if (inst_attr(s->inst, ATTR_AXIS)) TRY(need_axis(s, x->rank, &axis));
    bool keep = inst_bool(s->inst, ATTR_KEEPDIMS, false);
    TensorType r = {.dtype = DT_I64};
    for (int i = 0; i < x->rank; i++) {
        bool reduced = axis < 0 || i == axis;
        if (reduced && x->shape[i] == 0) return empty_axis(s, i);
        if (!reduced)
            r.shape[r.rank++] = x->shape[i];
        else if (keep)
            r.shape[r.rank++] = 1;
    }
    return op_gives(s, r);
}

/* One operand, one axis, the operand's own shape: shared by cumsum, sort and argsort. */
static bool along_axis(Infer *s, int *axis) {
    TRY(need_tensors(s, 1, 1));
    TRY(need_dtype(s, 0));
    TRY(need_axis(s, s->in[0].rank, axis));
    return op_gives(s, s->in[0]);
}

bool infer_cumsum(Infer *s) {
    int axis;
    TRY(along_axis(s, &axis));
    if (!dtype_is_float(s->in[0].dtype)) s->out[0].dtype = DT_I64;
    return true;
}

bool infer_sort(Infer *s) {
    int axis;
    return along_axis(s, &axis);
}

bool infer_argsort(Infer *s) {
    int axis;
    TRY(along_axis(s, &axis));
    s->out[0].dtype = DT_I64;
    return true;
}

bool infer_topk(Infer *s) {
    int axis;
    TRY(along_axis(s, &axis));
    const Attr *k = inst_attr(s->inst, ATTR_K);
    if (!k) return missing_attr(s, ATTR_K);
    if (k->i < 0 || k->i > s->in[0].shape[axis])
        return err_set(s->err, ERR_ARG, "topk: %lld of the %lld elements of axis %d",
                       (long long)k->i, (long long)s->in[0].shape[axis], axis);
    s->out[0].shape[axis] = k->i;
    return op_gives_indices(s);
}

bool infer_cummax(Infer *s) {
    int axis;
    TRY(along_axis(s, &axis));
    return op_gives_indices(s);
}

bool infer_recurrence(Infer *s) {
    const TensorType *a = &s->in[0], *b = &s->in[1];
    int axis;
    TRY(need_tensors(s, 2, 2));
    TRY(need_dtype(s, 0) && need_same_dtype(s, 1) && need_axis(s, a->rank, &axis));
    bool fits = a->rank == b->rank;
    for (int i = 0; fits && i < a->rank; i++) fits = a->shape[i] == b->shape[i];
    ShapeText ta, tb;
    if (!fits)
        return op_fail(s, ERR_SHAPE, ": factors of shape %s, but terms of shape %s",
                       shape_text(a, &ta), shape_text(b, &tb));
    return op_gives(s, *a);
}

/* (..., n) and (..., m), or (n) and any shape. */
bool infer_searchsorted(Infer *s) {
    const TensorType *x = &s->in[0], *v = &s->in[1];
    TRY(need_tensors(s, 2, 2));
    TRY(need_dtype(s, 0) && need_same_dtype(s, 1));
    bool fits = x->rank == 1 || (x->rank > 1 && x->rank == v->rank);
    for (int i = 0; fits && i < x->rank - 1; i++) fits = x->shape[i] == v->shape[i];
    ShapeText tx, tv;
    if (!fits)
        return op_fail(s, ERR_SHAPE, ": rows of shape %s do not belong to values of shape %s",
                       shape_text(x, &tx), shape_text(v, &tv));
    s->out[0] = *v;
    s->out[0].dtype = DT_I64;
    return true;
}
