/* builtin.c: one table of all builtins, joined from the tables of the other folders, and the binder
 * that arranges arguments by signature: "x, axis=none, keepdims=false", "*shape, dtype=float32".
 * The first lookup makes the table and parses the signatures; after that it never changes. A call
 * with all parameters positional needs no binding.
 *
 * The table is per process, like the interned names that are its keys. Constants, namespaces (gt,
 * nn, signal ...) and prelude functions are not in it: builtin_value sets the order of lookup.
 * SPDX-License-Identifier: MIT */
#include "lang/value/mapv.h"
#include "lang/eval/eval.h"
#include "lang/eval/call.h"
#include "lang/eval/call_hint.h"
#include "lang/eval/subscript.h"
#include "lang/eval/builtin.h"
#include "lang/eval/import.h"
#include "lang/error/keyword.h"
#include "lang/tensor/signal.h"
#include "lang/tensor/tensor.h"
#include "lang/eval/operate.h"
#include "runtime/base/words.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

enum { KINDS = V_SET + 1, MAX_PARAMS = 24 };

/* The joined table: filled once (call_once), then read-only. */
static struct {
    once_flag once;
    BuiltinEntry **entry;
    size_t n, cap;
    Map by_name, method[KINDS]; /* interned name -> BuiltinEntry */
} all = {.once = ONCE_FLAG_INIT};

/* ---- signatures ---- */

static const char *skip_blanks(const char *s) {
    while (*s == ' ') s++;
    return s;
}

/* Parses a default value: none, true, false, a number, "text", [], a dtype or inf. */
static Value default_value(const char *s, size_t n) {
    char word[64];
    if (n >= 2 && (s[0] == '"' || s[0] == '\'')) {
        Bytes b = {0};
        for (size_t i = 1; i + 1 < n; i++)
            bytes_putc(&b, s[i] == '\\' && s[++i] == 'n' ? '\n' : s[i]);
        Value v = v_str(b.data ? b.data : "", b.n);
        bytes_fini(&b);
        return v;
    }
    snprintf(word, sizeof word, "%.*s", (int)n, s);
    if (!strcmp(word, "none")) return v_none();
    if (!strcmp(word, "true") || !strcmp(word, "false")) return v_bool(word[0] == 't');
    if (!strcmp(word, "inf") || !strcmp(word, "-inf"))
        return v_float(word[0] == '-' ? -INFINITY : INFINITY);
    DType d = dtype_find(word, strlen(word));
    if (d != DT_NONE) return v_dtype(d);
    char *end;
    long long i = strtoll(word, &end, 0);
    if (!*end && end != word) return v_int(i);
    double f = strtod(word, &end);
    if (!*end && end != word) return v_float(f);
    panic("a signature has the default '%s'", word);
}

/* Returns the end of the parameter at s: the next comma outside quotes and brackets, or the end. */
static const char *param_end(const char *s) {
    int depth = 0;
    for (char quote = 0; *s; s++) {
        if (quote)
            quote = *s == quote ? 0 : quote;
        else if (*s == '"' || *s == '\'')
            quote = *s;
        else if (*s == '(' || *s == '[')
            depth++;
        else if (*s == ')' || *s == ']')
            depth--;
        else if (*s == ',' && !depth)
            break;
    }
    return s;
}

