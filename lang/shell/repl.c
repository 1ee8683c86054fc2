/* repl.c: the prompt. Lines come from readline's callback interface, so that replies of the cluster
 * are read while the user thinks. A statement runs as soon as the parser finds it complete. Pasted
 * text is fed line by line, so it runs statement by statement and stops at the first error. Lines
 * that begin with `:`, `?` or `!` are in repl_words.c.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/run.h"
#include "lang/eval/import.h"
#include "lang/text/progress.h"
#include "lang/shell/edit.h"
#include "lang/shell/repl.h"
#include "lang/syntax/lex.h"
#include "lang/shell/options.h"
#include "lang/shell/command_file.h"
#include "lang/shell/command_time.h"
#include "lang/shell/history_file.h"
#include "lang/shell/repl_behind.h"
#include "lang/shell/repl_paste.h"
#include "lang/shell/repl_words.h"
#include "lang/shell/terminal_mode.h"
#include "lang/shell/typing.h"
#include "lang/shell/who.h"
#include "lang/tensor/signal.h"
#include "runtime/base/clock.h"
#include "runtime/base/utf8.h"
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    AHEAD_MAX = 1 << 16, /* bytes read ahead in search of an else */
    AHEAD_MS = 20,       /* the wait for them */
    TELL_MS = 300,       /* after this time it is said what a complete line waits for */
    FREE_SLICE = 20000,  /* values freed between two looks for a key: a millisecond or two */
    IDLE_MS = 100        /* between two looks at the cluster while nobody types */
};

/* Readline's handler takes no argument: it leaves its line here. */
static struct {
    char *line;
    bool has_line, has_told; /* has_told: it was said what the line waits for */
    int64_t end_ms;          /* when it was complete */
} typed;

/* ---- messages ---- */

void repl_report(Interp *in, const LangError *e, const char *severity) {
    Bytes b = {0};
    if (e->at.src && !strcmp(severity, "error")) {
        if (!in->last_error) in->last_error = xmalloc(sizeof *e);
        *in->last_error = *e;
        if (!in->has_new_locals) in->locals.n = 0;
        in->has_new_locals = false;
    }
    fflush(stdout);
    error_print_on(e, severity, in->config.color_err, error_columns(STDERR_FILENO), &b);
    bytes_write(&b, stderr);
}

void repl_warn(void *interp, const LangError *w) { repl_report(interp, w, "warning"); }

void repl_debug(const char *letters, const Source *src, const Program *p) {
    Bytes b = {0};
    if (strchr(letters, 't')) {
        Arena arena = {0};
        Tokens t;
        lex_source(src, &arena, &t);
        lex_print(&t, &b);
        arena_fini(&arena);
    }
    if (strchr(letters, 'a') && p) ast_print(p->body, &b);
    bytes_write(&b, stderr);
}

/* Adds a statement or command to the history of a terminal. */
static void history_keep(Repl *r, const char *text, size_t n) {
    if (r->is_terminal) history_file_add(r->history, text, n);
}

/* ---- reading ---- */

static void on_line(char *line) {
    typed.line = line;
    typed.has_line = true;
    typed.end_ms = now_ms();
    typing_end(line != NULL);
    rl_callback_handler_remove();
}

static void drop_pasted(Repl *r) { r->pasted.n = r->pasted_at = 0; }

/* At the prompt Ctrl-C drops the line. With work behind the prompt, it drops an empty line's. */
static void drop_line(Repl *r, const char *line) {
    bool is_empty = !*line && !r->statement.n;
    interrupt_count = 0;
    if (r->statement.n) { /* a block that is half typed: Arrow-up brings it back */
        bytes_puts(&r->statement, line);
        history_keep(r, r->statement.data, r->statement.n);
    }
    paste_drop();
    r->statement.n = 0;
    drop_pasted(r);
    r->is_else = false;
    r->is_open = false;
    r->skip = (Skip){0};
    fputs("\n", stderr);
    if (is_empty && behind_count(r)) behind_cancel(r);
}

