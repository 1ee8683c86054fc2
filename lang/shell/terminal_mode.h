/* terminal_mode.h: the terminal's mode while the line editor has changed it: given back when a
 * signal ends the process at the prompt.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_TERMINAL_MODE_H
#define GT_LANG_SHELL_TERMINAL_MODE_H

/* The line editor is about to change the mode: keeps the present one. */
void terminal_mode_begin(void);
/* The line editor has restored the mode. */
void terminal_mode_end(void);
/* Between begin and end: restores the mode, and switches bracketed paste off. Safe in handlers of
 * signals. Does nothing in the background, where setting the mode would stop the process. */
void terminal_mode_restore(void);
#endif
