/* near.c: the most similar of some names, for "did you mean". SPDX-License-Identifier: MIT */
#include "runtime/base/near.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    STEP = 8, /* cost of a wrong letter; one in the other case costs 1 */
    CASE_ONLY =
        5, /* more than two letters in the other case cost, less than any other difference */
    LONGEST = 64
};

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c; }

static bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

static size_t change(char a, char b) { return a == b ? 0 : lower(a) == lower(b) ? 1 : STEP; }

/* Damerau-Levenshtein distance (neighbours may swap) of two short names; limit + 1 if it exceeds
 * `limit`. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb, size_t limit) {
    if (na > LONGEST || nb > LONGEST || (na > nb ? na - nb : nb - na) * STEP > limit)
        return limit + 1;
    size_t row[3][LONGEST + 1];
    for (size_t j = 0; j <= nb; j++) row[0][j] = j * STEP;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
        now[0] = i * STEP;
        for (size_t j = 1; j <= nb; j++) {
            size_t d = up[j - 1] + change(a[i - 1], b[j - 1]);
            if (up[j] + STEP < d) d = up[j] + STEP;
            if (now[j - 1] + STEP < d) d = now[j - 1] + STEP;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                up2[j - 2] + STEP < d)
                d = up2[j - 2] + STEP;
            now[j] = d;
        }
    }
    size_t d = row[na % 3][nb];
    return d > limit ? limit + 1 : d;
}

/* The cost of completing s to name: half a STEP per letter, so that Lin gives Linear and not
 * min. */
static size_t completion(const char *s, size_t n, const char *name, size_t n_name) {
    if (n_name <= n || n_name > LONGEST || memcmp(s, name, n)) return SIZE_MAX;
    return STEP / 2 + (n_name - n);
}

const char *nearest_name(const char *s, size_t n, const char *const *names, size_t n_names) {
    size_t best = n < 3 ? CASE_ONLY : n / 3 * STEP + STEP;
    const char *found = NULL;
    if (!n) return NULL;
    for (size_t i = 0; i < n_names; i++) {
        if (!names[i]) continue;
        size_t d = distance(s, n, names[i], strlen(names[i]), best);
        size_t rest = completion(s, n, names[i], strlen(names[i]));
        if (rest < d) d = rest;
        d += 2 * (size_t)(is_capital(s[0]) != is_capital(names[i][0])); /* Relu: ReLU, not relu */
        if (d < best && d > 0) {
            best = d;
            found = names[i];
        }
    }
    return found;
}
