/* repl_lost.h: the loss report of the second Ctrl-C: which variables hold tensors that will never
 * have a value.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPL_LOST_H
#define GT_LANG_SHELL_REPL_LOST_H
#include "lang/value/interp.h"

typedef struct Lost Lost;
/* Cancels the instructions that have not begun. Does not wait. */
Lost *lost_begin(Interp *in);
/* To be called again and again, after stream_poll, until lost_is_done. Once all that was issued
 * before the cancel is done or cancelled, fetches an element of each variable's tensors: that
 * succeeds only for tensors with a value. True: another instruction had failed before; *e says how,
 * and the caller reports it. */
bool lost_step(Lost *l, Interp *in, LangError *e);
bool lost_is_done(const Lost *l); /* all replies have arrived */
/* The cluster is lost since, or another is connected: all tensors are gone, which is reported. */
bool lost_is_void(const Lost *l, const Interp *in);
void lost_print(const Lost *l,
                const Interp *in); /* to standard error: the count and, once done, the variables */
void lost_unref(Lost **l);         /* *l may be NULL; replies may still arrive afterwards */
#endif
