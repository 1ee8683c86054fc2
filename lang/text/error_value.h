/* error_value.h: errors as values. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_ERROR_VALUE_H
#define GT_LANG_TEXT_ERROR_VALUE_H
#include "lang/value/interp.h"

Value v_error(const LangError *e);
/* Reads a field of an error: message, hint, file, line, stack ... An unknown name clears *found. */
bool error_field(Interp *in, Value v, const char *name, Value *out, bool *found, LangError *e);
/* The text of the error report, without the last newline. */
void error_text(const LangError *e, Bytes *out);
#endif
