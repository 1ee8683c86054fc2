/* mod_route.h: the interface of the last modifier for the loop over a frame.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_CHAIN_MOD_ROUTE_H
#define GT_DISPATCHER_CHAIN_MOD_ROUTE_H
#include "dispatcher/state/state.h"

/* route_open begins a client's frame, route_close sends it, unchanged or rewritten. Between the
 * two the route owns m and may consume it. seq: of the first instruction. If something of the
 * frame was written, another client may have its turn in between: route_pause returns the seq
 * for a second route_open, then without m. */
void route_open(Dispatcher *d, Client *c, Msg *m, uint64_t seq);
uint64_t route_pause(Dispatcher *d, Client *c);
/* seq_end: after the last instruction read; bytes: the frame's credit. */
void route_close(Dispatcher *d, Client *c, uint64_t seq_end, uint64_t bytes, bool is_complete);
void route_flush(Dispatcher *d, Client *c); /* sends what was written so far, if anything */
/* Sends w, which covers what comes before seq_end, as a frame of its own; bytes: credit that it
 * brings back when it is done. w is empty again. */
void route_send(Dispatcher *d, Client *c, FrameWriter *w, const RankSet *to, uint64_t seq_end,
                uint64_t bytes);
/* Writes an instruction that has a place, with the place, into *out. */
void route_locate(const Flow *f, Located *out);
#endif