/* Frees a slice of what an interrupted statement left; true if some is left. */
static bool free_some(Repl *r) {
    if (!r->in->dead || !containers_free(r->in, FREE_SLICE)) return r->in->dead != NULL;
    stream_flush(r->in->stream); /* tensors among it */
    return false;
}

/* Waits ms for a key: as poll. SIGINT is blocked but for the wait itself, so that none comes
 * between the look at the flag and the wait. */
static int wait_key(long ms) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    const struct timespec idle = {.tv_nsec = ms * 1000000};
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &before);
    int n = interrupt_count ? 0 : ppoll(&in, 1, &idle, &before), error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return n;
}

/* While a file is written behind the prompt: takes keys until the line is complete, and then says
 * what it waits for. */
static void type_meanwhile(void *ctx) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    while (!typed.has_line && !interrupt_count && poll(&in, 1, 0) > 0) rl_callback_read_char();
    if (!typed.has_line || typed.has_told || now_ms() < typed.end_ms + TELL_MS) return;
    typed.has_told = true;
    fputs("waiting: a file is being written; Ctrl-C ends that\n", stderr);
}

static void go_on_behind(Repl *r) {
    interrupt_meanwhile = (WaitHook){.fn = type_meanwhile};
    behind_poll(r);
    interrupt_meanwhile = (WaitHook){0};
    if (!typed.has_line) behind_say(r);
}

/* The line that is typed, malloc'ed; NULL at the end of input, or if *dropped. */
static char *await_line(Repl *r, bool *dropped) {
    while (!typed.has_line) {
        typing_resized();
        typing_stopped();
        int n = wait_key(free_some(r) ? 0 : IDLE_MS);
        if (interrupt_count) {
            char *line = xstrndup(rl_line_buffer, (size_t)rl_end);
            rl_free_line_state(); /* draws the line again */
            rl_callback_sigcleanup();
            typing_end(false);
            rl_callback_handler_remove();
            drop_line(r, line);
            free(line);
            *dropped = true;
            return NULL;
        }
        if (n > 0)
            rl_callback_read_char();
        else if (n == 0)
            go_on_behind(r);
        else if (errno != EINTR) {
            rl_callback_handler_remove();
            return NULL;
        }
    }
    return typed.line;
}

/* As await_line, behind the prompt. */
static char *read_typed(Repl *r, const char *prompt, bool *dropped) {
    rl_end = 0; /* libedit keeps that of the line before */
    typed.line = NULL;
    typed.has_line = typed.has_told = false;
    typing_begin(&(TypingBefore){.text = r->statement.data,
                                 .n = r->statement.n,
                                 .open = r->probe.data,
                                 .n_open = r->statement.n ? r->probe.n : 0});
    terminal_mode_begin();
    rl_callback_handler_install(prompt, on_line);
    char *line = await_line(r, dropped);
    terminal_mode_end();
    return line;
}

static char *read_plain(const char *prompt) {
    char *line = NULL;
    size_t cap = 0;
    fflush(stdout); /* answers precede the next prompt in a file of both */
    fputs(prompt, stderr);
    fflush(stderr);
    ssize_t n = getline(&line, &cap, stdin);
    if (n < 0) {
        free(line);
        return NULL;
    }
    if (n && line[n - 1] == '\n') line[n - 1] = '\0';
    return line;
}

static char *read_line(Repl *r, bool *dropped) {
    char prompt[16 + SCOPE_MAX] = "gt> ";
    const char *scope = signal_innermost(r->in);
    if (scope) snprintf(prompt, sizeof prompt, "gt %.*s> ", SCOPE_MAX, scope);
    if (r->is_open && r->open_with)
        snprintf(prompt, sizeof prompt, " %c…> ", r->open_with);
    else if (r->is_open)
        snprintf(prompt, sizeof prompt, " …> ");
    else if (r->skip.braces)
        snprintf(prompt, sizeof prompt, " }…> ");
    *dropped = false;
    return r->is_terminal ? read_typed(r, prompt, dropped) : read_plain(prompt);
}

