/* main.c: the command gtsh: finds the program, runs it, and ends the process. Text
 * that begins with `gti 1` is instructions, other text is a gt program; without text the prompt
 * starts. Results go to standard output, everything else to standard error.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/run.h"
#include "lang/eval/import.h"
#include "lang/builtin/args.h"
#include "lang/fmt/fmt.h"
#include "lang/lsp/lsp.h"
#include "lang/builtin/output.h"
#include "lang/stream/local.h"
#include "lang/session/session.h"
#include "lang/shell/options.h"
#include "lang/shell/pager.h"
#include "lang/shell/profile.h"
#include "lang/shell/repl.h"
#include "lang/shell/replay.h"
#include "lang/shell/replay_step.h"
#include "lang/tensor/signal.h"
#include "runtime/base/clock.h"
#include "runtime/base/heap.h"
#include "runtime/base/log.h"
#include "runtime/inst/gtb.h"
#include "runtime/inst/tape.h"
#include "runtime/net/endpoint.h"
#include "runtime/net/net.h"
#include "runtime/base/env.h"
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct App {
    Options o;
    Interp *in;
    Args *args;
    char header[600]; /* of --emit and --tee */
    InstFile *file;   /* of these */
    FILE *tee;
    bool tee_waits, tee_is_new; /* nothing of --tee's file is written yet; it was not there */
    char *beside;               /* the name of the file that holds elements, or NULL */
    FILE *emitted;              /* of --emit-step: the instructions, in memory */
    char *run;
    size_t n_run;
    Endpoint endpoint; /* of -d */
    const char *name;  /* the program's path, or "-c", "-p", "stdin" */
    char *text;
    size_t n; /* owned */
} App;

/* ---- terminal and signals ---- */

static bool has_color(const Options *o, int fd) {
    if (o->color >= 0) return o->color;
    const char *no = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE"), *term = getenv("TERM");
    if (no && *no) return false;
    if (force && *force && strcmp(force, "0")) return true;
    return isatty(fd) && !(term && !strcmp(term, "dumb"));
}

static int screen_width(void) {
    int columns = error_columns(STDOUT_FILENO);
    return columns < 20 ? 80 : columns;
}

/* The signal that ends a script; 0: none yet. In `is_script` the first one stops the program as
 * Ctrl-C does, so that what it has printed is written. */
static volatile sig_atomic_t end_signal, is_script;
enum { END_S = 3 }; /* then the process ends at once */

/* Ends the process by the signal, as without a handler, after the clean-up of local_abandon. */
static void on_end(int number) {
    if (is_script && !end_signal && (number == SIGTERM || number == SIGHUP)) {
        end_signal = number;
        interrupt_count = 1;
        alarm(END_S);
        return;
    }
    if (number == SIGALRM) number = end_signal;
    repl_restore_terminal();
    local_abandon();
    signal(number, SIG_DFL);
    raise(number);
}

/* The first Ctrl-C stops the program, the second cancels its work, the third ends the process in
 * case something hangs. */
static void on_interrupt(int number) {
    (void)number;
    if (interrupt_count < 2) {
        interrupt_count = interrupt_count + 1;
        return;
    }
    on_end(SIGINT);
}

static void set_signals(void) {
    /* `gtsh x.gt | head` ends quietly */
    static const int ends[] = {SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGABRT};
    struct sigaction interrupt = {.sa_handler = on_interrupt}; /* no SA_RESTART: waits come back */
    struct sigaction end = {.sa_handler = on_end}, before;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGALRM, &end, NULL);
    signal(SIGXFSZ, SIG_IGN); /* past ulimit -f, write(2) fails: an error with words */
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        bool is_nohup = sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN &&
                        ends[i] != SIGPIPE;
        if (!is_nohup) sigaction(ends[i], &end, NULL);
    }
}

/* ---- ending ---- */

