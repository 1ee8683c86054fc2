/* step_text.c: the tokens of an instruction's text: ids, numbers, and what is between them.
 * SPDX-License-Identifier: MIT */
#include "lang/step/step_text.h"
#include "lang/step/step_cut.h"
#include "runtime/inst/inst_text.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Length of the number at s: an integer, or a decimal with a point, an exponent or both. */
static size_t number_length(const char *s, size_t n) {
    size_t i = n > 0 && s[0] == '-';
    size_t digits = i;
    while (i < n && is_digit(s[i])) i++;
    if (i == digits) return 0;
    if (i + 1 < n && s[i] == '.' && is_digit(s[i + 1])) {
        i++;
        while (i < n && is_digit(s[i])) i++;
    }
    size_t e = i;
    if (e < n && s[e] == 'e') {
        e++;
        if (e < n && (s[e] == '-' || s[e] == '+')) e++;
        if (e < n && is_digit(s[e])) {
            while (e < n && is_digit(s[e])) e++;
            i = e;
        }
    }
    if (i < n && is_word_char((unsigned char)s[i]) && s[i] != '-' && s[i] != '/' && s[i] != '.')
        return 0; /* 3rd */
    return i;
}

static size_t id_length(const char *s, size_t n) {
    size_t i = 1;
    while (i < n && is_digit(s[i])) i++;
    return s[0] == 't' && i > 1 && i < 20 && (i == n || !is_word_char((unsigned char)s[i])) ? i : 0;
}

bool step_token(const char *s, size_t n, size_t *i, bool *quoted, Token *out) {
    size_t start = *i;
    if (start >= n) return false;
    for (size_t k = start; k < n;) {
        char before = k > 0 ? s[k - 1] : ' ';
        bool begins = !is_word_char((unsigned char)before) && before != '$';
        size_t id = !*quoted && begins ? id_length(s + k, n - k) : 0;
        size_t number = begins || (*quoted && before == '-') ? number_length(s + k, n - k) : 0;
        if (s[k] == '-' && *quoted) number = 0; /* "a -1": a dash is text there */
        if (id || number) {
            if (k > start) break;
            *out = (Token){id ? TOKEN_ID : TOKEN_NUMBER, k, id ? id : number, *quoted};
            *i = k + out->n;
            return true;
        }
        if (s[k] == '"') *quoted = !*quoted;
        k += *quoted && s[k] == '\\' && k + 1 < n ? 2 : 1;
        if (k > n) k = n;
        *i = k;
    }
    *out = (Token){TOKEN_TEXT, start, *i - start, *quoted};
    return true;
}

size_t step_plain(const char *s, size_t n) {
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"') quoted = !quoted;
        if (quoted && s[i] == '\\') i++;
        if (quoted) continue;
        if (s[i] == '#' || s[i] == '@' || (s[i] == '-' && i + 1 < n && s[i + 1] == '>')) return i;
    }
    return n;
}
