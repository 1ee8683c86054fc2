/* offer.c: see offer.h; and the hints of candidates.
 * SPDX-License-Identifier: MIT */
#include "lang/complete/offer.h"
#include "lang/eval/builtin.h"
#include "lang/eval/import.h"
#include "lang/eval/object.h"
#include "lang/tensor/tensor.h"
#include "lang/value/mapv.h"
#include "runtime/base/words.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    HINT_MAX = 100, /* bytes of a hint */
    NEAR_LEAST = 3  /* letters of a word that may be misspelt */
};

/* ---- signatures ---- */

/* Appends a signature without its first parameter. */
static void drop_first(const char *params, Bytes *out) {
    int depth = 0;
    for (; *params && (depth || *params != ','); params++)
        depth += (*params == '(' || *params == '[') - (*params == ')' || *params == ']');
    if (*params) params += 1 + (params[1] == ' ');
    bytes_puts(out, params);
}

/* The parameters of a function that the text defines: up to the closing parenthesis. */
static void text_params(const Scan *s, const Def *d, Bytes *out) {
    size_t close = d->from < s->n && scan_is(s, d->from, "(") ? scan_closer(s, d->from) : SIZE_MAX;
    if (close == SIZE_MAX) return;
    size_t from = s->tok[d->from].at + 1, to = s->tok[close].at;
    for (size_t i = from; i < to; i++) {
        char c = s->src.text[i];
        bool is_blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
        if (is_blank && (out->data[out->n - 1] == ' ' || out->data[out->n - 1] == '(')) continue;
        bytes_putc(out, is_blank ? ' ' : c);
    }
}

static void fn_params(const AstFn *f, bool is_method, Bytes *out) {
    Bytes all = {0};
    fn_signature(f, &all);
    char *params = strchr(all.data, '(') + 1;
    all.data[all.n - 1] = '\0';
    if (is_method && !f->is_method)
        drop_first(params, out);
    else
        bytes_puts(out, params);
    bytes_fini(&all);
}

bool signature_of(Interp *in, const Scan *s, Thing t, const char *name, Bytes *out) {
    bytes_printf(out, "%s(", name);
    if (t.what == THING_TEXT && !t.is_made)
        text_params(s, t.def, out);
    else if (t.what == THING_OBJECT || t.what == THING_TEXT ||
             (t.what == THING_VALUE && t.v.kind == V_OBJECT)) {
        Thing forward = thing_member(in, s, t, intern("forward", 7));
        if (forward.what == THING_NOTHING) return false;
        return out->n = 0, signature_of(in, s, forward, name, out);
    } else if (t.what != THING_VALUE)
        return false;
    else if (t.v.kind == V_BUILTIN && t.is_method)
        drop_first(t.v.builtin->signature, out);
    else if (t.v.kind == V_BUILTIN)
        bytes_puts(out, t.v.builtin->signature);
    else if (t.v.kind == V_FN)
        fn_params(t.v.fn->ast, t.is_method, out);
    else if (t.v.kind == V_MODULE)
        fn_params(t.v.module->make->ast, false, out);
    else if (t.v.kind == V_BOUND)
        return out->n = 0,
               signature_of(in, s,
                            (Thing){.what = THING_VALUE, .v = t.v.bound->f, .is_method = true},
                            name, out);
    else
        return false;
    bytes_putc(out, ')');
    return true;
}

/* ---- hints ---- */

static void value_hint(Value v, Bytes *out) {
    char shape[256];
    switch ((ValueKind)v.kind) {
    case V_BOOL: bytes_puts(out, v.b ? "true" : "false"); break;
    case V_INT: bytes_printf(out, "%lld", (long long)v.i); break;
    case V_FLOAT: bytes_printf(out, "%.6g", v.f); break;
    case V_STR: bytes_printf(out, "\"%s\"", v.str->s); break;
    case V_LIST: bytes_printf(out, "list of %u", v.list->n); break;
    case V_MAP:
        if (v.map->is_space)
            bytes_puts(out, "namespace");
        else
            bytes_printf(out, "map of %zu", map_count(v.map));
        break;
    case V_TENSOR:
        bytes_printf(out, "tensor %s%s", type_text(tensor_type(v.tensor), shape),
                     v.tensor->is_param ? ", param" : "");
        break;
    case V_DTYPE: bytes_printf(out, "dtype"); break;
    default: bytes_puts(out, value_type_name(v)); break;
    }
}