static void report_plain(const Options *o, const LangError *e, const char *severity) {
    Bytes b = {0};
    fflush(stdout);
    error_print_on(e, severity, has_color(o, STDERR_FILENO), error_columns(STDERR_FILENO), &b);
    bytes_write(&b, stderr);
}

/* Prints e. exit(n) has no message; errors on the command line have one. */
static void report(App *a, const LangError *e) {
    if (e->kind == E_EXIT && !e->what[0]) return;
    if (a->in)
        repl_report(a->in, e, "error");
    else
        report_plain(&a->o, e, "error");
}

/* The program cannot start: what --tee's file held stays, and no new one is left behind. The header
 * that waits in the buffer goes nowhere. */
static void drop_tee(App *a) {
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) dup2(nowhere, fileno(a->tee)), close(nowhere);
    if (a->tee_is_new) unlink(a->o.tee);
}

/* Ends the file of --emit or --tee; false, with a message, if it could not be written. */
static bool end_file(App *a) {
    Err err = {0};
    bool ok = true, is_whole = !a->file || !inst_file_take_error(a->file, &err);
    if (!is_whole) err_report("gtsh", &err);
    if (a->file && inst_file_beside(a->file) && is_whole && !a->o.quiet)
        fprintf(stderr, "gtsh: elements are in %s\n", inst_file_beside(a->file));
    if (a->tee_waits) drop_tee(a);
    if (!inst_file_free(&a->file, &err)) ok = a->o.emit && !a->tee; /* stdout: leave reports it */
    if (a->tee && fclose(a->tee) != 0) ok = err_set(&err, ERR_IO, "%s", strerror(errno));
    if (!ok) fprintf(stderr, "gtsh: cannot write '%s': %s\n", a->o.tee, err.text);
    a->tee = NULL;
    free(a->beside);
    a->beside = NULL;
    return ok && is_whole;
}

static int leave(App *a, int code) {
    if (a->in) interp_free(&a->in);
    if (!end_file(a) && code == 0) code = 1;
    pager_end();
    args_free(&a->args);
    if (a->emitted) fclose(a->emitted);
    free(a->run);
    free(a->text);
    options_fini(&a->o);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (errno != EPIPE)
            fprintf(stderr, "gtsh: cannot write to standard output: %s\n", strerror(errno));
        if (code == 0) code = 1;
    }
    return code;
}

static int fail(App *a, const LangError *e) {
    report(a, e);
    return leave(a, error_exit_code(e));
}

/* gtsh --fmt [FILE ...] */
static int format_files(App *a) {
    const Options *o = &a->o;
    const char **path = xmalloc((size_t)(o->argc + 1) * sizeof *path);
    int n = 0;
    if (o->script) path[n++] = o->script;
    for (int k = 0; k < o->argc; k++) path[n++] = o->argv[k];
    int code = fmt_files(path, n, o->check, has_color(o, STDERR_FILENO));
    free(path);
    return leave(a, code);
}

/* gtsh --lsp */
static int serve_editor(App *a) {
    LangError e = {0};
    InterpConfig config = {.stream = {.mode = STREAM_CHECK, .workers = 1}, .width = 80};
    signal(SIGPIPE, SIG_IGN);
    a->in = interp_new(&config, &e);
    if (!a->in) return fail(a, &e);
    a->in->args = a->args = args_new(0, NULL);
    return leave(a, lsp_run(a->in, STDIN_FILENO, STDOUT_FILENO));
}

static _Noreturn void die_by_interrupt(void) {
    int number = end_signal ? end_signal : SIGINT;
    signal(number, SIG_DFL);
    raise(number);
    _exit(128 + number);
}

/* ---- the text ---- */

