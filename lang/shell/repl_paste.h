/* repl_paste.h: text that is pasted at the prompt: transcripts of a session, and text that is
 * taller than the terminal.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPL_PASTE_H
#define GT_LANG_SHELL_REPL_PASTE_H
#include "runtime/base/arena.h"

/* Bytes of a scope's name in the prompt, at most. */
enum { SCOPE_MAX = 20 };

/* Skips the prompts in front of a line of a pasted transcript. */
const char *paste_skip_prompts(const char *s);
/* Skips a prompt of Python or IPython, >>> or In [1]:, in front of a statement. */
const char *paste_skip_python(const char *s);
/* What paste_clean leaves out: lines that are not blank, and the first of them. */
typedef struct PasteRest {
    size_t n_lines;
    Bytes first; /* without its newline; the caller frees it */
} PasteRest;

/* If the text is a transcript, removes the lines without a prompt, which are output. A transcript
 * begins with `gt> ` or with a prompt of Python or IPython. Lines that an unfinished statement of
 * gtsh needs stay. All lines stay after a single `gt> ` if they are statements: one of them is no
 * mere expression, or the line at the prompt, an assignment say, shows nothing. rest: zeroed. */
void paste_clean(Bytes *text, PasteRest *rest);
/* Makes readline's bracketed paste hold text that is taller than the terminal, instead of showing
 * it in the line. */
void paste_begin(void);
/* The held text, which the caller frees, or NULL. Enter takes it. */
char *paste_take(void);
bool paste_is_held(void);
void paste_drop(void);
#endif
