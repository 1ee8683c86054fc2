/* reach.h: the endpoint of a worker for its peers, and access to peers' memory. Fills in this
 * worker's DataPlane and uses that of others; plane.c exchanges the messages.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PLANE_REACH_H
#define GT_WORKER_PLANE_REACH_H
#include "runtime/net/endpoint.h"
#include "runtime/wire/wire.h"

/* Writes an endpoint for a worker to listen at, with the kind of transport of its dispatcher's.
 * ring and inproc: a new name; ipc and tcp on this machine: a socket in this user's private
 * directory; tcp: any port of the local address on the route to the dispatcher. */
bool reach_endpoint(const char *dispatcher, Endpoint *out, Err *err);
/* Makes an endpoint usable for others: an address that means all interfaces becomes one of them. */
void reach_public(Endpoint *e);

/* Describes this process and machine. endpoint: where it listens. fd -1: the memory is not a file.
 */
void reach_describe(const char *endpoint, const void *arena, uint64_t bytes, int fd,
                    DataPlane *out);
/* True if each can connect to the other's endpoint. Both sides compute the same answer. */
bool reach_is_mutual(const DataPlane *a, const DataPlane *b);

/* True if the peer is another process of this machine that lends device memory. */
bool reach_is_neighbour(const DataPlane *own, const DataPlane *peer);

/* A peer's arena, readable here. base NULL: it is not. */
typedef struct PeerMemory {
    const void *base;
    uint64_t bytes;
    bool is_mapped;
} PeerMemory;
/* Makes a peer's arena readable: in the same process directly, on the same machine by mapping its
 * file read-only. The file must belong to this user, have the announced inode and size, and be
 * sealed against shrinking. Returns false if the arena cannot be read; *why: the reason, or NULL if
 * that is normal (another machine, no file). */
bool peer_memory_open(const DataPlane *own, const DataPlane *peer, PeerMemory *out,
                      const char **why);
void peer_memory_close(PeerMemory *s);
#endif
