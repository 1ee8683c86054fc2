/* onesided.h: reading peers' boxes without their help, if the data plane is UCX (dp_ucx.h). The
 * reader receives SHARD, which says where a box is, and requests it (GET), as on other data planes;
 * but the plane answers the request itself, by reading the owner's memory. Only plane.c calls this.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PLANE_ONESIDED_H
#define GT_WORKER_PLANE_ONESIDED_H
#include "runtime/wire/wire.h"

typedef struct Onesided Onesided;
/* arena: what peers read here. bell(ctx) is called, from another thread, when there is an answer.
 * NULL: UCX failed, see err. */
Onesided *onesided_open(const void *arena, uint64_t bytes, void (*bell)(void *ctx), void *ctx,
                        Err *err);
void onesided_close(Onesided **o);
/* Writes this side's card, to be sent to a peer before any SHARD. */
void onesided_greet(const Onesided *o, Msg *out);

/* Handles a peer's message. True: it was for this module (a card); m is consumed. */
bool onesided_hear(Onesided *o, uint32_t rank, Msg *m);
/* Handles the worker's message to a peer. True: it is a GET that is being answered here; m is
 * consumed. */
bool onesided_ask(Onesided *o, uint32_t rank, Msg *m);
/* Takes the next answer. Returns 1: *m is the PIECE that the peer would have sent; -1: the box
 * cannot be read this way, and *m is the GET, to be sent to the peer; 0: none. */
int onesided_next(Onesided *o, uint32_t *rank, Msg *m);
void onesided_forget(Onesided *o, uint32_t rank); /* the peer is gone */
uint64_t onesided_bytes(const Onesided *o);       /* read so far */
#endif