static bool read_all(FILE *f, const char *name, char **text, size_t *n, LangError *e) {
    Bytes b = {0};
    char chunk[1 << 16];
    for (size_t got; (got = fread(chunk, 1, sizeof chunk, f)) > 0;) {
        if (b.n > (1u << 30)) {
            bytes_fini(&b);
            e->kind = E_NOINPUT;
            return error_set(e, "'%s' is larger than 1 GiB: that is not a program", name);
        }
        bytes_add(&b, chunk, got);
    }
    if (ferror(f)) {
        bytes_fini(&b);
        e->kind = E_NOINPUT;
        return error_set(e, "cannot read '%s': %s", name, strerror(errno));
    }
    bytes_reserve(&b, 1);
    b.data[b.n] = '\0';
    if (b.n >= 3 && !memcmp(b.data, "\xef\xbb\xbf", 3)) /* a byte-order mark */
        memmove(b.data, b.data + 3, (b.n -= 3) + 1);
    *text = b.data;
    *n = b.n;
    return true;
}

static bool read_path(const char *path, char **text, size_t *n, LangError *e) {
    struct stat st;
    if (!strcmp(path, "-")) return read_all(stdin, "standard input", text, n, e);
    FILE *f = fopen(path, "rb");
    if (f && fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
        fclose(f);
        f = NULL;
        errno = EISDIR;
    }
    if (!f) {
        e->kind = E_NOINPUT;
        return error_set(e, "cannot read '%s': %s", path, strerror(errno));
    }
    bool ok = read_all(f, path, text, n, e);
    fclose(f);
    return ok;
}

/* Sets name and text. Sets *at_prompt if there is no program. */
static bool find_text(App *a, bool *at_prompt, LangError *e) {
    const Options *o = &a->o;
    *at_prompt = false;
    if (o->code || o->expr) {
        a->name = o->code ? "-c" : "-p";
        a->text = xstrdup(o->code ? o->code : o->expr);
        a->n = strlen(a->text);
        return true;
    }
    const char *path = o->replay ? o->replay : o->script;
    if (!path && (o->prompt || o->session || isatty(STDIN_FILENO))) {
        *at_prompt = true;
        return true;
    }
    if (!path) path = "-";
    a->name = strcmp(path, "-") ? path : "stdin";
    return read_path(path, &a->text, &a->n, e);
}

static bool find_dispatcher(App *a, LangError *e) {
    Err err = {0};
    if (!a->o.dispatcher) return true;
    if (endpoint_find(a->o.dispatcher, &a->endpoint, &err)) {
        net_set_token(a->endpoint.token, a->endpoint.file);
        return true;
    }
    error_from(e, &err);
    e->kind = E_CONFIG;
    return false;
}

/* ---- running ---- */

static bool is_instructions(const App *a) {
    return a->o.replay || (a->text && replay_is_text(a->text, a->n));
}

static bool is_tape(const App *a) {
    const char *end = a->text ? memchr(a->text, '\n', a->n) : NULL;
    return a->text && tape_is_header(a->text, end ? (size_t)(end - a->text) : a->n);
}

static StreamMode stream_mode_of(const App *a) {
    if (a->o.check || a->o.dry) return STREAM_CHECK;
    if (!a->o.emit) return STREAM_LIVE;
    return is_instructions(a) ? STREAM_CHECK : STREAM_EMIT; /* converted, or made */
}

/* Opens the file of --tee. Elements go beside it, if it is a file. What it holds stays until
 * begin_tee. */
static bool open_tee(App *a, InstFileConfig *c, LangError *e) {
    const char *path = a->o.tee;
    struct stat tee, program;
    *e = (LangError){.kind = E_NOINPUT};
    bool is_there = stat(path, &tee) == 0;
    if (is_there && a->name && stat(a->name, &program) == 0 && tee.st_dev == program.st_dev &&
        tee.st_ino == program.st_ino)
        return error_set(e, "--tee '%.200s' would overwrite what is run", path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    a->tee = c->to = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!a->tee || fstat(fd, &tee) != 0)
        return error_set(e, "cannot write '%.200s': %s", path, strerror(errno));
    if (S_ISREG(tee.st_mode)) {
        a->tee_waits = true;
        a->tee_is_new = !is_there;
        c->path = path, c->payloads = PAYLOADS_LARGE;
    }
    *e = (LangError){0};
    return true;
}

