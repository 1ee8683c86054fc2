/* repl_lost.h: what the second Ctrl-C took: which variables hold tensors that will never have a
 * value. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPL_LOST_H
#define GT_LANG_SHELL_REPL_LOST_H
#include "lang/value/interp.h"

typedef struct Lost Lost;
/* Cancels what has not begun and asks for a corner of each variable's tensors: an answer comes only
 * for those that have a value. Waits shortly for how much was cancelled, for nothing else. */
Lost *lost_begin(Interp *in);
void lost_tell(Lost *l, const char *what); /* "interrupted: 12 instructions had not begun" */
bool lost_is_done(const Lost *l); /* all answers are there: stream_poll brings them          */
void lost_print(const Lost *l);   /* to standard error: how much, and which variables if done */
void lost_unref(Lost **l);        /* NULL-safe; answers may still come afterwards             */
#endif
