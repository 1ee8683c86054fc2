/* parse_expr.c: expressions. Precedence, loosest first: fn, if/else, or, and, not,
 * | ^ &, comparisons, << >>, + -, * / // % @, unary - + ~, ** (right-associative), call index
 * field, literals.
 * SPDX-License-Identifier: MIT */
#include "lang/syntax/parse.h"
#include <stdio.h>
#include <string.h>

/* The index of the next token, where a node begins. */
static size_t here(Parser *p) {
    parse_peek(p);
    return p->i;
}

static Node *one(Parser *p, NodeKind kind, size_t first) {
    return parse_finish(p, parse_node(p, kind, first), first, parse_mark(p));
}

static Node *name_node(Parser *p, const Token *t) {
    Node *n = parse_node(p, N_NAME, (size_t)(t - p->t.tok));
    n->str = parse_name(p, t);
    n->n_str = t->n;
    return n;
}

static Node *parse_or(Parser *p);

/* ---- strings ---- */

typedef struct Cursor {
    size_t at;
    uint32_t line;
    size_t line_at;
} Cursor; /* a position in a token of several lines */

static uint32_t cursor_to(const Parser *p, Cursor *c, size_t at) {
    for (; c->at < at; c->at++)
        if (p->src->text[c->at] == '\n') {
            c->line++;
            c->line_at = c->at + 1;
        }
    return (uint32_t)(at - c->line_at + 1);
}

static Node *string_piece(Parser *p, size_t first, Bytes *b) {
    Node *n = parse_node(p, N_STRING, first);
    n->str = arena_strndup(p->arena, b->data ? b->data : "", b->n);
    n->n_str = (uint32_t)b->n;
    b->n = 0;
    return n;
}

/* Appends [from, to) to b with its escapes resolved. Frees b before it fails. */
static void unescape(Parser *p, Cursor *c, size_t from, size_t to, Bytes *b) {
    uint32_t col = cursor_to(p, c, from);
    LangError e = {0};
    if (lex_unescape(p->src, from, to, c->line, col, b, &e)) return;
    bytes_fini(b);
    parse_fail(p, e.at, e.hint, "%s", e.what);
}

static _Noreturn void field_fail(Parser *p, Cursor *c, size_t at, Bytes *b, const char *hint,
                                 const char *what) {
    uint32_t col = cursor_to(p, c, at);
    bytes_fini(b);
    parse_fail(p, (Span){p->src, c->line, (uint16_t)(col > 0xffff ? 0xffff : col), 1}, hint, "%s",
               what);
}

/* Parses the expression of a field: switches to tokens of [from, to), and back. */
static Node *field_expr(Parser *p, Cursor *c, size_t from, size_t to) {
    Tokens outer = p->t;
    size_t i = p->i, before = p->before;
    bool skip = p->skip_newlines, in = p->in_fstring;
    uint32_t col = cursor_to(p, c, from);
    lex_range(p->src, from, to, c->line, col, &p->work, &p->t);
    p->i = p->before = 0;
    p->skip_newlines = p->in_fstring = true;
    Node *n = parse_exprs(p);
    if (!parse_at(p, TOK_END)) parse_unexpected(p, "the end of the field");
    p->t = outer;
    p->i = i;
    p->before = before;
    p->skip_newlines = skip;
    p->in_fstring = in;
    return n;
}

static size_t pieces(Parser *p, Cursor *c, size_t first, size_t at, size_t to, bool is_spec);

