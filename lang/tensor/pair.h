/* pair.h: values with indices: the results of max(x, axis) and the like.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TENSOR_PAIR_H
#define GT_LANG_TENSOR_PAIR_H
#include "lang/tensor/tensor.h"

typedef struct PairIndices {
    Op op;      /* OP_ARGMAX, OP_ARGMIN or OP_ARGSORT of `of` */
    Handle *of; /* borrowed */
    int64_t axis;
    AttrKey flag; /* ATTR_KEEPDIMS or ATTR_DESCENDING */
    bool is_set;  /* the value of flag */
} PairIndices;
/* Attaches indices, which have the shape of the values. Takes ownership of values. name: of the
 * function, a static string. pair_later computes the indices on first use. */
Tensor *pair_later(Interp *in, Tensor *values, const char *name, const PairIndices *how);
Tensor *pair_new(Interp *in, Tensor *values, const char *name, Tensor *indices);
/* t->pair: part 0 is the values as a plain tensor, part 1 the indices. */
bool pair_part(Interp *in, Tensor *t, int part, Value *out, LangError *e);
/* The error of a `use` ("[2]", "a loop") that is ambiguous between values and indices. text: the
 * expression's source, or "". Returns false. */
bool pair_error(const Tensor *t, const char *text, const char *use, LangError *e);
void pair_free(Interp *in, Pair **p);
#endif
