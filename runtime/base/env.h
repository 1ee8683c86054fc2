/* env.h: the GT_... variables that are switches, numbers or words. One table has the allowed
 * values of each. They are checked when a program starts, so later readers can rely on them.
 * (Paths, addresses and commands are checked where they are used. GT_BACKEND and GT_DEBUG, which
 * are options too, are checked with the options.)
 *
 * At the start a program also warns about names that look misspelt, such as GT_FUSES=0: a
 * silently ignored switch would make a benchmark wrong. Other names with this prefix are
 * ignored, because programs may have variables of their own.
 *
 * An empty value counts as unset. A value that is not allowed is a usage error (exit 2), as with
 * an option: a benchmark with GT_FUSE=maybe must not run.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_ENV_H
#define GT_RUNTIME_BASE_ENV_H
#include "runtime/base/err.h"
#include <stdint.h>

/* Checks all variables of the table. False: err names one, its value, and the allowed ones. */
bool env_check(Err *err);
/* Prints "PROGRAMwarning: ..." to standard error for each variable that seems to be misspelt. */
void env_warn_misspelt(const char *program);
/* The value of a variable of the table, or its default if it is unset or env_check would refuse
 * it. */
bool env_is_on(const char *name); /* 0 or 1, or words for them */
int64_t env_int(const char *name);
const char *env_word(const char *name); /* as it was set, with off and no as 0, ...; "" if unset */
#endif
