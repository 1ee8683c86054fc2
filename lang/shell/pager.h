/* pager.h: what commands of the prompt and --emit print goes through $PAGER where it is longer than
 * the terminal; values never do. Off a terminal, on one that cannot move its cursor (TERM=dumb),
 * and with an empty PAGER it is printed as it is.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_PAGER_H
#define GT_LANG_SHELL_PAGER_H

/* From here on standard output is kept, ... */
void pager_begin(void);
/* ... and here it is shown; returns when the pager has ended. */
void pager_end(void);
#endif
