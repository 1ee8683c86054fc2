/* resolve.h: which variable each name of a program is, and values that nothing uses.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SYNTAX_RESOLVE_H
#define GT_LANG_SYNTAX_RESOLVE_H
#include "lang/syntax/ast.h"

/* Fills w with "result not used" for an expression statement and suggests what was probably meant.
 * is_same_kind: its value may be of the same kind as unused_target's. */
void unused_warning(const Node *n, bool is_same_kind, LangError *w);
/* Returns the name (N_NAME) that n was probably meant to change, or NULL. */
const Node *unused_target(const Node *n);
/* Resolves every name to a scope and slot. Fails for a bare use of a constructor's name in a
 * method, return outside a function ... */
bool resolve_program(Program *p, WarnFn warn, void *ctx, LangError *e);
#endif
