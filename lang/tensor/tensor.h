/* tensor.h: the language's tensors: immutable values over stream Handles, parameters with identity,
 * and the operations on them. Every operation goes through tensor_op: promotion, casts, inference,
 * emission, recording for backward.
 *
 * A parameter keeps its Tensor while its handle is swapped; a graph built before keeps the handles
 * that it saw, because nodes refer to handles. A node hangs off the tensor it made; there is no
 * global tape (DESIGN 4). Files: tensor.c (lifetime, tensor_op), tensor_make.c (shorthands, host
 * values), tensor_param.c (identity, fields), index.c, grad.c.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TENSOR_TENSOR_H
#define GT_LANG_TENSOR_TENSOR_H
#include "lang/value/interp.h"

typedef struct GradNode GradNode; /* grad.h */
typedef struct Pair Pair;         /* pair.c */

struct Tensor {
    Heap h;
    bool is_param, is_buffer, requires_grad; /* a value's requires_grad is `node != NULL` */
    bool is_unsaved; /* a buffer that is in no state_dict: persistent=false */
    bool was_param;  /* assigned to a name that held a parameter (w = w - ...): .grad says so */
    Interp *in;      /* whose stream the handle belongs to */
    Handle *handle;  /* owned; swapped by updates of a parameter */
    GradNode *node;  /* owned reference; NULL: not recorded. A parameter's is its leaf node */
    Tensor *grad;    /* parameters: owned, or NULL */
    Pair *pair;      /* owned: these are values that know their indices; NULL: plain */
};

static inline const TensorType *tensor_type(const Tensor *t) { return &t->handle->type; }
Tensor *tensor_new(Interp *in, Handle *h); /* consumes h; not recorded */
static inline Value v_tensor(Tensor *t) {
    return (Value){.kind = V_TENSOR, .tensor = t};
} /* consumes t */
static inline Tensor *tensor_ref(Tensor *t) {
    t->h.refs++;
    return t;
}
static inline void tensor_unref(Tensor *t) {
    if (t && --t->h.refs == 0) tensor_free(t);
}
void tensor_fini(
    Interp *in); /* at the interpreter's end, when all tensors are gone, before the stream */
Value tensor_param(Interp *in, const Tensor *t, bool is_buffer,
                   LangError *e); /* a new identity; only floats can be parameters */
/* A buffer with the value of t, and with its history: what is computed from it goes back to where t
 * came from, until the buffer is updated in place. */
Tensor *tensor_as_buffer(Interp *in, Tensor *t);

/* An operand of an operation: a tensor or a host number. */
typedef struct Arg {
    Tensor *t;
    Operand imm;
} Arg; /* t == NULL: imm */
static inline Arg arg_tensor(Tensor *t) { return (Arg){.t = t}; }
static inline Arg arg_int(int64_t i) { return (Arg){.imm = {.kind = IN_IMM_INT, .i = i}}; }
static inline Arg arg_float(double f) { return (Arg){.imm = {.kind = IN_IMM_FLOAT, .f = f}}; }
static inline Arg arg_bool(bool b) { return (Arg){.imm = {.kind = IN_IMM_BOOL, .b = b}}; }
/* Tensors (borrowed) and host numbers; anything else is an error that says what was wanted. */
bool arg_from_value(Interp *in, Value v, Arg *out, LangError *e);
static inline Attr attr_ints(AttrKey key, const int64_t *v, int n) {
    return (Attr){.key = (uint8_t)key, .n = (uint32_t)n, .ints = v};
}
static inline Attr attr_bool(AttrKey key, bool b) { return (Attr){.key = (uint8_t)key, .b = b}; }
static inline Attr attr_int(AttrKey key, int64_t i) { return (Attr){.key = (uint8_t)key, .i = i}; }
static inline Attr attr_dtype(DType d) { return (Attr){.key = ATTR_DTYPE, .dtype = d}; }

/* One op: promotes and casts operands as the row and LANGUAGE 3.2 say, emits, records. out[] are
 * new references. Errors carry carets on the operands where the running expression shows them
 * (3.3). */
bool tensor_op(Interp *in, Op op, const Arg *arg, int n_args, const Attr *attr, int n_attr,
               Tensor **out, LangError *e);
/* Language operators on values where at least one side is a tensor; oper is an Oper. A parameter's
 * `op=` is tensor_augment. */
bool tensor_binary(Interp *in, int oper, Value a, Value b, Value *out, LangError *e);
bool tensor_unary(Interp *in, int oper, Value a, Value *out, LangError *e);
/* 1-D, 2-D and batched, as PyTorch's. wide: DT_F32 of halves keeps their sums as they are; DT_NONE:
 * the operands' dtype. */
bool tensor_matmul(Interp *in, Tensor *a, Tensor *b, DType wide, Tensor **out, LangError *e);

/* ---- one op each, operands borrowed; a new reference, or NULL with e filled ---- */
Tensor *tensor_op1(Interp *in, Op op, Arg a, LangError *e);
Tensor *tensor_op2(Interp *in, Op op, Arg a, Arg b, LangError *e);
Tensor *tensor_cast(Interp *in, Tensor *t, DType d,
                    LangError *e); /* t itself when it has the dtype */
Tensor *tensor_reshape(Interp *in, Tensor *t, const int64_t *shape, int rank,
                       LangError *e); /* likewise */
Tensor *tensor_expand(Interp *in, Tensor *t, const int64_t *shape, int rank,
                      LangError *e); /* likewise */
