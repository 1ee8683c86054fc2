/* profile.h: `gtsh --profile`: at the end of a run, its time by source line.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_PROFILE_H
#define GT_LANG_SHELL_PROFILE_H
#include "lang/value/interp.h"

/* False: profile_report could not write the file, as far as one can see before the run. */
bool profile_check(const char *path, LangError *e);
/* Waits for all work, then writes the lines as CSV to the file `path`, or, if that is NULL, as a
 * table to standard error. seconds: the duration of the run. Fails if the workers' times cannot be
 * had, but shows the counts, and if the file cannot be written. */
bool profile_report(Interp *in, const char *path, double seconds, LangError *e);
#endif
