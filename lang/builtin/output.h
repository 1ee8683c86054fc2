/* output.h: values as JSON, CSV or NumPy's format on standard output (--format, :mode).
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_BUILTIN_OUTPUT_H
#define GT_LANG_BUILTIN_OUTPUT_H
#include "lang/value/interp.h"

/* Writes v to standard output in the form in->output, which is not OUTPUT_PLAIN: JSON on one line,
 * CSV with a line per row, or a .npy file. Waits for the tensors in v. Objects are written as their
 * state_dict(). Errors: v has no such form; npy and standard output is a terminal. The function of
 * in->show_as. */
bool output_value(Interp *in, Value v, LangError *e);
#endif
