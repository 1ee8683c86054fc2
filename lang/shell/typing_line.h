/* typing_line.h: what Tab offers in a line of the prompt, and how it is listed.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_TYPING_LINE_H
#define GT_LANG_SHELL_TYPING_LINE_H
#include "lang/complete/complete.h"

/* Completes a line, n bytes with the cursor behind `cursor` of them: `:word`, `?name`, `!command`,
 * or code, which follows n_before bytes of the same statement. out->start is in the line. */
void line_complete(Interp *in, const char *before, size_t n_before, const char *line, size_t n,
                   size_t cursor, Completion *out);
/* Appends the list of candidates for a terminal of this size: few of them with their hints, more in
 * columns, and never more rows than the terminal has. color: the signature is faint. */
void line_list(const Completion *c, int width, int height, bool color, Bytes *out);
#endif
