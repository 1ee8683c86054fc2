/* local.h: the embedded cluster: a dispatcher, whose step function runs in the client's thread at
 * every flush and wait, and -w N workers as threads, connected by ring:// links. It is the same
 * code that the daemons run. It starts at the first tensor op.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STREAM_LOCAL_H
#define GT_LANG_STREAM_LOCAL_H
#include "lang/stream/stream.h"

typedef struct Local Local;
/* Returns when all workers have registered. Fails after 10 s. */
Local *local_start(const StreamConfig *config, Err *err);
const char *local_endpoint(const Local *l); /* for link_open */
/* Moves messages between the dispatcher and client and workers. If there are none, waits for one,
 * up to timeout_ms (0: does not wait). */
void local_step(Local *l, int timeout_ms);
void local_stop(Local **l); /* stops and joins the workers; waits at most 5 s */
/* For a signal handler that ends the process: see worker_abandon. */
void local_abandon(void);
#endif
