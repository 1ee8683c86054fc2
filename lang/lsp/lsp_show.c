/* lsp_show.c: hover, completion and the signature of the call around the cursor.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/builtin.h"
#include "lang/lsp/lsp_state.h"
#include "lang/value/mapv.h"
#include <stdlib.h>
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

/* Describes x.name: a method of a module of the program. */
static bool describe_member(const Index *x, const char *name, Bytes *out) {
    for (size_t k = 0; k < x->n_members; k++)
        if (x->member[k].name == name && x->member[k].fn) {
            lsp_describe_fn(x->member[k].fn, out);
            return true;
        }
    return false;
}

bool lsp_hover(Lsp *l, const IoValue *params, Bytes *out) {
    size_t at, from, to;
    Doc *d = lsp_at(l, params, &at);
    if (!d) return false;
    Index *x = doc_index(d, l->in);
    Bytes text = {0};
    bool ok = doc_word(d, at, &from, &to);
    size_t path = ok ? doc_path(d, from) : 0;
    const Use *u = ok && path == from ? index_use(x, at) : NULL;
    const Use *def = u ? index_definition(x, u) : NULL;
    if (def)
        describe_use(d, def, &text);
    else if (ok && path < from && describe_member(x, intern(d->text.data + from, to - from), &text))
        ok = true;
    else
        ok = ok && lsp_describe(l->in, d->text.data + path, to - path, &text);
    if (ok) {
        bytes_puts(out, "{\"contents\":{\"kind\":\"markdown\",\"value\":");
        json_print_str(text.data, text.n, out);
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
        bool opens = kind == TOK_LPAREN || kind == TOK_LBRACKET || kind == TOK_LBRACE;
        if (opens && n < MAX_OPEN) open[n++] = i;
        if ((kind == TOK_RPAREN || kind == TOK_RBRACKET || kind == TOK_RBRACE) && n) n--;
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
            if (kind == TOK_LPAREN || kind == TOK_LBRACKET || kind == TOK_LBRACE) depth++;
            if (depth && (kind == TOK_RPAREN || kind == TOK_RBRACKET || kind == TOK_RBRACE))
                depth--;
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
        if (!memcmp(p, a.keyword, a.n_keyword) && strchr("=,)", p[a.n_keyword])) active = k;
    }
    if (n && active >= n && s.data[part[n - 1].from] == '*') active = n - 1;
    bytes_puts(out, "{\"signatures\":[{\"label\":");
    json_print_str(s.data, s.n, out);
    bytes_puts(out, ",\"parameters\":[");
    for (size_t k = 0; k < n; k++) {
        bytes_printf(out, "%s{\"label\":", k ? "," : "");
        json_print_str(s.data + part[k].from, part[k].to - part[k].from, out);
        bytes_putc(out, '}');
    }
    bytes_printf(out, "]}],\"activeSignature\":0,\"activeParameter\":%zu}", active);
    bytes_fini(&s);
    return true;
}

/* ---- completion ---- */

typedef struct Offers {
    const char *prefix;
    size_t n_prefix;
    Map seen;
    size_t n;
    Bytes *out;
} Offers;

/* Offers a name, with the protocol's number of its kind. */
static void offer(Offers *o, const char *name, int kind, const char *order) {
    size_t n = strlen(name);
    if (n < o->n_prefix || memcmp(name, o->prefix, o->n_prefix) || o->n >= LSP_MAX_ITEMS) return;
    if (*name == '_' && !(o->n_prefix && *o->prefix == '_')) return;
    const char *key = intern(name, n);
    if (map_get(&o->seen, (uint64_t)(uintptr_t)key)) return;
    map_put(&o->seen, (uint64_t)(uintptr_t)key, o);
    bytes_puts(o->out, o->n++ ? ",{\"label\":" : "{\"label\":");
    json_print_str(name, n, o->out);
    bytes_printf(o->out, ",\"kind\":%d,\"sortText\":", kind);
    Bytes sort = {0};
    bytes_printf(&sort, "%s%s", order, name);
    json_print_str(sort.data, sort.n, o->out);
    bytes_putc(o->out, '}');
    bytes_fini(&sort);
}