/* What runs has been read without an error: the file of --tee begins anew. */
static void begin_tee(App *a) {
    if (a->tee_waits && ftruncate(fileno(a->tee), 0) == 0) a->tee_waits = false;
}

/* Opens the file of --emit or --tee, if there is one. */
static bool begin_file(App *a, LangError *e) {
    const Options *o = &a->o;
    if (o->check || o->dry || (!o->emit && !o->tee)) return true;
    if (o->emit_binary && isatty(STDOUT_FILENO)) {
        *e = (LangError){.kind = E_EXIT, .exit_code = 2};
        error_set(e, "the binary form is not for a terminal");
        return error_hint(e, "gtsh --emit=binary x.gt >x.gtb");
    }
    size_t n = o->tee ? strlen(o->tee) : 0;
    bool is_given = o->given >> OPTION_PAYLOADS & 1;
    if (o->emit_step) a->emitted = open_memstream(&a->run, &a->n_run);
    InstFileConfig c = {.to = a->emitted ? a->emitted : stdout,
                        .is_binary = o->emit_binary,
                        .payloads = PAYLOADS_INLINE};
    if (o->tee) {
        if (!open_tee(a, &c, e)) return false;
        c.is_binary = n > 4 && !strcmp(o->tee + n - 4, ".gtb");
    } else if (is_given && o->payloads == PAYLOADS_FILES) {
        Bytes name = {0}; /* beside standard output: of the program's name, here */
        const char *slash = a->name ? strrchr(a->name, '/') : NULL;
        const char *file = slash ? slash + 1 : a->name;
        bytes_puts(&name, file && file[0] != '-' ? file : "program"); /* not -c.data */
        c.path = a->beside = name.data;
    }
    if (is_given && (c.path || o->payloads != PAYLOADS_FILES)) c.payloads = o->payloads;
    a->file = inst_file_new(&c);
    return true;
}

static InterpConfig interp_config(App *a, bool at_prompt) {
    const Options *o = &a->o;
    size_t n = (size_t)snprintf(a->header, sizeof a->header, " prog=\"");
    for (const char *s = a->name ? a->name : ""; *s && n < sizeof a->header - 64; s++)
        if (*s != '"' && *s != '\\' && (unsigned char)*s >= 0x20) a->header[n++] = *s;
    snprintf(a->header + n, sizeof a->header - n, "\" seed=%llu", (unsigned long long)o->seed);
    bool prompt = at_prompt || o->prompt;
    return (InterpConfig){
        .stream = {.mode = stream_mode_of(a),
                   .endpoint = o->dispatcher ? a->endpoint.text : NULL,
                   .workers = o->workers,
                   .threads = o->threads,
                   .engine = o->engine,
                   .memory_bytes = o->memory_bytes,
                   .hashing = o->hashing,
                   .prompt = prompt,
                   .name = a->name,
                   .profile = o->profile,
                   .file = o->emit && is_instructions(a) ? NULL : a->file,
                   .has_all = o->given >> OPTION_PAYLOADS & 1 && o->payloads == PAYLOADS_INLINE,
                   .emit_header = a->header},
        .argc = o->argc,
        .argv = o->argv,
        .seed = o->seed,
        .interactive = at_prompt,
        .strict = o->strict,
        .log_dir = o->log_dir,
        .color_out = has_color(o, STDOUT_FILENO),
        .color_err = has_color(o, STDERR_FILENO),
        .width = screen_width(),
        .columns = isatty(STDOUT_FILENO) ? screen_width : NULL};
}

/* -p: checks that the program is one expression. wraps: wraps the tree, not the text, in a call of
 * print, so that errors keep their columns. */
