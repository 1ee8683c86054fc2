/* repl_behind.h: work that runs behind the prompt: instructions of an interrupted statement, their
 * cancellation, and what arrives while a line is typed.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPL_BEHIND_H
#define GT_LANG_SHELL_REPL_BEHIND_H
#include "lang/shell/repl_state.h"

/* Number of instructions that run behind the prompt. */
uint64_t behind_count(const Repl *r);
/* A statement or command was interrupted: what it has issued runs behind the prompt from now on.
 * Says how much that is and how to drop it, unless it is nothing. If the statement has said that it
 * waits, drops the work instead. */
void behind_begin(Repl *r);
/* While a statement or command runs, says that it waits for work behind the prompt, if it does. */
void behind_watch(Repl *r);
/* Ends behind_watch; before r ends. */
void behind_forget(Repl *r);
/* Cancels the instructions that have not begun. Prints the names of the variables that are lost if
 * the answers arrive soon; otherwise behind_say does. */
void behind_cancel(Repl *r);
/* Prints the lost variables once all answers have arrived; true if it did. */
bool behind_report_lost(Repl *r);
/* While nothing is typed: behind_poll reads replies and writes files, behind_say reports above the
 * line what they said. */
void behind_poll(Repl *r);
void behind_say(Repl *r);
#endif
