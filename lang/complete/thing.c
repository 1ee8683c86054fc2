/* thing.c: see thing.h. Values are borrowed: what a name, a field or an element holds lives at
 * least as long as the completion, because nothing runs in between.
 * SPDX-License-Identifier: MIT */
#include "lang/complete/thing.h"
#include "lang/eval/builtin.h"
#include "lang/eval/import.h"
#include "lang/eval/object.h"
#include "lang/tensor/tensor.h"
#include "lang/value/frame.h"
#include "lang/value/mapv.h"
#include "runtime/base/words.h"
#include <string.h>

enum { DEEP = 16 }; /* definitions that lead to definitions */

static Thing thing_at(Interp *in, const Scan *s, size_t from, size_t to, int depth);
static Thing member(Interp *in, const Scan *s, Thing t, const char *interned, int depth);

static Thing unknown(void) { return (Thing){.what = THING_UNKNOWN}; }
static Thing nothing(void) { return (Thing){.what = THING_NOTHING}; }
static Thing of_kind(ValueKind kind) {
    return (Thing){.what = THING_OF_KIND, .kind = (uint8_t)kind};
}
static Thing of_value(Value v) {
    return v.kind == V_UNDEF ? nothing() : (Thing){.what = THING_VALUE, .v = v};
}

ValueKind thing_value_kind(Thing t) {
    switch ((ThingKind)t.what) {
    case THING_VALUE: return t.v.kind;
    case THING_OF_KIND: return t.kind;
    case THING_OBJECT: return V_OBJECT;
    case THING_TEXT: return t.is_made ? V_OBJECT : t.def->kind == DEF_MODULE ? V_MODULE : V_FN;
    default: return V_UNDEF;
    }
}

/* A new reference that something else holds, too. */
static Thing borrow(Value v) {
    value_drop(v);
    return of_value(v);
}

/* ---- names ---- */

/* What a definition of the text stands for. */
static Thing of_def(Interp *in, const Scan *s, const Def *d, int depth) {
    if (d->kind == DEF_FN || d->kind == DEF_METHOD || d->kind == DEF_MODULE)
        return (Thing){.what = THING_TEXT, .def = d, .is_method = d->kind == DEF_METHOD};
    if (d->kind == DEF_IMPORT && d->from && s->tok[d->from].kind == TOK_NAME) {
        LangError ignored = {0};
        Value v;
        if (prelude_space(in, scan_name(s, d->from), &v, &ignored) && v.kind != V_UNDEF)
            return borrow(v);
    }
    if (d->kind == DEF_IMPORT) return nothing(); /* a file that has not been read */
    if ((d->kind == DEF_VARIABLE || d->kind == DEF_FIELD) && d->from && depth < DEEP)
        return thing_at(in, s, d->from, s->n, depth + 1);
    return unknown();
}

static Thing of_name(Interp *in, const Scan *s, const char *interned, int depth) {
    const Def *d = scan_find(s, interned);
    Thing t = d ? of_def(in, s, d, depth) : nothing();
    if (d && (d->kind != DEF_IMPORT || t.what != THING_NOTHING)) return t;
    int module = scan_module(s);
    for (size_t i = 0; !strcmp(interned, "self") && module >= 0 && i < s->n_defs; i++)
        if (s->def[i].body == module)
            return (Thing){.what = THING_TEXT, .def = &s->def[i], .is_made = true};
    const GlobalVar *var =
        in->globals ? map_get(&in->globals->by_name, (uint64_t)(uintptr_t)interned) : NULL;
    if (var && var->v.kind != V_UNDEF) return of_value(var->v);
    if (!strcmp(interned, "args")) return of_kind(V_LIST); /* a look-up would count as a use */
    LangError ignored = {0};
    Value v;
    return builtin_value(in, interned, &v, &ignored) ? borrow(v) : nothing();
}

Thing thing_of_name(Interp *in, const Scan *s, const char *interned) {
    return of_name(in, s, interned, 0);
}

/* ---- members ---- */

static Thing method_of_kind(Interp *in, ValueKind kind, const char *interned) {
    LangError ignored = {0};
    Value v = {.kind = V_UNDEF};
    const Builtin *b = builtin_method(kind, interned);
    if (b)
        v = (Value){.kind = V_BUILTIN, .builtin = b};
    else if (kind == V_TENSOR && !prelude_value(in, interned, &v, &ignored))
        return nothing();
    Thing t = borrow(v);
    t.is_method = t.what == THING_VALUE;
    return t;
}