static bool wrap_in_print(Program *p, bool wraps, LangError *e) {
    Node *body = p->body;
    if (body->n_kids != 1 || body->kid[0]->kind != N_EXPR_STMT) {
        e->kind = E_SYNTAX;
        error_at(e, body->n_kids ? body->kid[body->n_kids - 1]->at : body->at,
                 "-p prints one expression");
        return error_hint(e, "-c runs statements");
    }
    body->kid[0]->flag = 0; /* a semicolon hides nothing here */
    if (!wraps) return true;
    Node *value = body->kid[0]->kid[0];
    Node *node = arena_zalloc(&p->arena, 2 * sizeof *node);
    Node *call = &node[0], *name = &node[1];
    *call = *name = (Node){.at = value->whole, .whole = value->whole, .height = 1};
    name->kind = N_NAME;
    name->scope = SCOPE_GLOBAL;
    name->str = intern("print", 5);
    name->n_str = 5;
    call->kind = N_CALL;
    call->height = (uint16_t)(value->height + 1);
    call->kid = arena_alloc(&p->arena, 2 * sizeof *call->kid);
    call->kid[0] = name;
    call->kid[1] = value;
    call->n_kids = 2;
    body->kid[0]->kid[0] = call;
    return true;
}

/* Connects to the dispatcher of -d, so that a wrong address fails at once, whatever the program
 * does first. That of GT_DISPATCHER, and one of our own, wait for the first tensor operation. */
static bool connect_named(App *a, LangError *e) {
    int n;
    if (!(a->o.given >> OPTION_DISPATCHER & 1)) return true;
    return stream_workers(a->in->stream, &n, e);
}

static bool run_source(App *a, Source *src, LangError *e) {
    src->is_prompt = a->o.expr != NULL; /* its value is used */
    Program *p = parse_program(src, a->o.check ? repl_warn : interp_warn_late, a->in, NULL, e);
    repl_debug(a->o.debug, src, p);
    if (!p) return false;
    if (a->o.check) {
        program_free(&p);
        return true;
    }
    if (args_wants_help(a->args) && !a->o.code && !a->o.expr) {
        Bytes b = {0};
        args_help(p, &b);
        bytes_write(&b, stdout);
        program_free(&p);
        return true;
    }
    if (!args_check(a->args, p, e) || (a->o.expr && !wrap_in_print(p, !a->o.output, e))) {
        program_free(&p);
        return false;
    }
    if (a->o.script) import_main(a->in, a->o.script);
    if (!connect_named(a, e)) {
        program_free(&p);
        return false;
    }
    begin_tee(a);
    if (!interp_run(a->in, p, a->o.expr && a->o.output, e) || !args_finish(a->args, e))
        return false;
    args_warn(a->in, a->args, a->name);
    return true;
}

static void report_hushed(App *a) {
    size_t n = repl_hush(a->in);
    if (n && a->o.prompt) fprintf(stderr, "%zu print%s not shown\n", n, n == 1 ? " is" : "s are");
}

/* Waits for all work before a prompt. Cancels nothing, so that all variables get their values, and
 * reports all failures. *late: the first one, or of kind E_NONE. */
static void finish_all(App *a, LangError *late) {
    LangError e = {0};
    *late = e;
    while (!stream_sync(a->in->stream, &e)) {
        if (late->kind == E_NONE) *late = e;
        report(a, &e);
        if (e.kind == E_GONE || e.kind == E_INTERRUPT) break;
        e = (LangError){0};
    }
    if (e.kind == E_INTERRUPT) report_hushed(a);
}

/* The same if no prompt follows: ends at the first failure. */
static void finish(App *a, bool has_failed, LangError *late) {
    *late = (LangError){0};
    if (!stream_finish(a->in->stream, has_failed, late)) report(a, late);
}

/* ReplConfig.begin_args */
static bool begin_args(void *host, const Program *p, int argc, char **argv, LangError *e) {
    App *a = host;
    args_free(&a->args);
    a->in->args = a->args = args_new(argc, argv);
    a->in->config.argc = argc;
    a->in->config.argv = argv;
    a->in->has_read_args = false;
    value_set(&globals_var(a->in->globals, intern("args", 4))->builtin, (Value){.kind = V_UNDEF});
    if (!args_wants_help(a->args)) return args_check(a->args, p, e);
    Bytes b = {0};
    args_help(p, &b);
    bytes_write(&b, stdout);
    return false;
}

