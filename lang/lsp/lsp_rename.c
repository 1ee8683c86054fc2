/* lsp_rename.c: renaming and references in the open documents and the files that they import. A
 * global name of a file is used in others as `file.name`, a parameter of its functions as
 * `file.f(name=1)`.
 *
 * What the text alone does not tell renaming refuses rather than guesses: fields of values, a
 * module that is passed on as a value, an argument of a call whose function is found when the
 * program runs. The list of references leaves it out.
 * SPDX-License-Identifier: MIT */
#include "lang/lsp/lsp_rename.h"
#include "lang/eval/import.h"
#include "lang/lsp/lsp_edit.h"
#include "lang/lsp/lsp_index.h"
#include "lang/lsp/lsp_names.h"
#include "lang/syntax/lex.h"
#include "runtime/base/utf8.h"
#include "runtime/base/words.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- files ---- */

/* File number `from` imports file number `to`. */
typedef struct Edge {
    size_t from, to;
} Edge;

/* The open documents, then those that were read for this request. */
typedef struct Files {
    Lsp *l;
    bool lists; /* for references: what renaming refuses is left out */
    Doc **doc;
    char **real; /* the path without links, or NULL */
    size_t n, cap, real_cap, n_open;
    bool is_cut; /* there are more than LSP_MAX_DOCS */
    Edge *edge;
    size_t n_edges, edges_cap;
} Files;

static void add_file(Files *f, Doc *d) {
    ARRAY_ROOM(f->doc, f->n, f->cap, 16);
    ARRAY_ROOM(f->real, f->n, f->real_cap, 16);
    f->real[f->n] = realpath(d->path, NULL);
    f->doc[f->n++] = d;
}

/* The number of the file of this path, or f->n. */
static size_t number_of(const Files *f, const char *path) {
    size_t k = 0;
    while (k < f->n && strcmp(f->doc[k]->path, path) != 0) k++;
    if (k < f->n) return k;
    char *real = realpath(path, NULL);
    for (k = 0; k < f->n; k++)
        if (real && f->real[k] && !strcmp(f->real[k], real)) break;
    free(real);
    return k;
}

static Doc *file_at(const Files *f, const char *path) {
    size_t k = number_of(f, path);
    return k < f->n ? f->doc[k] : NULL;
}

/* Adds a file from the disk. One that cannot be read is left out. */
static void read_file(Files *f, const char *path) {
    Bytes text = {0}, uri = {0};
    bool has_dots = strstr(path, "/../") || strstr(path, "/./");
    char *real = has_dots ? realpath(path, NULL) : NULL;
    if (bytes_read(&text, path, LSP_MAX_TEXT) && text.n <= LSP_MAX_TEXT) {
        path_put_uri(real ? real : path, &uri);
        uri.data[uri.n - 1] = '\0'; /* without the quotes */
        add_file(f, doc_new(uri.data + 1, text.data ? text.data : "", text.n));
    }
    free(real);
    bytes_fini(&text);
    bytes_fini(&uri);
}

/* Collects the open documents and all files that they import, and these, and so on. */
static void collect(Files *f, Lsp *l) {
    char path[PATH_MAX];
    LangError ignored;
    *f = (Files){.l = l, .n_open = l->n_docs};
    for (size_t k = 0; k < l->n_docs; k++) add_file(f, l->doc[k]);
    for (size_t k = 0; k < f->n; k++) {
        const Index *x = doc_index(f->doc[k], l->in);
        for (size_t i = 0; i < x->n_uses; i++) {
            ignored = (LangError){0};
            const Node *n = x->use[i].is_import ? x->use[i].node : NULL;
            if (!n || !import_find(l->in, n, path, &ignored)) continue;
            size_t to = number_of(f, path);
            if (to == f->n && f->n >= LSP_MAX_DOCS) f->is_cut = true;
            if (to == f->n && f->n < LSP_MAX_DOCS) read_file(f, path);
            if (to == f->n) continue;
            ARRAY_PUSH(f->edge, f->n_edges, f->edges_cap, 32, (Edge){k, to});
        }
    }
}

/* True if file number k imports document d, or a file that does, and so on. */
static bool reaches(const Files *f, size_t k, const Doc *d) {
    bool *seen = xcalloc(f->n, sizeof *seen), grows = true, found = false;
    for (seen[k] = true; grows && !found;) {
        grows = false;
        for (size_t i = 0; i < f->n_edges; i++) {
            const Edge *e = &f->edge[i];
            if (!seen[e->from] || seen[e->to]) continue;
            seen[e->to] = grows = true;
            found |= f->doc[e->to] == d;
        }
    }
    free(seen);
    return found;
}

