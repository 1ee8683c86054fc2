/* take.h: takes a client's frames instruction by instruction, in the order of arrival.
 *
 * One frame may become very many instructions: a print of split tensors is a gather for each. So
 * a client gets the dispatcher for a slice at a time, which ends between two instructions as
 * soon as about SLICE of them were written for workers. The rest waits until other clients have
 * had their slices (take_slice). Later messages of the client wait behind it if their order
 * matters: frames and questions. A frame that is forwarded unchanged is not cut: nothing is
 * written for it, and it has at most HOT_INSTS instructions.
 *
 * The client's credit, which a frame takes on arrival, bounds what waits.
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
/* True if part of a frame waits, perhaps with more behind it. */
bool take_waits(const Client *c);
/* Queues a question there; dispatcher_ask is called when it is due. Consumes m. */
void take_later(Client *c, Msg *m);
/* The workers have been told of this cancel. Repeats it to workers that first hear of the client
 * through the waiting frames. */
void take_cancel(Client *c, const Cancel *cancel);
void take_free(Dispatcher *d, Client *c); /* also when nothing waits */
#endif
