/* error_value.h: errors as values. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_ERROR_VALUE_H
#define GT_LANG_TEXT_ERROR_VALUE_H
#include "lang/value/interp.h"

Value v_error(const LangError *e);
/* An error's message, hint, file, line, stack ... */
bool error_field(Interp *in, Value v, const char *name, Value *out, bool *found, LangError *e);
/* What the user would have seen, without the last newline. */
void error_text(const LangError *e, Bytes *out);
#endif
