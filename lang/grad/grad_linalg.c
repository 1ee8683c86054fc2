/* grad_linalg.c: gradient rules of factorizations and of equations: matrix products and triangular
 * equations again, so that second derivatives follow. Sources: Giles, "An extended collection of
 * matrix derivative results" (2008); Murray, "Differentiation of the Cholesky decomposition"
 * (2016).
 * SPDX-License-Identifier: MIT */
#include "lang/grad/grad_rule.h"

/* row OP column, for the last two axes of x. */
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

/* a^-1 @ b of a triangle. */
static Arg triangle_solve(GradCall *g, Arg a, Arg b, bool upper, bool unit) {
    Arg arg[2] = {a, b};
    Attr attr[2] = {attr_bool(ATTR_UPPER, upper), attr_bool(ATTR_UNIT, unit)};
    return op_with(g, OP_SOLVE_TRIANGULAR, arg, 2, attr, 2);
}

static bool flag_of(const GradCall *g, AttrKey key) {
    const Attr *a = attr_of(g, key);
    return a && a->b;
}

/* With P the lower triangle of L.T @ d, its diagonal halved: the symmetric part of
 * L^-T @ P @ L^-1. */
void grad_cholesky(GradCall *g) {
    Arg lt = transposed(g, Y), p = op2(g, OP_MATMUL, lt, d);
    p = where(g, places(g, OP_EQ, p), MUL(p, NUM(0.5)), part_where(g, OP_GT, p));
    Arg left = triangle_solve(g, lt, p, true, false);
    Arg both = triangle_solve(g, lt, transposed(g, left), true, false);
    give(g, 0, MUL(ADD(both, transposed(g, both)), NUM(0.5)));
}

/* Rows perm of the gradient are L^-T @ (strict lower part of L.T @ d + upper part of d @ U.T) @
 * U^-T. */
void grad_lu(GradCall *g) {
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

void grad_solve(GradCall *g) { /* a @ x = b: db = a^-T @ d, da = -db @ x.T */
    bool back = flag_of(g, ATTR_TRANSPOSED);
    Arg arg[4] = {A, d, C, g->value[3]};
    Attr other = attr_bool(ATTR_TRANSPOSED, !back);
    Arg db = op_with(g, OP_SOLVE, arg, 4, &other, 1);
    if (g->need[1]) give(g, 1, db);
    if (g->need[0] && back) give_minus(g, 0, op2(g, OP_MATMUL, Y, transposed(g, db)));
    if (g->need[0] && !back) give_minus(g, 0, op2(g, OP_MATMUL, db, transposed(g, Y)));
}

void grad_solve_triangular(GradCall *g) { /* likewise, within the triangle */
    bool upper = flag_of(g, ATTR_UPPER), unit = flag_of(g, ATTR_UNIT);
    Arg db = triangle_solve(g, transposed(g, A), d, !upper, unit);
    if (g->need[1]) give(g, 1, db);
    if (!g->need[0]) return;
    Arg da = sum_to(g, op2(g, OP_MATMUL, db, transposed(g, Y)), in_type(g, 0));
    Op within = upper ? unit ? OP_LT : OP_LE : unit ? OP_GT : OP_GE;
    give_minus(g, 0, part_where(g, within, da));
}
