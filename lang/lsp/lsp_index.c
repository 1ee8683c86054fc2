/* lsp_index.c: parses a document and lists the uses of its variables.
 *
 * A text being edited seldom parses as a whole. Where it does not, the line of the error is blanked
 * out, or, if that does not help, the top-level statement around it, and the rest is parsed again:
 * so later errors are found, and names are known while a line is typed.
 * SPDX-License-Identifier: MIT */
#include "lang/lsp/lsp_index.h"
#include "lang/eval/import.h"
#include "lang/lsp/lsp_state.h"
#include "lang/syntax/lex.h"
#include "runtime/base/words.h"
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REPAIRS = 20 };

static uint64_t key_of(const char *interned) { return (uint64_t)(uintptr_t)interned; }

/* ---- findings ---- */

static void add_finding(Index *x, size_t from, size_t to, bool is_warning, const char *text,
                        const char *hint) {
    if (x->n_findings >= LSP_MAX_FOUND) return;
    Bytes b = {0};
    error_words(text, true, &b);
    if (hint && *hint) {
        bytes_puts(&b, "\nhint: ");
        error_words(hint, true, &b);
    }
    ARRAY_PUSH(x->finding, x->n_findings, x->findings_cap, 8,
               (Finding){from, to > from ? to : from + 1, is_warning, b.data});
}

typedef struct Reporter {
    Doc *d;
    Index *x;
} Reporter;

static void report(const Reporter *r, const LangError *e, bool is_warning) {
    size_t from = doc_at(r->d, e->at), len = e->at.len;
    const char *hint = e->hint;
    for (int k = 0; k < e->n_labels && !*hint; k++) hint = e->label[k].text;
    if (!e->at.col && e->n_labels) { /* only the line is known: where the bracket was opened */
        from = doc_at(r->d, e->label[0].at);
        len = e->label[0].at.len;
    }
    add_finding(r->x, from, from + len, is_warning, e->what, hint);
}

static void on_warning(void *ctx, const LangError *w) { report(ctx, w, true); }

/* ---- parsing what can be parsed ---- */

static bool begins_statement(const char *s) {
    if (!*s || strchr(" \t\r\n})]#", *s)) return false;
    return strncmp(s, "else", 4) && strncmp(s, "elif", 4);
}

static void blank(char *s, size_t from, size_t to) {
    for (size_t k = from; k < to; k++)
        if (s[k] != '\n') s[k] = ' ';
}

/* The offsets of line `line` and, if is_statement, of the top-level statement around it. */
static void stretch(const Doc *d, size_t line, bool is_statement, size_t *from, size_t *to) {
    size_t last = line + 1;
    while (is_statement && line > 0 && !begins_statement(d->text.data + d->line_at[line])) line--;
    while (is_statement && last < d->n_lines && !begins_statement(d->text.data + d->line_at[last]))
        last++;
    *from = d->line_at[line];
    *to = last < d->n_lines ? d->line_at[last] : d->text.n;
}

static size_t bad_line(const Doc *d, const LangError *e) {
    Span at = e->kind == E_INCOMPLETE && e->n_labels ? e->label[0].at : e->at;
    size_t line = at.line ? at.line - 1 : 0;
    return line < d->n_lines ? line : d->n_lines - 1;
}

/* Names of a stretch that is blanked out may be defined in it. */
static void note_names(Index *x, const Doc *d, size_t from, size_t to) {
    const char *s = d->text.data;
    for (size_t k = from; k < to; k++) {
        size_t n = 0;
        while (k + n < to && (isalnum((unsigned char)s[k + n]) || s[k + n] == '_')) n++;
        if (n) map_put(&x->defined, key_of(intern(s + k, n)), x);
        k += n;
    }
}

/* True if the text parses without line `line`, up to offset `end` at least; then the line stays
 * blank. */
