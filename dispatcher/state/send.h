/* send.h: what the dispatcher sends: messages, refusals, groups, frames and cancels, and the lines
 * that it reports.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_STATE_SEND_H
#define GT_DISPATCHER_STATE_SEND_H
#include "dispatcher/state/state.h"

void dispatcher_post(Dispatcher *d, PeerId to, Msg *m, bool drop); /* consumes m */
/* An instruction will not be executed: tells the client, once. */
void dispatcher_refuse_inst(Dispatcher *d, Client *c, uint64_t seq, const Inst *inst,
                            const Err *err);
void dispatcher_send_group(Dispatcher *d, const WorkerPeer *w, const Members *g);
/* Returns the group of these ranks; all workers know it. NULL: there are too many groups. */
const Members *dispatcher_group(Dispatcher *d, const int32_t *rank, int n);
/* The group lives at least as long as the client. */
void dispatcher_hold_group(Dispatcher *d, Client *c, const Members *g);
/* Sends a frame of a client to all of `to` (by reference) and records that (client_sent).
 * Consumes m. */
void dispatcher_send_frame(Dispatcher *d, Client *c, const RankSet *to, Msg *m, uint64_t seq_end,
                           uint32_t count, uint64_t bytes);
void dispatcher_cancel(Dispatcher *d, Client *c, const Cancel *cancel); /* tells its workers */
void dispatcher_report(Dispatcher *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#endif
