/* reach.h: where a worker is reached by its peers, and how its memory is: filling in a DataPlane,
 * and making use of another's. No messages here; plane.c exchanges them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PLANE_REACH_H
#define GT_WORKER_PLANE_REACH_H
#include "runtime/net/endpoint.h"
#include "runtime/wire/wire.h"

/* Where a worker listens that reaches its dispatcher at `dispatcher`: beside it, by the same kind
 * of way. ring and inproc: a name of its own; ipc and this machine's tcp: a socket in this user's
 * private directory; tcp: any port of the address from which the dispatcher is seen. */
bool reach_endpoint(const char *dispatcher, Endpoint *out, Err *err);
/* An endpoint as others can use it: listening at all addresses is told as one of them. */
void reach_public(Endpoint *e);

/* Of this process and machine; endpoint: where it listens. fd -1: the memory is no file. */
void reach_describe(const char *endpoint, const void *arena, uint64_t bytes, int fd,
                    DataPlane *out);
/* Both find the other's endpoint. The same answer on either side. */
bool reach_is_mutual(const DataPlane *a, const DataPlane *b);

/* A peer's arena, readable here. base NULL: it is not. */
typedef struct Sight {
    const void *base;
    uint64_t bytes;
    bool is_mapped;
} Sight;
/* Its own address in the same process, a read-only mapping of its file on the same machine. The
 * file must be the very one that was told: this user's, with that inode and size, and not to be
 * shortened. false: it cannot be read; *why is set, or NULL where nobody would expect it to be. */
bool sight_open(const DataPlane *own, const DataPlane *peer, Sight *out, const char **why);
void sight_close(Sight *s);
#endif
