/* pager.h: output of --emit and of the prompt's commands goes through $PAGER if it is longer than
 * the screen; printed values do not. It is printed directly if standard output is not a terminal,
 * if the terminal cannot move its cursor (TERM=dumb), or if PAGER is empty.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_PAGER_H
#define GT_LANG_SHELL_PAGER_H
#include <stdbool.h>

/* Starts to collect standard output. */
void pager_begin(void);
/* Shows the collected output; returns when the pager has ended. */
void pager_end(void);
/* The columns of the terminal that standard output goes to, through a pager or not; 0: none. */
int pager_columns(void);
/* :pager: whether $PAGER is used at all; it is at first. */
void pager_switch(bool on);
bool pager_is_on(void);
#endif
