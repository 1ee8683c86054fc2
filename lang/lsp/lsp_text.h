/* lsp_text.h: documents, and positions in them: byte offsets here, lines and characters in the
 * protocol.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_LSP_LSP_TEXT_H
#define GT_LANG_LSP_LSP_TEXT_H
#include "lang/file/io.h"
#include "lang/lsp/lsp.h"

typedef struct Doc Doc;
/* An offset and its character in its line. */
typedef struct DocPlace {
    size_t at;
    uint64_t column;
} DocPlace;
struct Doc {
    char *uri, *path; /* path: of a file: URI, else the URI itself */
    Bytes text;       /* always ended by a NUL */
    size_t *line_at;  /* offset of each line */
    size_t n_lines, lines_cap;
    DocPlace *last; /* the last position put: the next in the same line is counted from there */
    int64_t version;
    bool is_dirty;       /* its diagnostics are to be published */
    struct Index *index; /* made by doc_index, dropped by changes; or NULL */
};
/* Copies uri and text. */
Doc *doc_new(const char *uri, const char *text, size_t n);
void doc_free(Doc **d);
/* Replaces the bytes [from, to) by text; drops the index. */
void doc_replace(Doc *d, size_t from, size_t to, const char *text, size_t n);
/* The offset of {line, character}; positions behind the end of a line or of the text are moved to
 * it. False if p is not a position. */
bool doc_offset(const Doc *d, const IoValue *p, bool is_utf8, size_t *at);
/* Appends a range of two positions {"line":…,"character":…}. */
void doc_put_range(const Doc *d, size_t from, size_t to, bool is_utf8, Bytes *out);
size_t doc_line_of(const Doc *d, size_t at);     /* from 0 */
size_t doc_at(const Doc *d, Span s);             /* the offset where a span begins */
void path_put_uri(const char *path, Bytes *out); /* as a JSON string */
/* The name around an offset: [*from, *to); false if there is none. */
bool doc_word(const Doc *d, size_t at, size_t *from, size_t *to);
/* The offset where the dotted path begins whose last name begins at `from`. */
size_t doc_path(const Doc *d, size_t from);
#endif
