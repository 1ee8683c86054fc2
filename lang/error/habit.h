/* habit.h: what to write instead of what Python, PyTorch and NumPy taught the hand: hints with code
 * to copy, made from the text at the mistake. Knows no semantics; a wrong guess is a poor hint.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_ERROR_HABIT_H
#define GT_LANG_ERROR_HABIT_H
#include "lang/error/error.h"
#include "runtime/base/arena.h"

/* Does the language have a function of this name? ctx: the caller's. */
typedef bool (*HabitKnown)(void *ctx, const char *name);
/* For a dotted name that begins at `at` ("torch.manual_seed(0)", "os.environ[...]"): sets e's hint
 * and returns true where something is known. */
bool habit_path(Span at, HabitKnown known, void *ctx, LangError *e);
/* A field or method that values of other systems have: x.device, model.cuda(). kind: the value's,
 * "tensor", "str" ... Sets e's hint and returns true where something is known. */
bool habit_member(const char *kind, const char *name, LangError *e);
/* An argument that functions of other systems take: device=, inplace=. NULL: unknown. */
const char *habit_keyword(const char *name);
/* A file that is not there, but is a module elsewhere: import os. NULL: unknown. */
const char *habit_import(const char *name);
/* `from a.b import C, d` and `import a.b as c`, from the first word on to the end of the line. */
const char *habit_import_line(const char *text, Arena *arena);
#endif
