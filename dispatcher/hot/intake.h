/* intake.h: clients that do not look for hot bodies themselves (body.h): bindings of other
 * languages, tools that write frames from a file, gtsh with GT_HOTPATH_THRESHOLD=0. Their frames
 * are written anew, before anything else is done with them, so that what comes again and again
 * comes as a hot body; from there on such a client is like any other (mod_hot.c, workers' plans,
 * the tape's marks).
 *
 * A client is looked at when it has sent so many instructions and no body. As long as nothing
 * repeats its frames go on as they came; when a loop has come round often enough, by its edges or
 * without any, they go through the client's detector (detector.h). If that gains too little
 * they go on as they came again, and the next trial is the later the more were in vain. A client
 * that turns out to define bodies itself is left alone for good; what was defined for it stays
 * defined, so that its own get higher numbers, in its frames.
 *
 * What is written anew are the same instructions with the same numbers: `body` is inserted (it has
 * no sequence number), edges that are put in are no instructions, and a client's frame ends where
 * it ended. Nothing waits for what is yet to come. Large payloads are kept by reference; a frame
 * whose head is larger than HEAD_MAX goes on as it came.
 *
 * Memory: per client that is looked at some 20 KiB, 64 more with edges or once a body is found, and
 * BODY_BYTES of its bodies' forms at most, with what belongs to them (detector.h).
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_HOT_INTAKE_H
#define GT_DISPATCHER_HOT_INTAKE_H
#include "dispatcher/state/state.h"

void intake_free(Intake **k); /* NULL-safe */
/* A client's frame comes and is not opened yet; m may change. True: it is to be written anew. */
bool intake_comes(Dispatcher *d, Client *c, Msg *m);
/* Writes m anew, which r has opened and reads to its end. 0, or -1: it is malformed, err says how;
 * what came before that is there. */
int intake_write(Dispatcher *d, Client *c, FrameReader *r, Err *err);
/* The frames that it has become, in order; false: that was all. The caller owns *m. */
bool intake_next(Client *c, Msg *m);
/* An instruction of a frame that is not written anew; c->intake is there, and may be gone then. */
void intake_sees(Client *c, const Inst *inst);
void intake_stats(const Dispatcher *d, Bytes *out);
#endif
