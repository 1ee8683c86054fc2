/* repl_words.c: commands and help at the prompt, from the tables of builtins and the program's own
 * definitions.
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
#include "lang/shell/repl.h"
#include "lang/tensor/tensor.h"
#include "runtime/base/utf8.h"
#include "lang/error/error.h"
#include "lang/error/habit.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *help;
} commands[] = {
    {":help", "list the commands"},
    {":who", "list the variables with types and sizes"},
    {":signals", "list the signals and their configuration"},
    {":tape", "list the operations recorded for gradients; :tape X: those below X"},
    {"", ":tape 9 lists the last 9 instructions"},
    {":stats", "print the workers' counters that are not 0; stats() has all"},
    {":kernel", ":kernel X prints the source of the kernel that computed tensor X"},
    {":workers", "print a line per worker; :workers N starts N, before any tensor"},
    {":connect", ":connect HOST:PORT uses a dispatcher; :connect reconnects to it"},
    {":where", "print the last error again, with the calls that led to it"},
    {":check-nan", ":check-nan on stops where a value becomes nan or infinite; also off"},
    {":q", "leave (also exit, Ctrl-D or exit(n))"},
    {"ans", "the value shown last"},
    {"?name", "describe a function; ? lists all, ? words searches the texts"},
    {"??name", "print the source of a function that is written in the language"},
    {"!command", "run a shell command"},
};

/* ---- :who ---- */

static void describe(Interp *in, Value v, Bytes *out) {
    char shape[256];
    if (v.kind == V_TENSOR) {
        const TensorType *t = tensor_type(v.tensor);
        bytes_printf(out, "tensor %s, %llu bytes%s", type_text(t, shape),
                     (unsigned long long)type_bytes(t),
                     v.tensor->is_param ? v.tensor->is_buffer ? ", buffer" : ", param" : "");
    } else if (v.kind == V_FN)
        fn_signature(v.fn->ast, out);
    else if (v.kind == V_MODULE) {
        bytes_puts(out, "module ");
        fn_signature(v.module->make->ast, out);
    } else if (v.kind == V_LIST)
        bytes_printf(out, "list of %u", v.list->n);
    else if (v.kind == V_MAP)
        bytes_printf(out, "map of %zu", map_count(v.map));
    else if (v.kind <= V_STR || v.kind == V_RANGE) {
        LangError e = {0};
        size_t from = out->n;
        if (!value_repr(in, v, out, &e)) {
            out->n = from;
            bytes_puts(out, value_type_name(v));
        }
        size_t keep = utf8_skip(out->data + from, out->n - from, 60);
        if (from + keep < out->n) {
            out->n = from + keep;
            bytes_puts(out, "…");
        }
        for (size_t i = from; i < out->n; i++)
            if (out->data[i] == '\n') out->data[i] = ' ';
    } else
        bytes_puts(out, value_type_name(v));
}

static void who(Interp *in) {
    const char *name;
    Value v;
    Bytes b = {0};
    for (size_t i = 0; interp_global(in, i, &name, &v); i++) {
        if (v.kind == V_UNDEF) continue;
        bytes_printf(&b, "%-12s  ", name);
        describe(in, v, &b);
        bytes_putc(&b, '\n');
    }
    fputs(b.n ? b.data : "no variables\n", stdout);
    bytes_fini(&b);
}

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
        repl_word(in, ":help");
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
            describe(in, v, &b);
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
        const char *s = fn->at.src->text;
        uint32_t line = fn->at.src->first_line ? fn->at.src->first_line : 1;
        for (; *s && line < fn->at.line; line++) s += strcspn(s, "\n") + 1;
        const char *end = s;
        for (; *end && line <= fn->end.line; line++)
            end += strcspn(end, "\n") + (strchr(end, '\n') != NULL);
        printf("%.*s", (int)(end - s), s);
        if (end > s && end[-1] != '\n') putchar('\n');
    } else
        help(in, name);
    value_drop(v);
}

/* ---- commands ---- */

/* Runs the code that a command stands for. false: it failed, and the failure was reported. */
static bool run_code(Interp *in, const char *code) {
    LangError e = {0};
    Source *src = interp_source(in, "command", code, strlen(code), 1, false);
    src->is_prompt = true;
    Program *p = parse_program(src, NULL, NULL, NULL, &e);
    if (!p || !interp_run(in, p, true, &e) || !stream_sync(in->stream, &e)) {
        if (e.kind == E_INTERRUPT) {
            repl_hush(in);
            fputs(" interrupted\n", stderr);
            return false;
        }
        e.at = (Span){0};
        repl_report(in, &e, "error");
        return false;
    }
    return true;
}

