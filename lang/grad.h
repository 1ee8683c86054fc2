/* grad.h: reverse-mode automatic differentiation (DESIGN 4). Nodes hang off tensors: a GradNode names the op, its operands'
 * handles and parents, and goes when its tensor goes. Rules (grad_ops.c) are written with tensor_op, so they emit ordinary
 * instructions, and with create_graph they are recorded themselves: second derivatives come for free.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_GRAD_H
#define GT_LANG_GRAD_H
#include "lang/tensor.h"

struct GradNode {
    uint32_t refs;
    Op op;
    bool used;                     /* backward has walked it; `used_at` says where */
    Span made, used_at;
    uint32_t signal;               /* backward scope to run the rule under, 0 = none */
    int n_in, n_out, n_attr;
    struct GradInput { Tensor *t; Handle *value; GradNode *node; bool needs; Operand imm; } *in; /* t: the parameter, if a leaf */
    Attr *attr;                    /* deep copy */
    Handle *out[MAX_OUT];          /* values of results, for rules that use them (exp, tanh, max ...) */
    struct GradNode *prev, *next;  /* the interpreter's list of live nodes: owns none of them (debug.tape) */
};

bool grad_is_on(const Interp *in);
/* Records op if any operand needs a gradient; called by tensor_op. */
void grad_record(Interp *in, Op op, const Arg *arg, int n_args, const Attr *attr, int n_attr, Tensor **out, int n_out);
/* backward y [seed]: accumulates into .grad of the parameters below y; uses the graph up unless retain. */
bool grad_backward(Interp *in, Tensor *y, Tensor *seed, bool retain, LangError *e);
/* grad(y, xs): never touches .grad; out[i] zeros where y does not depend on xs[i]. */
bool grad_of(Interp *in, Tensor *y, Tensor *const *xs, int n, Tensor *seed, bool create_graph, Tensor **out, LangError *e);
void grad_node_unref(Interp *in, GradNode **n);

/* A rule: given d(loss)/d(out) as dout[], make d(loss)/d(in[i]) for every i with need[i]; din[i] NULL = zero. */
typedef struct GradCall { const GradNode *n; Tensor **in; Tensor **out; Tensor *const *dout; Tensor **din; } GradCall;
typedef bool (*GradRule)(Interp *in, GradCall *g, LangError *e);
extern const GradRule grad_rule[OP_COUNT];           /* from the grad column of ops.def; grad_none where not differentiable */
#endif
