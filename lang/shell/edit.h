/* edit.h: the line editor of the prompt, as readline's functions: GNU readline, libedit (make
 * EDITLINE=libedit), or none (make EDITLINE=none), where the terminal edits the line. What another
 * editor lacks is declared here and defined in edit.c.
 *
 * libedit has no timestamps in the history, no bracketed paste and no line that the program draws.
 * None has no keys, no completion and no history file, either.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_EDIT_H
#define GT_LANG_SHELL_EDIT_H
#include <stdbool.h>
#include <stdio.h>

#ifdef EDIT_NONE
typedef struct HIST_ENTRY {
    char *line, *timestamp;
} HIST_ENTRY;
extern const char *rl_readline_name;
extern FILE *rl_outstream;
extern char *rl_line_buffer; /* always empty: the terminal keeps the line until it is complete */
extern int rl_catch_signals, rl_end, history_base;
/* Shows the prompt. on_line gets each line, malloc'ed, or NULL at the end of input. */
void rl_callback_handler_install(const char *prompt, void (*on_line)(char *line));
void rl_callback_handler_remove(void);
void rl_callback_read_char(void); /* when poll says that input is there */
void rl_free_line_state(void);
int rl_on_new_line(void);
void rl_redisplay(void);
void add_history(const char *line);
HIST_ENTRY **history_list(void);
#elif defined EDIT_LIBEDIT
#include <editline/readline.h>
#else
#include <readline/readline.h>
#include <readline/history.h>
#undef RETURN /* a key there, a word of the language here */
#endif

#if defined EDIT_NONE || defined EDIT_LIBEDIT
void rl_callback_sigcleanup(void);
#endif

/* The next key: rl_getc, but Ctrl-C ends the wait, with EOF. GNU readline only. */
int edit_key(FILE *f);
/* Begins the history with the entries of a file (NULL: none), of which it keeps the last `kept`;
 * true if the file has more. The file's form depends on the editor, so that each has its own. */
bool edit_history_open(const char *path, int kept);
/* Writes all entries to a file, which it replaces; false if that fails. */
bool edit_history_write(const char *path);
/* Appends the last entry to the file. */
void edit_history_append(const char *path);
/* What the name of the history file ends in. */
extern const char *const edit_history_suffix;
#endif
