/* help.c: finds the help for a name, lists groups and namespaces, searches.
 * SPDX-License-Identifier: MIT */
#include "lang/help/help.h"
#include "lang/error/habit.h"
#include "lang/eval/import.h"
#include "lang/eval/object.h"
#include "lang/eval/prelude.h"
#include "lang/help/help_text.h"
#include "lang/value/mapv.h"
#include "runtime/base/utf8.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HITS = 30, NAME_MAX_BYTES = 160, NAME_COLUMN = 22, USAGE_INDENT = 8 };

/* Kinds of values with methods, and how help names them. */
static const struct {
    ValueKind kind;
    const char *what;
} kinds[] = {{V_STR, "str"}, {V_LIST, "list"},     {V_MAP, "map"},
             {V_SET, "set"}, {V_TENSOR, "tensor"}, {V_OBJECT, "object"}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static const char *const spaces[] = {"debug",
                                     "nn",
                                     "nn.init",
                                     "nn.utils",
                                     "nn.utils.rnn",
                                     "optim",
                                     "optim.lr_scheduler",
                                     "optim.swa_utils",
                                     "linalg",
                                     "distributions",
                                     "F"};
enum { N_SPACES = sizeof spaces / sizeof *spaces };

/* ---- values by name ---- */

/* Finds one field, method or name of a namespace. *v is a new reference, or V_UNDEF. */
static bool find_member(Interp *in, Value base, const char *interned, Value *v, LangError *e) {
    *v = (Value){.kind = V_UNDEF};
    if (base.kind == V_MAP && base.map->is_space) return space_get(in, base.map, interned, v, e);
    if (base.kind != V_OBJECT) return builtin_method_value(in, base, interned, v, e);
    Fn *f = object_method(base.obj, interned);
    if (f)
        *v = value_ref((Value){.kind = V_FN, .fn = f});
    else
        return builtin_method_value(in, base, interned, v, e);
    return true;
}

bool help_value(Interp *in, const char *name, size_t n, Value *v, LangError *e) {
    const char *dot = memchr(name, '.', n), *found;
    const char *first = intern(name, dot ? (size_t)(dot - name) : n);
    Value global;
    *v = (Value){.kind = V_UNDEF};
    for (size_t i = 0; interp_global(in, i, &found, &global); i++)
        if (found == first && global.kind != V_UNDEF) {
            *v = value_ref(global);
            break;
        }
    if (v->kind == V_UNDEF && !builtin_value(in, first, v, e)) return false;
    if (v->kind == V_UNDEF) return false;
    while (dot) {
        const char *part = dot + 1, *end = name + n;
        dot = memchr(part, '.', (size_t)(end - part));
        Value base = *v;
        bool ok = find_member(in, base, intern(part, (size_t)((dot ? dot : end) - part)), v, e);
        value_drop(base);
        if (!ok || v->kind == V_UNDEF) return false;
    }
    return true;
}

/* True if the program has a variable of this name. */
static bool is_own(Interp *in, const char *name) {
    const char *found, *first = intern(name, strcspn(name, "."));
    Value v;
    for (size_t i = 0; interp_global(in, i, &found, &v); i++)
        if (found == first && v.kind != V_UNDEF) return true;
    return false;
}

/* ---- the parts of one name's help ---- */

static void add_body(const HelpEntry *entry, Bytes *usage, Bytes *body) {
    if (!entry) return;
    help_usage(entry->body, entry->n_body, usage);
    if (body->n && entry->n_body) bytes_putc(body, '\n');
    bytes_add(body, entry->body, entry->n_body);
}

/* The method of "list.append", or NULL. */
static const Builtin *method_of(const char *name) {
    const char *dot = strchr(name, '.');
    for (size_t k = 0; dot && k < N_KINDS; k++)
        if (strlen(kinds[k].what) == (size_t)(dot - name) &&
            !memcmp(kinds[k].what, name, (size_t)(dot - name)))
            return builtin_method(kinds[k].kind, intern(dot + 1, strlen(dot + 1)));
    return NULL;
}

static void builtin_parts(const char *name, const Builtin *b, bool is_method,
                          const Builtin *tensors, Bytes *usage, Bytes *body) {
    const char *signature = b->signature;
    if (is_method) { /* without the value before the dot */
        const char *rest = strchr(signature, ',');
        signature = rest ? rest + 1 + (rest[1] == ' ') : "";
    }
    if (tensors) {
        bytes_printf(usage, "%s(%s)\n", name, tensors->signature);
        bytes_printf(body, "%s ", tensors->doc);
    }
    if (!tensors || strcmp(tensors->signature, signature) != 0)
        bytes_printf(usage, "%s(%s)\n", name, signature);
    bytes_puts(body, b->doc ? b->doc : "");
}

static void function_parts(const char *name, Value v, const AstFn *fn, Bytes *usage, Bytes *body) {
    const char *dot = strrchr(name, '.');
    if (v.kind == V_MODULE) bytes_puts(usage, "module ");
    bytes_printf(usage, "%.*s", dot ? (int)(dot + 1 - name) : 0, name);
    fn_signature(fn, usage);
    bytes_putc(usage, '\n');
    if (fn->doc) bytes_puts(body, fn->doc);
}

/* True of "x.mean" if x is a value with methods, not a namespace. */
static bool is_of_value(Interp *in, const char *name) {
    LangError ignored = {0};
    const char *dot = strrchr(name, '.');
    Value v;
    if (!dot || !help_value(in, name, (size_t)(dot - name), &v, &ignored)) return false;
    bool is_value = !(v.kind == V_MAP && v.map->is_space);
    value_drop(v);
    return is_value;
}

/* The help of a value that was found under this name; false if it has none. */
static bool value_parts(Interp *in, const char *name, Value v, Bytes *usage, Bytes *body) {
    const AstFn *fn = v.kind == V_FN ? v.fn->ast : v.kind == V_MODULE ? v.module->make->ast : NULL;
    if (fn) {
        function_parts(name, v, fn, usage, body);
        return true;
    }
    if (v.kind == V_BUILTIN) {
        const BuiltinEntry *twin = ((const BuiltinEntry *)v.builtin)->twin;
        const HelpEntry *entry = help_entry(name);
        bool is_method = is_of_value(in, name);
        builtin_parts(name, v.builtin, is_method,
                      is_method ? NULL
                      : twin    ? &twin->b
                                : NULL,
                      usage, body);
        add_body(entry ? entry : help_entry(v.builtin->name), usage, body);
        return true;
    }
    const HelpEntry *entry = is_own(in, name) ? NULL : help_entry(name);
    if (entry && !help_usage(entry->body, entry->n_body, &(Bytes){0}))
        bytes_printf(usage, "%s\n", name);
    add_body(entry, usage, body);
    return entry != NULL;
}

bool help_parts(Interp *in, const char *name, Bytes *usage, Bytes *body) {
    LangError ignored = {0};
    Value v;
    const Builtin *method = method_of(name);
    if (method && !is_own(in, name)) {
        builtin_parts(name, method, true, NULL, usage, body);
        add_body(help_entry(name), usage, body);
        return true;
    }
    if (help_value(in, name, strlen(name), &v, &ignored)) {
        bool ok = value_parts(in, name, v, usage, body);
        value_drop(v);
        return ok;
    }
    const HelpEntry *entry = help_entry(name);
    size_t before = usage->n;
    add_body(entry, usage, body);
    if (entry && usage->n == before) bytes_printf(usage, "%s\n", name);
    return entry != NULL;
}

bool help_line(Interp *in, const char *name, int width, Bytes *out) {
    Bytes usage = {0}, body = {0};
    bool ok = help_parts(in, name, &usage, &body) && body.n;
    if (ok) help_sentence(body.data, body.n, width, out);
    bytes_fini(&usage);
    bytes_fini(&body);
    return ok;
}

/* ---- all names ---- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_dotted(NameList *l, const char *space, const char *name) {
    char path[NAME_MAX_BYTES];
    int n = snprintf(path, sizeof path, "%s.%s", space, name);
    if (n > 0 && n < (int)sizeof path) names_add(l, intern(path, (size_t)n));
}

/* Adds the names of a namespace that are its own, dotted. */
static void names_in_space(Interp *in, const char *space, NameList *l) {
    LangError ignored = {0};
    Value v, key, member;
    if (!help_value(in, space, strlen(space), &v, &ignored)) return;
    for (size_t i = 0; v.kind == V_MAP && mapv_at(v.map, i, &key, &member); i++)
        if (member.kind != V_MAP) add_dotted(l, space, key.str->s);
    value_drop(v);
}

static void names_of_kind(Interp *in, size_t k, NameList *l) {
    NameList names = {0};
    names_of_methods(in, (Value){.kind = kinds[k].kind}, &names);
    for (size_t i = 0; i < names.n; i++) {
        const char *name = intern(names.name[i], strlen(names.name[i]));
        const Builtin *b = builtin_method(kinds[k].kind, name);
        if (b && (kinds[k].kind != V_TENSOR || b->facts & BI_METHOD))
            add_dotted(l, kinds[k].what, name);
    }
    names_fini(&names);
}

static void names_of_entries(NameList *l) {
    const HelpEntry *entry;
    for (size_t i = 0; (entry = help_entry_at(i)); i++)
        for (size_t at = 0; at < entry->n_names;) {
            size_t n = 0;
            while (at + n < entry->n_names && entry->names[at + n] != ' ') n++;
            names_add(l, intern(entry->names + at, n));
            at += n + 1;
        }
}

void help_names(Interp *in, NameList *l) {
    size_t from = l->n, to = l->n;
    names_of_builtins(in, l);
    for (size_t k = 0; k < N_SPACES; k++) names_in_space(in, spaces[k], l);
    names_of_dotted(l);
    for (size_t k = 0; k < N_KINDS; k++)
        if (kinds[k].kind != V_OBJECT && kinds[k].kind != V_SET) names_of_kind(in, k, l);
    names_of_entries(l);
    qsort(l->name + from, l->n - from, sizeof *l->name, by_name);
    for (size_t i = from; i < l->n; i++)
        if (l->name[i][0] != '_' && (i == from || strcmp(l->name[i], l->name[i - 1])))
            l->name[to++] = l->name[i];
    l->n = to;
}

/* ---- lists ---- */

/* Appends a line for a name: the name and its first sentence, which has a line of its own below a
 * long name. */
static void put_line(Interp *in, const char *name, int width, Bytes *out) {
    bytes_printf(out, "  %-*s  ", NAME_COLUMN, name);
    if (strlen(name) > NAME_COLUMN) {
        out->n -= 2;
        bytes_printf(out, "\n%*s", NAME_COLUMN + 4, "");
    }
    help_line(in, name, width - 4 - NAME_COLUMN, out);
    bytes_putc(out, '\n');
}

/* The group that lists a name: that of its entry, or of its prelude file; or -1. */
static int group_of(Interp *in, const char *name) {
    LangError ignored = {0};
    const HelpEntry *entry = help_entry(name);
    Value v;
    int named = help_group_with(name);
    if (named >= 0) return named;
    if (entry) return entry->group;
    if (!help_value(in, name, strlen(name), &v, &ignored)) return -1;
    const AstFn *fn = v.kind == V_FN ? v.fn->ast : v.kind == V_MODULE ? v.module->make->ast : NULL;
    const char *file = fn && fn->at.src ? fn->at.src->name : "";
    const char *colon = strchr(file, ':');
    int group = help_group_of_file(colon ? colon + 1 : file);
    value_drop(v);
    return group;
}

static void put_names(const NameList *names, const int *group, int g, int width, Bytes *out) {
    size_t column = 0;
    for (size_t i = 0; i < names->n; i++) {
        size_t n = strlen(names->name[i]);
        if (group[i] != g) continue;
        if (column && column + 2 + n > (size_t)width) {
            bytes_putc(out, '\n');
            column = 0;
        }
        bytes_printf(out, "%s%s", column ? "  " : "    ", names->name[i]);
        column += n + (column ? 2 : 4);
    }
    if (column) bytes_putc(out, '\n');
}

/* The index (only < 0), or the lines of one group. */
static void put_groups(Interp *in, int only, int width, Bytes *out) {
    const HelpGroup *g;
    NameList names = {0};
    help_names(in, &names);
    int *group = calloc(names.n + 1, sizeof *group);
    for (size_t i = 0; group && i < names.n; i++) group[i] = group_of(in, names.name[i]);
    for (int k = 0; group && (g = help_group_at((size_t)k)); k++) {
        if (only >= 0 && k != only) continue;
        bytes_printf(out, "%.*s: %.*s\n", (int)g->n_name, g->name, (int)g->n_title, g->title);
        for (size_t i = 0; only >= 0 && i < names.n; i++)
            if (group[i] == k) put_line(in, names.name[i], width, out);
        if (only < 0) put_names(&names, group, k, width, out);
    }
    if (only < 0) put_names(&names, group, -1, width, out);
    if (only < 0)
        bytes_puts(out,
                   "\n?name explains one; ? words searches the texts\n"
                   "??name shows its source, or the rules of an operation\n"
                   "?losses lists a group with a line each; ?tutorial is a page to begin with\n");
    free(group);
    names_fini(&names);
}

/* The names of a namespace with a line each. */
static void put_space(Interp *in, const char *space, int width, Bytes *out) {
    NameList names = {0};
    size_t n = strlen(space);
    help_names(in, &names);
    for (size_t i = 0; i < names.n; i++)
        if (!strncmp(names.name[i], space, n) && names.name[i][n] == '.' &&
            !strchr(names.name[i] + n + 1, '.'))
            put_line(in, names.name[i], width, out);
    names_fini(&names);
}

/* ---- search ---- */

static bool is_word_part(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* How well text has this word: 3 as a whole word, 2 at the beginning of one, 1 inside of one, 0 not
 * at all. Words of 1 or 2 letters count as whole words only. */
static int has_word(const char *text, const char *word) {
    size_t n = strlen(word);
    int best = 0;
    for (const char *at = text; (at = strcasestr(at, word)); at++) {
        bool begins = at == text || !is_word_part(at[-1]), ends = !is_word_part(at[n]);
        int how = begins && ends ? 3 : n <= 2 ? 0 : begins ? 2 : 1;
        if (how > best) best = how;
    }
    return best;
}

/* How well a name, its signature, the first sentence about it and its text have all of the words;
 * 0 if one is missing. Words that stand together count more. */
static int has_words(const char *words, const char *name, const char *usage, const char *first,
                     const char *text) {
    char word[64];
    int sum = strchr(words, ' ') && has_word(text, words) ? 10 : 0;
    for (int used; sscanf(words, "%63s%n", word, &used) == 1; words += used) {
        const char *dot = strrchr(name, '.');
        int in_name = has_word(name, word), in_text = has_word(text, word) + has_word(first, word);
        in_text += has_word(usage, word) > 0;
        if (!in_name && !in_text) return 0;
        bool is_it = !strcasecmp(dot ? dot + 1 : name, word);
        sum += is_it ? 100 : in_name * 10 + in_text;
    }
    return sum;
}

typedef struct Hit {
    const char *name;
    int score;
} Hit;

static int by_score(const void *a, const void *b) {
    const Hit *x = a, *y = b;
    return x->score != y->score ? y->score - x->score : strcmp(x->name, y->name);
}

static void put_hits(Interp *in, const Hit *hit, size_t n, int width, Bytes *out) {
    for (size_t i = 0; i < n && i < MAX_HITS; i++) put_line(in, hit[i].name, width, out);
    if (n > MAX_HITS) bytes_printf(out, "  and %zu more\n", n - MAX_HITS);
    if (n) bytes_puts(out, "?name explains one\n");
}

static bool search(Interp *in, const char *words, int width, Bytes *out) {
    NameList names = {0};
    help_names(in, &names);
    Hit *hit = calloc(names.n + 1, sizeof *hit);
    size_t n = 0;
    for (size_t i = 0; hit && i < names.n; i++) {
        Bytes usage = {0}, body = {0}, first = {0};
        if (help_parts(in, names.name[i], &usage, &body) && body.n) {
            help_sentence(body.data, body.n, 1000, &first);
            int score = has_words(words, names.name[i], usage.n ? usage.data : "",
                                  first.n ? first.data : "", body.data);
            if (score) hit[n++] = (Hit){names.name[i], score};
        }
        bytes_fini(&first);
        bytes_fini(&usage);
        bytes_fini(&body);
    }
    if (hit) qsort(hit, n, sizeof *hit, by_score);
    put_hits(in, hit, n, width, out);
    free(hit);
    names_fini(&names);
    return n > 0;
}

/* ---- ?what ---- */

/* Appends lines of usage. One that is wider than the screen goes on behind a comma. */
static void put_usage(const char *s, size_t n, int width, Bytes *out) {
    size_t room = width > 2 * USAGE_INDENT ? (size_t)width : 2 * USAGE_INDENT, column = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && s[end] != '\n' && !(s[end] == ',' && s[end + 1] == ' ');) end++;
        if (end < n) end += s[end] == '\n' ? 1 : 2;
        size_t columns =
            utf8_count(s + i, end - i) - (end > i && isspace((unsigned char)s[end - 1]));
        if (column && column + columns > room) {
            out->n--; /* the blank behind the comma */
            bytes_printf(out, "\n%*s", USAGE_INDENT, "");
            column = USAGE_INDENT;
        }
        bytes_add(out, s + i, end - i);
        column = s[end - 1] == '\n' ? 0 : column + columns + 1;
    }
}

