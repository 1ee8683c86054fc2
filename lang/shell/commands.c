/* commands.c: see commands.h. Each row of commands.def names its function here, run_ID. Most
 * commands stand for a call, whose source text they run.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/commands.h"
#include "lang/eval/import.h"
#include "lang/eval/run.h"
#include "lang/session/session.h"
#include "lang/shell/command_file.h"
#include "lang/shell/command_set.h"
#include "lang/shell/command_time.h"
#include "lang/shell/options.h"
#include "lang/shell/pager.h"
#include "lang/shell/repl_behind.h"
#include "lang/shell/who.h"
#include "lang/value/cycles.h"
#include "runtime/base/log.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const Command commands[] = {
#define COMMAND(id, word, argument, form, help) {word, COMMAND_##argument, form, help},
#include "lang/shell/commands.def"
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

const Command *command_at(size_t i) { return i < N_COMMANDS ? &commands[i] : NULL; }

const Command *command_find(const char *word, size_t n) {
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strlen(commands[i].word) == n && !memcmp(commands[i].word, word, n))
            return &commands[i];
    return NULL;
}

enum { HELP_COLUMN = 22, HELP_WIDTH = 80 };

/* Appends a row of :help: further lines of the text begin in its column. */
static void put_help(const char *left, const char *text, Bytes *out) {
    size_t column = HELP_COLUMN;
    bytes_printf(out, "%-*s", HELP_COLUMN - 1, left);
    for (size_t n; *text; text += n + strspn(text + n, " ")) {
        n = strcspn(text, " ");
        bool fits = column + 1 + n <= HELP_WIDTH;
        if (!fits) bytes_printf(out, "\n%*s", HELP_COLUMN - 1, "");
        bytes_printf(out, " %.*s", (int)n, text);
        column = fits ? column + 1 + n : HELP_COLUMN + n;
    }
    bytes_putc(out, '\n');
}

void commands_help(Bytes *out) {
    static const char *const others[][2] = {
        {"ans", "the value shown last (also _)"},
        {"?name", "describe it; ? lists all, ? words searches the texts"},
        {"??name", "print its source, or the rules of an operation"},
        {"!command", "run a shell command"},
    };
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const Command *c = &commands[i];
        char left[80];
        if (!*c->help) continue;
        snprintf(left, sizeof left, "%s%s%s", c->word, *c->form ? " " : "", c->form);
        put_help(left, c->help, out);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        put_help(others[i][0], others[i][1], out);
}

/* ---- commands that stand for calls ---- */

bool command_code(Repl *r, const char *code) {
    Interp *in = r->in;
    LangError e = {0};
    Source *src = interp_source(in, "command", code, strlen(code), 1, false);
    src->is_prompt = true;
    Program *p = parse_program(src, NULL, NULL, NULL, &e);
    if (!p || !interp_run(in, p, true, &e) || !stream_sync(in->stream, &e)) {
        if (e.kind == E_INTERRUPT) {
            repl_hush(in);
            fputs(" interrupted\n", stderr);
            behind_begin(r);
            return false;
        }
        e.at = (Span){0};
        e.n_frames = 0;
        repl_report(in, &e, "error");
        return false;
    }
    return true;
}

/* :connect, and a report of the result. */
static void connect_to(Repl *r, const char *where) {
    char code[300];
    Interp *in = r->in;
    const char *last = stream_endpoint(in->stream);
    bool was_lost = stream_is_lost(in->stream);
    uint64_t n = stream_tensors(in->stream), before = stream_count(in->stream);
    if (!*where && r->place)
        where = r->place; /* such as @FILE, which has the token of a new dispatcher */
    else if (!*where && last)
        where = last;
    if (!*where || strpbrk(where, "\"\\ ") || strlen(where) > 200) {
        fputs(":connect needs HOST:PORT\n", stderr);
        return;
    }
    bool is_there = last && !was_lost && before;
    snprintf(code, sizeof code, "connect(\"%s\")", where);
    if (!command_code(r, code)) return;
    char *place = xstrdup(where);
    free(r->place);
    r->place = place;
    int workers = 0;
    LangError e = {0};
    stream_workers(in->stream, &workers, &e);
    fprintf(stderr, "%s %s, %d worker%s\n", is_there ? "already connected to" : "connected to",
            stream_endpoint(in->stream), workers, workers == 1 ? "" : "s");
    if (was_lost && n)
        fprintf(stderr, "%llu tensor%s gone; all other values are kept\n", (unsigned long long)n,
                n == 1 ? " is" : "s are");
}

