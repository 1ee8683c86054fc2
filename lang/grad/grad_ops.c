/* grad_ops.c: one rule per word of the grad column of ops.def, and the values that each rule reads.
 * A word without a rule fails to link. grad_rule.h explains the notation; longer rules are in
 * grad_scan.c, grad_conv.c and grad_linalg.c. At ties and edges the rules follow PyTorch's
 * derivatives.yaml.
 * SPDX-License-Identifier: MIT */
#include "lang/grad/grad_rule.h"
#include <math.h>

/* ---- map ---- */

GRAD(add, SAVE_NONE) {
    if (g->need[0]) give(g, 0, d);
    if (g->need[1]) give(g, 1, d);
}

GRAD(sub, SAVE_NONE) {
    if (g->need[0]) give(g, 0, d);
    if (g->need[1]) give_minus(g, 1, d);
}

GRAD(mul, SAVE_OTHER) {
    if (g->need[0]) give(g, 0, MUL(d, B));
    if (g->need[1]) give(g, 1, MUL(d, A));
}

GRAD(div, FOR_A(SAVE_B) | FOR_B(SAVE_B | SAVE_OUT)) {
    Arg q = DIV(d, B);
    if (g->need[0]) give(g, 0, q);
    if (g->need[1]) give_minus(g, 1, MUL(q, Y));
}

GRAD(mod, FOR_B(SAVE_A | SAVE_B)) { /* a - b * floor(a / b) */
    if (g->need[0]) give(g, 0, d);
    if (g->need[1]) give_minus(g, 1, MUL(d, op2(g, OP_FLOORDIV, A, B)));
}

GRAD(fmod, FOR_B(SAVE_A | SAVE_B)) { /* a - b * trunc(a / b) */
    if (g->need[0]) give(g, 0, d);
    if (g->need[1]) give_minus(g, 1, MUL(d, op1(g, OP_TRUNC, DIV(A, B))));
}

static double number(Arg x) { return x.imm.kind == IN_IMM_FLOAT ? x.imm.f : (double)x.imm.i; }

static Arg square_of(GradCall *g, Arg x) {
    return x.t ? op1(g, OP_SQUARE, x) : NUM(number(x) * number(x));
}

GRAD(atan2, SAVE_A | SAVE_B) { /* derivative at the point (b, a); 0 at the origin, as in PyTorch */
    Arg square = ADD(square_of(g, A), square_of(g, B));
    Arg over = DIV(d, where(g, op2(g, OP_EQ, square, NUM(0)), NUM(1), square));
    if (g->need[0]) give(g, 0, MUL(over, B));
    if (g->need[1]) give_minus(g, 1, MUL(over, A));
}

GRAD(hypot, FOR_A(SAVE_A | SAVE_OUT) | FOR_B(SAVE_B | SAVE_OUT)) {
    Arg over = DIV(d, Y);
    if (g->need[0]) give(g, 0, MUL(over, A));
    if (g->need[1]) give(g, 1, MUL(over, B));
}

GRAD(logaddexp, SAVE_A | SAVE_B) {
    if (g->need[0]) give(g, 0, MUL(d, op1(g, OP_SIGMOID, SUB(A, B))));
    if (g->need[1]) give(g, 1, MUL(d, op1(g, OP_SIGMOID, SUB(B, A))));
}

GRAD(pow, FOR_A(SAVE_A | SAVE_B) | FOR_B(SAVE_A | SAVE_OUT)) {
    if (g->need[0]) {
        double n = B.t ? 0 : number(B);
        if (!B.t && n == 2)
            give(g, 0, MUL(d, MUL(A, NUM(2))));
        else if (!B.t && n == 0)
            give(g, 0, MUL(d, NUM(0)));
        else if (!B.t)
            give(g, 0, MUL(d, MUL(op2(g, OP_POW, A, NUM(n - 1)), NUM(n))));
        else
            give(g, 0,
                 where(g, op2(g, OP_EQ, B, NUM(0)), NUM(0),
                       MUL(d, MUL(B, op2(g, OP_POW, A, SUB(B, NUM(1)))))));
    }
    if (!g->need[1]) return;
    if (!A.t) { /* a number to the power of a tensor */
        double a = number(A);
        if (a == 0)
            give(g, 1, MUL(d, where(g, op2(g, OP_LE, Y, NUM(1)), NUM(0), NUM(-INFINITY))));
        else
            give(g, 1, MUL(MUL(d, Y), NUM(log(a))));
        return;
    }
    /* 0 ** b is 0 or 1 for b >= 0: its derivative is 0, not 0 * log(0). */
    Arg at_zero = op2(g, OP_AND, op2(g, OP_EQ, A, NUM(0)), op2(g, OP_LE, Y, NUM(1)));
    give(g, 1, where(g, at_zero, NUM(0), MUL(MUL(d, Y), op1(g, OP_LOG, A))));
}

