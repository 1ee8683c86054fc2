/* step_text.h: the tokens of a line of instruction text. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STEP_STEP_TEXT_H
#define GT_LANG_STEP_STEP_TEXT_H
#include "runtime/inst/inst.h"

/* ---- step_text.c ---- */
typedef enum TokenKind { TOKEN_TEXT, TOKEN_ID, TOKEN_NUMBER } TokenKind;
typedef struct Token {
    TokenKind kind;
    size_t at, n;
    bool is_quoted;
} Token;
/* The next token of the n characters at s, from *i on; *quoted: inside a string. false: the end. */
bool step_token(const char *s, size_t n, size_t *i, bool *quoted, Token *out);
/* The length of a line before its types, its position and its comment. */
size_t step_plain(const char *s, size_t n);
#endif
