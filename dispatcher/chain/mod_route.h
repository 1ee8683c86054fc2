/* mod_route.h: how the loop over a client's frame (ingest.c) uses the last modifier.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_CHAIN_MOD_ROUTE_H
#define GT_DISPATCHER_CHAIN_MOD_ROUTE_H
#include "dispatcher/state/state.h"

/* route_open begins a client's frame m, route_close sends it, unchanged or rewritten. Between the
 * two calls this modifier owns m and may consume it. seq: the number of its first instruction.
 * Once a part of the frame was written, another client may have a turn before route_close. For
 * that, route_pause sends what was written and returns the seq for a second route_open, whose m is
 * NULL. */
void route_open(Dispatcher *d, Client *c, Msg *m, uint64_t seq);
uint64_t route_pause(Dispatcher *d, Client *c);
/* seq_end: one more than the number of the last instruction read; bytes: the frame's credit. */
void route_close(Dispatcher *d, Client *c, uint64_t seq_end, uint64_t bytes, bool is_complete);
void route_flush(Dispatcher *d, Client *c); /* sends what was written so far, if anything */
/* Sends the instructions in w, which are before seq_end, as a frame of its own; w is empty again.
 * bytes: credit that the client gets back when the workers have done the frame. */
void route_send(Dispatcher *d, Client *c, FrameWriter *w, const RankSet *to, uint64_t seq_end,
                uint64_t bytes);
/* Sets *out to the instruction with its place added. Precondition: its op has a place. */
void route_locate(const Flow *f, Located *out);
#endif
