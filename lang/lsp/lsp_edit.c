/* lsp_edit.c: definitions, symbols, folding and formatting.
 * SPDX-License-Identifier: MIT */
#include "lang/lsp/lsp_edit.h"
#include "lang/eval/import.h"
#include "lang/fmt/fmt.h"
#include "lang/lsp/lsp_index.h"
#include "lang/lsp/lsp_names.h"
#include "lang/syntax/lex.h"
#include "runtime/base/folder.h"
#include "runtime/base/version.h"
#include "runtime/base/utf8.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- places ---- */

void lsp_put_location(const Lsp *l, const Doc *d, size_t at, size_t n, Bytes *out) {
    bytes_puts(out, "{\"uri\":");
    utf8_put_json(d->uri, strlen(d->uri), out);
    bytes_puts(out, ",\"range\":");
    doc_put_range(d, at, at + n, l->is_utf8, out);
    bytes_putc(out, '}');
}

/* The place of a global name, or the start if name is NULL or unknown. */
static void put_global(Lsp *l, Doc *d, const char *name, Bytes *out) {
    const Use *def = name ? index_global(doc_index(d, l->in), name) : NULL;
    lsp_put_location(l, d, def ? def->at : 0, def ? strlen(name) : 0, out);
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
    char folder[PATH_MAX - 256];
    if (!folder_of_user("XDG_CACHE_HOME", ".cache", folder, sizeof folder)) return false;
    snprintf(path, size, "%s/prelude-%s/%s", folder, GTSH_VERSION, src->name);
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
    if (m) lsp_put_location(l, d, m->at, strlen(name), out);
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
        lsp_put_location(l, d, def->at, strlen(def->name), out);
    else
        ok = ok && ((start < from && put_member(l, d, from, name, out)) ||
                    put_prelude(l, d->text.data + start, to - start, out));
    if (!ok) {
        out->n = mark;
        bytes_puts(out, "null");
    }
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
    utf8_put_json(name, n, out);
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
        if (tok_opens(kind)) {
            if (n < 200) open[n] = t.tok[i].line;
            n++;
        }
        if (!tok_closes(kind) || !n) continue;
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
        utf8_put_json(text.n ? text.data : "", text.n, out);
        bytes_putc(out, '}');
    }
    bytes_putc(out, ']');
    bytes_fini(&text);
    return true;
}
