/* grad_conv.c: gradient rules of convolutions and poolings. Each gradient is another row of the
 * same family, with the same attributes and the shape of the operand that it is the gradient of, so
 * second derivatives follow. See grad_rule.h for the notation.
 * SPDX-License-Identifier: MIT */
#include "lang/grad/grad_rule.h"

/* Copies the call's attributes except SHAPE and DTYPE, and adds shape unless it is NULL. */
static int window_attrs(const GradCall *g, const TensorType *shape, Attr *attr) {
    int n = 0;
    for (int i = 0; i < g->n->n_attr; i++)
        if (g->n->attr[i].key != ATTR_SHAPE && g->n->attr[i].key != ATTR_DTYPE)
            attr[n++] = g->n->attr[i];
    if (shape) attr[n++] = attr_ints(ATTR_SHAPE, shape->shape, shape->rank);
    return n;
}
static Arg with_window(GradCall *g, Op op, Arg a, Arg b, const TensorType *shape) {
    Attr attr[MAX_ATTRS];
    Arg arg[2] = {a, b};
    return op_with(g, op, arg, op_info[op].arity, attr, window_attrs(g, shape, attr));
}
/* x cast to the operands' dtype; the result's may be wider. */
static Arg narrowed(GradCall *g, Arg x) { return cast_to(g, x, (DType)in_type(g, 0)->dtype); }

GRAD(conv, SAVE_OTHER) { /* operands x, w */
    if (g->need[0]) give(g, 0, narrowed(g, with_window(g, OP_CONV_DX, d, B, in_type(g, 0))));
    if (g->need[1]) give(g, 1, narrowed(g, with_window(g, OP_CONV_DW, A, d, in_type(g, 1))));
}
GRAD(conv_dx, SAVE_OTHER) { /* operands dy, w */
    if (g->need[0]) give(g, 0, narrowed(g, with_window(g, OP_CONV, d, B, NULL)));
    if (g->need[1]) give(g, 1, narrowed(g, with_window(g, OP_CONV_DW, d, A, in_type(g, 1))));
}
GRAD(conv_dw, SAVE_OTHER) { /* operands x, dy */
    if (g->need[0]) give(g, 0, narrowed(g, with_window(g, OP_CONV_DX, B, d, in_type(g, 0))));
    if (g->need[1]) give(g, 1, narrowed(g, with_window(g, OP_CONV, A, d, NULL)));
}

/* The n spatial axes merged into one. */
static Arg as_planes(GradCall *g, Arg x, int n) {
    if (!g->ok) return x;
    TensorType t = *tensor_type(x.t);
    int lead = t.rank - n;
    for (int i = lead + 1; i < t.rank; i++) t.shape[lead] *= t.shape[i];
    return reshape_to(g, x, t.shape, lead + 1);
}
GRAD(max_pool, SAVE_OUT1) {
    int n = (int)attr_of(g, ATTR_KERNEL)->n;
    const TensorType *t = in_type(g, 0);
    int64_t axis = t->rank - n;
    Arg arg[3] = {as_planes(g, zeros_of(g, t), n), as_planes(g, g->out[1], n), as_planes(g, d, n)};
    Attr attr = attr_ints(ATTR_AXIS, &axis, 1);
    give(g, 0, reshape_to(g, op_with(g, OP_SCATTER_ADD, arg, 3, &attr, 1), t->shape, t->rank));
}
GRAD(avg_pool, SAVE_NONE) { give(g, 0, with_window(g, OP_AVG_POOL_DX, d, d, in_type(g, 0))); }
GRAD(avg_pool_dx, SAVE_NONE) { give(g, 0, with_window(g, OP_AVG_POOL, d, d, NULL)); }
