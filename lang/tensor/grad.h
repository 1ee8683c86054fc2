/* grad.h: reverse-mode automatic differentiation (DESIGN 4). Nodes hang off tensors: a GradNode
 * names the op, its operands' parents and the values its rule will use, and goes when its tensor
 * goes. A parameter has a leaf node, which is its identity in graphs. Rules (grad_ops.c) are
 * written with tensor_op, so they emit ordinary instructions, and with create_graph they are
 * recorded themselves: second derivatives come for free.
 *
 * Nothing here recurses along the graph: walks go by sequence number (an operand's node is older
 * than its result's), and freeing uses a list, so that chains of any length are safe.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TENSOR_GRAD_H
#define GT_LANG_TENSOR_GRAD_H
#include "lang/tensor/tensor.h"

enum { NODE_LEAF = OP_COUNT, NODE_CHECKPOINT }; /* GradNode.op beyond the table */

typedef struct GradInput {
    Handle *value;  /* owned; NULL: the rule does not use it, or an immediate */
    GradNode *node; /* owned; NULL: needs no gradient */
    Operand imm;    /* when is_imm */
    bool is_imm;
    TensorType type;
} GradInput;

struct GradNode {
    uint32_t refs;
    uint16_t op; /* an Op, NODE_LEAF or NODE_CHECKPOINT */
    bool used;   /* backward has walked it; `used_at` says where; inputs are gone */
    int n_in, n_attr, n_out;
    uint32_t signal; /* backward scope to run the rule under, 0 = none */
    uint64_t seq;    /* order of birth */
    uint64_t walk;
    int64_t index; /* of the walk that visits it now: see grad.c */
    Span made, used_at;
    TensorType type; /* of the differentiable result, out[0] */
    Tensor *param;   /* NODE_LEAF: its parameter, not owned; NULL when that has gone */
    Value f;
    uint64_t seed, rng, host_rng; /* NODE_CHECKPOINT: function, where its random numbers began */
    Handle *out[MAX_OUT]; /* values of results that the rule uses (exp, tanh, max ...), else NULL */
    Attr *attr;           /* deep copy, in this allocation */
    GradNode *prev, *next; /* the interpreter's list of live nodes: owns none of them */
    GradInput in[];
};

/* What tensors need per interpreter: live nodes in order of birth, counters, the free list. */
typedef struct Tape {
    GradNode live; /* list head */
    size_t n_live;
    uint64_t seq, walk;
    Tensor *free_tensors;
} Tape;
Tape *tape_of(Interp *in); /* made on first use; freed by tensor_fini */

/* Results of ops are being recorded: no no_grad block is open. */
static inline bool grad_is_on(const Interp *in) { return in->no_grad_depth == 0; }
/* A result computed from t would be recorded. */
static inline bool tensor_needs_grad(const Tensor *t) {
    return t->node && (!t->is_param || t->requires_grad);
}
/* Records op if any operand needs a gradient; called by tensor_op. */
void grad_record(Interp *in, Op op, const Arg *arg, int n_args, const Attr *attr, int n_attr,
                 Tensor **out, int n_out);
GradNode *grad_leaf(Interp *in, Tensor *param); /* a new leaf node for a parameter */
void grad_node_unref(Interp *in, GradNode **n); /* NULL-safe */

/* backward y [seed]: accumulates into .grad of the parameters below y; uses the graph up unless
 * retain. */
bool grad_backward(Interp *in, Tensor *y, Tensor *seed, bool retain, LangError *e);
/* grad(y, xs): never touches .grad; out[i] zeros where y does not depend on xs[i]. */
bool grad_of(Interp *in, Tensor *y, Tensor *const *xs, int n, Tensor *seed, bool create_graph,
             Tensor **out, LangError *e);
/* f(*arg), recorded as one node that keeps nothing but the arguments and computes f again in
 * backward; a result that is not one tensor is recorded as ever. */
bool grad_checkpoint(Interp *in, Value f, const Value *arg, int n_args, Value *out, LangError *e);
/* The recorded nodes below a tensor (NULL: all that live), oldest first, in an array that the
 * caller frees; borrowed from the graph. Those that a backward has used up are not among them. */
size_t grad_tape_nodes(Interp *in, Tensor *below, GradNode ***nodes);

/* One run of a rule: d(loss)/d(out[0]) is dout; the rule makes d(loss)/d(in[i]) for every i with
 * need[i] and leaves din[i] NULL for zero. in[] and out[] hold the saved values (only those that
 * GRAD_SAVES names). Temporaries are the call's. */
typedef struct GradCall {
    Interp *in;
    LangError *e;
    bool ok;
    const GradNode *n;
    Arg *value, out[MAX_OUT], dout;
    Tensor **din;
    const bool *need;
    Tensor *temp[64];
    int n_temp;
} GradCall;
/* Which values a rule reads: whatever it makes, or (FOR_A ...) to make that operand's gradient.
 * Nothing else is kept: tests/unit/grad_hygiene.h. OUT1: the second result. */
enum {
    SAVE_NONE = 0,
    SAVE_A = 1,
    SAVE_B = 2,
    SAVE_C = 4,
    SAVE_REST = 8,
    SAVE_OUT = 16,
    SAVE_OUT1 = 32
};
#define FOR_A(saves) ((saves) << 8)
#define FOR_B(saves) ((saves) << 16)
#define FOR_C(saves) ((saves) << 24)
/* Products: an operand if the other one needs a gradient. */
enum { SAVE_OTHER = FOR_A(SAVE_B) | FOR_B(SAVE_A) };
typedef struct GradRule {
    void (*run)(GradCall *g); /* NULL for `none` */
    unsigned saves;
} GradRule;
extern const GradRule *const grad_rule[OP_COUNT]; /* from the grad column of ops.def */
unsigned grad_saves(Op op, const Attr *attr, int n_attr);
#endif
