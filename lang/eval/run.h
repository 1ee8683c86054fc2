/* run.h: the life of an interpreter, and programs that run in it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_RUN_H
#define GT_LANG_EVAL_RUN_H
#include "lang/value/interp.h"

Interp *interp_new(const InterpConfig *config, LangError *e);
void interp_free(Interp **in);
/* Runs p at file level with the main file's globals. echo (at the prompt): expression statements
 * print. Consumes p, which lives as long as the interpreter, because functions point into it. On
 * failure e is set and all locals of the failed statement are dropped. */
bool interp_run(Interp *in, Program *p, bool echo, LangError *e);
/* Writes v to stdout in echo form. Waits for its tensors. */
bool interp_echo(Interp *in, Value v, LangError *e);
#endif
