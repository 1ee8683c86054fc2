/* net.h: messages between client, dispatcher and workers. net.c and auth.c are the only files
 * that include zmq.h.
 *
 * There are two ends. A Hub accepts many peers and gives each a PeerId. A Link is one connection
 * to a Hub. Two mechanisms implement the same calls, chosen by the endpoint's scheme:
 *   ring://name     within one process: two lock-free queues per link, futex wake-up (ring.c)
 *   inproc://name, ipc://path, tcp://host:port   ZeroMQ ROUTER and DEALER (net.c)
 * Rings exist because an embedded cluster's latency is that of thread wake-ups, and because TSan
 * understands them.
 *
 * Sending has no high-water mark: credit limits the flow, and hub_unread finds a peer that does not
 * read the messages that need no credit. A hub reads up to some thousand messages of a peer ahead;
 * further ones stay in the peer's memory. A ROUTER has ROUTER_MANDATORY: a send to a peer that is
 * gone is an error. Sends never block. One thread uses a Hub, and one thread uses a Link;
 * hub_wake may be called from any thread. A worker has both ends: it waits for its link to the
 * dispatcher and for the hub of its peers with net_wait.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_NET_NET_H
#define GT_RUNTIME_NET_NET_H
#include "runtime/base/err.h"
#include "runtime/base/msg.h"

typedef uint32_t PeerId; /* from 1; never reused within a Hub */

typedef struct Hub Hub;
typedef struct Link Link;

/* endpoint as above. ERR_IO if it is taken. The caller owns the result. */
Hub *hub_open(const char *endpoint, Err *err);
void hub_close(Hub **hub);                /* peers notice; the endpoint is free again */
const char *hub_endpoint(const Hub *hub); /* with the port filled in for tcp://host:* */
/* Returns the next event without waiting: 1: a message; 0: none; -1: peer `from` is gone (msg is
 * empty), which comes after all its messages. */
int hub_recv(Hub *hub, PeerId *from, Msg *msg);
bool hub_send(Hub *hub, PeerId to, Msg *msg); /* consumes msg in any case; false: peer gone */
/* True if bytes of the peer arrived within that time, perhaps part of an incomplete message.
 * Known only for TCP; false elsewhere, where a message arrives at once. */
bool hub_has_bytes(const Hub *hub, PeerId peer, int within_ms);
void hub_drop(Hub *hub, PeerId peer); /* forgets a peer: its later messages are ignored */
/* Adds `bytes` to the count of bytes sent to the peer. Returns how many of them this process may
 * still hold: all since the peer's socket last accepted more, which is checked once a MiB. Over
 * rings and inproc 0. */
uint64_t hub_unread(Hub *hub, PeerId peer, uint64_t bytes);
/* hub_drop, and closes the connection, which frees what was sent to the peer and not read. */
void hub_disconnect(Hub *hub, PeerId peer);
/* True if hub_recv may have an event, or after hub_wake. A signal ends the wait early.
 * timeout_ms < 0: no limit. */
bool hub_wait(Hub *hub, int timeout_ms);
void hub_wake(Hub *hub); /* any thread: ends a hub_wait */

/* ring and inproc: the hub must exist already. ipc and tcp: connects in the background, and
 * messages sent before wait. An ipc hub of another user gets no message: ERR_IO, from here or
 * from link_error. */
Link *link_open(const char *endpoint, Err *err);
/* The same, for a thread that waits with net_wait for the link and a hub of its own. Both are
 * rings, or neither is. The link must be closed before the hub. */
Link *link_open_beside(const char *endpoint, Hub *hub, Err *err);
void link_close(Link **link);
bool link_send(Link *link, Msg *msg); /* consumes msg in any case; false: the hub is gone */
/* While the link is held, sends may leave the hub asleep; link_hold(link, false) wakes it. Then
 * several messages cost one wake-up, and the woken thread does not delay the rest. */
void link_hold(Link *link, bool is_held);
int link_recv(Link *link, Msg *msg); /* 1 message, 0 nothing, -1 the hub is gone */
/* Why the hub is gone, if more is known: it is another user's, or has another token. NULL:
 * nothing more is known. Borrowed. */
const Err *link_error(const Link *link);
/* True if bytes of the hub arrived within that time; see hub_has_bytes. */
bool link_has_bytes(const Link *link, int within_ms);
/* True once a hub has answered. ring and inproc: always. ipc and tcp: after link_recv or a wait
 * has noticed. */
bool link_is_connected(const Link *link);
bool link_wait(Link *link, int timeout_ms);
/* True if link_recv or hub_recv may have an event, or after hub_wake. link was opened beside hub.
 */
bool net_wait(Link *link, Hub *hub, int timeout_ms);

/* Sets the secret that all ends of ipc and tcp prove to each other from now on; NULL or "":
 * none. At most TOKEN_MAX bytes (endpoint.h), copied. file: what it was read from, for hints, or
 * "". Any thread. */
void net_set_token(const char *token, const char *file);
/* Raises the limit of open files as far as the system allows. A connection that would come near
 * it is closed at once. Returns how many connections there may be beside a daemon's own files. */
int net_files_raise(void);

/* Frees the process's ZeroMQ context, if there is one. All hubs and links must be closed. Waits
 * at most half a second for outgoing messages. */
void net_fini(void);
#endif