/* ---- running ---- */

void repl_restore_terminal(void) { terminal_mode_restore(); }

size_t repl_hush(Interp *in) {
    clearerr(stdout); /* an interrupted write is not a failure of standard output */
    progress_hush(in);
    return stream_hush(in->stream);
}

static void run_failed(Repl *r, const LangError *e) {
    if (e->kind == E_EXIT) {
        if (e->what[0]) repl_report(r->in, e, "error");
        r->is_done = true;
        r->exit_code = e->exit_code;
    } else if (e->kind == E_INTERRUPT) {
        r->wants_cancel = interrupt_count >= 2;
        interrupt_count = 0; /* from here on, Ctrl-C is a second one, and never a third */
        fflush(stdout);
        bool is_fresh = progress_hush(r->in); /* else the terminal has shown ^C */
        size_t n = repl_hush(r->in);
        fprintf(stderr, "%s%s", r->is_terminal && !is_fresh ? " " : "",
                e->what[0] ? e->what : "interrupted");
        if (e->at.src) fprintf(stderr, " (%s:%u)", e->at.src->name, e->at.line);
        if (n) fprintf(stderr, "; %zu print%s not shown", n, n == 1 ? " is" : "s are");
        fputc('\n', stderr);
        behind_begin(r);
    } else {
        repl_report(r->in, e, "error");
        if (!r->is_terminal) r->exit_code = error_exit_code(e);
    }
}

/* The interned name of the module or function that the text begins to define, or NULL. */
static const char *defined_name(const char *s) {
    s += strspn(s, " \t\r\n");
    size_t word = !strncmp(s, "module", 6) ? 6 : !strncmp(s, "fn", 2) ? 2 : 0;
    size_t gap = word ? strspn(s + word, " \t") : 0;
    const char *name = s + word + gap;
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return gap && n ? intern(name, n) : NULL;
}

/* Adds a statement that succeeded to what :save writes. */
static void keep_typed(Repl *r, const Source *src, unsigned how, bool is_value, bool is_shown) {
    if (r->is_else && r->n_typed) { /* with the if before it, one statement again */
        Typed *t = &r->typed[r->n_typed - 1];
        Bytes whole = {0};
        bytes_printf(&whole, "%s%s", t->text, src->text + strcspn(src->text, "\n") + 1);
        free(t->text);
        t->text = whole.data;
        return;
    }
    r->typed = xrealloc(r->typed, (r->n_typed + 1) * sizeof *r->typed);
    char *text = xmalloc(src->n + 2);
    snprintf(text, src->n + 2, "%s%s", src->text,
             src->n && src->text[src->n - 1] == '\n' ? "" : "\n");
    char *comment = how & RUN_FILE ? command_file_comment(r, src, how) : NULL;
    r->typed[r->n_typed++] = (Typed){text, comment, is_value, is_shown};
}

/* Runs the program, which it consumes; false if it failed or was not to run (e is E_NONE). */
static bool run_parsed(Repl *r, Source *src, Program *p, unsigned how, LangError *e) {
    const ReplConfig *c = r->config;
    bool has_args = how & RUN_ARGS && c->begin_args;
    if (has_args) {
        char **argv = r->next_argv ? r->next_argv : r->argv;
        int argc = 0;
        while (argv && argv[argc]) argc++;
        bool ok = c->begin_args(c->host, p, argc, argv, e);
        if (argv != r->argv) words_free(&r->argv);
        r->argv = argv;
        r->next_argv = NULL;
        if (!ok) {
            program_free(&p);
            return false;
        }
    }
    return interp_run(r->in, p, how & RUN_ECHO, e) &&
           (!has_args || c->end_args(c->host, src->name, e));
}

/* Waits for the statement's work unless that is behind the work of an interrupted one and shows
 * nothing. False if it failed. */
