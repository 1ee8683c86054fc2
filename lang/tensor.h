/* tensor.h: the language's tensors: immutable values over stream Handles, parameters with identity, and the operations on
 * them. Every operation goes through tensor_op: promotion, casts, inference, emission, recording for backward.
 *
 * A parameter keeps its Tensor while its handle is swapped; a graph built before keeps the handles that it saw, because
 * nodes refer to handles. A node hangs off the tensor it made; there is no global tape (DESIGN 4).
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TENSOR_H
#define GT_LANG_TENSOR_H
#include "lang/interp.h"

typedef struct GradNode GradNode;                    /* grad.h */

struct Tensor {
    Heap h;
    bool is_param, is_buffer, requires_grad;         /* a value's requires_grad is `node != NULL` */
    bool was_param;                                  /* made from a parameter by w = w - ...: the next .grad says so */
    Interp *in;                                      /* whose stream the handle belongs to */
    Handle *handle;                                  /* owned; swapped by updates of a parameter */
    GradNode *node;                                  /* owned reference; NULL: not recorded. A parameter's is its leaf node */
    Tensor *grad;                                    /* parameters: owned, or NULL */
};

static inline const TensorType *tensor_type(const Tensor *t) { return &t->handle->type; }
Tensor *tensor_new(Interp *in, Handle *h);           /* consumes h; not recorded */
static inline Value v_tensor(Tensor *t) { return (Value){.kind = V_TENSOR, .tensor = t}; } /* consumes t */
static inline Tensor *tensor_ref(Tensor *t) { t->h.refs++; return t; }
static inline void tensor_unref(Tensor *t) { if (t && --t->h.refs == 0) tensor_free(t); }
void tensor_fini(Interp *in);                        /* at the interpreter's end, when all tensors are gone, before the stream */
Value tensor_param(Interp *in, const Tensor *t, bool is_buffer, LangError *e); /* a new identity; ints become float32 */

/* An operand of an operation: a tensor or a host number. */
typedef struct Arg { Tensor *t; Operand imm; } Arg;  /* t == NULL: imm */
/* One op: promotes and casts operands as the row and LANGUAGE 3.2 say, emits, records. out[] are new references.
 * name for errors is the op's; spans of operands, if known, make the carets of 3.3. */
bool tensor_op(Interp *in, Op op, const Arg *arg, int n_args, const Attr *attr, int n_attr, Tensor **out, LangError *e);
/* Language operators on values where at least one side is a tensor; tok is the binary operator's token. */
bool tensor_binary(Interp *in, int tok, Value a, Value b, Value *out, LangError *e);
bool tensor_unary(Interp *in, int tok, Value a, Value *out, LangError *e);
bool tensor_index(Interp *in, Tensor *t, const Value *sub, int n_subs, Value *out, LangError *e);      /* see index.c */
bool tensor_index_put(Interp *in, Tensor *t, const Value *sub, int n_subs, Value v, Value *out, LangError *e);
/* p op= e, p[i] = v, p.data = e ...: swaps the parameter's value; never recorded; broadcasts and casts to p's type. */
bool tensor_update(Interp *in, Tensor *param, Value v, LangError *e);
bool tensor_field(Interp *in, Tensor *t, const char *name, Value *out, bool *found, LangError *e);     /* shape dtype grad T ... */
bool tensor_set_field(Interp *in, Tensor *t, const char *name, Value v, LangError *e);
bool tensor_item(Interp *in, Tensor *t, Value *out, LangError *e);                                     /* waits */
bool tensor_tolist(Interp *in, Tensor *t, Value *out, LangError *e);                                   /* waits */
/* Subscripts between values: the evaluator makes these for a[i:j:k] and a[...]. */
Value v_slice(Value start, Value stop, Value step);  /* consumes all three */
static inline Value v_ellipsis(void) { return (Value){.kind = V_ELLIPSIS}; }
bool tensor_iter(Interp *in, Tensor *t, int64_t i, Value *out, LangError *e);                          /* t[i] along axis 0 */
/* Host data to a tensor: nested lists of numbers (shape checked, first ragged place named). dtype DT_NONE: by content. */
bool tensor_from_value(Interp *in, Value v, DType dtype, Value *out, LangError *e);
#endif