static void put_parts(const Bytes *usage, const Bytes *body, int width, Bytes *out) {
    put_usage(usage->data ? usage->data : "", usage->n, width, out);
    if (body->n) help_wrap(body->data, body->n, width, out);
}

/* Help for exactly this name: a value's, an entry's, a namespace's. */
static bool about_name(Interp *in, const char *name, int width, Value *plain, Bytes *out,
                       LangError *e) {
    Bytes usage = {0}, body = {0};
    Value v = {.kind = V_UNDEF};
    bool ok = help_parts(in, name, &usage, &body);
    if (ok) put_parts(&usage, &body, width, out);
    bool is_value = help_value(in, name, strlen(name), &v, e);
    bool is_space = is_value && v.kind == V_MAP && v.map->is_space;
    if (is_space) put_space(in, name, width, out);
    if (is_value && !ok && !is_space)
        *plain = v;
    else if (is_value)
        value_drop(v);
    bytes_fini(&usage);
    bytes_fini(&body);
    return ok || is_value;
}

/* ?split: str.split, where no function has the name; ?Adam: optim.Adam; ?torch.relu: relu. */
static bool about_other_names(Interp *in, const char *name, int width, Value *plain, Bytes *out,
                              LangError *e) {
    static const char *const foreign[] = {"torch.nn.functional.",
                                          "torch.special.",
                                          "torch.Tensor.",
                                          "torch.",
                                          "np.",
                                          "numpy.",
                                          "gt."};
    char path[NAME_MAX_BYTES];
    Value base = {.kind = V_UNDEF};
    size_t n = strlen(name);
    if (n > 100) return false;
    const char *home = space_with(in, intern(name, n));
    if (home) {
        snprintf(path, sizeof path, "%s.%s", home, name);
        return about_name(in, path, width, plain, out, e);
    }
    bool found = false;
    for (size_t k = 0; k < N_KINDS && !strchr(name, '.'); k++) {
        snprintf(path, sizeof path, "%s.%s", kinds[k].what, name);
        if (kinds[k].kind != V_SET && method_of(path))
            found |= about_name(in, path, width, plain, out, e);
    }
    for (size_t k = 0; k < sizeof foreign / sizeof *foreign && !found; k++)
        if (!strncmp(name, foreign[k], strlen(foreign[k])) && name[strlen(foreign[k])]) {
            name += strlen(foreign[k]);
            return about_name(in, name, width, plain, out, e) ||
                   about_other_names(in, name, width, plain, out, e);
        }
    const char *dot = strrchr(name, '.'); /* x.mean where there is no x */
    if (!found && dot && !help_value(in, name, strcspn(name, "."), &base, e)) {
        *e = (LangError){0};
        return about_name(in, dot + 1, width, plain, out, e) ||
               about_other_names(in, dot + 1, width, plain, out, e);
    }
    if (base.kind != V_UNDEF) value_drop(base);
    return found;
}

