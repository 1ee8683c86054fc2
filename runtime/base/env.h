/* env.h: the variables GT_... that are switches, numbers or words: what each may be, in one table;
 * checked when a program starts, so that who reads one later finds it right. (Those that are paths,
 * addresses or commands are checked by who opens them; GT_BACKEND and GT_DEBUG, which are options
 * as well, by who reads options.)
 *
 * A name that is none of them all, those that are checked elsewhere included, but nearly one is
 * told at the start: GT_FUSES=0 would tell the same tale. Other names that begin so are left alone;
 * programs may have variables of their own.
 *
 * Empty is as if not set. A value that cannot be is an error of usage (exit 2), as with an option:
 * a benchmark with GT_FUSE=maybe would tell a tale.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_ENV_H
#define GT_RUNTIME_BASE_ENV_H
#include "runtime/base/err.h"
#include <stdint.h>

/* All variables of the table; false: err names one, its value, and what it may be. */
bool env_check(Err *err);
/* Prints "WHOwarning: ..." to standard error for each variable that seems to be misspelt. */
void env_tell_misspelt(const char *who);
/* The value of one in the table, or what holds without it, which also stands in for what env_check
 * refuses. */
bool env_is_on(const char *name); /* 0 or 1, or words for them */
int64_t env_int(const char *name);
const char *env_word(const char *name); /* as it was set, off and no as 0, ...; "": it was not */
#endif
