/* scan.c: see scan.h. One pass over the tokens keeps a stack of open brackets and of scopes. A
 * scope begins at `fn` or `module` and ends with its block, or where its expression ends.
 * SPDX-License-Identifier: MIT */
#include "lang/complete/scan.h"
#include "lang/syntax/ast.h"
#include <stdlib.h>
#include <string.h>

/* ---- tokens ---- */

static void add_token(Scan *s, Token t) { ARRAY_PUSH(s->tok, s->n, s->cap, 64, t); }

static bool is_quote(char c) { return c == '"' || c == '\''; }

/* True if the token, a bad one, begins a string. */
static bool is_bad_string(const char *text, const Token *t) {
    bool has_f = t->n > 0 && (text[t->at] == 'f' || text[t->at] == 'F');
    return is_quote(text[t->at + has_f]);
}

/* The length of the unfinished string token t of a text that ends at `to`: to the end of its line,
 * or with three quotes of the text. */
static uint32_t bad_string_length(const char *text, const Token *t, size_t to) {
    size_t at = t->at + !is_quote(text[t->at]);
    bool triple = to - at >= 3 && text[at + 1] == text[at] && text[at + 2] == text[at];
    const char *nl = triple ? NULL : memchr(text + at, '\n', to - at);
    return (uint32_t)((nl ? (size_t)(nl - text) : to) - t->at);
}

/* Adds the tokens of text[from .. to). Goes on behind a bad one, which stays in the list. Returns
 * the token of the unfinished string that ends the text, or SIZE_MAX. */
static size_t lex_all(Scan *s, size_t from, size_t to) {
    size_t string = SIZE_MAX;
    while (from < to) {
        Tokens t;
        lex_range(&s->src, from, to, 1, 1, &s->arena, &t);
        from = to;
        for (size_t i = 0; i < t.n; i++) {
            Token k = t.tok[i];
            if (k.kind == TOK_END) continue;
            if (k.kind == TOK_BAD) {
                if (k.at < to && is_bad_string(s->src.text, &k)) {
                    k.n = bad_string_length(s->src.text, &k, to);
                    k.kind = TOK_STRING;
                    if (k.at + k.n == to) string = s->n;
                }
                from = k.at + (k.n ? k.n : 1);
            }
            add_token(s, k);
        }
    }
    return string;
}

/* Where the text behind the cursor goes on as code, if the cursor is in a string. */
static size_t after_string(const Scan *s, size_t cursor) {
    char quote;
    bool is_f;
    const char *text = s->src.text, *end = memchr(text + cursor, '\n', s->src.n - cursor);
    size_t stop = end ? (size_t)(end - text) : s->src.n;
    scan_string_body(s, s->string, &quote, &is_f);
    const char *close = memchr(text + cursor, quote, stop - cursor);
    return close ? (size_t)(close - text) + 1 : stop;
}

bool scan_is(const Scan *s, size_t token, const char *text) {
    size_t n = strlen(text);
    return token < s->n && s->tok[token].n == n && s->tok[token].kind != TOK_STRING &&
           !memcmp(s->src.text + s->tok[token].at, text, n);
}

const char *scan_name(const Scan *s, size_t token) {
    return intern(s->src.text + s->tok[token].at, s->tok[token].n);
}

int scan_kind(const Scan *s, size_t token) { return token < s->n ? s->tok[token].kind : TOK_END; }

size_t scan_opener(const Scan *s, size_t close) {
    size_t depth = 0;
    for (size_t i = close + 1; i-- > 0;) {
        if (tok_closes(s->tok[i].kind)) depth++;
        if (tok_opens(s->tok[i].kind) && --depth == 0) return i;
    }
    return SIZE_MAX;
}

size_t scan_closer(const Scan *s, size_t open) {
    size_t depth = 0;
    for (size_t i = open; i < s->n; i++) {
        if (tok_opens(s->tok[i].kind)) depth++;
        if (tok_closes(s->tok[i].kind) && --depth == 0) return i;
    }
    return SIZE_MAX;
}

