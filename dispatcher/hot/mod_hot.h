/* mod_hot.h: the door beside the chain for records of hot bodies.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_HOT_MOD_HOT_H
#define GT_DISPATCHER_HOT_MOD_HOT_H
#include "dispatcher/state/state.h"

/* The reader stands in a hot record. What comes there and is known is passed. True: what comes then
 * is to be looked at anew (frame_comes); false: it is an instruction for the chain. */
bool hot_take(Dispatcher *d, Client *c, FrameReader *reader);
#endif