/* Parses a field and pushes its N_FORMAT. at: just after `{`. Returns the offset after `}`. */
static size_t field(Parser *p, Cursor *c, size_t first, size_t at, size_t to, Bytes *b) {
    const char *s = p->src->text;
    size_t end = lex_field_end(s, at, to), blank = at;
    while (blank < end &&
           (s[blank] == ' ' || s[blank] == '\t' || s[blank] == '\n' || s[blank] == '\r'))
        blank++;
    if (blank == end)
        field_fail(p, c, at ? at - 1 : at, b, "a brace itself is written {{",
                   "this field is empty");
    if (end >= to)
        field_fail(p, c, at - 1, b, "a brace itself is written {{", "this '{' is never closed");
    size_t mark = parse_mark(p);
    bytes_fini(b);
    Node *n = parse_node(p, N_FORMAT, first);
    Node *value = field_expr(p, c, at, end);
    n->at = n->whole = value->whole;
    if (s[end] == '=') {
        size_t k = end + 1;
        while (k < to && (s[k] == ' ' || s[k] == '\t')) k++;
        n->str = arena_strndup(p->arena, s + at, k - at);
        n->n_str = (uint32_t)(k - at);
        end = k;
    }
    parse_push(p, value);
    if (end < to && s[end] == '!') {
        const char *form = end + 1 < to ? strchr("rs", s[end + 1]) : NULL;
        if (!form || !*form)
            field_fail(p, c, end, b, "!r or !s", "this is not a conversion of a field");
        n->flag = *form == 'r' ? FORMAT_REPR : FORMAT_STR;
        end += 2;
    }
    Node *spec = NULL;
    if (end < to && s[end] == ':') {
        size_t spec_mark = parse_mark(p);
        spec = parse_node(p, N_FSTRING, first);
        end = pieces(p, c, first, end + 1, to, true);
        bool plain = parse_mark(p) == spec_mark + 1 && p->scratch[spec_mark]->kind == N_STRING;
        if (plain)
            spec = p->scratch[--p->n_scratch];
        else
            parse_finish(p, spec, first, spec_mark);
        if (spec->kind == N_FSTRING && spec->n_kids == 0) {
            Bytes none = {0};
            spec = string_piece(p, first, &none);
        }
        spec->at = spec->whole = n->at;
    }
    parse_push(p, spec);
    Span at_value = n->at;
    parse_finish(p, n, first, mark);
    n->at = n->whole = at_value;
    parse_push(p, n);
    if (end >= to || s[end] != '}')
        field_fail(p, c, end < to ? end : to - 1, b, "", "expected '}' to end the field");
    return end + 1;
}

/* Pushes the pieces of [at, to), N_STRING and N_FORMAT. A spec ends before its `}`. Returns the
 * offset of the end. */
static size_t pieces(Parser *p, Cursor *c, size_t first, size_t at, size_t to, bool is_spec) {
    const char *s = p->src->text;
    Bytes b = {0};
    size_t from = at;
    parse_enter(p);
    while (at < to) {
        bool doubled = !is_spec && to - at > 1 && s[at + 1] == s[at];
        if (s[at] == '\\' && to - at > 1) {
            at += 2;
            continue;
        }
        if (s[at] != '{' && s[at] != '}') {
            at++;
            continue;
        }
        if (s[at] == '}' && is_spec) break;
        if (s[at] == '}' && !doubled)
            field_fail(p, c, at, &b, "a brace itself is written }}", "a lone '}' in an f-string");
        unescape(p, c, from, at, &b);
        if (doubled) {
            bytes_putc(&b, s[at]);
            at += 2;
        } else {
            if (b.n) parse_push(p, string_piece(p, first, &b));
            at = field(p, c, first, at + 1, to, &b);
        }
        from = at;
    }
    unescape(p, c, from, at, &b);
    if (b.n) parse_push(p, string_piece(p, first, &b));
    bytes_fini(&b);
    parse_leave(p);
    return at;
}

Node *parse_string(Parser *p) {
    size_t first = here(p);
    const Token *t = parse_take(p);
    const char *s = p->src->text + t->at;
    bool is_f = t->kind == TOK_FSTRING;
    size_t skip = is_f, n = t->n;
    size_t quotes = n - skip >= 6 && s[skip] == s[skip + 1] && s[skip] == s[skip + 2] ? 3 : 1;
    size_t from = t->at + skip + quotes, to = t->at + n - quotes;
    Cursor c = {t->at, t->line, t->at - (t->col - 1)};
    if (!is_f) {
        Bytes b = {0};
        unescape(p, &c, from, to, &b);
        Node *str = string_piece(p, first, &b);
        bytes_fini(&b);
        return parse_finish(p, str, first, parse_mark(p));
    }
    size_t mark = parse_mark(p);
    Node *f = parse_node(p, N_FSTRING, first);
    pieces(p, &c, first, from, to, false);
    return parse_finish(p, f, first, mark);
}

/* ---- brackets ---- */

/* Opens a bracket, inside which newlines are skipped. Returns the old skip_newlines. */
static bool open_bracket(Parser *p) {
    bool skip = p->skip_newlines;
    const Token *t = parse_take(p);
    parse_open(p, t, NULL, t->line);
    p->skip_newlines = true;
    return skip;
}
static void close_bracket(Parser *p, int kind, const char *where, bool skip) {
    parse_expect(p, kind, where);
    p->skip_newlines = skip;
    parse_close(p);
}

