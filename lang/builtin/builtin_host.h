/* builtin_host.h: what other files use of the functions on host values.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_BUILTIN_BUILTIN_HOST_H
#define GT_LANG_BUILTIN_BUILTIN_HOST_H
#include "lang/value/interp.h"

/* Sorts a V_LIST in place, stably, by key(element) unless that is none */
bool list_sorted(Interp *in, Value xs, Value key, bool reverse, LangError *e);
void list_reverse(List *l);
#endif