/* Runs before + rest + after if ok; otherwise says what the command wants. */
static void run_call(Repl *r, bool ok, const char *wants, const char *before, const char *rest,
                     const char *after) {
    char code[300];
    if (ok) {
        snprintf(code, sizeof code, "%s%s%s", before, rest, after);
        command_code(r, code);
    } else
        fprintf(stderr, "%s\n", wants);
}

static void print_where(Interp *in) {
    Bytes b = {0};
    if (in->last_error)
        error_print_on(in->last_error, "error", in->config.color_out, pager_columns(), &b);
    else
        bytes_puts(&b, "there was no error\n");
    if (in->last_error && in->locals.n) bytes_add(&b, in->locals.data, in->locals.n);
    fputs(b.data, stdout);
    bytes_fini(&b);
}

/* ---- the table's functions: rest is the argument, "" if there is none ---- */

static void run_HELP(Repl *r, const char *rest) {
    Bytes b = {0};
    commands_help(&b);
    fputs(b.data, stdout);
    bytes_fini(&b);
}

static void run_WHO(Repl *r, const char *rest) {
    bool by_bytes = !strcmp(rest, "-m"), may_wait = behind_count(r) == 0;
    if (!who_print(r->in, *rest && !by_bytes ? rest : NULL, by_bytes, may_wait))
        fprintf(stderr, ":who takes -m or the name of a variable, got '%.60s'\n", rest);
}

static void run_WHERE(Repl *r, const char *rest) { print_where(r->in); }

static void run_TAPE(Repl *r, const char *rest) {
    run_call(r, strlen(rest) <= 200, ":tape takes a tensor or a number", "debug.print_tape(", rest,
             ")");
}

static void run_KERNEL(Repl *r, const char *rest) {
    run_call(r, *rest && strlen(rest) <= 200, ":kernel needs a tensor, such as :kernel x",
             "debug.print_kernel(", rest, ")");
}

static void run_SIGNALS(Repl *r, const char *rest) {
    command_code(r,
                 "(fn() { if not signal.get() { print(\"no signal is configured: see --config and"
                 " ?signal.define\") }; for name, config in signal.get().items() {"
                 " print(name + \":\", config) } })()");
}

static void run_STATS(Repl *r, const char *rest) { command_code(r, "debug.print_stats()"); }

static void run_WORKERS(Repl *r, const char *rest) {
    if (*rest)
        run_call(r, !rest[strspn(rest, "0123456789")] && strlen(rest) <= 18,
                 ":workers needs a number, such as :workers 2", "print(workers(", rest, "))");
    else
        command_code(r, "debug.print_workers()");
}

static void run_CONNECT(Repl *r, const char *rest) { connect_to(r, rest); }

static void run_CHECK_NAN(Repl *r, const char *rest) {
    bool is_off = !strcmp(rest, "off");
    run_call(r, true, "", "debug.check_nan(", is_off ? "false" : "true",
             is_off ? "); print(\":check-nan off\")" : "); print(\":check-nan on\")");
}

static void run_TIME(Repl *r, const char *rest) { command_time(r, rest); }
static void run_RUN(Repl *r, const char *rest) { command_run_file(r, rest, false); }
static void run_LOAD(Repl *r, const char *rest) { command_run_file(r, rest, true); }
static void run_EDIT(Repl *r, const char *rest) { command_edit(r, rest); }
static void run_SAVE(Repl *r, const char *rest) { command_save(r, rest, false); }
static void run_SAVE_OVER(Repl *r, const char *rest) { command_save(r, rest, true); }
static void run_HISTORY(Repl *r, const char *rest) { command_history(r, rest); }
static void run_SET(Repl *r, const char *rest) { command_set(r, rest); }

