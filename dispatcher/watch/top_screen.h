/* top_screen.h: the terminal of gt-top: grids are shown on it, keys are read from it (ncurses). One
 * per process. The terminal is restored by top_screen_close, and when the process is aborted.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TOP_SCREEN_H
#define GT_DISPATCHER_WATCH_TOP_SCREEN_H
#include "dispatcher/watch/top_grid.h"
#include "runtime/base/err.h"

/* Takes over the terminal of standard input and output. is_colored false: no colours. Error: there
 * is no terminal, or TERM is unknown. */
bool top_screen_open(bool is_colored, Err *err);
void top_screen_close(void); /* harmless if it is not open */
void top_screen_size(int *width, int *height);
void top_screen_show(const TopGrid *g);
/* A character, a TOP_KEY_... of top_view.h, TOP_KEY_RESIZE after the terminal was resized, or 0 if
 * no key was typed. */
enum { TOP_KEY_RESIZE = 0x120000 };
int top_screen_key(void);
#endif