static bool parses_without(Index *x, const Doc *d, char *text, size_t line, size_t end) {
    size_t from, to;
    LangError next = {0};
    stretch(d, line, false, &from, &to);
    char *kept = xmalloc(to - from + 1);
    memcpy(kept, text + from, to - from);
    blank(text, from, to);
    Program *p = parse_program(&x->src, NULL, NULL, NULL, &next);
    bool ok = p || d->line_at[bad_line(d, &next)] >= end;
    if (ok)
        note_names(x, d, from, to);
    else
        memcpy(text + from, kept, to - from);
    program_free(&p);
    free(kept);
    return ok;
}

/* Blanks out what e is about: its line; or, if it is about a line's first word, the line before,
 * which is perhaps unfinished; or all of the top-level statement. */
static void repair(Index *x, const Doc *d, char *text, const LangError *e) {
    size_t line = bad_line(d, e), from, to, before = line, at = d->line_at[line];
    bool is_string = e->kind == E_INCOMPLETE && !strncmp(e->what, "this string", 11);
    stretch(d, line, true, &from, &to);
    if (is_string) {
        note_names(x, d, at, d->text.n);
        blank(text, at, d->text.n);
        return;
    }
    bool is_first = strspn(text + at, " \t") + 1 >= (e->at.col ? e->at.col : 1u);
    while (before > 0 && d->line_at[before] > from && is_first) {
        const char *s = text + d->line_at[--before];
        if (s[strspn(s, " \t\r")] != '\n') break;
    }
    if (before < line && parses_without(x, d, text, before, to)) return;
    if (parses_without(x, d, text, line, to)) return;
    note_names(x, d, from, to);
    blank(text, from, to);
}

/* A bracket that is open where a top-level statement begins is the cause of the error behind it: e
 * becomes an error about the bracket. */
static void blame_bracket(const Index *x, const Doc *d, LangError *e) {
    size_t from, to, open = 0, n = 0;
    Arena arena = {0};
    Tokens t;
    stretch(d, bad_line(d, e), true, &from, &to);
    lex_range(&x->src, 0, from, 1, 1, &arena, &t);
    for (size_t i = 0; i < t.n; i++) {
        int kind = t.tok[i].kind;
        bool opens = kind == TOK_LPAREN || kind == TOK_LBRACKET;
        if (opens && n++ == 0) open = i;
        if ((kind == TOK_RPAREN || kind == TOK_RBRACKET) && n) n--;
    }
    if (n) {
        const Token *b = &t.tok[open];
        *e = (LangError){.kind = E_SYNTAX};
        error_at(e, lex_span(&x->src, b), "'%c' is never closed", x->src.text[b->at]);
    }
    arena_fini(&arena);
}

static void parse(Doc *d, Index *x) {
    char *text = xmalloc(d->text.n + 1);
    memcpy(text, d->text.data, d->text.n + 1);
    x->src = (Source){.name = d->path, .text = text, .n = d->text.n, .first_line = 1};
    Reporter r = {d, x};
    for (int k = 0; k < MAX_REPAIRS && !x->prog; k++) {
        LangError e = {0};
        x->prog = parse_program(&x->src, NULL, NULL, NULL, &e);
        if (x->prog) break;
        blame_bracket(x, d, &e);
        report(&r, &e, false);
        repair(x, d, text, &e);
    }
    if (x->prog && !x->n_findings) { /* again, for the warnings */
        LangError e = {0};
        program_free(&x->prog);
        x->prog = parse_program(&x->src, on_warning, &r, NULL, &e);
    }
}

/* ---- uses ---- */

typedef struct Walk {
    const Doc *d;
    Index *x;
    const AstFn *module; /* whose body or method is walked, or NULL */
} Walk;

static void walk(Walk *w, const AstFn *fn, const Node *n);

static const AstFn *outer_of(const Walk *w, const AstFn *fn) {
    return fn->outer ? fn->outer : w->x->prog->top;
}

/* Adds a use of `name` by a node of function fn. */
static Use *add_use(Walk *w, const AstFn *fn, size_t at, const char *name, int scope,
                    int32_t slot) {
    Index *x = w->x;
    const AstFn *owner = scope == SCOPE_GLOBAL ? NULL : fn;
    if (scope == SCOPE_OUTER) {
        bool is_local = false;
        for (owner = fn; !is_local && slot >= 0 && slot < owner->n_captures;) {
            is_local = owner->capture[slot].from_local;
            slot = owner->capture[slot].slot;
            owner = outer_of(w, owner);
        }
    }
    ARRAY_ROOM(x->use, x->n_uses, x->uses_cap, 64);
    Use *u = &x->use[x->n_uses++];
    *u = (Use){.at = at, .name = name, .owner = owner, .slot = owner ? slot : -1};
    return u;
}