static void parse_signature(BuiltinEntry *en) {
    BuiltinParam param[MAX_PARAMS];
    int n = 0;
    en->star = en->map = -1;
    for (const char *s = skip_blanks(en->b.signature), *end; *s;
         s = skip_blanks(*end ? end + 1 : end)) {
        end = param_end(s);
        if (n == MAX_PARAMS) panic("the signature of %s is too long", en->b.name);
        BuiltinParam *p = &param[n];
        *p = (BuiltinParam){.is_required = true};
        if (*s == '*') {
            p->is_star = true;
            *(s[1] == '*' ? &en->map : &en->star) = n;
            s += s[1] == '*' ? 2 : 1;
        }
        size_t len = 0;
        while (isalnum((unsigned char)s[len]) || s[len] == '_') len++;
        p->name = intern(s, len);
        const char *eq = skip_blanks(s + len);
        if (*eq == '=') {
            eq = skip_blanks(eq + 1);
            size_t n_dflt = (size_t)(end - eq);
            while (n_dflt && eq[n_dflt - 1] == ' ') n_dflt--;
            p->is_required = false;
            p->dflt = default_value(eq, n_dflt);
        }
        n++;
    }
    en->n_params = n;
    en->param = xmalloc((size_t)(n ? n : 1) * sizeof *param);
    memcpy(en->param, param, (size_t)n * sizeof *param);
}

/* ---- the joined table ---- */

static void join(const Builtin *table, bool is_functions, uint32_t kinds, uint32_t facts) {
    for (; table->name; table++) {
        BuiltinEntry *en = xcalloc(1, sizeof *en);
        en->b = *table;
        en->b.name = intern(table->name, strlen(table->name));
        en->b.kinds |= kinds, en->b.facts |= facts;
        parse_signature(en);
        ARRAY_PUSH(all.entry, all.n, all.cap, 256, en);
        uint64_t key = (uint64_t)(uintptr_t)en->b.name;
        if (is_functions && !(en->b.facts & BI_METHOD)) {
            BuiltinEntry *first = map_get(&all.by_name, key);
            if (!first)
                map_put(&all.by_name, key, en);
            else if (!first->twin && first->b.facts & BI_TWIN && en->b.kinds & 1u << V_TENSOR)
                first->twin = en;
        }
        for (int kind = 0; kind < KINDS; kind++)
            if ((en->b.kinds >> kind & 1) && !map_get(&all.method[kind], key))
                map_put(&all.method[kind], key, en);
    }
}

static void join_all(void) {
    static const Builtin *const functions[] = {
        builtins_host, builtins_class,  builtins_random,  builtins_file,
        builtins_io,   builtins_system, builtins_answer,  builtins_error,
        builtins_args, builtins_signal, builtins_picture, builtins_progress};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        join(functions[i], true, 0, 0);
    join(builtins_object, false, 1u << V_OBJECT, 0);
    join(builtins_string, false, 1u << V_STR | 1u << V_TEXT, BI_PURE);
    join(builtins_list, false, 1u << V_LIST | 1u << V_RANGE, 0);
    join(builtins_map, false, 1u << V_MAP, 0);
    join(builtins_tensor, true, 0, 0);
}

static inline void table_ready(void) { call_once(&all.once, join_all); }

const Builtin *builtin_find(const char *interned) {
    table_ready();
    return map_get(&all.by_name, (uint64_t)(uintptr_t)interned);
}

const Builtin *builtin_method(ValueKind kind, const char *interned) {
    table_ready();
    return map_get(&all.method[kind], (uint64_t)(uintptr_t)interned);
}

/* ---- binding ---- */

static const char *plain_name(const BuiltinEntry *en) {
    const char *dot = strrchr(en->b.name, '.');
    return dot ? dot + 1 : en->b.name;
}

static bool show_signature(const BuiltinEntry *en, const char *near, LangError *e) {
    Bytes b = {0};
    bytes_printf(&b, "%s(%s)", plain_name(en), en->b.signature);
    error_signature(e, near, b.data);
    bytes_fini(&b);
    return false;
}

static bool bad_call(Interp *in, const BuiltinEntry *en, const Node *at, LangError *e,
                     const char *what) {
    fail_at(in, at, e, "%s", what);
    return show_signature(en, NULL, e);
}

static bool unknown_keyword(Interp *in, const BuiltinEntry *en, const char *name, const Node *kw,
                            const Node *call, LangError *e) {
    NameList names = {0};
    for (int i = 0; i < en->n_params; i++) names_add(&names, en->param[i].name);
    const char *near = nearest_name(name, strlen(name), names.name, names.n);
    fail_at(in, kw, e, "%s() has no argument '%s'", plain_name(en), name);
    bool has_hint = hint_keyword(in, plain_name(en), name, call, e);
    if (!has_hint) show_signature(en, near, e);
    names_fini(&names);
    return false;
}