/* Ties get half each. A may be a number, which needs no gradient. */
static void pick(GradCall *g, Op loses) {
    Arg even = where(g, A.t ? op2(g, OP_EQ, A, B) : op2(g, OP_EQ, B, A), MUL(d, NUM(0.5)), d);
    if (g->need[0]) give(g, 0, where(g, op2(g, loses, A, B), NUM(0), even));
    if (g->need[1]) give(g, 1, where(g, op2(g, loses, B, A), NUM(0), even));
}
GRAD(maximum, SAVE_A | SAVE_B) { pick(g, OP_LT); }
GRAD(minimum, SAVE_A | SAVE_B) { pick(g, OP_GT); }

GRAD(neg, SAVE_NONE) { give(g, 0, NEG(d)); }
GRAD(shard, SAVE_NONE) { /* the same value in another layout */
    const Attr *back = attr_of(g, ATTR_BACKWARD);
    Attr name = back ? *back : (Attr){0};
    name.key = ATTR_NAME;
    give(g, 0, back ? op_with(g, OP_SHARD, &d, 1, &name, 1) : d);
}
GRAD(abs, SAVE_A) { give(g, 0, MUL(d, op1(g, OP_SIGN, A))); }
/* zeros, not "no gradient" (NULL) */
GRAD(zero, SAVE_NONE) { give(g, 0, zeros_of(g, in_type(g, 0))); }
GRAD(square, SAVE_A) { give(g, 0, MUL(MUL(d, A), NUM(2))); }
GRAD(exp, SAVE_OUT) { give(g, 0, MUL(d, Y)); }
GRAD(expm1, SAVE_OUT) { give(g, 0, MUL(d, ADD(Y, NUM(1)))); }
GRAD(log, SAVE_A) { give(g, 0, DIV(d, A)); }
GRAD(log1p, SAVE_A) { give(g, 0, DIV(d, ADD(A, NUM(1)))); }
GRAD(sqrt, SAVE_OUT) { give(g, 0, DIV(MUL(d, NUM(0.5)), Y)); }
GRAD(rsqrt, SAVE_OUT) { give(g, 0, MUL(MUL(d, NUM(-0.5)), MUL(Y, op1(g, OP_SQUARE, Y)))); }
GRAD(sin, SAVE_A) { give(g, 0, MUL(d, op1(g, OP_COS, A))); }
GRAD(cos, SAVE_A) { give(g, 0, NEG(MUL(d, op1(g, OP_SIN, A)))); }
static Arg one_plus(GradCall *g, Arg x) { return ADD(x, NUM(1)); }
static Arg one_minus(GradCall *g, Arg x) { return SUB(NUM(1), x); }
GRAD(tan, SAVE_OUT) { give(g, 0, MUL(d, one_plus(g, square_of(g, Y)))); }
GRAD(asin, SAVE_A) { give(g, 0, MUL(d, op1(g, OP_RSQRT, one_minus(g, square_of(g, A))))); }
GRAD(acos, SAVE_A) { give(g, 0, NEG(MUL(d, op1(g, OP_RSQRT, one_minus(g, square_of(g, A)))))); }
GRAD(atan, SAVE_A) { give(g, 0, DIV(d, one_plus(g, square_of(g, A)))); }
GRAD(sinh, SAVE_A) { give(g, 0, MUL(d, op1(g, OP_COSH, A))); }
GRAD(cosh, SAVE_A) { give(g, 0, MUL(d, op1(g, OP_SINH, A))); }
GRAD(asinh, SAVE_A) { give(g, 0, MUL(d, op1(g, OP_RSQRT, one_plus(g, square_of(g, A))))); }
GRAD(acosh, SAVE_A) { give(g, 0, MUL(d, op1(g, OP_RSQRT, SUB(square_of(g, A), NUM(1))))); }
GRAD(atanh, SAVE_A) { give(g, 0, DIV(d, one_minus(g, square_of(g, A)))); }
GRAD(log2, SAVE_A) { give(g, 0, DIV(d, MUL(A, NUM(M_LN2)))); }
GRAD(log10, SAVE_A) { give(g, 0, DIV(d, MUL(A, NUM(M_LN10)))); }
GRAD(exp2, SAVE_OUT) { give(g, 0, MUL(d, MUL(Y, NUM(M_LN2)))); }
GRAD(tanh, SAVE_OUT) { give(g, 0, MUL(d, SUB(NUM(1), op1(g, OP_SQUARE, Y)))); }
GRAD(erf, SAVE_A) { /* 2 / sqrt(pi) * exp(-a^2) */
    give(g, 0, MUL(d, MUL(op1(g, OP_EXP, NEG(op1(g, OP_SQUARE, A))), NUM(M_2_SQRTPI))));
}
GRAD(lgamma, SAVE_A) { give(g, 0, MUL(d, op1(g, OP_DIGAMMA, A))); }
GRAD(digamma, SAVE_A) { give(g, 0, MUL(d, op2(g, OP_POLYGAMMA, NUM(1), A))); }
GRAD(polygamma, FOR_B(SAVE_A | SAVE_B)) {
    if (!g->need[1]) return;
    Arg next = A.t ? ADD(A, NUM(1)) : NUM(number(A) + 1);
    give(g, 1, MUL(d, op2(g, OP_POLYGAMMA, next, B)));
}
GRAD(sigmoid, SAVE_OUT) { give(g, 0, MUL(d, MUL(Y, SUB(NUM(1), Y)))); }
GRAD(softplus, SAVE_A) { give(g, 0, MUL(d, op1(g, OP_SIGMOID, A))); }
GRAD(relu, SAVE_OUT) { give(g, 0, where(g, op2(g, OP_LE, Y, NUM(0)), NUM(0), d)); }
GRAD(gelu, SAVE_A) { give(g, 0, MUL(d, op1(g, OP_GELU_DX, A))); }
GRAD(gelu_dx, SAVE_A) { /* derivative of Phi(a) + a * phi(a): phi(a) * (2 - a^2) */
    Arg sq = op1(g, OP_SQUARE, A);
    Arg density = MUL(op1(g, OP_EXP, MUL(sq, NUM(-0.5))), NUM(0.5 * M_2_SQRTPI * M_SQRT1_2));
    give(g, 0, MUL(d, MUL(density, SUB(NUM(2), sq))));
}
GRAD(silu, SAVE_A | SAVE_OUT) { /* s + y * (1 - s) */
    Arg s = op1(g, OP_SIGMOID, A);
    give(g, 0, MUL(d, ADD(s, MUL(Y, SUB(NUM(1), s)))));
}
GRAD(where, SAVE_A) {
    if (g->need[1]) give(g, 1, where(g, A, d, NUM(0)));
    if (g->need[2]) give(g, 2, where(g, A, NUM(0), d));
}

