/* parse.c: the parser's tools: access to tokens, errors, E_INCOMPLETE, nodes, and parse_program.
 * The grammar is in parse_expr.c and parse_stmt.c, hints about syntax of other languages in
 * parse_hint.c.
 * SPDX-License-Identifier: MIT */
#include "lang/syntax/parse.h"
#include "lang/syntax/resolve.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SOURCE_BYTES (1u << 30) /* token offsets are 32 bits */

/* ---- tokens ---- */

const Token *parse_peek(Parser *p) {
    while (p->skip_newlines && p->t.tok[p->i].kind == TOK_NEWLINE) p->i++;
    return &p->t.tok[p->i];
}

const Token *parse_peek2(Parser *p) {
    const Token *t = parse_peek(p);
    if (t->kind == TOK_END || t->kind == TOK_BAD) return t;
    for (t++; p->skip_newlines && t->kind == TOK_NEWLINE;) t++;
    return t;
}

const Token *parse_take(Parser *p) {
    const Token *t = parse_peek(p);
    p->before = p->i;
    if (t->kind != TOK_END && t->kind != TOK_BAD) p->i++;
    return t;
}

bool parse_accept(Parser *p, int kind) {
    if (!parse_at(p, kind)) return false;
    parse_take(p);
    return true;
}

const Token *parse_expect(Parser *p, int kind, const char *where) {
    if (parse_at(p, kind)) return parse_take(p);
    char what[128];
    bool quoted = kind > TOK_FSTRING;
    snprintf(what, sizeof what, quoted ? "'%s'%s%s" : "a %s%s%s", lex_text(kind),
             where[0] ? " " : "", where);
    parse_unexpected(p, what);
}

bool parse_is(const Parser *p, const Token *t, const char *word) {
    return t->is_word && strlen(word) == t->n && !memcmp(p->src->text + t->at, word, t->n);
}

const char *parse_name(Parser *p, const Token *t) { return intern(p->src->text + t->at, t->n); }

/* ---- failing ---- */

static _Noreturn void give_up(Parser *p) { longjmp(p->fail, 1); }

void parse_fail(Parser *p, Span at, const char *hint, const char *format, ...) {
    char what[1024];
    FORMAT_INTO(what, format);
    *p->e = (LangError){.kind = E_SYNTAX};
    error_at(p->e, at, "%s", what);
    if (hint && hint[0]) error_hint(p->e, "%s", hint);
    give_up(p);
}

void parse_warn(Parser *p, Span at, const char *hint, const char *format, ...) {
    if (!p->warn) return;
    char what[1024];
    FORMAT_INTO(what, format);
    LangError w = {.kind = E_SYNTAX};
    error_at(&w, at, "%s", what);
    if (hint && hint[0]) error_hint(&w, "%s", hint);
    p->warn(p->warn_ctx, &w);
}

/* The number of the last line that is not blank. */
static uint32_t last_line(const Parser *p) {
    size_t n = p->src->n;
    uint32_t line = p->t.tok[p->t.n - 1].line;
    while (n > 0 && (p->src->text[n - 1] == '\n' || p->src->text[n - 1] == ' ')) {
        if (p->src->text[--n] == '\n' && line > 1) line--;
    }
    return line;
}

/* Writes the open blocks from k on to text: " (2 deep: for:14, if:16)". */
static void list_open(const Parser *p, int k, char *text, size_t size) {
    size_t n = (size_t)snprintf(text, size, " (%d deep: ", p->n_open - k);
    for (int first = k; k < p->n_open && n + 32 < size; k++)
        n += (size_t)snprintf(text + n, size - n, "%s%s:%u", k > first ? ", " : "", p->open[k].what,
                              p->open[k].line);
    snprintf(text + n, size - n, k < p->n_open ? ", …)" : ")");
}

static _Noreturn void incomplete(Parser *p) {
    *p->e = (LangError){.kind = E_INCOMPLETE};
    uint32_t line = last_line(p);
    if (p->n_open == 0) {
        const Token *t = &p->t.tok[p->before];
        p->open_with = 0;
        error_at(p->e, lex_span(p->src, t), "the text ends after '%.*s'",
                 (int)(t->n < 60 ? t->n : 60), p->src->text + t->at);
        give_up(p);
    }
    const Opener *o = &p->open[p->n_open - 1];
    p->open_with = p->src->text[o->at.at];
    Span end = {p->src, line, 0, 0};
    if (!o->what) {
        error_at(p->e, end, "'%c' opened at %s:%u:%u is never closed", p->open_with, p->src->name,
                 o->at.line, o->at.col);
        error_label(p->e, lex_span(p->src, &o->at), "still open at end of file");
        give_up(p);
    }
    int k = p->n_open - 1; /* then the outermost of the innermost run of open blocks */
    while (k > 0 && p->open[k - 1].what) k--;
    char list[400] = "";
    if (k < p->n_open - 1)
        list_open(p, k, list, sizeof list > sizeof p->e->label[0].text - 32 ? 128 : sizeof list);
    error_at(p->e, end, "block opened at %s:%u is never closed", p->src->name, p->open[k].at.line);
    error_label(p->e, lex_span(p->src, &p->open[k].at), "still open at end of file%s", list);
    give_up(p);
}

