/* fmt_space.c: the blanks between two tokens of a line: around binary operators, after commas, none
 * inside brackets, none around the `=` of keyword arguments and the `:` of slices.
 * SPDX-License-Identifier: MIT */
#include "lang/fmt/fmt_space.h"
#include <string.h>

static OpenKind inside(const Fmt *f) { return f->open[f->n_open - 1].kind; }

static bool is_word(const Fmt *f, const Token *t, const char *word) {
    return t->kind == TOK_NAME && t->n == strlen(word) && !memcmp(f->src->text + t->at, word, t->n);
}

/* True for a token that may be a unary operator. */
static bool is_sign(int kind) {
    return kind == TOK_ADD || kind == TOK_SUB || kind == TOK_BITNOT || kind == TOK_MUL ||
           kind == TOK_POW;
}

static bool is_unary(const Fmt *f, size_t i) {
    const Token *t = &f->t->tok[i];
    if (!is_sign(t->kind)) return false;
    if (!f->is_operand || t->kind == TOK_BITNOT) return true;
    return f->after_label && !t->is_glued && t[1].is_glued; /* backward -x.mean() */
}

void fmt_note_role(Fmt *f, size_t i, bool was_map) {
    const Token *t = &f->t->tok[i];
    bool is_map_end = t->kind == TOK_RBRACE && was_map;
    f->is_unary = is_unary(f, i);
    f->is_keyword = t->kind == TOK_ASSIGN && inside(f) == OPEN_PAREN;
    f->after_label = f->begins_statement && (is_word(f, t, "backward") || is_word(f, t, "signal") ||
                                             is_word(f, t, "no_grad") || is_word(f, t, "time"));
    f->is_operand = t->kind == TOK_NAME || t->kind == TOK_INT || t->kind == TOK_FLOAT ||
                    t->kind == TOK_STRING || t->kind == TOK_FSTRING || t->kind == TOK_RPAREN ||
                    t->kind == TOK_RBRACKET || t->kind == TOK_TRUE || t->kind == TOK_FALSE ||
                    t->kind == TOK_NONE || t->kind == TOK_ELLIPSIS || is_map_end;
}

/* Between an operand and the bracket of a call or an index. */
static int before_bracket(const Fmt *f, const Token *t) {
    if (f->after_label) return t->is_glued ? 0 : 1;
    return f->is_operand || (f->prev->kind == TOK_FN && t->kind == TOK_LPAREN) ? 0 : 1;
}

int fmt_blanks(const Fmt *f, size_t i) {
    const Token *t = &f->t->tok[i], *prev = f->prev;
    OpenKind in = inside(f);
    bool is_block = in == OPEN_BLOCK;
    if (t->kind == TOK_DOT && prev && prev->kind == TOK_FLOAT)
        return f->src->text[prev->at + prev->n - 1] == '.'; /* 1. .abs(): 1..abs is no number */
    if (!prev || prev->kind == TOK_DOT || t->kind == TOK_DOT || f->is_unary || f->is_keyword)
        return 0;
    if (t->kind == TOK_COMMA || t->kind == TOK_SEMI) return 0;
    if (t->kind == TOK_RPAREN || t->kind == TOK_RBRACKET) return 0;
    if (t->kind == TOK_RBRACE) return is_block && prev->kind != TOK_LBRACE;
    if (prev->kind == TOK_LPAREN || prev->kind == TOK_LBRACKET) return 0;
    if (prev->kind == TOK_LBRACE) return is_block;
    if (prev->kind == TOK_COMMA) return 1;
    if (t->kind == TOK_COLON) return 0;
    if (prev->kind == TOK_COLON) return in != OPEN_BRACKET;
    if (t->kind == TOK_ASSIGN && in == OPEN_PAREN) return 0;
    if (t->kind == TOK_LPAREN || t->kind == TOK_LBRACKET) {
        bool is_block_end = prev->kind == TOK_RBRACE && !f->is_operand;
        return is_block_end ? 0 : before_bracket(f, t);
    }
    return 1;
}