/* :connect, and a report of the result. */
static void connect_to(Interp *in, const char *where) {
    char code[300];
    const char *last = stream_endpoint(in->stream);
    bool was_lost = stream_is_lost(in->stream);
    uint64_t n = stream_tensors(in->stream), before = stream_count(in->stream);
    if (!*where && last) where = last;
    if (!*where || strpbrk(where, "\"\\ ") || strlen(where) > 200) {
        fputs(":connect needs HOST:PORT\n", stderr);
        return;
    }
    bool is_there = last && !was_lost && before;
    snprintf(code, sizeof code, "connect(\"%s\")", where);
    if (!run_code(in, code)) return;
    int workers = 0;
    LangError e = {0};
    stream_workers(in->stream, &workers, &e);
    fprintf(stderr, "%s %s, %d worker%s\n", is_there ? "already connected to" : "connected to",
            stream_endpoint(in->stream), workers, workers == 1 ? "" : "s");
    if (was_lost)
        fprintf(stderr, "%llu tensor%s gone; all other values are kept\n", (unsigned long long)n,
                n == 1 ? " is" : "s are");
}

/* Runs before + rest + after if ok; otherwise says what the command wants. */
static void run_call(Interp *in, bool ok, const char *wants, const char *before, const char *rest,
                     const char *after) {
    char code[300];
    if (ok) {
        snprintf(code, sizeof code, "%s%s%s", before, rest, after);
        run_code(in, code);
    } else
        fprintf(stderr, "%s\n", wants);
}

/* Runs a command that abbreviates a call; false if it is not one of them. */
static bool call_for(Interp *in, const char *word, const char *rest) {
    bool is_off = !strcmp(rest, "off");
    if (!strcmp(word, ":tape"))
        run_call(in, strlen(rest) <= 200, ":tape takes a tensor or a number", "debug.print_tape(",
                 rest, ")");
    else if (!strcmp(word, ":stats"))
        run_code(in, "debug.print_stats()");
    else if (!strcmp(word, ":signals"))
        run_code(in, "(fn() { for name, config in signal.get().items() {"
                     " print(name + \":\", config) } })()");
    else if (!strcmp(word, ":workers") && !*rest)
        run_code(in, "debug.print_workers()");
    else if (!strcmp(word, ":workers"))
        run_call(in, !rest[strspn(rest, "0123456789")] && strlen(rest) <= 18,
                 ":workers needs a number, such as :workers 2", "print(workers(", rest, "))");
    else if (!strcmp(word, ":kernel"))
        run_call(in, *rest && strlen(rest) <= 200, ":kernel needs a tensor, such as :kernel x",
                 "debug.print_kernel(", rest, ")");
    else if (!strcmp(word, ":check-nan"))
        run_call(in, !*rest || !strcmp(rest, "on") || is_off, ":check-nan needs on or off",
                 "debug.check_nan(", is_off ? "false" : "true",
                 is_off ? "); print(\":check-nan off\")" : "); print(\":check-nan on\")");
    else if (!strcmp(word, ":connect"))
        connect_to(in, rest);
    else
        return false;
    return true;
}

static void where(Interp *in) {
    Bytes b = {0};
    if (in->last_error)
        error_print(in->last_error, "error", in->config.color_out, &b);
    else
        bytes_puts(&b, "there was no error\n");
    fputs(b.data, stdout);
    bytes_fini(&b);
}

static bool colon(Interp *in, const char *line) {
    char word[32] = "";
    sscanf(line, "%31s", word);
    const char *rest = line + strlen(word) + strspn(line + strlen(word), " \t");
    static const char *const alone[] = {":q",    ":quit",    ":who",  ":where",
                                        ":help", ":signals", ":stats"};
    for (size_t k = 0; *rest && k < sizeof alone / sizeof *alone; k++)
        if (!strcmp(word, alone[k])) {
            fprintf(stderr, "%s takes no words, got '%.60s'\n", word, rest);
            return true;
        }
    if (!strcmp(word, ":q") || !strcmp(word, ":quit")) return false;
    if (!strcmp(word, ":who"))
        who(in);
    else if (!strcmp(word, ":where"))
        where(in);
    else if (!strcmp(word, ":help") || !strcmp(word, ":")) {
        for (size_t k = 0; k < sizeof commands / sizeof *commands; k++)
            printf("%-10s %s\n", commands[k].name, commands[k].help);
    } else if (!call_for(in, word, rest)) {
        static const char *const known[] = {":help",    ":who",       ":quit",   ":signals",
                                            ":tape",    ":stats",     ":kernel", ":workers",
                                            ":connect", ":check-nan", ":where"};
        const char *near = nearest_name(word, strlen(word), known, sizeof known / sizeof *known);
        fprintf(stderr, "there is no command '%s'%s%s; :help lists them\n", word,
                near ? "; did you mean " : "", near ? near : "");
    }
    return true;
}

bool repl_word(Interp *in, const char *line) {
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
    pager_begin();
    if (*copy == ':')
        stay = colon(in, copy);
    else if (copy[1] == '?')
        show_source(in, copy + 2 + strspn(copy + 2, " "));
    else
        help(in, copy + 1);
    pager_end();
    free(copy);
    return stay;
}
