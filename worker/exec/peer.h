/* peer.h: groups, peers by rank, and the messages between workers.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_PEER_H
#define GT_WORKER_EXEC_PEER_H
#include "worker/exec/job.h"

/* The members of a group, in order; called once, before an instruction names it. */
void exec_on_group(Exec *x, uint32_t id, const int32_t *rank, int n);
/* The group's clients are gone, and so is their work. */
void exec_on_group_gone(Exec *x, uint32_t id);
/* Handles SHARD, GET, PIECE or TAKEN from that worker; consumes m. Ignores malformed messages, and
 * those about an unknown transfer. */
void exec_on_peer(Exec *x, uint32_t rank, Msg *m);
/* The next message for a peer, with its rank; false: none. Messages to one peer are in order. */
bool exec_next_peer(Exec *x, uint32_t *rank, Msg *out);
/* The peer's arena can be read here at base (until exec_on_peer_gone); NULL: it cannot, and boxes
 * are requested (GET). To be called before the first message from that peer. */
void exec_peer_memory(Exec *x, uint32_t rank, const void *base, uint64_t bytes);
/* A worker with that rank has arrived, perhaps after another one that died. */
void exec_on_peer_there(Exec *x, uint32_t rank);
/* That worker is dead: releases what it was reading, poisons (gone) what waits for it. Its memory
 * is not read any more. */
void exec_on_peer_gone(Exec *x, uint32_t rank);

/* ---- For the files of exec ---- */

enum { SMALL_BOX = 4096 };      /* bytes of a box that travels with its descriptor */
enum { PIECE_BYTES = 1 << 20 }; /* requested at a time of a box that cannot be read in place ... */
enum { PIECES_MAX = 4 };        /* ... in so many requests at once */

void outbox_put(Outbox *o, uint32_t rank, Msg *m); /* consumes m */
bool outbox_take(Outbox *o, uint32_t *rank, Msg *m);
void outbox_fini(Outbox *o);
Peer *peer_of(Exec *x, uint32_t rank); /* NULL: the rank is invalid */
bool peer_is_gone(const Exec *x, uint32_t rank);
/* Sends SHARD of a box of st to a reader; pins st if the box does not travel along. poison: there
 * is no box. */
void peer_offer(Exec *x, const Job *j, uint32_t rank, Storage *st, const View *box, ErrCode poison);
void peer_get(Exec *x, const Job *j, uint32_t rank, uint64_t begin, uint64_t bytes);
void peer_taken(Exec *x, uint32_t client, uint64_t number, uint32_t rank);
/* Delivers what arrived early for this import. */
void peer_deliver_early(Exec *x, Job *j, uint32_t rank);
void peer_sweep(Exec *x, uint32_t client); /* early ones of a client that is gone; 0: of all such */
bool peer_has_older_pin(const Exec *x, uint64_t number);
void peer_fini(Exec *x);
#endif
