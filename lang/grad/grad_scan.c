/* grad_scan.c: gradient rules of products, recurrences and scattering, which are not one formula.
 * The gradient of a product is the product of the other elements. Dividing the product by the
 * element fails at 0, so recurrences compute it; they are closed under differentiation.
 * SPDX-License-Identifier: MIT */
#include "lang/grad/grad_rule.h"

/* Products of the elements before each one along the last axis of x (behind: after each one). */
static Arg product_of(GradCall *g, Arg x, bool behind) {
    if (!g->ok) return x;
    TensorType t = *tensor_type(x.t), edge = t;
    int axis = t.rank - 1;
    int64_t n = t.shape[axis], along = axis;
    edge.shape[axis] = 1;
    Operand one = {.kind = IN_IMM_INT, .i = 1};
    Arg ones = keep(g, tensor_full(g->in, edge.shape, edge.rank, (DType)t.dtype, one, g->e));
    edge.shape[axis] = n - 1;
    Arg zeros = zeros_of(g, &edge);
    if (!g->ok) return x;
    /* p[0] = 1 and p[i] = x[i-1] p[i-1]; the factor of p[0] is unused */
    Arg others = keep(g, tensor_slice(g->in, x.t, axis, behind, n - 1, 1, g->e));
    if (!g->ok) return x;
    Tensor *factor[2] = {behind ? others.t : ones.t, behind ? ones.t : others.t};
    Tensor *term[2] = {behind ? zeros.t : ones.t, behind ? ones.t : zeros.t};
    Arg arg[2] = {keep(g, tensor_cat(g->in, factor, 2, axis, g->e)),
                  keep(g, tensor_cat(g->in, term, 2, axis, g->e))};
    Attr attr[2] = {attr_ints(ATTR_AXIS, &along, 1), attr_bool(ATTR_REVERSE, behind)};
    return op_with(g, OP_RECURRENCE, arg, 2, attr, 2);
}

/* The product of the other elements: those before times those after, correct with all its
 * derivatives where elements are 0. The reduced axes are moved to the end and merged. */
GRAD(prod, SAVE_A) {
    TensorType t = *in_type(g, 0);
    int64_t axes[MAX_DIMS], order[MAX_DIMS], back[MAX_DIMS], shape[MAX_DIMS], flat[MAX_DIMS];
    int n, rank = 0;
    reduced_axes(g, axes, &n);
    if (!n || type_numel(&t) == 0) {
        give(g, 0, n ? zeros_of(g, &t) : d);
        return;
    }
    for (int i = 0; i < t.rank; i++) {
        bool is_kept = true;
        for (int k = 0; k < n; k++) is_kept &= axes[k] != i;
        if (is_kept) order[rank++] = i;
    }
    int kept = rank;
    for (int k = 0; k < n; k++) order[rank++] = axes[k];
    int64_t length = 1;
    for (int i = 0; i < rank; i++) {
        back[order[i]] = i, shape[i] = t.shape[order[i]];
        if (i < kept)
            flat[i] = shape[i];
        else
            length *= shape[i];
    }
    flat[kept] = length;
    if (!g->ok) return;
    Arg x = keep(g, tensor_permute(g->in, A.t, order, rank, g->e));
    x = reshape_to(g, x, flat, kept + 1);
    Arg others = MUL(product_of(g, x, false), product_of(g, x, true));
    others = reshape_to(g, others, shape, rank);
    if (g->ok) others = keep(g, tensor_permute(g->in, others.t, back, rank, g->e));
    give(g, 0, MUL(with_kept_axes(g, d), others));
}

/* The elements along an axis shifted by one, towards the end or the start; a 0 enters. */
static Arg shifted(GradCall *g, Arg x, int axis, bool to_end) {
    TensorType t = *in_type(g, 0), one = t;
    one.shape[axis] = 1;
    if (!g->ok || t.shape[axis] == 0) return x;
    Arg rest = keep(g, tensor_slice(g->in, x.t, axis, to_end ? 0 : 1, t.shape[axis] - 1, 1, g->e));
    Arg zero = zeros_of(g, &one);
    if (!g->ok) return x;
    Tensor *part[2] = {to_end ? zero.t : rest.t, to_end ? rest.t : zero.t};
    return keep(g, tensor_cat(g->in, part, 2, axis, g->e));
}

/* y[i] = a[i] y[i-1] + b[i]. The gradient of b is s[i] = d[i] + a[i+1] s[i+1]; that of a is s[i]
 * y[i-1]. */
