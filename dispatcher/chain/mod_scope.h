/* mod_scope.h: where open signals put what is computed.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_CHAIN_MOD_SCOPE_H
#define GT_DISPATCHER_CHAIN_MOD_SCOPE_H
#include "dispatcher/state/state.h"

/* What a signal asks for; out->group NULL: nothing. false: it cannot be had. */
bool scope_target(Dispatcher *d, Client *c, const char *name, size_t n, Target *out, Err *err);
/* Works out again what the open scopes come to: workers have changed. */
void scope_refresh(Dispatcher *d, Client *c);
#endif