bool scan_begins(const Scan *s, size_t token) {
    if (token == 0) return true;
    int before = s->tok[token - 1].kind;
    return before == TOK_NEWLINE || before == TOK_SEMI || before == TOK_LBRACE ||
           before == TOK_RBRACE || before == TOK_ARROW;
}

size_t scan_string_body(const Scan *s, size_t token, char *quote, bool *is_f) {
    const char *text = s->src.text;
    const Token *t = &s->tok[token];
    size_t at = t->at;
    *is_f = !is_quote(text[at]);
    at += *is_f;
    *quote = text[at];
    bool triple = t->at + t->n - at >= 3 && text[at + 1] == *quote && text[at + 2] == *quote;
    return at + (triple ? 3 : 1);
}

/* ---- definitions ---- */

typedef struct Walk {
    Scan *s;
    uint32_t *open; /* tokens of the open brackets */
    size_t n_open, cap_open;
    int scope;
} Walk;

static Def *add_def(Walk *w, DefKind kind, size_t at, size_t from) {
    Scan *s = w->s;
    ARRAY_ROOM(s->def, s->n_defs, s->cap_defs, 16);
    Def *d = &s->def[s->n_defs++];
    *d = (Def){.name = scan_name(s, at),
               .kind = (uint8_t)kind,
               .scope = w->scope,
               .at = (uint32_t)at,
               .from = (uint32_t)from,
               .body = -1};
    return d;
}

static int add_scope(Walk *w, ScopeKind kind) {
    Scan *s = w->s;
    ARRAY_ROOM(s->scope, s->n_scopes, s->cap_scopes, 8);
    s->scope[s->n_scopes] =
        (TextScope){.parent = w->scope, .kind = (uint8_t)kind, .depth = w->n_open};
    return s->n_scopes++;
}

/* The token of the innermost open bracket + 1, or 0. */
static uint32_t innermost(const Walk *w) { return w->n_open ? w->open[w->n_open - 1] + 1 : 0; }

/* True if the innermost open bracket is a brace, or there is none: `=` assigns. */
static bool in_statements(const Walk *w) {
    return !w->n_open || w->s->tok[w->open[w->n_open - 1]].kind == TOK_LBRACE;
}

/* fn NAME( ..., module NAME( ..., and fn( ...: the scope of its parameters begins. */
static void enter_fn(Walk *w, size_t i, bool is_module) {
    Scan *s = w->s;
    bool has_name = scan_kind(s, i + 1) == TOK_NAME;
    bool is_method = s->scope[w->scope].kind == SCOPE_MODULE && !is_module;
    Def *d = has_name ? add_def(w,
                                is_module   ? DEF_MODULE
                                : is_method ? DEF_METHOD
                                            : DEF_FN,
                                i + 1, i + 2)
                      : NULL;
    size_t index = s->n_defs - 1;
    int scope = add_scope(w, is_module ? SCOPE_MODULE : SCOPE_FN);
    if (d) s->def[index].body = scope;
    w->scope = scope;
}

/* Leaves the scopes that end at token i. */
static void leave_scopes(Walk *w, size_t i) {
    Scan *s = w->s;
    int kind = s->tok[i].kind;
    for (; w->scope > 0; w->scope = s->scope[w->scope].parent) {
        const TextScope *t = &s->scope[w->scope];
        bool is_outside = tok_closes(kind) && w->n_open < t->depth;
        bool ends_line = (kind == TOK_NEWLINE || kind == TOK_SEMI) && w->n_open <= t->depth;
        bool ends_block = kind == TOK_RBRACE && w->n_open == t->depth && t->is_headed;
        bool ends_arrow = kind == TOK_COMMA && w->n_open == t->depth && t->is_arrow;
        if (!is_outside && !ends_line && !ends_arrow && !(ends_block && !t->is_arrow)) return;
    }
}