Tensor *tensor_permute(Interp *in, Tensor *t, const int64_t *axes, int n, LangError *e);
Tensor *tensor_transpose(Interp *in, Tensor *t, int a, int b, LangError *e); /* 0 <= a, b < rank */
Tensor *tensor_slice(Interp *in, Tensor *t, int axis, int64_t start, int64_t size, int64_t step,
                     LangError *e);
Tensor *tensor_reduce(Interp *in, Op op, Tensor *t, const int64_t *axes, int n, bool keepdims,
                      LangError *e); /* n 0: over all */
Tensor *tensor_full(Interp *in, const int64_t *shape, int rank, DType d, Operand v, LangError *e);
Tensor *tensor_arange(Interp *in, Arg start, Arg step, int64_t n, DType d, LangError *e);
Tensor *tensor_random(Interp *in, Op op, const int64_t *shape, int rank, DType d, const Arg *arg,
                      int n_args, LangError *e);
Tensor *tensor_data(Interp *in, const TensorType *type, const void *data,
                    LangError *e); /* copies */
Tensor *tensor_cat(Interp *in, Tensor *const *t, int64_t n, int axis,
                   LangError *e);             /* n >= 1, however many */
Tensor *tensor_detach(Interp *in, Tensor *t); /* same value, not recorded */
/* Consumes t. A parameter or buffer becomes the value that it has now, recorded as one that comes
 * from it: what a function gives is a value, also where it had nothing to do (p.reshape(p.shape)).
 * A pair becomes its values. */
Tensor *tensor_value(Tensor *t);
int64_t tensor_numel(const Tensor *t);

/* ---- indexing (index.c) ---- */
/* Subscripts between values: the evaluator makes these for a[i:j:k] and a[...]. */
Value v_slice(Value start, Value stop, Value step); /* consumes all three */
static inline Value v_ellipsis(void) { return (Value){.kind = V_ELLIPSIS}; }
bool tensor_index(Interp *in, Tensor *t, const Value *sub, int n_subs, Value *out, LangError *e);
/* t with v written at the subscripts. On a parameter or buffer it is an update in place and *out is
 * t itself. from_zero: indices in tensors do not count from the end. */
bool tensor_index_put(Interp *in, Tensor *t, const Value *sub, int n_subs, Value v, bool from_zero,
                      Value *out, LangError *e);
/* t with v added at the subscripts, also where they name an element several times: a new tensor. */
bool tensor_index_add(Interp *in, Tensor *t, const Value *sub, int n_subs, Value v, bool from_zero,
                      Value *out, LangError *e);
bool tensor_iter(Interp *in, Tensor *t, int64_t i, Value *out,
                 LangError *e); /* t[i] along axis 0 */
bool tensor_nonzero(Interp *in, Tensor *t, Tensor **out,
                    LangError *e); /* (n, rank) int64; waits for the count */

/* ---- parameters (tensor_param.c) ---- */
/* p = e, cast to p's dtype and broadcast to its shape: p.data = e. Never recorded. */
bool tensor_update(Interp *in, Tensor *param, Value v, LangError *e);
/* p op= v. An error if v carries a gradient path outside no_grad. */
bool tensor_augment(Interp *in, Tensor *param, int oper, Value v, LangError *e);
bool tensor_no_path(Interp *in, Value v, LangError *e); /* the error of that */
/* The same for what is there: a buffer whose value has a history (tensor_as_buffer). */
bool tensor_has_no_path(Interp *in, Tensor *p, LangError *e);
/* x op= v gave result: an error if whole numbers became floats, or bools numbers. */
bool tensor_keeps_kind(const Tensor *x, const Tensor *result, LangError *e);
bool tensor_field(Interp *in, Tensor *t, const char *name, Value *out, bool *found,
                  LangError *e); /* shape dtype grad T ... */
bool tensor_set_field(Interp *in, Tensor *t, const char *name, Value v, LangError *e);

/* ---- values that know their indices (pair.c): max(x, axis) and its kin ---- */
typedef struct PairIndices {
    Op op;      /* OP_ARGMAX, OP_ARGMIN or OP_ARGSORT of `of`  */
    Handle *of; /* borrowed                                    */
    int64_t axis;
    AttrKey flag; /* ATTR_KEEPDIMS or ATTR_DESCENDING, and ... */
    bool is_set;  /* ... its value                             */
} PairIndices;
/* Consumes values. name: the function, static. The indices have the shape of the values; those of
 * pair_later are computed when they are asked for. */
Tensor *pair_later(Interp *in, Tensor *values, const char *name, const PairIndices *how);
Tensor *pair_new(Interp *in, Tensor *values, const char *name, Tensor *indices);
/* t->pair: part 0 is the values as a plain tensor, part 1 the indices. */
bool pair_part(Interp *in, Tensor *t, int part, Value *out, LangError *e);
/* The error of a `use` ("[2]", "a loop") that could mean either of the two. text: the expression as
 * the program spells it, or "". Always false. */
bool pair_error(const Tensor *t, const char *text, const char *use, LangError *e);
void pair_free(Interp *in, Pair **p);

/* ---- values in and out ---- */
bool tensor_item(Interp *in, Tensor *t, Value *out, LangError *e);   /* waits */
bool tensor_tolist(Interp *in, Tensor *t, Value *out, LangError *e); /* waits */
/* Host data to a tensor: nested lists of numbers (shape checked, first ragged place named), tensors
 * in them are stacked. dtype DT_NONE: by content. */
bool tensor_from_value(Interp *in, Value v, DType dtype, Value *out, LangError *e);
int64_t value_count(Value v);       /* elements of a list or range; -1 for others */
Value value_at(Value v, int64_t i); /* borrowed */
#endif
