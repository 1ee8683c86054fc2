/* grad_linalg.c: gradient rules of factorizations and linear systems. They consist of matrix
 * products and triangular solves, so second derivatives follow. Sources: Giles, "An extended
 * collection of matrix derivative results" (2008); Murray, "Differentiation of the Cholesky
 * decomposition" (2016).
 * SPDX-License-Identifier: MIT */
#include "lang/grad/grad_rule.h"

/* A mask (row OP column) over the last two axes of x. */
static Arg places(GradCall *g, Op op, Arg x) {
    if (!g->ok) return x;
    const TensorType *t = tensor_type(x.t);
    int64_t rows = t->shape[t->rank - 2], columns = t->shape[t->rank - 1];
    Arg row = keep(g, tensor_arange(g->in, arg_int(0), arg_int(1), rows, DT_I64, g->e));
    row = reshape_to(g, row, (int64_t[2]){rows, 1}, 2);
    if (!g->ok) return x;
    Arg column = keep(g, tensor_arange(g->in, arg_int(0), arg_int(1), columns, DT_I64, g->e));
    return op2(g, op, row, column);
}
/* x where row OP column, else 0. */
static Arg part_where(GradCall *g, Op op, Arg x) { return where(g, places(g, op, x), x, NUM(0)); }

/* a^-1 @ b for a triangular a. */
static Arg triangle_solve(GradCall *g, Arg a, Arg b, bool upper, bool unit) {
    Arg arg[2] = {a, b};
    Attr attr[2] = {attr_bool(ATTR_UPPER, upper), attr_bool(ATTR_UNIT, unit)};
    return op_with(g, OP_SOLVE_TRIANGULAR, arg, 2, attr, 2);
}

static bool flag_of(const GradCall *g, AttrKey key) {
    const Attr *a = attr_of(g, key);
    return a && a->b;
}

/* The gradient is the symmetric part of L^-T @ P @ L^-1. P is the lower triangle of L.T @ d with
 * its diagonal halved. */
GRAD(cholesky, SAVE_OUT) {
    Arg lt = transposed(g, Y), p = op2(g, OP_MATMUL, lt, d);
    p = where(g, places(g, OP_EQ, p), MUL(p, NUM(0.5)), part_where(g, OP_GT, p));
    Arg left = triangle_solve(g, lt, p, true, false);
    Arg both = triangle_solve(g, lt, transposed(g, left), true, false);
    give(g, 0, MUL(ADD(both, transposed(g, both)), NUM(0.5)));
}

/* da[perm] = L^-T @ (strict lower part of L.T @ d + upper part of d @ U.T) @ U^-T. */
GRAD(lu, SAVE_OUT | SAVE_OUT1) {
    Arg below = part_where(g, OP_GT, Y), u = SUB(Y, below);
    Arg l = where(g, places(g, OP_EQ, Y), NUM(1), below);
    Arg q = ADD(part_where(g, OP_GT, op2(g, OP_MATMUL, transposed(g, l), d)),
                part_where(g, OP_LE, op2(g, OP_MATMUL, d, transposed(g, u))));
    Arg left = triangle_solve(g, transposed(g, Y), q, true, true);
    Arg rows = transposed(g, triangle_solve(g, Y, transposed(g, left), true, false));
    if (!g->ok) return;
    TensorType t = *in_type(g, 0);
    int64_t axis = t.rank - 2, last = t.rank - 1, n = t.shape[axis];
    Attr along = attr_ints(ATTR_AXIS, &axis, 1);
    Arg back = op_with(g, OP_ARGSORT, &g->out[1], 1, &along, 1);
    t.shape[last] = 1;
    back = reshape_to(g, back, t.shape, t.rank);
    t.shape[last] = n;
    Arg arg[2] = {rows, expand_to(g, back, &t)};
    give(g, 0, op_with(g, OP_GATHER, arg, 2, &along, 1));
}

GRAD(solve,
     SAVE_A | SAVE_C | SAVE_REST | FOR_A(SAVE_OUT)) { /* a @ x = b: db = a^-T @ d, da = -db @ x.T */
    bool back = flag_of(g, ATTR_TRANSPOSED);
    Arg arg[4] = {A, d, C, g->value[3]};
    Attr other = attr_bool(ATTR_TRANSPOSED, !back);
    Arg db = op_with(g, OP_SOLVE, arg, 4, &other, 1);
    if (g->need[1]) give(g, 1, db);
    if (g->need[0] && back) give_minus(g, 0, op2(g, OP_MATMUL, Y, transposed(g, db)));
    if (g->need[0] && !back) give_minus(g, 0, op2(g, OP_MATMUL, db, transposed(g, Y)));
}

GRAD(solve_triangular, SAVE_A | FOR_A(SAVE_OUT)) { /* the same, restricted to the triangle */
    bool upper = flag_of(g, ATTR_UPPER), unit = flag_of(g, ATTR_UNIT);
    Arg db = triangle_solve(g, transposed(g, A), d, !upper, unit);
    if (g->need[1]) give(g, 1, db);
    if (!g->need[0]) return;
    Arg da = sum_to(g, op2(g, OP_MATMUL, db, transposed(g, Y)), in_type(g, 0));
    Op within = upper ? unit ? OP_LT : OP_LE : unit ? OP_GT : OP_GE;
    give_minus(g, 0, part_where(g, within, da));
}

