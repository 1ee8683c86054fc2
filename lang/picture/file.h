/* file.h: a figure as a file. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_PICTURE_FILE_H
#define GT_LANG_PICTURE_FILE_H
#include "lang/picture/figure.h"

/* True if the path ends with .png or .svg; else ERR_ARG says so. */
bool figure_is_file(const char *path, Err *err);
/* Appends the bytes of such a file. ERR_LIMIT: too large; ERR_IO: PNG needs cairo, which is
 * loaded on first use, and is missing. An image becomes a PNG of its own pixels. */
bool figure_file(const Figure *f, const char *path, Bytes *out, Err *err);
#endif