/* ReplConfig.end_args */
static bool end_args(void *host, const char *name, LangError *e) {
    App *a = host;
    if (!args_finish(a->args, e)) return false;
    args_warn(a->in, a->args, name);
    return true;
}

static bool is_step(const App *a) { return a->text && replay_is_step(a->text, a->n); }

/* True if an option is given that only instructions have, not programs and steps: an error. */
static bool asks_for_replay(const App *a, LangError *e) {
    const Options *o = &a->o;
    const char *name = o->client                      ? "client"
                       : o->upto                      ? "upto"
                       : o->given >> OPTION_SPEED & 1 ? "speed"
                       : o->fill                      ? "fill"
                       : o->verify                    ? "verify"
                       : o->dry                       ? "dry"
                                                      : NULL;
    if (!name) return false;
    *e = (LangError){.kind = E_EXIT, .exit_code = 2};
    error_set(
        e, is_step(a) ? "--%s is not for steps" : "--%s is for instructions: a tape, or --replay",
        name);
    if (o->dry) error_hint(e, "gtsh --check checks the syntax of a program");
    return true;
}

/* True if an option stands behind a file of instructions, which take no arguments: an error, since
 * to run without it might lose a result. */
static bool has_late_option(const App *a, LangError *e) {
    if (!is_instructions(a) || !a->o.argc || a->o.argv[0][0] != '-') return false;
    *e = (LangError){.kind = E_EXIT, .exit_code = 2};
    error_set(e, "'%.100s' stands behind the file", a->o.argv[0]);
    error_hint(e, "options come before it: gtsh %.100s ... %.100s", a->o.argv[0], a->name);
    return true;
}

/* True if an option for steps is given, but the text is none: an error. */
static bool is_for_steps(const App *a, LangError *e) {
    const Options *o = &a->o;
    if (o->emit_step && !a->text) {
        *e = (LangError){.kind = E_EXIT, .exit_code = 2};
        error_set(e, "--emit-step needs a program");
        return true;
    }
    if ((!o->n_bind && !o->n_out && !o->times) || is_step(a)) return false;
    *e = (LangError){.kind = E_EXIT, .exit_code = 2};
    if (a->text && a->n == 0)
        return error_set(e, "'%.200s' is empty: there is no step in it", a->name), true;
    error_set(e, "--%s is for steps, whose first line has kind=step",
              o->n_bind  ? "bind"
              : o->n_out ? "out"
                         : "times");
    error_hint(e, "gtsh --emit-step train.gt makes a step of a program");
    return true;
}

static bool run_instructions(App *a, Source *src, LangError *e) {
    const Options *o = &a->o;
    ReplayConfig c = {.client = o->client,
                      .upto = o->upto,
                      .speed = o->speed,
                      .fill = o->fill,
                      .verify = o->verify,
                      .keep = o->prompt && !o->emit,
                      .quiet = o->quiet || (o->emit && !o->dry),
                      .file = o->emit ? a->file : NULL};
    c.has_all = o->emit && a->in->config.stream.has_all;
    if (src->n != a->n) c.data = a->text, c.n = a->n; /* a binary file */
    StepRun step = {.bind = o->bind, .n_bind = o->n_bind, .out = o->out, .n_out = o->n_out};
    step.times = o->times;
    step.quiet = o->quiet;
    if (is_step(a)) {
        if (!o->dry && asks_for_replay(a, e))
            return error_hint(e, "a step has --bind, --times, --out and --dry");
        if (o->emit) {
            *e = (LangError){.kind = E_EXIT, .exit_code = 2};
            error_set(e, "a step has one form, text: there is nothing to convert");
            return error_hint(e, "--tee FILE writes the instructions of its rounds");
        }
    }
    if (!connect_named(a, e)) return false;
    begin_tee(a);
    return is_step(a) ? replay_step(a->in, src, &step, e) : replay_run(a->in, src, &c, e);
}