static void release(Files *f) {
    for (size_t k = 0; k < f->n; k++) {
        free(f->real[k]);
        if (k >= f->n_open) doc_free(&f->doc[k]);
    }
    free(f->real);
    free(f->doc);
    free(f->edge);
}

/* ---- modules ---- */

/* The file that a use names: all definitions of the variable are imports. Or NULL. */
static Doc *module_of_use(const Files *f, const Index *x, const Use *u) {
    char path[PATH_MAX];
    LangError ignored = {0};
    const Use *def = u ? index_definition(x, u) : NULL;
    if (!def || !def->is_import) return NULL;
    for (size_t k = 0; k < x->n_uses; k++)
        if (x->use[k].is_def && !x->use[k].is_import && use_is_same(&x->use[k], def)) return NULL;
    return import_find(f->l->in, def->node, path, &ignored) ? file_at(f, path) : NULL;
}

/* The file that an expression of document d names: lib, lib.inner. Or NULL. */
static Doc *module_of(const Files *f, Doc *d, const Node *n) {
    const Index *x = doc_index(d, f->l->in);
    if (n->kind == N_NAME) return module_of_use(f, x, index_use(x, doc_at(d, n->at)));
    Doc *base = n->kind == N_FIELD ? module_of(f, d, n->kid[0]) : NULL;
    const Index *inner = base ? doc_index(base, f->l->in) : NULL;
    const Use *def = inner ? index_global(inner, n->str) : NULL;
    return def ? module_of_use(f, inner, def) : NULL;
}

/* ---- what is renamed ---- */

/* A variable: `use` is one of its uses in document d. */
typedef struct Target {
    Doc *d;
    const Use *use, *def;
    size_t at;       /* of the name in the document of the request */
    const AstFn *fn; /* of a parameter: its function, else NULL */
} Target;

/* True if no other file can use it. */
static bool is_local(const Target *t) { return t->def->owner && !t->fn; }

static bool has_syntax_error(const Index *x) {
    for (size_t k = 0; k < x->n_findings; k++)
        if (!x->finding[k].is_warning && !strstr(x->finding[k].text, "is not defined")) return true;
    return false;
}

static const char *file_name(const Doc *d) {
    const char *slash = strrchr(d->path, '/');
    return slash ? slash + 1 : d->path;
}

static const Use *param_of(const Index *x, const AstFn *fn, const char *name) {
    for (size_t k = 0; k < x->n_uses; k++)
        if (x->use[k].is_param && x->use[k].owner == fn && x->use[k].name == name)
            return &x->use[k];
    return NULL;
}

/* Finds what lib.name, or the name of an argument in lib.f(name=1), means: t->use, or NULL. False
 * after lsp_fail. */
static bool find_outside(Files *f, Doc *d, size_t from, Target *t) {
    const Index *x = doc_index(d, f->l->in);
    for (size_t k = 0; k < x->n_fields; k++) {
        const FieldUse *u = &x->field[k];
        Doc *m = u->at == from ? module_of(f, d, u->node->kid[0]) : NULL;
        if (!m) continue;
        if (!f->lists && has_syntax_error(doc_index(m, f->l->in)))
            return lsp_fail(f->l, LSP_REFUSED, "mend the syntax error in %.100s first",
                            file_name(m));
        *t =
            (Target){.d = m, .use = index_global(doc_index(m, f->l->in), u->node->str), .at = from};
        if (t->use) return true;
        return lsp_fail(f->l, LSP_REFUSED, "%.100s has no '%.100s'", file_name(m), u->node->str);
    }
    for (size_t k = 0; k < x->n_loose; k++) {
        const LooseArgument *a = &x->loose[k];
        bool is_it = a->at == from && a->callee->kind == N_FIELD;
        Doc *m = is_it ? module_of(f, d, a->callee->kid[0]) : NULL;
        const Index *inner = m ? doc_index(m, f->l->in) : NULL;
        const Use *def = inner ? index_global(inner, a->callee->str) : NULL;
        if (def && def->fn)
            *t = (Target){.d = m, .use = param_of(inner, def->fn, a->name), .at = from};
    }
    return true;
}

