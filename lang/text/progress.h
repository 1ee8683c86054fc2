/* progress.h: the progress line of a loop (progress.c).
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_PROGRESS_H
#define GT_LANG_TEXT_PROGRESS_H
#include "lang/value/interp.h"

struct Bar; /* the bar of one progress(xs) */
/* A loop over `over`, a list or a range (borrowed), will show its progress. is_endless: how many
 * iterations there are is unknown, since the loop ends by break. */
void progress_open(Interp *in, Value over, bool is_endless, const char *label);
/* Shows scalars on the line when they arrive, and writes them to the log under --log-dir. m: maps
 * names to numbers and tensors of one element. */
bool progress_track(Interp *in, const MapV *m, LangError *e);
/* The same for an instruction `track` of a file: its values go to the log alone. handle: its
 * operands. at: its place. */
bool progress_track_inst(Interp *in, const Inst *inst, Handle *const *handle, Span at,
                         LangError *e);
void progress_step(Interp *in, struct Bar *b); /* one iteration done */
void progress_end(Interp *in, struct Bar *b);
/* The bar made for this value, or NULL. */
struct Bar *progress_find(Interp *in, Value over);
void progress_move(Interp *in, Value from, Value to); /* enumerate(progress(xs)) keeps the bar */
/* releases values; call before the stream is freed */
void progress_drop(Interp *in);
void progress_fini(Interp *in);
/* Erases the progress line before something else is shown. */
void progress_clear(Interp *in);
/* After an interrupt: the line stays and is not redrawn. True if there was one; it is ended. */
bool progress_hush(Interp *in);
#endif
