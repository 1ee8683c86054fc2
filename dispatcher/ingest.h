/* ingest.h: reads clients' frames, in their order, and sends each instruction through the chain.
 *
 * One frame may expand to very many instructions: a print of split tensors needs a gather for each.
 * So the dispatcher reads frames in slices. A slice ends between two instructions, after about
 * SLICE instructions were written for workers. The rest of the frame waits until other clients have
 * had their slices (ingest_slice). The client's later frames and questions wait too, because their
 * order matters. A frame that is forwarded unchanged is not sliced: nothing is written for it, and
 * it has at most HOT_INSTS instructions.
 *
 * A frame costs its client credit when it arrives. That limits how many frames wait.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_INGEST_H
#define GT_DISPATCHER_INGEST_H
#include "dispatcher/state/state.h"

/* Checks a frame that has arrived, charges its credit, and reads as much of it as a slice allows,
 * unless earlier frames of its client wait. Consumes m. Returns 0, or -1 if the client is to be
 * disconnected; err says why. */
int ingest_frame(Dispatcher *d, Client *c, Msg *m, Err *err);
/* Reads the next slice of what waits. Returns the same as ingest_frame. */
int ingest_slice(Dispatcher *d, Client *c, Err *err);
/* True if a frame, or the rest of one, waits; later messages may wait too. */
bool ingest_waits(const Client *c);
/* Queues a frame, or a question (MSG_STATS). After all before it, a frame is read, and a question
 * goes to question_ask. Consumes m. */
void ingest_later(Client *c, Msg *m);
/* Call it after a cancel was sent to the client's workers. Sends the cancel again when nothing
 * waits any more, because a waiting frame may be a worker's first one of this client. */
void ingest_cancel(Client *c, const Cancel *cancel);
void ingest_free(Dispatcher *d, Client *c); /* NULL-safe: c may have no Ingest yet */
#endif
