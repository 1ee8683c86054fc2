/* ring.h: net.h's calls for links inside one process, private to net.c, which uses them for
 * ring:// endpoints.
 *
 * A link is a pair of queues, one per direction, each with one producer and one consumer. A
 * queue is a list of segments that grows, so that a send neither blocks nor drops (credit bounds
 * the content). A futex wakes the consumer, and only if it sleeps. The contracts are those of the
 * calls of the same names in net.h.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_NET_RING_H
#define GT_RUNTIME_NET_RING_H
#include "runtime/net/net.h"

typedef struct RingHub RingHub;
typedef struct RingLink RingLink;

RingHub *ring_hub_open(const char *name, Err *err);
void ring_hub_close(RingHub **hub);
int ring_hub_recv(RingHub *hub, PeerId *from, Msg *msg);
bool ring_hub_send(RingHub *hub, PeerId to, Msg *msg);
void ring_hub_drop(RingHub *hub, PeerId peer);
bool ring_hub_wait(RingHub *hub, int timeout_ms);
void ring_hub_wake(RingHub *hub);

/* beside: the hub whose waiter the link shares, so that ring_wait can wait for both; or NULL. */
RingLink *ring_link_open(const char *name, RingHub *beside, Err *err);
void ring_link_close(RingLink **link);
bool ring_link_send(RingLink *link, Msg *msg);
void ring_link_hold(RingLink *link, bool is_held);
int ring_link_recv(RingLink *link, Msg *msg);
bool ring_link_wait(RingLink *link, int timeout_ms);
/* link was opened beside hub. */
bool ring_wait(RingLink *link, RingHub *hub, int timeout_ms);
#endif
