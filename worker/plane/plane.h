/* plane.h: the data plane: how one worker's messages reach the others, without the dispatcher.
 *
 * A worker has one Hub where it hears all its peers, and a Link to each peer's hub, opened when
 * there is first something to say. A connection that comes in says who it is (PEER_HELLO: rank and
 * token); it is believed if the dispatcher told the same token for that rank (PEER). The hello may
 * overtake the dispatcher's word: then the connection is kept waiting, within limits. Others are
 * dropped.
 *
 * What is said between workers is the worker's business (worker_on_peer, worker_next_peer); the
 * plane carries it, in order per peer, and finds out where a peer's memory can be read. A peer's
 * death is told by the dispatcher; only when a connection breaks and nothing is heard of a death
 * does the plane itself declare the peer lost, so that nobody waits for ever.
 *
 * One thread. GT_DATA_PLANE=zmq: no memory is read in place, all travels in messages; =ucx: nor
 * that, all is read through UCX (dp_ucx.h); =memfd: the rule, in place where it can be.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PLANE_PLANE_H
#define GT_WORKER_PLANE_PLANE_H
#include "runtime/net/net.h"
#include "runtime/wire/wire.h"

typedef struct PlaneConfig {
    const char *dispatcher; /* its endpoint, as this worker reaches it            */
    const char *endpoint;   /* where to listen; NULL: worked out from the above   */
    const void *arena;      /* this worker's memory ...                           */
    uint64_t arena_bytes;
    int arena_fd; /* ... and the file that it is, or -1                  */
} PlaneConfig;

typedef struct Plane Plane;
Plane *plane_open(const PlaneConfig *config, Err *err);
void plane_close(Plane **p);                 /* after it no peer's memory may be read */
Hub *plane_hub(Plane *p);                    /* to wait for; plane_recv reads it      */
const DataPlane *plane_data(const Plane *p); /* for this worker's hello */

/* ---- what the dispatcher says ---- */
void plane_on_welcome(Plane *p, uint32_t rank, uint64_t token);
void plane_on_peer(Plane *p, const PeerInfo *peer, int64_t now_ms);
void plane_on_peer_gone(Plane *p, uint32_t rank); /* its memory may no longer be read */

/* ---- what peers say ---- */
/* The next message of a peer whose name is sure; false: none. */
bool plane_recv(Plane *p, uint32_t *rank, Msg *m, int64_t now_ms);
/* Consumes m. To a rank that is not known or lost it is dropped. */
void plane_send(Plane *p, uint32_t rank, Msg *m, int64_t now_ms);
/* true once for each peer that was told, at the first call: where its memory is (base NULL: it
 * cannot be read here). Valid until plane_on_peer_gone. */
bool plane_memory(Plane *p, uint32_t rank, const void **base, uint64_t *bytes);

/* ---- once in a while ---- */
enum { PLANE_TICK_MS = 500 };
/* Looks after connections: those kept waiting for too long, those that broke. */
void plane_tick(Plane *p, int64_t now_ms);
/* Some peer's hub has not answered at all, in all this time: it may wait for us and never know.
 * This worker is of no use where it is; err says why. */
bool plane_is_stranded(const Plane *p, int64_t now_ms, Err *err);
/* for (at = 0; plane_lost(p, &at, &rank);): peers that live, for all that the dispatcher says, but
 * cannot be reached. The worker treats them as dead. */
bool plane_lost(const Plane *p, uint32_t *at, uint32_t *rank);
/* KEY=VALUE lines: messages and bytes sent to peers, bytes read one-sided, peers read in place. */
/* Peers read the arena where it lies, by its physical pages. */
bool plane_is_pinned(const Plane *p);
void plane_stats(const Plane *p, Bytes *out);
#endif
