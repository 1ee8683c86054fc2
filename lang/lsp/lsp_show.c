/* lsp_show.c: hover, completion and the signature of the call around the cursor.
 * SPDX-License-Identifier: MIT */
#include "lang/lsp/lsp_show.h"
#include "lang/complete/complete.h"
#include "lang/lsp/lsp_edit.h"
#include "lang/lsp/lsp_index.h"
#include "lang/lsp/lsp_names.h"
#include "lang/syntax/lex.h"
#include "runtime/base/utf8.h"
#include <limits.h>
#include <string.h>

/* ---- hover ---- */

/* The line of an offset, without the blanks around it. */
static void put_line(const Doc *d, size_t at, Bytes *out) {
    size_t line = doc_line_of(d, at), from = d->line_at[line];
    size_t to = line + 1 < d->n_lines ? d->line_at[line + 1] : d->text.n;
    while (from < to && strchr(" \t\r\n", d->text.data[from])) from++;
    while (to > from && strchr(" \t\r\n", d->text.data[to - 1])) to--;
    bytes_add(out, d->text.data + from, to - from);
}

/* Describes a variable of the program by its definition. */
static void describe_use(const Doc *d, const Use *def, Bytes *out) {
    if (def->fn) {
        lsp_describe_fn(def->fn, out);
        return;
    }
    bytes_puts(out, "```gt\n");
    put_line(d, def->at, out);
    bytes_puts(out, "\n```\n");
    if (def->is_param)
        bytes_printf(out, "\nparameter of %s\n", def->owner->name[0] ? def->owner->name : "fn");
}

/* Describes x.name: a method of a module of the program, or a field by the line that makes it. */
static bool describe_member(const Doc *d, const Index *x, const char *name, Bytes *out) {
    const Member *m = NULL;
    for (size_t k = 0; k < x->n_members; k++)
        if (x->member[k].name == name && (!m || (x->member[k].fn && !m->fn))) m = &x->member[k];
    if (!m) return false;
    if (m->fn)
        lsp_describe_fn(m->fn, out);
    else {
        bytes_puts(out, "```gt\n");
        put_line(d, m->at, out);
        bytes_printf(out, "\n```\n\nfield of %s\n", m->module->name);
    }
    return true;
}

/* Describes a global name of a file, if it has one. */
static void describe_global(Lsp *l, Doc *d, const char *name, Bytes *out) {
    const Use *def = index_global(doc_index(d, l->in), name);
    if (def) describe_use(d, def, out);
}

bool lsp_hover(Lsp *l, const IoValue *params, Bytes *out) {
    size_t at, from, to;
    char file[PATH_MAX];
    Doc *d = lsp_at(l, params, &at);
    if (!d) return false;
    Index *x = doc_index(d, l->in);
    Bytes text = {0};
    bool ok = doc_word(d, at, &from, &to);
    const char *name = ok ? intern(d->text.data + from, to - from) : "";
    size_t path = ok ? doc_path(d, from) : 0;
    const Use *u = ok && path == from ? index_use(x, at) : NULL;
    const Use *def = u ? index_definition(x, u) : NULL;
    if (def)
        describe_use(d, def, &text);
    else if (ok && path < from && lsp_imported(l, d, from, file))
        ok = lsp_in_file(l, file, name, describe_global, &text) && text.n;
    else if (ok && path < from && describe_member(d, x, name, &text))
        ok = true;
    else
        ok = ok && lsp_describe(l->in, d->text.data + path, to - path, &text);
    if (ok) {
        bytes_puts(out, "{\"contents\":{\"kind\":\"markdown\",\"value\":");
        utf8_put_json(text.data, text.n, out);
        bytes_puts(out, "},\"range\":");
        doc_put_range(d, from, to, l->is_utf8, out);
        bytes_putc(out, '}');
    } else
        bytes_puts(out, "null");
    bytes_fini(&text);
    return true;
}

/* ---- the call around the cursor ---- */

typedef struct Around {
    size_t from, n;      /* the callee's path */
    size_t commas;       /* arguments before the cursor's */
    const char *keyword; /* its name, n_keyword bytes, or NULL */
    size_t n_keyword;
} Around;