/* Warns of options and variables without effect. */
static void warn_of_idle(App *a) {
    LangError w;
    bool instructions = is_instructions(a), tape = instructions && is_tape(a);
    for (size_t at = 0; options_idle(&a->o, instructions, tape, &at, &w);)
        report_plain(&a->o, &w, "warning");
    if (!instructions || !a->o.argc || a->o.argv[0][0] == '-') return;
    w = (LangError){.kind = E_EXIT};
    error_set(&w, "instructions take no arguments: '%.100s'", a->o.argv[0]);
    report_plain(&a->o, &w, "warning");
}

/* Runs the text and waits for its work. Prints before an error still appear. Returns the exit
 * code. */
static int run_text(App *a) {
    LangError e = {0}, late = {0};
    bool is_binary = gtb_is(a->text, a->n) || gtb_is_damaged(a->text, a->n);
    Source *src =
        interp_source(a->in, a->name, is_binary ? "" : a->text, is_binary ? 0 : a->n, 1, false);
    bool ok = is_for_steps(a, &e)      ? false
              : has_late_option(a, &e) ? false
              : is_instructions(a)     ? run_instructions(a, src, &e)
                                       : !asks_for_replay(a, &e) && run_source(a, src, &e);
    bool interrupted = !ok && e.kind == E_INTERRUPT, is_reported = !ok && e.is_late && a->o.prompt;
    if (is_reported) report(a, &e);
    if (!interrupted && (ok || e.kind != E_GONE)) {
        if (a->o.prompt)
            finish_all(a, &late);
        else
            finish(a, !ok && e.is_late, &late);
        /* The late failure came first: the program ended there. */
        if (late.kind != E_NONE && !is_reported && (ok || e.kind == E_EXIT || late.is_late))
            return error_exit_code(&late);
    }
    if (ok) return 0;
    if (!is_reported) report(a, &e);
    if (interrupted) report_hushed(a);
    return error_exit_code(&e);
}

/* --emit-step: cuts the step out of the instructions, and prints it. */
static int print_step(App *a) {
    LangError e = {0};
    Bytes out = {0}, notes = {0};
    inst_file_flush(a->file);
    fflush(a->emitted);
    bool ok = replay_cut_step(a->name, a->run, a->n_run, &out, &notes, &e);
    if (ok) fwrite(out.data, 1, out.n, stdout);
    fflush(stdout);
    for (size_t at = 0, n; at < notes.n; at += n + 1) {
        n = strcspn(notes.data + at, "\n");
        LangError w = {.kind = E_EXIT};
        error_set(&w, "%.*s", (int)n, notes.data + at);
        report_plain(&a->o, &w, "warning");
    }
    if (!ok) report_plain(&a->o, &e, "error");
    bytes_fini(&out);
    bytes_fini(&notes);
    return ok ? 0 : error_exit_code(&e);
}

/* Shows or writes the profile, also of a program that failed or was interrupted. */
static bool show_profile(App *a, double since_s) {
    LangError e = {0};
    interrupt_count = 0; /* so that the wait for the workers' times can be interrupted again */
    if (profile_report(a->in, a->o.profile_file, now_s() - since_s, &e)) return true;
    report_plain(&a->o, &e, "error");
    return false;
}

/* --session: true in the process that runs the program. A session goes on at the prompt, so that
 * results can be looked at whenever a terminal is attached again. */
static bool enter_session(App *a, int *code, LangError *e) {
    Options *o = &a->o;
    bool has_program = o->script || o->code || o->expr || o->replay;
    Bytes running = {0};
    bytes_puts(&running, has_program ? a->name : "prompt");
    for (int i = 0; i < o->argc; i++) bytes_printf(&running, " %s", o->argv[i]);
    SessionConfig c = {.name = o->session,
                       .running = running.data,
                       .has_program = has_program,
                       .has_options = (o->given & ~(UINT64_C(1) << OPTION_SESSION)) != 0};
    bool is_inside = session_enter(&c, code, e);
    bytes_fini(&running);
    if (is_inside) o->prompt = true;
    return is_inside;
}