static int find_param(const BuiltinEntry *en, const char *name) {
    for (int i = 0; i < en->n_params; i++)
        if (en->param[i].name == name) return i;
    const char *ours;
    for (int k = 0; (ours = keyword_ours(name, k)); k++)
        for (int i = 0; i < en->n_params; i++)
            if (!strcmp(en->param[i].name, ours)) return i;
    return -1;
}

/* Binds *shape given as a keyword: shape=[2, 3], or one number. */
static bool bind_star(Value *star, Value v) {
    if (star->list->n > 0) return false;
    if (v.kind == V_LIST) {
        value_drop(*star);
        *star = v;
    } else
        list_push(star->list, v);
    return true;
}

/* Moves positional values into arg[], all V_UNDEF so far. Collects those of *star in a new list. */
static bool bind_positional(Interp *in, const BuiltinEntry *en, Value *base, int n_pos, Value *arg,
                            const Node *call, LangError *e) {
    int before = en->star >= 0 ? en->star : en->map >= 0 ? en->map : en->n_params;
    if (en->map >= 0) arg[en->map] = v_map(in);
    if (en->star < 0 && n_pos > before) {
        char what[200];
        snprintf(what, sizeof what, "%.100s() takes %d argument%s, but %d %s given", plain_name(en),
                 before, before == 1 ? "" : "s", n_pos, n_pos == 1 ? "was" : "were");
        return bad_call(in, en, call, e, what);
    }
    int direct = n_pos < before ? n_pos : before;
    for (int i = 0; i < direct; i++) {
        arg[i] = base[i];
        base[i] = v_none();
    }
    if (en->star < 0) return true;
    arg[en->star] = v_list(in, (size_t)(n_pos - direct));
    for (int i = direct; i < n_pos; i++) {
        list_push(arg[en->star].list, base[i]);
        base[i] = v_none();
    }
    return true;
}

static bool bind_keywords(Interp *in, const BuiltinEntry *en, Value *kw, int n_kw, Value *arg,
                          const Node *call, LangError *e) {
    for (int k = 0; k < n_kw; k++) {
        const Node *node;
        const char *name = call_keyword(in, call, k, &node);
        int i = find_param(en, name);
        bool in_map = i < 0 && en->map >= 0;
        if (i < 0 && !in_map) return unknown_keyword(in, en, name, node, call, e);
        if (in_map                 ? map_find_name(arg[en->map].map, name) != NULL
            : en->param[i].is_star ? !bind_star(&arg[i], kw[k])
                                   : arg[i].kind != V_UNDEF)
            return fail_at(in, node, e, "%s() got '%s' twice", plain_name(en), name);
        if (in_map)
            mapv_put(arg[en->map].map, value_ref(name_str(in, name)), kw[k]);
        else if (!en->param[i].is_star)
            arg[i] = kw[k];
        kw[k] = v_none();
    }
    return true;
}

static bool bind_defaults(Interp *in, const BuiltinEntry *en, Value *arg, const Node *call,
                          LangError *e) {
    for (int i = 0; i < en->n_params; i++) {
        if (arg[i].kind != V_UNDEF) continue;
        if (en->param[i].is_required) {
            char what[200];
            snprintf(what, sizeof what, "%.100s() needs '%.60s'", plain_name(en),
                     en->param[i].name);
            return bad_call(in, en, call, e, what);
        }
        arg[i] = value_ref(en->param[i].dflt);
    }
    return true;
}

/* True if n is a name, or fields of one, and its value is a method: m.parameters. */
static bool is_method(Interp *in, Node *n) {
    const Node *root = n;
    LangError other = {0};
    Value v;
    while (root->kind == N_FIELD) root = root->kid[0];
    if (root->kind != N_NAME || !eval(in, n, &v, &other)) return false;
    bool is = v.kind == V_BOUND;
    value_drop(v);
    return is;
}