void parse_unexpected(Parser *p, const char *expected) {
    const Token *t = parse_peek(p);
    if (t->kind == TOK_BAD) {
        *p->e = *p->t.error;
        if (p->e->kind == E_INCOMPLETE) p->open_with = p->src->text[t->at];
        give_up(p);
    }
    Span at = lex_span(p->src, t);
    if (at.len == 0) at.len = 1;
    if (t->kind == TOK_END && p->in_fstring)
        parse_fail(p, at, "a brace itself is written {{", "expected %s before the field ends",
                   expected);
    if (t->kind == TOK_END) incomplete(p);
    const Token *word = t->kind == TOK_RESERVED ? t : NULL;
    const char *hint = parse_hint(p, t, &word);
    if (word)
        parse_fail(p, lex_span(p->src, word), hint, "'%.*s' is not a word of this language",
                   (int)(word->n < 40 ? word->n : 40), p->src->text + word->at);
    if (t->kind == TOK_NEWLINE)
        parse_fail(p, at, hint, "expected %s before the end of the line", expected);
    parse_fail(p, at, hint, "expected %s, but found '%.*s'", expected, at.len < 40 ? at.len : 40,
               p->src->text + t->at);
}

void parse_enter(Parser *p) {
    if (++p->depth > MAX_PARSE_DEPTH)
        parse_fail(p, lex_span(p->src, parse_peek(p)), "give the inner parts names",
                   "nested more than %d deep", MAX_PARSE_DEPTH);
}

void parse_open(Parser *p, const Token *bracket, const char *what, uint32_t line) {
    if (p->n_open == (int)(sizeof p->open / sizeof *p->open))
        parse_fail(p, lex_span(p->src, bracket), NULL, "nested more than %d deep", MAX_PARSE_DEPTH);
    p->open[p->n_open++] = (Opener){*bracket, what, line, 0};
}

void parse_done(Parser *p, size_t from, size_t to) {
    if (!p->keeps_done || p->in_fstring) return;
    while (p->n_done && p->done[p->n_done - 1].from >= from) p->n_done--;
    if (to <= from) return;
    ARRAY_PUSH(p->done, p->n_done, p->done_cap, 16, (Done){from, to});
}

bool parse_comma(Parser *p) {
    if (!parse_accept(p, TOK_COMMA)) return false;
    if (!p->n_open) return true;
    size_t comma = p->t.tok[p->before].at, *second = &p->open[p->n_open - 1].second;
    if (!*second) *second = comma + 1;
    parse_done(p, *second, parse_peek(p)->at);
    return true;
}

/* ---- nodes ---- */

void parse_push(Parser *p, Node *n) { ARRAY_PUSH(p->scratch, p->n_scratch, p->scratch_cap, 64, n); }

/* The span from token `first` to the last token taken, cut at the end of first's line. */
static Span stretch(const Parser *p, size_t first) {
    const Token *a = &p->t.tok[first], *b = a;
    Span s = lex_span(p->src, a);
    for (const Token *t = a; t <= &p->t.tok[p->before] && t->line == a->line; t++)
        if (t->kind != TOK_NEWLINE) b = t;
    if (b > a) {
        size_t n = (size_t)lex_span(p->src, b).len + (b->at - a->at);
        s.len = n > 0xffff ? 0xffff : (uint16_t)n;
    }
    return s;
}

Node *parse_node(Parser *p, NodeKind kind, size_t first) {
    Node *n = arena_zalloc(p->arena, sizeof *n);
    n->kind = (uint8_t)kind;
    n->height = 1;
    n->at = lex_span(p->src, &p->t.tok[first]);
    n->whole = n->at;
    return n;
}

static unsigned height_of(const Node *n) { return n ? n->height : 0; }

