/* lsp_edit.c: definitions, references, renaming, symbols, folding and formatting.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/import.h"
#include "lang/fmt/fmt.h"
#include "lang/lsp/lsp_state.h"
#include "runtime/base/version.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- places ---- */

static void put_location(const Lsp *l, const Doc *d, size_t at, size_t n, Bytes *out) {
    bytes_puts(out, "{\"uri\":");
    json_print_str(d->uri, strlen(d->uri), out);
    bytes_puts(out, ",\"range\":");
    doc_put_range(d, at, at + n, l->is_utf8, out);
    bytes_putc(out, '}');
}

/* The place of a global name, or the start if name is NULL or unknown. */
static void put_global(Lsp *l, Doc *d, const char *name, Bytes *out) {
    const Use *def = name ? index_global(doc_index(d, l->in), name) : NULL;
    put_location(l, d, def ? def->at : 0, def ? strlen(name) : 0, out);
}

bool lsp_in_file(Lsp *l, const char *path, const char *name, LspPut *put, Bytes *out) {
    for (size_t k = 0; k < l->n_docs; k++)
        if (!strcmp(l->doc[k]->path, path)) {
            put(l, l->doc[k], name, out);
            return true;
        }
    Bytes text = {0}, uri = {0};
    bool ok = bytes_read(&text, path, LSP_MAX_TEXT) && text.n <= LSP_MAX_TEXT;
    if (ok) {
        path_put_uri(path, &uri);
        uri.data[uri.n - 1] = '\0'; /* without the quotes */
        Doc *d = doc_new(uri.data + 1, text.data, text.n);
        put(l, d, name, out);
        doc_free(&d);
    }
    bytes_fini(&text);
    bytes_fini(&uri);
    return ok;
}

/* Writes a file of the prelude where an editor can open it; false if that fails. */
static bool prelude_path(const Source *src, char *path, size_t size) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache == '/')
        snprintf(path, size, "%s/gt/prelude-%s/%s", cache, GTSH_VERSION, src->name);
    else if (home && *home == '/')
        snprintf(path, size, "%s/.cache/gt/prelude-%s/%s", home, GTSH_VERSION, src->name);
    else
        return false;
    Bytes old = {0};
    Err ignored = {0};
    bool ok = bytes_read(&old, path, src->n + 1) && old.n == src->n &&
              !memcmp(old.data, src->text, src->n);
    bytes_fini(&old);
    return ok || (io_make_parents(path, &ignored) && io_write(path, src->text, src->n, &ignored) &&
                  chmod(path, 0444) == 0);
}

/* ---- definition ---- */

/* The place of a name of the language that is written in it. */
static bool put_prelude(Lsp *l, const char *name, size_t n, Bytes *out) {
    Value v;
    char path[PATH_MAX];
    if (!lsp_value(l->in, name, n, &v)) return false;
    const AstFn *fn = v.kind == V_FN ? v.fn->ast : v.kind == V_MODULE ? v.module->make->ast : NULL;
    bool ok = fn && fn->at.src && fn->at.src->is_prelude &&
              prelude_path(fn->at.src, path, sizeof path) &&
              lsp_in_file(l, path, fn->name, put_global, out);
    value_drop(v);
    return ok;
}

bool lsp_imported(Lsp *l, Doc *d, size_t from, char *path) {
    LangError ignored = {0};
    const Index *x = doc_index(d, l->in);
    const Use *base = index_use(x, from > 1 ? from - 2 : 0);
    const Use *def = base ? index_definition(x, base) : NULL;
    return def && def->is_import && import_find(l->in, def->node, path, &ignored);
}

/* The place of x.name: in an imported file, else methods and fields of the file's modules. */
static bool put_member(Lsp *l, Doc *d, size_t from, const char *name, Bytes *out) {
    Index *x = doc_index(d, l->in);
    char path[PATH_MAX];
    if (lsp_imported(l, d, from, path)) return lsp_in_file(l, path, name, put_global, out);
    const Member *m = NULL;
    for (size_t k = 0; k < x->n_members; k++)
        if (x->member[k].name == name && (!m || (x->member[k].fn && !m->fn))) m = &x->member[k];
    if (m) put_location(l, d, m->at, strlen(name), out);
    return m != NULL;
}