/* Writes the name that is most similar to this one, with or without its namespace. */
static bool near_name(Interp *in, const char *what, char *near, size_t size) {
    NameList names = {0}, last = {0};
    help_names(in, &names);
    for (size_t i = 0; i < names.n; i++) {
        const char *dot = strrchr(names.name[i], '.');
        names_add(&last, dot ? dot + 1 : names.name[i]);
    }
    size_t n = strlen(what);
    const char *found = nearest_name(what, n, names.name, names.n);
    const char *ending = found ? NULL : nearest_name(what, n, last.name, last.n);
    for (size_t i = 0; i < last.n && ending && !found; i++)
        if (!strcmp(last.name[i], ending)) found = names.name[i];
    bool ok = found && snprintf(near, size, "%s", found) < (int)size;
    names_fini(&names);
    names_fini(&last);
    return ok;
}

static void unknown(Interp *in, const char *what, const LangError *e, Bytes *out) {
    char near[NAME_MAX_BYTES];
    LangError habit = {0};
    bytes_printf(out, "no help for '%s'", what);
    if (e->hint[0])
        bytes_printf(out, "; %s", e->hint);
    else if (habit_of_space("gt", what, &habit))
        bytes_printf(out, "; hint: %s", habit.hint);
    else if (near_name(in, what, near, sizeof near))
        bytes_printf(out, "; did you mean ?%s", near);
    else
        bytes_puts(out, "; ? lists all names");
    bytes_putc(out, '\n');
}

bool help_about(Interp *in, const char *what, int width, Value *plain, Bytes *out) {
    LangError e = {0}, ignored = {0};
    char words[NAME_MAX_BYTES];
    *plain = (Value){.kind = V_UNDEF};
    size_t from = strspn(what, " \"'"), n = strlen(what + from);
    snprintf(words, sizeof words, "%s", what + from);
    for (n = strlen(words); n && strchr("\"'()?. ", words[n - 1]);) words[--n] = '\0';
    bool is_search = (*what && from > 0) || strchr(words, ' ');
    if (!n) {
        put_groups(in, -1, width, out);
        return true;
    }
    int group = help_group(words, n);
    if (!is_search && about_name(in, words, width, plain, out, &e)) return true;
    if (!is_search && group >= 0) {
        put_groups(in, group, width, out);
        return true;
    }
    if (!is_search && about_other_names(in, words, width, plain, out, &ignored)) return true;
    const char *habit = habit_search(words);
    if (habit) bytes_printf(out, "%s: %s\n", words, habit);
    bool found = (is_search || (!habit && n > 1)) && search(in, words, width, out);
    if (found || habit) return true;
    unknown(in, words, &e, out);
    return false;
}