static void kind_hint(ValueKind kind, Bytes *out) {
    static const char *const names[V_SET + 1] = {
        [V_BOOL] = "bool", [V_INT] = "int",       [V_FLOAT] = "float",  [V_DTYPE] = "dtype",
        [V_STR] = "str",   [V_LIST] = "list",     [V_RANGE] = "range",  [V_MAP] = "map",
        [V_SET] = "set",   [V_OBJECT] = "object", [V_TENSOR] = "tensor"};
    if (kind <= V_SET && names[kind]) bytes_puts(out, names[kind]);
}

/* Keeps the first line of a hint, at most HINT_MAX bytes. */
static void shorten(Bytes *b) {
    for (size_t i = 0; i < b->n; i++)
        if ((unsigned char)b->data[i] < ' ') b->data[i] = ' ';
    if (b->n <= HINT_MAX) return;
    size_t n = HINT_MAX;
    while (n && ((unsigned char)b->data[n] & 0xc0) == 0x80) n--;
    b->n = n;
    bytes_puts(b, "…");
}

/* Appends the signature "f(x, a=1)", n bytes, as that of a method: "f(a=1)". */
static void without_first(const char *signature, size_t n, Bytes *out) {
    char *copy = xstrndup(signature, n), *params = strchr(copy, '(');
    if (params) {
        bytes_add(out, copy, (size_t)(params + 1 - copy));
        drop_first(params + 1, out);
        if (out->data[out->n - 1] == '(') bytes_putc(out, ')');
    }
    free(copy);
}

static const char *hint_text(Offers *o, const Offer *f, Arena *arena) {
    Bytes b = {0};
    size_t n;
    const char *prelude =
        f->thing.what == THING_UNKNOWN ? prelude_signature(o->in, f->name, &n) : NULL;
    if (f->hint)
        bytes_puts(&b, f->hint);
    else if (prelude && f->thing.is_method)
        without_first(prelude, n, &b);
    else if (prelude)
        bytes_add(&b, prelude, n);
    else if (!signature_of(o->in, o->s, f->thing, f->name, &b) || !b.n) {
        b.n = 0;
        if (f->thing.what == THING_VALUE)
            value_hint(f->thing.v, &b);
        else
            kind_hint(thing_value_kind(f->thing), &b);
    }
    shorten(&b);
    const char *text = arena_strndup(arena, b.data ? b.data : "", b.n);
    bytes_fini(&b);
    return text;
}

/* ---- offers ---- */

static bool begins(const char *name, const char *word, size_t n, bool any_case) {
    return !(any_case ? strncasecmp(name, word, n) : strncmp(name, word, n));
}

static Offer *add(Offers *o, const char *interned, CandidateKind kind) {
    bool is_private = interned[0] == '_' && (o->n_word == 0 || o->word[0] != '_');
    if (is_private || map_get(&o->seen, (uint64_t)(uintptr_t)interned)) return NULL;
    map_put(&o->seen, (uint64_t)(uintptr_t)interned, o);
    ARRAY_ROOM(o->all, o->n_all, o->cap, 256);
    Offer *f = &o->all[o->n_all++];
    *f = (Offer){.name = interned, .kind = (uint8_t)kind};
    f->is_like = begins(interned, o->word, o->n_word, true);
    f->is_exact = begins(interned, o->word, o->n_word, false);
    o->n += f->is_like;
    o->has_exact = o->has_exact || f->is_exact;
    return f;
}

void offer(Offers *o, const char *interned, CandidateKind kind, bool is_own, Thing t) {
    Offer *f = add(o, interned, kind);
    if (!f) return;
    f->is_own = is_own;
    f->thing = t;
}