/* ---- reduce ---- */

GRAD(sum, SAVE_NONE) { give(g, 0, expand_to(g, with_kept_axes(g, d), in_type(g, 0))); }

/* The whole gradient goes to the first extreme along the axis (to the first nan). Its place comes
 * from a comparison and a minimum of whole numbers: of rows that are split along the axis only one
 * number each moves. */
static void give_to_first(GradCall *g, int axis) {
    TensorType t = *in_type(g, 0);
    int64_t n = t.shape[axis];
    for (int i = 0; i < t.rank; i++)
        if (i != axis) t.shape[i] = 1;
    if (!g->ok) return;
    Arg place = keep(
        g, tensor_arange(g->in, arg_int(0), arg_int(1), n, n > INT32_MAX ? DT_I64 : DT_I32, g->e));
    place = reshape_to(g, place, t.shape, t.rank);
    Arg hit = op2(g, OP_OR, op2(g, OP_EQ, A, with_kept_axes(g, Y)), op2(g, OP_NE, A, A));
    int64_t along = axis;
    Arg first = reduce(g, OP_MIN, where(g, hit, place, arg_int(n)), &along, 1, true);
    give(g, 0, where(g, op2(g, OP_EQ, place, first), with_kept_axes(g, d), NUM(0)));
}

GRAD(max, SAVE_A | SAVE_OUT) { /* max and min: ties share, unless the node says `first` */
    int64_t axes[MAX_DIMS];
    int n;
    reduced_axes(g, axes, &n);
    if (!n) {
        give(g, 0, d);
        return;
    }
    if (g->n->first) {
        give_to_first(g, (int)axes[0]);
        return;
    }
    Arg hit = cast_to(g, op2(g, OP_EQ, A, with_kept_axes(g, Y)), in_type(g, 0)->dtype);
    Arg count = reduce(g, OP_SUM, hit, axes, n, true);
    give(g, 0, MUL(hit, DIV(with_kept_axes(g, d), count)));
}