/* A field of a tensor, which may be NULL: only its kind is known. */
static Thing tensor_member(const Tensor *t, const char *name, bool *found) {
    static const struct {
        const char *name;
        uint8_t kind;
    } fields[] = {{"shape", V_LIST},    {"dtype", V_DTYPE},        {"ndim", V_INT},
                  {"T", V_TENSOR},      {"mT", V_TENSOR},          {"data", V_TENSOR},
                  {"grad", V_TENSOR},   {"requires_grad", V_BOOL}, {"values", V_TENSOR},
                  {"indices", V_TENSOR}};
    *found = true;
    if (t && !strcmp(name, "grad"))
        return t->grad ? of_value((Value){.kind = V_TENSOR, .tensor = t->grad}) : nothing();
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!strcmp(fields[i].name, name)) {
            Thing field = of_kind((ValueKind)fields[i].kind);
            field.element = field.kind == V_LIST ? V_INT : V_NONE;
            return field;
        }
    *found = false;
    return nothing();
}

static Thing space_member(Interp *in, MapV *space, const char *interned) {
    LangError ignored = {0};
    Value v;
    const Value *own = map_find_name(space, interned);
    if (own) return of_value(*own);
    if (!strcmp(interned, "args")) return of_kind(V_LIST);
    return space_get(in, space, interned, &v, &ignored) ? borrow(v) : nothing();
}

static Thing object_member(Interp *in, Object *o, const char *interned) {
    const Value *v = object_find(o, interned);
    if (!v && !object_method(o, interned)) v = object_item(o, interned);
    if (v) return of_value(*v);
    Fn *f = object_method(o, interned);
    if (f) return (Thing){.what = THING_VALUE, .is_method = true, .v = {.kind = V_FN, .fn = f}};
    return method_of_kind(in, V_OBJECT, interned);
}

/* A field or method of an object of a module that the text defines. */
static Thing text_member(Interp *in, const Scan *s, const Def *module, const char *interned,
                         int depth) {
    for (size_t i = 0; i < s->n_defs; i++) {
        const Def *d = &s->def[i];
        if (d->name == interned && d->scope == module->body &&
            (d->kind == DEF_FIELD || d->kind == DEF_METHOD))
            return of_def(in, s, d, depth);
    }
    return method_of_kind(in, V_OBJECT, interned);
}

static Thing module_member(Interp *in, const Module *m, const char *interned) {
    const Value *f = m->method ? map_find_name(m->method, interned) : NULL;
    if (!f) return method_of_kind(in, V_OBJECT, interned);
    Thing t = of_value(*f);
    t.is_method = true;
    return t;
}

static Thing member(Interp *in, const Scan *s, Thing t, const char *interned, int depth) {
    bool found;
    Thing field;
    if (t.what == THING_UNKNOWN) {
        field = method_of_kind(in, V_TENSOR, interned);
        return field.what == THING_NOTHING ? unknown() : field;
    }
    if (t.what == THING_NOTHING) return t;
    if (t.what == THING_OBJECT) return module_member(in, t.v.module, interned);
    if (t.what == THING_TEXT)
        return t.is_made ? text_member(in, s, t.def, interned, depth) : nothing();
    if (t.what == THING_VALUE && t.v.kind == V_OBJECT) return object_member(in, t.v.obj, interned);
    if (t.what == THING_VALUE && t.v.kind == V_MODULE)
        return module_member(in, t.v.module, interned);
    if (t.what == THING_VALUE && t.v.kind == V_MAP) {
        if (t.v.map->is_space) return space_member(in, t.v.map, interned);
        const Value *v = map_find_name(t.v.map, interned);
        if (v) return of_value(*v);
    }
    ValueKind kind = thing_value_kind(t);
    if (kind == V_TENSOR) {
        field = tensor_member(t.what == THING_VALUE ? t.v.tensor : NULL, interned, &found);
        if (found) return field;
    }
    return method_of_kind(in, kind, interned);
}

Thing thing_member(Interp *in, const Scan *s, Thing t, const char *interned) {
    return member(in, s, t, interned, 0);
}

/* ---- calls and indices ---- */