static bool settle(Repl *r, uint64_t issued, bool *was_interrupted) {
    LangError late = {0};
    Stream *s = r->in->stream;
    if (behind_count(r) && !stream_effects(s, issued)) {
        stream_flush(s);
        if (stream_count(s) <= issued) return true;
        r->behind = stream_count(s);
        r->is_dropped = false;
        return true;
    }
    if (*was_interrupted || stream_sync(s, &late)) return true;
    *was_interrupted = late.kind == E_INTERRUPT;
    run_failed(r, &late);
    return false;
}

/* Waits for work behind the prompt, whose time is not the statement's. False if that was
 * interrupted. */
static bool begin_timing(Repl *r, Timing *timing) {
    LangError late = {0};
    if (!stream_sync(r->in->stream, &late)) run_failed(r, &late);
    if (late.kind != E_INTERRUPT) timing_begin(r, timing);
    return timing->is_begun;
}

bool repl_source(Repl *r, Source *src, unsigned how) {
    LangError e = {0};
    Timing timing = {0};
    interrupt_count = 0;
    behind_watch(r);
    if (r->is_timed && !begin_timing(r, &timing)) return false;
    src->is_prompt = how & RUN_ECHO;
    stream_input(r->in->stream);
    uint64_t issued = stream_count(r->in->stream), answers = r->in->n_answers;
    Program *p = parse_program(src, repl_warn, r->in, NULL, &e);
    repl_debug(r->debug, src, p);
    const char *refused = p ? NULL : defined_name(src->text);
    if (refused) r->in->refused = refused;
    bool is_one = p && p->body->n_kids == 1 && p->body->kid[0]->kind == N_EXPR_STMT;
    bool is_shown = is_one && !(p->body->kid[0]->flag & 1);
    bool ok = p && run_parsed(r, src, p, how, &e);
    if (e.kind == E_EXIT && e.what[0]) e.kind = E_RUN; /* arguments of :run, not exit(n) */
    if (!ok && e.kind != E_NONE) run_failed(r, &e);
    bool was_interrupted = e.kind == E_INTERRUPT;
    ok = settle(r, issued, &was_interrupted) && ok;
    if (ok && how & RUN_KEEP)
        keep_typed(r, src, how, is_one && r->in->n_answers > answers, is_shown);
    if (ok && timing.is_begun) timing_print(r, &timing);
    behind_report_lost(r);
    fflush(stdout);
    bool is_again = r->wants_cancel || interrupt_count;
    if (was_interrupted && is_again && !r->lost) behind_cancel(r);
    interrupt_count = 0;
    return ok;
}

static uint32_t count_lines(const char *s, size_t n) {
    uint32_t lines = 0;
    for (size_t i = 0; i < n; i++) lines += s[i] == '\n';
    return lines;
}

/* True if the first line that is not blank or a comment begins with else or elif. */
static bool else_begins(const char *s) {
    for (;;) {
        s = paste_skip_prompts(s);
        s += strspn(s, " \t");
        if (*s != '#' && *s != '\n' && *s != '\r') break;
        s += strcspn(s, "\n");
        if (!*s) return false;
        s++;
    }
    return skip_is_else(s);
}

/* True if standard input has unread bytes, or gets some within ms. */
static bool input_waits(int ms) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&in, 1, ms) > 0;
}

/* True if else or elif begins the next line of a pipe or file, as far as it has arrived. Reads
 * ahead and puts all back. main left standard input without a buffer, so that poll knows of all
 * unread bytes. */
static bool else_arrived(const Repl *r) {
    Bytes seen = {0};
    bool is_decided = false;
    if (r->is_terminal) return false;
    for (size_t line = 0; !is_decided && seen.n < AHEAD_MAX && input_waits(AHEAD_MS);) {
        int c = getc(stdin);
        if (c == EOF) is_decided = seen.n > line;
        if (c == EOF) break;
        bytes_putc(&seen, (char)c);
        if (c != '\n') continue;
        const char *s = seen.data + line + strspn(seen.data + line, " \t\r");
        is_decided = *s != '\n' && *s != '#';
        if (!is_decided) line = seen.n;
    }
    bool is_else = is_decided && else_begins(seen.data);
    while (seen.n && ungetc((unsigned char)seen.data[seen.n - 1], stdin) != EOF) seen.n--;
    bytes_fini(&seen);
    return is_else;
}

