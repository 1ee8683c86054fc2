/* fmt.h: the formatter of programs: gtsh --fmt. It works on the tokens, so that comments, strings
 * and the author's line breaks stay; it sets indentation, blanks and blank lines.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FMT_FMT_H
#define GT_LANG_FMT_FMT_H
#include "lang/error/error.h"

/* Appends the formatted text of src to out. Formatting its result again changes nothing. Returns
 * false, with nothing appended and e pointing into src, if src has a syntax error, or if the result
 * would not have the same tokens, comments and syntax tree (a bug of the formatter). */
bool fmt_source(Source *src, Bytes *out, LangError *e);

/* Formats files in place, or standard input (no path, or "-") to standard output. check: writes
 * nothing, but prints the paths of files that are not formatted. A file with an error is reported
 * and left alone. Returns the exit code: 0; 1 if check found one; 2 a path is an option; 65 syntax
 * error; 66 no input; 74 a file could not be written. */
int fmt_files(const char *const *path, int n, bool check, bool color);
#endif
