/* take.h: takes a client's frames instruction by instruction, in the order of arrival.
 *
 * One frame may expand to very many instructions: a print of split tensors needs a gather for each.
 * So frames are taken in slices, which end between two instructions as soon as about SLICE
 * instructions were written for workers. The rest waits until other clients have had their slices
 * (take_slice). Later messages of the client whose order matters, frames and requests, wait too. A
 * frame that is forwarded unchanged is not sliced: nothing is written for it, and it has at most
 * HOT_INSTS instructions.
 *
 * A frame takes the client's credit on arrival, which limits the waiting frames.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_TAKE_H
#define GT_DISPATCHER_TAKE_H
#include "dispatcher/state/state.h"

/* A frame has arrived: checks it, takes credit, and takes as much of it as a slice allows,
 * unless earlier ones of its client wait. Consumes m. Returns 0, or -1: disconnect the client,
 * err says why. */
int take_frame(Dispatcher *d, Client *c, Msg *m, Err *err);
/* Takes the next slice of what waits. Returns as take_frame. */
int take_slice(Dispatcher *d, Client *c, Err *err);
/* True if a part of a frame waits, perhaps with later messages. */
bool take_waits(const Client *c);
/* Queues a request behind them; dispatcher_ask is called when it is due. Consumes m. */
void take_later(Client *c, Msg *m);
/* The workers have got this cancel. Sends it again to workers that get their first frame of the
 * client from the waiting frames. */
void take_cancel(Client *c, const Cancel *cancel);
void take_free(Dispatcher *d, Client *c); /* also when nothing waits */
#endif
