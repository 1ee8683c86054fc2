/* finder.h: finds hot bodies (body.h) in the streams of clients that do not look for them: bindings
 * of other languages, tools that write frames from a file, gtsh with GT_HOTPATH_THRESHOLD=0. It
 * rewrites such a client's frames before anything else reads them, so that repeated instructions
 * arrive as a hot body. The rest of the system then treats this client like any other (mod_hot.c,
 * the plans of workers, the marks on the tape).
 *
 * What it is worth (`dispatcher_bench 400000 data-parallel`, dispatcher CPU per client instruction
 * without and with it): 0.21 and 0.15 us with 8 workers, 0.22 and 0.16 with 36, 0.23 and 0.18 with
 * 72. An unsharded stream gains nothing in the dispatcher (0.17 and 0.17). Workers gain most: their
 * plans need bodies (callgrind, a training step without edges: 2,968 and 1,005 worker instructions
 * per client instruction).
 *
 * A client is examined once it has sent LOOK_AFTER instructions and no body. While nothing
 * repeats, its frames pass unchanged. When a loop has repeated often enough, with edges or
 * without, the frames go through a detector of this client (detector.h). If that gains too little,
 * the frames pass unchanged again for as long as the trial took. Each further failed trial doubles
 * that time. When a client defines a body itself, its frames are not rewritten from then on. Bodies
 * that were defined for it stay defined, so finder_look adds to the numbers of its own bodies.
 *
 * Rewriting keeps the instructions and their numbers. It inserts `body` records, which have no
 * sequence number. Where an edge is missing, it inserts no record: it restarts the distances
 * (frame_edge). A frame of the client ends where it ended, and nothing waits for instructions that
 * have not arrived. Large payloads are kept by reference. A frame with a head larger than writers
 * make them passes unchanged.
 *
 * Memory: 20 KiB per examined client, 64 KiB more with edges or once a body is found, and at most
 * BODY_BYTES for the forms of its bodies, with what belongs to them (detector.h).
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_HOT_FINDER_H
#define GT_DISPATCHER_HOT_FINDER_H
#include "dispatcher/state/state.h"

void finder_free(Finder **k); /* NULL-safe */
/* Looks at a frame of c before it is opened; m may change. True: finder_write must rewrite it. */
bool finder_look(Dispatcher *d, Client *c, Msg *m);
/* Rewrites the frame that r has opened, and reads it to its end. 0, or -1 with *err if the frame is
 * malformed; the instructions before the error are kept. */
int finder_write(Dispatcher *d, Client *c, FrameReader *r, Err *err);
/* Takes the next rewritten frame, in order; false if there is none. The caller owns *m. */
bool finder_next(Client *c, Msg *m);
bool finder_is_empty(const Client *c); /* true if finder_next would return false */
/* Looks at an instruction of a frame that passes unchanged. Needs c->finder, and may free it. */
void finder_sees(Client *c, const Inst *inst);
void finder_stats(const Dispatcher *d, Bytes *out);
#endif