/* True if a field of a value has the name; lib.name is of another file. */
static bool is_field_of(const Files *f, Doc *d, const char *name) {
    const Index *x = doc_index(d, f->l->in);
    for (size_t k = 0; k < x->n_fields; k++)
        if (x->field[k].node->str == name && !module_of(f, d, x->field[k].node->kid[0]))
            return true;
    return false;
}

/* True if a call may be one of the program's own functions: not lib.f, nn.Linear or x.sum. */
static bool may_be_own(const Index *x, const Doc *d, const Node *callee) {
    for (size_t k = 0; callee->kind == N_FIELD && k < x->n_members; k++)
        if (x->member[k].name == callee->str) return true;
    if (callee->kind == N_FIELD && lsp_method(callee->str)) return false;
    while (callee->kind == N_FIELD) callee = callee->kid[0];
    if (callee->kind != N_NAME) return true;
    const Use *u = index_use(x, doc_at(d, callee->at)), *def = u ? index_definition(x, u) : NULL;
    return def && !def->is_import;
}

/* The first argument of this name in a call that may be one of the program's own functions. */
static const LooseArgument *loose_argument(const Index *x, const Doc *d, const char *name) {
    for (size_t k = 0; k < x->n_loose; k++)
        if (x->loose[k].name == name && may_be_own(x, d, x->loose[k].callee)) return &x->loose[k];
    return NULL;
}

/* Checks that the variable may be renamed in its own document. */
static bool may_rename(const Files *f, Target *t) {
    Lsp *l = f->l;
    const Index *x = doc_index(t->d, l->in);
    const Use *u = t->use, *def = t->def = index_definition(x, u);
    if (!def || !strcmp(u->name, "self"))
        return lsp_fail(l, LSP_REFUSED, "'%s' belongs to the language", u->name);
    if (def->is_import) return lsp_fail(l, LSP_REFUSED, "'%s' is the name of a file", u->name);
    t->fn = def->is_param ? def->owner : NULL;
    if (!f->lists && f->is_cut && !is_local(t))
        return lsp_fail(l, LSP_REFUSED, "more than %d files are imported: not all are looked at",
                        LSP_MAX_DOCS);
    bool is_shown = (t->fn && t->fn->is_module) || def->fn;
    if (is_shown && is_field_of(f, t->d, u->name))
        return lsp_fail(l, LSP_REFUSED,
                        "'%s' is also used as a field or method, which cannot be renamed", u->name);
    const LooseArgument *a = t->fn ? loose_argument(x, t->d, u->name) : NULL;
    return !a || lsp_fail(l, LSP_REFUSED,
                          "'%s' is also an argument in line %zu, of a function that is found when "
                          "the program runs",
                          u->name, doc_line_of(t->d, a->at) + 1);
}

/* Finds what stands at an offset of document d. False after lsp_fail. */
static bool find_target(Files *f, Doc *d, size_t at, Target *t) {
    Lsp *l = f->l;
    const Index *x = doc_index(d, l->in);
    size_t from, to;
    if (has_syntax_error(x)) return lsp_fail(l, LSP_REFUSED, "mend the syntax error first");
    *t = (Target){.d = d, .use = index_use(x, at)};
    bool is_word = !t->use && doc_word(d, at, &from, &to);
    if (t->use)
        t->at = t->use->at;
    else if (is_word && !find_outside(f, d, from, t))
        return false;
    if (!t->use && is_word && from && d->text.data[from - 1] == '.')
        return lsp_fail(l, LSP_REFUSED,
                        "fields and methods are found when the program runs: "
                        "they cannot be renamed");
    if (!t->use) return lsp_fail(l, LSP_REFUSED, "there is no variable here");
    if (t->d != d && has_syntax_error(doc_index(t->d, l->in)))
        return lsp_fail(l, LSP_REFUSED, "mend the syntax error in %.100s first", file_name(t->d));
    return may_rename(f, t);
}

/* ---- uses in other files ---- */

typedef struct Places {
    size_t *at, n, cap;
} Places;

static void add_place(Places *p, size_t at) { ARRAY_PUSH(p->at, p->n, p->cap, 16, at); }

/* True if a name or field of file o is the base of a field: lib in lib.f. */
static bool is_base(const Index *x, const Doc *o, const Node *n, size_t at) {
    for (size_t k = 0; k < x->n_fields; k++) {
        const Node *base = x->field[k].node->kid[0];
        if (base == n || (!n && base->kind == N_NAME && doc_at(o, base->at) == at)) return true;
    }
    return false;
}

/* Fails if file o has the target's file as a value, m = lib: its names may be used anywhere then.
 * Sets *uses if o names the file at all. */
