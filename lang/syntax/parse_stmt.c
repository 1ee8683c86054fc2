/* parse_stmt.c: statements, blocks, functions and modules. `signal backward no_grad time` are
 * keywords only at the start of a statement; the tokens after them distinguish them from names.
 * SPDX-License-Identifier: MIT */
#include "lang/syntax/parse.h"
#include "runtime/base/words.h"
#include <string.h>

static bool ends_statement(int kind) {
    return kind == TOK_NEWLINE || kind == TOK_SEMI || kind == TOK_END || kind == TOK_RBRACE;
}

/* O_xxx of an `op=`. */
static const uint8_t augmented_oper[TOK_COUNT] = {
#define TOKEN(id, text, more)
#define AUGMENT(id, text, binary) [TOK_##id] = O_##binary + 1,
#include "lang/syntax/tokens.def"
};
static bool is_augmented(int kind) { return augmented_oper[kind] != 0; }

static Node *statement(Parser *p);

/* ---- targets ---- */

Node *parse_target(Parser *p, Node *n, bool is_loop) {
    const char *what;
    switch (n->kind) {
    case N_NAME:
        if (!strcmp(n->str, "self") && (p->in_module || p->in_module_body))
            parse_fail(p, n->at, "self.name = …", "'self' is the object itself");
        return n;
    case N_INDEX:
    case N_FIELD:
        if (!is_loop) return n;
        what = "a place in something else";
        break;
    case N_LIST:
        if (n->n_kids == 0) {
            what = "an empty list";
            break;
        }
        for (uint32_t k = 0; k < n->n_kids; k++) parse_target(p, n->kid[k], is_loop);
        return n;
    case N_CALL: what = "a call"; break;
    case N_NONE: what = "'none'"; break;
    case N_TRUE: what = "'true'"; break;
    case N_FALSE: what = "'false'"; break;
    case N_INT:
    case N_FLOAT: what = "a number"; break;
    case N_STRING:
    case N_FSTRING: what = "a string"; break;
    case N_IF_EXPR: what = "an if expression"; break;
    case N_FN: what = "a function"; break;
    case N_STAR: parse_fail(p, n->at, "first = xs[0]; rest = xs[1:]", "targets take no *");
    default: what = "an expression"; break;
    }
    bool call = n->kind == N_CALL, op = n->kind == N_BINARY || n->kind == N_CHAIN;
    parse_fail(p, n->whole,
               call ? "fn f(x) => … defines a function; compare with =="
               : op ? "compare with =="
                    : "",
               "cannot assign to %s", what);
}

static Node *assignment(Parser *p, Node *left, size_t first) {
    size_t mark = parse_mark(p);
    parse_push(p, parse_target(p, left, false));
    while (parse_accept(p, TOK_ASSIGN)) {
        Node *next = parse_exprs(p);
        if (parse_at(p, TOK_ASSIGN)) parse_target(p, next, false);
        parse_push(p, next);
    }
    return parse_finish(p, parse_node(p, N_ASSIGN, first), first, mark);
}

static Node *augmented(Parser *p, Node *left, size_t first) {
    const Token *op = parse_take(p);
    if (left->kind == N_LIST)
        parse_fail(p, lex_span(p->src, op), "one at a time", "'%.*s' has one target", (int)op->n,
                   p->src->text + op->at);
    parse_target(p, left, false);
    size_t mark = parse_mark(p);
    Node *n = parse_node(p, N_AUGASSIGN, first);
    n->tok = augmented_oper[op->kind] - 1;
    parse_push(p, left);
    parse_push(p, parse_expr(p));
    if (parse_at(p, TOK_COMMA)) parse_unexpected(p, "the end of the statement");
    parse_finish(p, n, first, mark);
    n->at = lex_span(p->src, op);
    return n;
}

/* exprs [ "=" exprs | augop expr ] */
static Node *expr_statement(Parser *p, size_t first) {
    Node *left = parse_exprs(p);
    if (parse_at(p, TOK_ASSIGN)) return assignment(p, left, first);
    if (is_augmented(parse_peek(p)->kind)) return augmented(p, left, first);
    size_t mark = parse_mark(p);
    Node *n = parse_node(p, N_EXPR_STMT, first);
    parse_push(p, left);
    n->flag = parse_at(p, TOK_SEMI);
    return parse_finish(p, n, first, mark);
}

