/* lex.c: the scanner (contract in lex.h). One pass; operators and keywords are looked up in a table
 * made from tokens.def. Spellings of other languages (`&&`, `!x`, `->`, typographic quotes ...) get
 * an error with the spelling to use. An f-string is one token: the parser calls lex_range for the
 * expressions inside. SPDX-License-Identifier: MIT */
#include "lang/syntax/lex.h"
#include "runtime/base/utf8.h"
#include "runtime/base/limits.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef enum RowKind { ROW_CLASS, ROW_PUNCT, ROW_WORD } RowKind;
static const struct TokRow {
    const char *name, *text;
    uint8_t kind, more, n;
} rows[TOK_COUNT] = {
#define TOKEN(id, text, more) [TOK_##id] = {#id, text, ROW_CLASS, more, sizeof text - 1},
#define PUNCT(id, text, more) [TOK_##id] = {#id, text, ROW_PUNCT, more, sizeof text - 1},
#define WORD(id, text, more)  [TOK_##id] = {#id, text, ROW_WORD, more, sizeof text - 1},
#include "lang/syntax/tokens.def"
};

static const char *const reserved[] = {"def",    "class", "lambda", "with",   "try",
                                       "except", "raise", "yield",  "global", "nonlocal"};

const char *lex_text(int tok) { return tok >= 0 && tok < TOK_COUNT ? rows[tok].text : "?"; }

typedef struct Lexer {
    const Source *src;
    const char *s; /* text of the source                    */
    size_t at, to;
    uint32_t line;
    size_t line_at; /* offset x has the column x - line_at + 1; may wrap below 0 on the first line
                       of a range, as intended */
    bool glued;
    Arena *arena;
    Tokens *out;
    size_t cap;
} Lexer;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_name(char c) { return is_name_start(c) || is_digit(c); }
static char peek(const Lexer *x, size_t ahead) {
    return x->to - x->at > ahead ? x->s[x->at + ahead] : '\0';
}
static uint16_t clamp16(size_t n) { return n > 0xffff ? 0xffff : (uint16_t)n; }

static Span span_at(const Lexer *x, size_t at, size_t n) {
    return (Span){x->src, x->line, clamp16(at - x->line_at + 1), clamp16(n)};
}
Span lex_span(const Source *src, const Token *t) {
    uint32_t n = t->n;
    const char *nl = memchr(src->text + t->at, '\n', n);
    if (nl) n = (uint32_t)(nl - (src->text + t->at));
    return (Span){src, t->line, clamp16(t->col), clamp16(n)};
}

static Token *last(const Lexer *x) { return x->out->n ? &x->out->tok[x->out->n - 1] : NULL; }

static Token *push(Lexer *x, Tok kind, size_t from) {
    Tokens *o = x->out;
    if (o->n == x->cap) {
        x->cap = x->cap ? 2 * x->cap : 64;
        Token *more = arena_alloc(x->arena, x->cap * sizeof *more);
        if (o->n) memcpy(more, o->tok, o->n * sizeof *more);
        o->tok = more;
    }
    Token *t = &o->tok[o->n++];
    *t = (Token){.kind = (uint8_t)kind,
                 .is_glued = x->glued,
                 .at = (uint32_t)from,
                 .n = (uint32_t)(x->at - from),
                 .line = x->line,
                 .col = (uint32_t)(from - x->line_at + 1)};
    x->glued = true;
    return t;
}

/* Ends the array with TOK_BAD. Returns the error, which the caller fills. */
static LangError *bad(Lexer *x, size_t from, size_t n) {
    x->at = from + n;
    push(x, TOK_BAD, from);
    x->out->error = arena_zalloc(x->arena, sizeof(LangError));
    x->out->error->kind = E_SYNTAX;
    return x->out->error;
}

/* ---- strings ---- */

static size_t skip_fstring(const char *s, size_t at, size_t to, char quote, bool triple, int depth,
                           size_t *open);

/* Returns the offset after a string's closing quote, or `to` if there is none. at: its first
 * quote. */
static size_t skip_string(const char *s, size_t at, size_t to, bool is_f, int depth) {
    char q = s[at];
    bool triple = to - at >= 3 && s[at + 1] == q && s[at + 2] == q;
    size_t open;
    at += triple ? 3 : 1;
    if (is_f) return skip_fstring(s, at, to, q, triple, depth, &open);
    for (; at < to; at++) {
        if (s[at] == '\\') {
            at++;
            continue;
        }
        if (s[at] == '\n' && !triple) return to;
        if (s[at] != q) continue;
        if (!triple) return at + 1;
        if (to - at >= 3 && s[at + 1] == q && s[at + 2] == q) return at + 3;
    }
    return to;
}

