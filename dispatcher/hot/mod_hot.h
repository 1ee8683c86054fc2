/* mod_hot.h: passes the instructions of hot bodies (body.h) without the chain.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_HOT_MOD_HOT_H
#define GT_DISPATCHER_HOT_MOD_HOT_H
#include "dispatcher/state/state.h"

/* Passes the known instructions that come next. Precondition: the reader is in a hot record.
 * Returns true if the caller must look at the reader again (frame_peek), false if an instruction
 * for the chain comes next. */
bool hot_pass(Dispatcher *d, Client *c, FrameReader *reader);
#endif
