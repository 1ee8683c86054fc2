/* operate.h: operators on host values; those with a tensor operand go to lang/tensor.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_OPERATE_H
#define GT_LANG_EVAL_OPERATE_H
#include "lang/value/interp.h"

bool operate_binary(Interp *in, const Node *n, int oper, Value a, Value b, Value *out,
                    LangError *e);
bool operate_unary(Interp *in, const Node *n, int oper, Value a, Value *out, LangError *e);
/* Hints why the value of n is none: a gradient before backward, or a function without return. No
 * hint for the word none, or inside the prelude. Returns false. */
bool hint_none(const Node *n, LangError *e);
/* Hints that n, whose value is a function, is to be called: m.parameters(). Returns false. */
bool hint_uncalled(const Node *n, LangError *e);
/* the order of sorted, min and max */
bool value_less(Interp *in, Value a, Value b, bool *out, LangError *e);
/* Makes a new set of the elements of any iterable, or an empty one of none. */
bool set_of(Interp *in, Value xs, Value *out, LangError *e);
/* a oper b for two V_SETs: | & ^ - and comparisons. */
bool set_binary(Interp *in, int oper, Value a, Value b, Value *out, LangError *e);
#endif
