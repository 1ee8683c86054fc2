/* door.h: how programs of this user watch a cluster that lives inside another program (local.c).
 *
 * While no program watches, there is only a listening Unix socket, run-PID in the user's directory
 * (endpoint_local), mode 0600, which the loop polls ten times a second. When a program connects, a
 * hub of the same name replaces the socket, and the program connects to it again by itself. The hub
 * accepts watchers only. The file is removed at the end. A file that a crash left is recognized by
 * its PID, which no process has.
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
/* Returns the hub of the programs that watch; NULL: there is none. now_ms: of a monotonic clock. */
Hub *door_look(Door *d, int64_t now_ms);
#endif
