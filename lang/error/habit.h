/* habit.h: hints for users of Python, PyTorch and NumPy: gt code to copy, made from the source text
 * at the error. Works on text alone; a wrong guess is only a poor hint.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_ERROR_HABIT_H
#define GT_LANG_ERROR_HABIT_H
#include "lang/error/error.h"
#include "runtime/base/arena.h"

/* The hint for fft and the like. */
#define NO_FFT                                                                                     \
    "no complex numbers: a short transform is a matmul with cos and sin of 2 * pi * i * k / n"

/* True if the language defines this name. ctx: the caller's. */
typedef bool (*HabitKnown)(void *ctx, const char *name);
/* Writes the dotted name that exists and is most similar to path, or path if that exists. False if
 * there is none. */
typedef bool (*HabitNear)(void *ctx, const char *path, char *near, size_t size);
/* What hints need to know of the language: its names, and ctx for both functions. */
typedef struct HabitNames {
    HabitKnown is_known;
    HabitNear near;
    void *ctx;
} HabitNames;
/* Sets e's hint for a dotted name that begins at `at` ("torch.manual_seed(0)", "os.environ[...]").
 * Returns false if there is no hint. */
bool habit_path(Span at, HabitNames names, LangError *e);
/* Sets e's hint for a function of another system that gt lacks under this name: argpartition(x, 1),
 * x.nanstd(). self: the source of the tensor whose method it is, or NULL. at: where the name
 * begins. Returns false if there is no hint. */
bool habit_name(const char *name, const char *self, Span at, HabitNames names, LangError *e);
/* Sets e's hint for a call of gt's function with this keyword, which only NumPy's or PyTorch's has:
 * corrcoef(x, rowvar=false). self, at: as in habit_name. Returns false if there is no hint. */
bool habit_argument(const char *function, const char *keyword, const char *self, Span at,
                    HabitNames names, LangError *e);
/* Sets e's hint for a name of one of gt's namespaces that is absent: nn.LazyLinear, nn.utils.data,
 * linalg.lu_factor. Returns false if there is no hint. */
bool habit_of_space(const char *space, const char *name, LangError *e);
/* Sets e's hint for a field or method of another system: x.device, model.cuda(). kind: the kind of
 * the value, "tensor", "str" ... Returns false if there is no hint. */
bool habit_member(const char *kind, const char *name, LangError *e);
/* True if name is a field of a named tuple of PyTorch that is a list here: slogdet(x).sign. */
bool habit_is_result(const char *name);
/* Sets e's hint for the list of this function, unpacked into too many or too few names: what its
 * values are called. Returns false if there is no hint. */
bool habit_unpacked(const char *function, LangError *e);
/* Returns the hint for a keyword argument of another system (device=, inplace=), or NULL. */
const char *habit_keyword(const char *function, const char *name);
/* Returns the hint for a missing file that is a module in Python (import os), or NULL. */
const char *habit_import(const char *name);
/* Returns the hint for `from a.b import C, d` or `import a.b as c`, or NULL. text: from the first
 * word on. file: the program's own; modules of the user are sought beside it. The hint may be in
 * the arena. */
const char *habit_import_line(const char *text, const char *file, Arena *arena);
#endif
