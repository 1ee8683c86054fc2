/* commands.h: the commands of the prompt, `:word argument`, from the table commands.def.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_COMMANDS_H
#define GT_LANG_SHELL_COMMANDS_H
#include "runtime/base/arena.h"
#include <stdbool.h>
#include <stddef.h>

struct Repl;

/* What may follow a command; see commands.def. */
typedef enum CommandArgument {
    COMMAND_NONE,
    COMMAND_FILE,
    COMMAND_NAME,
    COMMAND_SWITCH,
    COMMAND_EXPR,
    COMMAND_NUMBER,
    COMMAND_SETTING,
    COMMAND_PLACE
} CommandArgument;

typedef struct Command {
    const char *word; /* ":who" */
    CommandArgument argument;
    const char *form, *help;
} Command;

/* The i-th command in the order of the table, NULL at the end. */
const Command *command_at(size_t i);
/* The command of this word, n bytes with the colon, or NULL. */
const Command *command_find(const char *word, size_t n);
/* Appends what :help prints. */
void commands_help(Bytes *out);
/* Runs a line that begins with a colon, without blanks at its end. Prints answers to standard
 * output and failures to standard error. */
void command_run(struct Repl *r, const char *line);
/* Runs source text for a command, whose own name errors show. False: it failed, and the failure was
 * reported. */
bool command_code(struct Repl *r, const char *code);
#endif
