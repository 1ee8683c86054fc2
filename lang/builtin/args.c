/* args.c: options of scripts (contract in args.h). The command line is kept as it is. Each arg()
 * searches it for its own name and marks what it consumed: only the default's type decides whether
 * y belongs to `--x y`.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/builtin.h"
#include "lang/value/mapv.h"
#include "lang/builtin/args.h"
#include "lang/builtin/builtin_host.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct Args {
    int argc;
    char *const *argv;
    bool *taken; /* argv[i] is an option that some arg() consumed, or its value */
    const char **name;
    size_t n_names, cap_names; /* names passed to arg(), interned */
    bool is_used;              /* arg() has been called */
};

Args *args_new(int argc, char *const *argv) {
    Args *a = xcalloc(1, sizeof *a);
    a->argc = argc;
    a->argv = argv;
    a->taken = xcalloc((size_t)argc + 1, sizeof *a->taken);
    return a;
}

void args_free(Args **a) {
    if (!*a) return;
    free((*a)->taken);
    free((*a)->name);
    free(*a);
    *a = NULL;
}

/* ---- the command line ---- */

static bool is_option(const char *s) { return s[0] == '-' && s[1] == '-' && s[2] != '\0'; }

/* Length of the name in "--name=value". */
static size_t option_length(const char *s) { return strcspn(s + 2, "="); }

/* Compares option names; `_` and `-` are equal. */
static bool same_name(const char *a, size_t n, const char *name) {
    if (strlen(name) != n) return false;
    for (size_t k = 0; k < n; k++)
        if (a[k] != name[k] &&
            !((a[k] == '-' || a[k] == '_') && (name[k] == '-' || name[k] == '_')))
            return false;
    return true;
}

/* The number of arguments before `--`, which ends the options. */
static int option_end(const Args *a) {
    for (int i = 0; i < a->argc; i++)
        if (!strcmp(a->argv[i], "--")) return i;
    return a->argc;
}

bool args_wants_help(const Args *a) {
    for (int i = 0, end = option_end(a); i < end; i++)
        if (!strcmp(a->argv[i], "--help") || !strcmp(a->argv[i], "-h")) return true;
    return false;
}

static void remember(Args *a, const char *name) {
    for (size_t k = 0; k < a->n_names; k++)
        if (a->name[k] == name) return;
    ARRAY_PUSH(a->name, a->n_names, a->cap_names, 16, name);
}

static bool unknown_option(const Args *a, const char *option, LangError *e) {
    char plain[64];
    size_t n = option_length(option);
    if (n >= sizeof plain) n = sizeof plain - 1;
    memcpy(plain, option + 2, n);
    plain[n] = '\0';
    for (size_t k = 0; k < n; k++)
        if (plain[k] == '-') plain[k] = '_';
    error_usage(e, "unknown option '%.*s'", (int)(option_length(option) + 2), option);
    const char *near = nearest_name(plain, n, a->name, a->n_names);
    if (near)
        error_hint(e, "did you mean '--%s'?   --help lists all", near);
    else
        error_hint(e, "--help lists the script's options; options of gtsh stand before the script");
    return false;
}

/* True if argv[i] is one of the names, as --name, --no-name or --name=... */
static bool is_known(const Args *a, const char *option) {
    const char *s = option + 2;
    size_t n = option_length(option);
    for (size_t k = 0; k < a->n_names; k++) {
        if (same_name(s, n, a->name[k])) return true;
        if (n > 3 && !memcmp(s, "no", 2) && (s[2] == '-' || s[2] == '_') &&
            same_name(s + 3, n - 3, a->name[k]))
            return true;
    }
    return false;
}

/* ---- values by their default ---- */

static bool text_int(const char *s, int64_t *v) {
    char *end;
    errno = 0;
    long long i = strtoll(s, &end, 10);
    *v = i;
    return end != s && !*end && errno == 0;
}

static bool text_float(const char *s, double *v) {
    char *end;
    if (!strpbrk(s, "0123456789") && strcmp(s, "inf") && strcmp(s, "-inf") && strcmp(s, "nan"))
        return false;
    *v = strtod(s, &end);
    return end != s && !*end;
}

static bool text_bool(const char *s, bool *v) {
    static const char *const word[] = {"false", "no", "off", "0", "true", "yes", "on", "1"};
    for (size_t k = 0; k < 8; k++)
        if (!strcmp(s, word[k])) {
            *v = k >= 4;
            return true;
        }
    return false;
}

/* The value when no default gives its type: a number if it reads as one, a bool, else text. */
static Value guess(const char *s) {
    int64_t i;
    double f;
    if (text_int(s, &i)) return v_int(i);
    if (text_float(s, &f)) return v_float(f);
    if (!strcmp(s, "true") || !strcmp(s, "false")) return v_bool(s[0] == 't');
    if (!strcmp(s, "none")) return v_none();
    return v_cstr(s);
}

