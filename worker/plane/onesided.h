/* onesided.h: reading peers' boxes without their doing, where the data plane is UCX (dp_ucx.h): the
 * reader is told what lies where (SHARD) and asks for it (GET), as ever; the plane answers such a
 * question itself, by reading the owner's memory. plane.c calls this, nobody else.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PLANE_ONESIDED_H
#define GT_WORKER_PLANE_ONESIDED_H
#include "runtime/wire/wire.h"

typedef struct Onesided Onesided;
/* arena: what peers read here. bell(ctx) is rung, from another thread, when there is an answer. */
Onesided *onesided_open(const void *arena, uint64_t bytes, void (*bell)(void *ctx), void *ctx,
                        Err *err);
void onesided_close(Onesided **o);
/* For a peer, before it is told of anything to read. */
void onesided_greet(const Onesided *o, Msg *out);

/* What a peer says on its way to the worker: true: it was for us (a card; m is consumed). */
bool onesided_hear(Onesided *o, uint32_t rank, Msg *m);
/* What the worker says on its way to a peer: true: it is being answered here (m is consumed). */
bool onesided_ask(Onesided *o, uint32_t rank, Msg *m);
/* The next answer: 1: *m is the PIECE that the peer would have sent; -1: it cannot be read this
 * way, and *m is the question, to be sent on; 0: none. */
int onesided_next(Onesided *o, uint32_t *rank, Msg *m);
void onesided_forget(Onesided *o, uint32_t rank); /* the peer is gone */
uint64_t onesided_bytes(const Onesided *o);       /* read so far */
#endif