/* ---- packed results: several parts, stacked by rows ---- */

/* n rows of x, starting at row `first`. */
static Arg rows_of(GradCall *g, Arg x, int64_t first, int64_t n) {
    if (!g->ok) return x;
    const TensorType *t = tensor_type(x.t);
    int64_t start[MAX_DIMS] = {0}, size[MAX_DIMS], step[MAX_DIMS];
    for (int i = 0; i < t->rank; i++) size[i] = t->shape[i], step[i] = 1;
    start[t->rank - 2] = first, size[t->rank - 2] = n;
    Attr attr[3] = {attr_ints(ATTR_START, start, t->rank), attr_ints(ATTR_SIZE, size, t->rank),
                    attr_ints(ATTR_STEP, step, t->rank)};
    return op_with(g, OP_SLICE, &x, 1, attr, 3);
}

static Arg product(GradCall *g, Arg a, Arg b) { return op2(g, OP_MATMUL, a, b); }

/* a / b, but 0 where a is 0. So equal eigenvalues do no harm if the loss does not use their
 * vectors. */
static Arg quotient(GradCall *g, Arg a, Arg b) {
    Arg none = op2(g, OP_EQ, a, NUM(0));
    return where(g, none, NUM(0), DIV(a, where(g, none, NUM(1), b)));
}

/* With M = R @ dR.T - dQ.T @ Q: da = (dQ + Q @ (lower part of M and its mirror image)) @ R^-T. */
GRAD(qr, SAVE_OUT) {
    const TensorType *t = in_type(g, 0);
    int64_t m = t->shape[t->rank - 2], n = t->shape[t->rank - 1];
    Arg q = rows_of(g, Y, 0, m), r = transposed(g, rows_of(g, Y, m, n)), dq = rows_of(g, d, 0, m);
    Arg both = SUB(product(g, r, rows_of(g, d, m, n)), product(g, transposed(g, dq), q));
    Arg mirror = ADD(part_where(g, OP_GE, both), transposed(g, part_where(g, OP_GT, both)));
    Arg left = ADD(dq, product(g, q, mirror));
    give(g, 0, transposed(g, triangle_solve(g, r, transposed(g, left), true, false)));
}

/* da is the symmetric part of V @ M @ V.T. M has dw on its diagonal, and (V.T @ dV) / (w_j - w_i)
 * elsewhere. */
GRAD(eigh, SAVE_OUT) {
    const TensorType *t = in_type(g, 0);
    int64_t n = t->shape[t->rank - 1];
    Arg w = rows_of(g, Y, 0, 1), v = rows_of(g, Y, 1, n), vt = transposed(g, v);
    Arg turn = part_where(g, OP_NE, product(g, vt, rows_of(g, d, 1, n)));
    Arg gap = SUB(w, transposed(g, w)), diagonal = places(g, OP_EQ, turn);
    Arg inner = where(g, diagonal, rows_of(g, d, 0, 1), quotient(g, turn, gap));
    Arg a = product(g, product(g, v, inner), vt);
    give(g, 0, MUL(ADD(a, transposed(g, a)), NUM(0.5)));
}

/* x - x.T */
static Arg skew(GradCall *g, Arg x) { return SUB(x, transposed(g, x)); }

/* With E = s_j^2 - s_i^2: inner = skew(U.T @ dU) / E * s_j + s_i * skew(V.T @ dV) / E + diag(dS).
 * da = U @ inner @ V.T. If m > n, add ((dU - U @ U.T @ dU) / s) @ V.T. If n > m, add
 * U @ ((dV - V @ V.T @ dV) / s).T. */
GRAD(svd, SAVE_OUT) {
    const TensorType *t = in_type(g, 0);
    int64_t m = t->shape[t->rank - 2], n = t->shape[t->rank - 1], k = m < n ? m : n;
    Arg u = rows_of(g, Y, 0, m), s = rows_of(g, Y, m, 1), v = rows_of(g, Y, m + 1, n);
    Arg du = rows_of(g, d, 0, m), dv = rows_of(g, d, m + 1, n), st = transposed(g, s);
    Arg utdu = product(g, transposed(g, u), du), vtdv = product(g, transposed(g, v), dv);
    Arg sq = op1(g, OP_SQUARE, s), gap = SUB(sq, transposed(g, sq));
    Arg inner =
        ADD(MUL(quotient(g, skew(g, utdu), gap), s), MUL(st, quotient(g, skew(g, vtdv), gap)));
    inner = where(g, places(g, OP_EQ, inner), rows_of(g, d, m, 1), inner);
    Arg left = product(g, u, inner), vt = transposed(g, v);
    if (m > k) left = ADD(left, quotient(g, SUB(du, product(g, u, utdu)), s));
    Arg a = product(g, left, vt);
    if (n > k) {
        Arg rest = quotient(g, SUB(dv, product(g, v, vtdv)), s);
        a = ADD(a, product(g, u, transposed(g, rest)));
    }
    give(g, 0, a);
}
