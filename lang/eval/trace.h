/* trace.h: the running calls, for errors. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_TRACE_H
#define GT_LANG_EVAL_TRACE_H
#include "lang/value/interp.h"

/* The number of the chain of calls that is running, 0 at file level; for StreamConfig.calls. */
uint32_t trace_calls(void *interp);
/* Adds the calls of a chain to an error; a number that is no longer known adds nothing. */
void trace_explain(Interp *in, uint32_t calls, LangError *e);
/* An error leaves this call: adds it, unless the error has its stack already. */
void trace_leave(const AstFn *fn, const Node *call, LangError *e);
/* The error stays here (attempt): adds all calls that are still running. */
void trace_complete(const Interp *in, LangError *e);
void trace_fini(Interp *in);
#endif