static Node *targets_item(Parser *p) {
    size_t first = here(p);
    if (parse_at(p, TOK_LPAREN)) {
        parse_enter(p);
        bool skip = open_bracket(p);
        Node *n = parse_targets(p);
        close_bracket(p, TOK_RPAREN, "after the names", skip);
        parse_leave(p);
        return n;
    }
    if (!parse_at(p, TOK_NAME)) parse_unexpected(p, "a name");
    Node *n = name_node(p, parse_take(p));
    parse_finish(p, n, first, parse_mark(p));
    return parse_target(p, n, true);
}

Node *parse_targets(Parser *p) {
    size_t first = here(p), mark = parse_mark(p);
    Node *n = targets_item(p);
    if (!parse_at(p, TOK_COMMA)) return n;
    parse_push(p, n);
    while (parse_accept(p, TOK_COMMA)) {
        if (parse_at(p, TOK_IN) || parse_at(p, TOK_RPAREN)) break;
        parse_push(p, targets_item(p));
    }
    return parse_finish(p, parse_node(p, N_LIST, first), first, mark);
}

static Node *binary(Parser *p, NodeKind kind, int oper, const Token *op, Node *left, Node *right,
                    size_t first);

/* { "for" names "in" or { "if" or } }: pushes target, iterable, and condition or NULL of each
 * loop. */
static void comprehension(Parser *p) {
    int depth = p->depth;
    while (parse_at(p, TOK_FOR)) {
        parse_enter(p); /* comp_loop recurses once per loop */
        parse_take(p);
        parse_push(p, parse_targets(p));
        parse_expect(p, TOK_IN, "after the names of the for");
        parse_push(p, parse_or(p));
        Node *condition = NULL;
        while (parse_at(p, TOK_IF)) {
            const Token *word = parse_take(p);
            size_t first = here(p);
            Node *more = parse_or(p);
            condition = condition ? binary(p, N_AND, 0, word, condition, more, first) : more;
        }
        parse_push(p, condition);
    }
    p->depth = depth;
}

/* expr | "*" or: an element of a list or set, or an argument. */
static Node *element(Parser *p) {
    if (!parse_at(p, TOK_MUL)) return parse_expr(p);
    size_t first = here(p), mark = parse_mark(p);
    parse_take(p);
    parse_push(p, parse_or(p));
    return parse_finish(p, parse_node(p, N_STAR, first), first, mark);
}

/* `element for x in xs`, in parentheses or a call, is a list. Parses the loops, and replaces the
 * element, which was pushed last, by the list. */
static void generator(Parser *p, size_t first) {
    size_t mark = parse_mark(p) - 1;
    Node *n = parse_node(p, N_LISTCOMP, first);
    comprehension(p);
    parse_finish(p, n, first, mark);
    parse_push(p, n);
}

static Node *list(Parser *p) {
    size_t first = here(p), mark = parse_mark(p);
    bool skip = open_bracket(p);
    Node *n = parse_node(p, N_LIST, first);
    while (!parse_at(p, TOK_RBRACKET)) {
        parse_push(p, element(p));
        if (parse_mark(p) == mark + 1 && parse_at(p, TOK_FOR)) {
            n->kind = N_LISTCOMP;
            comprehension(p);
            break;
        }
        if (!parse_comma(p)) break;
    }
    close_bracket(p, TOK_RBRACKET, "or ',' in the list", skip);
    return parse_finish(p, n, first, mark);
}

/* Converts a WORD key to an expression, because `for` follows the pair: the key of a comprehension
 * is an expression. */
static Node *key_as_expr(Parser *p, const Token *t) {
    if (t->kind == TOK_NAME) return name_node(p, t);
    size_t first = (size_t)(t - p->t.tok);
    if (t->kind == TOK_TRUE) return parse_node(p, N_TRUE, first);
    if (t->kind == TOK_FALSE) return parse_node(p, N_FALSE, first);
    if (t->kind == TOK_NONE) return parse_node(p, N_NONE, first);
    parse_fail(p, lex_span(p->src, t), "", "'%.*s' is a keyword", (int)t->n, p->src->text + t->at);
}

