/* grad_rule.h: the notation of gradient rules. A rule reads like a formula: small functions on Args
 * (a tensor or a number) emit one op each. The call owns their results and frees them; after a
 * failure they do nothing. d is the gradient of the result, A B C are the operands, Y is the
 * result. give() passes on the gradient of one operand, summed over its broadcast axes. GRAD(word,
 * reads) { ... } is the rule of a word; reads: the values that it needs saved. Included by files of
 * rules (grad_*.c) only: the macros have short names.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_GRAD_GRAD_RULE_H
#define GT_LANG_GRAD_GRAD_RULE_H
#include "lang/tensor/autograd.h"
#include <assert.h>

/* ---- functions on Args ---- */

static inline Arg keep(GradCall *g, Tensor *t) {
    if (!t) return g->ok = false, (Arg){0};
    assert(g->n_temp < (int)(sizeof g->temp / sizeof g->temp[0]));
    g->temp[g->n_temp++] = t;
    return arg_tensor(t);
}

static inline Arg op1(GradCall *g, Op op, Arg a) {
    return g->ok ? keep(g, tensor_op1(g->in, op, a, g->e)) : a;
}
static inline Arg op2(GradCall *g, Op op, Arg a, Arg b) {
    return g->ok ? keep(g, tensor_op2(g->in, op, a, b, g->e)) : a;
}
static inline Arg where(GradCall *g, Arg c, Arg a, Arg b) {
    Arg arg[3] = {c, a, b};
    Tensor *out = NULL;
    if (!g->ok) return a;
    return keep(g, tensor_op(g->in, OP_WHERE, arg, 3, NULL, 0, &out, g->e) ? out : NULL);
}

#define A         (g->value[0])
#define B         (g->value[1])
#define C         (g->value[2])
#define Y         (g->out[0])
#define d         (g->dout)
#define NUM(x)    arg_float(x)
#define ADD(x, y) op2(g, OP_ADD, x, y)
#define SUB(x, y) op2(g, OP_SUB, x, y)
#define MUL(x, y) op2(g, OP_MUL, x, y)
#define DIV(x, y) op2(g, OP_DIV, x, y)
#define NEG(x)    op1(g, OP_NEG, x)

static inline const TensorType *in_type(const GradCall *g, int i) { return &g->n->in[i].type; }

static inline Arg reshape_to(GradCall *g, Arg x, const int64_t *shape, int rank) {
    return g->ok ? keep(g, tensor_reshape(g->in, x.t, shape, rank, g->e)) : x;
}

static inline Arg expand_to(GradCall *g, Arg x, const TensorType *t) {
    return g->ok ? keep(g, tensor_expand(g->in, x.t, t->shape, t->rank, g->e)) : x;
}

static inline Arg reduce(GradCall *g, Op op, Arg x, const int64_t *axes, int n, bool keepdims) {
    return g->ok ? keep(g, tensor_reduce(g->in, op, x.t, axes, n, keepdims, g->e)) : x;
}

static inline Arg cast_to(GradCall *g, Arg x, DType t) {
    return g->ok ? keep(g, tensor_cast(g->in, x.t, t, g->e)) : x;
}

static inline Arg zeros_of(GradCall *g, const TensorType *t) {
    Operand zero = {.kind = IN_IMM_INT};
    return g->ok ? keep(g, tensor_full(g->in, t->shape, t->rank, t->dtype, zero, g->e))
                 : arg_int(0);
}

/* Undoes broadcasting: sums over axes that t lacks or has with size 1. */
static inline Arg sum_to(GradCall *g, Arg x, const TensorType *t) {
    if (!g->ok) return x;
    TensorType from = *tensor_type(x.t);
    int64_t axes[MAX_DIMS];
    int n = 0, lead = from.rank - t->rank;
    for (int i = 0; i < from.rank; i++)
        if (i < lead || (t->shape[i - lead] == 1 && from.shape[i] != 1)) axes[n++] = i;
    if (n) x = reduce(g, OP_SUM, x, axes, n, false);
    return reshape_to(g, x, t->shape, t->rank);
}

static inline void give(GradCall *g, int i, Arg x) {
    x = sum_to(g, x, in_type(g, i));
    if (g->ok) g->din[i] = tensor_ref(x.t);
}

/* Gives -x, where x may be larger than the operand: x is summed first. */
static inline void give_minus(GradCall *g, int i, Arg x) {
    x = NEG(sum_to(g, x, in_type(g, i)));
    if (g->ok) g->din[i] = tensor_ref(x.t);
}

static inline Arg op_with(GradCall *g, Op op, const Arg *arg, int n, const Attr *attr, int n_attr) {
    Tensor *out[MAX_OUT] = {0};
    if (!g->ok) return arg[0];
    g->ok = tensor_op(g->in, op, arg, n, attr, n_attr, out, g->e);
    for (int i = 1; i < MAX_OUT; i++) tensor_unref(out[i]);
    return g->ok ? keep(g, out[0]) : arg[0];
}

static inline Arg transposed(GradCall *g, Arg x) {
    return g->ok ? keep(g, tensor_transpose(g->in, x.t, tensor_type(x.t)->rank - 2,
                                            tensor_type(x.t)->rank - 1, g->e))
                 : x;
}

static inline const Attr *attr_of(const GradCall *g, AttrKey key) {
    for (int i = 0; i < g->n->n_attr; i++)
        if (g->n->attr[i].key == key) return &g->n->attr[i];
    return NULL;
}

/* Reshapes x from the reduced shape to the operand's rank, with size 1 on reduced axes. */
static inline Arg with_kept_axes(GradCall *g, Arg x) {
    TensorType t = *in_type(g, 0);
    const Attr *axis = attr_of(g, ATTR_AXIS);
    if (!axis)
        for (int i = 0; i < t.rank; i++) t.shape[i] = 1;
    else
        for (uint32_t i = 0; i < axis->n; i++) t.shape[axis->ints[i]] = 1;
    return reshape_to(g, x, t.shape, t.rank);
}

static inline void reduced_axes(const GradCall *g, int64_t *axes, int *n) {
    const Attr *axis = attr_of(g, ATTR_AXIS);
    *n = axis ? (int)axis->n : in_type(g, 0)->rank;
    for (int i = 0; i < *n; i++) axes[i] = axis ? axis->ints[i] : i;
}

/* ---- rules, and the values that they read ---- */

#define OP(id, name, class_, arity, in, out, shape, grad, ...) extern const GradRule grad_##grad;
#include "runtime/inst/ops.def"
/* GRAD(word, SAVE_xxx) { give(g, 0, ...); } */
#define GRAD(name, reads)                                                                          \
    static void run_##name(GradCall *g);                                                           \
    const GradRule grad_##name = {run_##name, reads};                                              \
    static void run_##name(GradCall *g)
#endif