enum { MAX_OPEN = 200 };

/* Finds the innermost call whose parentheses are open at an offset. */
static bool call_around(const Doc *d, size_t at, Around *a) {
    Arena arena = {0};
    Tokens t;
    Source src = {.name = "", .text = d->text.data, .n = d->text.n, .first_line = 1};
    lex_range(&src, 0, at, 1, 1, &arena, &t);
    size_t open[MAX_OPEN], n = 0;
    for (size_t i = 0; i < t.n; i++) {
        int kind = t.tok[i].kind;
        if (tok_opens(kind) && n < MAX_OPEN) open[n++] = i;
        if (tok_closes(kind) && n) n--;
    }
    bool found = false;
    while (n && !found) {
        size_t i = open[--n], depth = 0;
        if (t.tok[i].kind == TOK_LBRACE) break;
        if (t.tok[i].kind != TOK_LPAREN || !i || t.tok[i - 1].kind != TOK_NAME) continue;
        if (i > 1 && (t.tok[i - 2].kind == TOK_FN || t.tok[i - 2].kind == TOK_MODULE)) continue;
        const Token *name = &t.tok[i - 1];
        *a = (Around){.from = doc_path(d, name->at)};
        a->n = name->at + name->n - a->from;
        for (size_t k = i + 1; k < t.n; k++) {
            int kind = t.tok[k].kind;
            if (tok_opens(kind)) depth++;
            if (depth && tok_closes(kind)) depth--;
            if (depth) continue;
            if (kind == TOK_COMMA) a->commas++, a->keyword = NULL;
            if (kind == TOK_ASSIGN && t.tok[k - 1].is_word) {
                a->keyword = d->text.data + t.tok[k - 1].at;
                a->n_keyword = t.tok[k - 1].n;
            }
        }
        found = true;
    }
    arena_fini(&arena);
    return found;
}

/* Appends the signature of the callee, the program's own or the language's. */
static bool signature_at(Lsp *l, Doc *d, const Around *a, Bytes *out) {
    const Index *x = doc_index(d, l->in);
    const char *path = d->text.data + a->from, *dot = memrchr(path, '.', a->n);
    const AstFn *fn = NULL;
    if (!dot) {
        const Use *def = index_global(x, intern(path, a->n));
        fn = def ? def->fn : NULL;
    }
    for (size_t k = 0; dot && !fn && k < x->n_members; k++) {
        const char *name = x->member[k].name;
        if (strlen(name) == (size_t)(path + a->n - dot - 1) && !memcmp(name, dot + 1, strlen(name)))
            fn = x->member[k].fn;
    }
    if (!fn) return lsp_signature(l->in, path, a->n, out);
    fn_signature(fn, out);
    return true;
}

typedef struct Part {
    size_t from, to;
} Part;

/* Splits the parameters of a signature; returns their number. */
static size_t parameters(const char *s, Part *part, size_t most) {
    const char *open = strchr(s, '(');
    size_t n = 0, depth = 0, from = open ? (size_t)(open + 1 - s) : strlen(s);
    for (size_t k = from; s[k]; k++) {
        bool ends = !depth && (s[k] == ',' || s[k] == ')');
        if (strchr("([{", s[k])) depth++;
        if (depth && strchr(")]}", s[k])) depth--;
        if (!ends) continue;
        while (from < k && s[from] == ' ') from++;
        if (from < k && n < most) part[n++] = (Part){from, k};
        if (s[k] == ')') break;
        from = k + 1;
    }
    return n;
}

enum { MAX_PARAMETERS = 40 };