/* Explains an argument that is a method, a first one that is none, or a gradient that is none, if
 * the error is about it. n_pos: the positional values that have a parameter each. */
static bool hint_given(Interp *in, const Node *call, const Value *arg, int n_pos, LangError *e) {
    if (!call || call->kind != N_CALL || *e->hint) return false;
    if (n_pos > 0 && call->n_kids > 1 && arg[0].kind == V_NONE && strstr(e->what, "none"))
        return hint_none(call->kid[1], e);
    const Node *callee = call->kid[0];
    bool has_self = callee->kind == N_FIELD && n_pos >= (int)call->n_kids; /* x in x.f(): no kid */
    for (int k = 1; k < n_pos && strstr(e->what, "none"); k++) {
        uint32_t at = (uint32_t)(k + !has_self);
        const Node *given = at < call->n_kids ? call->kid[at] : callee;
        bool is_grad = given->kind == N_FIELD && !strcmp(given->str, "grad");
        if (arg[k].kind == V_NONE && is_grad) return hint_none(given, e);
    }
    for (uint32_t k = 0; k < call->n_kids && strstr(e->what, "fn"); k++) {
        Node *given = call->kid[k];
        if (k == 0) given = given->kind == N_FIELD ? given->kid[0] : NULL;
        if (given && is_method(in, given)) return hint_uncalled(given, e);
    }
    return false;
}

/* False if one of the arguments, or a text in one of them, lies in a file that was cut off. */
static bool args_are_whole(const Value *arg, int n, LangError *e) {
    for (int i = 0; file_map_count && i < n; i++) TRY(value_is_whole(arg[i], e));
    return file_map_has_all(e);
}

bool builtin_call(Interp *in, const Builtin *b, Value *base, int n_pos, int n_kw, const Node *call,
                  Value *out, LangError *e) {
    const BuiltinEntry *en = (const BuiltinEntry *)b;
    if (en->twin && n_pos > 0 && base[0].kind == V_TENSOR) en = en->twin;
    int n_given = n_pos + n_kw, n_bound = 0;
    Value *arg = base;
    bool ok = true;
    if (n_kw || en->star >= 0 || en->map >= 0 || n_pos != en->n_params) {
        ok = stack_room(in, (size_t)en->n_params, e);
        if (ok) {
            arg = base + n_given;
            n_bound = en->n_params;
            for (int i = 0; i < n_bound; i++) arg[i] = (Value){.kind = V_UNDEF};
            in->stack->top = arg + n_bound;
            ok = bind_positional(in, en, base, n_pos, arg, call, e) &&
                 bind_keywords(in, en, base + n_pos, n_kw, arg, call, e) &&
                 bind_defaults(in, en, arg, call, e);
        }
    }
    if (ok && n_pos && arg[0].kind == V_LIST && arg[0].list->is_key && (b->kinds & 1u << V_LIST) &&
        !(b->facts & BI_PURE))
        ok = list_may_change(arg[0].list, e);
    *out = v_none();
    if (ok && !en->b.fn(in, arg, out, e)) {
        ok = false;
        hint_given(in, call, arg, en->star >= 0 && en->star < n_pos ? en->star + 1 : n_pos, e);
    } else if (ok && !(not_interrupted(e) && args_are_whole(arg, en->n_params, e))) {
        ok = false;
        value_drop(*out);
    }
    if (!ok && n_pos) hint_arrangement(plain_name(en), call, n_pos, e);
    if (!ok) error_locate(e, call ? node_span(in, call) : interp_span(in));
    for (int i = 0; i < n_bound; i++) value_drop(arg[i]);
    for (int i = 0; i < n_given; i++) value_drop(base[i]);
    in->stack->top = base;
    return ok;
}

/* ---- what names mean ---- */

