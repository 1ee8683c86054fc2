/* repl_lost.h: the loss report of the second Ctrl-C: which variables hold tensors that will never
 * have a value.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPL_LOST_H
#define GT_LANG_SHELL_REPL_LOST_H
#include "lang/value/interp.h"

typedef struct Lost Lost;
/* Cancels the instructions that have not begun and fetches an element of each variable's tensors:
 * that succeeds only for tensors with a value. Waits briefly for the number of cancelled
 * instructions, but not for the elements. */
Lost *lost_begin(Interp *in);
void lost_set_reason(Lost *l, const char *what); /* "interrupted: 12 instructions had not begun" */
bool lost_is_done(const Lost *l); /* all replies have arrived (stream_poll reads them) */
void lost_print(const Lost *l);   /* to standard error: the count and, once done, the variables */
void lost_unref(Lost **l);        /* *l may be NULL; replies may still arrive afterwards */
#endif
