/* outgoing.h: hot bodies (body.h) in the frames that the dispatcher writes for groups of workers. A
 * detector (runtime/wire/detector.h) gets the instructions between two edges, of the client or
 * inserted by finder.h: located instructions, and inserted moves, copies and frees. Repetitions are
 * sent as arguments alone. So workers recognise instructions that they have run before
 * (worker/plan/plan.h).
 *
 * A client has one table of such bodies for all recipients. A frame is encoded once for all
 * recipients, so each of them must know the bodies in it. A body is sent to all workers that
 * got instructions in the iteration in which it was found. Before a frame goes out, recipients that
 * lack one of its bodies (a worker that joins, a client's new home) get it in a frame of its own. A
 * worker reads definitions in any order and needs only those that it uses. Definitions are
 * always in frames of their own, so other frames do not change the table.
 *
 * Frames that are forwarded unchanged (mod_route.c) use the client's own bodies and bypass this
 * file. Then no body is looked for until the next edge.
 *
 * Memory per client: 70 KiB from its first edge in a written frame on, BODIES_BYTES of forms
 * twice, and what detector.h states. Nothing with GT_HOTPATH_THRESHOLD=0.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_CHAIN_OUTGOING_H
#define GT_DISPATCHER_CHAIN_OUTGOING_H
#include "dispatcher/state/state.h"

typedef struct Outgoing Outgoing;

/* Call these before and after writing a client's frame. passes: nothing was written, because the
 * frame is forwarded unchanged. */
void outgoing_open(Dispatcher *d, Client *c);
void outgoing_close(Dispatcher *d, Client *c, bool passes);
/* An instruction of the client's stream, or an inserted one, was added to d->frame. May send
 * d->frame. */
void outgoing_added(Dispatcher *d, Client *c, Op op);
/* A loop begins its next iteration without an `edge`: a hot body of the client that does not end
 * with one begins. May send d->frame. */
void outgoing_round(Dispatcher *d, Client *c);
/* d->frame is complete and not yet sent: sends its bodies to all recipients that lack them. */
void outgoing_define(Dispatcher *d, Client *c);
void outgoing_free(Outgoing **o); /* NULL-safe */
#endif
