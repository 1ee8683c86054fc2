/* help.h: what `?name`, `??name`, `?` and `? words` say, from the tables of builtins, the entries
 * of lang/help/NAME.txt and the `##` comments of functions.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_HELP_HELP_H
#define GT_LANG_HELP_HELP_H
#include "lang/eval/builtin.h"

/* Appends the help for what follows the `?` (no blanks at its end), wrapped at `width` columns: of
 * a name, a path like nn.init.zeros_ or x.mean, a statement, a topic, a group; of words after a
 * blank or in quotes: what has them in its name or text; of nothing: the index. A variable of the
 * program without help is returned in *plain, as a new reference; else that is V_UNDEF. Returns
 * false if nothing is known; then *out says so and has a hint. */
bool help_about(Interp *in, const char *what, int width, Value *plain, Bytes *out);
/* Sets *v to the value of a name or path, n bytes; a new reference. The program's names come first.
 * If it fails, *e may have a hint. */
bool help_value(Interp *in, const char *name, size_t n, Value *v, LangError *e);
/* The parts of the help for one name: its signatures, a line each, and the body: sentences, lines
 * PyTorch: and NumPy:, examples as "> statement" and the lines that it prints. Both are appended.
 * Returns false if the name is unknown or has neither. */
bool help_parts(Interp *in, const char *name, Bytes *usage, Bytes *body);
/* Appends what `??name` says of a builtin or an operation: its signature, its first sentence, and
 * the row of the operation that does its work: operands, dtypes, the rules of its shape and
 * gradient in words, whether it fuses. Returns false, with nothing appended, for any other name. */
bool help_row(Interp *in, const char *name, int width, Bytes *out);
/* Appends the first sentence about a name on one line of at most `width` columns; false if there is
 * none. */
bool help_line(Interp *in, const char *name, int width, Bytes *out);
/* Adds all names that help knows, once each: builtins, the prelude's, those of namespaces
 * ("nn.Linear"), methods ("str.split"), statements and topics. */
void help_names(Interp *in, NameList *l);
#endif
