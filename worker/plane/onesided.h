/* onesided.h: one-sided reads of peers' boxes by UCX (dp_ucx.h). As on other data planes, the
 * reader receives SHARD, which says where a box is, and requests it (GET). But this module
 * intercepts the GET, reads the owner's memory and returns the PIECE. Only plane.c calls it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PLANE_ONESIDED_H
#define GT_WORKER_PLANE_ONESIDED_H
#include "runtime/base/err.h"
#include "runtime/base/msg.h"

typedef struct Onesided Onesided;
/* arena: the memory that peers may read. wake(ctx) is called from another thread when onesided_next
 * has something. NULL: UCX failed, see err. */
Onesided *onesided_open(const void *arena, uint64_t bytes, void (*wake)(void *ctx), void *ctx,
                        Err *err);
void onesided_close(Onesided **o);
/* Writes this side's card, to be sent to a peer before any SHARD. */
void onesided_hello(const Onesided *o, Msg *out);

/* Handles a peer's message. True: it was for this module (a card); m is consumed. */
bool onesided_on_message(Onesided *o, uint32_t rank, Msg *m);
/* Handles a message of the worker to a peer. True: it is a GET that this module carries out; m is
 * consumed. */
bool onesided_on_send(Onesided *o, uint32_t rank, Msg *m);
/* Takes the next completed GET. Returns 1: *m is the PIECE, as if the peer had sent it; -1: the box
 * cannot be read one-sided, and *m is the GET, to be sent to the peer; 0: none. */
int onesided_next(Onesided *o, uint32_t *rank, Msg *m);
void onesided_forget(Onesided *o, uint32_t rank); /* the peer is gone */
uint64_t onesided_bytes(const Onesided *o);       /* read so far */
#endif
