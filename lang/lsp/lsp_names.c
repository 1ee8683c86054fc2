/* lsp_names.c: the names of the language, for hover, signatures and completion.
 * SPDX-License-Identifier: MIT */
#include "lang/lsp/lsp_names.h"
#include "lang/help/help.h"
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

/* Appends the body of a help text: sentences, and examples as code. */
static void put_body(const Bytes *body, Bytes *out) {
    bool is_code = false;
    for (size_t at = 0, n; at < body->n; at += n + 1) {
        const char *s = body->data + at, *end = memchr(s, '\n', body->n - at);
        n = end ? (size_t)(end - s) : body->n - at;
        bool is_remark = n > 8 && (!strncmp(s, "PyTorch:", 8) || !strncmp(s, "NumPy:", 6) ||
                                   !strncmp(s, "Python:", 7));
        if (n > 6 && !strncmp(s, "usage:", 6)) continue;  /* among the signatures */
        if (is_remark && !is_code) bytes_putc(out, '\n'); /* a paragraph of its own */
        bool is_example = n > 1 && s[0] == '>' && s[1] == ' ';
        if (is_example && !is_code) bytes_puts(out, "\n```gt\n");
        if (!n && is_code) bytes_puts(out, "```\n");
        is_code = n && (is_code || is_example);
        bytes_add(out, s, n);
        bytes_putc(out, '\n');
    }
    if (is_code) bytes_puts(out, "```\n");
}

bool lsp_describe(Interp *in, const char *path, size_t n, Bytes *out) {
    char name[200];
    Bytes usage = {0}, body = {0};
    const char *dot = memrchr(path, '.', n);
    snprintf(name, sizeof name, "%.*s", (int)n, path);
    bool ok = n < sizeof name && help_parts(in, name, &usage, &body);
    if (!ok && dot && lsp_method(intern(dot + 1, (size_t)(path + n - dot - 1))))
        ok = help_parts(in, name + (dot + 1 - path), &usage, &body);
    if (ok) {
        if (usage.n && usage.data[usage.n - 1] == '\n') usage.n--;
        if (usage.n) put_code(&usage, out);
        bytes_putc(out, '\n');
        put_body(&body, out);
    }
    bytes_fini(&usage);
    bytes_fini(&body);
    return ok;
}
