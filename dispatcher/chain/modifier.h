/* modifier.h: the interface of all stream modifiers: process(instruction) -> zero or more
 * instructions, and stats(). A modifier transforms; it neither buffers nor executes. A new one is
 * a file mod_NAME.c, which defines `const Modifier modifier_NAME`, a stage and a row of chain.c.
 *
 * Functions of modifiers that others call beside the chain: hot_pass (mod_hot.h) passes known
 * instructions before it, the route_ functions (mod_route.h) begin, pause and end a client's
 * frame, and the scope_ functions (mod_scope.h) resolve a signal.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_CHAIN_MODIFIER_H
#define GT_DISPATCHER_CHAIN_MODIFIER_H
#include "dispatcher/state/flow.h"

/* The chain, in order. */
enum { STAGE_HOT, STAGE_VALIDATE, STAGE_HANDLE, STAGE_SCOPE, STAGE_PLACE, STAGE_ROUTE, STAGES };

typedef struct Modifier {
    const char *name;
    /* Passes zero or more flows on with chain_next(f, stage + 1). */
    void (*process)(Flow *f, int stage);
    void (*stats)(const struct Dispatcher *d, Bytes *out); /* KEY=VALUE lines */
} Modifier;

extern const Modifier *const modifiers[STAGES];
/* Runs the chain from this stage on, which is not STAGES. */
void chain_next(Flow *f, int stage);
#endif