static bool constant(Interp *in, const char *name, Value *out) {
    static const struct {
        const char *name;
        double f;
    } number[] = {{"pi", 3.14159265358979323846}, {"inf", INFINITY}, {"nan", NAN}};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (!strcmp(name, number[i].name)) {
            *out = v_float(number[i].f);
            return true;
        }
    if (!strcmp(name, "args")) {
        in->has_read_args = true;
        *out = v_list(in, (size_t)in->config.argc);
        for (int i = 0; i < in->config.argc; i++) list_push(out->list, v_cstr(in->config.argv[i]));
        return true;
    }
    if (!strcmp(name, "float") || !strcmp(name, "int") || !strcmp(name, "bool"))
        return false; /* functions; a dtype argument accepts them as dtypes */
    DType d = dtype_find(name, strlen(name));
    if (d == DT_NONE || strcmp(name, dtype_info[d].text) == 0)
        return false; /* f32 is the name in instruction text, not in the language */
    *out = v_dtype(d);
    return true;
}

bool builtin_value(Interp *in, const char *interned, Value *out, LangError *e) {
    *out = (Value){.kind = V_UNDEF};
    if (constant(in, interned, out)) return true;
    TRY(prelude_space(in, interned, out, e)); /* first: gt is also the function "greater than" */
    if (out->kind != V_UNDEF) return true;
    const Builtin *b = builtin_find(interned);
    if (b) {
        *out = (Value){.kind = V_BUILTIN, .builtin = b};
        return true;
    }
    return prelude_value(in, interned, out, e);
}

bool builtin_is_constant(const char *name) {
    if (words_have("pi inf nan args", name, strlen(name))) return true;
    DType d = dtype_find(name, strlen(name));
    return d != DT_NONE && !strcmp(name, dtype_info[d].name);
}

bool builtin_is_space(const char *name) {
    return words_have("gt signal debug", name, strlen(name)) || prelude_has_space(name);
}

bool builtin_is_known(void *interp, const char *name) {
    Value v = {.kind = V_UNDEF};
    LangError ignored = {0};
    if (!builtin_value(interp, intern(name, strlen(name)), &v, &ignored)) return false;
    bool found = v.kind != V_UNDEF;
    value_drop(v);
    return found;
}

bool builtin_method_value(Interp *in, Value self, const char *interned, Value *out, LangError *e) {
    *out = (Value){.kind = V_UNDEF};
    const Builtin *b = builtin_method(self.kind, interned);
    if (b) {
        *out = (Value){.kind = V_BUILTIN, .builtin = b};
        return true;
    }
    return self.kind != V_TENSOR || prelude_value(in, interned, out, e);
}

const char *space_with(Interp *in, const char *interned) {
    static const char *const path[][2] = {
        {"nn"},         {"optim"},       {"optim", "lr_scheduler"}, {"optim", "swa_utils"},
        {"nn", "init"}, {"nn", "utils"}, {"distributions"},         {"linalg"}};
    static const char *const said[] = {
        "nn",      "optim",    "optim.lr_scheduler", "optim.swa_utils",
        "nn.init", "nn.utils", "distributions",      "linalg"};
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        LangError ignored = {0};
        Value space;
        if (!prelude_space(in, intern(path[i][0], strlen(path[i][0])), &space, &ignored)) continue;
        const Value *inner = &space;
        if (path[i][1])
            inner = map_find(space.map, name_str(in, intern(path[i][1], strlen(path[i][1]))));
        bool found = inner && inner->kind == V_MAP && map_find(inner->map, name_str(in, interned));
        value_drop(space);
        if (found) return said[i];
    }
    return NULL;
}

void hint_names(const char *before, const NameList *names, const char *after, LangError *e) {
    Bytes b = {0};
    for (size_t i = 0, n = 0; i < names->n && b.n < 300; i++)
        if (*names->name[i] != '_') bytes_printf(&b, "%s%s", n++ ? ", " : "", names->name[i]);
    if (b.n && b.n < 300) error_hint(e, "%s%s%s", before, b.data, after);
    bytes_fini(&b);
}

