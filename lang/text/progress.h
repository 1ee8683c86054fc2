/* progress.h: the line that shows how far a loop is (progress.c).
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_PROGRESS_H
#define GT_LANG_TEXT_PROGRESS_H
#include "lang/value/heap.h"
#include "lang/value/interp.h"

struct Bar; /* of one progress(xs) */
/* A loop over `over`, a list or a range (borrowed), will show how far it is. */
void progress_open(Interp *in, Value over, const char *label);
/* Shows scalars on the line, and logs them under --log-dir, when they arrive. m: names to numbers
 * and tensors of one element. */
bool progress_track(Interp *in, const MapV *m, LangError *e);
void progress_step(Interp *in, struct Bar *b); /* one iteration done */
void progress_end(Interp *in, struct Bar *b);
/* the bar that was made for this value, or NULL */
struct Bar *progress_find(Interp *in, Value over);
void progress_move(Interp *in, Value from, Value to); /* enumerate(progress(xs)) keeps the bar */
void progress_drop(Interp *in);                       /* gives up values, before the stream goes */
void progress_fini(Interp *in);
/* takes the progress line off the terminal before something else is shown */
void progress_clear(Interp *in);
void progress_hush(Interp *in); /* an interrupt: it stays where it is, and moves no more */
#endif