/* What a builtin returns, by its name: THING_UNKNOWN for most, which return tensors. */
static Thing result_of(const Builtin *b) {
    static const struct {
        uint8_t kind, element;
        const char *names;
    } results[] = {
        {V_STR, V_NONE,
         "str repr input join strip lstrip rstrip upper lower replace format read capitalize title "
         "type chr"},
        {V_LIST, V_STR, "split splitlines keys listdir glob"},
        {V_LIST, V_NONE,
         "list sorted zip enumerate values items parameters buffers modules children reversed "
         "shuffle"},
        {V_RANGE, V_INT, "range"},
        {V_MAP, V_NONE, "map dict state_dict"},
        {V_SET, V_NONE, "set"},
        {V_NONE, V_NONE,
         "print save write manual_seed seed backward append insert clear sort reverse assert exit "
         "zero_grad sync"},
        {V_INT, V_NONE, "len int ord numel count find index dim ndim"},
        {V_FLOAT, V_NONE, "float"},
        {V_BOOL, V_NONE, "bool isinstance hasattr any all startswith endswith isdir exists"},
    };
    const char *dot = strrchr(b->name, '.'), *name = dot ? dot + 1 : b->name;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (words_have(results[i].names, name, strlen(name)) && !(b->kinds & 1u << V_TENSOR)) {
            Thing t = of_kind((ValueKind)results[i].kind);
            t.element = results[i].element;
            return t;
        }
    return unknown();
}

static Thing called(Thing t) {
    if (t.what == THING_TEXT && t.def->kind == DEF_MODULE && !t.is_made) {
        t.is_made = true;
        return t;
    }
    if (t.what != THING_VALUE) return t.what == THING_NOTHING ? t : unknown();
    if (t.v.kind == V_MODULE) return (Thing){.what = THING_OBJECT, .v = t.v};
    if (t.v.kind == V_BUILTIN) return result_of(t.v.builtin);
    return value_is_callable(t.v) ? unknown() : nothing();
}

/* The int or string within the brackets at tokens from .. to: a literal, or a name's value. */
static bool constant(Interp *in, const Scan *s, size_t from, size_t to, Value *v, Bytes *text,
                     int depth) {
    bool is_negative = from < to && s->tok[from].kind == TOK_SUB;
    from += is_negative;
    if (from + 1 != to) return false;
    const Token *t = &s->tok[from];
    if (t->kind == TOK_INT && t->i <= INT64_MAX) {
        *v = v_int(is_negative ? -(int64_t)t->i : (int64_t)t->i);
        return true;
    }
    if (t->kind == TOK_STRING) {
        LangError ignored = {0};
        char quote;
        bool is_f;
        size_t body = scan_string_body(s, from, &quote, &is_f);
        size_t quotes = body - t->at, end = t->at + t->n;
        if (end < body + quotes) return false;
        if (!lex_unescape(&s->src, body, end - quotes, 1, 1, text, &ignored)) return false;
        const char *key = intern(text->data ? text->data : "", text->n);
        *v = name_str(in, key);
        return true;
    }
    if (t->kind != TOK_NAME || is_negative) return false;
    Thing named = of_name(in, s, scan_name(s, from), depth);
    *v = named.v;
    return named.what == THING_VALUE && (named.v.kind == V_INT || named.v.kind == V_STR);
}

static Thing element(Thing t, Value key) {
    if (t.v.kind == V_OBJECT) {
        const Value *items = object_items(t.v.obj);
        if (!items) return nothing();
        t.v = *items;
    }
    if (t.v.kind == V_MAP) {
        const Value *v = map_find(t.v.map, key);
        return v ? of_value(*v) : nothing();
    }
    if (t.v.kind != V_LIST || key.kind != V_INT) return unknown();
    int64_t n = t.v.list->n, i = key.i < 0 ? key.i + n : key.i;
    return i >= 0 && i < n ? of_value(list_get(t.v.list, i)) : nothing();
}

/* t[tokens from .. to). */
static Thing indexed(Interp *in, const Scan *s, Thing t, size_t from, size_t to, int depth) {
    ValueKind kind = thing_value_kind(t);
    Bytes text = {0};
    Value key;
    Thing result = unknown();
    if (t.what == THING_NOTHING)
        result = t;
    else if (kind == V_TENSOR || kind == V_STR)
        result = of_kind(kind);
    else if (kind == V_RANGE)
        result = of_kind(V_INT);
    else if (t.what == THING_OF_KIND && t.element)
        result = of_kind((ValueKind)t.element);
    else if (t.what == THING_VALUE && constant(in, s, from, to, &key, &text, depth))
        result = element(t, key);
    else if (kind == V_LIST)
        for (size_t i = from; i < to; i++)
            if (s->tok[i].kind == TOK_COLON) result = of_kind(V_LIST);
    bytes_fini(&text);
    return result;
}