bool lsp_definition(Lsp *l, const IoValue *params, Bytes *out) {
    size_t at, from, to, mark = out->n;
    char path[PATH_MAX];
    LangError ignored = {0};
    Doc *d = lsp_at(l, params, &at);
    if (!d) return false;
    Index *x = doc_index(d, l->in);
    const Use *u = index_use(x, at), *def = u ? index_definition(x, u) : NULL;
    bool ok = doc_word(d, at, &from, &to) || u;
    const char *name = from < to ? intern(d->text.data + from, to - from) : "";
    size_t start = doc_path(d, from);
    if (def && def->is_import && import_find(l->in, def->node, path, &ignored))
        ok = lsp_in_file(l, path, NULL, put_global, out);
    else if (def)
        put_location(l, d, def->at, strlen(def->name), out);
    else
        ok = ok && ((start < from && put_member(l, d, from, name, out)) ||
                    put_prelude(l, d->text.data + start, to - start, out));
    if (!ok) {
        out->n = mark;
        bytes_puts(out, "null");
    }
    return true;
}

/* ---- references and renaming ---- */

bool lsp_references(Lsp *l, const IoValue *params, Bytes *out) {
    size_t at, from, to, n = 0;
    Doc *d = lsp_at(l, params, &at);
    if (!d) return false;
    Index *x = doc_index(d, l->in);
    const Use *u = index_use(x, at);
    const IoValue *context = io_get(params, "context");
    const IoValue *with =
        context && context->kind == IO_MAP ? io_get(context, "includeDeclaration") : NULL;
    bool has_defs = !with || with->kind != IO_BOOL || with->b;
    const char *name =
        !u && doc_word(d, at, &from, &to) ? intern(d->text.data + from, to - from) : NULL;
    bytes_putc(out, '[');
    for (size_t k = 0; u && k < x->n_uses; k++) {
        if (!use_is_same(u, &x->use[k]) || (x->use[k].is_def && !has_defs)) continue;
        if (n++) bytes_putc(out, ',');
        put_location(l, d, x->use[k].at, strlen(u->name), out);
    }
    for (size_t k = 0; name && k < x->n_fields; k++) {
        if (x->field[k].node->str != name) continue;
        if (n++) bytes_putc(out, ',');
        put_location(l, d, x->field[k].at, strlen(name), out);
    }
    for (size_t k = 0; name && has_defs && k < x->n_members; k++) {
        if (x->member[k].name != name || !x->member[k].fn) continue;
        if (n++) bytes_putc(out, ',');
        put_location(l, d, x->member[k].at, strlen(name), out);
    }
    bytes_putc(out, ']');
    return true;
}

