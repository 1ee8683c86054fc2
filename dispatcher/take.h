/* take.h: a client's frames, taken instruction by instruction in the order in which they came.
 *
 * One frame may become very many instructions: a print of tensors that are split is a gather for
 * each of them. So a client has the dispatcher for a slice at a time, which ends between two
 * instructions as soon as SLICE of them or so were written for workers. The rest waits until other
 * clients have had their slices (take_slice), and what the client says meanwhile waits behind it
 * where the order matters: frames and questions. A frame that goes on as it came is not cut:
 * nothing is written for it, and it has HOT_INSTS instructions at most.
 *
 * What waits is bounded by the client's credit, which a frame takes when it comes.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_TAKE_H
#define GT_DISPATCHER_TAKE_H
#include "dispatcher/state/state.h"

/* A frame has come: it is checked and takes credit; then it is taken, or as much of it as a slice
 * allows, unless others of its client wait. Consumes m. 0, or -1: the client is to be cut off, err
 * says why. */
int take_frame(Dispatcher *d, Client *c, Msg *m, Err *err);
/* The next slice of what waits: likewise. */
int take_slice(Dispatcher *d, Client *c, Err *err);
/* Part of a frame waits, and perhaps more behind it. */
bool take_waits(const Client *c);
/* Lets a question wait there; dispatcher_ask is called when it is its turn. Consumes m. */
void take_later(Client *c, Msg *m);
/* Workers heard of this cancel; those that hear of the client by what waits hear of it then. */
void take_cancel(Client *c, const Cancel *cancel);
void take_free(Dispatcher *d, Client *c); /* also when nothing waits */
#endif