static bool check_module(Files *f, Doc *o, const Target *t, bool *uses) {
    const Index *x = doc_index(o, f->l->in);
    size_t at = SIZE_MAX;
    for (size_t k = 0; k < x->n_uses && at == SIZE_MAX; k++) {
        const Use *u = &x->use[k];
        if (module_of_use(f, x, u) != t->d) continue;
        *uses = true;
        if (!u->is_def && !is_base(x, o, NULL, u->at)) at = u->at;
    }
    for (size_t k = 0; k < x->n_fields && at == SIZE_MAX; k++) {
        if (module_of(f, o, x->field[k].node) != t->d) continue;
        *uses = true;
        if (!is_base(x, o, x->field[k].node, 0)) at = x->field[k].at;
    }
    if (at == SIZE_MAX) return true;
    return lsp_fail(
        f->l, LSP_REFUSED,
        "line %zu of %.100s uses %.100s as a value: where '%.100s' is used is found when "
        "the program runs",
        doc_line_of(o, at) + 1, file_name(o), file_name(t->d), t->use->name);
}

/* True of the nn of nn.Linear: a name that no file defines. */
static bool is_language(const Files *f, const Doc *o, const Node *n) {
    const Index *x = o->index;
    if (!n || n->kind != N_NAME) return false;
    const Use *u = index_use(x, doc_at(o, n->at)), *def = u ? index_definition(x, u) : NULL;
    return !def && builtin_is_known(f->l->in, n->str);
}

/* True if a call in file o whose function is no name of a module may be one of the target's. */
static bool may_be_of(const Index *x, const Doc *o, const Node *callee, const AstFn *fn) {
    if (callee->kind == N_FIELD) {
        if (!strcmp(callee->str, fn->name)) return true;
        for (size_t k = 0; k < x->n_members; k++)
            if (x->member[k].name == callee->str && x->member[k].fn) return false;
        return !lsp_method(callee->str);
    }
    const Use *u = callee->kind == N_NAME ? index_use(x, doc_at(o, callee->at)) : NULL;
    const Use *def = u ? index_definition(x, u) : NULL;
    return callee->kind != N_NAME || (def && !def->is_import);
}

/* The same of a field of module m; *is_it: it is the target's function. */
static bool may_be_in(const Files *f, Doc *m, const Node *callee, const AstFn *fn, bool *is_it) {
    const Use *def = index_global(doc_index(m, f->l->in), callee->str);
    *is_it = def && def->fn == fn;
    return def && !def->fn && !def->is_import;
}

/* Adds the arguments of file o that name the target, a parameter. Fails at one that may. */
static bool add_arguments(const Files *f, Doc *o, const Target *t, Places *p) {
    const Index *x = doc_index(o, f->l->in);
    for (size_t k = 0; k < x->n_loose; k++) {
        const LooseArgument *a = &x->loose[k];
        if (a->name != t->use->name) continue;
        const Node *base = a->callee->kind == N_FIELD ? a->callee->kid[0] : NULL, *root = base;
        while (root && root->kind == N_FIELD) root = root->kid[0];
        Doc *m = base ? module_of(f, o, base) : NULL;
        bool is_it = false;
        bool may = m ? may_be_in(f, m, a->callee, t->fn, &is_it)
                     : !is_language(f, o, root) && may_be_of(x, o, a->callee, t->fn);
        if (is_it) add_place(p, a->at);
        if (may && !f->lists)
            return lsp_fail(
                f->l, LSP_REFUSED,
                "'%.100s' is also an argument in line %zu of %.100s, of a function that "
                "is found when the program runs",
                t->use->name, doc_line_of(o, a->at) + 1, file_name(o));
    }
    return true;
}

static bool has_word(const Doc *d, const char *name) {
    size_t n = strlen(name), from, to;
    for (const char *s = d->text.data; (s = strstr(s, name)); s++)
        if (doc_word(d, (size_t)(s - d->text.data), &from, &to) && to - from == n) return true;
    return false;
}

/* True if the text has the file's name without .gt as a word. */
static bool names_file(const Doc *d, const Doc *file) {
    char stem[NAME_MAX + 1];
    const char *name = file_name(file), *dot = strrchr(name, '.');
    snprintf(stem, sizeof stem, "%.*s", (int)(dot ? (size_t)(dot - name) : strlen(name)), name);
    return *stem && has_word(d, stem);
}

