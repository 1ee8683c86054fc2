/* command_set.h: `:set`, the settings of a session.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_COMMAND_SET_H
#define GT_LANG_SHELL_COMMAND_SET_H
#include "lang/shell/repl_state.h"

/* rest: "NAME VALUE" sets, "NAME" prints one setting to standard output, "" all. A wrong name or
 * value is reported to standard error. */
void command_set(Repl *r, const char *rest);
#endif
