/* lsp.h: the language server, gtsh --lsp: the Language Server Protocol 3.17 over two file
 * descriptors. It reads programs and never runs them; of the language's own names it knows what the
 * interpreter knows.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_LSP_LSP_H
#define GT_LANG_LSP_LSP_H
#include "lang/value/interp.h"

/* Serves one client until it says exit or closes the connection. in: an interpreter that runs
 * nothing (STREAM_CHECK). Returns the exit code: 0 after shutdown and exit, else 1. */
int lsp_run(Interp *in, int from_fd, int to_fd);
#endif
