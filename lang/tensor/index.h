/* index.h: reads and writes elements of tensors by subscripts. x[...] and x[...] = v.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TENSOR_INDEX_H
#define GT_LANG_TENSOR_INDEX_H
#include "lang/tensor/tensor.h"

bool tensor_index(Interp *in, Tensor *t, const Value *sub, int n_subs, Value *out, LangError *e);
/* t with v written at the subscripts. A parameter or buffer is updated in place, and *out is t
 * itself. from_zero: negative indices in tensors are errors. */
bool tensor_index_put(Interp *in, Tensor *t, const Value *sub, int n_subs, Value v, bool from_zero,
                      Value *out, LangError *e);
/* A new tensor: t with v added at the subscripts; elements that occur several times get all their
 * terms. */
bool tensor_index_add(Interp *in, Tensor *t, const Value *sub, int n_subs, Value v, bool from_zero,
                      Value *out, LangError *e);
bool tensor_iter(Interp *in, Tensor *t, int64_t i, Value *out,
                 LangError *e); /* t[i] along axis 0 */
bool tensor_nonzero(Interp *in, Tensor *t, Tensor **out,
                    LangError *e); /* (n, rank) int64; waits for n */
#endif
