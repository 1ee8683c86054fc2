/* peer.h: what workers know of one another: groups, and peers by rank; and what they say.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_PEER_H
#define GT_WORKER_EXEC_PEER_H
#include "worker/exec/job.h"

/* Members of a group, in order, before an instruction names it. A group is told once. */
void exec_on_group(Exec *x, uint32_t id, const int32_t *rank, int n);
/* Its clients are gone, and what they had under way with them. */
void exec_on_group_gone(Exec *x, uint32_t id);
/* SHARD, GET, PIECE or TAKEN from that worker; consumes m. What is malformed, or about a transfer
 * that there is not, is ignored. */
void exec_on_peer(Exec *x, uint32_t rank, Msg *m);
/* The next message for a peer, with its rank; false: none. Messages to one peer are in order. */
bool exec_next_peer(Exec *x, uint32_t *rank, Msg *out);
/* The peer's arena can be read here at base (until exec_on_peer_gone); NULL: it cannot, then boxes
 * are asked for (GET). To be told before the first message from that peer is handed in. */
void exec_peer_memory(Exec *x, uint32_t rank, const void *base, uint64_t bytes);
/* A worker with that rank is there, perhaps after another that died. */
void exec_on_peer_there(Exec *x, uint32_t rank);
/* That worker is dead: what it reads of ours is let go, what waits for it is poisoned (gone). Its
 * memory is not read any more. */
void exec_on_peer_gone(Exec *x, uint32_t rank);

/* ---- For the files of exec ---- */

enum { SMALL_BOX = 4096 };      /* bytes of a box that travels with its descriptor */
enum { PIECE_BYTES = 1 << 20 }; /* of a box that cannot be read in place, at a time ... */
enum { PIECES_MAX = 4 };        /* ... so many asked for */

void outbox_put(Outbox *o, uint32_t rank, Msg *m); /* consumes m */
bool outbox_take(Outbox *o, uint32_t *rank, Msg *m);
void outbox_fini(Outbox *o);
Peer *peer_of(Exec *x, uint32_t rank); /* NULL: no worker can have this rank */
bool peer_is_gone(const Exec *x, uint32_t rank);
/* SHARD of a box of st to a reader; pins st where it does not travel along. poison: there is no
 * box. */
void peer_offer(Exec *x, const Job *j, uint32_t rank, Storage *st, const View *box, ErrCode poison);
void peer_get(Exec *x, const Job *j, uint32_t rank, uint64_t begin, uint64_t bytes);
void peer_taken(Exec *x, uint32_t client, uint64_t number, uint32_t rank);
/* What came early for this import is delivered. */
void peer_deliver_early(Exec *x, Job *j, uint32_t rank);
void peer_sweep(Exec *x, uint32_t client); /* early ones of a client that is gone; 0: of all such */
bool peer_has_older_pin(const Exec *x, uint64_t number);
void peer_fini(Exec *x);
#endif