static bool typed(Interp *in, const char *name, const char *s, Value like, Value *out,
                  LangError *e) {
    int64_t i;
    double f;
    bool b;
    switch (like.kind) {
    case V_BOOL:
        if (!text_bool(s, &b))
            return error_usage(e, "--%s is true or false, got '%.200s'", name, s);
        *out = v_bool(b);
        return true;
    case V_INT:
        if (!text_int(s, &i)) { /* 1e6 */
            if (!text_float(s, &f) || f != floor(f) || fabs(f) >= 9e15)
                return error_usage(e, "--%s needs a whole number, got '%.200s'", name, s);
            i = (int64_t)f;
        }
        *out = v_int(i);
        return true;
    case V_FLOAT:
        if (!text_float(s, &f)) return error_usage(e, "--%s needs a number, got '%.200s'", name, s);
        *out = v_float(f);
        return true;
    case V_DTYPE: {
        DType d = dtype_find(s, strlen(s));
        if (d == DT_NONE) return error_usage(e, "--%s needs a dtype, got '%.200s'", name, s);
        *out = v_dtype(d);
        return true;
    }
    case V_LIST: {
        Value list = v_list(in, 4);
        Value first = like.list->n ? like.list->v[0] : v_none();
        char *copy = xstrdup(s), *at = copy;
        bool ok = true;
        for (char *item; *s && ok && (item = strsep(&at, ",")) != NULL;) {
            Value v;
            ok = typed(in, name, item, first, &v, e);
            if (ok) list_push(list.list, v);
        }
        free(copy);
        if (!ok) error_hint(e, "a list is --%s 1,2,3", name);
        return give_if(ok, list, out);
    }
    case V_STR: *out = v_cstr(s); return true;
    default: *out = guess(s); return true;
    }
}

/* True if `next`, the word behind the value `text` of a list of numbers, is one more number: the
 * list was meant to go on. */
static bool list_goes_on(const char *name, const char *text, const char *next, Value like,
                         LangError *e) {
    double f;
    if (like.kind != V_LIST || !like.list->n || !value_is_number(like.list->v[0])) return false;
    if (is_option(next) || !text_float(next, &f)) return false;
    error_usage(e, "--%s takes one word, got '%.100s' and '%.100s'", name, text, next);
    return error_hint(e, "--%s %.100s,%.100s", name, text, next), true;
}

/* True if `next`, the word behind --name of a bool, is a truth value. */
static bool is_truth(const char *name, const char *next, LangError *e) {
    bool b;
    if (!isalpha((unsigned char)*next) || !text_bool(next, &b)) return false;
    error_usage(e, "--%s takes no word behind it, got '%s'", name, next);
    return error_hint(e, "--%s, --no-%s, or --%s=%s", name, name, name, next), true;
}

/* The value of the last occurrence of --name on the command line; *found: whether there is one. */
static bool look_up(Interp *in, Args *a, const char *name, Value like, Value *out, bool *found,
                    LangError *e) {
    int end = option_end(a);
    *found = false;
    remember(a, name);
    for (int i = 0; i < end; i++) {
        const char *s = a->argv[i];
        if (!is_option(s)) continue;
        size_t n = option_length(s);
        Value v;
        if (same_name(s + 2, n, name)) {
            a->taken[i] = true;
            const char *text = s[2 + n] == '=' ? s + 3 + n : NULL;
            if (!text && like.kind == V_BOOL) {
                if (i + 1 < end && is_truth(name, a->argv[i + 1], e)) return false;
                v = v_bool(true);
            } else {
                if (!text && (i + 1 >= end || is_option(a->argv[i + 1])))
                    return error_usage(e, "--%s needs a value", name);
                if (!text) {
                    text = a->argv[++i];
                    a->taken[i] = true;
                    if (i + 1 < end && list_goes_on(name, text, a->argv[i + 1], like, e))
                        return false;
                }
                if (!typed(in, name, text, like, &v, e)) return false;
            }
        } else if (like.kind == V_BOOL && n > 3 && !memcmp(s + 2, "no", 2) &&
                   (s[4] == '-' || s[4] == '_') && same_name(s + 5, n - 3, name)) {
            if (s[2 + n] == '=') return error_usage(e, "--no-%s takes no value", name);
            a->taken[i] = true;
            v = v_bool(false);
        } else
            continue;
        if (*found) value_drop(*out);
        *out = v;
        *found = true;
    }
    return true;
}

bool args_finish(Args *a, LangError *e) {
    if (!a || !a->is_used) return true;
    for (int i = 0, end = option_end(a); i < end; i++)
        if (is_option(a->argv[i]) && !a->taken[i] && !is_known(a, a->argv[i]))
            return unknown_option(a, a->argv[i], e);
    return true;
}

