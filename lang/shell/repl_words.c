/* repl_words.c: help at the prompt, from the tables of builtins and the program's own definitions;
 * `!command`. commands.c runs `:word`s.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/run.h"
#include "lang/value/mapv.h"
#include "lang/eval/import.h"
#include "lang/shell/repl_words.h"
#include "lang/text/pieces.h"
#include "lang/eval/call.h"
#include "lang/eval/builtin.h"
#include "lang/eval/object.h"
#include "lang/shell/pager.h"
#include "lang/shell/command_file.h"
#include "lang/shell/commands.h"
#include "lang/shell/repl_state.h"
#include "lang/shell/who.h"
#include "lang/tensor/tensor.h"
#include "runtime/base/utf8.h"
#include "lang/error/error.h"
#include "lang/error/habit.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ?name ---- */

/* Appends the documentation of a named value; false if it has none. */
static bool put_doc(const char *name, Value v, Bytes *out) {
    const AstFn *fn = v.kind == V_FN ? v.fn->ast : v.kind == V_MODULE ? v.module->make->ast : NULL;
    if (v.kind == V_BUILTIN) {
        bytes_printf(out, "%s(%s)\n", name, v.builtin->signature);
        if (v.builtin->doc && *v.builtin->doc) bytes_printf(out, "    %s\n", v.builtin->doc);
        const BuiltinEntry *twin = ((const BuiltinEntry *)v.builtin)->twin;
        if (twin)
            bytes_printf(out, "%s(%s), of a tensor\n    %s\n", name, twin->b.signature,
                         twin->b.doc);
        return true;
    }
    if (!fn) return false;
    const char *dot = strrchr(name, '.');
    if (v.kind == V_MODULE) bytes_puts(out, "module ");
    bytes_printf(out, "%.*s", dot ? (int)(dot + 1 - name) : 0, name);
    fn_signature(fn, out);
    bytes_putc(out, '\n');
    for (const char *s = fn->doc; s && *s;) {
        size_t n = strcspn(s, "\n");
        bytes_printf(out, "    %.*s\n", (int)n, s);
        s += n + (s[n] == '\n');
    }
    return true;
}

/* Finds one field, method or name of a namespace. *v is a new reference, or V_UNDEF. */
static bool find_member(Interp *in, Value base, const char *interned, Value *v, LangError *e) {
    *v = (Value){.kind = V_UNDEF};
    if (base.kind == V_MAP && base.map->is_space) return space_get(in, base.map, interned, v, e);
    if (base.kind != V_OBJECT) return builtin_method_value(in, base, interned, v, e);
    Fn *f = object_method(base.obj, interned);
    if (f) *v = value_ref((Value){.kind = V_FN, .fn = f});
    return true;
}

/* Finds a name, or a path like nn.init.zeros_ or x.mean; the program's names come first. *v is a
 * new reference. If it fails, *e may have a hint. */
