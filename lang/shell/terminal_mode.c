/* terminal_mode.c: see terminal_mode.h. SPDX-License-Identifier: MIT */
#include "lang/shell/terminal_mode.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static struct termios mode;                       /* before the line editor's */
static volatile sig_atomic_t is_changed, is_dumb; /* mode is valid; there is no bracketed paste */

void terminal_mode_begin(void) {
    const char *term = getenv("TERM");
    if (tcgetattr(STDIN_FILENO, &mode)) return;
    is_dumb = !term || !*term || !strcmp(term, "dumb");
    is_changed = 1;
}

void terminal_mode_end(void) { is_changed = 0; }

void terminal_mode_restore(void) {
    static const char plain[] = "\033[?2004l\r\n";
    size_t skip = is_dumb ? sizeof plain - 3 : 0; /* the line's end alone */
    int kept = errno;
    if (!is_changed || tcgetpgrp(STDIN_FILENO) != getpgrp()) return;
    tcsetattr(STDIN_FILENO, TCSANOW, &mode);
    if (write(STDERR_FILENO, plain + skip, sizeof plain - 1 - skip) < 0) errno = kept;
}
