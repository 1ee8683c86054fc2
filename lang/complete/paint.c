/* paint.c: see paint.h. The classes come from the tokens of the lexer.
 * SPDX-License-Identifier: MIT */
#include "lang/complete/paint.h"
#include "lang/complete/complete.h"
#include "lang/complete/scan.h"
#include "lang/value/frame.h"
#include <string.h>

const char *paint_sgr(PaintClass class) {
    static const char *const sgr[] = {
#define PAINT(id, sgr, what) sgr,
#include "lang/complete/paint.def"
    };
    return class < PAINT_COUNT ? sgr[class] : "";
}

/* signal, backward, no_grad and time are keywords only where their statement begins. */
static bool is_statement_word(const Scan *s, size_t i) {
    bool is_one = scan_is(s, i, "signal") || scan_is(s, i, "backward") ||
                  scan_is(s, i, "no_grad") || scan_is(s, i, "time");
    if (!is_one) return false;
    int next = scan_kind(s, i + 1);
    if (i > 1 && scan_is(s, i, "backward") && scan_is(s, i - 2, "signal")) return true;
    return scan_begins(s, i) &&
           (next == TOK_NAME || next == TOK_STRING || next == TOK_FSTRING || next == TOK_LBRACE);
}

typedef struct Painter {
    Interp *in;
    const Scan *s;
    const PaintText *p;
    Map defined; /* interned names that the text defines */
    uint8_t *class;
} Painter;

static bool is_defined(const Painter *d, const char *name) {
    Interp *in = d->in;
    if (d->p->is_part || map_get(&d->defined, (uint64_t)(uintptr_t)name)) return true;
    const GlobalVar *var =
        in->globals ? map_get(&in->globals->by_name, (uint64_t)(uintptr_t)name) : NULL;
    return var && var->v.kind != V_UNDEF;
}

/* True if token i, a name, stands for no variable: a key, an argument's name, a label. */
static bool is_label(const Scan *s, size_t i) {
    int next = scan_kind(s, i + 1), before = i > 0 ? scan_kind(s, i - 1) : TOK_END;
    if (next == TOK_ASSIGN || next == TOK_COLON) return true;
    return before == TOK_IMPORT || before == TOK_AS || before == TOK_FN || before == TOK_MODULE ||
           (i > 0 && is_statement_word(s, i - 1));
}

static PaintClass name_class(const Painter *d, const Scan *s, size_t i) {
    const Token *t = &s->tok[i];
    size_t cursor = d->p->cursor;
    if (i > 0 && scan_kind(s, i - 1) == TOK_DOT) return PAINT_PLAIN;
    if (is_statement_word(s, i)) return PAINT_KEYWORD;
    if (is_label(s, i) || scan_is(s, i, "self")) return PAINT_PLAIN;
    const char *name = scan_name(s, i);
    bool is_builtin = complete_knows(d->in, name);
    if (!(is_builtin && d->p->is_part) && is_defined(d, name)) return PAINT_PLAIN;
    if (is_builtin) return PAINT_BUILTIN;
    bool is_touched = t->at <= cursor && cursor <= t->at + t->n;
    return is_touched ? PAINT_PLAIN : PAINT_UNKNOWN;
}

static PaintClass token_class(const Painter *d, const Scan *s, size_t i) {
    const Token *t = &s->tok[i];
    bool is_member = i > 0 && scan_kind(s, i - 1) == TOK_DOT;
    switch ((Tok)t->kind) {
    case TOK_INT:
    case TOK_FLOAT: return PAINT_NUMBER;
    case TOK_STRING:
    case TOK_FSTRING: return PAINT_STRING;
    case TOK_NAME: return name_class(d, s, i);
    case TOK_BAD: return PAINT_UNKNOWN;
    default:
        return t->is_word && t->kind != TOK_RESERVED && !is_member ? PAINT_KEYWORD : PAINT_PLAIN;
    }
}

/* Paints text[from .. to), between tokens: comments begin at a #. */
static void paint_gap(const char *text, size_t from, size_t to, uint8_t *class) {
    for (bool is_comment = false; from < to; from++) {
        is_comment = (is_comment || text[from] == '#') && text[from] != '\n';
        class[from] = is_comment ? PAINT_COMMENT : PAINT_PLAIN;
    }
}

/* Paints text[from .. to), the expression of a field of an f-string in the text of s. */
static void paint_field(const Painter *d, size_t from, size_t to) {
    const Scan *s = d->s;
    uint8_t *class = d->class;
    Arena arena = {0};
    Tokens t;
    lex_range(&s->src, from, to, 1, 1, &arena, &t);
    Scan field = *s; /* its own tokens, the names of the whole text */
    field.tok = t.tok;
    field.n = t.n;
    memset(class + from, PAINT_PLAIN, to - from);
    for (size_t i = 0; i < t.n; i++)
        if (t.tok[i].at + t.tok[i].n <= to)
            memset(class + t.tok[i].at, token_class(d, &field, i), t.tok[i].n);
    arena_fini(&arena);
}