static void run_FREE(Repl *r, const char *rest) {
    size_t before = r->in->n_containers;
    cycles_collect(r->in);
    stream_flush(r->in->stream);
    size_t n = before - r->in->n_containers;
    fprintf(stderr, "%zu value%s freed\n", n, n == 1 ? "" : "s");
}

static void run_LOG(Repl *r, const char *rest) {
    bool is_off = !strcmp(rest, "off");
    if (!*rest)
        printf(":log %s\n", *r->debug ? r->debug : "off");
    else if (!is_off && rest[strspn(rest, "taigwsmk")])
        fputs(":log takes letters: t tokens, a syntax tree, i instructions, g tape, w frames, "
              "s connections, m memory, k kernels; or off\n",
              stderr);
    else {
        snprintf(r->debug, sizeof r->debug, "%s", is_off ? "" : rest);
        log_set(r->debug);
    }
}

static void run_PAGER(Repl *r, const char *rest) {
    if (*rest) pager_switch(rest[1] == 'n');
    printf(":pager %s\n", pager_is_on() ? "on" : "off");
}

static void run_CLEAR(Repl *r, const char *rest) {
    const char *term = getenv("TERM");
    if (r->is_terminal && term && strcmp(term, "dumb")) fputs("\033[H\033[2J", stderr);
}

static void run_MODE(Repl *r, const char *rest) {
    static const char *const words[] = {"plain", "json", "csv", "npy"};
    LangError e = {0};
    OutputForm form = r->in->output;
    bool ok = !*rest || options_output(":mode", rest, &form, &e);
    if (!ok) error_hint(&e, ":mode json; :mode plain shows values as usual");
    if (ok && form == OUTPUT_NPY && isatty(STDOUT_FILENO)) {
        ok = error_set(&e, "npy is binary: not for a terminal");
        error_hint(&e, "gtsh -p --format=npy 'x' >x.npy; save(x, \"x.npy\")");
    }
    if (!ok) {
        e.kind = E_RUN;
        repl_report(r->in, &e, "error");
        return;
    }
    r->in->output = form;
    printf(":mode %s\n", words[form]);
}

static void run_DETACH(Repl *r, const char *rest) {
    Err err = {0};
    if (!session_detach(&err)) err_report("gtsh", &err);
}

static void run_QUIT(Repl *r, const char *rest) { r->is_done = true; }
static void run_QUIT_TOO(Repl *r, const char *rest) { r->is_done = true; }

/* ---- dispatch ---- */

static void (*const functions[])(Repl *r, const char *rest) = {
#define COMMAND(id, word, argument, form, help) run_##id,
#include "lang/shell/commands.def"
};

static void unknown_command(const char *word) {
    const char *known[N_COMMANDS];
    for (size_t i = 0; i < N_COMMANDS; i++) known[i] = commands[i].word;
    const char *near = nearest_name(word, strlen(word), known, N_COMMANDS);
    fprintf(stderr, "there is no command '%.60s'%s%s; :help lists them\n", word,
            near ? "; did you mean " : "", near ? near : "");
}

/* True if the argument is one that the command takes; otherwise says what it takes. */
static bool takes(const Command *c, const char *rest) {
    if (c->argument == COMMAND_NONE && *rest)
        fprintf(stderr, "%s takes no words, got '%.60s'\n", c->word, rest);
    else if (c->argument == COMMAND_SWITCH && *rest && strcmp(rest, "on") && strcmp(rest, "off"))
        fprintf(stderr, "%s needs on or off\n", c->word);
    else
        return true;
    return false;
}

void command_run(Repl *r, const char *line) {
    size_t n = strcspn(line, " \t");
    const char *rest = line + n + strspn(line + n, " \t");
    const Command *c = n == 1 ? &commands[0] : command_find(line, n);
    if (c) {
        if (!takes(c, rest)) return;
        behind_watch(r);
        bool pages = c->argument != COMMAND_FILE; /* what a file prints is no answer of ours */
        if (pages) pager_begin();
        functions[c - commands](r, rest);
        if (pages) pager_end();
        return;
    }
    char *word = xstrndup(line, n);
    unknown_command(word);
    free(word);
}