static size_t field_end(const char *s, size_t at, size_t to, int depth) {
    int open = 0;
    if (depth > MAX_PARSE_DEPTH) return to;
    while (at < to) {
        char c = s[at], next = to - at > 1 ? s[at + 1] : '\0';
        if (c == '"' || c == '\'') {
            bool is_f = at > 0 && (s[at - 1] == 'f' || s[at - 1] == 'F');
            at = skip_string(s, at, to, is_f, depth + 1);
            continue;
        }
        if (c == '#') {
            while (at < to && s[at] != '\n') at++;
            continue;
        }
        if (c == '(' || c == '[' || c == '{')
            open++;
        else if (open > 0) {
            if (c == ')' || c == ']' || c == '}') open--;
        } else if (c == '}' || c == ':')
            return at;
        else if (strchr("<>!=", c) && c && next == '=')
            at++;
        else if (c == '=' && next == '>')
            at++;
        else if (c == '!')
            return at;
        else if (c == '=') {
            size_t k = at + 1;
            while (k < to && (s[k] == ' ' || s[k] == '\t')) k++;
            if (k < to && (s[k] == '}' || s[k] == ':' || s[k] == '!')) return at;
        }
        at++;
    }
    return to;
}
size_t lex_field_end(const char *text, size_t at, size_t to) { return field_end(text, at, to, 0); }

/* Returns the offset after the `}` that ends a field with its spec and the fields nested in that.
 * at: just after the `{`. */
static size_t skip_field(const char *s, size_t at, size_t to, int depth) {
    at = field_end(s, at, to, depth);
    if (at < to && s[at] == '=') at = field_end(s, at + 1, to, depth);
    while (at < to && s[at] != '}' && s[at] != ':') at++;
    if (at < to && s[at] == ':') {
        for (at++; at < to && s[at] != '}';) {
            if (s[at] == '{')
                at = depth > MAX_PARSE_DEPTH ? to : skip_field(s, at + 1, to, depth + 1);
            else
                at++;
        }
    }
    return at < to ? at + 1 : to + 1;
}

/* Returns the offset after an f-string's closing quotes. at: just after the opening ones. If there
 * are none, returns `to` and sets *open to the offset of an unclosed `{`, or to SIZE_MAX. */
static size_t skip_fstring(const char *s, size_t at, size_t to, char q, bool triple, int depth,
                           size_t *open) {
    *open = SIZE_MAX;
    size_t limit = to;
    if (!triple) {
        const char *nl = at < to ? memchr(s + at, '\n', to - at) : NULL;
        if (nl) limit = (size_t)(nl - s);
    }
    while (at < limit) {
        if (s[at] == '\\' && limit - at > 1)
            at += 2;
        else if (s[at] == '{' && limit - at > 1 && s[at + 1] == '{')
            at += 2;
        else if (s[at] == '{') {
            size_t end =
                depth > MAX_PARSE_DEPTH ? limit + 1 : skip_field(s, at + 1, limit, depth + 1);
            if (end > limit) {
                *open = at;
                return to;
            }
            at = end;
        } else if (s[at] == q && !triple)
            return at + 1;
        else if (s[at] == q && limit - at >= 3 && s[at + 1] == q && s[at + 2] == q)
            return at + 3;
        else
            at++;
    }
    return to;
}

static void advance_lines(Lexer *x, size_t from) {
    for (const char *p = x->s + from, *end = x->s + x->at;
         (p = memchr(p, '\n', (size_t)(end - p)));) {
        x->line++;
        x->line_at = (size_t)(++p - x->s);
    }
}

