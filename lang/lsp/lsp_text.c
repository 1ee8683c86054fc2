/* lsp_text.c: the text of a document: its lines, edits, and positions in UTF-16 units or bytes.
 * SPDX-License-Identifier: MIT */
#include "lang/lsp/lsp_text.h"
#include "lang/lsp/lsp_index.h"
#include "lang/lsp/lsp_state.h"
#include "runtime/base/utf8.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void find_lines(Doc *d) {
    d->n_lines = 0;
    *d->last = (DocPlace){0};
    for (size_t at = 0;;) {
        ARRAY_PUSH(d->line_at, d->n_lines, d->lines_cap, 64, at);
        const char *end = memchr(d->text.data + at, '\n', d->text.n - at);
        if (!end) return;
        at = (size_t)(end + 1 - d->text.data);
    }
}

/* The path of a file: URI, else the URI itself. Owned by the caller. */
static char *uri_path(const char *uri) {
    if (strncmp(uri, "file://", 7)) return xstrdup(uri);
    const char *s = strchr(uri + 7, '/');
    char *path = xstrdup(s ? s : ""), *w = path;
    for (const char *r = path; *r; r++) {
        if (*r == '%' && hex_digit(r[1]) >= 0 && hex_digit(r[2]) >= 0 &&
            (hex_digit(r[1]) || hex_digit(r[2]))) {
            *w++ = (char)(hex_digit(r[1]) * 16 + hex_digit(r[2]));
            r += 2;
        } else
            *w++ = *r;
    }
    *w = '\0';
    return path;
}

Doc *doc_new(const char *uri, const char *text, size_t n) {
    Doc *d = xmalloc(sizeof *d);
    *d = (Doc){.uri = xstrdup(uri),
               .path = uri_path(uri),
               .is_dirty = true,
               .last = xmalloc(sizeof *d->last)};
    bytes_puts(&d->text, "");
    bytes_add(&d->text, text, n);
    bytes_puts(&d->text, "");
    find_lines(d);
    return d;
}

void doc_free(Doc **d) {
    if (!*d) return;
    index_free(&(*d)->index);
    bytes_fini(&(*d)->text);
    free((*d)->line_at);
    free((*d)->last);
    free((*d)->uri);
    free((*d)->path);
    free(*d);
    *d = NULL;
}

void doc_replace(Doc *d, size_t from, size_t to, const char *text, size_t n) {
    Bytes b = {0};
    bytes_add(&b, d->text.data, from);
    bytes_add(&b, text, n);
    bytes_add(&b, d->text.data + to, d->text.n - to);
    bytes_puts(&b, "");
    bytes_fini(&d->text);
    d->text = b;
    index_free(&d->index);
    find_lines(d);
    d->is_dirty = true;
}

size_t doc_line_of(const Doc *d, size_t at) {
    size_t low = 0, high = d->n_lines;
    while (high - low > 1) {
        size_t k = (low + high) / 2;
        if (d->line_at[k] <= at)
            low = k;
        else
            high = k;
    }
    return low;
}

/* The end of a line, before its line break. */
static size_t line_end(const Doc *d, size_t line) {
    size_t end = line + 1 < d->n_lines ? d->line_at[line + 1] - 1 : d->text.n;
    if (end > d->line_at[line] && d->text.data[end - 1] == '\r') end--;
    return end;
}

/* Bytes of the character at s, and in *units how the protocol counts it. */
static size_t character(const char *s, size_t n, bool is_utf8, uint64_t *units) {
    uint32_t cp = 0;
    int k = utf8_decode(s, n, &cp);
    if (k == 0) k = 1;
    *units = is_utf8 ? (uint64_t)k : cp > 0xffff ? 2 : 1;
    return (size_t)k;
}

bool doc_offset(const Doc *d, const IoValue *p, bool is_utf8, size_t *at) {
    const IoValue *line = p && p->kind == IO_MAP ? io_get(p, "line") : NULL;
    const IoValue *column = line ? io_get(p, "character") : NULL;
    if (!column || line->kind != IO_INT || column->kind != IO_INT || line->i < 0 || column->i < 0)
        return false;
    if ((uint64_t)line->i >= d->n_lines) {
        *at = d->text.n;
        return true;
    }
    size_t k = d->line_at[line->i], end = line_end(d, (size_t)line->i);
    uint64_t left = (uint64_t)column->i, units;
    while (k < end) {
        size_t n = character(d->text.data + k, end - k, is_utf8, &units);
        if (units > left) break;
        left -= units;
        k += n;
    }
    *at = k;
    return true;
}

static void put_position(const Doc *d, size_t at, bool is_utf8, Bytes *out) {
    if (at > d->text.n) at = d->text.n;
    size_t line = doc_line_of(d, at);
    DocPlace *p = d->last;
    uint64_t units;
    if (p->at < d->line_at[line] || p->at > at) *p = (DocPlace){d->line_at[line], 0};
    while (p->at < at) {
        p->at += character(d->text.data + p->at, at - p->at, is_utf8, &units);
        p->column += units;
    }
    bytes_printf(out, "{\"line\":%zu,\"character\":%llu}", line, (unsigned long long)p->column);
}

void doc_put_range(const Doc *d, size_t from, size_t to, bool is_utf8, Bytes *out) {
    bytes_puts(out, "{\"start\":");
    put_position(d, from, is_utf8, out);
    DocPlace start = *d->last; /* the next range may begin here, too */
    bytes_puts(out, ",\"end\":");
    put_position(d, to, is_utf8, out);
    bytes_putc(out, '}');
    *d->last = start;
}

size_t doc_at(const Doc *d, Span s) {
    size_t line = s.line ? s.line - 1 : 0;
    if (line >= d->n_lines) return d->text.n;
    size_t at = d->line_at[line] + (s.col ? s.col - 1u : 0), end = line_end(d, line);
    return at < end ? at : end;
}

/* ---- names ---- */

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

bool doc_word(const Doc *d, size_t at, size_t *from, size_t *to) {
    const char *s = d->text.data;
    size_t a = at, b = at;
    while (a > 0 && is_name(s[a - 1])) a--;
    while (b < d->text.n && is_name(s[b])) b++;
    *from = a, *to = b;
    return a < b && !isdigit((unsigned char)s[a]);
}

size_t doc_path(const Doc *d, size_t from) {
    const char *s = d->text.data;
    while (from > 1 && s[from - 1] == '.' && is_name(s[from - 2])) {
        size_t k = from - 1;
        while (k > 0 && is_name(s[k - 1])) k--;
        if (isdigit((unsigned char)s[k])) break;
        from = k;
    }
    return from;
}

/* ---- URIs ---- */

void path_put_uri(const char *path, Bytes *out) {
    bytes_puts(out, "\"file://");
    for (; *path; path++) {
        if (is_name(*path) || strchr("/-.~", *path))
            bytes_putc(out, *path);
        else
            bytes_printf(out, "%%%02X", (unsigned char)*path);
    }
    bytes_putc(out, '"');
}
