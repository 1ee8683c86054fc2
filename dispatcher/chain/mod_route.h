/* mod_route.h: what the loop over a frame asks of the last modifier.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_CHAIN_MOD_ROUTE_H
#define GT_DISPATCHER_CHAIN_MOD_ROUTE_H
#include "dispatcher/state/state.h"

/* Around the instructions of one client's frame: opens it, then sends what it has become. Between
 * the two m is the route's, which may consume it. seq: of its first instruction. In between another
 * client may have its turn, if something of the frame was written already: route_pause returns the
 * seq with which it is opened again, then without m. */
void route_open(Dispatcher *d, Client *c, Msg *m, uint64_t seq);
uint64_t route_pause(Dispatcher *d, Client *c);
/* seq_end: of what was read; bytes: the frame's credit. */
void route_close(Dispatcher *d, Client *c, uint64_t seq_end, uint64_t bytes, bool is_complete);
void route_flush(Dispatcher *d, Client *c); /* what was written so far, if anything, is sent */
/* An instruction that has a place, with it. */
void route_locate(const Flow *f, Located *out);
#endif