/* True for the namespaces whose paths users write in front of builtins; nn.utils.date is nonsense.
 */
static bool lists_builtins(const MapV *space) {
    return !strcmp(space->name, "gt") || !strcmp(space->name, "nn") || !strcmp(space->name, "F");
}

size_t names_of_space(const MapV *space, NameList *names) {
    Value k, v;
    table_ready();
    for (size_t i = 0; mapv_at(space, i, &k, &v); i++) names_add(names, k.str->s);
    size_t n_space = strlen(space->name);
    for (size_t i = 0; i < all.n; i++)
        if (!strncmp(all.entry[i]->b.name, space->name, n_space) &&
            all.entry[i]->b.name[n_space] == '.')
            names_add(names, all.entry[i]->b.name + n_space + 1);
    return names->n;
}

/* Returns the name of space that is most similar, or NULL. names: those of names_of_space; grows by
 * the builtins that users write behind the namespace. */
static const char *near_in_space(Interp *in, const MapV *space, const char *name, NameList *names) {
    static const char *const spaces[] = {"gt", "nn", "optim", "F", "signal", "debug"};
    size_t n = strlen(name);
    for (size_t i = 0; i < names->n; i++) /* nn.MSE */
        if (!strncmp(names->name[i], name, n) && !strcmp(names->name[i] + n, "Loss"))
            return names->name[i];
    if (lists_builtins(space)) names_of_builtins(in, names);
    const char *near = nearest_name(name, strlen(name), names->name, names->n);
    for (size_t i = 0; near && i < sizeof spaces / sizeof *spaces; i++)
        if (!strcmp(near, spaces[i])) near = NULL; /* do not suggest nn.utils.nn */
    return near;
}

bool space_get(Interp *in, MapV *space, const char *interned, Value *out, LangError *e) {
    const Value *own = map_find(space, name_str(in, interned));
    if (own) {
        *out = value_ref(*own);
        return true;
    }
    char dotted[128];
    int n = snprintf(dotted, sizeof dotted, "%s.%s", space->name, interned);
    const Builtin *b =
        n > 0 && n < (int)sizeof dotted ? builtin_find(intern(dotted, (size_t)n)) : NULL;
    if (b) {
        *out = (Value){.kind = V_BUILTIN, .builtin = b};
        return true;
    }
    if (space->has_builtins) {
        TRY(builtin_value(in, interned, out, e));
        if (out->kind != V_UNDEF) return true;
    }
    error_set(e, "'%s' has no '%s'", space->name, interned);
    const char *habit = habit_hint(interned, strlen(interned));
    if (habit) return error_hint(e, "%s", habit);
    if (habit_of_space(space->name, interned, e)) return false;
    const char *home = space_with(in, interned);
    if (home) return error_hint(e, "did you mean '%s.%s'?", home, interned);
    NameList names = {0};
    size_t n_own = names_of_space(space, &names);
    const char *near = near_in_space(in, space, interned, &names);
    if (near) error_hint(e, "did you mean '%s.%s'?", space->name, near);
    names.n = 0;
    for (size_t i = 0; i < n_own; i++) /* of a namespace with all builtins only the classes */
        if (!space->has_builtins || isupper((unsigned char)*names.name[i]))
            names_add(&names, names.name[i]);
    bool is_class = isupper((unsigned char)*interned);
    if (!near && (is_class || !space->has_builtins)) hint_names("it has ", &names, "", e);
    names_fini(&names);
    return false;
}

/* Looks up one name of a dotted path: a builtin or, in the namespace at, its own. Sets *near to the
 * name or the most similar one, and *out to its value. False if there is none. */
