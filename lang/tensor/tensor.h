/* tensor.h: the language's tensors: immutable values over stream Handles, parameters with identity,
 * and the operations on them. Every operation goes through tensor_op: promotion, casts, inference,
 * emission, recording for backward.
 *
 * A parameter keeps its Tensor while updates swap its handle. Nodes refer to handles, so a graph
 * built before an update keeps the old values. A node belongs to the tensor that it made; there is
 * no global tape. Files: tensor.c (lifetime, tensor_op), tensor_make.c (shorthands, host
 * values), tensor_param.c (identity, fields), index.c, autograd.c.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TENSOR_TENSOR_H
#define GT_LANG_TENSOR_TENSOR_H
#include "lang/value/interp.h"

typedef struct GradNode GradNode; /* autograd.h */
typedef struct Pair Pair;         /* pair.c */

struct Tensor {
    Heap h;
    /* requires_grad: of parameters; for values it is `node != NULL` */
    bool is_param, is_buffer, requires_grad;
    bool is_unsaved; /* a buffer with persistent=false: not in state_dict */
    /* assigned to a name that held a parameter (w = w - ...): for the error of .grad */
    bool was_param;
    Interp *in;     /* owner of the stream */
    Handle *handle; /* owned; updates of a parameter swap it */
    GradNode *node; /* owned reference; NULL: not recorded. A parameter's is its leaf */
    Tensor *grad;   /* parameters: owned, or NULL */
    Pair *pair;     /* owned: values with indices; NULL: a plain tensor */
};

static inline const TensorType *tensor_type(const Tensor *t) { return &t->handle->type; }
Tensor *tensor_new(Interp *in, Handle *h); /* takes ownership of h; not recorded */
static inline Value v_tensor(Tensor *t) {
    return (Value){.kind = V_TENSOR, .tensor = t};
} /* takes ownership of t */
static inline Tensor *tensor_ref(Tensor *t) {
    t->h.refs++;
    return t;
}
static inline void tensor_unref(Tensor *t) {
    if (t && --t->h.refs == 0) tensor_free(&t->h);
}
void tensor_fini(
    Interp *in); /* at the interpreter's end, after all tensors and before the stream */
Value tensor_param(Interp *in, const Tensor *t, bool is_buffer,
                   LangError *e); /* a new parameter; only floats are allowed */
/* A buffer with the value and history of t: gradients flow through it until it is updated in
 * place. */
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
/* Accepts tensors (borrowed) and host numbers; else the error says what was expected. */
bool arg_from_value(Interp *in, Value v, Arg *out, LangError *e);
static inline Attr attr_ints(AttrKey key, const int64_t *v, int n) {
    return (Attr){.key = (uint8_t)key, .n = (uint32_t)n, .ints = v};
}
static inline Attr attr_bool(AttrKey key, bool b) { return (Attr){.key = (uint8_t)key, .b = b}; }
static inline Attr attr_int(AttrKey key, int64_t i) { return (Attr){.key = (uint8_t)key, .i = i}; }
static inline Attr attr_str(AttrKey key, const char *s, size_t n) {
    return (Attr){.key = (uint8_t)key, .n = (uint32_t)n, .str = s};
}
static inline Attr attr_dtype(DType d) { return (Attr){.key = ATTR_DTYPE, .dtype = d}; }

/* Runs one op: casts the operands as its row and the promotion rules require, emits the
 * instruction, records it for gradients. out[]: new references. Errors point at the operands in the
 * running expression, if they are in it. */
bool tensor_op(Interp *in, Op op, const Arg *arg, int n_args, const Attr *attr, int n_attr,
               Tensor **out, LangError *e);
/* The same as a step of p op= e. *place: a handle with p's layout. If operand 0 is that handle and
 * the result has its shape, the result gets the same layout, and *place becomes its handle. place
 * NULL: as tensor_op. */
bool tensor_op_keep(Interp *in, Op op, const Arg *arg, int n_args, const Attr *attr, int n_attr,
                    const Handle **place, Tensor **out, LangError *e);
/* A binary operator of the language with a tensor on at least one side; oper is an Oper. For `op=`
 * on a parameter: tensor_augment. place: as for tensor_op_keep, or NULL. */
bool tensor_binary(Interp *in, int oper, Value a, Value b, const Handle **place, Value *out,
                   LangError *e);
bool tensor_unary(Interp *in, int oper, Value a, Value *out, LangError *e);
/* Matrix product of 1-D, 2-D and batched operands, as PyTorch's. wide: DT_F32 returns products of
 * halves unrounded; DT_NONE: the operands' dtype. place: as for tensor_op_keep, or NULL. */
bool tensor_matmul(Interp *in, Tensor *a, Tensor *b, DType wide, const Handle **place, Tensor **out,
                   LangError *e);

