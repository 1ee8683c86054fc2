/* fmt.c: lays out tokens in lines (contract in fmt.h). One pass over the tokens; the text between
 * two of them gives the author's line breaks, blank lines and comments. A line break stays where it
 * is; the pass decides the indentation of the next line:
 *
 *   a statement      the block's, which is 4 more than that of the line that opens the block
 *   in brackets      below the first token in the bracket if the author aligned it there, else 4
 *                    more than the line that opens the bracket; its closing bracket: as that line.
 *                    After an operator: 4 more than the element, if the author indented it
 *   after operators  below the first token after `=`, `return` ... if aligned there, else 4 more
 *                    than the statement; 8 more if a block follows
 *
 * fmt_space.c decides the blanks within a line, fmt_lines.c aligns the comments at ends of lines.
 * SPDX-License-Identifier: MIT */
#include "lang/fmt/fmt_space.h"
#include "runtime/base/utf8.h"
#include <stdlib.h>
#include <string.h>

/* ---- which braces begin blocks ---- */

typedef struct Finder {
    const Tokens *t;
    bool *is_block;
} Finder;

static void mark_block(const Finder *f, Span at) {
    size_t low = 0, high = f->t->n;
    while (low < high) {
        size_t k = (low + high) / 2;
        const Token *t = &f->t->tok[k];
        if (t->line < at.line || (t->line == at.line && t->col < at.col))
            low = k + 1;
        else
            high = k;
    }
    if (low < f->t->n && f->t->tok[low].kind == TOK_LBRACE && f->t->tok[low].line == at.line)
        f->is_block[low] = true;
}

static void mark_blocks(const Finder *f, const Node *n) {
    if (!n) return;
    if (n->kind == N_BLOCK) mark_block(f, n->at);
    if (n->kind == N_FN || n->kind == N_FN_STMT || n->kind == N_MODULE) {
        for (int k = 0; k < n->fn->n_params; k++) mark_blocks(f, n->fn->param[k].dflt);
        mark_blocks(f, n->fn->body);
    }
    for (uint32_t k = 0; k < n->n_kids; k++) mark_blocks(f, n->kid[k]);
}

/* ---- columns ---- */

/* Moves a place of the text s on to offset `at` and returns its column, in code points from 0. Goes
 * back only if need be, so that long lines are not counted again for each token. */
static int column_of(Place *p, const char *s, size_t at) {
    if (at < p->at) *p = (Place){0};
    const char *line = at > p->at ? memrchr(s + p->at, '\n', at - p->at) : NULL;
    size_t from = line ? (size_t)(line + 1 - s) : p->at;
    p->column = (line ? 0 : p->column) + (int)utf8_count(s + from, at - from);
    p->at = at;
    return p->column;
}

static int column_in(Fmt *f, size_t at) { return column_of(&f->place_in, f->src->text, at); }

/* The column of the end of the output. */
static int column_out(Fmt *f) {
    if (f->place_out.at < f->line_at) f->place_out = (Place){f->line_at, 0};
    return column_of(&f->place_out, f->code.data, f->code.n);
}

/* ---- lines ---- */

static Open *innermost(Fmt *f) { return &f->open[f->n_open - 1]; }

static FmtLine *begin_line(Fmt *f, int indent) {
    ARRAY_ROOM(f->line, f->n_lines, f->lines_cap, 64);
    f->line_at = f->code.n;
    f->line[f->n_lines] = (FmtLine){.at = f->code.n};
    for (int k = 0; k < indent; k++) bytes_putc(&f->code, ' ');
    f->indent = indent;
    return &f->line[f->n_lines++];
}

static void end_line(Fmt *f) {
    if (f->n_lines) f->line[f->n_lines - 1].n = f->code.n - f->line[f->n_lines - 1].at;
}

static void blank_line(Fmt *f) {
    end_line(f);
    begin_line(f, 0);
    f->indent = 0;
}

/* Returns the indentation of a line that begins at offset `at` of the source. closes: with the
 * bracket that closes the innermost one. */
static int indent_of(Fmt *f, size_t at, bool closes) {
    Open *o = innermost(f);
    if (closes) return o->base;
    if (o->kind == OPEN_BLOCK && f->is_fresh) return o->inner;
    int column = column_in(f, at);
    if (o->align_in >= 0 && o->align_in == column) return o->align_out;
    bool goes_on = f->prev && f->prev->kind != TOK_COMMA && !tok_opens(f->prev->kind);
    int hang = o->kind != OPEN_BLOCK ? o->base + 4 : o->statement + (f->is_header ? 8 : 4);
    /* What is deeper than the element already must stay so: a second run sees it there. */
    if (goes_on && o->part_in >= 0 && (column > o->part_in || hang > o->part_out))
        return o->part_out + 4;
    return hang;
}

/* ---- comments and blank lines between tokens ---- */

