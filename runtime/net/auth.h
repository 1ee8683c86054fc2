/* auth.h: authentication of the sockets of net.c. Until a peer has proved in ZeroMQ's
 * handshake that it has the token (net_set_token), nothing is sent to it and nothing from it is
 * kept.
 *
 * TCP: CURVE. The hub's key pair is derived from the token, so its public key is as secret as
 * the token. A peer without it can neither connect nor impersonate the hub, and no third party
 * can read the traffic. ipc: PLAIN, checked by a ZAP thread in constant time. Before a link
 * sends the token, it checks that the socket and the listening process belong to this user, and
 * that others cannot replace the socket.
 *
 * Also limits the number of connections: ZeroMQ 4.3.4 aborts the process if accept() finds no free
 * descriptor (EMFILE). So ZeroMQ calls the accept4 of auth.c, which keeps some free.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_NET_AUTH_H
#define GT_RUNTIME_NET_AUTH_H
#include "runtime/base/err.h"
#include "runtime/net/endpoint.h"

/* Sets up a ZeroMQ socket before it binds or connects. Does nothing without a token. */
bool auth_hub(void *context, void *socket, bool is_ipc, Err *err);
bool auth_link(void *socket, bool is_ipc, Err *err);
/* What the token was read from, or "". */
void auth_token_file(char out[ENDPOINT_MAX]);
/* Ends the ZAP thread. Precondition: no hub is open. */
void auth_stop(void *context);

/* Returns 1 if this user owns the listener of a socket in the file system; 0: there is none yet;
 * -1: another user owns it, or may. */
int auth_meet(const char *path, Err *err);
#endif
