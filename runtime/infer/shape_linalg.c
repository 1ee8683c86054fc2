/* shape_linalg.c: shape rules of factorizations and of the solvers that use them. The last two
 * axes are a matrix, those before them a batch. See shape.h for shared checks.
 * SPDX-License-Identifier: MIT */
#include "runtime/infer/shape.h"

/* Checks that operand i is float32 or float64: others have too few digits to divide by pivots. */
static bool need_digits(Infer *s, int i) {
    const TensorType *t = &s->in[i];
    if (t->dtype != DT_F32 && t->dtype != DT_F64) {
        op_fail(s, ERR_DTYPE, " takes float32 or float64, not %s", dtype_info[t->dtype].name);
        return err_hint(s->err, "x.float()");
    }
    return true;
}

/* ... and that it holds square matrices. */
static bool need_square(Infer *s) {
    const TensorType *t = &s->in[0];
    TRY(need_digits(s, 0));
    if (t->rank >= 2 && t->shape[t->rank - 1] == t->shape[t->rank - 2]) return true;
    ShapeText text;
    return op_fail(s, ERR_SHAPE, " needs square matrices, not shape %s", shape_text(t, &text));
}

bool infer_cholesky(Infer *s) {
    TRY(need_tensors(s, 1, 1) && need_square(s));
    return op_gives(s, s->in[0]);
}

bool infer_lu(Infer *s) {
    TRY(need_tensors(s, 1, 1) && need_square(s));
    s->out[0] = s->in[0];
    s->out[1] = s->in[0];
    s->out[1].rank--;
    s->out[1].dtype = DT_I64;
    s->n_out = 2;
    return true;
}

/* (.., m, n) becomes (.., rows, columns). */
static bool packed_type(Infer *s, int64_t rows, int64_t columns) {
    TensorType *o = &s->out[0];
    *o = s->in[0];
    o->shape[o->rank - 2] = rows, o->shape[o->rank - 1] = columns;
    return need_numel(s, o);
}

/* Operand 0 holds matrices (.., *m, *n). */
static bool need_matrices(Infer *s, int64_t *m, int64_t *n) {
    const TensorType *t = &s->in[0];
    ShapeText text;
    TRY(need_tensors(s, 1, 1) && need_digits(s, 0));
    if (t->rank < 2)
        return op_fail(s, ERR_SHAPE, " needs matrices, not shape %s", shape_text(t, &text));
    *m = t->shape[t->rank - 2], *n = t->shape[t->rank - 1];
    return true;
}

bool infer_qr(Infer *s) {
    int64_t m, n;
    ShapeText text;
    TRY(need_matrices(s, &m, &n));
    if (m < n)
        return op_fail(s, ERR_SHAPE,
                       " needs matrices of at least as many rows as columns, not shape %s",
                       shape_text(&s->in[0], &text));
    return packed_type(s, m + n, n);
}

bool infer_eigh(Infer *s) {
    TRY(need_tensors(s, 1, 1) && need_square(s));
    int64_t n = s->in[0].shape[s->in[0].rank - 1];
    return packed_type(s, n + 1, n);
}

bool infer_svd(Infer *s) {
    int64_t m, n;
    TRY(need_matrices(s, &m, &n));
    return packed_type(s, m + 1 + n, m < n ? m : n);
}

/* Of a (.., n, n) and b (.., n, k): (.., n, k), batches broadcast. */
static bool solved_type(Infer *s) {
    TRY(need_square(s) && need_same_dtype(s, 1));
    TensorType a = s->in[0], b = s->in[1], r;
    ShapeText ta, tb;
    if (b.rank < 2)
        return op_fail(s, ERR_SHAPE, ": %s equations, but right sides of shape %s",
                       shape_text(&a, &ta), shape_text(&b, &tb));
    /* b may come from a vector or from left=false, in another shape: the message has the size. */
    if (b.shape[b.rank - 2] != a.shape[a.rank - 1])
        return op_fail(s, ERR_SHAPE, ": %s equations, but right sides of %lld elements",
                       shape_text(&a, &ta), (long long)b.shape[b.rank - 2]);
    int64_t n = b.shape[b.rank - 2], k = b.shape[b.rank - 1];
    a.rank -= 2, b.rank -= 2;
    if (!shape_broadcast(&a, &b, &r))
        return op_fail(s, ERR_SHAPE, ": leading axes do not broadcast: %s and %s",
                       shape_text(&s->in[0], &ta), shape_text(&s->in[1], &tb));
    r.dtype = a.dtype;
    r.shape[r.rank++] = n, r.shape[r.rank++] = k;
    return need_numel(s, &r) && op_gives(s, r);
}

bool infer_solve(Infer *s) {
    TRY(need_tensors(s, 4, 4) && solved_type(s));
    TensorType perm = s->in[0];
    perm.rank--, perm.dtype = DT_I64;
    if (type_equal(&s->in[2], &s->in[0]) && type_equal(&s->in[3], &perm)) return true;
    ShapeText ta, tb;
    return err_set(s->err, ERR_SHAPE, "solve: %s and %s are not results of lu",
                   shape_text(&s->in[2], &ta), shape_text(&s->in[3], &tb));
}

bool infer_solve_triangular(Infer *s) { return need_tensors(s, 2, 2) && solved_type(s); }