GRAD(recurrence, SAVE_A | FOR_A(SAVE_OUT)) {
    const Attr *axis = attr_of(g, ATTR_AXIS), *flag = attr_of(g, ATTR_REVERSE);
    bool reverse = flag && flag->b;
    Attr attr[2] = {*axis, attr_bool(ATTR_REVERSE, !reverse)};
    Arg arg[2] = {shifted(g, A, (int)axis->ints[0], reverse), d};
    Arg s = op_with(g, OP_RECURRENCE, arg, 2, attr, 2);
    if (g->need[0]) give(g, 0, MUL(s, shifted(g, Y, (int)axis->ints[0], !reverse)));
    if (g->need[1]) give(g, 1, s);
}

/* ---- scattering: operands x, idx, src, where src may be longer than idx ---- */

/* The part of src that idx selects. */
static Arg used_src(GradCall *g) {
    Arg src = C;
    const TensorType *idx = in_type(g, 1);
    for (int i = 0; g->ok && i < idx->rank; i++)
        if (tensor_type(src.t)->shape[i] != idx->shape[i])
            src = keep(g, tensor_slice(g->in, src.t, i, 0, idx->shape[i], 1, g->e));
    return src;
}

/* Gives x, the gradient of that part, as the gradient of src. */
static void give_src(GradCall *g, Arg x) {
    TensorType whole = *in_type(g, 2), part = *in_type(g, 1);
    if (!type_same_shape(&whole, &part)) {
        static const int64_t zero[MAX_DIMS], one[MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
        Attr attr[3] = {attr_ints(ATTR_START, zero, whole.rank),
                        attr_ints(ATTR_SIZE, part.shape, whole.rank),
                        attr_ints(ATTR_STEP, one, whole.rank)};
        Arg put[2] = {zeros_of(g, &whole), x};
        x = op_with(g, OP_SLICE_PUT, put, 2, attr, 3);
    }
    give(g, 2, x);
}

static Arg gathered(GradCall *g, Arg x) {
    Arg arg[2] = {x, B};
    return op_with(g, OP_GATHER, arg, 2, attr_of(g, ATTR_AXIS), 1);
}

static Arg scatter_added(GradCall *g, Arg x, Arg src) {
    Arg arg[3] = {x, B, src};
    return op_with(g, OP_SCATTER_ADD, arg, 3, attr_of(g, ATTR_AXIS), 1);
}

GRAD(scatter_add, FOR_C(SAVE_B)) {
    if (g->need[0]) give(g, 0, d);
    if (g->need[2]) give_src(g, gathered(g, d));
}

/* All elements equal to the maximum (minimum) share the gradient. */
static void scatter_extreme(GradCall *g, Arg src) {
    DType t = (DType)in_type(g, 0)->dtype;
    Arg hit_x = cast_to(g, op2(g, OP_EQ, A, Y), t);
    Arg hit = cast_to(g, op2(g, OP_EQ, src, gathered(g, Y)), t);
    Arg share = DIV(d, scatter_added(g, hit_x, hit));
    if (g->need[0]) give(g, 0, MUL(hit_x, share));
    if (g->need[2]) give_src(g, MUL(hit, gathered(g, share)));
}

/* The product of the others: p / x if no element is 0, p at the only 0, else 0. */
static void scatter_product(GradCall *g, Arg src) {
    DType t = (DType)in_type(g, 0)->dtype;
    Attr attr[2] = {*attr_of(g, ATTR_AXIS), *attr_of(g, ATTR_REDUCE)};
    Arg zero_x = op2(g, OP_EQ, A, NUM(0)), zero = op2(g, OP_EQ, src, NUM(0));
    Arg safe_x = where(g, zero_x, NUM(1), A), safe = where(g, zero, NUM(1), src);
    Arg zeros = scatter_added(g, cast_to(g, zero_x, t), cast_to(g, zero, t));
    Arg arg[3] = {safe_x, B, safe};
    Arg p = MUL(d, op_with(g, OP_SCATTER_REDUCE, arg, 3, attr, 2));
    Arg none = where(g, op2(g, OP_EQ, zeros, NUM(0)), p, NUM(0));
    Arg only = where(g, op2(g, OP_EQ, zeros, NUM(1)), p, NUM(0));
    if (g->need[0]) give(g, 0, where(g, zero_x, only, DIV(none, safe_x)));
    if (g->need[2]) give_src(g, where(g, zero, gathered(g, only), DIV(gathered(g, none), safe)));
}

GRAD(scatter_reduce, SAVE_A | SAVE_B | SAVE_C | SAVE_OUT) {
    Arg src = used_src(g);
    if (attr_of(g, ATTR_REDUCE)->str[0] == 'a')
        scatter_extreme(g, src);
    else
        scatter_product(g, src);
}