/* "**" or: in a map or a call. */
static void map_argument(Parser *p) {
    size_t first = here(p), inner = parse_mark(p);
    parse_take(p);
    Node *n = parse_node(p, N_MAPSTAR, first);
    parse_push(p, parse_or(p));
    parse_finish(p, n, first, inner);
    parse_push(p, n);
}

static _Noreturn void not_a_map(Parser *p, bool after_arrow) {
    const Token *t = parse_peek(p);
    if (t->kind == TOK_END || t->kind == TOK_BAD) parse_unexpected(p, "':' after the key");
    if (after_arrow)
        parse_fail(p, lex_span(p->src, t), "a body in braces has no =>: fn f(x) { … }",
                   "'{' after '=>' begins a map, but this is not a map");
    if (t->kind == TOK_COMMA || t->kind == TOK_RBRACE)
        parse_fail(p, lex_span(p->src, t), "a map is {a: 1, b: 2}, a set {a, b}",
                   "expected ':' after the key");
    parse_unexpected(p, "':' after the key");
}

/* True if the next token may follow an element of a set. */
static bool ends_element(Parser *p) {
    return parse_at(p, TOK_COMMA) || parse_at(p, TOK_RBRACE) || parse_at(p, TOK_FOR);
}

/* Pushes key and value, or **m and NULL. If this is not a pair but the first element of a set,
 * pushes that alone and sets *is_set. */
static void pair(Parser *p, bool after_arrow, bool is_first, bool *is_set) {
    const Token *t = parse_peek(p), *word = NULL;
    size_t first = here(p);
    Node *key;
    if (t->kind == TOK_POW) {
        map_argument(p);
        parse_push(p, NULL);
        return;
    }
    if (t->is_word && parse_peek2(p)->kind == TOK_COLON) {
        word = parse_take(p);
        key = one(p, N_STRING, first);
        key->str = parse_name(p, word);
        key->n_str = word->n;
    } else if (after_arrow && t->is_word && t->kind != TOK_NAME && t->kind < TOK_TRUE &&
               t->kind != TOK_NOT) {
        not_a_map(p, true);
    } else
        key = element(p);
    *is_set = is_first && !word && !after_arrow && ends_element(p);
    if (*is_set) {
        parse_push(p, key);
        return;
    }
    if (!parse_at(p, TOK_COLON) || key->kind == N_STAR) not_a_map(p, after_arrow);
    parse_take(p);
    Node *value = parse_expr(p);
    if (word && is_first && parse_at(p, TOK_FOR)) key = key_as_expr(p, word);
    parse_push(p, key);
    parse_push(p, value);
}

/* "{" [pair { "," pair }] "}", "{" element { "," element } "}", or a loop after the first. */
static Node *map(Parser *p) {
    size_t first = here(p), mark = parse_mark(p);
    bool after_arrow = p->i > 0 && p->t.tok[p->before].kind == TOK_ARROW;
    bool skip = open_bracket(p), is_set = false;
    Node *n = parse_node(p, N_MAP, first);
    while (!parse_at(p, TOK_RBRACE)) {
        bool is_first = parse_mark(p) == mark;
        if (is_set)
            parse_push(p, element(p));
        else
            pair(p, after_arrow, is_first, &is_set);
        if (is_first && parse_at(p, TOK_FOR)) {
            if (p->scratch[mark]->kind == N_MAPSTAR) parse_unexpected(p, "'}'");
            n->kind = is_set ? N_SETCOMP : N_MAPCOMP;
            comprehension(p);
            break;
        }
        if (!parse_comma(p)) break;
    }
    if (after_arrow && !parse_at(p, TOK_RBRACE)) not_a_map(p, true);
    close_bracket(p, TOK_RBRACE, is_set ? "or ',' in the set" : "or ',' in the map", skip);
    if (is_set && n->kind == N_MAP) n->kind = N_SET;
    return parse_finish(p, n, first, mark);
}

/* Fails for a star outside of a list, set or call: (*xs), x = *xs. */
static void lone_star(Parser *p, const Node *n) {
    if (n->kind == N_STAR) parse_fail(p, n->at, "a list of them: [*xs]", "nothing to spread into");
}

/* "(" [exprs [","]] ")". One expression stands for itself. None, several, a trailing comma or a
 * loop (x for x in xs) make a list. */
