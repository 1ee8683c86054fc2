/* near.h: the intended name for a misspelt one.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_NEAR_H
#define GT_RUNTIME_BASE_NEAR_H
#include <stddef.h>

/* Returns the name nearest to `s` within a third of its length (Damerau-Levenshtein; a letter in
 * the other case costs an eighth of a wrong one), or NULL. One or two letters find only a name that
 * differs in upper and lower case. */
const char *nearest_name(const char *s, size_t n, const char *const *names, size_t n_names);
#endif
