/* call.h: calls of functions, builtins and modules; fields.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_CALL_H
#define GT_LANG_EVAL_CALL_H
#include "lang/value/interp.h"

bool eval_call(Interp *in, Node *n, Value *out, LangError *e);
/* Calls a function written in gt with n_pos values at base (the stack's top end), then n_kw keyword
 * values in the order of call's N_KEYWORDs. Consumes the values: the stack's top is base
 * afterwards. call may be NULL when n_kw is 0. self (borrowed) goes into f's self slot, if it has
 * one. */
bool fn_call(Interp *in, Fn *f, Value self, Value *base, int n_pos, int n_kw, const Node *call,
             Value *out, LangError *e);
/* Returns the interned name of a call's i-th keyword argument and sets *at to its node. N_KEYWORDs
 * come before the keys of **maps. Valid only while the callee binds its arguments. */
const char *call_keyword(Interp *in, const Node *call, int i, const Node **at);
/* Calls f with positional arguments (borrowed). *out is a new reference. */
bool interp_call(Interp *in, Value f, const Value *arg, int n_args, Value *out, LangError *e);
bool stack_room(Interp *in, size_t n, LangError *e);
bool eval_field(Interp *in, Node *n, Value *out, LangError *e); /* a.f without a call */
/* the same, for a base already evaluated (borrowed) */
bool field_get(Interp *in, Node *n, Value base, Value *out, LangError *e);
#endif