static Node *group(Parser *p) {
    size_t first = here(p), mark = parse_mark(p);
    bool skip = open_bracket(p), is_list = parse_at(p, TOK_RPAREN);
    while (!parse_at(p, TOK_RPAREN)) {
        size_t item = here(p);
        parse_push(p, element(p));
        if (!is_list && parse_at(p, TOK_FOR)) generator(p, item);
        if (!parse_comma(p)) break;
        is_list = true;
    }
    close_bracket(p, TOK_RPAREN, is_list ? "or ',' in the list" : "", skip);
    if (!is_list) lone_star(p, p->scratch[p->n_scratch - 1]);
    if (!is_list) {
        Node *n = p->scratch[--p->n_scratch];
        n->flag |= NODE_PAREN;
        return n;
    }
    Node *n = parse_node(p, N_LIST, first);
    n->flag |= NODE_PAREN;
    return parse_finish(p, n, first, mark);
}

static Node *fn_expr(Parser *p) {
    size_t first = here(p);
    const Token *word = parse_take(p);
    if (parse_at(p, TOK_NAME))
        parse_fail(p, lex_span(p->src, parse_peek(p)),
                   "fn(x) => …, or define it in a line of its own",
                   "a function inside an expression has no name");
    AstFn *fn = parse_fn(p, word, "", false);
    Node *n = parse_node(p, N_FN, first);
    n->fn = fn;
    n->height = parse_fn_height(fn);
    return parse_finish(p, n, first, parse_mark(p));
}

static Node *primary(Parser *p) {
    size_t first = here(p);
    const Token *t = parse_peek(p);
    Node *n;
    switch (t->kind) {
    case TOK_INT:
        if (t->i > INT64_MAX)
            parse_fail(p, lex_span(p->src, t), "as a float: add .0", "%.*s does not fit in 64 bits",
                       (int)t->n, p->src->text + t->at);
        parse_take(p);
        n = one(p, N_INT, first);
        n->i = (int64_t)t->i;
        return n;
    case TOK_FLOAT:
        parse_take(p);
        n = one(p, N_FLOAT, first);
        n->f = t->f;
        return n;
    case TOK_STRING:
    case TOK_FSTRING: return parse_string(p);
    case TOK_TRUE: parse_take(p); return one(p, N_TRUE, first);
    case TOK_FALSE: parse_take(p); return one(p, N_FALSE, first);
    case TOK_NONE: parse_take(p); return one(p, N_NONE, first);
    case TOK_NAME: return name_node(p, parse_take(p));
    case TOK_LPAREN: return group(p);
    case TOK_LBRACKET: return list(p);
    case TOK_LBRACE: return map(p);
    case TOK_FN: return fn_expr(p);
    default: parse_unexpected(p, "an expression");
    }
}

/* ---- call, index, field ---- */

static void keyword(Parser *p, size_t mark) {
    size_t first = here(p);
    const Token *t = parse_take(p);
    Node *n = parse_node(p, N_KEYWORD, first);
    n->str = parse_name(p, t);
    n->n_str = t->n;
    for (size_t k = mark; k < parse_mark(p); k++)
        if (p->scratch[k]->kind == N_KEYWORD && p->scratch[k]->str == n->str)
            parse_fail(p, n->at, "", "argument '%s' is given twice", n->str);
    parse_take(p);
    size_t inner = parse_mark(p);
    parse_push(p, parse_expr(p));
    parse_finish(p, n, first, inner);
    parse_push(p, n);
}

static void argument(Parser *p, size_t mark) {
    const Token *t = parse_peek(p);
    size_t first = here(p);
    if (t->is_word && parse_peek2(p)->kind == TOK_ASSIGN) {
        keyword(p, mark);
        return;
    }
    if (t->kind == TOK_POW) {
        map_argument(p);
        return;
    }
    const Node *last = parse_mark(p) > mark ? p->scratch[parse_mark(p) - 1] : NULL;
    if (last && (last->kind == N_KEYWORD || last->kind == N_MAPSTAR))
        parse_fail(p, lex_span(p->src, t), "positional arguments come first",
                   "a positional argument after '%s%s'", last->kind == N_KEYWORD ? last->str : "**",
                   last->kind == N_KEYWORD ? "=" : "");
    parse_push(p, element(p));
    if (parse_at(p, TOK_FOR)) generator(p, first);
    if (parse_at(p, TOK_ASSIGN))
        parse_fail(p, lex_span(p->src, parse_peek(p)),
                   "compare with ==", "only a name can stand before '=' in a call");
}

