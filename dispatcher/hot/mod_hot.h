/* mod_hot.h: the door beside the chain for records of hot bodies.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_HOT_MOD_HOT_H
#define GT_DISPATCHER_HOT_MOD_HOT_H
#include "dispatcher/state/state.h"

/* Passes what comes next of a hot record and is known; the rest is for the chain. */
void hot_take(Dispatcher *d, Client *c, FrameReader *reader);
#endif
