/* client.h: what the dispatcher keeps of one client: ids, tensors, credit.
 *
 * Credit: a client may have WINDOW_INSTS instructions and WINDOW_BYTES of frame heads under way;
 * the acks of its worker give them back, and whoever goes beyond is cut off. Ids are the client's
 * own; they only grow, so that one that is not in the table was freed or never made.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_CLIENT_H
#define GT_DISPATCHER_CLIENT_H
#include "dispatcher/handle.h"
#include "runtime/config.h"
#include "runtime/net.h"

typedef struct FrameCredit { uint64_t seq_end, bytes; } FrameCredit;

typedef struct Client {
    PeerId peer;
    uint32_t id;                     /* given by us, travels in every message about it        */
    int rank;                        /* of its home worker; -1: no worker is there yet         */
    char name[64];
    Handles tensors;
    Config signals;                  /* what the client says of them                           */
    uint64_t next_id;                /* ids below were used                                   */
    uint64_t live_bytes;
    uint64_t next_seq, acked_seq;    /* instructions before these have come, are done          */
    uint64_t bytes;                  /* frame heads under way                                 */
    FrameCredit *frame; size_t at, n_frames, cap; /* under way, oldest first: a ring           */
    uint64_t n_errors, n_questions;  /* instructions refused; stats() not yet answered         */
} Client;

Client *client_new(PeerId peer, uint32_t id, uint64_t seed);
void client_free(Client **c);
/* Takes credit for a frame of `count` instructions. false: beyond the window, err says how. */
bool client_credit(Client *c, uint32_t count, uint64_t head_bytes, Err *err);
/* Gives back what a worker has done; false: an ack that cannot be. */
bool client_ack(Client *c, uint64_t seq);
#endif