void args_warn(Interp *in, const Args *a, const char *script) {
    int i = 0, end = a ? option_end(a) : 0;
    while (i < end && a->taken[i]) i++;
    if (i == end || in->has_read_args) return;
    const char *s = a->argv[i], *plain = s + strspn(s, "-");
    if (!strncmp(plain, "no-", 3) || !strncmp(plain, "no_", 3)) plain += 3;
    const char *near = nearest_name(plain, strcspn(plain, "="), a->name, a->n_names);
    for (size_t k = 0; k < a->n_names; k++)
        if (same_name(plain, strcspn(plain, "="), a->name[k])) near = a->name[k];
    LangError w = {.kind = E_RUN};
    error_set(&w, "%.200s takes no argument '%.200s'", script, s);
    if (near)
        error_hint(&w, "did you mean '--%s'?", near);
    else if (*s == '-')
        error_hint(&w, "options of gtsh stand before the script");
    else
        error_hint(&w, "lr = arg(\"lr\", 0.1) takes --lr 0.5, args is the list of all");
    interp_warn(in, &w);
}

/* ---- the builtin ---- */

/* True if the call passes a default. The call's node tells, because none is a valid default. */
static bool has_default(const Interp *in, Value dflt) {
    if (dflt.kind != V_NONE) return true;
    const Node *call = in->at;
    if (!call || call->kind != N_CALL) return false;
    for (uint32_t k = 1; k < call->n_kids; k++) {
        const Node *a = call->kid[k];
        if (a->kind == N_KEYWORD ? !strcmp(a->str, "default") : k >= 2) return true;
    }
    return false;
}

static bool arg_map(Interp *in, Args *a, MapV *defaults, Value *out, LangError *e) {
    Value result = v_map(in), key, dflt;
    bool ok = true;
    for (size_t i = 0; ok && mapv_at(defaults, i, &key, &dflt); i++) {
        Value v = v_none();
        bool found = false;
        ok = key.kind == V_STR || error_set(e, "arg() needs names as keys");
        if (ok && a) ok = look_up(in, a, intern(key.str->s, key.str->n), dflt, &v, &found, e);
        if (ok) mapv_put(result.map, value_ref(key), found ? v : value_ref(dflt));
    }
    return give_if(ok, result, out);
}

static bool bi_arg(Interp *in, const Value *arg, Value *out, LangError *e) {
    Args *a = in->args;
    if (a) a->is_used = true;
    if (arg[0].kind == V_MAP) return arg_map(in, a, arg[0].map, out, e);
    if (arg[0].kind != V_STR || arg[0].str->n == 0) {
        error_set(e, "arg() needs a name, or a map of names and defaults, but got %s",
                  value_type_name(arg[0]));
        return error_hint(e, "arg(\"lr\", 0.1, \"learning rate\")");
    }
    const char *name = intern(arg[0].str->s, arg[0].str->n);
    bool found = false;
    if (a && !look_up(in, a, name, arg[1], out, &found, e)) return false;
    if (found) return true;
    if (!has_default(in, arg[1])) return error_usage(e, "--%s is required", name);
    *out = value_ref(arg[1]);
    return true;
}

const Builtin builtins_args[] = {
    {"arg", "name, default=none, help=\"\"", bi_arg,
     "The value of the command-line option --name, typed by its default; arg({lr: 0.1, steps: "
     "100}) returns a map of several. Bools are --x, --no-x, --x=false; lists --x 1,2,3. Without a "
     "default the option is required."},
    {0}};

/* ---- the options of a program, from its tree ---- */

typedef struct Scan {
    bool is_open; /* some name is not a literal: the command line is checked at the end */
    bool has_arg;
    ArgFound found;
    void *ctx;
} Scan;

static void scan_call(Scan *s, const Node *n) {
    const Node *name = NULL, *dflt = NULL, *help = NULL;
    int position = 0;
    s->has_arg = true;
    for (uint32_t k = 1; k < n->n_kids; k++) {
        const Node *a = n->kid[k];
        if (a->kind == N_STAR) {
            s->is_open = true;
            return;
        }
        const char *word = a->kind == N_KEYWORD ? a->str
                           : position == 0      ? "name"
                           : position == 1      ? "default"
                                                : "help";
        if (a->kind == N_KEYWORD)
            a = a->kid[0];
        else
            position++;
        if (!strcmp(word, "name"))
            name = a;
        else if (!strcmp(word, "default"))
            dflt = a;
        else
            help = a;
    }
    if (name && name->kind == N_STRING) {
        s->found(s->ctx, intern(name->str, name->n_str), dflt, help);
        return;
    }
    if (!name || name->kind != N_MAP) {
        s->is_open = true;
        return;
    }
    for (uint32_t k = 0; k + 1 < name->n_kids; k += 2) {
        const Node *key = name->kid[k];
        if (key->kind == N_STRING)
            s->found(s->ctx, intern(key->str, key->n_str), name->kid[k + 1], NULL);
        else
            s->is_open = true;
    }
}

