/* path.h: paths, and options of the command line, as candidates. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_COMPLETE_PATH_H
#define GT_LANG_COMPLETE_PATH_H
#include "lang/complete/complete.h"

/* Paths that begin with these n bytes. extension: of the files offered, ".gt", or NULL for all.
 * quote: the quote around the path, which needs an escape; ' ': none, so blanks need one; or 0. */
void complete_path(const char *prefix, size_t n, const char *extension, char quote,
                   Completion *out);
/* Options that the script at `path` reads with arg(), and that begin with these n bytes: --lr. */
void complete_option(const char *path, const char *prefix, size_t n, Completion *out);
#endif