/* True if the statement is an if, whose else may stand in a line of its own. */
static bool is_if(const char *s) {
    s += strspn(s, " \t\r\n");
    return !strncmp(s, "if", 2) && !isalnum((unsigned char)s[2]) && s[2] != '_';
}

/* An else or elif continues the if before it, which ran when its brace closed: a line in front of
 * it stands for that. Its condition says whether one of its blocks was taken. */
static void go_on_with_if(Repl *r) {
    bytes_printf(&r->statement, "if %s {}\n", r->in->took_branch ? "true" : "false");
    r->is_else = true;
    r->line--;
}

/* Adds a line to the statement; runs it when it is complete. */
static void feed(Repl *r, const char *line) {
    Bytes *b = &r->statement;
    size_t n_before = b->n;
    if (!b->n && r->has_if && skip_is_else(line)) go_on_with_if(r);
    bytes_puts(b, line);
    bytes_putc(b, '\n');
    if (!n_before) r->probe.n = 0;
    bytes_add(&r->probe, b->data + n_before, b->n - n_before);
    r->is_open = n_before && parse_open_text(&r->probe, &r->open_with);
    if (r->is_open) return;
    Source probe = {
        .name = "repl", .text = b->data, .n = b->n, .first_line = r->line, .is_prompt = true};
    LangError e = {0};
    Program *p = parse_program(&probe, NULL, NULL, &r->open_with, &e);
    r->is_open = !p && e.kind == E_INCOMPLETE;
    program_free(&p);
    if (r->is_open && !n_before) parse_open_text(&r->probe, &r->open_with);
    if (r->is_open) return;
    if (e.kind == E_NONE && is_if(b->data) &&
        (r->pasted.n ? else_begins(r->pasted.data + r->pasted_at) : else_arrived(r)))
        return;
    r->has_if = false;
    if (strspn(b->data, " \t\r\n") < b->n) {
        size_t hidden = r->is_else ? strcspn(b->data, "\n") + 1 : 0;
        history_keep(r, b->data + hidden, b->n - hidden);
        free(r->last);
        r->last = xstrndup(b->data + hidden, b->n - hidden);
        Source *src = interp_source(r->in, "repl", b->data, b->n, r->line, false);
        bool ok = repl_source(r, src, RUN_ECHO | RUN_KEEP), was_pasted = r->pasted.n > 0;
        r->has_if = ok && is_if(src->text) && !strstr(src->text + hidden, "else {");
        if (!ok) drop_pasted(r); /* pasted text stops at the first error */
        if (e.kind != E_NONE && !was_pasted) skip_begin(&r->skip, src->text, src->n, r->line);
        if (r->is_terminal && r->skip.braces)
            fputs("    the rest of this block is skipped; an empty line ends that\n", stderr);
    }
    r->line += count_lines(b->data, b->n);
    b->n = 0;
    r->is_else = false;
}

/* Takes the next pasted line, malloc'ed; NULL if there is none. */
static char *next_pasted(Repl *r) {
    if (!r->pasted.n) return NULL;
    const char *at = r->pasted.data + r->pasted_at;
    size_t left = r->pasted.n - r->pasted_at;
    const char *nl = memchr(at, '\n', left);
    size_t n = nl ? (size_t)(nl - at) : left;
    char *line = xstrndup(at, n);
    r->pasted_at += nl ? n + 1 : n;
    if (r->pasted_at == r->pasted.n) drop_pasted(r);
    return line;
}

/* True if the line is this word alone, and no variable has its name. */
static bool is_word(const Repl *r, const char *line, const char *word) {
    const char *name;
    Value v;
    size_t n = strlen(word);
    if (strncmp(line, word, n) || line[n + strspn(line + n, " \t")]) return false;
    for (size_t i = 0; interp_global(r->in, i, &name, &v); i++)
        if (!strcmp(name, word) && v.kind != V_UNDEF) return false;
    return true;
}