static bool is_field_of(const Index *x, const char *name) {
    for (size_t k = 0; k < x->n_fields; k++)
        if (x->field[k].node->str == name) return true;
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

/* The use to rename, or NULL after lsp_fail. */
static const Use *renamed(Lsp *l, Doc *d, size_t at) {
    Index *x = doc_index(d, l->in);
    for (size_t k = 0; k < x->n_findings; k++)
        if (!x->finding[k].is_warning && !strstr(x->finding[k].text, "is not defined"))
            return lsp_fail(l, LSP_REFUSED, "mend the syntax error first"), NULL;
    const Use *u = index_use(x, at), *def = u ? index_definition(x, u) : NULL;
    size_t from, to;
    if (!u && doc_word(d, at, &from, &to) && from && d->text.data[from - 1] == '.')
        return lsp_fail(l, LSP_REFUSED,
                        "fields and methods are found when the program runs: "
                        "they cannot be renamed"),
               NULL;
    if (!u) return lsp_fail(l, LSP_REFUSED, "there is no variable here"), NULL;
    if (!def || !strcmp(u->name, "self"))
        return lsp_fail(l, LSP_REFUSED, "'%s' belongs to the language", u->name), NULL;
    if (def->is_import)
        return lsp_fail(l, LSP_REFUSED, "'%s' is the name of a file", u->name), NULL;
    bool is_shown = (def->is_param && def->owner->is_module) || def->fn;
    if (is_shown && is_field_of(x, u->name))
        return lsp_fail(l, LSP_REFUSED,
                        "'%s' is also used as a field or method, which cannot be "
                        "renamed",
                        u->name),
               NULL;
    const LooseArgument *a = def->is_param ? loose_argument(x, d, u->name) : NULL;
    if (a)
        return lsp_fail(l, LSP_REFUSED,
                        "'%s' is also an argument in line %zu, of a function that is found when "
                        "the program runs",
                        u->name, doc_line_of(d, a->at) + 1),
               NULL;
    return u;
}

bool lsp_prepare_rename(Lsp *l, const IoValue *params, Bytes *out) {
    size_t at;
    Doc *d = lsp_at(l, params, &at);
    const Use *u = d ? renamed(l, d, at) : NULL;
    if (!u) return false;
    doc_put_range(d, u->at, u->at + strlen(u->name), l->is_utf8, out);
    return true;
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
    static const char *const words[] = {"self", "backward", "signal", "no_grad", "time", "args"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (!strcmp(words[k], name)) ok = false;
    if (!ok || builtin_is_known(l->in, name))
        return lsp_fail(l, LSP_REFUSED, "'%.100s' belongs to the language", name);
    return true;
}

bool lsp_rename(Lsp *l, const IoValue *params, Bytes *out) {
    size_t at, n = 0;
    Doc *d = lsp_at(l, params, &at);
    const IoValue *name = d ? io_get(params, "newName") : NULL;
    if (!d) return false;
    if (!name || name->kind != IO_STR || strlen(name->str) != name->n_str)
        return lsp_fail(l, LSP_BAD_PARAMS, "newName must be a string");
    const Use *u = renamed(l, d, at);
    if (!u || !is_free_name(l, name->str)) return false;
    Index *x = doc_index(d, l->in);
    const char *interned = intern(name->str, name->n_str);
    for (size_t k = 0; k < x->n_uses; k++)
        if (x->use[k].name == interned && interned != u->name)
            return lsp_fail(l, LSP_REFUSED, "'%.100s' is the name of another variable here",
                            interned);
    for (size_t k = 0; k < x->n_uses; k++) /* a span's column ends at 65535 */
        if (use_is_same(u, &x->use[k]) &&
            strncmp(d->text.data + x->use[k].at, u->name, strlen(u->name)))
            return lsp_fail(l, LSP_REFUSED, "'%.100s' is used in a line that is too long", u->name);
    bytes_puts(out, "{\"changes\":{");
    json_print_str(d->uri, strlen(d->uri), out);
    bytes_puts(out, ":[");
    for (size_t k = 0; k < x->n_uses; k++) {
        if (!use_is_same(u, &x->use[k])) continue;
        bytes_puts(out, n++ ? ",{\"range\":" : "{\"range\":");
        doc_put_range(d, x->use[k].at, x->use[k].at + strlen(u->name), l->is_utf8, out);
        bytes_puts(out, ",\"newText\":");
        json_print_str(name->str, name->n_str, out);
        bytes_putc(out, '}');
    }
    bytes_puts(out, "]}}");
    return true;
}

/* ---- symbols ---- */

enum { SYMBOL_MODULE = 2, SYMBOL_CLASS = 5, SYMBOL_METHOD = 6, SYMBOL_FUNCTION = 12 };
enum { SYMBOL_VARIABLE = 13 };

static void put_symbol(const Lsp *l, const Doc *d, const char *name, int kind, size_t at,
                       const AstFn *fn, Bytes *out) {
    size_t n = strlen(name), end = fn ? doc_at(d, fn->end) + fn->end.len : at + n;
    size_t from = fn ? d->line_at[doc_line_of(d, at)] : at;
    if (end < at + n) end = at + n;
    bytes_puts(out, "{\"name\":");
    json_print_str(name, n, out);
    bytes_printf(out, ",\"kind\":%d,\"range\":", kind);
    doc_put_range(d, from, end, l->is_utf8, out);
    bytes_puts(out, ",\"selectionRange\":");
    doc_put_range(d, at, at + n, l->is_utf8, out);
}

static void put_methods(const Lsp *l, const Doc *d, const AstFn *module, Bytes *out) {
    const Index *x = d->index;
    size_t n = 0;
    bytes_puts(out, ",\"children\":[");
    for (size_t k = 0; k < x->n_members; k++) {
        const Member *m = &x->member[k];
        if (m->module != module || !m->fn) continue;
        if (n++) bytes_putc(out, ',');
        put_symbol(l, d, m->name, SYMBOL_METHOD, m->at, m->fn, out);
        bytes_putc(out, '}');
    }
    bytes_putc(out, ']');
}

bool lsp_symbols(Lsp *l, const IoValue *params, Bytes *out) {
    Doc *d = lsp_doc(l, params);
    if (!d) return false;
    const Index *x = doc_index(d, l->in);
    Map seen = {0};
    size_t n = 0;
    bytes_putc(out, '[');
    for (size_t k = 0; k < x->n_uses; k++) {
        const Use *u = &x->use[k];
        uint64_t key = (uint64_t)(uintptr_t)u->name;
        if (!u->is_def || u->owner || (!u->fn && map_get(&seen, key))) continue;
        map_put(&seen, key, d);
        if (n++) bytes_putc(out, ',');
        put_symbol(l, d, u->name,
                   u->is_import       ? SYMBOL_MODULE
                   : !u->fn           ? SYMBOL_VARIABLE
                   : u->fn->is_module ? SYMBOL_CLASS
                                      : SYMBOL_FUNCTION,
                   u->at, u->fn, out);
        if (u->fn && u->fn->is_module) put_methods(l, d, u->fn, out);
        bytes_putc(out, '}');
    }
    bytes_putc(out, ']');
    map_fini(&seen);
    return true;
}

/* ---- folding and formatting ---- */

bool lsp_folding(Lsp *l, const IoValue *params, Bytes *out) {
    Doc *d = lsp_doc(l, params);
    if (!d) return false;
    Arena arena = {0};
    Tokens t;
    Source src = {.name = "", .text = d->text.data, .n = d->text.n, .first_line = 1};
    uint32_t open[200];
    size_t n = 0, put = 0;
    lex_source(&src, &arena, &t);
    bytes_putc(out, '[');
    for (size_t i = 0; i < t.n; i++) {
        int kind = t.tok[i].kind;
        if (kind == TOK_LPAREN || kind == TOK_LBRACKET || kind == TOK_LBRACE) {
            if (n < 200) open[n] = t.tok[i].line;
            n++;
        }
        if ((kind != TOK_RPAREN && kind != TOK_RBRACKET && kind != TOK_RBRACE) || !n) continue;
        if (--n >= 200 || t.tok[i].line < open[n] + 2) continue;
        bytes_printf(out, "%s{\"startLine\":%u,\"endLine\":%u}", put++ ? "," : "", open[n] - 1,
                     t.tok[i].line - 2);
    }
    bytes_putc(out, ']');
    arena_fini(&arena);
    return true;
}

bool lsp_formatting(Lsp *l, const IoValue *params, Bytes *out) {
    Doc *d = lsp_doc(l, params);
    if (!d) return false;
    Bytes text = {0};
    LangError e = {0};
    Source src = {.name = d->path, .text = d->text.data, .n = d->text.n, .first_line = 1};
    if (!fmt_source(&src, &text, &e)) {
        bytes_puts(out, "null"); /* the error is among the diagnostics */
        return true;
    }
    bytes_putc(out, '[');
    if (text.n != d->text.n || memcmp(text.n ? text.data : "", d->text.data, text.n)) {
        bytes_puts(out, "{\"range\":");
        doc_put_range(d, 0, d->text.n, l->is_utf8, out);
        bytes_puts(out, ",\"newText\":");
        json_print_str(text.n ? text.data : "", text.n, out);
        bytes_putc(out, '}');
    }
    bytes_putc(out, ']');
    bytes_fini(&text);
    return true;
}
