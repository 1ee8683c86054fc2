/* plane.h: the data plane: messages between workers that bypass the dispatcher.
 *
 * A worker has one Hub, where all its peers connect, and a Link to each peer's hub, opened for the
 * first message to it. An incoming connection begins with PEER_HELLO: rank and token. It is
 * accepted if the dispatcher has announced the same token for that rank (PEER). The hello may
 * arrive before PEER: then the connection stays pending, within limits. All others are dropped.
 *
 * The plane delivers the messages of worker_on_peer and worker_next_peer, in order per peer, and
 * finds out which peers' memory can be read. The dispatcher reports a peer's death. The plane
 * declares a peer lost if a connection is broken for PEER_LOST_MS and no death is reported: nothing
 * may wait for ever.
 *
 * For one thread. GT_DATA_PLANE=memfd (the default): a peer's memory is read in place where
 * possible; =zmq: everything is sent in messages; =ucx: everything is read through UCX (dp_ucx.h).
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PLANE_PLANE_H
#define GT_WORKER_PLANE_PLANE_H
#include "runtime/net/net.h"
#include "runtime/wire/wire_peer.h"

typedef struct PlaneConfig {
    const char *dispatcher; /* its endpoint, as used by this worker */
    const char *endpoint;   /* where to listen; NULL: derived from `dispatcher` */
    const void *arena;      /* this worker's memory (NULL: nobody can read it) ... */
    uint64_t arena_bytes;
    int arena_fd; /* ... and the file behind it, or -1 */
} PlaneConfig;

typedef struct Plane Plane;
Plane *plane_open(const PlaneConfig *config, Err *err);
void plane_close(Plane **p);                 /* after this no peer's memory may be read */
Hub *plane_hub(Plane *p);                    /* to wait on; plane_recv reads it */
const DataPlane *plane_data(const Plane *p); /* for this worker's hello */

/* ---- Messages of the dispatcher ---- */
void plane_on_welcome(Plane *p, uint32_t rank, uint64_t token);
void plane_on_peer(Plane *p, const PeerInfo *peer, int64_t now_ms);
void plane_on_peer_gone(Plane *p, uint32_t rank); /* its memory may no longer be read */

/* ---- Messages between peers ---- */
/* Takes the next message of a verified peer; false: none. */
bool plane_recv(Plane *p, uint32_t *rank, Msg *m, int64_t now_ms);
/* Consumes m. A message to an unknown or lost rank is dropped. */
void plane_send(Plane *p, uint32_t rank, Msg *m, int64_t now_ms);
/* Returns true once for each announced peer, at the first call: where its memory is (base NULL: it
 * cannot be read here). Valid until plane_on_peer_gone. */
bool plane_memory(Plane *p, uint32_t rank, const void **base, uint64_t *bytes);

/* The announcement of a verified peer whose device memory this process may open by its handle: one
 * of another process of this user on this machine. NULL: it may not. Ask after plane_memory. */
const DataPlane *plane_lent(Plane *p, uint32_t rank);

/* ---- Periodic checks ---- */
enum { PLANE_TICK_MS = 500 };
/* Drops connections that are pending for too long; declares lost those broken for too long. */
void plane_tick(Plane *p, int64_t now_ms);
/* True, with err set, if a connection to a peer's hub could not be made for PEER_LOST_MS. Peers may
 * wait for this worker for ever, so it must end. */
bool plane_is_stranded(const Plane *p, int64_t now_ms, Err *err);
/* for (at = 0; plane_lost(p, &at, &rank);): the peers that cannot be reached although the
 * dispatcher has not reported their death. The worker treats them as dead. */
bool plane_lost(const Plane *p, uint32_t *at, uint32_t *rank);
/* True if peers read the arena in place, by its physical pages (UCX). */
bool plane_is_pinned(const Plane *p);
/* Appends KEY=VALUE lines: messages and bytes sent to peers, bytes read one-sided, peers read in
 * place. */
void plane_stats(const Plane *p, Bytes *out);
#endif
