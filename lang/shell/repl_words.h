/* repl_words.h: runs `:word`, `?name`, `??name` and `!command` at the prompt.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPL_WORDS_H
#define GT_LANG_SHELL_REPL_WORDS_H
struct Repl;
void repl_word(struct Repl *r, const char *line);
#endif
