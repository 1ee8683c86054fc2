/* trace.h: call stacks for errors. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_TRACE_H
#define GT_LANG_EVAL_TRACE_H
#include "lang/value/interp.h"

/* Returns the number of the current call stack, 0 at file level; for StreamConfig.calls. */
uint32_t trace_calls(void *interp);
/* Adds the call stack of that number to e. A number that is no longer known adds nothing. */
void trace_explain(Interp *in, uint32_t calls, LangError *e);
/* Adds this call, whose frame still is in->frame, to an error that propagates out of it, unless e
 * already has its stack. */
void trace_leave(Interp *in, const AstFn *fn, const Node *call, LangError *e);
/* Adds all running calls to an error that is caught here (attempt). */
void trace_complete(const Interp *in, LangError *e);
/* How many stacks were recorded so far. Each has the nodes of its calls. */
uint64_t trace_count(const Interp *in);
void trace_fini(Interp *in);
#endif