void offer_hint(Offers *o, const char *interned, CandidateKind kind, const char *hint) {
    Offer *f = add(o, interned, kind);
    if (f) f->hint = hint;
}

static CandidateKind kind_of_value(Value v, CandidateKind otherwise) {
    return v.kind == V_MODULE                      ? CANDIDATE_MODULE
           : v.kind == V_FN || v.kind == V_BUILTIN ? CANDIDATE_FUNCTION
           : v.kind == V_MAP && v.map->is_space    ? CANDIDATE_SPACE
           : v.kind == V_DTYPE                     ? CANDIDATE_CONSTANT
                                                   : otherwise;
}

void offer_builtins(Offers *o) {
    NameList names = {0};
    names_of_builtins(o->in, &names);
    for (size_t i = 0; i < names.n; i++) {
        const char *name = intern(names.name[i], strlen(names.name[i]));
        const Builtin *b = builtin_find(name);
        bool is_space = builtin_is_space(name);
        bool is_constant = builtin_is_constant(name);
        Thing t = {.what = THING_UNKNOWN};
        if (is_constant && !b) t.what = THING_NOTHING;
        if (is_space) t = (Thing){.what = THING_OF_KIND, .kind = V_MAP};
        if (b && !is_space)
            t = (Thing){.what = THING_VALUE, .v = {.kind = V_BUILTIN, .builtin = b}};
        CandidateKind kind = is_space                        ? CANDIDATE_SPACE
                             : b                             ? CANDIDATE_FUNCTION
                             : is_constant                   ? CANDIDATE_CONSTANT
                             : isupper((unsigned char)*name) ? CANDIDATE_MODULE
                                                             : CANDIDATE_FUNCTION;
        offer(o, name, kind, false, t);
    }
    names_fini(&names);
}

static void offer_methods(Offers *o, ValueKind kind) {
    NameList names = {0};
    names_of_methods(o->in, (Value){.kind = (uint8_t)kind}, &names);
    for (size_t i = 0; i < names.n; i++) {
        const char *name = intern(names.name[i], strlen(names.name[i]));
        const Builtin *b = builtin_method(kind, name);
        Thing t = {.what = THING_UNKNOWN, .is_method = true};
        if (b)
            t = (Thing){
                .what = THING_VALUE, .is_method = true, .v = {.kind = V_BUILTIN, .builtin = b}};
        offer(o, name, CANDIDATE_METHOD, false, t);
    }
    names_fini(&names);
}

/* True if a string literal holds the text as it is. */
static bool is_plain(const Str *s) {
    for (uint32_t i = 0; i < s->n; i++)
        if ((unsigned char)s->s[i] < ' ' || strchr("\"'\\{}", s->s[i])) return false;
    return true;
}

static bool is_name(const Str *s) {
    bool is = s->n > 0 && !isdigit((unsigned char)s->s[0]);
    for (uint32_t i = 0; i < s->n; i++)
        is = is && (isalnum((unsigned char)s->s[i]) || s->s[i] == '_');
    return is;
}

/* Offers the string keys of m; with only_names those that may follow a dot. */
static void offer_entries(Offers *o, const MapV *m, CandidateKind kind, bool only_names) {
    Value k, v;
    for (size_t i = 0; mapv_at(m, i, &k, &v); i++)
        if (k.kind == V_STR && (only_names ? is_name(k.str) : is_plain(k.str)))
            offer(o, intern(k.str->s, k.str->n), kind_of_value(v, kind), true,
                  (Thing){.what = THING_VALUE, .v = v});
}

