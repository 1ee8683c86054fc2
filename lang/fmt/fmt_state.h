/* fmt_state.h: private to the formatter.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FMT_FMT_STATE_H
#define GT_LANG_FMT_FMT_STATE_H
#include "lang/fmt/fmt.h"
#include "lang/syntax/ast.h"
#include "lang/syntax/lex.h"

typedef enum OpenKind { OPEN_BLOCK, OPEN_PAREN, OPEN_BRACKET, OPEN_MAP } OpenKind;

/* An open bracket or block; the first one is the file. Indentations count blanks. */
typedef struct Open {
    OpenKind kind;
    int base;      /* of the line that opens it                         */
    int inner;     /* of a block's statements                           */
    int statement; /* of the line with the block's present statement    */
    int align_in;  /* column in the source where lines may be aligned, or -1 ... */
    int align_out; /* ... and the same token's column in the output     */
    int part_in;   /* column of the first token of the present element, or -1 */
    int part_out;
} Open;

/* A line of the output: n bytes of `code` from `at`, then the comment at its end, if any. */
typedef struct FmtLine {
    size_t at, n;
    const char *comment; /* borrowed from the source, or NULL */
    size_t n_comment;
    int column, gap; /* of the comment in the source: its column, the blanks before it */
    bool opens;      /* ends with the brace of a block, at least so far */
    bool is_comment; /* the comment fills the line, in `code` */
} FmtLine;

/* An offset of a text and its column. */
typedef struct Place {
    size_t at;
    int column;
} Place;

typedef struct Fmt {
    const Source *src;
    const Tokens *t;
    bool *is_block; /* per token: a brace that begins a block */
    Bytes code;
    FmtLine *line;
    size_t n_lines, lines_cap, line_at; /* line_at: offset of the present line in code */
    Open *open;
    size_t n_open, open_cap;
    Place place_in, place_out; /* in the source, in code */
    const Token *prev;         /* the last token, or NULL */
    int indent;                /* of the present line */
    bool is_fresh;             /* the next token begins a statement */
    bool begins_statement;
    bool is_header;   /* the statement has a condition before its block */
    bool aligns;      /* the next token's column is the innermost bracket's */
    bool is_unary;    /* the last token is a unary operator, or the * of *rest */
    bool is_operand;  /* the last token ends an operand */
    bool is_keyword;  /* the last token is the = of a keyword argument or default */
    bool after_label; /* the last token is `backward`, `signal` ... at a statement's start */
} Fmt;

/* fmt_lines.c: appends the lines, with their comments aligned. */
void fmt_join(const Fmt *f, Bytes *out);
#endif