/* Paints the fields of an f-string. */
static void paint_fields(const Painter *d, size_t token) {
    const Scan *s = d->s;
    uint8_t *class = d->class;
    char quote;
    bool is_f;
    const char *text = s->src.text;
    size_t at = scan_string_body(s, token, &quote, &is_f);
    size_t end = s->tok[token].at + s->tok[token].n;
    while (is_f && at < end) {
        bool is_doubled = text[at] == '{' && at + 1 < end && text[at + 1] == '{';
        if (text[at] == '\\' || is_doubled)
            at += 2;
        else if (text[at] != '{')
            at++;
        else {
            size_t stop = lex_field_end(text, at + 1, end);
            class[at] = PAINT_PLAIN;
            paint_field(d, at + 1, stop);
            const char *close = stop < end ? memchr(text + stop, '}', end - stop) : NULL;
            if (close) class[close - text] = PAINT_PLAIN;
            at = close ? (size_t)(close - text) + 1 : end;
        }
    }
}

/* Scans the text as one whole: the cursor only decides which word is unfinished. */
void paint_text(Interp *in, const PaintText *p, uint8_t *class) {
    Scan s;
    size_t end = 0, n = p->n;
    scan_text(&s, p->text, n, n);
    Painter d = {.in = in, .s = &s, .p = p, .class = class};
    for (size_t i = 0; i < s.n_defs; i++)
        map_put(&d.defined, (uint64_t)(uintptr_t)s.def[i].name, &s.def[i]);
    memset(class + p->from, PAINT_PLAIN, n - p->from);
    for (size_t i = 0; i < s.n; i++) {
        const Token *t = &s.tok[i];
        size_t before = end;
        end = t->at + t->n;
        if (end <= p->from) continue;
        if (t->at > before) paint_gap(p->text, before, t->at, class);
        if (end <= n) memset(class + t->at, token_class(&d, &s, i), t->n);
        if (t->kind == TOK_FSTRING || t->kind == TOK_STRING) paint_fields(&d, i);
    }
    if (end < n) paint_gap(p->text, end, n, class);
    map_fini(&d.defined);
    scan_fini(&s);
}

/* ---- brackets ---- */

/* The token of the bracket at this byte, or SIZE_MAX. */
static size_t bracket_at(const Scan *s, size_t at) {
    for (size_t i = 0; i < s->n && s->tok[i].at <= at; i++) {
        int kind = s->tok[i].kind;
        if (s->tok[i].at == at) return tok_opens(kind) || tok_closes(kind) ? i : SIZE_MAX;
    }
    return SIZE_MAX;
}

bool paint_match(const char *text, size_t n, size_t cursor, size_t *bracket, size_t *partner) {
    Scan s;
    bool found = false;
    bool is_near = (cursor > 0 && strchr("()[]{}", text[cursor - 1])) ||
                   (cursor < n && text[cursor] && strchr("()[]{}", text[cursor]));
    if (!is_near) return false;
    scan_text(&s, text, n, n);
    for (int back = 1; back >= 0 && !found; back--) {
        if (cursor < (size_t)back) continue;
        size_t token = bracket_at(&s, cursor - (size_t)back);
        if (token == SIZE_MAX) continue;
        int kind = s.tok[token].kind;
        bool is_close = tok_closes(kind);
        size_t other = is_close ? scan_opener(&s, token) : scan_closer(&s, token);
        if (other == SIZE_MAX) continue;
        int open = is_close ? s.tok[other].kind : kind, close = is_close ? kind : s.tok[other].kind;
        found = (open == TOK_LPAREN && close == TOK_RPAREN) ||
                (open == TOK_LBRACKET && close == TOK_RBRACKET) ||
                (open == TOK_LBRACE && close == TOK_RBRACE);
        *bracket = s.tok[token].at;
        *partner = s.tok[other].at;
    }
    scan_fini(&s);
    return found;
}

/* ---- indents ---- */

/* The blanks that begin the line of byte `at`. */
static size_t blanks_of(const char *text, size_t at) {
    while (at > 0 && text[at - 1] != '\n') at--;
    size_t from = at;
    while (text[at] == ' ') at++;
    return at - from;
}

/* The blanks of the line of the innermost open bracket, plus `more`. Without a bracket: `more` if
 * the last line goes on in the next. */
static size_t indent(const char *text, size_t n, size_t more) {
    Scan s;
    size_t blanks = 0;
    scan_text(&s, text, n, n);
    if (s.string == SIZE_MAX && s.n_open)
        blanks = blanks_of(s.src.text, s.tok[s.open[s.n_open - 1]].at) + more;
    else if (s.string == SIZE_MAX && s.n && s.tok[s.n - 1].kind != TOK_NEWLINE)
        blanks = more;
    scan_fini(&s);
    return blanks;
}

size_t paint_indent(const char *text, size_t n) { return indent(text, n, PAINT_INDENT); }
size_t paint_outdent(const char *text, size_t n) { return indent(text, n, 0); }