static void offer_space(Offers *o, const MapV *space) {
    NameList names = {0};
    offer_entries(o, space, CANDIDATE_FIELD, true);
    names_of_space(space, &names);
    for (size_t i = 0; i < names.n; i++) {
        const char *name = intern(names.name[i], strlen(names.name[i]));
        Value v;
        LangError ignored = {0};
        if (!space_get(o->in, (MapV *)space, name, &v, &ignored)) continue;
        offer(o, name, kind_of_value(v, CANDIDATE_FIELD), false,
              (Thing){.what = THING_VALUE, .v = v});
        value_drop(v); /* the namespace or the table holds it */
    }
    names_fini(&names);
    bool has_all = !strcmp(space->name, "gt") || !strcmp(space->name, "F");
    if (has_all || (space->has_builtins && o->n_word && !o->n)) offer_builtins(o);
}

static void offer_tensor_fields(Offers *o, const Tensor *t) {
    static const uint8_t kinds[] = {V_LIST,   V_DTYPE,  V_INT,  V_TENSOR,
                                    V_TENSOR, V_TENSOR, V_BOOL, V_TENSOR};
    for (size_t i = 0; tensor_field_names[i]; i++) {
        const char *name = intern(tensor_field_names[i], strlen(tensor_field_names[i]));
        if (t && !strcmp(name, "grad") && !t->is_param && !t->is_buffer) continue;
        uint8_t kind = i < sizeof kinds ? kinds[i] : V_TENSOR;
        offer(o, name, CANDIDATE_FIELD, false, (Thing){.what = THING_OF_KIND, .kind = kind});
    }
    for (int i = 0; t && t->pair && i < 2; i++)
        offer(o, intern(i ? "indices" : "values", i ? 7 : 6), CANDIDATE_FIELD, false,
              (Thing){.what = THING_OF_KIND, .kind = V_TENSOR});
}

static void offer_module_methods(Offers *o, const Module *m) {
    Value k, v;
    for (size_t i = 0; m && m->method && mapv_at(m->method, i, &k, &v); i++)
        offer(o, intern(k.str->s, k.str->n), CANDIDATE_METHOD, true,
              (Thing){.what = THING_VALUE, .v = v, .is_method = true});
}

static void offer_object(Offers *o, Object *obj) {
    const Value *items = object_items(obj);
    MapV *fields = object_fields(obj);
    if (fields) offer_entries(o, fields, CANDIDATE_FIELD, true);
    if (items && items->kind == V_MAP) offer_entries(o, items->map, CANDIDATE_FIELD, true);
    offer_module_methods(o, obj->module);
    offer(o, intern("training", 8), CANDIDATE_FIELD, false,
          (Thing){.what = THING_OF_KIND, .kind = V_BOOL});
    offer_methods(o, V_OBJECT);
}

static void offer_text_members(Offers *o, const Def *module) {
    for (size_t i = 0; i < o->s->n_defs; i++) {
        const Def *d = &o->s->def[i];
        if (d->scope != module->body || (d->kind != DEF_FIELD && d->kind != DEF_METHOD)) continue;
        bool is_method = d->kind == DEF_METHOD;
        Thing t = {.what = is_method ? THING_TEXT : THING_NOTHING, .def = d};
        offer(o, d->name, is_method ? CANDIDATE_METHOD : CANDIDATE_FIELD, true, t);
    }
    for (size_t i = 0; i < o->s->n_defs; i++) /* arguments are fields, too */
        if (o->s->def[i].scope == module->body && o->s->def[i].kind == DEF_PARAM)
            offer(o, o->s->def[i].name, CANDIDATE_FIELD, true, (Thing){.what = THING_NOTHING});
    offer_methods(o, V_OBJECT);
}

