/* door.h: how programs of this user watch a cluster that lives inside another program (local.c).
 *
 * While nobody looks there is only a listening Unix socket, run-PID in the user's directory
 * (endpoint_local), mode 0600; the loop looks at it ten times a second. When somebody knocks, the
 * socket is replaced by a hub of the same name, to which the visitor connects again by itself.
 * Through it come watchers only. The file is removed at the end; a file that a crash has left is
 * recognized by its process, which is gone.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_DOOR_H
#define GT_DISPATCHER_DOOR_H
#include "runtime/net/net.h"

typedef struct Door Door;
/* NULL: there can be none (no directory, GT_WATCH=0). */
Door *door_open(void);
void door_close(Door **d); /* NULL-safe */
/* "ipc://...". Borrowed. */
const char *door_endpoint(const Door *d);
/* Returns the hub of those that watch; NULL: nobody does. now_ms: of a monotonic clock. */
Hub *door_look(Door *d, int64_t now_ms);
#endif