/* The line as a command if it is one: help and clear for want of variables of these names, x? for
 * ?x and x?? for ??x. Else NULL. Malloc'ed. */
static char *as_command(const Repl *r, const char *line) {
    size_t n = strlen(line);
    while (n && isspace((unsigned char)line[n - 1])) n--;
    size_t marks = 0;
    while (marks < 2 && n > marks && line[n - 1 - marks] == '?') marks++;
    size_t name = n - marks, i = 0;
    while (i < name && (isalnum((unsigned char)line[i]) || strchr("_.", line[i]))) i++;
    Bytes b = {0};
    if (*line && strchr(":?!", *line))
        bytes_puts(&b, line);
    else if (is_word(r, line, "help"))
        bytes_puts(&b, ":help");
    else if (is_word(r, line, "clear"))
        bytes_puts(&b, ":clear");
    else if (marks && name && i == name)
        bytes_printf(&b, "%.*s%.*s", (int)marks, "??", (int)name, line);
    return b.data;
}

static void take_line(Repl *r, const char *line) {
    line = paste_skip_prompts(line);
    bool fresh = r->statement.n == 0;
    if (fresh) line = paste_skip_python(line);
    bool by_hand = r->is_terminal && !r->pasted.n && !input_waits(0);
    if (fresh && skip_line(&r->skip, line, by_hand)) {
        r->line++;
        return;
    }
    if (fresh && (is_word(r, line, "exit") || is_word(r, line, "quit"))) {
        r->is_done = true;
        return;
    }
    char *command = fresh ? as_command(r, line) : NULL;
    if (command) {
        history_keep(r, line, strlen(line));
        interrupt_count = 0;
        repl_word(r, command);
        interrupt_count = 0;
        r->line++;
        free(command);
        return;
    }
    feed(r, line);
}

/* ---- the loop ---- */

static void run_init_file(Repl *r) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    Bytes path = {0}, text = {0};
    if (config && *config == '/') bytes_printf(&path, "%s/gt/gtshrc", config);
    if ((!path.n || access(path.data, R_OK)) && home && *home) {
        path.n = 0;
        bytes_printf(&path, "%s/.gtshrc", home);
    }
    if (path.n && bytes_read(&text, path.data, SIZE_MAX))
        repl_source(r, interp_source(r->in, path.data, text.data, text.n, 1, false), RUN_ECHO);
    bytes_fini(&path);
    bytes_fini(&text);
}

static void banner(const Repl *r) {
    const StreamConfig *c = &r->in->config.stream;
    if (c->endpoint)
        fprintf(stderr, "gtsh %s · dispatcher at %s", GTSH_VERSION, c->endpoint);
    else
        fprintf(stderr, "gtsh %s · local dispatcher · %d worker%s (%s)", GTSH_VERSION, c->workers,
                c->workers == 1 ? "" : "s", c->engine ? c->engine : "auto");
    fputs(" · ?help  :q quits\n", stderr);
}

static void unfinished(Repl *r) {
    LangError e = {0};
    Source src = {.name = "repl",
                  .text = r->statement.data,
                  .n = r->statement.n,
                  .first_line = r->line,
                  .is_prompt = true};
    Program *p = parse_program(&src, NULL, NULL, NULL, &e);
    if (!p) {
        repl_report(r->in, &e, "error");
        r->exit_code = error_exit_code(&e);
    }
    program_free(&p);
}

/* The input ends within a refused block: says what did not run. */
static void never_closed(Repl *r) {
    LangError w = {.kind = E_RUN};
    if (r->line <= r->skip.line + 1) return;
    error_set(&w, "the block refused at line %u is never closed: nothing after it ran",
              r->skip.line);
    repl_report(r->in, &w, "warning");
}

