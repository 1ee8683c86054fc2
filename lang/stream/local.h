/* local.h: the embedded cluster: a dispatcher as its step function, called in the client's thread
 * at flush and in every wait, and -w N workers as threads, over ring:// links. The same code that
 * the daemons run; started at the first tensor op.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STREAM_LOCAL_H
#define GT_LANG_STREAM_LOCAL_H
#include "lang/stream/stream.h"

typedef struct Local Local;
/* Returns when all workers are registered, or fails in 10 s. */
Local *local_start(const StreamConfig *config, Err *err);
const char *local_endpoint(const Local *l); /* for link_open */
/* Moves messages: client and workers to dispatcher and back. Waits up to timeout_ms for something
 * to do when idle; 0: never. */
void local_step(Local *l, int timeout_ms);
void local_stop(Local **l); /* workers are told to leave and joined; bounded */
/* For a signal's handler, before the process ends by it. */
void local_abandon(void);
#endif
