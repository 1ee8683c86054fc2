/* modifier.h: the interface of all stream modifiers: process(instruction) -> zero or more
 * instructions, and stats(). A modifier transforms; it neither buffers nor executes. The chain
 * is a table in chain.c: a new modifier is one file mod_NAME.c, which defines `const Modifier
 * modifier_NAME`, and one row there.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_CHAIN_MODIFIER_H
#define GT_DISPATCHER_CHAIN_MODIFIER_H
#include "dispatcher/state/flow.h"

typedef struct Modifier {
    const char *name;
    /* Passes zero or more flows on with chain_next(f, stage + 1). */
    void (*process)(Flow *f, int stage);
    void (*stats)(const struct Dispatcher *d, Bytes *out); /* KEY=VALUE lines */
} Modifier;

extern const Modifier *const modifiers[]; /* in order; n_modifiers of them */
extern const int n_modifiers;
void chain_next(Flow *f, int stage); /* runs modifiers[stage], if it exists */
#endif