static void define(Walk *w, Use *u) {
    u->is_def = true;
    if (!u->owner) map_put(&w->x->defined, key_of(u->name), w->x);
}

static void add_member(Walk *w, size_t at, const char *name, const AstFn *fn) {
    Index *x = w->x;
    ARRAY_PUSH(x->member, x->n_members, x->members_cap, 16, (Member){at, name, w->module, fn});
}

/* The target of an assignment or loop. */
static void target(Walk *w, const AstFn *fn, const Node *n) {
    if (!n) return;
    if (n->kind == N_NAME)
        define(w, add_use(w, fn, doc_at(w->d, n->at), n->str, n->scope, n->slot));
    else if (n->kind == N_LIST || n->kind == N_STAR)
        for (uint32_t k = 0; k < n->n_kids; k++) target(w, fn, n->kid[k]);
    else {
        const Node *base = n->kind == N_FIELD ? n->kid[0] : NULL;
        if (base && base->kind == N_NAME && !strcmp(base->str, "self") && w->module)
            add_member(w, doc_at(w->d, n->at), n->str, NULL);
        walk(w, fn, n);
    }
}

static void function(Walk *w, const AstFn *fn) {
    const AstFn *around = w->module;
    if (fn->is_module) w->module = fn;
    for (int k = 0; k < fn->n_params; k++) {
        const AstParam *p = &fn->param[k];
        Use *u = add_use(w, fn, doc_at(w->d, p->at), p->name, SCOPE_LOCAL, p->slot);
        u->is_def = u->is_param = true;
        if (p->dflt) walk(w, fn, p->dflt);
    }
    walk(w, fn, fn->body);
    w->module = around;
}

static void definition(Walk *w, const AstFn *fn, const Node *n) {
    size_t at = doc_at(w->d, n->fn->at);
    if (n->fn->is_method)
        add_member(w, at, n->fn->name, n->fn);
    else {
        Use *u = add_use(w, fn, at, n->fn->name, n->scope, n->slot);
        u->fn = n->fn;
        define(w, u);
    }
    function(w, n->fn);
}

/* The name that an import binds: after `as`, else the module's. */
static void import(Walk *w, const AstFn *fn, const Node *n) {
    size_t at = doc_at(w->d, n->at), n_as = strlen(n->as);
    const char *s = w->d->text.data, *end = memchr(s + at, '\n', w->d->text.n - at);
    size_t to = end ? (size_t)(end - s) : w->d->text.n;
    for (size_t k = at + n->at.len; k + n_as <= to; k++)
        if (!memcmp(s + k, n->as, n_as) && (s[k - 1] == ' ' || s[k - 1] == '\t')) {
            at = k;
            break;
        }
    Use *u = add_use(w, fn, at, n->as, n->scope, n->slot);
    u->is_import = true;
    u->node = n;
    define(w, u);
}

static void add_field(Walk *w, const Node *n) {
    Index *x = w->x;
    ARRAY_PUSH(x->field, x->n_fields, x->fields_cap, 32, (FieldUse){doc_at(w->d, n->at), n});
}

static void walk_kids(Walk *w, const AstFn *fn, const Node *n, uint32_t from) {
    for (uint32_t k = from; k < n->n_kids; k++)
        if (n->kid[k]) walk(w, fn, n->kid[k]);
}

