/* call_hidden.h: hints about names that a local hides. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_CALL_HIDDEN_H
#define GT_LANG_EVAL_CALL_HIDDEN_H
#include "lang/eval/call_hint.h"

/* Adds a hint if n is a name that hides a builtin (call_hidden.c). Returns false if it is not. */
bool hint_hidden(Interp *in, const Node *n, LangError *e);
/* The call callee(...), of a method of a value of kind recv, failed. If the value's name hides a
 * namespace that has the method, such as F, that is most likely the cause: adds the hint. Returns
 * false if it does not. */
bool hint_hidden_space(Interp *in, const Node *callee, ValueKind recv, bool takes_tensor,
                       LangError *e);
#endif