Node *parse_finish(Parser *p, Node *n, size_t first, size_t mark) {
    size_t count = p->n_scratch - mark;
    unsigned height = n->height;
    n->whole = stretch(p, first);
    if (count) {
        n->kid = arena_alloc(p->arena, count * sizeof *n->kid);
        memcpy(n->kid, p->scratch + mark, count * sizeof *n->kid);
        n->n_kids = (uint32_t)count;
        p->n_scratch = mark;
    }
    for (size_t k = 0; k < count; k++)
        if (height_of(n->kid[k]) + 1 > height) height = height_of(n->kid[k]) + 1;
    if (height > MAX_TREE_HEIGHT)
        parse_fail(p, n->at, "give the parts names, or use a list and a loop",
                   "the expression is more than %d operations deep", MAX_TREE_HEIGHT);
    n->height = (uint16_t)height;
    return n;
}

/* ---- the whole text ---- */

void program_free(Program **p) {
    if (!*p) return;
    Arena a = (*p)->arena;
    *p = NULL;
    arena_fini(&a);
}

/* The text of an unclosed string in three quotes may go up to its last line, unless it has fields:
 * its end does not depend on it. */
static void string_done(Parser *p) {
    const Token *t = &p->t.tok[p->t.n - 1];
    const char *s = p->src->text;
    if (t->kind != TOK_BAD || p->t.error->kind != E_INCOMPLETE) return;
    size_t body = t->at + t->n, line = p->src->n;
    while (line > body && s[line - 1] != '\n') line--;
    if (!memchr(s + t->at, '{', line - t->at)) parse_done(p, body, line);
}

/* Leaves the lines of text that are done out; a newline takes their place. What stays keeps the
 * indent of its line. */
static void leave_out(const Parser *p, Bytes *text) {
    Bytes rest = {0};
    size_t at = 0;
    for (size_t k = 0; k < p->n_done; k++) {
        const Done *d = &p->done[k];
        size_t line = d->to;
        while (line > d->from && text->data[line - 1] != '\n') line--;
        if (line == d->from) continue; /* within a line */
        bytes_add(&rest, text->data + at, d->from - at);
        bytes_putc(&rest, '\n');
        bytes_add(&rest, text->data + line, strspn(text->data + line, " \t"));
        at = d->to;
    }
    bytes_add(&rest, text->data + at, text->n - at);
    bytes_fini(text);
    *text = rest;
}

static void parser_free(Parser *p) {
    free(p->scratch);
    free(p->done);
    free(p->e);
    arena_fini(&p->work);
    free(p);
}

/* rest: the text of src, for parse_open_text; or NULL. */
static Program *parse(Source *src, WarnFn warn, void *ctx, Bytes *rest, char *open_with,
                      LangError *e) {
    if (open_with) *open_with = 0;
    if (src->n > MAX_SOURCE_BYTES) {
        e->kind = E_SYNTAX;
        error_set(e, "%s is larger than 1 GiB: that is not a program", src->name);
        return NULL;
    }
    Arena arena = {0};
    Program *prog = arena_zalloc(&arena, sizeof *prog);
    Parser *p = xmalloc(sizeof *p);
    LangError *found = xcalloc(1, sizeof *found);
    Arena *keep = &prog->arena; /* takes over the arena's blocks: the Program is in its own arena */
    *keep = arena;
    *p = (Parser){.src = src, .arena = keep, .e = found, .warn = warn, .warn_ctx = ctx};
    p->keeps_done = rest != NULL;
    if (setjmp(p->fail)) {
        if (open_with) *open_with = p->open_with;
        *e = *found;
        if (rest && e->kind == E_INCOMPLETE) {
            string_done(p);
            leave_out(p, rest);
        }
        parser_free(p);
        program_free(&prog);
        return NULL;
    }
    lex_source(src, &p->work, &p->t);
    size_t mark = parse_mark(p);
    Node *body = parse_node(p, N_BLOCK, 0);
    parse_statements(p, TOK_END);
    p->before = p->t.n - 1;
    parse_finish(p, body, 0, mark);
    prog->src = src;
    prog->body = body;
    if (!rest && !resolve_program(prog, warn, ctx, found)) give_up(p);
    parser_free(p);
    return prog;
}

Program *parse_program(Source *src, WarnFn warn, void *ctx, char *open_with, LangError *e) {
    return parse(src, warn, ctx, NULL, open_with, e);
}

bool parse_open_text(Bytes *text, char *open_with) {
    LangError e = {0};
    Source src = {.name = "", .text = text->data, .n = text->n, .first_line = 1};
    Program *p = parse(&src, NULL, NULL, text, open_with, &e);
    bool is_open = !p && e.kind == E_INCOMPLETE;
    program_free(&p);
    return is_open;
}