/* A name at token i within the parameters of the scope. */
static void param(Walk *w, size_t i) {
    int before = scan_kind(w->s, i - 1);
    bool is_first =
        before == TOK_LPAREN || before == TOK_COMMA || before == TOK_MUL || before == TOK_POW;
    if (is_first && w->n_open == w->s->scope[w->scope].depth + 1) add_def(w, DEF_PARAM, i, 0);
}

/* for a, b in: the names from token i on. */
static void targets(Walk *w, size_t i) {
    const Scan *s = w->s;
    uint32_t only_in = in_statements(w) && scan_begins(s, i - 1) ? 0 : innermost(w);
    for (; scan_kind(s, i) == TOK_NAME || scan_kind(s, i) == TOK_COMMA ||
           scan_kind(s, i) == TOK_LPAREN;
         i++)
        if (scan_kind(s, i) == TOK_NAME) add_def(w, DEF_VARIABLE, i, 0)->only_in = only_in;
}

/* a, b = e, with = at token i; also self.a = e. */
static void assigned(Walk *w, size_t i) {
    const Scan *s = w->s;
    if (!in_statements(w) || scan_kind(s, i - 1) != TOK_NAME) return;
    bool is_list = false;
    if (i >= 3 && scan_kind(s, i - 2) == TOK_DOT) {
        int module = w->scope;
        while (module > 0 && s->scope[module].kind != SCOPE_MODULE)
            module = s->scope[module].parent;
        bool is_self = scan_is(s, i - 3, "self") && scan_kind(s, i - 4) != TOK_DOT;
        if (is_self && module > 0) add_def(w, DEF_FIELD, i - 1, i + 1)->scope = module;
        return;
    }
    for (size_t k = i - 1;
         scan_kind(s, k) == TOK_NAME && (k == 0 || scan_kind(s, k - 1) != TOK_DOT); k -= 2) {
        is_list = is_list || (k > 0 && scan_kind(s, k - 1) == TOK_COMMA);
        add_def(w, DEF_VARIABLE, k, is_list ? 0 : i + 1);
        if (k < 2 || scan_kind(s, k - 1) != TOK_COMMA) break;
    }
}

/* import NAME, import NAME as X, import "file" as X, with `import` at token i. */
static void imported(Walk *w, size_t i) {
    const Scan *s = w->s;
    if (scan_kind(s, i + 2) == TOK_AS && scan_kind(s, i + 3) == TOK_NAME)
        add_def(w, DEF_IMPORT, i + 3, i + 1);
    else if (scan_kind(s, i + 1) == TOK_NAME)
        add_def(w, DEF_IMPORT, i + 1, i + 1);
}

static void brackets(Walk *w, size_t i) {
    Scan *s = w->s;
    int kind = s->tok[i].kind;
    TextScope *t = &s->scope[w->scope];
    if (tok_opens(kind)) {
        if (kind == TOK_LBRACE && w->n_open == t->depth) t->is_headed = true;
        ARRAY_PUSH(w->open, w->n_open, w->cap_open, 16, (uint32_t)i);
    } else if (tok_closes(kind) && w->n_open)
        w->n_open--;
    else if (kind == TOK_ARROW && w->n_open == t->depth && !t->is_headed)
        t->is_headed = t->is_arrow = true;
}

static void token(Walk *w, size_t i) {
    Scan *s = w->s;
    int kind = s->tok[i].kind;
    bool is_member = i > 0 && s->tok[i - 1].kind == TOK_DOT;
    brackets(w, i);
    if (kind == TOK_FN && !is_member)
        enter_fn(w, i, false);
    else if (kind == TOK_MODULE && !is_member && scan_kind(s, i + 1) == TOK_NAME)
        enter_fn(w, i, true);
    else if (kind == TOK_NAME && w->scope > 0 && !s->scope[w->scope].is_headed)
        param(w, i);
    else if (kind == TOK_ASSIGN && i > 0)
        assigned(w, i);
    else if (kind == TOK_FOR && !is_member)
        targets(w, i + 1);
    else if (kind == TOK_IMPORT && !is_member)
        imported(w, i);
    leave_scopes(w, i);
}

