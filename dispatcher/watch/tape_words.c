/* tape_words.c: see tape_words.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/tape_words.h"
#include "runtime/inst/inst_text.h"
#include "runtime/base/utf8.h"
#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The end of the quoted text that begins at s, after its quote. */
static const char *skip_quoted(const char *s, const char *end) {
    for (s++; s < end && *s != '"'; s++)
        if (*s == '\\' && s + 1 < end) s++;
    return s < end ? s + 1 : end;
}

bool word_next(Words *w, Word *out) {
    while (w->at < w->end && is_blank(*w->at)) w->at++;
    const char *s = w->at;
    int depth = 0;
    *out = (Word){s, 0};
    if (s == w->end) return false;
    while (s < w->end && (depth || !is_blank(*s))) {
        if (*s == '"') {
            s = skip_quoted(s, w->end);
            continue;
        }
        if (*s == '[') depth++;
        if (*s == ']' && depth) depth--;
        s++;
    }
    *out = (Word){w->at, (size_t)(s - w->at)};
    w->at = s;
    return true;
}

bool word_is(Word w, const char *text) { return w.n == strlen(text) && !memcmp(w.s, text, w.n); }

bool word_pair(Word w, Word *key, Word *value) {
    size_t i = 0;
    while (i < w.n && (is_word_char((unsigned char)w.s[i]))) i++;
    if (i == 0 || i == w.n || w.s[i] != '=') return false;
    *key = (Word){w.s, i};
    *value = (Word){w.s + i + 1, w.n - i - 1};
    return true;
}

void word_text(Word w, Bytes *out) {
    static const char from[] = "nrt", to[] = "\n\r\t";
    if (!w.n || w.s[0] != '"') {
        bytes_add(out, w.s, w.n);
        return;
    }
    const char *s = w.s + 1, *end = w.s + w.n;
    for (; s < end && *s != '"'; s++) {
        const char *plain;
        if (*s != '\\' || s + 1 == end) {
            bytes_putc(out, *s);
        } else if (*++s == 'x' && end - s > 2 && hex_digit(s[1]) >= 0 && hex_digit(s[2]) >= 0) {
            bytes_putc(out, (char)(16 * hex_digit(s[1]) + hex_digit(s[2])));
            s += 2;
        } else {
            plain = *s ? strchr(from, *s) : NULL;
            bytes_putc(out, plain ? to[plain - from] : *s);
        }
    }
}

bool word_number(Word w, uint64_t most, uint64_t *out) {
    uint64_t v = 0;
    if (w.n == 0) return false;
    for (size_t i = 0; i < w.n; i++) {
        if (w.s[i] < '0' || w.s[i] > '9') return false;
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(w.s[i] - '0'), &v))
            return false;
    }
    *out = v;
    return v <= most;
}

/* The largest time, 31 years: sums of two stay far below 2^63. */
#define TIME_MAX_NS INT64_C(1000000000000000000)

bool word_time(Word w, int64_t unit_ns, int64_t *out) {
    const char *point = memchr(w.s, '.', w.n);
    Word whole = {w.s, point ? (size_t)(point - w.s) : w.n};
    uint64_t v = 0;
    int64_t scale = unit_ns, ns = 0;
    if (whole.n ? !word_number(whole, (uint64_t)(TIME_MAX_NS / unit_ns), &v) : w.n < 2)
        return false;
    for (size_t i = whole.n + 1; i < w.n; i++) {
        if (w.s[i] < '0' || w.s[i] > '9') return false;
        ns += (w.s[i] - '0') * (scale /= 10);
    }
    *out = (int64_t)v * unit_ns + ns;
    return true;
}

bool word_id(Word w, uint64_t *out) {
    return w.n > 1 && w.s[0] == 't' && word_number((Word){w.s + 1, w.n - 1}, UINT64_MAX - 1, out);
}

bool word_place(Word w, char kind, uint64_t most, uint64_t *out) {
    return w.n > 1 && w.s[0] == kind && word_number((Word){w.s + 1, w.n - 1}, most, out);
}

/* ---- Instructions ---- */

/* @train.gt:6:12, @"my file.gt":6 */
static void read_position(Word w, InstWords *out) {
    const char *s = w.s + 1, *end = w.s + w.n, *name = s;
    if (s < end && *s == '"') {
        s = skip_quoted(s, end);
        if (s == end || *s != ':') return;
    } else {
        while (s < end && *s != ':') s++;
    }
    Word file = {name, (size_t)(s - name)}, line = {s + 1, 0};
    uint64_t v;
    if (s == end) return;
    while (line.s + line.n < end && line.s[line.n] != ':') line.n++;
    if (!file.n || !word_number(line, UINT32_MAX, &v) || v == 0) return;
    out->file = file;
    out->line = (uint32_t)v;
}

/* The attributes of interest; save and track name operands: loss=t3. */
static void read_pair(Word key, Word value, InstWords *out) {
    uint64_t id;
    if (word_is(key, "on"))
        word_number(value, UINT64_MAX - 1, &out->on);
    else if (word_is(key, "from"))
        word_number(value, UINT64_MAX - 1, &out->from);
    else if (out->n_in < WORDS_IN && word_id(value, &id))
        out->in[out->n_in++] = id;
}

/* The results before " = ". */
static void read_results(Words *w, InstWords *out) {
    Words ahead = *w;
    Word ids, is;
    if (!word_next(&ahead, &ids) || !word_next(&ahead, &is) || !word_is(is, "=")) return;
    const char *comma = memchr(ids.s, ',', ids.n);
    if (comma) ids.n = (size_t)(comma - ids.s);
    if (!word_id(ids, &out->out)) return;
    *w = ahead;
}

bool inst_words(const char *s, size_t n, InstWords *out) {
    Words w = {s, s, s + n};
    Word word, key, value;
    uint64_t id;
    *out = (InstWords){.out = UINT64_MAX, .on = UINT64_MAX, .from = UINT64_MAX};
    read_results(&w, out);
    if (!word_next(&w, &out->op) || !is_word_char((unsigned char)out->op.s[0])) return false;
    if (word_is(out->op, "signal") && word_next(&w, &word))
        out->op.n = (size_t)(word.s + word.n - out->op.s);
    while (word_next(&w, &word)) {
        if (*word.s == '#' || word_is(word, "->")) {
            /* The position is after the types. */
            const char *at = *word.s == '#' ? NULL : memmem(w.at, (size_t)(w.end - w.at), " @", 2);
            if (!at) break;
            w.at = at;
        } else if (*word.s == '@') {
            read_position(word, out);
        } else if (word_pair(word, &key, &value)) {
            read_pair(key, value, out);
        } else if (word_id(word, &id)) {
            if (out->n_in < WORDS_IN) out->in[out->n_in++] = id;
        } else if (!out->first.n) {
            out->first = word;
        }
    }
    return true;
}
