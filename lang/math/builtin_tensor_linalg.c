/* builtin_tensor_linalg.c: factorizations and linear systems: rows of ops.def under PyTorch's names
 * and keywords. Functions composed of these (inv, det, slogdet ...) are in prelude/linalg.gt.
 * SPDX-License-Identifier: MIT */
#include "lang/math/builtin_tensor.h"
#include <string.h>

/* v as a tensor of floats; whole numbers get the default dtype. A new reference, or NULL. */
static Tensor *as_float(Interp *in, Value v, LangError *e) {
    Tensor *t = arg_as_tensor(in, v, e), *f;
    if (!t || dtype_is_float((DType)tensor_type(t)->dtype)) return t;
    f = tensor_cast(in, t, in->float_dtype, e);
    tensor_unref(t);
    return f;
}

/* The last two axes swapped. Takes ownership of t; NULL returns NULL. */
static Tensor *swapped(Interp *in, Tensor *t, LangError *e) {
    if (!t) return NULL;
    int rank = tensor_type(t)->rank;
    Tensor *s = rank < 2 ? tensor_ref(t) : tensor_transpose(in, t, rank - 2, rank - 1, e);
    tensor_unref(t);
    return s;
}

/* Both operands in their common dtype, transposed if the unknown is on the left side (x @ a =
 * b). */
static bool both_sides(Interp *in, const Value *arg, bool left, Tensor **a, Tensor **b,
                       LangError *e) {
    *a = as_float(in, arg[0], e);
    *b = *a ? as_float(in, arg[1], e) : NULL;
    if (*b) {
        DType d = dtype_promote((DType)tensor_type(*a)->dtype, (DType)tensor_type(*b)->dtype);
        Tensor *x = tensor_cast(in, *a, d, e), *y = x ? tensor_cast(in, *b, d, e) : NULL;
        tensor_unref(*a), tensor_unref(*b);
        *a = x, *b = y;
    }
    if (*b && !left) *a = swapped(in, *a, e), *b = swapped(in, *b, e);
    if (*a && *b) return true;
    tensor_unref(*a), tensor_unref(*b);
    return false;
}

BUILTIN(cholesky) { /* a, upper */
    bool upper;
    Steps s = {in, e};
    TRY(arg_bool_of(arg[1], "upper", &upper, e));
    Tensor *a = as_float(in, arg[0], e);
    if (upper) a = swapped(in, a, e);
    Tensor *l = steps_end(&s, step1(&s, OP_CHOLESKY, steps_keep(&s, a)));
    return give_tensor(upper ? swapped(in, l, e) : l, out);
}

BUILTIN(lu) {
    Tensor *a = as_float(in, arg[0], e), *r[MAX_OUT];
    Arg x = arg_tensor(a);
    bool ok = a && tensor_op(in, OP_LU, &x, 1, NULL, 0, r, e);
    tensor_unref(a);
    if (!ok) return false;
    *out = v_pair(in, v_tensor(r[0]), v_tensor(r[1]));
    return true;
}

/* A builtin for the row `op` with one operand. */
static bool packed(Interp *in, Op op, const Value *arg, Value *out, LangError *e) {
    Steps s = {in, e};
    return steps_give(&s, step1(&s, op, steps_keep(&s, as_float(in, arg[0], e))), out);
}
BUILTIN(qr_packed) { return packed(in, OP_QR, arg, out, e); }
BUILTIN(eigh_packed) { return packed(in, OP_EIGH, arg, out, e); }
BUILTIN(svd_packed) { return packed(in, OP_SVD, arg, out, e); }

BUILTIN(solve_triangular) { /* a, b, upper, left, unitriangular */
    bool upper, left, unit;
    Tensor *a, *b;
    Steps s = {in, e};
    TRY(arg_bool_of(arg[2], "upper", &upper, e) && arg_bool_of(arg[3], "left", &left, e) &&
        arg_bool_of(arg[4], "unitriangular", &unit, e) && both_sides(in, arg, left, &a, &b, e));
    Arg operand[2] = {arg_tensor(steps_keep(&s, a)), arg_tensor(steps_keep(&s, b))};
    Attr attr[2] = {attr_bool(ATTR_UPPER, upper == left), attr_bool(ATTR_UNIT, unit)};
    Tensor *x = steps_end(&s, step_op(&s, OP_SOLVE_TRIANGULAR, operand, 2, attr, 2));
    return give_tensor(left ? x : swapped(in, x, e), out);
}

/* True if b is a vector, or one vector for each matrix of a (PyTorch's rule). */
static bool is_vectors(const TensorType *a, const TensorType *b) {
    return b->rank == 1 || (a->rank == b->rank + 1 && b->rank > 0 &&
                            !memcmp(a->shape, b->shape, sizeof a->shape[0] * b->rank));
}

/* The factors are computed without recording: the gradient goes through the operand a. */
static Tensor *solve(Interp *in, Tensor *a, Tensor *b, LangError *e) {
    Tensor *r[MAX_OUT], *x = NULL;
    const TensorType *t = tensor_type(a);
    char text[256];
    if (t->rank < 2 || t->shape[t->rank - 1] != t->shape[t->rank - 2]) {
        error_set(e, "solve needs square matrices, not shape %s", type_shape_text(t, text));
        return NULL;
    }
    Arg operand[4] = {arg_tensor(a), arg_tensor(b)};
    in->no_grad_depth++;
    bool ok = tensor_op(in, OP_LU, operand, 1, NULL, 0, r, e);
    in->no_grad_depth--;
    if (!ok) return NULL;
    operand[2] = arg_tensor(r[0]), operand[3] = arg_tensor(r[1]);
    Attr attr = attr_bool(ATTR_TRANSPOSED, false);
    if (!tensor_op(in, OP_SOLVE, operand, 4, &attr, 1, &x, e)) x = NULL;
    tensor_unref(r[0]), tensor_unref(r[1]);
    return x;
}

BUILTIN(solve) { /* a, b, left */
    bool left, is_vector;
    Tensor *a, *b, *x;
    TRY(arg_bool_of(arg[2], "left", &left, e) && both_sides(in, arg, true, &a, &b, e));
    is_vector = is_vectors(tensor_type(a), tensor_type(b));
    TensorType t = *tensor_type(b);
    if (is_vector && t.rank < MAX_DIMS) { /* as a column, or as a row if x is on the left */
        if (left)
            t.shape[t.rank] = 1;
        else
            t.shape[t.rank] = t.shape[t.rank - 1], t.shape[t.rank - 1] = 1;
        Tensor *column = tensor_reshape(in, b, t.shape, t.rank + 1, e);
        tensor_unref(b), b = column;
    }
    if (!left) a = swapped(in, a, e), b = swapped(in, b, e);
    x = a && b ? solve(in, a, b, e) : NULL;
    tensor_unref(a), tensor_unref(b);
    if (!left) x = swapped(in, x, e);
    if (x && is_vector) {
        t = *tensor_type(x);
        if (!left) t.shape[t.rank - 2] = t.shape[t.rank - 1];
        Tensor *flat = tensor_reshape(in, x, t.shape, t.rank - 1, e);
        tensor_unref(x), x = flat;
    }
    return give_tensor(x, out);
}