/* Adds the uses in file number k, which is not the target's. */
static bool add_outside(Files *f, size_t k, const Target *t, Places *p) {
    Doc *o = f->doc[k];
    const Index *x = doc_index(o, f->l->in);
    const char *name = t->use->name;
    bool uses = false;
    if (is_local(t) || !has_word(o, name)) return true;
    if (!f->lists && has_syntax_error(x) && names_file(o, t->d))
        return lsp_fail(f->l, LSP_REFUSED, "mend the syntax error in %.100s first", file_name(o));
    if (!reaches(f, k, t->d)) return true;
    if (t->fn) return add_arguments(f, o, t, p);
    if (!f->lists && !check_module(f, o, t, &uses)) return false;
    for (size_t i = 0; (uses || f->lists) && i < x->n_fields; i++)
        if (x->field[i].node->str == name && module_of(f, o, x->field[i].node->kid[0]) == t->d)
            add_place(p, x->field[i].at);
    return true;
}

/* Adds the uses in file number k. False after lsp_fail. */
static bool add_places(Files *f, size_t k, const Target *t, Places *p) {
    Doc *o = f->doc[k];
    const Index *x = doc_index(o, f->l->in);
    const char *name = t->use->name;
    if (o != t->d && !add_outside(f, k, t, p)) return false;
    for (size_t i = 0; o == t->d && i < x->n_uses; i++)
        if (use_is_same(t->use, &x->use[i])) add_place(p, x->use[i].at);
    for (size_t i = 0; i < p->n; i++) /* a span's column ends at 65535 */
        if (strncmp(o->text.data + p->at[i], name, strlen(name)))
            return lsp_fail(f->l, LSP_REFUSED, "'%.100s' is used in a line that is too long", name);
    return true;
}

/* ---- requests ---- */

bool lsp_prepare_rename(Lsp *l, const IoValue *params, Bytes *out) {
    size_t at;
    Files f;
    Target t;
    Doc *d = lsp_at(l, params, &at);
    if (!d) return false;
    collect(&f, l);
    bool ok = find_target(&f, d, at, &t);
    if (ok) doc_put_range(d, t.at, t.at + strlen(t.use->name), l->is_utf8, out);
    release(&f);
    return ok;
}

/* True if the text is one name that the language leaves to programs. */
static bool is_free_name(Lsp *l, const char *name) {
    Arena arena = {0};
    Tokens t;
    Source src = {.name = "", .text = name, .n = strlen(name), .first_line = 1};
    lex_source(&src, &arena, &t);
    bool ok = t.n == 3 && t.tok[0].kind == TOK_NAME && t.tok[0].n == src.n;
    arena_fini(&arena);
    if (!ok) return lsp_fail(l, LSP_REFUSED, "'%.100s' is not a name", name);
    if (words_have("self backward signal no_grad time args", name, src.n) ||
        builtin_is_known(l->in, name))
        return lsp_fail(l, LSP_REFUSED, "'%.100s' belongs to the language", name);
    return true;
}

/* Appends the edits of one file. Versions tell the client whether it has another text by now. */
static void put_edits(const Files *f, size_t k, const Places *p, size_t n_old, const char *name,
                      Bytes *out) {
    Lsp *l = f->l;
    const Doc *o = f->doc[k];
    bool is_first = out->data[out->n - 1] == '[' || out->data[out->n - 1] == '{';
    if (!is_first) bytes_putc(out, ',');
    if (l->has_versions) bytes_puts(out, "{\"textDocument\":{\"uri\":");
    utf8_put_json(o->uri, strlen(o->uri), out);
    if (l->has_versions && k < f->n_open)
        bytes_printf(out, ",\"version\":%lld},\"edits\":[", (long long)o->version);
    else
        bytes_puts(out, l->has_versions ? ",\"version\":null},\"edits\":[" : ":[");
    for (size_t i = 0; i < p->n; i++) {
        bytes_puts(out, i ? ",{\"range\":" : "{\"range\":");
        doc_put_range(o, p->at[i], p->at[i] + n_old, l->is_utf8, out);
        bytes_puts(out, ",\"newText\":");
        utf8_put_json(name, strlen(name), out);
        bytes_putc(out, '}');
    }
    bytes_puts(out, l->has_versions ? "]}" : "]");
}

