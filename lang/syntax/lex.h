/* lex.h: source text to tokens. The lexer converts the whole text at once, into an array in the
 * caller's arena: the grammar is LL(2), but `backward (…)` and a few hints look further ahead.
 * Newlines are tokens, except after a token that continues the statement. Inside brackets the
 * parser skips them, because only the parser can tell a map's brace from a block's.
 *
 * An error (an invalid character, an unfinished string) ends the array with TOK_BAD and is kept in
 * `error`. The parser reports it when it gets there, so the first error of the text is reported.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SYNTAX_LEX_H
#define GT_LANG_SYNTAX_LEX_H
#include "lang/error/error.h"

typedef enum Tok {
#define TOKEN(id, text, more) TOK_##id,
#include "lang/syntax/tokens.def"
    TOK_COUNT
} Tok;
/* True for ( [ { and for ) ] }. */
static inline bool tok_opens(int kind) {
    return kind == TOK_LPAREN || kind == TOK_LBRACKET || kind == TOK_LBRACE;
}
static inline bool tok_closes(int kind) {
    return kind == TOK_RPAREN || kind == TOK_RBRACKET || kind == TOK_RBRACE;
}

typedef struct Token {
    uint8_t kind;
    bool is_word;       /* NAME, keyword or reserved word: valid after a dot or as a keyword name */
    bool is_glued;      /* no blank between it and the token before                               */
    uint32_t at, n;     /* bytes of the source: offset and length                                 */
    uint32_t line, col; /* as in Span; col from 1                                                 */
    union {
        uint64_t i;
        double f;
    }; /* INT (unsigned: -9223372036854775808 is `-` and a literal), FLOAT */
} Token;

typedef struct Tokens {
    const Source *src;
    Token *tok;
    size_t n; /* ends with NEWLINE END or BAD; with END alone after a token that continues a line */
    LangError
        *error; /* of TOK_BAD: E_SYNTAX, or E_INCOMPLETE for an unfinished triple-quoted string */
} Tokens;

/* Tokenizes src->text[from .. to), which starts at the given line and column. The array lives in
 * the arena. */
void lex_range(const Source *src, size_t from, size_t to, uint32_t line, uint32_t col, Arena *arena,
               Tokens *out);
static inline void lex_source(const Source *src, Arena *arena, Tokens *out) {
    lex_range(src, 0, src->n, src->first_line ? src->first_line : 1, 1, arena, out);
}
Span lex_span(const Source *src, const Token *t);
const char *lex_text(int tok); /* "+", "while", "not in", "name"; static                         */
void lex_print(const Tokens *t, Bytes *out); /* --debug=t: line:col kind text */

/* Appends the value of a STRING token, or of a piece of an f-string, to out: resolves escapes. On
 * failure e points at the escape. */
bool lex_unescape(const Source *src, size_t from, size_t to, uint32_t line, uint32_t col,
                  Bytes *out, LangError *e);
/* Returns the offset of the `}`, `:`, `=` or `!` that ends the expression of an f-string field, or
 * `to` if there is none. at: just after the `{`. Skips strings and brackets. */
size_t lex_field_end(const char *text, size_t at, size_t to);
#endif
