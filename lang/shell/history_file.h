/* history_file.h: the history of the prompt, and the file that keeps it between sessions.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_HISTORY_FILE_H
#define GT_LANG_SHELL_HISTORY_FILE_H
#include <stddef.h>

/* Reads the history file into the line editor. The file and the editor keep the newest
 * $GT_HISTFILESIZE entries. Returns the file's path, malloc'ed, or NULL if there is to be none. */
char *history_file_open(void);
/* Adds an entry of n bytes, of which line ends at the end are cut, to the editor and to the file at
 * path (NULL: none). Entries that begin with a blank are left out. */
void history_file_add(const char *path, const char *text, size_t n);
#endif
