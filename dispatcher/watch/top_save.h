/* top_save.h: writes tape lines that the flight recorder sent into a new file: what the key t of
 * gt-top does.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TOP_SAVE_H
#define GT_DISPATCHER_WATCH_TOP_SAVE_H
#include "runtime/base/err.h"
#include <stdio.h>

enum { TOP_SAVE_PATH = 64 };
typedef struct TopSave {
    FILE *file; /* NULL: none is open */
    char path[TOP_SAVE_PATH];
    size_t n_lines;
} TopSave; /* zero-initialised is valid */

/* Creates gt-YYYYMMDD-HHMMSS.tape in the current directory, with mode 0600, and writes the header
 * of a tape. Error: it cannot be created. */
bool top_save_open(TopSave *s, Err *err);
void top_save_lines(TopSave *s, const char *text, size_t n);
/* Ends the file; path (of TOP_SAVE_PATH bytes) and n_lines say what was written. Error: writing
 * failed; the file is removed. */
bool top_save_close(TopSave *s, char *path, size_t *n_lines, Err *err);
/* Removes a file that is not complete, if there is one. */
void top_save_abandon(TopSave *s);
#endif
