/* typing_line.c: see typing_line.h.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/typing_line.h"
#include "lang/complete/path.h"
#include "lang/shell/commands.h"
#include "runtime/base/utf8.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    WITH_HINTS = 8, /* candidates: no more are listed one by one */
    GAP = 2,        /* blanks between columns */
    COLUMNS_MAX = 40
};

/* ---- commands ---- */

static void offer_words(const char *line, size_t cursor, Completion *out) {
    const Command *c;
    out->start = 0;
    for (size_t i = 0; (c = command_at(i)); i++) {
        Candidate word = {.text = c->word,
                          .after = c->argument == COMMAND_NONE ? "" : " ",
                          .hint = c->help,
                          .kind = CANDIDATE_COMMAND};
        completion_offer(out, line, cursor, &word);
    }
}

/* Offers the words that a command's form gives in lower case: on and off of "EXPR|on|off". */
static void offer_form(const char *form, const char *word, size_t n, Completion *out) {
    char text[32];
    for (; *form; form += strspn(form, "[]| ")) {
        size_t len = strcspn(form, "[]| ");
        bool is_word = len > 0 && len < sizeof text && islower((unsigned char)*form);
        snprintf(text, sizeof text, "%.*s", (int)(is_word ? len : 0), form);
        if (is_word)
            completion_offer(out, word, n,
                             &(Candidate){.text = text, .after = "", .kind = CANDIDATE_OPTION});
        form += len;
    }
}

/* A word of a command, as a shell splits them. */
typedef struct Word {
    size_t at; /* of its text, behind a quote */
    size_t end;
    char quote; /* that is open at its end, or ' ' */
} Word;

/* The last word of line[from .. cursor), which may be empty; *first: the first one. */
static Word last_word(const char *line, size_t from, size_t cursor, Word *first) {
    Word w = {.at = from, .quote = ' '};
    bool is_first = true;
    for (size_t i = from; i < cursor; i++) {
        char c = line[i];
        if (c == '\\' && i + 1 < cursor)
            i++;
        else if (w.quote == ' ' && (c == '"' || c == '\''))
            w = (Word){.at = i + 1, .quote = c};
        else if (w.quote != ' ' && c == w.quote)
            w.quote = ' ';
        else if (w.quote == ' ' && (c == ' ' || c == '\t')) {
            w.end = i;
            if (is_first) *first = w;
            is_first = false;
            w = (Word){.at = i + 1, .quote = ' '};
        }
    }
    w.end = cursor;
    if (is_first) *first = w;
    return w;
}

/* The text of a word without quotes and backslashes, in path[size]; false if it does not fit. */
static bool word_text(const char *line, Word w, char *path, size_t size) {
    size_t n = 0;
    for (size_t i = w.at; i < w.end && n < size - 1; i++) {
        if (line[i] == '\\' && i + 1 < w.end)
            i++;
        else if (line[i] == '"' || line[i] == '\'')
            continue;
        path[n++] = line[i];
    }
    path[n] = '\0';
    return n < size - 1;
}

/* The arguments of a command that takes a file: the file, then options of the script and files. */
static void offer_file(const char *line, size_t from, size_t cursor, Completion *out) {
    char path[1024];
    Word first, word = last_word(line, from, cursor, &first);
    const char *text = line + word.at;
    size_t n = cursor - word.at;
    out->start = word.at;
    if (word.at > first.end && *text == '-' && word_text(line, first, path, sizeof path))
        complete_option(path, text, n, out);
    else
        complete_path(text, n, ".gt", word.quote, out);
    if (!out->n) complete_path(text, n, NULL, word.quote, out);
    char end[3] = {word.quote, word.quote == ' ' ? '\0' : ' ', '\0'};
    for (size_t i = 0; i < out->n; i++)
        if (out->item[i].kind == CANDIDATE_FILE)
            out->item[i].after = arena_strndup(&out->arena, end, strlen(end));
}

static void offer_code(Interp *in, const char *line, size_t from, size_t n, size_t cursor,
                       Completion *out) {
    complete_code(in, line + from, n - from, cursor - from, out);
    out->start += from;
}

/* :word argument. */
static void offer_command(Interp *in, const char *line, size_t n, size_t cursor, Completion *out) {
    size_t n_word = strcspn(line, " \t");
    if (cursor <= n_word) {
        offer_words(line, cursor, out);
        return;
    }
    const Command *c = command_find(line, n_word);
    size_t from = n_word + strspn(line + n_word, " \t");
    if (from > cursor) from = cursor;
    out->start = from;
    switch (c ? c->argument : COMMAND_NONE) {
    case COMMAND_FILE:
        offer_file(line, from, cursor, out);
        if (!out->n && strstr(c->form, "NAME")) offer_code(in, line, from, n, cursor, out);
        break;
    case COMMAND_NAME:
    case COMMAND_EXPR: offer_code(in, line, from, n, cursor, out); break;
    case COMMAND_SETTING:
    case COMMAND_SWITCH:
    case COMMAND_NONE:
    case COMMAND_NUMBER:
    case COMMAND_PLACE: break;
    }
    if (c && (!out->n || out->start == from)) offer_form(c->form, line + from, cursor - from, out);
}

static void offer_shell(const char *line, size_t cursor, Completion *out) {
    size_t word = cursor;
    while (word > 1 && !strchr(" \t;|&<>", line[word - 1])) word--;
    out->start = word;
    complete_path(line + word, cursor - word, NULL, 0, out);
}

