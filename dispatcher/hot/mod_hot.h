/* mod_hot.h: passes records of hot bodies without the chain.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_HOT_MOD_HOT_H
#define GT_DISPATCHER_HOT_MOD_HOT_H
#include "dispatcher/state/state.h"

/* The reader is in a hot record. Passes the known instructions at its position. True: look at
 * the reader anew (frame_look); false: an instruction for the chain comes next. */
bool hot_take(Dispatcher *d, Client *c, FrameReader *reader);
#endif
