/* shape.h: shared by the inference rules infer_WORD; other code calls inst_infer (inst.h). A
 * rule checks operands and attributes of one instruction and writes the result types. The words
 * are those of ops.def's `shape` column, so a missing rule is a link error.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INFER_SHAPE_H
#define GT_RUNTIME_INFER_SHAPE_H
#include "runtime/inst/inst.h"

typedef struct Infer {
    const Inst *inst;
    const OpInfo *info;
    const TensorType *in; /* of tensor operands only          */
    TensorType *out;      /* MAX_OUT of them                  */
    int n_out;            /* 1 unless the rule sets it */
    Err *err;
} Infer;

typedef struct ShapeText {
    char s[256];
} ShapeText;

/* The rules: in shape.c, those of kernels in shape_*.c. */
#define OP(id, name, class_, arity, in, out, shape, ...) bool infer_##shape(Infer *s);
#include "runtime/inst/ops.def"

/* ---- Checks shared by the rules; each returns false after filling s->err ---- */

bool need_tensors(Infer *s, int least, int most); /* least to most operands, all tensors */
bool need_dtype(Infer *s, int i);              /* operand i's dtype is in the row's `in`          */
bool need_same_dtype(Infer *s, int i);         /* operand i has operand 0's dtype                 */
bool need_index_dtype(Infer *s, int i);        /* operand i has an integer dtype */
bool need_axis(Infer *s, int rank, int *axis); /* AXIS is one axis below rank                     */
bool need_numel(Infer *s, const TensorType *t); /* within MAX_NUMEL, empty axes not counted */
bool missing_attr(Infer *s, AttrKey key); /* error: a needed attribute is absent             */
/* START, SIZE, STEP against x; out gets the slice's type. */
bool slice_type(Infer *s, const TensorType *x, TensorType *out);
/* The dtype of a sum of products: operand 0's, or f32 if DTYPE asks for unrounded sums of
 * halves. */
bool sum_dtype(Infer *s, uint8_t *dtype);
bool need_shape(Infer *s, TensorType *t); /* SHAPE as a type's rank and extents, within limits */
bool empty_axis(Infer *s, int axis);      /* error: the largest element of an empty axis */
/* An error that begins with the operation's name. */
bool op_fail(Infer *s, ErrCode code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The result is t; a second one: the indices of its elements. Both return true. */
static inline bool op_gives(Infer *s, TensorType t) {
    s->out[0] = t;
    return true;
}
static inline bool op_gives_indices(Infer *s) {
    s->out[1] = s->out[0];
    s->out[1].dtype = DT_I64;
    s->n_out = 2;
    return true;
}

static inline const char *shape_text(const TensorType *t, ShapeText *buf) {
    return type_shape_text(t, buf->s);
}
#endif
