/* tape.h: what the dispatcher writes into the instruction log (runtime/inst/tape.h). A tape without
 * a file is for listeners.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_STATE_TAPE_H
#define GT_DISPATCHER_STATE_TAPE_H
#include "dispatcher/state/state.h"

/* A line about what comes, leaves or fails: its columns, and the text after them (owned). */
typedef struct Note {
    PastEntry line;
    Bytes text;
} Note;
Note note_client(const Client *c, bool comes);
Note note_worker(const WorkerPeer *w, bool comes);
Note note_group(const Members *g);
Note note_failure(const Dispatcher *d, const Failure *f);

void tape_fini(Dispatcher *d);
/* Begins a tape without a file if a listener wants its lines (has_events), or ends it if none does.
 * Does nothing if the tape has a file. */
void tape_for_listeners(Dispatcher *d);

/* ---- Only if d->tape is set ---- */

void tape_on_tick(Dispatcher *d, bool now); /* flushes the tape: now, or if that is due */
void tape_note(Dispatcher *d, const Note *n);
void tape_received(const Flow *f); /* before it is validated */
void tape_hot(Dispatcher *d, const Client *c, const FrameReader *r, bool begins);
void tape_sent(const Flow *f); /* when routed: one line, however many workers get it */
void tape_disconnect(Dispatcher *d, const Client *c, const Err *err);
void tape_hashes(Dispatcher *d, const WorkerPeer *w, const Msg *m);
void tape_times(Dispatcher *d, const WorkerPeer *w, const Times *times);

#endif
