/* words.c: see words.h. SPDX-License-Identifier: MIT */
#include "runtime/base/words.h"
#include <string.h>

const char *words_next(const char **words, size_t *n) {
    const char *word = *words, *end = strchrnul(word, ' ');
    *n = (size_t)(end - word);
    *words = end + (*end == ' ');
    return *n ? word : NULL;
}

bool words_have(const char *words, const char *s, size_t n) {
    const char *word;
    for (size_t k; (word = words_next(&words, &k));)
        if (k == n && !memcmp(word, s, n)) return true;
    return false;
}

const char *words_row(const char *const (*rows)[2], size_t n_rows, const char *s, size_t n) {
    for (size_t i = 0; i < n_rows; i++)
        if (words_have(rows[i][0], s, n)) return rows[i][1];
    return NULL;
}