bool lsp_signature_help(Lsp *l, const IoValue *params, Bytes *out) {
    size_t at;
    Doc *d = lsp_at(l, params, &at);
    if (!d) return false;
    Around a;
    Bytes s = {0};
    if (!call_around(d, at, &a) || !signature_at(l, d, &a, &s)) {
        bytes_fini(&s);
        bytes_puts(out, "null");
        return true;
    }
    Part part[MAX_PARAMETERS];
    size_t n = parameters(s.data, part, MAX_PARAMETERS), active = a.commas;
    for (size_t k = 0; a.keyword && k < n; k++) {
        const char *p = s.data + part[k].from;
        bool is_longer = part[k].to - part[k].from < a.n_keyword;
        if (!is_longer && !memcmp(p, a.keyword, a.n_keyword) && strchr("=,)", p[a.n_keyword]))
            active = k;
    }
    if (n && active >= n && s.data[part[n - 1].from] == '*') active = n - 1;
    bytes_puts(out, "{\"signatures\":[{\"label\":");
    utf8_put_json(s.data, s.n, out);
    bytes_puts(out, ",\"parameters\":[");
    for (size_t k = 0; k < n; k++) {
        bytes_printf(out, "%s{\"label\":", k ? "," : "");
        utf8_put_json(s.data + part[k].from, part[k].to - part[k].from, out);
        bytes_putc(out, '}');
    }
    bytes_printf(out, "]}],\"activeSignature\":0,\"activeParameter\":%zu}", active);
    bytes_fini(&s);
    return true;
}

/* ---- completion ---- */

/* The protocol's number of a kind of candidate. */
static const uint8_t kind_number[] = {
    [CANDIDATE_ARGUMENT] = 10, [CANDIDATE_VARIABLE] = 6, [CANDIDATE_FIELD] = 5,
    [CANDIDATE_KEY] = 12,      [CANDIDATE_METHOD] = 2,   [CANDIDATE_FUNCTION] = 3,
    [CANDIDATE_MODULE] = 7,    [CANDIDATE_SPACE] = 9,    [CANDIDATE_CONSTANT] = 21,
    [CANDIDATE_KEYWORD] = 14,  [CANDIDATE_SIGNAL] = 23,  [CANDIDATE_DIRECTORY] = 19,
    [CANDIDATE_FILE] = 17,     [CANDIDATE_OPTION] = 10,  [CANDIDATE_COMMAND] = 3};

/* Appends one candidate, which replaces the text from `from` to `at`. order: its place. */
static void put_item(const Lsp *l, const Doc *d, const Candidate *c, size_t order, bool is_near,
                     size_t from, size_t at, Bytes *out) {
    const char *after =
        c->kind == CANDIDATE_ARGUMENT || c->kind == CANDIDATE_DIRECTORY ? c->after : "";
    Bytes text = {0};
    bytes_printf(&text, "%s%s", c->text, after);
    bytes_puts(out, "{\"label\":");
    utf8_put_json(text.data, text.n, out);
    bytes_printf(out, ",\"kind\":%d,\"sortText\":\"%04zu\",\"detail\":", kind_number[c->kind],
                 order);
    utf8_put_json(c->hint, strlen(c->hint), out);
    if (is_near) { /* not begun with what is there, which editors would filter by */
        bytes_puts(out, ",\"filterText\":");
        utf8_put_json(d->text.data + from, at - from, out);
    }
    bytes_puts(out, ",\"textEdit\":{\"range\":");
    doc_put_range(d, from, at, l->is_utf8, out);
    bytes_puts(out, ",\"newText\":");
    utf8_put_json(text.data, text.n, out);
    bytes_puts(out, "}}");
    bytes_fini(&text);
}

bool lsp_completion(Lsp *l, const IoValue *params, Bytes *out) {
    size_t at;
    Doc *d = lsp_at(l, params, &at);
    if (!d) return false;
    Completion c = {0};
    complete_code(l->in, d->text.data, d->text.n, at, &c);
    bool is_cut = c.n > LSP_MAX_ITEMS;
    bytes_printf(out, "{\"isIncomplete\":%s,\"items\":[", is_cut || c.is_near ? "true" : "false");
    for (size_t k = 0; k < c.n && k < LSP_MAX_ITEMS; k++) {
        if (k) bytes_putc(out, ',');
        put_item(l, d, &c.item[k], k, c.is_near, c.start, at, out);
    }
    bytes_puts(out, "]}");
    completion_fini(&c);
    return true;
}
