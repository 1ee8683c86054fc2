/* lsp_edit.h: other files, and the requests that need no more than the text. Each request appends
 * its result, a JSON value.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_LSP_LSP_EDIT_H
#define GT_LANG_LSP_LSP_EDIT_H
#include "lang/lsp/lsp_state.h"

/* Appends a Location: n bytes of a document. */
void lsp_put_location(const Lsp *l, const Doc *d, size_t at, size_t n, Bytes *out);
/* Appends what is known of a global name (interned, or NULL) of a document. */
typedef void LspPut(Lsp *l, Doc *d, const char *name, Bytes *out);
/* Calls put with the document of a file: the open one, else one that lives as long as the call.
 * False if the file cannot be read. */
bool lsp_in_file(Lsp *l, const char *path, const char *name, LspPut *put, Bytes *out);
/* Writes the path, of PATH_MAX bytes, of the imported file x in x.name. from: where `name` begins.
 * False if x is no imported file. */
bool lsp_imported(Lsp *l, Doc *d, size_t from, char *path);
bool lsp_definition(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_symbols(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_folding(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_formatting(Lsp *l, const IoValue *params, Bytes *out);
#endif