/* ---- expressions ---- */

/* The first operand, at token *i, which moves behind it. */
static Thing operand(Interp *in, const Scan *s, size_t *i, size_t to, int depth) {
    size_t at = (*i)++, close;
    switch (s->tok[at].kind) {
    case TOK_NAME: return of_name(in, s, scan_name(s, at), depth);
    case TOK_STRING:
    case TOK_FSTRING: return of_kind(V_STR);
    case TOK_INT: return of_kind(V_INT);
    case TOK_FLOAT: return of_kind(V_FLOAT);
    case TOK_TRUE:
    case TOK_FALSE: return of_kind(V_BOOL);
    case TOK_NONE: return nothing();
    case TOK_LPAREN:
    case TOK_LBRACKET:
    case TOK_LBRACE:
        close = scan_closer(s, at);
        if (close == SIZE_MAX || close >= to) return nothing();
        *i = close + 1;
        if (s->tok[at].kind == TOK_LBRACE) return of_kind(V_MAP);
        if (s->tok[at].kind == TOK_LBRACKET) return of_kind(V_LIST);
        for (size_t k = at + 1; k < close; k++)
            if (s->tok[k].kind == TOK_COMMA) return unknown();
        return depth < DEEP ? thing_at(in, s, at + 1, close, depth + 1) : unknown();
    default: return nothing();
    }
}

/* True if an expression may end before the token. */
static bool ends(const Scan *s, size_t i, size_t to) {
    if (i >= to) return true;
    int kind = s->tok[i].kind;
    return kind == TOK_NEWLINE || kind == TOK_SEMI || kind == TOK_RBRACE || kind == TOK_COMMA ||
           kind == TOK_RPAREN || kind == TOK_RBRACKET;
}

/* The expression that begins at token `from`: an operand with fields, indices and calls; with an
 * operator behind that its value is unknown. */
static Thing thing_at(Interp *in, const Scan *s, size_t from, size_t to, int depth) {
    if (from >= to || depth > DEEP) return unknown();
    size_t i = from;
    Thing t = operand(in, s, &i, to, depth);
    while (i < to) {
        int kind = s->tok[i].kind;
        if (kind == TOK_DOT && i + 1 < to && s->tok[i + 1].is_word) {
            t = member(in, s, t, scan_name(s, i + 1), depth);
            i += 2;
            continue;
        }
        if ((kind != TOK_LPAREN && kind != TOK_LBRACKET) || !s->tok[i].is_glued) break;
        size_t close = scan_closer(s, i);
        if (close == SIZE_MAX || close >= to) return unknown();
        t = kind == TOK_LPAREN ? called(t) : indexed(in, s, t, i + 1, close, depth);
        i = close + 1;
    }
    return ends(s, i, to) ? t : unknown();
}

/* The first token of the expression whose last token is `last`, or SIZE_MAX. */
static size_t begin_of(const Scan *s, size_t last) {
    size_t i = last;
    for (;;) {
        int kind = s->tok[i].kind;
        if (tok_closes(kind)) {
            i = scan_opener(s, i);
            if (i == SIZE_MAX) return SIZE_MAX;
            bool is_suffix = kind != TOK_RBRACE && i > 0 && s->tok[i].is_glued;
            int before = is_suffix ? s->tok[i - 1].kind : TOK_END;
            bool has_word = is_suffix && (before == TOK_NAME || (i > 1 && s->tok[i - 1].is_word &&
                                                                 s->tok[i - 2].kind == TOK_DOT));
            if (!has_word && before != TOK_RPAREN && before != TOK_RBRACKET && before != TOK_STRING)
                return i;
            i--;
            continue;
        }
        bool is_field = i > 1 && s->tok[i - 1].kind == TOK_DOT;
        if (!is_field) return i;
        i -= 2;
    }
}

Thing thing_before(Interp *in, const Scan *s, size_t last) {
    size_t from = begin_of(s, last);
    return from == SIZE_MAX ? nothing() : thing_at(in, s, from, last + 1, 0);
}