static bool find_value(Interp *in, const char *name, size_t n, Value *v, LangError *e) {
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

static bool method_doc(const char *name, Bytes *out) {
    static const struct {
        ValueKind kind;
        const char *what;
    } kinds[] = {{V_STR, "string"},
                 {V_LIST, "list"},
                 {V_MAP, "map"},
                 {V_TENSOR, "tensor"},
                 {V_OBJECT, "object"}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const Builtin *b = builtin_method(kinds[k].kind, intern(name, strlen(name)));
        if (!b) continue;
        const char *rest = strchr(b->signature, ',');
        bytes_printf(out, "%s.%s(%s)\n    %s\n", kinds[k].what, name,
                     rest ? rest + 1 + (rest[1] == ' ') : "", b->doc);
        return true;
    }
    return false;
}

static bool is_word_part(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* True if the text has this word: one of 1 or 2 letters as a whole word, a longer one anywhere. */
static bool has_word(const char *text, const char *word) {
    size_t n = strlen(word);
    for (const char *at = text; (at = strcasestr(at, word)); at++)
        if (n > 2 || ((at == text || !is_word_part(at[-1])) && !is_word_part(at[n]))) return true;
    return false;
}

/* True if each of the words, at blanks, is in the text. */
static bool has_words(const char *words, const char *text) {
    char word[64];
    for (int used; sscanf(words, "%63s%n", word, &used) == 1; words += used)
        if (!has_word(text, word)) return false;
    return true;
}

/* Appends the documentation of `name` if it has all the words. */
static void search_one(Interp *in, const char *name, const char *words, Bytes *out) {
    LangError ignored = {0};
    Value v;
    if (!find_value(in, name, strlen(name), &v, &ignored)) return;
    Bytes doc = {0};
    if (put_doc(name, v, &doc)) {
        if (has_words(words, doc.data)) bytes_add(out, doc.data, doc.n);
    }
    bytes_fini(&doc);
    value_drop(v);
}

/* Appends the documentation of the names of namespaces that have all the words. */
static void search_spaces(Interp *in, const char *words, Bytes *out) {
    static const char *const spaces[] = {
        "nn",     "nn.init",      "nn.utils", "optim", "optim.lr_scheduler", "optim.swa_utils",
        "linalg", "distributions"};
    char name[160];
    for (size_t k = 0; k < sizeof spaces / sizeof *spaces; k++) {
        LangError ignored = {0};
        Value space, key, v;
        if (!find_value(in, spaces[k], strlen(spaces[k]), &space, &ignored)) continue;
        for (size_t i = 0; space.kind == V_MAP && mapv_at(space.map, i, &key, &v); i++) {
            snprintf(name, sizeof name, "%s.%.100s", spaces[k], key.str->s);
            search_one(in, name, words, out);
        }
        value_drop(space);
    }
}

/* Lists all builtins (words NULL), or what has the words in its name or text. */
static void search_docs(Interp *in, const char *words, Bytes *out) {
    NameList names = {0};
    size_t column = 0;
    names_of_builtins(in, &names);
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.name[i];
        if (words) {
            size_t k = 0;
            while (k < i && names.name[k] != name) k++; /* sum of a list and of a tensor */
            if (k == i) search_one(in, name, words, out);
            continue;
        }
        if (column + strlen(name) + 2 > 78) {
            bytes_putc(out, '\n');
            column = 0;
        }
        bytes_printf(out, "%s  ", name);
        column += strlen(name) + 2;
    }
    if (words)
        search_spaces(in, words, out);
    else
        bytes_puts(out, "\n?name explains one; ? words searches the texts\n");
    names_fini(&names);
}

/* Reports an unknown name. e: what find_value said. */
static void unknown(Interp *in, const char *what, const LangError *e) {
    NameList names = {0};
    size_t n = strlen(what);
    fprintf(stderr, "nothing is known of '%s'", what);
    names_of_builtins(in, &names);
    const char *near = nearest_name(what, n, names.name, names.n);
    LangError habit = {0};
    if (e->hint[0])
        fprintf(stderr, "; %s", e->hint);
    else if (habit_of_space("gt", what, &habit))
        fprintf(stderr, "; hint: %s", habit.hint);
    else if (near)
        fprintf(stderr, "; did you mean ?%s", near);
    fputc('\n', stderr);
    names_fini(&names);
}

/* The statements, and the words in them that are not names. */
static const struct {
    const char *words, *form, *help;
} statements[] = {
    {"if elif else", "if c { … } elif d { … } else { … }",
     "Run the block of the first condition that is true. As a value: a if c else b."},
    {"for in", "for x in xs { … }",
     "Run the block for each element of a list, tensor, range, map, string or set."},
    {"while", "while c { … }", "Run the block as long as the condition is true."},
    {"break", "break", "Leave the innermost loop."},
    {"continue", "continue", "Begin the next round of the innermost loop."},
    {"fn", "fn f(x, y=1) { … }   fn f(x) => x + 1",
     "Define a function. Without a name it is a value: fn(x) => x + 1."},
    {"return", "return x", "Leave the function with a value, or with none."},
    {"module self", "module M(n) { self.w = param(randn(n)); fn forward(x) => x * self.w }",
     "Define a kind of object: m = M(3) runs the block, m(x) calls forward."},
    {"backward", "backward loss", "Compute the gradients of all parameters of loss: p.grad."},
    {"no_grad", "no_grad { … }", "Record nothing for gradients inside the block."},
    {"signal", "signal name { … }",
     "Name a part of the program; --config says which workers compute it, and how."},
    {"import", "import name   import \"file.gt\" as name", "Run a file; its names are name.x."},
    {"del", "del x", "Forget a name, or remove an element: del m[k]."},
    {"assert", "assert c, \"why\"", "Stop with an error unless the condition is true."},
    {"time", "time \"label\" { … }", "Print how long the block took."},
    {"and or not", "a and b   a or b   not a",
     "Logic on bools; a and b are evaluated only as far as needed. Tensors: a & b, a | b, ~a."},
};

/* Appends what the statement does that has this word; false if there is none. */
static bool statement_doc(const char *name, Bytes *out) {
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        const char *at = strstr(statements[i].words, name);
        size_t n = strlen(name);
        if (!n || !at || (at[n] && at[n] != ' ') || (at > statements[i].words && at[-1] != ' '))
            continue;
        bytes_printf(out, "%s\n    %s\n", statements[i].form, statements[i].help);
        return true;
    }
    return false;
}