static void scan(Scan *s, const Node *n) {
    if (!n) return;
    if (n->kind == N_IMPORT && n->flag) s->is_open = true;
    if (n->kind == N_CALL && n->kid[0]->kind == N_NAME && n->kid[0]->scope == SCOPE_GLOBAL &&
        !strcmp(n->kid[0]->str, "arg"))
        scan_call(s, n);
    else if (n->kind == N_NAME && n->scope == SCOPE_GLOBAL && !strcmp(n->str, "arg"))
        s->is_open = s->has_arg = true;
    if (n->kind == N_FN || n->kind == N_FN_STMT || n->kind == N_MODULE) {
        for (int k = 0; k < n->fn->n_params; k++) scan(s, n->fn->param[k].dflt);
        scan(s, n->fn->body);
        return;
    }
    for (uint32_t k = n->kind == N_CALL && n->kid[0]->kind == N_NAME ? 1 : 0; k < n->n_kids; k++)
        scan(s, n->kid[k]);
}

void args_each(const Program *p, ArgFound found, void *ctx) {
    Scan s = {.found = found, .ctx = ctx};
    scan(&s, p->body);
}

static void note_name(void *ctx, const char *name, const Node *dflt, const Node *help) {
    remember(ctx, name);
}

bool args_check(Args *a, const Program *p, LangError *e) {
    Args known = *a;
    known.name = NULL;
    known.n_names = known.cap_names = 0;
    Scan s = {.found = note_name, .ctx = &known};
    scan(&s, p->body);
    bool ok = true;
    for (int i = 0, end = option_end(a); ok && s.has_arg && !s.is_open && i < end; i++)
        if (is_option(a->argv[i]) && !is_known(&known, a->argv[i]))
            ok = unknown_option(&known, a->argv[i], e);
    free(known.name);
    return ok;
}

/* ---- help ---- */

static void help_line(void *ctx, const char *name, const Node *dflt, const Node *help) {
    Bytes *out = ctx, left = {0};
    char shown[64];
    size_t n = 0;
    for (; name[n] && n < sizeof shown - 1; n++) shown[n] = name[n] == '_' ? '-' : name[n];
    shown[n] = '\0';
    int kind = dflt ? dflt->kind : -1;
    if (kind == N_UNARY) kind = dflt->kid[0]->kind;
    if (kind == N_TRUE)
        bytes_printf(&left, "--no-%s", shown);
    else if (kind == N_FALSE)
        bytes_printf(&left, "--%s", shown);
    else
        bytes_printf(&left, "--%s %s", shown,
                     kind == N_INT      ? "N"
                     : kind == N_FLOAT  ? "X"
                     : kind == N_LIST   ? "A,B,..."
                     : kind == N_STRING ? "TEXT"
                                        : "VALUE");
    bytes_printf(out, "  %-20s", left.data);
    bytes_fini(&left);
    if (help && help->kind == N_STRING) bytes_printf(out, "  %.*s", (int)help->n_str, help->str);
    size_t len;
    const char *text = dflt ? span_text(dflt->whole, &len) : NULL;
    if (!dflt)
        bytes_puts(out, "  (required)");
    else if (text && len < 60)
        bytes_printf(out, "  (default %.*s)", (int)len, text);
    bytes_putc(out, '\n');
}

void args_help(const Program *p, Bytes *out) {
    const char *s = p->src->text, *end = s + p->src->n;
    if (end - s > 2 && s[0] == '#' && s[1] == '!') {
        s += strcspn(s, "\n");
        s += *s == '\n';
    }
    bytes_printf(out, "usage: gtsh %s [options]\n", p->src->name);
    for (bool first = true; s < end && *s == '#'; first = false) {
        size_t n = strcspn(s, "\n"), skip = strspn(s, "# ");
        if (skip > n) skip = n;
        bytes_printf(out, "%s%.*s\n", first ? "\n" : "", (int)(n - skip), s + skip);
        s += n + (s[n] == '\n');
    }
    size_t before = out->n;
    bytes_puts(out, "\noptions:\n");
    size_t empty = out->n;
    Scan sc = {.found = help_line, .ctx = out};
    scan(&sc, p->body);
    if (out->n == empty) {
        out->n = before;
        out->data[before] = '\0';
        bytes_puts(out, "\nno options\n");
    }
    if (sc.is_open) bytes_puts(out, "\nand options that only the running program knows\n");
}
