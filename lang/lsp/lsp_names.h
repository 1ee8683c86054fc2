/* lsp_names.h: the language's own names. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_LSP_LSP_NAMES_H
#define GT_LANG_LSP_LSP_NAMES_H
#include "lang/lsp/lsp_state.h"

/* Finds the value of a dotted path of the language, "nn.Linear"; *v is a new reference. */
bool lsp_value(Interp *in, const char *path, size_t n, Value *v);
/* The method of this name of some kind of value, tensors first, or NULL. */
const Builtin *lsp_method(const char *interned);
/* Appends the signature, "sum(x, axis=none)", of a path; false if it is no function. */
bool lsp_signature(Interp *in, const char *path, size_t n, Bytes *out);
/* Appends Markdown that describes a path; false if nothing is known. */
bool lsp_describe(Interp *in, const char *path, size_t n, Bytes *out);
void lsp_describe_fn(const AstFn *fn, Bytes *out); /* the same of the program's own */
#endif