static Node *call(Parser *p, Node *callee, size_t first) {
    size_t mark = parse_mark(p);
    Node *n = parse_node(p, N_CALL, first);
    n->at = callee->kind == N_NAME || callee->kind == N_FIELD ? callee->at
                                                              : lex_span(p->src, parse_peek(p));
    parse_push(p, callee);
    bool skip = open_bracket(p);
    while (!parse_at(p, TOK_RPAREN)) {
        argument(p, mark + 1);
        if (!parse_comma(p)) break;
    }
    close_bracket(p, TOK_RPAREN, "or ',' in the call", skip);
    return parse_finish(p, n, first, mark);
}

/* "..." | expr | [expr] ":" [expr] [":" [expr]] */
static void subscript(Parser *p) {
    size_t first = here(p), mark = parse_mark(p);
    if (parse_accept(p, TOK_ELLIPSIS)) {
        parse_push(p, one(p, N_ELLIPSIS, first));
        return;
    }
    Node *start = parse_at(p, TOK_COLON) ? NULL : parse_expr(p);
    if (!parse_at(p, TOK_COLON)) {
        parse_push(p, start);
        return;
    }
    Node *part[3] = {start, NULL, NULL};
    for (int k = 1; k < 3 && parse_accept(p, TOK_COLON); k++)
        if (!parse_at(p, TOK_COLON) && !parse_at(p, TOK_COMMA) && !parse_at(p, TOK_RBRACKET))
            part[k] = parse_expr(p);
    for (int k = 0; k < 3; k++) parse_push(p, part[k]);
    Node *n = parse_node(p, N_SLICE, first);
    parse_finish(p, n, first, mark);
    parse_push(p, n);
}

static Node *index_of(Parser *p, Node *object, size_t first) {
    size_t mark = parse_mark(p);
    Node *n = parse_node(p, N_INDEX, first);
    n->at = lex_span(p->src, parse_peek(p));
    parse_push(p, object);
    bool skip = open_bracket(p);
    do {
        if (parse_mark(p) > mark + 1 && parse_at(p, TOK_RBRACKET)) break;
        subscript(p);
    } while (parse_accept(p, TOK_COMMA));
    close_bracket(p, TOK_RBRACKET, "or ',' in the index", skip);
    return parse_finish(p, n, first, mark);
}

Node *parse_postfix(Parser *p) {
    size_t first = here(p);
    Node *n = primary(p);
    for (;;) {
        size_t mark = parse_mark(p);
        if (parse_at(p, TOK_LPAREN))
            n = call(p, n, first);
        else if (parse_at(p, TOK_LBRACKET))
            n = index_of(p, n, first);
        else if (parse_accept(p, TOK_DOT)) {
            const Token *t = parse_peek(p);
            if (!t->is_word) parse_unexpected(p, "a name after '.'");
            size_t name = here(p);
            parse_take(p);
            Node *f = parse_node(p, N_FIELD, first);
            f->str = parse_name(p, t);
            f->n_str = t->n;
            f->at = lex_span(p->src, &p->t.tok[name]);
            parse_push(p, n);
            parse_finish(p, f, first, mark);
            n = f;
        } else
            return n;
    }
}

/* ---- operators ---- */

static Node *binary(Parser *p, NodeKind kind, int oper, const Token *op, Node *left, Node *right,
                    size_t first) {
    size_t mark = parse_mark(p);
    Node *n = parse_node(p, kind, first);
    n->tok = (uint8_t)oper;
    parse_push(p, left);
    parse_push(p, right);
    parse_finish(p, n, first, mark);
    n->at = lex_span(p->src, op);
    return n;
}

static Node *unary(Parser *p);

static Node *power(Parser *p) {
    size_t first = here(p);
    Node *left = parse_postfix(p);
    if (!parse_at(p, TOK_POW)) return left;
    const Token *op = parse_take(p);
    parse_enter(p);
    Node *right = unary(p);
    parse_leave(p);
    return binary(p, N_BINARY, O_POW, op, left, right, first);
}

static Node *unary_node(Parser *p, int oper, Node *operand, size_t first) {
    size_t mark = parse_mark(p);
    Node *n = parse_node(p, N_UNARY, first);
    n->tok = (uint8_t)oper;
    parse_push(p, operand);
    return parse_finish(p, n, first, mark);
}

