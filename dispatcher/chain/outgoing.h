/* outgoing.h: hot bodies (body.h) in what the dispatcher writes for groups of workers: what
 * it sends between two of a client's edges, or of those that intake.h has put in, located
 * instructions and the moves, copies and frees that it has inserted among them, is found out as a
 * client finds out about its own stream (runtime/wire/detector.h), and goes out as arguments alone.
 * Workers so know instructions again that they have carried out before (worker/plan/plan.h).
 *
 * A client has one table of such bodies, whoever is sent them. Frames are encoded once for all who
 * get them, so each of these must know the bodies in it: a body is told to all who got the round
 * that it was found in, and before a frame goes out those who were not told of one in it are, by a
 * frame of its own (a worker that takes part for the first time, a client's new home). A worker
 * reads definitions in any order, so nobody needs those that are not for him. Definitions stand in
 * frames of their own: in all others the table is as it is.
 *
 * What goes on as it came (mod_route.c) has the client's bodies, and is not seen here: then nothing
 * is expected up to the next edge.
 *
 * Memory of a client: 70 KiB from its first edge in a written frame on, OUTGOING_BYTES of forms
 * twice, and what detector.h says beside. Nothing where GT_HOTPATH_THRESHOLD=0.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_CHAIN_OUTGOING_H
#define GT_DISPATCHER_CHAIN_OUTGOING_H
#include "dispatcher/state/state.h"

typedef struct Outgoing Outgoing;
enum { OUTGOING_BYTES = 2 << 20 }; /* forms of a client's bodies */

/* Around what is written of a client's frame; passes: nothing was, it goes on as it came. */
void outgoing_open(Dispatcher *d, Client *c);
void outgoing_close(Dispatcher *d, Client *c, bool passes);
/* An instruction was added to d->frame: of the client's stream, or inserted there. May send it. */
void outgoing_added(Dispatcher *d, Client *c, Op op);
/* A loop has come round, and no `edge` says so: a hot body of the client's that does not end with
 * one begins. May send d->frame. */
void outgoing_round(Dispatcher *d, Client *c);
/* d->frame is complete, and not sent yet: all who will get it are told of its bodies. */
void outgoing_tell(Dispatcher *d, Client *c);
void outgoing_free(Outgoing **o); /* NULL-safe */
#endif
