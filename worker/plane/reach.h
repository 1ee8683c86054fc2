/* reach.h: at which address peers reach a worker, and how they can read its memory: it fills in
 * this worker's DataPlane and uses that of others. No messages here; plane.c exchanges them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PLANE_REACH_H
#define GT_WORKER_PLANE_REACH_H
#include "runtime/net/endpoint.h"
#include "runtime/wire/wire.h"

/* Writes where a worker should listen whose dispatcher is at `dispatcher`: the same kind of
 * transport, beside it. ring and inproc: a name of its own; ipc and this machine's tcp: a socket in
 * this user's private directory; tcp: any port of the address on the route to the dispatcher. */
bool reach_endpoint(const char *dispatcher, Endpoint *out, Err *err);
/* Makes an endpoint usable for others: an address that means all interfaces becomes one of them. */
void reach_public(Endpoint *e);

/* Describes this process and machine. endpoint: where it listens. fd -1: the memory is no file. */
void reach_describe(const char *endpoint, const void *arena, uint64_t bytes, int fd,
                    DataPlane *out);
/* True if each can connect to the other's endpoint. Both sides compute the same answer. */
bool reach_is_mutual(const DataPlane *a, const DataPlane *b);

/* A peer's arena, readable here. base NULL: it is not. */
typedef struct Sight {
    const void *base;
    uint64_t bytes;
    bool is_mapped;
} Sight;
/* In the same process uses the arena itself, on the same machine maps its file read-only. The file
 * must be the one announced: owned by this user, with that inode and size, and unable to shrink.
 * Returns false if it cannot be read; *why is the reason, or NULL if that is to be expected. */
bool sight_open(const DataPlane *own, const DataPlane *peer, Sight *out, const char **why);
void sight_close(Sight *s);
#endif
