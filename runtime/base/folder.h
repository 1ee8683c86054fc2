/* folder.h: directories. SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_FOLDER_H
#define GT_RUNTIME_BASE_FOLDER_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Makes the missing directories above path: those before each '/'. If it returns false, dir is the
 * one that cannot be made and errno says why. */
bool folder_make_above(const char *path, unsigned mode, char dir[PATH_MAX]);
/* Writes the user's directory for our files: $variable/gt, or $HOME/below_home/gt. A relative
 * $variable is ignored. Returns false if neither is an absolute path or size_bytes are too few. */
bool folder_of_user(const char *variable, const char *below_home, char *path, size_t size_bytes);
#endif
