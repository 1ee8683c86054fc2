/* typing.h: a line while it is being typed: Tab completes, brackets indent, and on a terminal that
 * can, colours and the matching bracket are shown. Readline reads the keys.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_TYPING_H
#define GT_LANG_SHELL_TYPING_H
#include "lang/value/interp.h"

/* Binds the keys, after the user's inputrc, whose bindings stay. in: knows the names, and whether
 * standard error has colours. Call once. */
void typing_open(Interp *in);
/* What was typed of the same statement before a line: n bytes, and the n_open of them that
 * parse_open_text leaves, for what is done at each key of a long statement. Borrowed. */
typedef struct TypingBefore {
    const char *text, *open;
    size_t n, n_open;
} TypingBefore;
/* A line will be read on an empty row of the terminal. Borrows what `before` has until the next
 * call. Call before the handler is installed. */
void typing_begin(const TypingBefore *before);
/* The line has been read, or dropped: moves below it. has_newline: false leaves the cursor behind
 * it. */
void typing_end(bool has_newline);
/* Draws the line anew if the terminal's size has changed; cheap enough for every wait. */
void typing_resized(void);
/* Stops the process if Ctrl-Z has asked for it. Until it goes on and draws the line again, the
 * terminal is as it was before. Cheap enough for every wait. */
void typing_stopped(void);
/* Erases the line from the terminal, so that something can be printed above it; typing_again draws
 * it anew, below. */
void typing_erase(void);
void typing_again(void);
#endif
