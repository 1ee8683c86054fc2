/* words.h: lists of words in one text, with a blank between each two: "let var const".
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_WORDS_H
#define GT_RUNTIME_BASE_WORDS_H
#include <stdbool.h>
#include <stddef.h>

/* Returns the first word of *words, of *n bytes, and moves *words behind it. NULL: none is left. */
const char *words_next(const char **words, size_t *n);
/* True if the n bytes at s are one of the words. */
bool words_have(const char *words, const char *s, size_t n);
/* Returns the text of the first row whose words, its first column, have this one, or NULL. */
const char *words_row(const char *const (*rows)[2], size_t n_rows, const char *s, size_t n);
#endif
