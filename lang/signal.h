/* signal.h: named scopes of the running program. They tag the instructions between enter and exit;
 * without a config they change nothing. Innermost wins; leaving by return, break or error closes
 * what was opened.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SIGNAL_H
#define GT_LANG_SIGNAL_H
#include "lang/interp.h"

bool signal_enter(Interp *in, const char *label, size_t n, const char *backward,
                  size_t n_backward, LangError *e);
/* label "" exits the innermost */
bool signal_exit(Interp *in, const char *label, size_t n, LangError *e);
int signal_depth(const Interp *in);
void signal_unwind(Interp *in, int depth);             /* after errors: closes scopes above depth */
/* The backward scope of what is recorded now: an interned number (0 = none) and its label. */
uint32_t signal_backward(const Interp *in);
const char *signal_label(const Interp *in, uint32_t number);
void signal_fini(Interp *in);
#endif
