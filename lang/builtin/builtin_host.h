/* builtin_host.h: functions on host values that other files use.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_BUILTIN_BUILTIN_HOST_H
#define GT_LANG_BUILTIN_BUILTIN_HOST_H
#include "lang/value/interp.h"

/* Sorts a V_LIST in place, stably, by key(element), or by the elements if key is none. */
bool list_sorted(Interp *in, Value xs, Value key, bool reverse, LangError *e);
void list_reverse(List *l);
#endif