static bool rename_in(Files *f, const Target *t, const char *name, Bytes *out) {
    const Index *x = doc_index(t->d, f->l->in);
    const char *interned = intern(name, strlen(name));
    bool ok = true;
    for (size_t k = 0; k < x->n_uses; k++)
        if (x->use[k].name == interned && interned != t->use->name)
            return lsp_fail(f->l, LSP_REFUSED, "'%.100s' is the name of another variable here",
                            interned);
    bytes_puts(out, f->l->has_versions ? "{\"documentChanges\":[" : "{\"changes\":{");
    for (size_t k = 0; ok && k < f->n; k++) {
        Places p = {0};
        ok = add_places(f, k, t, &p);
        if (ok && p.n) put_edits(f, k, &p, strlen(t->use->name), name, out);
        free(p.at);
    }
    bytes_puts(out, f->l->has_versions ? "]}" : "}}");
    return ok;
}

bool lsp_rename(Lsp *l, const IoValue *params, Bytes *out) {
    size_t at, mark = out->n;
    Files f;
    Target t;
    Doc *d = lsp_at(l, params, &at);
    const IoValue *name = d ? io_get(params, "newName") : NULL;
    if (!d) return false;
    if (!name || name->kind != IO_STR || strlen(name->str) != name->n_str)
        return lsp_fail(l, LSP_BAD_PARAMS, "newName must be a string");
    collect(&f, l);
    bool ok = find_target(&f, d, at, &t) && is_free_name(l, name->str) &&
              rename_in(&f, &t, name->str, out);
    release(&f);
    if (!ok) out->n = mark;
    return ok;
}

/* Appends the places of a name in a document, with a comma before each but the first. */
static void put_places(const Lsp *l, const Doc *d, const char *name, const Places *p, Bytes *out) {
    for (size_t i = 0; i < p->n; i++) {
        if (out->data[out->n - 1] != '[') bytes_putc(out, ',');
        lsp_put_location(l, d, p->at[i], strlen(name), out);
    }
}

/* Finds the variable at an offset of document d; false if the text does not tell one. */
static bool find_variable(Files *f, Doc *d, size_t at, Target *t) {
    size_t from, to;
    *t = (Target){.d = d, .use = index_use(doc_index(d, f->l->in), at)};
    if (!t->use && doc_word(d, at, &from, &to)) find_outside(f, d, from, t);
    if (!t->use) return false;
    t->def = index_definition(doc_index(t->d, f->l->in), t->use);
    t->fn = t->def && t->def->is_param ? t->def->owner : NULL;
    return true;
}

/* Appends where the variable is used, in all files. */
static void put_uses(Files *f, const Target *t, bool has_defs, Bytes *out) {
    bool is_everywhere = t->def && !t->def->is_import;
    for (size_t k = 0; k < f->n; k++) {
        Doc *o = f->doc[k];
        Places p = {0};
        const Index *x = doc_index(o, f->l->in);
        if (o != t->d && is_everywhere) add_outside(f, k, t, &p);
        for (size_t i = 0; o == t->d && i < x->n_uses; i++)
            if (use_is_same(t->use, &x->use[i]) && (has_defs || !x->use[i].is_def))
                add_place(&p, x->use[i].at);
        put_places(f->l, o, t->use->name, &p, out);
        free(p.at);
    }
}

/* Appends where fields of this name are used in the document, and methods of it defined. */
static void put_fields(Lsp *l, Doc *d, const char *name, bool has_defs, Bytes *out) {
    const Index *x = doc_index(d, l->in);
    Places p = {0};
    for (size_t k = 0; k < x->n_fields; k++)
        if (x->field[k].node->str == name) add_place(&p, x->field[k].at);
    for (size_t k = 0; has_defs && k < x->n_members; k++)
        if (x->member[k].name == name && x->member[k].fn) add_place(&p, x->member[k].at);
    put_places(l, d, name, &p, out);
    free(p.at);
}

bool lsp_references(Lsp *l, const IoValue *params, Bytes *out) {
    size_t at, from, to;
    Files f;
    Target t;
    Doc *d = lsp_at(l, params, &at);
    if (!d) return false;
    const IoValue *context = io_get(params, "context");
    const IoValue *with =
        context && context->kind == IO_MAP ? io_get(context, "includeDeclaration") : NULL;
    bool has_defs = !with || with->kind != IO_BOOL || with->b;
    collect(&f, l);
    f.lists = true;
    bytes_putc(out, '[');
    if (find_variable(&f, d, at, &t))
        put_uses(&f, &t, has_defs, out);
    else if (doc_word(d, at, &from, &to))
        put_fields(l, d, intern(d->text.data + from, to - from), has_defs, out);
    bytes_putc(out, ']');
    release(&f);
    return true;
}