static void help(Interp *in, const char *what) {
    char path[160];
    Bytes b = {0};
    LangError e = {0};
    Value v;
    size_t n = strlen(what);
    bool is_search = *what == ' ' || strchr(what, ' ');
    what += strspn(what, " ");
    n = strlen(what);
    if (!strcmp(what, "help")) {
        commands_help(&b);
        fputs(b.data, stdout);
        bytes_fini(&b);
        return;
    }
    bool is_statement = !is_search && statement_doc(what, &b);
    bool is_found = *what && !is_search && find_value(in, what, n, &v, &e);
    const char *home = is_search || is_found || n > 100 ? NULL : space_with(in, intern(what, n));
    if (home) { /* ?Adam is ?optim.Adam */
        snprintf(path, sizeof path, "%s.%s", home, what);
        is_found = find_value(in, what = path, strlen(path), &v, &e);
    }
    if (!*what)
        search_docs(in, NULL, &b);
    else if (is_found) {
        if (!put_doc(what, v, &b) && !is_statement) {
            bytes_printf(&b, "%s  ", what);
            who_describe(in, v, &b);
            bytes_putc(&b, '\n');
        }
        value_drop(v);
    } else if (!is_statement && (is_search || !method_doc(what, &b))) {
        const char *habit = habit_search(what);
        if (habit) bytes_printf(&b, "%s: %s\n", what, habit);
        bool is_letter = n == 1; /* is in most texts */
        if ((is_search || !habit) && !is_letter) search_docs(in, what, &b);
    }
    if (b.n)
        fputs(b.data, stdout);
    else
        unknown(in, what, &e);
    bytes_fini(&b);
}

static void show_source(Interp *in, const char *name) {
    LangError e = {0};
    Value v;
    if (!find_value(in, name, strlen(name), &v, &e)) {
        help(in, name);
        return;
    }
    const AstFn *fn = v.kind == V_FN ? v.fn->ast : v.kind == V_MODULE ? v.module->make->ast : NULL;
    if (fn && fn->at.src) {
        Bytes b = {0};
        source_lines(fn->at.src, fn->at.line, fn->end.line, &b);
        fputs(b.data ? b.data : "", stdout);
        bytes_fini(&b);
    } else
        help(in, name);
    value_drop(v);
}

bool repl_word(Repl *r, const char *line) {
    char *copy = xstrdup(line);
    size_t n = strlen(copy);
    while (n && isspace((unsigned char)copy[n - 1])) copy[--n] = '\0';
    bool stay = true;
    fflush(stdout);
    if (*copy == '!') {
        int status = system(copy + 1);
        if (status == -1) fprintf(stderr, "cannot start a shell\n");
        free(copy);
        return true;
    }
    if (*copy == ':') {
        stay = command_run(r, copy);
        free(copy);
        return stay;
    }
    pager_begin();
    if (copy[1] == '?')
        show_source(r->in, copy + 2 + strspn(copy + 2, " "));
    else
        help(r->in, copy + 1);
    pager_end();
    free(copy);
    return stay;
}