enum { KIND_METHOD = 2, KIND_FUNCTION = 3, KIND_FIELD = 5, KIND_VARIABLE = 6, KIND_CLASS = 7 };
enum { KIND_PROPERTY = 10, KIND_KEYWORD = 14 };

static void offer_arguments(Lsp *l, Doc *d, size_t at, Offers *o) {
    Around a;
    Bytes s = {0};
    Part part[MAX_PARAMETERS];
    if (call_around(d, at, &a) && signature_at(l, d, &a, &s)) {
        size_t n = parameters(s.data, part, MAX_PARAMETERS);
        for (size_t k = 0; k < n; k++) {
            char name[80];
            const char *p = s.data + part[k].from;
            size_t len = strcspn(p, "=,)");
            if (*p == '*' || len + 2 > sizeof name) continue;
            memcpy(name, p, len);
            strcpy(name + len, "=");
            offer(o, name, KIND_PROPERTY, "0");
        }
    }
    bytes_fini(&s);
}

static void offer_names(Lsp *l, Doc *d, size_t at, Offers *o) {
    static const char *const words[] = {"backward", "no_grad", "signal", "time"};
    const Index *x = doc_index(d, l->in);
    offer_arguments(l, d, at, o);
    for (size_t k = 0; k < x->n_uses; k++) {
        const Use *u = &x->use[k];
        if (u->is_def)
            offer(o, u->name, u->fn ? u->fn->is_module ? KIND_CLASS : KIND_FUNCTION : KIND_VARIABLE,
                  "1");
    }
    for (int k = TOK_AND; k <= TOK_NONE; k++) offer(o, lex_text(k), KIND_KEYWORD, "2");
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) offer(o, words[k], KIND_KEYWORD, "2");
    NameList names = {0};
    names_of_builtins(l->in, &names);
    for (size_t k = 0; k < names.n; k++) offer(o, names.name[k], KIND_FUNCTION, "3");
    names_fini(&names);
}

static void offer_members(Lsp *l, Doc *d, size_t from, size_t dot, Offers *o) {
    const Index *x = doc_index(d, l->in);
    Value v = {.kind = V_UNDEF}, key, value;
    if (from < dot && lsp_value(l->in, d->text.data + from, dot - from, &v) && v.kind == V_MAP &&
        v.map->is_space) {
        for (size_t i = 0; mapv_at(v.map, i, &key, &value); i++)
            if (key.kind == V_STR) offer(o, key.str->s, KIND_FUNCTION, "1");
        value_drop(v);
        return;
    }
    value_drop(v);
    for (size_t k = 0; k < x->n_members; k++)
        offer(o, x->member[k].name, x->member[k].fn ? KIND_METHOD : KIND_FIELD, "1");
    NameList names = {0};
    static const ValueKind kinds[] = {V_TENSOR, V_STR, V_LIST, V_MAP, V_OBJECT};
    names_of_builtins(l->in, &names);
    for (size_t k = 0; k < names.n; k++)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (builtin_method(kinds[i], intern(names.name[k], strlen(names.name[k]))))
                offer(o, names.name[k], KIND_METHOD, "2");
    names_fini(&names);
}

bool lsp_completion(Lsp *l, const IoValue *params, Bytes *out) {
    size_t at, from, to;
    Doc *d = lsp_at(l, params, &at);
    if (!d) return false;
    doc_word(d, at, &from, &to);
    Offers o = {.prefix = d->text.data + from, .n_prefix = at - from, .out = out};
    bytes_puts(out, "{\"isIncomplete\":false,\"items\":[");
    if (from && d->text.data[from - 1] == '.')
        offer_members(l, d, doc_path(d, from), from - 1, &o);
    else
        offer_names(l, d, at, &o);
    bytes_puts(out, "]}");
    map_fini(&o.seen);
    return true;
}