void line_complete(Interp *in, const char *before, size_t n_before, const char *line, size_t n,
                   size_t cursor, Completion *out) {
    *out = (Completion){.start = cursor};
    if (!n_before && *line == ':')
        offer_command(in, line, n, cursor, out);
    else if (!n_before && *line == '!')
        offer_shell(line, cursor, out);
    else if (!n_before && *line == '?')
        complete_topic(in, line, cursor, out);
    else {
        Bytes text = {0};
        bytes_add(&text, before, n_before);
        bytes_add(&text, line, n);
        complete_code(in, text.data, text.n, n_before + cursor, out);
        out->start = out->start < n_before ? cursor : out->start - n_before;
        bytes_fini(&text);
    }
}

/* ---- lists ---- */

static int columns_of(const char *s) { return utf8_columns(s, strlen(s)); }

/* Appends s, cut to fit the columns; returns those used. */
static int put_cut(const char *s, int columns, Bytes *out) {
    int used = 0;
    uint32_t cp;
    for (size_t n = strlen(s); n;) {
        int len = utf8_decode(s, n, &cp), w = len ? utf8_width(cp) : 1;
        if (used + w > columns) break;
        if (len && cp >= 0x20 && (cp < 0x7f || cp >= 0xa0))
            bytes_add(out, s, (size_t)len);
        else
            bytes_putc(out, '?');
        used += w;
        s += len ? len : 1;
        n -= (size_t)(len ? len : 1);
    }
    return used;
}

/* The last part of a path, all of another name. */
static const char *shown(const Candidate *c) {
    bool is_path = c->kind == CANDIDATE_FILE || c->kind == CANDIDATE_DIRECTORY;
    const char *slash = is_path ? strrchr(c->text, '/') : NULL;
    return slash ? slash + 1 : c->text;
}

static int put_name(const Candidate *c, int columns, Bytes *out) {
    int used = put_cut(shown(c), columns, out);
    bool has_end = c->kind == CANDIDATE_ARGUMENT || c->kind == CANDIDATE_DIRECTORY;
    return used + (has_end ? put_cut(c->after, columns - used, out) : 0);
}

static void put_blanks(int n, Bytes *out) {
    while (n-- > 0) bytes_putc(out, ' ');
}

static void list_lines(const Completion *c, int width, int widest, bool color, Bytes *out) {
    for (size_t i = 0; i < c->n; i++) {
        const Candidate *k = &c->item[i];
        if (k->kind == CANDIDATE_ARGUMENT && strchr(k->hint, '=')) { /* lr=0.1 says it all */
            put_cut(k->hint, width - 1, out);
            bytes_putc(out, '\n');
            continue;
        }
        int used = put_name(k, width - 1, out);
        if (*k->hint && widest + GAP + 8 < width) {
            put_blanks(widest + GAP - used, out);
            if (color) bytes_puts(out, "\033[2m");
            put_cut(k->hint, width - widest - GAP - 1, out);
            if (color) bytes_puts(out, "\033[0m");
        }
        bytes_putc(out, '\n');
    }
}

static int name_columns(const Candidate *c) {
    bool has_end = c->kind == CANDIDATE_ARGUMENT || c->kind == CANDIDATE_DIRECTORY;
    return columns_of(shown(c)) + (has_end ? columns_of(c->after) : 0);
}

/* The widths of `cols` columns for the first n candidates, listed downwards. False if a row is
 * wider than the terminal. */
static bool fit_columns(const Completion *c, int n, int cols, int width, int *wide) {
    int rows = (n + cols - 1) / cols, sum = 0;
    for (int k = 0; k < cols; k++) {
        wide[k] = 0;
        for (int i = k * rows; i < n && i < (k + 1) * rows; i++)
            if (name_columns(&c->item[i]) + GAP > wide[k])
                wide[k] = name_columns(&c->item[i]) + GAP;
        sum += wide[k];
    }
    return sum - GAP < width;
}

static void list_columns(const Completion *c, int width, int height, Bytes *out) {
    int wide[COLUMNS_MAX], n = (int)c->n, cols, rows, most = height > 4 ? height - 3 : 1;
    for (;; n -= 1 + n / 16) { /* until they fit */
        for (cols = n < COLUMNS_MAX ? n : COLUMNS_MAX; cols > 1; cols--)
            if (fit_columns(c, n, cols, width, wide)) break;
        rows = (n + cols - 1) / cols;
        if (rows <= most) break;
    }
    for (int r = 0; r < rows; r++) {
        for (int k = 0, pad = 0; k < cols && k * rows + r < n; k++) {
            put_blanks(pad, out);
            pad = wide[k] - put_name(&c->item[k * rows + r], width - 1, out);
        }
        bytes_putc(out, '\n');
    }
    if (n < (int)c->n) bytes_printf(out, "… and %d more\n", (int)c->n - n);
}

void line_list(const Completion *c, int width, int height, bool color, Bytes *out) {
    int widest = 0;
    for (size_t i = 0; i < c->n; i++) {
        int w = columns_of(shown(&c->item[i])) + 1;
        if (w > widest) widest = w;
    }
    if (c->signature) {
        if (color) bytes_puts(out, "\033[2m");
        put_cut(c->signature, 4 * width, out);
        bytes_puts(out, color ? "\033[0m\n" : "\n");
    }
    if (c->n <= WITH_HINTS && (int)c->n < height - 2)
        list_lines(c, width, widest, color, out);
    else
        list_columns(c, width, height, out);
}