/* ---- blocks ---- */

static Node *parse_block(Parser *p, const char *what, uint32_t line) {
    parse_enter(p);
    size_t first = (parse_peek(p), p->i);
    if (!parse_at(p, TOK_LBRACE)) parse_unexpected(p, "'{'");
    const Token *brace = parse_take(p);
    bool skip = p->skip_newlines;
    parse_open(p, brace, what, line);
    p->skip_newlines = false;
    size_t mark = parse_mark(p);
    Node *n = parse_node(p, N_BLOCK, first);
    parse_statements(p, TOK_RBRACE);
    parse_expect(p, TOK_RBRACE, "");
    parse_finish(p, n, first, mark);
    parse_done(p, brace->at + 1, p->t.tok[p->before].at);
    p->skip_newlines = skip;
    parse_close(p);
    parse_leave(p);
    return n;
}

void parse_statements(Parser *p, int end) {
    size_t from = p->n_open ? p->open[p->n_open - 1].at.at + 1 : 0;
    Node *last = NULL;
    size_t last_at = 0;
    for (;;) {
        while (parse_at(p, TOK_NEWLINE) || parse_at(p, TOK_SEMI)) parse_take(p);
        if (parse_at(p, end)) return;
        if (parse_at(p, TOK_RBRACE))
            parse_fail(p, lex_span(p->src, parse_peek(p)), "", "this '}' closes nothing");
        bool may_have_else = last && last->kind == N_IF && parse_at(p, TOK_END);
        if (!may_have_else) last_at = parse_peek(p)->at;
        if (!may_have_else) parse_done(p, from, last_at);
        parse_push(p, last = statement(p));
        if (!ends_statement(parse_peek(p)->kind)) parse_unexpected(p, "the end of the statement");
    }
}

/* ---- functions ---- */

/* Returns the text of the `##` lines directly above the line of `at`, without the `## `, or NULL.
 * Further blanks are kept: the lines may be an example's output. */
static const char *doc_above(Parser *p, size_t at) {
    const char *s = p->src->text;
    Bytes out = {0};
    size_t line = at;
    while (line > 0 && s[line - 1] != '\n') line--;
    size_t start = line;
    while (start > 0) {
        size_t prev = start - 1;
        while (prev > 0 && s[prev - 1] != '\n') prev--;
        size_t k = prev;
        while (s[k] == ' ' || s[k] == '\t') k++;
        if (s[k] != '#' || s[k + 1] != '#') break;
        start = prev;
    }
    for (size_t k = start; k < line; k++) {
        while (s[k] == ' ' || s[k] == '\t') k++;
        while (s[k] == '#') k++;
        k += s[k] == ' ';
        size_t n = strcspn(s + k, "\n");
        if (out.n) bytes_putc(&out, '\n');
        bytes_add(&out, s + k, n && s[k + n - 1] == '\r' ? n - 1 : n);
        k += n;
    }
    const char *doc = out.n ? arena_strndup(p->arena, out.data, out.n) : NULL;
    bytes_fini(&out);
    return doc;
}

static void param_check(Parser *p, const AstFn *fn, const AstParam *list, int n,
                        const AstParam *param) {
    const AstParam *last = n ? &list[n - 1] : NULL;
    if (!strcmp(param->name, "self"))
        parse_fail(p, param->at, "methods see self without naming it: fn forward(x) { … }",
                   "'self' is not a parameter");
    for (int k = 0; k < n; k++)
        if (list[k].name == param->name)
            parse_fail(p, param->at, "", "parameter '%s' is named twice", param->name);
    if (last && last->is_map)
        parse_fail(p, param->at, "", "'**%s' must be the last parameter", last->name);
    if (param->is_star && fn->n_pos >= 0)
        parse_fail(p, param->at, "", "one parameter with * is enough");
    bool must = !param->dflt && !param->is_star && !param->is_map && fn->n_pos < 0;
    if (last && last->dflt && must)
        parse_fail(p, param->at, "", "parameter '%s' needs a default, since '%s' has one",
                   param->name, last->name);
}

