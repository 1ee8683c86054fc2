/* command_file.h: the commands on files and on what was typed. rest is the text behind the command.
 * They print failures to standard error.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_COMMAND_FILE_H
#define GT_LANG_SHELL_COMMAND_FILE_H
#include "lang/shell/repl_state.h"

/* :run FILE [ARGS], and with echo :load FILE, which shows values. Without a file: the last one
 * again, :run with the same arguments. */
void command_run_file(Repl *r, const char *rest, bool echo);
void command_edit(Repl *r, const char *rest);
void command_save(Repl *r, const char *rest, bool over); /* over: also over a file */
/* The comment before a file's statements in what :save writes: how it ran, and what of that the
 * saved program does not repeat. Malloc'ed. */
char *command_file_comment(const Repl *r, const Source *src, unsigned how);
void command_history(Repl *r, const char *rest);
void words_free(char ***words); /* malloc'ed strings up to NULL; *words may be NULL */
void command_file_fini(Repl *r);
/* Appends lines from..to of a source; their numbers are those of error messages. */
void source_lines(const Source *src, uint32_t from, uint32_t to, Bytes *out);
#endif