static void trailing_comment(Fmt *f, size_t at, size_t n) {
    FmtLine *l = &f->line[f->n_lines - 1];
    size_t blanks = at;
    while (blanks > 0 && (f->src->text[blanks - 1] == ' ' || f->src->text[blanks - 1] == '\t'))
        blanks--;
    l->comment = f->src->text + at;
    l->n_comment = n;
    l->column = column_in(f, at);
    l->gap = (int)(at - blanks);
}

/* A comment that fills its line: below the comment at the end of the line before, or as a
 * statement. */
static void whole_comment(Fmt *f, size_t at, size_t n, int newlines) {
    const FmtLine *before = f->n_lines ? &f->line[f->n_lines - 1] : NULL;
    bool goes_on = newlines == 1 && before && before->comment && before->column == column_in(f, at);
    end_line(f);
    FmtLine *l = begin_line(f, goes_on ? 0 : indent_of(f, at, false));
    if (goes_on)
        trailing_comment(f, at, n);
    else {
        bytes_add(&f->code, f->src->text + at, n);
        l->is_comment = true;
    }
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Lays out the comments from offset `from` to `to`. Returns the number of line breaks after the
 * last one, or -1 if there is no line break at all. */
static int between(Fmt *f, size_t from, size_t to) {
    const char *s = f->src->text;
    int newlines = 0;
    bool is_first = f->n_lines == 0, has_break = is_first;
    for (size_t at = from; at < to; at++) {
        if (s[at] == '\n') {
            newlines++;
            has_break = true;
        }
        if (s[at] != '#') continue;
        size_t end = at;
        while (end < to && s[end] != '\n') end++;
        size_t n = end - at;
        while (n && is_blank(s[at + n - 1])) n--;
        if (!has_break)
            trailing_comment(f, at, n);
        else {
            bool opens = f->prev && f->prev->kind == TOK_LBRACE && f->line[f->n_lines - 1].opens;
            if (newlines > 1 && !is_first && !opens) blank_line(f);
            whole_comment(f, at, n, newlines);
        }
        is_first = false;
        newlines = 0;
        at = end - 1;
    }
    return has_break ? newlines : -1;
}

/* ---- tokens ---- */

static void open_bracket(Fmt *f, const Token *t, bool is_block) {
    Open *around = innermost(f);
    Open o = {.kind = is_block                  ? OPEN_BLOCK
                      : t->kind == TOK_LPAREN   ? OPEN_PAREN
                      : t->kind == TOK_LBRACKET ? OPEN_BRACKET
                                                : OPEN_MAP,
              .base = f->indent,
              .align_in = -1,
              .part_in = -1};
    if (is_block && around->kind == OPEN_BLOCK) o.base = around->statement;
    o.inner = o.statement = o.base + 4;
    ARRAY_PUSH(f->open, f->n_open, f->open_cap, 16, o);
    if (!is_block) f->aligns = true;
    f->line[f->n_lines - 1].opens = is_block;
    if (is_block) f->is_fresh = true;
}

/* Remembers where the statement's lines may be aligned. */
static void anchor(Fmt *f, const Token *t) {
    Open *o = innermost(f);
    bool is_set = t->kind == TOK_ASSIGN || (t->kind >= TOK_ADD_SET && t->kind <= TOK_SHR_SET);
    bool is_word = t->kind == TOK_RETURN || t->kind == TOK_ASSERT || t->kind == TOK_IF ||
                   t->kind == TOK_ELIF || t->kind == TOK_WHILE;
    if (o->kind != OPEN_BLOCK) return;
    if (is_set || (is_word && f->begins_statement)) f->aligns = true;
}

static void begin_statement(Fmt *f, const Token *t) {
    Open *o = innermost(f);
    o->statement = f->indent;
    o->align_in = o->part_in = -1;
    f->is_fresh = false;
    f->begins_statement = true;
    f->is_header =
        t->kind == TOK_IF || t->kind == TOK_ELIF || t->kind == TOK_WHILE || t->kind == TOK_FOR;
}

static void put_token(Fmt *f, size_t i) {
    const Token *t = &f->t->tok[i];
    size_t from = f->prev ? f->prev->at + f->prev->n : 0;
    bool closes = tok_closes(t->kind) && f->n_open > 1;
    bool was_map = closes && innermost(f)->kind == OPEN_MAP;
    int newlines = between(f, from, t->at);
    if (newlines < 0) {
        int n = fmt_blanks(f, i);
        for (int k = 0; k < n; k++) bytes_putc(&f->code, ' ');
    } else {
        bool opens =
            f->prev && f->n_lines && f->line[f->n_lines - 1].opens && f->prev->kind == TOK_LBRACE;
        bool ends = closes && innermost(f)->kind == OPEN_BLOCK;
        if (newlines > 1 && f->n_lines && !opens && !ends) blank_line(f);
        end_line(f);
        begin_line(f, indent_of(f, t->at, closes));
    }
    if (f->aligns) {
        Open *o = innermost(f);
        o->align_in = newlines < 0 ? column_in(f, t->at) : -1;
        o->align_out = column_out(f);
        f->aligns = false;
    }
    if (f->prev && (f->prev->kind == TOK_COMMA || tok_opens(f->prev->kind)) && !closes) {
        innermost(f)->part_in = column_in(f, t->at);
        innermost(f)->part_out = column_out(f);
    }
    f->begins_statement = false;
    if (!closes && innermost(f)->kind == OPEN_BLOCK && f->is_fresh) begin_statement(f, t);
    fmt_note_role(f, i, was_map);
    if (closes) f->n_open--, f->is_fresh = false;
    bytes_add(&f->code, f->src->text + t->at, t->n);
    if (tok_opens(t->kind))
        open_bracket(f, t, f->is_block[i]);
    else
        anchor(f, t);
    if (t->kind == TOK_SEMI && innermost(f)->kind == OPEN_BLOCK) f->is_fresh = true;
    f->prev = t;
}

static void lay_out(Fmt *f) {
    Open file = {.kind = OPEN_BLOCK, .align_in = -1, .part_in = -1};
    ARRAY_PUSH(f->open, f->n_open, f->open_cap, 16, file);
    f->is_fresh = true;
    for (size_t i = 0; i < f->t->n; i++) {
        int kind = f->t->tok[i].kind;
        if (kind == TOK_NEWLINE && innermost(f)->kind == OPEN_BLOCK) f->is_fresh = true;
        if (kind != TOK_NEWLINE && kind != TOK_END) put_token(f, i);
    }
    size_t from = f->prev ? f->prev->at + f->prev->n : 0;
    if (from == 0 && f->src->n >= 3 && !memcmp(f->src->text, "\xef\xbb\xbf", 3)) from = 3;
    f->is_fresh = true;
    between(f, from, f->src->n);
    end_line(f);
}

/* ---- the result ---- */

/* Appends all that the formatter must keep: tokens, comments and the tree. */
static bool summary_of(Source *src, Bytes *out, LangError *e) {
    Program *p = parse_program(src, NULL, NULL, NULL, e);
    if (!p) return false;
    Arena arena = {0};
    Tokens t;
    lex_source(src, &arena, &t);
    size_t from = 0;
    for (size_t i = 0; i < t.n; i++) {
        const Token *k = &t.tok[i];
        for (const char *s = src->text + from, *end = src->text + k->at; s < end; s++) {
            if (*s != '#') continue;
            size_t n = 0;
            while (s + n < end && s[n] != '\n') n++;
            const char *next = s + n;
            while (n && is_blank(s[n - 1])) n--;
            bytes_add(out, s, n);
            bytes_putc(out, '\n');
            s = next;
        }
        bytes_printf(out, "%d ", k->kind);
        if (k->kind != TOK_NEWLINE) bytes_add(out, src->text + k->at, k->n);
        if (k->kind != TOK_NEWLINE) from = k->at + k->n;
    }
    ast_print(p->body, out);
    arena_fini(&arena);
    program_free(&p);
    return true;
}

static bool is_kept(Source *src, const Bytes *text, LangError *e) {
    Source new = {.name = src->name, .text = text->n ? text->data : "", .n = text->n};
    Bytes a = {0}, b = {0};
    LangError ignored = {0};
    bool ok = summary_of(src, &a, e);
    if (ok && (!summary_of(&new, &b, &ignored) || a.n != b.n || memcmp(a.data, b.data, a.n))) {
        *e = (LangError){.kind = E_RUN};
        error_set(e, "%.200s: the formatted text would not be the same program; it is left alone",
                  src->name);
        error_hint(e, "this is a bug of gtsh --fmt: please report it with the file");
        ok = false;
    }
    bytes_fini(&a);
    bytes_fini(&b);
    return ok;
}

bool fmt_source(Source *src, Bytes *out, LangError *e) {
    Arena arena = {0};
    Tokens t;
    Program *p = parse_program(src, NULL, NULL, NULL, e);
    if (!p) return false;
    lex_source(src, &arena, &t);
    Fmt f = {.src = src, .t = &t, .is_block = arena_zalloc(&arena, t.n)};
    Finder finder = {&t, f.is_block};
    for (uint32_t k = 0; k < p->body->n_kids; k++) mark_blocks(&finder, p->body->kid[k]);
    lay_out(&f);
    Bytes text = {0};
    fmt_join(&f, &text);
    bool ok = is_kept(src, &text, e);
    if (ok) bytes_add(out, text.data, text.n);
    bytes_fini(&text);
    bytes_fini(&f.code);
    free(f.line);
    free(f.open);
    program_free(&p);
    arena_fini(&arena);
    return ok;
}
