/* lsp_names.c: the names of the language, for hover, signatures and completion.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/builtin.h"
#include "lang/lsp/lsp_state.h"
#include "lang/value/mapv.h"
#include <stdio.h>
#include <string.h>

bool lsp_value(Interp *in, const char *path, size_t n, Value *v) {
    LangError ignored = {0};
    const char *end = path + n, *dot = memchr(path, '.', n);
    *v = (Value){.kind = V_UNDEF};
    if (!builtin_value(in, intern(path, (size_t)((dot ? dot : end) - path)), v, &ignored))
        *v = (Value){.kind = V_UNDEF};
    while (dot && v->kind != V_UNDEF) {
        const char *part = dot + 1;
        dot = memchr(part, '.', (size_t)(end - part));
        Value base = *v;
        bool ok =
            base.kind == V_MAP && base.map->is_space &&
            space_get(in, base.map, intern(part, (size_t)((dot ? dot : end) - part)), v, &ignored);
        value_drop(base);
        if (!ok) *v = (Value){.kind = V_UNDEF};
    }
    return v->kind != V_UNDEF;
}

const Builtin *lsp_method(const char *interned) {
    static const ValueKind kinds[] = {V_TENSOR, V_LIST, V_STR, V_MAP, V_OBJECT};
    const Builtin *b = NULL;
    for (size_t k = 0; !b && k < sizeof kinds / sizeof *kinds; k++)
        b = builtin_method(kinds[k], interned);
    return b;
}

static const AstFn *fn_of(Value v) {
    return v.kind == V_FN ? v.fn->ast : v.kind == V_MODULE ? v.module->make->ast : NULL;
}

static void put_signature(const char *path, size_t n, Value v, Bytes *out) {
    const AstFn *fn = fn_of(v);
    if (!fn) {
        bytes_printf(out, "%.*s(%s)", (int)n, path, v.builtin->signature);
        return;
    }
    const char *dot = memrchr(path, '.', n);
    bytes_add(out, path, dot ? (size_t)(dot + 1 - path) : 0);
    fn_signature(fn, out);
}

/* As a method: without its first parameter. */
static void put_method(const Builtin *b, Bytes *out) {
    const char *rest = strchr(b->signature, ',');
    bytes_printf(out, "%s(%s)", b->name, rest ? rest + 1 + strspn(rest + 1, " ") : "");
}

bool lsp_signature(Interp *in, const char *path, size_t n, Bytes *out) {
    Value v;
    const char *dot = memrchr(path, '.', n);
    if (lsp_value(in, path, n, &v)) {
        bool is_function = v.kind == V_BUILTIN || fn_of(v);
        if (is_function) put_signature(path, n, v, out);
        value_drop(v);
        return is_function;
    }
    const Builtin *b = dot ? lsp_method(intern(dot + 1, (size_t)(path + n - dot - 1))) : NULL;
    if (b) put_method(b, out);
    return b != NULL;
}

static void put_code(const Bytes *code, Bytes *out) {
    bytes_puts(out, "```gt\n");
    bytes_add(out, code->data, code->n);
    bytes_puts(out, "\n```\n");
}

static void put_text(const char *doc, Bytes *out) {
    if (doc && *doc) bytes_printf(out, "\n%s\n", doc);
}

void lsp_describe_fn(const AstFn *fn, Bytes *out) {
    Bytes code = {0};
    bytes_puts(&code, fn->is_module ? "module " : "fn ");
    fn_signature(fn, &code);
    put_code(&code, out);
    put_text(fn->doc, out);
    bytes_fini(&code);
}

bool lsp_describe(Interp *in, const char *path, size_t n, Bytes *out) {
    Value v = {.kind = V_UNDEF};
    Bytes code = {0};
    if (!lsp_signature(in, path, n, &code)) {
        if (!lsp_value(in, path, n, &v)) return false;
        bool is_space = v.kind == V_MAP && v.map->is_space;
        if (is_space)
            bytes_printf(out, "`%.*s`: a namespace of %zu names\n", (int)n, path, map_count(v.map));
        else
            bytes_printf(out, "`%.*s`: %s\n", (int)n, path, value_type_name(v));
        value_drop(v);
        return true;
    }
    put_code(&code, out);
    bytes_fini(&code);
    const char *dot = memrchr(path, '.', n);
    if (lsp_value(in, path, n, &v)) {
        put_text(fn_of(v) ? fn_of(v)->doc : v.builtin->doc, out);
        const BuiltinEntry *twin =
            v.kind == V_BUILTIN ? ((const BuiltinEntry *)v.builtin)->twin : NULL;
        if (twin)
            bytes_printf(out, "\n`%.*s(%s)`, of a tensor: %s\n", (int)n, path, twin->b.signature,
                         twin->b.doc);
        value_drop(v);
    } else
        put_text(lsp_method(intern(dot + 1, (size_t)(path + n - dot - 1)))->doc, out);
    return true;
}
