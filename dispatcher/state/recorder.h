/* recorder.h: the flight recorder: the last messages that passed through the dispatcher, as they
 * came. Recording costs a copy of each frame's head. The programs that ask for the messages make
 * text of them.
 *
 * It is a queue of PAST messages (wire_watch.h) of up to RECORD_CHUNK bytes. When they exceed
 * DispatcherConfig.record_bytes the oldest is freed. A chunk that is being sent is kept alive by
 * reference.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_STATE_RECORDER_H
#define GT_DISPATCHER_STATE_RECORDER_H
#include "dispatcher/state/state.h"
#include "dispatcher/state/tape.h"

enum { RECORD_CHUNK = 256 << 10, PREFACE_BYTES = 8 << 20 };

void recorder_fini(Dispatcher *d);
/* Without DispatcherConfig.record_bytes nothing is recorded. */
void recorder_frame(Dispatcher *d, const Client *c, const Msg *m);
/* Records what the frames of a client that leaves need: the names of its files, its bodies. */
void recorder_needs(Dispatcher *d, const Client *c);
/* Records a line, and writes it to the tape, if there is one. Consumes it. */
void recorder_note(Dispatcher *d, Note n);
/* Returns what a reader of the past must know first (owned), ... */
Buf *recorder_preface(Dispatcher *d, uint32_t past_ms);
/* ... and the number of chunks and the i-th, oldest first (owned): by reference, or a copy of the
 * youngest, which is still being written. */
size_t recorder_chunks(const Dispatcher *d);
Buf *recorder_chunk(const Dispatcher *d, size_t i);
/* Returns a PAST message's part (owned) with one client's history, for that client: what is needed
 * to read its frames, then the last of them and its failures, about `limit` bytes at most. */
Buf *recorder_of_client(Dispatcher *d, const Client *c, size_t limit);
/* An entry with a worker's rows (owned). */
Buf *recorder_rows(const Msg *times, int rank, int64_t ahead_ns);
#endif
