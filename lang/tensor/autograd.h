/* autograd.h: reverse-mode automatic differentiation. A GradNode belongs to the tensor that
 * its op made and is freed with it. It has the op, the nodes of the operands, and the values that
 * its rule reads. A parameter has a leaf node, which identifies it in graphs. Rules (lang/grad/)
 * are written with tensor_op, so they emit ordinary instructions; with create_graph they are
 * recorded, too, which gives second derivatives.
 *
 * Nothing here recurses along the graph, so chains of any length are safe: walks go by sequence
 * number (an operand's node is older than its result's), and freeing uses a list.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TENSOR_AUTOGRAD_H
#define GT_LANG_TENSOR_AUTOGRAD_H
#include "lang/tensor/tensor.h"

enum { NODE_LEAF = OP_COUNT, NODE_CHECKPOINT }; /* values of GradNode.op beyond the table */

typedef struct GradInput {
    Handle *value;  /* owned; NULL for immediates and values that the rule does not read */
    GradNode *node; /* owned; NULL if it needs no gradient */
    Operand imm;    /* if is_imm */
    bool is_imm;
    TensorType type;
} GradInput;

struct GradNode {
    uint32_t refs;
    uint16_t op; /* an Op, NODE_LEAF or NODE_CHECKPOINT */
    bool used;   /* a backward has consumed it, at `used_at`: its inputs are freed */
    bool first;  /* MAX, MIN: the first of equal extremes has the whole gradient, else they share */
    int n_in, n_attr, n_out;
    uint32_t signal; /* backward scope of the rule, 0: none */
    uint64_t seq;    /* sequence number: order of creation */
    uint64_t walk;
    int64_t index; /* in the current walk's table: see autograd.c */
    Span made, used_at;
    TensorType type;              /* of the differentiable result, out[0] */
    Tensor *param;                /* NODE_LEAF: its parameter, not owned; NULL once that is freed */
    Value f;                      /* NODE_CHECKPOINT: the function */
    uint64_t seed, rng, host_rng; /* NODE_CHECKPOINT: the random counters at its start */
    Handle *out[MAX_OUT];  /* values of results that the rule reads (exp, max ...), else NULL */
    Attr *attr;            /* deep copy, part of this allocation */
    GradNode *prev, *next; /* links of the interpreter's list of live nodes, which owns none */
    GradInput in[];
};

/* What tensors need per interpreter: live nodes in order of creation, counters, the free list. */
typedef struct Tape {
    GradNode live; /* list head */
    size_t n_live;
    uint64_t seq, walk;
    uint64_t consumed; /* seq at the end of the last backward that used up its graph */
    Tensor *free_tensors;
    const GradNode *rule; /* whose rule runs, or NULL; trace.c shows it with --check-nan */
    uint32_t rule_calls;  /* trace.c: the number of the call stack with the rule on top, or 0 */
} Tape;
Tape *tape_of(Interp *in); /* made on first use; freed by tensor_fini */

/* True if results of ops are recorded: no no_grad block is open. */
static inline bool grad_is_on(const Interp *in) { return in->no_grad_depth == 0; }
/* True if a result computed from t would be recorded. */
static inline bool tensor_needs_grad(const Tensor *t) {
    return t->node && (!t->is_param || t->requires_grad);
}
/* Records op if an operand needs a gradient. Called by tensor_op. */
void grad_record(Interp *in, Op op, const Arg *arg, int n_args, const Attr *attr, int n_attr,
                 Tensor **out, int n_out);
/* For t = op(x) along one axis, op MAX or MIN: the gradient of each extreme goes to its first
 * element, as the indices of the pair say. Does nothing if t was not recorded. */
void grad_to_first(Tensor *t, Op op);
GradNode *grad_leaf(Interp *in, Tensor *param); /* a new leaf node for a parameter */
void grad_node_unref(Interp *in, GradNode **n); /* *n may be NULL */

/* backward y [seed]: adds gradients to the .grad of the parameters below y. Consumes the graph
 * unless retain. */
bool grad_backward(Interp *in, Tensor *y, Tensor *seed, bool retain, LangError *e);
/* grad(y, xs): out[i] is the gradient with respect to xs[i], zeros if y does not depend on it.
 * Leaves .grad alone. */
bool grad_of(Interp *in, Tensor *y, Tensor *const *xs, int n, Tensor *seed, bool create_graph,
             Tensor **out, LangError *e);
/* Runs f(*arg) and records it as one node, which keeps only the arguments and runs f again in
 * backward. A result that is not a single tensor is recorded as usual. */
bool grad_checkpoint(Interp *in, Value f, const Value *arg, int n_args, Value *out, LangError *e);
/* The recorded nodes below a tensor (NULL: all live ones), oldest first, without those that a
 * backward has consumed. The caller frees the array; the nodes belong to the graph. */
size_t grad_tape_nodes(Interp *in, Tensor *below, GradNode ***nodes);

/* One call of a rule. dout is d(loss)/d(out[0]). The rule sets din[i], d(loss)/d(in[i]), for every
 * i with need[i]; NULL means zero. value[] and out[] hold the saved values (those of grad_saves).
 * The call frees temporaries. */
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
/* The values that a rule reads: always, or (FOR_A ...) for that operand's gradient. No others are
 * kept: tests/unit/grad_hygiene.h. OUT1: the second result. */
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
/* For products: an operand is saved if the other one needs a gradient. */
enum { SAVE_OTHER = FOR_A(SAVE_B) | FOR_B(SAVE_A) };
typedef struct GradRule {
    void (*run)(GradCall *g); /* NULL for `none` */
    unsigned saves;
} GradRule;
extern const GradRule *const grad_rule[OP_COUNT]; /* from the grad column of ops.def */
unsigned grad_saves(Op op, const Attr *attr, int n_attr);
#endif
