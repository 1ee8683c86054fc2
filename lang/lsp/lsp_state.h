/* lsp_state.h: private to the language server: its state. All positions are byte offsets into the
 * document; lsp_text.c converts them to and from the protocol's lines and characters.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_LSP_LSP_STATE_H
#define GT_LANG_LSP_LSP_STATE_H
#include "lang/lsp/lsp_index.h"

enum {
    LSP_MAX_MESSAGE = 64 << 20, /* bytes of a message's content */
    LSP_MAX_TEXT = 16 << 20,    /* bytes of a document          */
    LSP_MAX_NODES = 1 << 20,    /* values in a message          */
    LSP_MAX_DOCS = 1000,
    LSP_MAX_FOUND = 100, /* diagnostics of a document    */
    LSP_MAX_ITEMS = 2000 /* candidates of a completion   */
};

typedef struct Lsp {
    Interp *in;
    int from, to;
    Bytes buffer; /* read, not yet handled */
    size_t used;
    Doc **doc;
    size_t n_docs, docs_cap;
    bool is_utf8;      /* characters are bytes, else UTF-16 units */
    bool has_versions; /* the client takes edits with versions of documents */
    bool is_open, is_shut, is_over, is_lost;
    int error; /* code and message of a failed request */
    char message[300];
} Lsp;

/* Fails a request; returns false. */
bool lsp_fail(Lsp *l, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
enum { LSP_BAD_PARAMS = -32602, LSP_REFUSED = -32803 };
/* The open document of params.textDocument, or NULL after lsp_fail. */
Doc *lsp_doc(Lsp *l, const IoValue *params);
/* The same, and the offset of params.position. */
Doc *lsp_at(Lsp *l, const IoValue *params, size_t *at);

/* Requests: append the result, a JSON value. */
typedef bool (*LspFn)(Lsp *l, const IoValue *params, Bytes *out);
#endif
