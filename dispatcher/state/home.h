/* home.h: the load of each worker, and which worker a client gets.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_STATE_HOME_H
#define GT_DISPATCHER_STATE_HOME_H
#include "dispatcher/state/state.h"

WorkerPeer *home_pick(const Dispatcher *d); /* the least loaded; NULL: none */
/* A client that has nothing in flight and no tensors may move to a worker with fewer clients.
 * NULL: it stays. */
WorkerPeer *home_better(const Dispatcher *d, const Client *c);
#endif
