/* move.h: tensors that change their layout or their group.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_MOVE_H
#define GT_WORKER_EXEC_MOVE_H
#include "worker/exec/queue.h"
#include "runtime/wire/wire_peer.h"
#include "runtime/wire/wire_watch.h"

void move_issue(Exec *x, Job *j);  /* owns j */
void export_run(Exec *x, Job *j);  /* j's operand is done */
Alloc import_run(Exec *x, Job *j); /* all descriptors have arrived */
void import_drop(Exec *x, Job *j); /* j's client is gone */
void import_peer_gone(Exec *x, Job *j, uint32_t rank);
/* Takes the descriptor of a box from a peer. Returns false if j does not wait for it. */
bool import_deliver(Exec *x, Job *j, uint32_t rank, const Shard *s);
/* Takes the next piece of a box that was requested. May end j. */
void import_piece(Exec *x, Job *j, uint32_t rank, const Piece *p, const void *data, uint64_t bytes);
/* Why this worker has nothing to do. *on: the worker that it waits for, or UINT32_MAX; *op: the
 * move that it waits for, or OP_COUNT. */
IdleWhy move_idle_why(const Exec *x, uint32_t *on, uint16_t *op);
#endif