/* Ctrl-D would lose something: says so, the first time. */
static bool asks_to_stay(Repl *r) {
    for (int64_t until = now_ms() + 100; behind_count(r) && now_ms() < until;)
        stream_poll_for(r->in->stream, 5); /* what is nearly done */
    unsigned long long behind = behind_count(r);
    bool is_held = paste_is_held();
    if (!r->is_terminal || r->has_asked || (!r->statement.n && !is_held && !behind)) return false;
    r->has_asked = true;
    if (is_held)
        fputs("\nthe pasted lines have not run: Ctrl-D again leaves, Ctrl-C drops them\n", stderr);
    else if (r->statement.n)
        fputs("\na block is half typed: Ctrl-D again leaves, Ctrl-C drops it\n", stderr);
    else
        fprintf(stderr, "\n%llu instruction%s not done: Ctrl-D again leaves\n", behind,
                behind == 1 ? " is" : "s are");
    return true;
}

/* Says which lines of a transcript do not run: one of them may be no output. */
static void left_out(const PasteRest *rest) {
    Bytes b = {0};
    size_t n = utf8_skip(rest->first.data, rest->first.n, 50);
    if (rest->n_lines == 1)
        bytes_puts(&b, "1 line without a prompt is taken for output and left out: ");
    else
        bytes_printf(&b, "%zu lines without a prompt are taken for output and left out, from: ",
                     rest->n_lines);
    error_put_line(rest->first.data, n, &b);
    fprintf(stderr, "%s%s\n", b.data, n < rest->first.n ? "..." : "");
    bytes_fini(&b);
}

/* Bracketed paste gives several lines at once: returns the first, and keeps the others. Consumes
 * line. */
static char *split_paste(Repl *r, char *line) {
    char *held = r->is_terminal ? paste_take() : NULL;
    PasteRest rest = {0};
    if (!held && !strchr(line, '\n')) return line;
    bytes_printf(&r->pasted, "%s%s\n", held ? held : "", line);
    paste_clean(&r->pasted, &rest);
    if (rest.n_lines) left_out(&rest);
    bytes_fini(&rest.first);
    free(held);
    free(line);
    return next_pasted(r);
}

int repl_run(Interp *in, const ReplConfig *config) {
    Repl repl = {.in = in, .config = config, .line = 1, .is_terminal = isatty(STDIN_FILENO)};
    Repl *r = &repl;
    snprintf(r->debug, sizeof r->debug, "%s", config->debug ? config->debug : "");
    r->place = config->dispatcher ? xstrdup(config->dispatcher) : NULL;
    if (config->was_interrupted) r->behind = stream_count(in->stream);
    interrupt_count = 0;
    in->keep_locals = who_keep_locals;
    if (r->is_terminal) {
        rl_readline_name = "gtsh";
        rl_outstream = stderr;
        rl_catch_signals = 0;
        paste_begin();
        typing_open(in); /* before the history: libedit's is empty after it */
        r->history = history_file_open();
        if (!config->norc) run_init_file(r);
    }
    if (!config->quiet) banner(r);
    while (!r->is_done) {
        bool dropped = false, is_pasted = r->pasted.n > 0;
        char *line = is_pasted ? next_pasted(r) : read_line(r, &dropped);
        if (dropped) continue;
        if (!line && asks_to_stay(r)) continue;
        if (!line) break;
        r->has_asked = false;
        if (!is_pasted) line = split_paste(r, line);
        take_line(r, line);
        free(line);
    }
    if (r->statement.n && !r->is_terminal) unfinished(r);
    if (r->statement.n && r->is_terminal) history_keep(r, r->statement.data, r->statement.n);
    if (r->skip.braces && !r->is_terminal) never_closed(r);
    if (!r->is_done && r->is_terminal) fputc('\n', stderr);
    behind_forget(r);
    lost_unref(&r->lost);
    bytes_fini(&r->statement);
    bytes_fini(&r->probe);
    bytes_fini(&r->pasted);
    free(r->history);
    free(r->place);
    command_file_fini(r);
    return r->exit_code;
}