/* Scans a string from its first quote. from: the token's start (the f of an f-string). */
static void string(Lexer *x, size_t from, bool is_f) {
    const char *s = x->s;
    char q = s[x->at];
    bool triple = x->to - x->at >= 3 && s[x->at + 1] == q && s[x->at + 2] == q;
    size_t body = x->at + (triple ? 3 : 1), open = SIZE_MAX;
    size_t end = is_f ? skip_fstring(s, body, x->to, q, triple, 0, &open)
                      : skip_string(s, x->at, x->to, false, 0);
    size_t quotes = triple ? 3 : 1;
    bool closed =
        end >= body + quotes && !memcmp(s + end - quotes, triple ? s + x->at : &q, quotes);
    /* If end == to, the string is unclosed if its last quote is escaped or missing. */
    if (closed && end == x->to && !is_f) {
        size_t back = 0;
        while (end - quotes > body + back && s[end - quotes - 1 - back] == '\\') back++;
        if (back % 2) closed = false;
    }
    if (closed && end == x->to && !triple && memchr(s + body, '\n', end - body)) closed = false;
    if (open != SIZE_MAX) closed = false;
    if (!closed) {
        if (open != SIZE_MAX && !triple) {
            LangError *e = bad(x, from, 1);
            error_at(e, span_at(x, open, 1), "this '{' is never closed in its f-string");
            error_hint(e, "a brace itself is written {{");
        } else if (triple) {
            LangError *e = bad(x, from, body - from);
            e->kind = E_INCOMPLETE;
            error_at(e, span_at(x, from, body - from), "this string is never closed");
            error_hint(e, "%c%c%c ends it", q, q, q);
        } else {
            const char *nl = memchr(s + from, '\n', x->to - from);
            size_t n = nl ? (size_t)(nl - (s + from)) : x->to - from;
            LangError *e = bad(x, from, n);
            error_at(e, span_at(x, from, n), "this string is not closed on its line");
            error_hint(e, "%c ends it; %c%c%c may span lines", q, q, q, q);
        }
        return;
    }
    x->at = end;
    push(x, is_f ? TOK_FSTRING : TOK_STRING, from);
    advance_lines(x, from);
}

static bool escape_bad(const Source *src, uint32_t line, size_t col, size_t n, LangError *e,
                       const char *c, int len) {
    e->kind = E_SYNTAX;
    error_at(e, (Span){src, line, clamp16(col), clamp16(n)}, "unknown escape '\\%.*s'", len, c);
    if (*c == 'x') return error_hint(e, "\\x takes two hexadecimal digits: \\x41");
    if (*c == 'u') return error_hint(e, "\\u takes a code point in braces: \\u{20ac}");
    return error_hint(e, "a backslash itself is \\\\");
}

/* \xHH and \u{...}: appends the code point. at: the letter. Returns the offset after it, or 0. */
static size_t unescape_code(const char *s, size_t at, size_t to, Bytes *out) {
    uint32_t cp = 0;
    int digits = 0;
    bool braces = s[at] == 'u';
    size_t k = at + 1;
    if (braces && (k >= to || s[k++] != '{')) return 0;
    for (; k < to && hex_digit(s[k]) >= 0 && digits < (braces ? 6 : 2); k++, digits++)
        cp = cp << 4 | (uint32_t)hex_digit(s[k]);
    if (braces ? digits == 0 || k >= to || s[k++] != '}' : digits != 2) return 0;
    char utf8[4];
    int n = utf8_encode(cp, utf8);
    if (n == 0) return 0;
    bytes_add(out, utf8, (size_t)n);
    return k;
}

bool lex_unescape(const Source *src, size_t from, size_t to, uint32_t line, uint32_t col,
                  Bytes *out, LangError *e) {
    static const char letters[] = "ntr\\\"'0ae", means[] = "\n\t\r\\\"'\0\a\033";
    const char *s = src->text;
    size_t line_at = from - (col - 1);
    for (size_t i = from; i < to;) {
        if (s[i] == '\\' && to - i > 1) {
            const char *known = memchr(letters, s[i + 1], sizeof letters - 1);
            if (known) {
                bytes_putc(out, means[known - letters]);
                i += 2;
                continue;
            }
            if (s[i + 1] == '\n') {
                i += 2;
                line++;
                line_at = i;
                continue;
            }
            size_t k = s[i + 1] == 'x' || s[i + 1] == 'u' ? unescape_code(s, i + 1, to, out) : 0;
            if (k) {
                i = k;
                continue;
            }
            int n = utf8_decode(s + i + 1, to - i - 1, NULL);
            return escape_bad(src, line, i - line_at + 1, 2, e, s + i + 1, n ? n : 0);
        }
        int n = utf8_decode(s + i, to - i, NULL);
        if (n == 0) {
            e->kind = E_SYNTAX;
            error_at(e, (Span){src, line, clamp16(i - line_at + 1), 1},
                     "byte 0x%02x is not UTF-8 text", (unsigned char)s[i]);
            return error_hint(e, "save the file as UTF-8");
        }
        bytes_add(out, s + i, (size_t)n);
        if (s[i] == '\n') {
            line++;
            line_at = i + 1;
        }
        i += (size_t)n;
    }
    return true;
}

