/* habit.h: what to write instead of what Python, PyTorch and NumPy taught the hand: hints with code
 * to copy, made from the text at the mistake. Knows no semantics; a wrong guess is a poor hint.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_ERROR_HABIT_H
#define GT_LANG_ERROR_HABIT_H
#include "lang/value/interp.h"

/* For a dotted name that begins at `at` ("torch.manual_seed(0)", "os.environ[...]"): sets e's hint
 * and returns true where something is known. */
bool habit_path(Interp *in, Span at, LangError *e);
/* A field or method that values of other systems have: x.device, model.cuda(). */
bool habit_member(Value v, const char *name, LangError *e);
/* An argument that functions of other systems take: device=, inplace=. NULL: unknown. */
const char *habit_keyword(const char *name);
/* A file that is not there, but is a module elsewhere: import os. NULL: unknown. */
const char *habit_import(const char *name);
/* `from a.b import C, d` and `import a.b as c`, from the first word on to the end of the line. */
const char *habit_import_line(const char *text, Arena *arena);
#endif