static Node *unary(Parser *p) {
    size_t first = here(p);
    const Token *t = parse_peek(p);
    if (t->kind != TOK_SUB && t->kind != TOK_ADD && t->kind != TOK_BITNOT) return power(p);
    parse_take(p);
    const Token *num = parse_peek(p);
    if (t->kind == TOK_SUB && num->kind == TOK_INT && num->i == (uint64_t)INT64_MAX + 1 &&
        parse_peek2(p)->kind != TOK_POW && parse_peek2(p)->kind != TOK_DOT &&
        parse_peek2(p)->kind != TOK_LBRACKET) {
        parse_take(p);
        Node *n = one(p, N_INT, first); /* INT64_MIN: its absolute value is not an INT */
        n->i = INT64_MIN;
        return n;
    }
    parse_enter(p);
    Node *operand = unary(p);
    parse_leave(p);
    return unary_node(p,
                      t->kind == TOK_SUB   ? O_NEG
                      : t->kind == TOK_ADD ? O_POS
                                           : O_INVERT,
                      operand, first);
}

/* O_xxx + 1 of a binary operator token, else 0. */
static const uint8_t oper_of[TOK_COUNT] = {
#define TOKEN(id, text, more)
#define BINARY(id, text, more) [TOK_##id] = O_##id + 1,
#include "lang/syntax/tokens.def"
};
enum { LEVEL_OR, LEVEL_XOR, LEVEL_AND, LEVEL_CMP, LEVEL_SHIFT, LEVEL_SUM, LEVEL_TERM, LEVEL_UNARY };
static int level_of(int tok) {
    switch (tok) {
    case TOK_BITOR: return LEVEL_OR;
    case TOK_BITXOR: return LEVEL_XOR;
    case TOK_BITAND: return LEVEL_AND;
    case TOK_EQ:
    case TOK_NE:
    case TOK_LT:
    case TOK_LE:
    case TOK_GT:
    case TOK_GE: return LEVEL_CMP;
    case TOK_SHL:
    case TOK_SHR: return LEVEL_SHIFT;
    case TOK_ADD:
    case TOK_SUB: return LEVEL_SUM;
    case TOK_MUL:
    case TOK_DIV:
    case TOK_FLOORDIV:
    case TOK_MOD:
    case TOK_MATMUL: return LEVEL_TERM;
    default: return -1;
    }
}

static Node *binary_level(Parser *p, int level);

/* Takes a comparison operator and returns O_xxx + 1, or 0 if none is next. */
static int take_comparison(Parser *p, const Token **op) {
    const Token *t = parse_peek(p);
    *op = t;
    if (level_of(t->kind) == LEVEL_CMP) {
        parse_take(p);
        return oper_of[t->kind];
    }
    if (t->kind == TOK_IN) {
        parse_take(p);
        return O_IN + 1;
    }
    if (t->kind == TOK_NOT && parse_peek2(p)->kind == TOK_IN) {
        parse_take(p);
        parse_take(p);
        return O_NOT_IN + 1;
    }
    if (t->kind == TOK_IS) {
        parse_take(p);
        return parse_accept(p, TOK_NOT) ? O_IS_NOT + 1 : O_IS + 1;
    }
    return 0;
}

/* shift { op shift }: a < b, or the chain a < b < c, whose links share operands. */
static Node *comparison(Parser *p) {
    size_t first = here(p), mark = parse_mark(p);
    Node *left = binary_level(p, LEVEL_SHIFT), *links = NULL;
    const Token *op;
    int oper = take_comparison(p, &op);
    if (!oper) return left;
    size_t right_first = here(p);
    Node *right = binary_level(p, LEVEL_SHIFT);
    Node *n = binary(p, N_BINARY, oper - 1, op, left, right, first);
    parse_push(p, left);
    parse_push(p, right);
    for (left = right; (oper = take_comparison(p, &op)); left = right) {
        size_t link_first = right_first;
        right_first = here(p);
        right = binary_level(p, LEVEL_SHIFT);
        Node *link = binary(p, N_BINARY, oper - 1, op, left, right, link_first);
        link->cache = links;
        links = link;
        parse_push(p, right);
    }
    size_t n_links = parse_mark(p) - mark - 1;
    if (n_links == 1) {
        p->n_scratch = mark;
        return n;
    }
    Node *chain = parse_node(p, N_CHAIN, first);
    parse_finish(p, chain, first, mark);
    chain->link = arena_alloc(p->arena, n_links * sizeof *chain->link);
    chain->link[0] = n;
    for (size_t k = n_links - 1; k > 0; k--) {
        chain->link[k] = links;
        links = links->cache;
        chain->link[k]->cache = NULL;
    }
    return chain;
}