/* ---- numbers ---- */

static void number_bad(Lexer *x, size_t from, const char *what, const char *hint) {
    while (x->at < x->to && is_name(x->s[x->at])) x->at++;
    size_t n = x->at - from;
    LangError *e = bad(x, from, n);
    error_at(e, span_at(x, from, n), what, (int)(n < 40 ? n : 40), x->s + from);
    if (hint) error_hint(e, "%s", hint);
}

/* Scans 0x, 0b and 0o numbers, from the 0. */
static void number_radix(Lexer *x, int bits) {
    size_t from = x->at;
    uint64_t v = 0;
    int digits = 0;
    for (x->at += 2; x->at < x->to && is_name(x->s[x->at]); x->at++) {
        char c = x->s[x->at];
        if (c == '_') continue;
        int d = hex_digit(c);
        if (d < 0 || d >= 1 << bits) {
            number_bad(x, from, "'%.*s' is not a number", NULL);
            return;
        }
        if (v >> (64 - bits)) {
            number_bad(x, from, "%.*s does not fit in 64 bits", NULL);
            return;
        }
        v = v << bits | (uint64_t)d;
        digits++;
    }
    if (!digits) {
        number_bad(x, from, "'%.*s' is not a number", NULL);
        return;
    }
    if (v > INT64_MAX) {
        number_bad(x, from, "%.*s does not fit in 64 bits", NULL);
        return;
    }
    push(x, TOK_INT, from)->i = v;
}

static void skip_digits(Lexer *x) {
    while (x->at < x->to && (is_digit(x->s[x->at]) || (x->s[x->at] == '_' && is_digit(peek(x, 1)))))
        x->at++;
}

/* Converts the number in [from, x->at), without its underscores. The copy is in the arena because
 * numbers have no length limit. */
static double number_float(Lexer *x, size_t from) {
    char *copy = arena_alloc(x->arena, x->at - from + 1), *p = copy;
    for (size_t i = from; i < x->at; i++)
        if (x->s[i] != '_') *p++ = x->s[i];
    *p = '\0';
    return strtod(copy, NULL);
}

static void number(Lexer *x) {
    size_t from = x->at;
    char c = x->s[x->at], n = peek(x, 1);
    if (c == '0' && (n == 'x' || n == 'X')) {
        number_radix(x, 4);
        return;
    }
    if (c == '0' && (n == 'b' || n == 'B')) {
        number_radix(x, 1);
        return;
    }
    if (c == '0' && (n == 'o' || n == 'O')) {
        number_radix(x, 3);
        return;
    }
    bool is_float = false;
    skip_digits(x);
    if (peek(x, 0) == '.') {
        char after = peek(x, 1);
        if (is_digit(after)) {
            is_float = true;
            x->at++;
            skip_digits(x);
        } else if (!is_name_start(after) && after != '.' && c != '.') {
            is_float = true;
            x->at++;
        }
    }
    char e = peek(x, 0), sign = peek(x, 1);
    if ((e == 'e' || e == 'E') &&
        (is_digit(sign) || ((sign == '+' || sign == '-') && is_digit(peek(x, 2))))) {
        is_float = true;
        x->at += 2;
        skip_digits(x);
    }
    if (is_name(peek(x, 0))) {
        bool is_complex = peek(x, 0) == 'j' && !is_name(peek(x, 1));
        number_bad(x, from, "'%.*s' is neither a number nor a name",
                   is_complex ? "no complex numbers: two tensors"
                              : "names do not start with a digit");
        return;
    }
    if (is_float) {
        double v = number_float(x, from);
        push(x, TOK_FLOAT, from)->f = v;
        return;
    }
    uint64_t v = 0;
    for (size_t i = from; i < x->at; i++) {
        if (x->s[i] == '_') continue;
        uint64_t d = (uint64_t)(x->s[i] - '0');
        if (v > (UINT64_MAX - d) / 10) {
            number_bad(x, from, "%.*s does not fit in 64 bits", "as a float: add .0");
            return;
        }
        v = v * 10 + d;
    }
    push(x, TOK_INT, from)->i = v;
}