/* NAME [ "=" expr ] | "*" NAME | "**" NAME. Returns false for a "*" alone: all parameters after it
 * are keyword-only. */
static bool param(Parser *p, const AstFn *fn, const AstParam *list, int n, AstParam *one) {
    const Token *star = parse_peek(p);
    *one = (AstParam){.is_map = parse_accept(p, TOK_POW)};
    one->is_star = !one->is_map && parse_accept(p, TOK_MUL);
    const Token *t = parse_peek(p);
    if (one->is_star && t->kind == TOK_COMMA && fn->n_pos < 0) return false;
    if (t->kind != TOK_NAME) parse_unexpected(p, "the name of a parameter");
    parse_take(p);
    one->name = parse_name(p, t);
    one->at = lex_span(p->src, t);
    if (parse_at(p, TOK_COLON))
        parse_fail(p, lex_span(p->src, parse_peek(p)), "say it in a ## line above",
                   "parameters have no types");
    if (star == t && parse_accept(p, TOK_ASSIGN)) one->dflt = parse_expr(p);
    param_check(p, fn, list, n, one);
    return true;
}

static void params(Parser *p, AstFn *fn) {
    AstParam *list = NULL;
    int n = 0, cap = 0;
    const Token *paren = parse_expect(p, TOK_LPAREN, "of the parameters");
    bool skip = p->skip_newlines;
    parse_open(p, paren, NULL, paren->line);
    p->skip_newlines = true;
    fn->n_pos = -1;
    while (!parse_at(p, TOK_RPAREN)) {
        if (n == cap) {
            cap = cap ? 2 * cap : 8;
            AstParam *more = arena_alloc(p->arena, (size_t)cap * sizeof *more);
            if (n) memcpy(more, list, (size_t)n * sizeof *more);
            list = more;
        }
        bool is_named = param(p, fn, list, n, &list[n]);
        if (fn->n_pos < 0 && (!is_named || list[n].is_star || list[n].is_map)) fn->n_pos = n;
        n += is_named;
        if (!parse_accept(p, TOK_COMMA)) break;
    }
    if (fn->n_pos < 0) fn->n_pos = n;
    parse_expect(p, TOK_RPAREN, "or ',' in the parameters");
    p->skip_newlines = skip;
    parse_close(p);
    fn->param = list;
    fn->n_params = n;
}

AstFn *parse_fn(Parser *p, const Token *word, const char *name, bool is_module) {
    AstFn *fn = arena_zalloc(p->arena, sizeof *fn);
    bool in_body = p->in_module_body, in_module = p->in_module;
    int loops = p->loop_depth;
    const char *module = p->module;
    fn->name = name;
    fn->at = lex_span(p->src, word);
    fn->is_module = is_module;
    fn->self_slot = -1;
    params(p, fn);
    p->fn_depth++;
    p->loop_depth = 0;
    p->in_module_body = p->in_module = is_module;
    if (is_module) p->module = name;
    if (!is_module && parse_accept(p, TOK_ARROW)) {
        fn->is_expr = true;
        fn->body = parse_expr(p);
    } else if (parse_at(p, TOK_LBRACE)) {
        fn->body = parse_block(p, is_module ? "module" : "fn", word->line);
    } else
        parse_unexpected(p, is_module ? "'{'" : "'{' or '=>'");
    p->fn_depth--;
    p->loop_depth = loops;
    p->in_module_body = in_body;
    p->in_module = in_module;
    p->module = module;
    fn->end = lex_span(p->src, &p->t.tok[p->before]);
    return fn;
}

uint16_t parse_fn_height(const AstFn *fn) {
    uint16_t height = fn->body->height;
    for (int k = 0; k < fn->n_params; k++)
        if (fn->param[k].dflt && fn->param[k].dflt->height > height)
            height = fn->param[k].dflt->height;
    return (uint16_t)(height + 1);
}

