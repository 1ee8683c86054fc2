/* peer.h: groups, peers by rank, and the messages between workers.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_PEER_H
#define GT_WORKER_EXEC_PEER_H
#include "worker/exec/job.h"

/* Defines a group by its members, in order. Called once, before an instruction names the group. */
void exec_on_group(Exec *x, uint32_t id, const int32_t *rank, int n);
/* Forgets a group. Its clients are gone and their work is dropped. */
void exec_on_group_gone(Exec *x, uint32_t id);
/* Handles SHARD, GET, PIECE or TAKEN from that worker. Ignores messages that are malformed or about
 * an unknown transfer. Consumes m. */
void exec_on_peer(Exec *x, uint32_t rank, Msg *m);
/* The next message for a peer, with its rank; false: none. Messages to one peer are in order. */
bool exec_next_peer(Exec *x, uint32_t *rank, Msg *out);
/* Sets where the peer's arena is mapped, until exec_on_peer_gone. base NULL: it is not mapped, and
 * boxes are requested (GET). Call it before the first message from that peer. */
void exec_peer_memory(Exec *x, uint32_t rank, const void *base, uint64_t bytes);
/* The peer has the arena [base, base + bytes), in this process or (handle not NULL) in another: if
 * the engine reaches it, boxes are read where they are. */
void exec_reach_peer(Exec *x, uint32_t rank, const void *base, uint64_t bytes,
                     const EngineHandle *handle);
/* Call this when a worker with that rank joins, perhaps in place of one that died. */
void exec_on_peer_there(Exec *x, uint32_t rank);
/* Call this when that worker is dead. Unpins the storages that it was reading, poisons (gone)
 * results that need its boxes, and stops reading its memory. */
void exec_on_peer_gone(Exec *x, uint32_t rank);

/* ---- For the files of exec ---- */

enum { SMALL_BOX = 4096 };      /* a box of up to so many bytes is sent with its descriptor */
enum { PIECE_BYTES = 1 << 20 }; /* bytes per GET of a box that cannot be read in place */
enum { PIECES_MAX = 4 };        /* GETs in flight per import */

void outbox_put(Outbox *o, uint32_t rank, Msg *m); /* consumes m */
bool outbox_take(Outbox *o, uint32_t *rank, Msg *m);
void outbox_fini(Outbox *o);
Peer *peer_of(Exec *x, uint32_t rank); /* NULL: the rank is invalid */
/* Offers a box of st to a reader (SHARD). Pins st unless the box is sent along. poison: there is no
 * box, and why. */
void peer_offer(Exec *x, const Job *j, uint32_t rank, Storage *st, const View *box, ErrCode poison);
void peer_get(Exec *x, const Job *j, uint32_t rank, uint64_t begin, uint64_t bytes);
/* Tells the owner that this rank has read the box (TAKEN), so that the owner unpins it. */
void peer_taken(Exec *x, uint32_t client, uint64_t number, uint32_t rank);
/* The same once the engine has done all that it was asked for. */
void peer_taken_late(Exec *x, uint32_t client, uint64_t number, uint32_t rank);
/* Delivers the descriptor from that rank, if it arrived before the instruction. */
void peer_deliver_early(Exec *x, Job *j, uint32_t rank);
/* Drops early descriptors: a client's that is gone, or (0) all that nothing will wait for. */
void peer_sweep(Exec *x, uint32_t client);
bool peer_has_older_pin(const Exec *x, uint64_t number);
void peer_fini(Exec *x);
#endif
