/* listener.h: programs that watch the run: what they get, and how much of it.
 *
 * A listener gets a snapshot every SNAPSHOT_MS, and the lines of the tape if it asks for them. What
 * is sent to it and not acknowledged is at most LISTEN_BYTES; the rest is dropped and counted. So a
 * listener that does not read costs that memory, and no more time than one that reads. Without
 * listeners nothing here runs.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_STATE_LISTENER_H
#define GT_DISPATCHER_STATE_LISTENER_H
#include "dispatcher/state/state.h"

/* Adds the peer. False: there are too many; err says so. */
bool listener_add(Dispatcher *d, PeerId peer, Err *err);
/* True if the peer is a listener. */
bool listener_has(const Dispatcher *d, PeerId peer);
/* Handles a message of a listener, or its end if m is NULL. Does not consume m. */
void listener_on_message(Dispatcher *d, PeerId peer, const Msg *m);
/* A worker's TIMES: for the tape, or for those that asked for the past. */
void listener_on_times(Dispatcher *d, WorkerPeer *w, const Msg *m);
/* A worker's USAGE. */
void listener_on_usage(Dispatcher *d, WorkerPeer *w, const Msg *m);
/* A worker has joined: tells it that it is watched, if it is. */
void listener_on_worker(Dispatcher *d, const WorkerPeer *w);
void listener_watch(Dispatcher *d); /* tells workers what to report, if that has changed */
/* A line of the tape, with its newline, for those that want them; called only if has_events. */
void listener_line(Dispatcher *d, const char *line, size_t n);
/* Estimates w->ahead_ns from a message that w sent at sent_ns by its clock. A worker on this
 * machine shares our clock. For another one the estimate is the least difference between sending
 * and arrival so far, too large by the latency of the fastest message. */
void listener_look_at_clock(Dispatcher *d, WorkerPeer *w, int64_t sent_ns);
void listener_on_tick(Dispatcher *d); /* snapshots that are due */
void listener_bye(Dispatcher *d);     /* tells all that the dispatcher stops */
void listener_fini(Dispatcher *d);

/* ---- snapshot.c ---- */
void snapshot_write(const Dispatcher *d, Bytes *out);
#endif
