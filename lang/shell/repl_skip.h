/* repl_skip.h: skips the rest of a refused block at the prompt, so that one mistake gives one
 * message and no line of the block runs by itself.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPL_SKIP_H
#define GT_LANG_SHELL_REPL_SKIP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero: skips nothing. */
typedef struct Skip {
    int braces;       /* open braces of the refused statement */
    bool is_indented; /* indented lines belong to it: def f(x): */
    bool may_go_on;   /* else and elif belong to it */
    char quote;       /* of the string that a line leaves open, or 0 */
    uint32_t line;    /* where the statement begins */
} Skip;

/* A statement, n bytes from the given line on, has a syntax error: the rest of it follows. */
void skip_begin(Skip *s, const char *text, size_t n, uint32_t line);
/* True if the line belongs to the refused statement. by_hand: somebody has read the message and
 * typed the line. Then an empty line ends the statement, and a line at the margin is a new one;
 * otherwise only the closing brace ends it. */
bool skip_line(Skip *s, const char *line, bool by_hand);
/* True if a line begins with else or elif. */
bool skip_is_else(const char *line);
#endif
