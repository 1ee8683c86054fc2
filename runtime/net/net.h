/* net.h: messages between client, dispatcher and workers. net.c and guard.c are the only files that
 * include zmq.h.
 *
 * There are two ends: a Hub accepts many
 * peers and names each by a PeerId that it gives itself; a Link is one connection to a Hub. Two
 * mechanisms behind the same calls, chosen by the endpoint's scheme:
 *   ring://name     within one process: two lock-free queues per link, futex wake-up (ring.c)
 *   inproc://name, ipc://path, tcp://host:port   ZeroMQ ROUTER and DEALER (net.c)
 * Rings exist because an embedded cluster's latency is all thread wake-ups, and because TSan sees
 * through them.
 *
 * Sending has no high-water mark (flow is by credit, DESIGN 5); a hub reads some thousand messages
 * of a peer ahead, then the peer's own memory holds them. A ROUTER has ROUTER_MANDATORY: a send to
 * a peer that is gone is an error, not silence. Sends never block. One thread uses a Hub; one
 * thread uses a Link; _wake may come from any. A worker is at both ends: it waits for its link to
 * the dispatcher and for the hub of its peers with net_wait.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_NET_NET_H
#define GT_RUNTIME_NET_NET_H
#include "runtime/base/err.h"
#include "runtime/base/msg.h"

typedef uint32_t PeerId; /* from 1; never reused within a Hub */

typedef struct Hub Hub;
typedef struct Link Link;

/* endpoint as above; binding a taken endpoint is refused with ERR_IO. Caller owns the result. */
Hub *hub_open(const char *endpoint, Err *err);
void hub_close(Hub **hub);                /* peers see it; the endpoint is free again */
const char *hub_endpoint(const Hub *hub); /* with the port filled in for tcp://host:* */
/* Next event without waiting: 1 a message, 0 nothing, -1 peer `from` is gone (msg empty), which
 * comes after all that it sent. */
int hub_recv(Hub *hub, PeerId *from, Msg *msg);
bool hub_send(Hub *hub, PeerId to, Msg *msg); /* consumes msg in any case; false: peer gone */
/* Bytes of the peer have come within that time, perhaps of a message that is not complete. Known
 * of tcp; elsewhere false, for there a message comes at once. */
bool hub_hears(const Hub *hub, PeerId peer, int within_ms);
void hub_drop(Hub *hub, PeerId peer); /* forgets a peer: its later messages are ignored */
/* True when hub_recv may give something, or after hub_wake. A signal ends it early. timeout_ms < 0:
 * no limit. */
bool hub_wait(Hub *hub, int timeout_ms);
void hub_wake(Hub *hub); /* any thread: ends a hub_wait */

/* ring and inproc: the hub must exist already. ipc and tcp: connecting goes on behind the scenes,
 * what is sent meanwhile waits. Over ipc nothing is said to a hub of another user: refused with
 * ERR_IO, here or by link_error. */
Link *link_open(const char *endpoint, Err *err);
/* The same, for a thread that waits for the link and for a hub of its own together, with net_wait.
 * Both are rings, or neither is. The link is closed before the hub. */
Link *link_open_beside(const char *endpoint, Hub *hub, Err *err);
void link_close(Link **link);
bool link_send(Link *link, Msg *msg); /* consumes msg in any case; false: the hub is gone */
int link_recv(Link *link, Msg *msg);  /* 1 message, 0 nothing, -1 the hub is gone */
/* Why it is gone, where more is known than that: it is another user's, or has another token. NULL:
 * not. Borrowed. */
const Err *link_error(const Link *link);
/* Bytes of the hub have come within that time, as hub_hears has it. */
bool link_hears(const Link *link, int within_ms);
/* A hub answered at the other end. ring and inproc: always. ipc and tcp: from when link_recv or a
 * wait has noticed. */
bool link_is_connected(const Link *link);
bool link_wait(Link *link, int timeout_ms);
void link_wake(Link *link);
/* True when link_recv or hub_recv may give something, or after link_wake or hub_wake. link was
 * opened beside hub. */
bool net_wait(Link *link, Hub *hub, int timeout_ms);

/* The secret that all ends of ipc and tcp show each other from now on; NULL or "": none is asked
 * for. At most TOKEN_MAX bytes (endpoint.h), copied. Any thread. */
void net_set_token(const char *token);
/* Raises the limit of open files as far as the system lets it; a connection that would come near it
 * is closed at once. How many there may be beside what a daemon opens itself. */
int net_files_raise(void);

/* Frees the process's ZeroMQ context, if one was made; all hubs and links are closed. At most half
 * a second, for messages on their way out. */
void net_fini(void);
#endif