/* ---- one op each: operands are borrowed; returns a new reference, or NULL with e set ---- */
Tensor *tensor_op1(Interp *in, Op op, Arg a, LangError *e);
Tensor *tensor_op2(Interp *in, Op op, Arg a, Arg b, LangError *e);
Tensor *tensor_cast(Interp *in, Tensor *t, DType d,
                    LangError *e); /* t itself if it has the dtype */
Tensor *tensor_reshape(Interp *in, Tensor *t, const int64_t *shape, int rank,
                       LangError *e); /* likewise */
Tensor *tensor_expand(Interp *in, Tensor *t, const int64_t *shape, int rank,
                      LangError *e); /* likewise */
Tensor *tensor_permute(Interp *in, Tensor *t, const int64_t *axes, int n, LangError *e);
Tensor *tensor_transpose(Interp *in, Tensor *t, int a, int b, LangError *e); /* 0 <= a, b < rank */
Tensor *tensor_slice(Interp *in, Tensor *t, int axis, int64_t start, int64_t size, int64_t step,
                     LangError *e);
Tensor *tensor_reduce(Interp *in, Op op, Tensor *t, const int64_t *axes, int n, bool keepdims,
                      LangError *e); /* n 0: all axes */
Tensor *tensor_full(Interp *in, const int64_t *shape, int rank, DType d, Operand v, LangError *e);
Tensor *tensor_arange(Interp *in, Arg start, Arg step, int64_t n, DType d, LangError *e);
Tensor *tensor_random(Interp *in, Op op, const int64_t *shape, int rank, DType d, const Arg *arg,
                      int n_args, LangError *e);
Tensor *tensor_data(Interp *in, const TensorType *type, const void *data,
                    LangError *e); /* copies */
/* The elements are those of b, of which the tensor holds a reference: change them no more. */
Tensor *tensor_of_buf(Interp *in, const TensorType *type, Buf *b, LangError *e);
Tensor *tensor_cat(Interp *in, Tensor *const *t, int64_t n, int axis,
                   LangError *e);             /* any n >= 1 */
Tensor *tensor_detach(Interp *in, Tensor *t); /* same value, not recorded */
/* Takes ownership of t. A parameter or buffer becomes its current value, recorded as computed from
 * it: functions return values, even if they changed nothing (p.reshape(p.shape)). A pair becomes
 * its values. */
Tensor *tensor_value(Tensor *t);
int64_t tensor_numel(const Tensor *t);

/* ---- parameters (tensor_param.c) ---- */
/* p.data = e: sets p to e, cast to p's dtype and broadcast to its shape. Not recorded. */
bool tensor_update(Interp *in, Tensor *param, Value v, LangError *e);
/* The same. place: the handle that tensor_op_keep set; if it is v's, v has p's layout already. */
bool tensor_update_keep(Interp *in, Tensor *param, Value v, const Handle *place, LangError *e);
/* p op= v. Outside no_grad it is an error if v depends on parameters. */
bool tensor_augment(Interp *in, Tensor *param, int oper, Value v, LangError *e);
/* p.data op= v: the same for any v. */
bool tensor_augment_data(Interp *in, Tensor *param, int oper, Value v, LangError *e);
bool tensor_no_path(Interp *in, Value v, LangError *e); /* false with that error if v depends */
/* As tensor_no_path, for the present value: a buffer may have a history (tensor_as_buffer). */
bool tensor_has_no_path(Interp *in, Tensor *p, LangError *e);
/* Checks the result of x op= v: an error if whole numbers became floats, or bools numbers. */
bool tensor_keeps_kind(const Tensor *x, const Tensor *result, LangError *e);
/* The same for its shape: an error, with a hint, if v broadcast x to another one. */
bool tensor_keeps_shape(const Tensor *x, const Tensor *result, LangError *e);
bool tensor_field(Interp *in, Tensor *t, const char *name, Value *out, bool *found,
                  LangError *e); /* shape dtype grad T ... */
/* The fields that every tensor has, for listings and near matches; ends with NULL. */
extern const char *const tensor_field_names[];
bool tensor_set_field(Interp *in, Tensor *t, const char *name, Value v, LangError *e);

/* ---- values in and out ---- */
bool tensor_item(Interp *in, Tensor *t, Value *out, LangError *e);   /* waits */
bool tensor_tolist(Interp *in, Tensor *t, Value *out, LangError *e); /* waits */
/* Converts host data to a tensor: nested lists of numbers (shapes are checked; an error names the
 * first ragged position); tensors in lists are stacked. dtype DT_NONE: by content. */
bool tensor_from_value(Interp *in, Value v, DType dtype, Value *out, LangError *e);
/* False. If v is a map of tensors, hints at the one under its first key. */
bool tensor_hint_map(Value v, LangError *e);
int64_t value_count(Value v);       /* number of elements of a list or range; -1 for other values */
Value value_at(Value v, int64_t i); /* borrowed */
#endif