void offer_members(Offers *o, Thing t) {
    ValueKind kind = thing_value_kind(t);
    if (t.what == THING_NOTHING) return;
    if (t.what == THING_UNKNOWN) kind = V_TENSOR;
    if (t.what == THING_TEXT) {
        if (t.is_made) offer_text_members(o, t.def);
    } else if (t.what == THING_OBJECT) {
        offer_module_methods(o, t.v.module);
        offer_methods(o, V_OBJECT);
    } else if (kind == V_OBJECT && t.what == THING_VALUE)
        offer_object(o, t.v.obj);
    else if (kind == V_MODULE && t.what == THING_VALUE)
        offer_module_methods(o, t.v.module);
    else if (kind == V_MAP && t.what == THING_VALUE && t.v.map->is_space)
        offer_space(o, t.v.map);
    else {
        if (kind == V_MAP && t.what == THING_VALUE)
            offer_entries(o, t.v.map, CANDIDATE_FIELD, true);
        if (kind == V_TENSOR) offer_tensor_fields(o, t.what == THING_VALUE ? t.v.tensor : NULL);
        static const char *const error_fields[] = {"message", "hint",  "file", "line",
                                                   "column",  "stack", "text"};
        for (size_t i = 0; kind == V_ERROR && i < sizeof error_fields / sizeof *error_fields; i++)
            offer(o, intern(error_fields[i], strlen(error_fields[i])), CANDIDATE_FIELD, false,
                  (Thing){.what = THING_NOTHING});
        offer_methods(o, kind);
    }
}

void offer_keys(Offers *o, Thing t) {
    if (t.what != THING_VALUE) return;
    const Value *items = t.v.kind == V_OBJECT ? object_items(t.v.obj) : &t.v;
    if (t.v.kind == V_OBJECT && object_fields(t.v.obj))
        offer_entries(o, object_fields(t.v.obj), CANDIDATE_KEY, false);
    if (items && items->kind == V_MAP) offer_entries(o, items->map, CANDIDATE_KEY, false);
}

/* ---- the end ---- */

/* Keywords that end a word by themselves; a blank follows the others. */
static bool stands_alone(const char *word) {
    return words_have("true false none break continue else fn return", word, strlen(word));
}

static const char *after_of(const Offer *f) {
    ValueKind kind = thing_value_kind(f->thing);
    bool calls =
        f->kind == CANDIDATE_FUNCTION || f->kind == CANDIDATE_METHOD || f->kind == CANDIDATE_MODULE;
    bool is_own_fn = f->kind == CANDIDATE_VARIABLE && (kind == V_FN || kind == V_MODULE);
    if (f->kind == CANDIDATE_ARGUMENT) return "=";
    if (f->kind == CANDIDATE_KEYWORD) return stands_alone(f->name) ? "" : " ";
    return calls || is_own_fn ? "(" : "";
}

static int group(const Candidate *c) {
    return c->kind == CANDIDATE_ARGUMENT ? 0 : c->is_own ? 1 : c->kind == CANDIDATE_FIELD ? 2 : 3;
}

static int by_group(const void *a, const void *b) {
    const Candidate *x = a, *y = b;
    int d = group(x) - group(y);
    return d ? d : strcmp(x->text, y->text);
}

/* Marks the most similar of all names, if the word is long enough to tell. */
static void offer_nearest(Offers *o) {
    const char **names = xmalloc((o->n_all + 1) * sizeof *names);
    for (size_t i = 0; i < o->n_all; i++) names[i] = o->all[i].name;
    const char *near =
        o->n_word < NEAR_LEAST ? NULL : nearest_name(o->word, o->n_word, names, o->n_all);
    for (size_t i = 0; near && i < o->n_all; i++)
        if (o->all[i].name == near) o->all[i].is_like = true;
    o->n = near != NULL;
    free(names);
}

void offers_finish(Offers *o, Completion *out) {
    if (!o->n) offer_nearest(o);
    out->is_near = !o->has_exact && o->n > 0;
    for (size_t i = 0; i < o->n_all; i++) {
        const Offer *f = &o->all[i];
        if (o->has_exact ? !f->is_exact : !f->is_like) continue;
        ARRAY_PUSH(out->item, out->n, out->cap, 16,
                   (Candidate){.text = f->name,
                               .after = after_of(f),
                               .hint = hint_text(o, f, &out->arena),
                               .kind = f->kind,
                               .is_own = f->is_own});
    }
    if (out->n > 1) qsort(out->item, out->n, sizeof *out->item, by_group);
    map_fini(&o->seen);
    free(o->all);
    *o = (Offers){0};
}