static bool near_step(Interp *in, Value at, const char *name, const char **near, Value *out) {
    LangError ignored = {0};
    NameList names = {0};
    name = intern(name, strlen(name));
    bool is_root = at.kind != V_MAP;
    for (int i = 0; i < 2 && name; i++) {
        *out = (Value){.kind = V_UNDEF};
        *near = name;
        bool ok = is_root ? builtin_value(in, name, out, &ignored)
                          : space_get(in, at.map, name, out, &(LangError){0});
        if (ok && out->kind != V_UNDEF) break;
        if (is_root) names_of_builtins(in, &names);
        if (!is_root) names_of_space(at.map, &names);
        name = i         ? NULL
               : is_root ? nearest_name(name, strlen(name), names.name, names.n)
                         : near_in_space(in, at.map, name, &names);
        if (name) name = intern(name, strlen(name));
    }
    names_fini(&names);
    return out->kind != V_UNDEF;
}

/* Writes the name that exists and is most similar to this one, dotted or not, "optim.Adam" for
 * "optim.Adan", or the name itself if it exists. Returns false if there is none. A HabitNear;
 * interp is an Interp. */
static bool builtin_near(void *interp, const char *path, char *near, size_t size) {
    Interp *in = interp;
    Value at = v_none();
    const char *found;
    size_t w = 0;
    for (const char *s = path; *s;) {
        char name[64];
        Value next;
        size_t n = strcspn(s, ".");
        const char *home = NULL;
        snprintf(name, sizeof name, "%.*s", (int)n, s);
        bool is_last = !s[n];
        bool ok = n < sizeof name && (at.kind == V_NONE || at.kind == V_MAP) &&
                  near_step(in, at, name, &found, &next);
        if (is_last && n < sizeof name && (!ok || strcmp(found, name)))
            home = space_with(in, intern(name, n));
        value_drop(at);
        if (home) { /* torch.Linear, optim.StepLR */
            if (ok) value_drop(next);
            return snprintf(near, size, "%s.%s", home, name) < (int)size;
        }
        if (!ok || w + strlen(found) + 2 > size) return ok ? value_drop(next), false : false;
        w += (size_t)snprintf(near + w, size - w, "%s%s", w ? "." : "", found);
        at = next;
        s += n + !is_last;
    }
    value_drop(at);
    return w > 0;
}

HabitNames builtin_habits(Interp *in) { return (HabitNames){builtin_is_known, builtin_near, in}; }

/* ---- names for near matches and for lists ---- */

void names_add(NameList *l, const char *name) { ARRAY_PUSH(l->name, l->n, l->cap, 64, name); }

void names_fini(NameList *l) {
    free(l->name);
    *l = (NameList){0};
}

void names_of_builtins(Interp *in, NameList *l) {
    static const char *const others[] = {"pi", "inf",   "nan", "args",   "gt",
                                         "nn", "optim", "F",   "signal", "debug"};
    table_ready();
    for (size_t i = 0; i < all.n; i++)
        if (map_get(&all.by_name, (uint64_t)(uintptr_t)all.entry[i]->b.name) &&
            !strchr(all.entry[i]->b.name, '.') && *all.entry[i]->b.name != '_')
            names_add(l, all.entry[i]->b.name);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) names_add(l, others[i]);
    for (int d = 0; d < DT_COUNT; d++) names_add(l, dtype_info[d].name);
    prelude_names(in, l);
}

void names_of_dotted(NameList *l) {
    table_ready();
    for (size_t i = 0; i < all.n; i++)
        if (strchr(all.entry[i]->b.name, '.')) names_add(l, all.entry[i]->b.name);
}

void names_of_methods(Interp *in, Value self, NameList *l) {
    table_ready();
    for (size_t i = 0; i < all.n; i++)
        if (all.entry[i]->b.kinds >> self.kind & 1) names_add(l, all.entry[i]->b.name);
    if (self.kind == V_OBJECT && self.obj && self.obj->module && self.obj->module->method) {
        Value k, v;
        for (size_t i = 0; mapv_at(self.obj->module->method, i, &k, &v); i++)
            names_add(l, k.str->s);
    }
    if (self.kind == V_TENSOR) prelude_methods(in, l);
}
