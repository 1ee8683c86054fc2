/* chain.c: the modifiers of the stream in order. A new one is a file mod_NAME.c and a row here.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/chain/modifier.h"

#define MODIFIERS(X) X(hot) X(validate) X(scope) X(shard) X(route)

#define DECLARE(name) extern const Modifier modifier_##name;
MODIFIERS(DECLARE)

#define ROW(name) &modifier_##name,
const Modifier *const modifiers[] = {MODIFIERS(ROW)};
const int n_modifiers = sizeof modifiers / sizeof modifiers[0];

void chain_next(Flow *f, int stage) {
    if (stage < n_modifiers) modifiers[stage]->process(f, stage);
}