static void walk(Walk *w, const AstFn *fn, const Node *n) {
    uint32_t first = n->kind == N_MAPCOMP ? 2 : 1;
    switch (n->kind) {
    case N_NAME: add_use(w, fn, doc_at(w->d, n->at), n->str, n->scope, n->slot); return;
    case N_FN: function(w, n->fn); return;
    case N_FN_STMT:
    case N_MODULE: definition(w, fn, n); return;
    case N_IMPORT: import(w, fn, n); return;
    case N_ASSIGN:
        for (uint32_t k = 0; k + 1 < n->n_kids; k++) target(w, fn, n->kid[k]);
        walk(w, fn, n->kid[n->n_kids - 1]);
        return;
    case N_FOR:
        target(w, fn, n->kid[0]);
        walk_kids(w, fn, n, 1);
        return;
    case N_LISTCOMP:
    case N_SETCOMP:
    case N_MAPCOMP:
        for (uint32_t k = first; k < n->n_kids; k += 3) target(w, fn, n->kid[k]);
        for (uint32_t k = 0; k < n->n_kids; k++)
            if (n->kid[k] && (k < first || (k - first) % 3)) walk(w, fn, n->kid[k]);
        return;
    case N_FIELD:
        walk(w, fn, n->kid[0]);
        add_field(w, n);
        return;
    default: walk_kids(w, fn, n, 0);
    }
}

/* ---- names of arguments ---- */

static uint64_t key_of_use(const Use *u) {
    uint64_t part[2] = {(uint64_t)(uintptr_t)u->owner, (uint64_t)(int64_t)u->slot};
    return u->owner ? hash_bytes(part, sizeof part, 1) : key_of(u->name);
}

/* The function that a variable names, or NULL. */
static const AstFn *function_of(const Index *x, const Use *u) {
    const AstFn *fn = map_get(&x->functions, key_of_use(u));
    return fn && !strcmp(fn->name, u->name) ? fn : NULL;
}