static int list_sessions(App *a) {
    Bytes b = {0};
    Err err = {0};
    bool ok = session_list(&b, &err);
    bytes_write(&b, stdout);
    if (!ok) err_report("gtsh", &err);
    return leave(a, ok ? 0 : 1);
}

/* The prompt, with the names that the program left, if there was one. Returns the exit code. */
static int run_prompt(App *a, bool has_program) {
    a->in->config.interactive = true;
    begin_tee(a);
    ReplConfig prompt = {.quiet = a->o.quiet || has_program,
                         .norc = a->o.norc,
                         .was_interrupted = interrupt_count != 0,
                         .debug = a->o.debug,
                         .dispatcher = a->o.dispatcher,
                         .begin_args = begin_args,
                         .end_args = end_args,
                         .host = a};
    return repl_run(a->in, &prompt);
}

int main(int argc, char **argv) {
    App a = {0};
    double since_s = now_s();
    LangError e = {0};
    bool at_prompt = false;
    heap_keep();
    setlocale(LC_CTYPE, "");
    if (!options_parse(argc, argv, &a.o, &e)) return fail(&a, &e);
    /* the prompt looks ahead: see repl.c */
    if (a.o.prompt && !a.o.session && !isatty(STDIN_FILENO)) setvbuf(stdin, NULL, _IONBF, 0);
    log_environment();
    log_letters(a.o.debug);
    if (a.o.help) {
        Bytes b = {0};
        options_help(&b);
        bytes_write(&b, stdout);
        return leave(&a, 0);
    }
    if (a.o.version) {
        printf("gtsh %s\n", gt_version);
        return leave(&a, 0);
    }
    if (a.o.fmt) return format_files(&a);
    if (a.o.lsp) return serve_editor(&a);
    if (a.o.sessions) return list_sessions(&a);
    env_warn_misspelt("");
    if (!find_dispatcher(&a, &e) || !find_text(&a, &at_prompt, &e)) return fail(&a, &e);
    int code = 0;
    if (a.o.session && !enter_session(&a, &code, &e))
        return e.kind == E_NONE ? leave(&a, code) : fail(&a, &e);
    if (a.o.profile_file && !profile_check(a.o.profile_file, &e)) return fail(&a, &e);
    warn_of_idle(&a);
    set_signals();
    if (!begin_file(&a, &e)) return fail(&a, &e);
    InterpConfig config = interp_config(&a, at_prompt);
    if (a.o.emit && !at_prompt && !a.o.prompt) pager_begin();
    a.in = interp_new(&config, &e);
    if (a.in && a.o.auto_shard) signal_auto_shard(a.in);
    if (a.in && a.o.config && !signal_load(a.in, a.o.config, &e)) e.kind = E_CONFIG;
    if (a.in && a.o.check_nan) stream_check_nan(a.in->stream, true);
    if (e.kind != E_NONE) return fail(&a, &e);
    a.in->output = a.o.output;
    a.in->show_as = output_value;
    a.in->args = a.args = args_new(a.o.argc, a.o.argv);
    if (at_prompt && (asks_for_replay(&a, &e) || is_for_steps(&a, &e) || !connect_named(&a, &e)))
        return fail(&a, &e);
    is_script = !at_prompt;
    code = at_prompt ? 0 : run_text(&a);
    if (code == 0 && a.emitted) code = print_step(&a);
    is_script = is_script && !(a.o.prompt && !a.o.check);
    if (at_prompt || (a.o.prompt && !a.o.check)) code = run_prompt(&a, !at_prompt);
    bool interrupted = code == 130 && interrupt_count;
    if (a.o.profile && !show_profile(&a, since_s) && code == 0) code = 1;
    code = leave(&a, code);
    if (interrupted) die_by_interrupt();
    return code;
}
