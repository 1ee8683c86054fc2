/* layout.h: nested values over several lines. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_LAYOUT_H
#define GT_LANG_TEXT_LAYOUT_H
#include "lang/value/interp.h"

/* Appends v as the prompt echoes it: lists and maps that are wider than the terminal get a line for
 * each element, indented by 2; lists of numbers and strings are filled up to the width. */
bool layout_value(Interp *in, Pieces *p, Value v, LangError *e);
#endif