/* ---- view ---- */

GRAD(reshape, SAVE_NONE) {
    give(g, 0, reshape_to(g, d, in_type(g, 0)->shape, in_type(g, 0)->rank));
}
GRAD(expand, SAVE_NONE) { give(g, 0, d); }

GRAD(permute, SAVE_NONE) {
    const Attr *axes = attr_of(g, ATTR_AXES);
    int64_t back[MAX_DIMS];
    for (uint32_t i = 0; i < axes->n; i++) back[axes->ints[i]] = i;
    if (g->ok) give(g, 0, keep(g, tensor_permute(g->in, d.t, back, (int)axes->n, g->e)));
}

static void slice_attrs(const GradCall *g, Attr attr[3]) {
    attr[0] = *attr_of(g, ATTR_START), attr[1] = *attr_of(g, ATTR_SIZE),
    attr[2] = *attr_of(g, ATTR_STEP);
}

GRAD(slice, SAVE_NONE) {
    Attr attr[3];
    slice_attrs(g, attr);
    Arg arg[2] = {zeros_of(g, in_type(g, 0)), d};
    give(g, 0, op_with(g, OP_SLICE_PUT, arg, 2, attr, 3));
}

/* ---- kernel ---- */

GRAD(cast, SAVE_NONE) {
    if (dtype_is_float(in_type(g, 0)->dtype)) give(g, 0, cast_to(g, d, in_type(g, 0)->dtype));
}

/* Leading axes merged into rows: (..., M, K) to (... * M, K). */
static Arg as_rows(GradCall *g, Arg x) {
    if (!g->ok) return x;
    const TensorType *t = tensor_type(x.t);
    int64_t columns = t->shape[t->rank - 1], rows = 1;
    for (int i = 0; i < t->rank - 1; i++) rows *= t->shape[i];
    return reshape_to(g, x, (int64_t[2]){rows, columns}, 2);
}

/* True if operand i is a transposed view (x @ w.T). Its gradient is then computed transposed, so
 * that the gradient of w is row-major. */
static bool is_transposed(const GradCall *g, int i) {
    const GradNode *made = g->n->in[i].node;
    return made && made->op == OP_PERMUTE && in_type(g, i)->rank == 2;
}

GRAD(matmul, SAVE_OTHER) {                 /* y (.., M, N) = a (.., M, K) @ b (.., K, N) */
    DType t = (DType)in_type(g, 0)->dtype; /* d may be wider than the operands */
    if (g->need[0]) give(g, 0, cast_to(g, op2(g, OP_MATMUL, d, transposed(g, B)), t));
    if (!g->need[1]) return;
    /* One matrix for the whole batch: one product over all rows needs no sum over the batch. */
    bool rows = in_type(g, 1)->rank == 2 && in_type(g, 0)->rank > 2;
    Arg a = rows ? as_rows(g, A) : A, dy = rows ? as_rows(g, d) : d;
    if (is_transposed(g, 1))
        give(g, 1, cast_to(g, transposed(g, op2(g, OP_MATMUL, transposed(g, dy), a)), t));
    else
        give(g, 1, cast_to(g, op2(g, OP_MATMUL, transposed(g, a), dy), t));
}

