/* guard.h: whom the sockets of net.c let in, and whom they speak to. Nothing is said to, and
 * nothing kept of, an end that has not shown in ZeroMQ's own handshake that it knows the token
 * (net_set_token).
 *
 * tcp: CURVE. The hub's key pair is derived from the token, so its public key is as secret as the
 * token is: who does not know it can neither open a connection nor pass for the hub, and nobody
 * reads along. ipc: PLAIN, checked by a ZAP thread in the same time whatever the token is; but
 * before a link says it, the socket must be this user's, in a place where nobody else can put one,
 * and so must the process that listens there.
 *
 * Also how many connections there may be: ZeroMQ 4.3.4 aborts the process when accept() finds no
 * descriptor free (EMFILE), so what it calls is the accept4 of guard.c, which leaves some free.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_NET_GUARD_H
#define GT_RUNTIME_NET_GUARD_H
#include "runtime/base/err.h"

/* Sets a ZeroMQ socket up, before it binds or connects. Without a token: nothing. */
bool guard_hub(void *context, void *socket, bool is_ipc, Err *err);
bool guard_link(void *socket, bool is_ipc, Err *err);
/* Ends the ZAP thread. No hub is open. */
void guard_stop(void *context);

/* Who listens at a socket of the file system: 1 this user, 0 nobody yet, -1 somebody else, or
 * somebody else could. */
int guard_meet(const char *path, Err *err);
#endif
