/* call_hint.h: hints for calls with good arguments in the wrong arrangement: tensor(1, 2, 3).
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_CALL_HINT_H
#define GT_LANG_EVAL_CALL_HINT_H
#include "lang/error/error.h"
#include "lang/value/interp.h"

/* Sets e's hint after a call of this function failed with e, if e is about the number or the kind
 * of the arguments: the call as it should be, with the arguments of the program. function: its
 * plain name. call: the call's node, or NULL. n_pos: the positional values, that of x in x.f() too.
 * Returns false. */
bool hint_arrangement(const char *function, const Node *call, int n_pos, LangError *e);
/* Sets e's hint if the call that failed is scatter(x, y), as matplotlib draws points. Returns
 * false. */
bool hint_scatter(const Node *call, LangError *e);
/* Sets e's hint for a keyword that the function of this plain name lacks and PyTorch's or NumPy's
 * has. call: the call's node, or NULL. Returns false if there is no hint. */
bool hint_keyword(Interp *in, const char *function, const char *keyword, const Node *call,
                  LangError *e);
/* Sets e's hint for base.name, where base is a list of tensors and name a field of tensors:
 * xs[0].shape. at: the node of the list. Returns false if base is no such list, or name no such
 * field. */
bool hint_tensors(Value base, const Node *at, const char *name, LangError *e);
#endif
