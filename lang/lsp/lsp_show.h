/* lsp_show.h: requests that show what a name is. Each appends its result, a JSON value.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_LSP_LSP_SHOW_H
#define GT_LANG_LSP_LSP_SHOW_H
#include "lang/lsp/lsp_state.h"

bool lsp_hover(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_completion(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_signature_help(Lsp *l, const IoValue *params, Bytes *out);
#endif
