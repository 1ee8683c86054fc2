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

/* The receiver of a method whose name ends in _: where that is .data or .grad of a parameter, or a
 * part of it, *recv is a buffer that holds the value, and *place is where it goes when the call is
 * over. *place NULL: it is any other value. */
typedef struct Place Place;
bool update_open(Interp *in, Node *callee, Place **place, Value *recv, LangError *e);
bool update_is_checked(const Place *p); /* p[0].add_(x): x must not depend on parameters */
/* Stores what recv holds, unless the call failed (ok); *out becomes that value. Consumes recv. */
bool update_close(Interp *in, Place *p, Value recv, bool ok, Value *out, LangError *e);
#endif
