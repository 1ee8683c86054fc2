/* setting.h: the kinds of values that the settings of the prelude's functions take.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_SETTING_H
#define GT_LANG_EVAL_SETTING_H
#include "lang/value/interp.h"

/* Checks the value given for parameter i of a, a function of the prelude whose frame is the current
 * one. On failure leaves the frame and reports the error at the call. */
bool setting_check(Interp *in, const AstFn *a, int i, Value v, const Node *call, LangError *e);
#endif
