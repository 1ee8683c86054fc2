/* mod_scope.h: where open signals place tensors.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_CHAIN_MOD_SCOPE_H
#define GT_DISPATCHER_CHAIN_MOD_SCOPE_H
#include "dispatcher/state/state.h"

/* Resolves a signal's target; out->group NULL: it names none. False: it cannot be met. */
bool scope_target(Dispatcher *d, Client *c, const char *name, size_t n, Target *out, Err *err);
/* Computes the open scopes again, after workers have changed. */
void scope_refresh(Dispatcher *d, Client *c);
#endif
