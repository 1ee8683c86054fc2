/* stack.h: the calls that led to an error. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_ERROR_STACK_H
#define GT_LANG_ERROR_STACK_H
#include "lang/error/error.h"

/* Adds the next outer call to the error's stack. Identical calls in a row are counted in
 * `again`. */
void error_frame(LangError *e, const ErrorFrame *f);
/* Appends the lines of the stack, which follow the message. columns: as in error_print_on. */
void error_stack_print(const LangError *e, int columns, Bytes *out);
#endif