/* ---- words and operators ---- */

static void word(Lexer *x) {
    size_t from = x->at;
    while (x->at < x->to && is_name(x->s[x->at])) x->at++;
    size_t n = x->at - from;
    const char *s = x->s + from;
    if (n == 1 && (*s == 'f' || *s == 'F') && (peek(x, 0) == '"' || peek(x, 0) == '\'')) {
        string(x, from, true);
        return;
    }
    Tok kind = TOK_NAME;
    Token *before = last(x);
    if (!before || before->kind != TOK_DOT) {
        for (int k = 0; k < TOK_COUNT; k++)
            if (rows[k].kind == ROW_WORD && rows[k].n == n && !memcmp(rows[k].text, s, n))
                kind = (Tok)k;
        for (size_t k = 0; k < sizeof reserved / sizeof *reserved; k++)
            if (strlen(reserved[k]) == n && !memcmp(reserved[k], s, n)) kind = TOK_RESERVED;
        if (n == 4 && !memcmp(s, "True", 4)) kind = TOK_TRUE;
        if (n == 5 && !memcmp(s, "False", 5)) kind = TOK_FALSE;
        if (n == 4 && !memcmp(s, "None", 4)) kind = TOK_NONE;
    }
    push(x, kind, from)->is_word = true;
}

/* Operators of other languages, and what to write instead. */
static const struct {
    const char *text, *hint;
} foreign[] = {
    {"===", "=="},
    {"!==", "!="},
    {"&&", "and   (element by element: &)"},
    {"||", "or   (element by element: |)"},
    {"->", "fn f(x) => …"},
    {":=", "="},
    {"<>", "!="},
    {"?", "a if condition else b"},
    {"$", "f\"{name}\""},
    {"`", "\"…\""},
    {"\\", "a newline inside ( ) or after an operator continues the line"},
};

static bool is_statement_end(const Lexer *x, size_t ahead) {
    while (peek(x, ahead) == ' ' || peek(x, ahead) == '\t' || peek(x, ahead) == '\r') ahead++;
    char c = peek(x, ahead);
    return x->to - x->at <= ahead || c == '\n' || c == ';' || c == '}' || c == ')' || c == '#';
}

/* Reports x++ and x-- at the end of a statement. */
static bool increment(Lexer *x) {
    char c = peek(x, 0);
    Token *before = last(x);
    if ((c != '+' && c != '-') || peek(x, 1) != c || !before || !is_statement_end(x, 2))
        return false;
    if (before->kind != TOK_NAME && before->kind != TOK_RBRACKET) return false;
    Token name = *before;
    LangError *e = bad(x, x->at, 2);
    error_at(e, span_at(x, x->at - 2, 2), "there is no '%c%c'", c, c);
    if (name.kind == TOK_NAME)
        error_hint(e, "%.*s %c= 1", (int)(name.n < 60 ? name.n : 60), x->s + name.at, c);
    else
        error_hint(e, "x[i] %c= 1", c);
    return true;
}

static void character_bad(Lexer *x) {
    static const struct {
        uint32_t cp;
        const char *plain;
    } typographic[] = {
        {0x201c, "\""}, {0x201d, "\""},  {0x2018, "'"},           {0x2019, "'"},  {0xd7, "*"},
        {0x2212, "-"},  {0x2013, "-"},   {0x2264, "<="},          {0x2265, ">="}, {0x2260, "!="},
        {0xf7, "/"},    {0x2026, "..."}, {0xa0, "a plain blank"}, {0x3c0, "pi"},  {0x221e, "inf"},
        {0xb2, "** 2"},
    };
    uint32_t cp;
    size_t from = x->at;
    int n = utf8_decode(x->s + from, x->to - from, &cp);
    LangError *e = bad(x, from, n ? (size_t)n : 1);
    Span at = span_at(x, from, n ? (size_t)n : 1);
    if (n == 0) {
        error_at(e, at, "byte 0x%02x is not UTF-8 text", (unsigned char)x->s[from]);
        return;
    }
    if (cp < 0x20 || cp == 0x7f) {
        error_at(e, at, "byte 0x%02x has no place in a program", cp);
        return;
    }
    error_at(e, at, "unexpected character '%.*s'", n, x->s + from);
    for (size_t i = 0; i < sizeof typographic / sizeof *typographic; i++)
        if (typographic[i].cp == cp) {
            error_hint(e, "write %s", typographic[i].plain);
            return;
        }
    if (cp >= 0x80)
        error_hint(
            e, "names are a to z, A to Z, 0 to 9 and _; strings and comments may hold anything");
}

