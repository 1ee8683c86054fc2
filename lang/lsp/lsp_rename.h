/* lsp_rename.h: requests about all uses of a name. Each appends its result, a JSON value.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_LSP_LSP_RENAME_H
#define GT_LANG_LSP_LSP_RENAME_H
#include "lang/lsp/lsp_state.h"

bool lsp_references(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_prepare_rename(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_rename(Lsp *l, const IoValue *params, Bytes *out);
#endif