static bool is_bare_comparison(const Node *n) {
    return n->kind == N_BINARY && n->tok >= O_EQ && n->tok <= O_GE && !(n->flag & NODE_PAREN);
}

/* Warns of `a & 1 == 0`: it means a & (1 == 0), as in C, which is rarely intended. */
static void warn_mixed(Parser *p, const Token *op, const Node *left, const Node *right) {
    const Node *cmp = is_bare_comparison(right) ? right : is_bare_comparison(left) ? left : NULL;
    if (!cmp) return;
    const Node *other = cmp == right ? left : right,
               *near = cmp == right ? cmp->kid[0] : cmp->kid[1];
    if (near->kind != N_INT && other->kind != N_INT) return;
    if (is_bare_comparison(left) && is_bare_comparison(right)) return;
    char o = p->src->text[op->at];
    char hint[96];
    snprintf(hint, sizeof hint, "(a %c 1) == 0 compares the bits; a %c (1 == 0) is what this means",
             o, o);
    parse_warn(p, lex_span(p->src, op), hint, "'%c' binds looser than comparisons", o);
}

static Node *binary_level(Parser *p, int level) {
    if (level == LEVEL_CMP) return comparison(p);
    if (level == LEVEL_UNARY) return unary(p);
    size_t first = here(p);
    Node *left = binary_level(p, level + 1);
    while (level_of(parse_peek(p)->kind) == level) {
        const Token *op = parse_take(p);
        Node *right = binary_level(p, level + 1);
        if (level <= LEVEL_AND) warn_mixed(p, op, left, right);
        left = binary(p, N_BINARY, oper_of[op->kind] - 1, op, left, right, first);
    }
    return left;
}

static Node *not_expr(Parser *p) {
    size_t first = here(p);
    if (!parse_at(p, TOK_NOT)) return binary_level(p, LEVEL_OR);
    parse_take(p);
    parse_enter(p);
    Node *n = not_expr(p);
    parse_leave(p);
    return unary_node(p, O_NOT, n, first);
}

/* part { word part } */
static Node *joined_by(Parser *p, int word, NodeKind kind, Node *(*part)(Parser *p)) {
    size_t first = here(p);
    Node *left = part(p);
    while (parse_at(p, word)) {
        const Token *op = parse_take(p);
        left = binary(p, kind, 0, op, left, part(p), first);
    }
    return left;
}
static Node *and_expr(Parser *p) { return joined_by(p, TOK_AND, N_AND, not_expr); }
static Node *parse_or(Parser *p) { return joined_by(p, TOK_OR, N_OR, and_expr); }

Node *parse_expr(Parser *p) {
    size_t first = here(p);
    parse_enter(p);
    Node *n = parse_or(p);
    if (parse_at(p, TOK_IF)) {
        size_t mark = parse_mark(p);
        const Token *word = parse_take(p);
        parse_push(p, n);
        parse_push(p, parse_or(p));
        const Token *t = parse_peek(p);
        if (t->kind != TOK_ELSE && t->kind != TOK_END && t->kind != TOK_BAD) {
            bool loop = t->kind == TOK_FOR;
            parse_fail(p, lex_span(p->src, word),
                       loop ? "the condition comes last: [x for x in xs if c]"
                            : "x if c else y; as a statement: if c { x }",
                       "this 'if' has no 'else'");
        }
        parse_expect(p, TOK_ELSE, "after the condition");
        parse_push(p, parse_expr(p));
        n = parse_node(p, N_IF_EXPR, first);
        parse_finish(p, n, first, mark);
        n->at = lex_span(p->src, word);
    }
    parse_leave(p);
    return n;
}

Node *parse_exprs(Parser *p) {
    size_t first = here(p), mark = parse_mark(p);
    Node *n = element(p);
    if (!parse_at(p, TOK_COMMA)) {
        lone_star(p, n);
        return n;
    }
    parse_push(p, n);
    while (parse_accept(p, TOK_COMMA)) {
        if (parse_at(p, TOK_ASSIGN)) break;
        parse_push(p, element(p));
    }
    return parse_finish(p, parse_node(p, N_LIST, first), first, mark);
}
