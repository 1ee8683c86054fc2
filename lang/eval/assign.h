/* assign.h: names and places that values are bound to.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_ASSIGN_H
#define GT_LANG_EVAL_ASSIGN_H
#include "lang/eval/eval.h"

/* consumes v; fresh: cells are made anew */
bool assign(Interp *in, Node *target, Value v, bool fresh, LangError *e);
bool exec_assign(Interp *in, Node *n, LangError *e);
bool exec_augassign(Interp *in, Node *n, LangError *e);
bool exec_del(Interp *in, Node *n, LangError *e);
/* by n's scope and slot; consumes v */
bool bind_name(Interp *in, Node *n, const char *name, Value v, LangError *e);
#endif