/* Warns of methods that Python calls implicitly and gt does not. */
static void warn_never_called(Parser *p, const AstFn *fn) {
    static const char *const names[][2] = {
        {"__init__", "the module's own block is the constructor: module M(n) { self.n = n }"},
        {"__call__", "fn forward(x)"},
        {"__len__ __getitem__ __iter__",
         "a list or map in self._items makes m[i], len(m) and loops work"},
        {"__setitem__", "a list or map in self._items makes m[i] = v work"},
        {"__next__", "return a list, or call a function for each element"},
        {"__repr__ __str__", "fn extra_repr() gives the text in the parentheses"},
        {"__hash__", "keys are strings, ints and lists of such: m[x.name]"},
        {"__enter__", "attempt(f, finally=g)"},
    };
    const char *hint = words_row(names, sizeof names / sizeof *names, fn->name, strlen(fn->name));
    if (hint) parse_warn(p, fn->at, hint, "nothing calls %s", fn->name);
}

static Node *fn_statement(Parser *p, size_t first) {
    const Token *word = parse_take(p);
    bool is_module = word->kind == TOK_MODULE, is_method = p->in_module_body && !is_module;
    const Token *name =
        parse_expect(p, TOK_NAME, is_module ? "for the module" : "for the function");
    AstFn *fn = parse_fn(p, word, parse_name(p, name), is_module);
    fn->at = lex_span(p->src, name);
    fn->doc = doc_above(p, word->at);
    fn->is_method = is_method;
    if (is_method) fn->owner = p->module;
    if (is_method) warn_never_called(p, fn);
    Node *n = parse_node(p, is_module ? N_MODULE : N_FN_STMT, first);
    n->fn = fn;
    n->height = parse_fn_height(fn);
    return parse_finish(p, n, first, parse_mark(p));
}

/* ---- control ---- */

static Node *inner_block(Parser *p, const Token *word) {
    bool body = p->in_module_body;
    p->in_module_body = false;
    Node *n = parse_block(p, parse_name(p, word), word->line);
    p->in_module_body = body;
    return n;
}

/* True if this word is next, possibly after newlines, which it then takes: `else` may be on its own
 * line. */
static bool word_follows(Parser *p, int kind) {
    size_t i = p->i;
    while (p->t.tok[i].kind == TOK_NEWLINE) i++;
    if (p->t.tok[i].kind != kind) return false;
    p->i = i;
    return true;
}

static Node *if_statement(Parser *p, size_t first) {
    size_t mark = parse_mark(p);
    const Token *word = parse_take(p);
    for (;;) {
        parse_push(p, parse_expr(p));
        parse_push(p, inner_block(p, word));
        if (word_follows(p, TOK_ELIF)) {
            word = parse_take(p);
            continue;
        }
        if (!word_follows(p, TOK_ELSE)) break;
        word = parse_take(p);
        if (parse_at(p, TOK_IF)) {
            word = parse_take(p);
            continue;
        }
        parse_push(p, inner_block(p, word));
        break;
    }
    return parse_finish(p, parse_node(p, N_IF, first), first, mark);
}

static Node *loop_statement(Parser *p, size_t first) {
    size_t mark = parse_mark(p);
    const Token *word = parse_take(p);
    if (word->kind == TOK_FOR) {
        parse_push(p, parse_targets(p));
        parse_expect(p, TOK_IN, "after the names");
    }
    parse_push(p, parse_expr(p));
    p->loop_depth++;
    parse_push(p, inner_block(p, word));
    p->loop_depth--;
    return parse_finish(p, parse_node(p, word->kind == TOK_WHILE ? N_WHILE : N_FOR, first), first,
                        mark);
}

static Node *return_statement(Parser *p, size_t first) {
    size_t mark = parse_mark(p);
    const Token *word = parse_take(p);
    if (p->fn_depth == 0)
        parse_fail(p, lex_span(p->src, word), "exit(0) ends a program",
                   "'return' outside a function");
    if (!ends_statement(parse_peek(p)->kind)) {
        if (p->in_module)
            parse_fail(p, lex_span(p->src, parse_peek(p)), "a bare return leaves it early",
                       "a module's body returns the object, nothing else");
        parse_push(p, parse_exprs(p));
    }
    return parse_finish(p, parse_node(p, N_RETURN, first), first, mark);
}