GRAD(cat, SAVE_NONE) {
    int axis = (int)attr_of(g, ATTR_AXIS)->ints[0];
    int64_t start = 0;
    for (int i = 0; g->ok && i < g->n->n_in; i++) {
        int64_t size = in_type(g, i)->shape[axis];
        if (g->need[i])
            g->ok = (g->din[i] = tensor_slice(g->in, d.t, axis, start, size, 1, g->e)) != NULL;
        start += size;
    }
}

static Arg zero_like_d(GradCall *g) {
    Operand zero = {.kind = IN_IMM_INT};
    return g->ok ? keep(g, tensor_full(g->in, NULL, 0, tensor_type(d.t)->dtype, zero, g->e)) : d;
}

GRAD(slice_put, SAVE_NONE) {
    Attr attr[3];
    slice_attrs(g, attr);
    if (g->need[0]) {
        Arg arg[2] = {d, zero_like_d(g)};
        give(g, 0, op_with(g, OP_SLICE_PUT, arg, 2, attr, 3));
    }
    if (g->need[1]) give(g, 1, op_with(g, OP_SLICE, &d, 1, attr, 3));
}

/* Emits op with arg[0..k-1] followed by the index operands, first .. n_in-1 of the call. */
static Arg with_indices(GradCall *g, Op op, const Arg *arg, int k, int first, bool accumulate) {
    Arg all[MAX_DIMS + 2];
    Attr attr[2] = {*attr_of(g, ATTR_AXIS), attr_bool(ATTR_ACCUMULATE, true)};
    int n = k;
    for (int i = 0; i < k; i++) all[i] = arg[i];
    for (int i = first; i < g->n->n_in; i++) all[n++] = g->value[i];
    return op_with(g, op, all, n, attr, accumulate ? 2 : 1);
}

GRAD(index, SAVE_B | SAVE_C | SAVE_REST) {
    Arg arg[2] = {zeros_of(g, in_type(g, 0)), d};
    give(g, 0, with_indices(g, OP_INDEX_PUT, arg, 2, 1, true));
}

GRAD(index_put, SAVE_C | SAVE_REST) {
    const Attr *accumulate = attr_of(g, ATTR_ACCUMULATE);
    if (g->need[0] && accumulate && accumulate->b)
        give(g, 0, d);
    else if (g->need[0]) {
        Arg arg[2] = {d, zero_like_d(g)};
        give(g, 0, with_indices(g, OP_INDEX_PUT, arg, 2, 2, false));
    }
    if (g->need[1]) give(g, 1, with_indices(g, OP_INDEX, &d, 1, 2, false));
}

/* Gives d, added up at places along the axis. */
static void give_at(GradCall *g, Arg places) {
    Arg arg[3] = {zeros_of(g, in_type(g, 0)), places, d};
    give(g, 0, op_with(g, OP_SCATTER_ADD, arg, 3, attr_of(g, ATTR_AXIS), 1));
}

GRAD(gather, SAVE_B) { give_at(g, B); }
GRAD(topk, SAVE_OUT1) { give_at(g, g->out[1]); }
GRAD(sort, SAVE_A) { give_at(g, op_with(g, OP_ARGSORT, &A, 1, g->n->attr, g->n->n_attr)); }

GRAD(cumsum, SAVE_NONE) { /* the sum of d from i on: total - cumsum + d */
    const Attr *axis = attr_of(g, ATTR_AXIS);
    Arg total = reduce(g, OP_SUM, d, axis->ints, 1, true);
    give(g, 0, ADD(SUB(total, op_with(g, OP_CUMSUM, &d, 1, axis, 1)), d));
}

/* ---- the table ---- */

const GradRule grad_none = {NULL, SAVE_NONE};
const GradRule *const grad_rule[OP_COUNT] = {
#define OP(id, name, class_, arity, in, out, shape, grad, ...) [OP_##id] = &grad_##grad,
#include "runtime/inst/ops.def"
};

/* Adjusts a rule's set of saved values by attributes. */
unsigned grad_saves(Op op, const Attr *attr, int n_attr) {
    unsigned saves = grad_rule[op]->saves;
    for (int i = 0; i < n_attr; i++) {
        if (attr[i].key == ATTR_ACCUMULATE && attr[i].b) return FOR_B(saves);
        if (attr[i].key == ATTR_REDUCE && attr[i].str[0] == 'p') return saves & ~SAVE_OUT;
    }
    return saves;
}
