/* who.h: the variables of the prompt as text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_WHO_H
#define GT_LANG_SHELL_WHO_H
#include "lang/value/interp.h"

/* Appends a value's type, size and, if it is short, its text: one line without its newline. */
void who_describe(Interp *in, Value v, Bytes *out);
/* Prints the variables to standard output, a line each. */
void who_print(Interp *in);
#endif