static Node *break_statement(Parser *p, size_t first) {
    const Token *word = parse_take(p);
    if (p->loop_depth == 0)
        parse_fail(p, lex_span(p->src, word), p->fn_depth ? "return leaves a function" : "",
                   "'%.*s' outside a loop", (int)word->n, p->src->text + word->at);
    return parse_node(p, word->kind == TOK_BREAK ? N_BREAK : N_CONTINUE, first);
}

static Node *del_statement(Parser *p, size_t first) {
    size_t mark = parse_mark(p);
    parse_take(p);
    do {
        Node *n = parse_postfix(p);
        if (n->kind != N_NAME && n->kind != N_INDEX && n->kind != N_FIELD)
            parse_fail(p, n->whole, "del x, del m[\"key\"], del obj.field", "cannot delete this");
        parse_push(p, n);
    } while (parse_accept(p, TOK_COMMA));
    return parse_finish(p, parse_node(p, N_DEL, first), first, mark);
}

static Node *assert_statement(Parser *p, size_t first) {
    size_t mark = parse_mark(p);
    parse_take(p);
    Node *condition = parse_expr(p);
    if (condition->kind == N_LIST && (condition->flag & NODE_PAREN) && condition->n_kids > 0)
        parse_fail(p, condition->whole, "without the parentheses: assert x > 0, \"message\"",
                   "a list in parentheses is always true");
    parse_push(p, condition);
    if (parse_accept(p, TOK_COMMA)) parse_push(p, parse_expr(p));
    return parse_finish(p, parse_node(p, N_ASSERT, first), first, mark);
}

/* The name that `import "a/b.gt"` binds: b. */
static const char *import_name(Parser *p, const Node *path) {
    const char *s = path->str, *slash = strrchr(s, '/');
    if (slash) s = slash + 1;
    size_t n = strcspn(s, ".");
    bool good = n > 0 &&
                strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") >= n &&
                !(s[0] >= '0' && s[0] <= '9');
    if (!good) {
        const char *hint = arena_printf(p->arena, "import \"%s\" as name", path->str);
        parse_fail(p, path->at, hint, "'%.*s' is not a name to import as", (int)n, s);
    }
    return intern(s, n);
}

static Node *import_statement(Parser *p, size_t first) {
    parse_take(p);
    const Token *t = parse_peek(p);
    Node *n = parse_node(p, N_IMPORT, first);
    if (t->kind == TOK_STRING) {
        Node *path = parse_string(p);
        n->flag = 1;
        n->str = path->str;
        n->n_str = path->n_str;
        if (!parse_at(p, TOK_AS)) n->as = import_name(p, path);
    } else {
        parse_expect(p, TOK_NAME, "or a path in quotes after 'import'");
        n->str = n->as = parse_name(p, t);
        n->n_str = t->n;
    }
    if (parse_accept(p, TOK_AS)) n->as = parse_name(p, parse_expect(p, TOK_NAME, "after 'as'"));
    parse_finish(p, n, first, parse_mark(p));
    n->at = lex_span(p->src, t);
    return n;
}

/* ---- words at the start of a statement ---- */

static Node *label(Parser *p, const char *expected) {
    size_t first = (parse_peek(p), p->i);
    const Token *t = parse_peek(p);
    if (t->kind == TOK_STRING || t->kind == TOK_FSTRING) return parse_string(p);
    if (t->kind != TOK_NAME) parse_unexpected(p, expected);
    parse_take(p);
    Node *n = parse_node(p, N_STRING, first);
    n->str = parse_name(p, t);
    n->n_str = t->n;
    return parse_finish(p, n, first, parse_mark(p));
}

static Node *signal_statement(Parser *p, size_t first) {
    size_t mark = parse_mark(p);
    const Token *word = parse_take(p);
    parse_push(p, label(p, "the signal's name"));
    bool has_backward = parse_is(p, parse_peek(p), "backward");
    if (has_backward) parse_take(p);
    parse_push(p, has_backward ? label(p, "the backward signal's name") : NULL);
    parse_push(p, inner_block(p, word));
    Node *n = parse_node(p, N_SIGNAL, first);
    parse_finish(p, n, first, mark);
    n->at = n->kid ? n->kid[0]->at : n->at;
    return n;
}