static int by_place(const void *a, const void *b) {
    const Use *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void sort_uses(Index *x) {
    if (x->n_uses) qsort(x->use, x->n_uses, sizeof *x->use, by_place);
    x->n_sorted = x->n_uses;
}

static void add_loose(Index *x, const Doc *d, const Node *call) {
    for (uint32_t k = 1; k < call->n_kids; k++) {
        if (call->kid[k]->kind != N_KEYWORD) continue;
        ARRAY_ROOM(x->loose, x->n_loose, x->loose_cap, 32);
        x->loose[x->n_loose++] =
            (LooseArgument){doc_at(d, call->kid[k]->at), call->kid[k]->str, call->kid[0]};
    }
}

/* Adds the names of arguments of calls of the program's own functions as uses of the parameters:
 * f(n=3) uses the n of fn f(n). Lists those of other calls. */
static void arguments(Index *x, const Doc *d, const Node *n) {
    if (!n) return;
    if (n->kind == N_FN || n->kind == N_FN_STMT || n->kind == N_MODULE) {
        for (int k = 0; k < n->fn->n_params; k++) arguments(x, d, n->fn->param[k].dflt);
        arguments(x, d, n->fn->body);
    }
    for (uint32_t k = 0; k < n->n_kids; k++) arguments(x, d, n->kid[k]);
    if (n->kind != N_CALL) return;
    bool is_name = n->kid[0]->kind == N_NAME;
    const Use *callee = is_name ? index_use(x, doc_at(d, n->kid[0]->at)) : NULL;
    const AstFn *fn = callee ? function_of(x, callee) : NULL;
    if (!fn) add_loose(x, d, n);
    for (uint32_t k = 1; fn && k < n->n_kids; k++)
        for (int i = 0; n->kid[k]->kind == N_KEYWORD && i < fn->n_params; i++) {
            if (strcmp(fn->param[i].name, n->kid[k]->str)) continue;
            ARRAY_PUSH(x->use, x->n_uses, x->uses_cap, 64,
                       (Use){.at = doc_at(d, n->kid[k]->at),
                             .name = fn->param[i].name,
                             .owner = fn,
                             .slot = fn->param[i].slot});
            break;
        }
}

/* ---- undefined names ---- */

static void undefined(Index *x, const Use *u, Interp *in) {
    if (u->owner || u->is_def || map_get(&x->defined, key_of(u->name))) return;
    if (words_have("self args main ans", u->name, strlen(u->name))) return;
    if (builtin_is_known(in, u->name)) {
        map_put(&x->defined, key_of(u->name), x); /* so that it is looked up once */
        return;
    }
    char what[200], hint[200] = "";
    size_t n = strlen(u->name);
    snprintf(what, sizeof what, "'%.100s' is not defined", u->name);
    NameList names = {0};
    for (MapItem it = {0}; map_next(&x->defined, &it);)
        names_add(&names, (const char *)(uintptr_t)it.key);
    names_of_builtins(in, &names);
    const char *habit = habit_hint(u->name, n), *space = habit ? NULL : space_with(in, u->name);
    const char *near = habit || space ? NULL : nearest_name(u->name, n, names.name, names.n);
    if (habit)
        snprintf(hint, sizeof hint, "%.190s", habit);
    else if (space)
        snprintf(hint, sizeof hint, "did you mean '%s.%.100s'?", space, u->name);
    else if (near)
        snprintf(hint, sizeof hint, "did you mean '%.100s'?", near);
    names_fini(&names);
    add_finding(x, u->at, u->at + n, false, what, hint);
}

/* Warns of an import whose file is not there (yet). */
static void missing(Index *x, const Doc *d, const Use *u, Interp *in) {
    char path[PATH_MAX];
    LangError e = {0};
    bool is_saved = !strncmp(d->uri, "file:", 5);
    if (!u->node || !is_saved || import_find(in, u->node, path, &e)) return;
    if (builtin_is_known(in, intern(u->node->str, strlen(u->node->str)))) return;
    size_t from = doc_at(d, u->node->at);
    add_finding(x, from, from + u->node->at.len, true, e.what, e.hint);
}

Index *doc_index(Doc *d, Interp *in) {
    if (d->index) return d->index;
    Index *x = d->index = xmalloc(sizeof *x);
    *x = (Index){0};
    parse(d, x);
    if (!x->prog) return x;
    Walk w = {d, x, NULL};
    walk(&w, x->prog->top, x->prog->body);
    sort_uses(x);
    for (size_t k = 0; k < x->n_uses; k++)
        if (x->use[k].fn) map_put(&x->functions, key_of_use(&x->use[k]), (void *)x->use[k].fn);
    arguments(x, d, x->prog->body);
    sort_uses(x);
    for (size_t k = 0; k < x->n_uses && x->n_findings < LSP_MAX_FOUND; k++) {
        undefined(x, &x->use[k], in);
        missing(x, d, &x->use[k], in);
    }
    return x;
}

void index_free(Index **x) {
    if (!*x) return;
    for (size_t k = 0; k < (*x)->n_findings; k++) free((*x)->finding[k].text);
    program_free(&(*x)->prog);
    free((char *)(uintptr_t)(*x)->src.text);
    free((*x)->use);
    free((*x)->member);
    free((*x)->field);
    free((*x)->loose);
    free((*x)->finding);
    map_fini(&(*x)->defined);
    map_fini(&(*x)->functions);
    free(*x);
    *x = NULL;
}

/* ---- look-up ---- */

const Use *index_use(const Index *x, size_t at) {
    size_t low = 0, high = x->n_sorted; /* the last use that begins at or before `at` */
    while (low < high) {
        size_t k = (low + high) / 2;
        if (x->use[k].at <= at)
            low = k + 1;
        else
            high = k;
    }
    const Use *u = low ? &x->use[low - 1] : NULL;
    return u && at <= u->at + strlen(u->name) ? u : NULL;
}

bool use_is_same(const Use *a, const Use *b) {
    return a->owner == b->owner && a->slot == b->slot && a->name == b->name;
}

const Use *index_definition(const Index *x, const Use *u) {
    const Use *found = NULL;
    for (size_t k = 0; k < x->n_uses; k++) {
        const Use *d = &x->use[k];
        if (!d->is_def || !use_is_same(d, u)) continue;
        if (d->fn || !found || (!found->fn && d->at <= u->at)) found = d;
    }
    return found;
}

const Use *index_global(const Index *x, const char *interned) {
    Use u = {.name = interned, .slot = -1, .at = SIZE_MAX};
    return index_definition(x, &u);
}
