/* take.h: takes a client's frames instruction by instruction, in the order of arrival.
 *
 * One frame may expand to very many instructions: a print of split tensors needs a gather for each.
 * So frames are taken in slices. A slice ends between two instructions, as soon as about SLICE
 * instructions were written for workers. The rest of the frame waits until other clients have had
 * their slices (take_slice). The client's later frames and questions wait too, because their order
 * matters. A frame that is forwarded unchanged is not sliced: nothing is written for it, and it has
 * at most HOT_INSTS instructions.
 *
 * A frame takes credit from the client when it arrives. That limits how many frames wait.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_TAKE_H
#define GT_DISPATCHER_TAKE_H
#include "dispatcher/state/state.h"

/* Checks a frame that has arrived, takes credit for it, and takes as much of it as a slice allows,
 * unless earlier frames of its client wait. Consumes m. Returns 0, or -1 if the client is to be
 * disconnected; err says why. */
int take_frame(Dispatcher *d, Client *c, Msg *m, Err *err);
/* Takes the next slice of what waits. Returns the same as take_frame. */
int take_slice(Dispatcher *d, Client *c, Err *err);
/* True if a frame, or the rest of one, waits; later messages may wait too. */
bool take_waits(const Client *c);
/* Queues a frame, or a question (MSG_STATS), for which dispatcher_ask is called when all before it
 * was taken. Consumes m. */
void take_later(Client *c, Msg *m);
/* To be called after a cancel was sent to the client's workers. Sends it again when nothing waits
 * any more, because a waiting frame may be a worker's first one of this client. */
void take_cancel(Client *c, const Cancel *cancel);
void take_free(Dispatcher *d, Client *c); /* also when nothing waits */
#endif