static Node *time_statement(Parser *p, size_t first) {
    size_t mark = parse_mark(p);
    const Token *word = parse_take(p);
    parse_push(p, parse_at(p, TOK_LBRACE) ? NULL : label(p, "a label"));
    parse_push(p, inner_block(p, word));
    return parse_finish(p, parse_node(p, N_TIME, first), first, mark);
}

static Node *no_grad_statement(Parser *p, size_t first) {
    size_t mark = parse_mark(p);
    const Token *word = parse_take(p);
    if (parse_accept(p, TOK_IF)) parse_push(p, parse_expr(p));
    parse_push(p, inner_block(p, word));
    return parse_finish(p, parse_node(p, N_NO_GRAD, first), first, mark);
}

/* True if `backward` at p->i begins a backward statement. False before = op= . [ , or the end, and
 * before a single parenthesised group, which makes it a call. */
static bool is_backward_statement(const Parser *p) {
    const Token *t = &p->t.tok[p->i + 1];
    if (ends_statement(t->kind) || t->kind == TOK_ASSIGN || is_augmented(t->kind) ||
        t->kind == TOK_DOT || t->kind == TOK_LBRACKET || t->kind == TOK_COMMA || t->kind == TOK_BAD)
        return false;
    if (t->kind != TOK_LPAREN) return true;
    int open = 0;
    for (; t->kind != TOK_END && t->kind != TOK_BAD; t++) {
        open += tok_opens(t->kind) - tok_closes(t->kind);
        if (open <= 0) return !ends_statement(t[1].kind);
    }
    return false;
}

static Node *backward_statement(Parser *p, size_t first) {
    size_t mark = parse_mark(p);
    parse_take(p);
    parse_push(p, parse_expr(p));
    return parse_finish(p, parse_node(p, N_BACKWARD, first), first, mark);
}

/* Parses a statement whose first word is a name elsewhere. Returns NULL if it is a name here
 * too. */
static Node *word_statement(Parser *p, const Token *t, size_t first) {
    int next = t[1].kind, after = next == TOK_NEWLINE ? t[2].kind : next;
    if (parse_is(p, t, "backward"))
        return is_backward_statement(p) ? backward_statement(p, first) : NULL;
    if (parse_is(p, t, "signal") &&
        (next == TOK_NAME || next == TOK_STRING || next == TOK_FSTRING || next == TOK_LBRACE))
        return signal_statement(p, first);
    if (parse_is(p, t, "time") &&
        (after == TOK_LBRACE || next == TOK_NAME || next == TOK_STRING || next == TOK_FSTRING))
        return next == TOK_NEWLINE ? no_grad_statement(p, first) : time_statement(p, first);
    if (parse_is(p, t, "no_grad") && (after == TOK_LBRACE || after == TOK_IF))
        return no_grad_statement(p, first);
    return NULL;
}

static const char *else_hint(const Parser *p, const Token *t) {
    const char *hint = parse_loop_else(p, t);
    if (hint) return hint;
    return p->src->is_prompt ? "at the prompt it follows the } of an if, there or in the next line"
                             : "it follows the } of an if";
}

static Node *statement(Parser *p) {
    const Token *t = parse_peek(p);
    size_t first = p->i;
    Node *n;
    switch (t->kind) {
    case TOK_IF: return if_statement(p, first);
    case TOK_WHILE:
    case TOK_FOR: return loop_statement(p, first);
    case TOK_FN:
        if (t[1].kind == TOK_LPAREN) return expr_statement(p, first);
        return fn_statement(p, first);
    case TOK_MODULE: return fn_statement(p, first);
    case TOK_RETURN: return return_statement(p, first);
    case TOK_BREAK:
    case TOK_CONTINUE: return break_statement(p, first);
    case TOK_DEL: return del_statement(p, first);
    case TOK_ASSERT: return assert_statement(p, first);
    case TOK_IMPORT: return import_statement(p, first);
    case TOK_ELSE:
    case TOK_ELIF:
        parse_fail(p, lex_span(p->src, t), else_hint(p, t), "'%s' has no 'if' before it",
                   lex_text(t->kind));
    case TOK_NAME: n = word_statement(p, t, first); return n ? n : expr_statement(p, first);
    default: return expr_statement(p, first);
    }
}