/* True at the `?` of `relu?`, which is IPython's spelling of ?relu. */
static bool is_question(const Lexer *x) {
    size_t end = x->at + 1, from = x->at;
    while (end < x->to && (x->s[end] == ' ' || x->s[end] == '\t')) end++;
    while (from > 0 && (isalnum((unsigned char)x->s[from - 1]) || strchr("_.", x->s[from - 1])))
        from--;
    return x->s[x->at] == '?' && from < x->at && (end == x->to || x->s[end] == '\n');
}

static void punct(Lexer *x) {
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        size_t n = strlen(foreign[i].text);
        if (x->to - x->at < n || memcmp(x->s + x->at, foreign[i].text, n)) continue;
        const char *hint = is_question(x) ? "?name, at the prompt, describes it" : foreign[i].hint;
        if (*foreign[i].text == '$' && peek(x, 1) == ' ')
            hint = "!command, at the prompt, runs a line of the shell";
        LangError *e = bad(x, x->at, n);
        error_at(e, span_at(x, x->at - n, n), "'%s' is not an operator", foreign[i].text);
        error_hint(e, "%s", hint);
        return;
    }
    if (increment(x)) return;
    int best = 0;
    for (int k = 0; k < TOK_COUNT; k++)
        if (rows[k].kind == ROW_PUNCT && rows[k].text[0] == x->s[x->at] &&
            (!best || rows[k].n > rows[best].n) && x->to - x->at >= rows[k].n &&
            !memcmp(x->s + x->at, rows[k].text, rows[k].n))
            best = k;
    if (best) {
        size_t from = x->at;
        x->at += rows[best].n;
        push(x, (Tok)best, from);
        return;
    }
    if (peek(x, 0) == '!') {
        LangError *e = bad(x, x->at, 1);
        error_at(e, span_at(x, x->at - 1, 1), "'!' is not an operator");
        error_hint(e, "not x   (element by element: ~x)");
        return;
    }
    character_bad(x);
}

/* ---- the loop ---- */

static void newline(Lexer *x) {
    Token *t = last(x);
    if (t && t->kind != TOK_NEWLINE && !rows[t->kind].more) {
        x->at++;
        push(x, TOK_NEWLINE, x->at - 1);
        x->at--;
    }
    x->at++;
    x->line++;
    x->line_at = x->at;
    x->glued = false;
}

void lex_range(const Source *src, size_t from, size_t to, uint32_t line, uint32_t col, Arena *arena,
               Tokens *out) {
    *out = (Tokens){.src = src};
    Lexer x = {.src = src,
               .s = src->text,
               .at = from,
               .to = to,
               .line = line,
               .line_at = from - (col - 1),
               .arena = arena,
               .out = out};
    if (from == 0 && to >= 3 && !memcmp(src->text, "\xef\xbb\xbf", 3)) x.at = x.line_at = 3;
    while (x.at < x.to && !out->error) {
        char c = x.s[x.at];
        if (c == ' ' || c == '\t' || c == '\r') {
            x.at++;
            x.glued = false;
        } else if (c == '\n')
            newline(&x);
        else if (c == '#')
            while (x.at < x.to && x.s[x.at] != '\n') x.at++;
        else if (is_digit(c) || (c == '.' && is_digit(peek(&x, 1))))
            number(&x);
        else if (is_name_start(c))
            word(&x);
        else if (c == '"' || c == '\'')
            string(&x, x.at, false);
        else
            punct(&x);
    }
    if (out->error) return;
    Token *t = last(&x);
    if (t && t->kind != TOK_NEWLINE && !rows[t->kind].more) push(&x, TOK_NEWLINE, x.at);
    push(&x, TOK_END, x.at);
}

void lex_print(const Tokens *t, Bytes *out) {
    for (size_t i = 0; i < t->n; i++) {
        const Token *k = &t->tok[i];
        bytes_printf(out, "%u:%u %s", k->line, k->col, rows[k->kind].name);
        if (k->kind > TOK_NEWLINE && k->kind != TOK_BAD) {
            bytes_putc(out, ' ');
            bytes_add(out, t->src->text + k->at, k->n);
        }
        bytes_putc(out, '\n');
    }
}
