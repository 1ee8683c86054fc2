/* chain.c: the table of stream modifiers (chain/modifier.h).
 * SPDX-License-Identifier: MIT */
#include "dispatcher/chain/modifier.h"

extern const Modifier modifier_hot, modifier_validate, modifier_handle, modifier_scope,
    modifier_place, modifier_route;

const Modifier *const modifiers[STAGES] = {
    [STAGE_HOT] = &modifier_hot,       [STAGE_VALIDATE] = &modifier_validate,
    [STAGE_HANDLE] = &modifier_handle, [STAGE_SCOPE] = &modifier_scope,
    [STAGE_PLACE] = &modifier_place,   [STAGE_ROUTE] = &modifier_route,
};

void chain_next(Flow *f, int stage) { modifiers[stage]->process(f, stage); }
