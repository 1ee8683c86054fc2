/* mod_shard.h: a placement test for other modifiers.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_CHAIN_MOD_SHARD_H
#define GT_DISPATCHER_CHAIN_MOD_SHARD_H
#include "dispatcher/state/state.h"

/* True if all its tensors are on its home worker, and no scope places new ones elsewhere. */
static inline bool shard_is_quiet(const Client *c) {
    const Members *target = c->target.group, *births = c->births.group;
    return c->n_away == 0 && (!target || target == c->home) && (!births || births == c->home);
}
#endif
