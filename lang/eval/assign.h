/* assign.h: binds names and writes to assignment targets.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_ASSIGN_H
#define GT_LANG_EVAL_ASSIGN_H
#include "lang/eval/eval.h"

/* Binds v (consumed) to target. fresh: a captured variable gets a new cell. */
bool assign(Interp *in, Node *target, Value v, bool fresh, LangError *e);
bool exec_assign(Interp *in, Node *n, LangError *e);
bool exec_augassign(Interp *in, Node *n, LangError *e);
bool exec_del(Interp *in, Node *n, LangError *e);
/* Binds name by n's scope and slot. Consumes v. */
bool bind_name(Interp *in, Node *n, const char *name, Value v, LangError *e);

/* Evaluates the receiver of a method whose name ends in _. If it is .data or .grad of a parameter,
 * or a part of a parameter, *recv is a buffer with its value and *place is the target that
 * update_close writes after the call. For any other receiver *place is NULL. */
typedef struct Place Place;
bool update_open(Interp *in, Node *callee, Place **place, Value *recv, LangError *e);
bool update_is_checked(const Place *p); /* p[0].add_(x): x must not depend on parameters */
/* If the call succeeded (ok), stores recv's value in p and in *out. Frees p, consumes recv. */
bool update_close(Interp *in, Place *p, Value recv, bool ok, Value *out, LangError *e);
#endif
