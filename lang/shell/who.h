/* who.h: the variables of the prompt as text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_WHO_H
#define GT_LANG_SHELL_WHO_H
#include "lang/value/interp.h"

/* Appends a value's type, size and, if it is short, its text: one line without its newline. */
void who_describe(Interp *in, Value v, Bytes *out);
/* Prints the variables to standard output, a line each. only: the one of this name, or NULL: all.
 * by_bytes: the largest first, and the sum. may_wait: fetches the values of tensors of one element.
 * Returns false, having printed nothing, if no variable has the name. */
bool who_print(Interp *in, const char *only, bool by_bytes, bool may_wait);
/* Interp.keep_locals: describes the variables of a call in in->locals. */
void who_keep_locals(Interp *in, const AstFn *fn, const Value *slot);
#endif