static void define(Scan *s) {
    Walk w = {.s = s, .scope = -1};
    w.scope = add_scope(&w, SCOPE_FILE);
    for (size_t i = 0; i <= s->n; i++) {
        if (i == s->n_before) {
            s->here = w.scope;
            s->open = arena_alloc(&s->arena, (w.n_open + 1) * sizeof *s->open);
            if (w.n_open) memcpy(s->open, w.open, w.n_open * sizeof *s->open);
            s->n_open = w.n_open;
        }
        if (i < s->n) token(&w, i);
    }
    free(w.open);
}

/* ---- what is visible ---- */

bool scan_sees(const Scan *s, const Def *d) {
    if (d->kind == DEF_METHOD || d->kind == DEF_FIELD) return false;
    if (d->only_in) {
        bool is_open = false;
        for (size_t i = 0; i < s->n_open; i++) is_open = is_open || s->open[i] + 1 == d->only_in;
        if (!is_open) return false;
    }
    for (int scope = s->here; scope >= 0;) {
        if (d->scope == scope) return true;
        int parent = s->scope[scope].parent;
        bool is_method =
            s->scope[scope].kind == SCOPE_FN && parent > 0 && s->scope[parent].kind == SCOPE_MODULE;
        scope = is_method ? s->scope[parent].parent : parent;
    }
    return false;
}

/* Notes for each name the definition that scan_find gives. */
static void index_names(Scan *s) {
    for (size_t i = 0; i < s->n_defs; i++) {
        Def *d = &s->def[i];
        if (!scan_sees(s, d)) continue;
        const Def *found = scan_find(s, d->name);
        bool is_before = d->at < s->n_before;
        if (!found || (is_before && d->scope >= found->scope))
            map_put(&s->by_name, (uint64_t)(uintptr_t)d->name, d);
    }
}

const Def *scan_find(const Scan *s, const char *interned) {
    return map_get(&s->by_name, (uint64_t)(uintptr_t)interned);
}

int scan_module(const Scan *s) {
    int scope = s->here;
    while (scope > 0 && s->scope[scope].kind != SCOPE_MODULE) scope = s->scope[scope].parent;
    return scope > 0 ? scope : -1;
}

void scan_text(Scan *s, const char *text, size_t n, size_t cursor) {
    *s = (Scan){.src = {.name = "", .text = text, .n = n}};
    s->src.text = arena_strndup(&s->arena, text, n); /* NUL-terminated, as the lexer wants it */
    s->string = lex_all(s, 0, cursor);
    if (s->n && s->tok[s->n - 1].kind == TOK_NEWLINE && s->tok[s->n - 1].at >= cursor) s->n--;
    s->n_before = s->n;
    const Token *last = s->n ? &s->tok[s->n - 1] : NULL;
    size_t line = cursor;
    while (line > (last ? last->at + last->n : 0) && s->src.text[line - 1] != '\n') line--;
    s->in_comment = s->string == SIZE_MAX && memchr(s->src.text + line, '#', cursor - line);
    size_t rest = s->string == SIZE_MAX ? cursor : after_string(s, cursor);
    const char *nl = memchr(s->src.text + cursor, '\n', n - cursor);
    if (s->in_comment) rest = nl ? (size_t)(nl - s->src.text) : n;
    lex_all(s, rest, n);
    define(s);
    index_names(s);
}

void scan_fini(Scan *s) {
    free(s->tok);
    free(s->def);
    free(s->scope);
    map_fini(&s->by_name);
    arena_fini(&s->arena);
    *s = (Scan){0};
}
