/* main_diff.c: gt-diff, which says where two runs of one program first differ. How: diff.h.
 *
 * A run is a tape, or a command that gt-diff runs with a tape. To show the values that differ it
 * runs the commands again, with the workers told which results to keep.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/diff.h"
#include "runtime/base/flags.h"
#include "runtime/inst/tape.h"
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_EQUAL, EXIT_DIFFERENT, EXIT_TROUBLE };
enum { CLIENTS_SHOWN = 8 };

/* One of the two runs that are compared. */
typedef struct Run {
    const char *argument;
    const char *path; /* of its tape */
    bool is_command;
    DiffCommand command;
    DiffTape tape;
    bool is_read;
    Err err; /* !is_read: why not */
} Run;

typedef struct App {
    FlagArgs runs;
    const char *client;
    int repeat, elements;
    bool is_quiet, keeps;
    char dir[200]; /* for the files of commands; "": none was run */
    Bytes out;
} App;

static App app = {.elements = 8};
static const Flag flags[] = {
    {0, NULL, "A [B]", "", FLAG_ARGS, &app.runs, 1, 2},
    {'r', "repeat", "N", "run A N times, and compare the runs", FLAG_INT, &app.repeat, 2, 1000},
    {'c', "client", "NAME", "compare this client of tapes, such as c1 (all, in order)", FLAG_TEXT,
     &app.client},
    {'n', "elements", "N", "show so many elements that differ (8)", FLAG_INT, &app.elements, 0,
     1000000},
    {'k', "keep", "", "keep the tapes and outputs of commands, and say where", FLAG_SET,
     &app.keeps},
    {'q', "quiet", "", "print nothing: the exit code says it", FLAG_SET, &app.is_quiet},
    FLAGS_COMMON};

static volatile sig_atomic_t is_stopped;
static void on_signal(int number) {
    (void)number;
    is_stopped = 1;
    diff_run_stop();
}

/* ---- Runs ---- */

static bool is_tape(const char *path) {
    char line[256] = "";
    FILE *f = fopen(path, "re");
    bool is = f && fgets(line, sizeof line, f) && tape_is_header(line, strlen(line));
    if (f) fclose(f);
    return is;
}

/* Appends s in quotes for the shell. */
static void put_quoted(Bytes *out, const char *s) {
    bytes_putc(out, '\'');
    for (; *s; s++) bytes_puts(out, *s == '\'' ? "'\\''" : (char[]){*s, 0});
    bytes_putc(out, '\'');
}

/* The command that runs a program: by the gtsh beside this gt-diff, if there is one. */
static char *command_of(const char *program) {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 8);
    Bytes text = {0};
    path[n > 0 ? n : 0] = 0;
    char *slash = strrchr(path, '/');
    if (slash) memcpy(slash, "/gtsh", sizeof "/gtsh");
    put_quoted(&text, slash && access(path, X_OK) == 0 ? path : "gtsh");
    bytes_putc(&text, ' ');
    put_quoted(&text, program);
    return text.data;
}

static bool has_end(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n > m && !strcmp(s + n - m, end);
}

static bool is_program(const char *path) {
    return has_end(path, ".gt") || has_end(path, ".gti") || has_end(path, ".gtb");
}

static bool run_init(Run *r, const char *argument, Err *err) {
    struct stat st;
    *r = (Run){.argument = argument, .path = argument};
    bool is_there = stat(argument, &st) == 0;
    if (is_there && is_tape(argument)) return true;
    r->is_command = true;
    if (is_there && is_program(argument)) {
        r->command.text = command_of(argument);
    } else if (is_there && !S_ISREG(st.st_mode)) {
        return err_set(err, ERR_ARG, "'%.200s' is neither a tape nor a command", argument);
    } else if (is_there && access(argument, X_OK) != 0) {
        err_set(err, ERR_PARSE, "'%.200s' is not a tape", argument);
        return err_hint(err, "GT_INSTRUCTION_LOG=run.tape gtsh --hash=all PROGRAM writes one");
    } else if (!is_there && !strchr(argument, ' ')) {
        err_set(err, ERR_ARG, "there is no file '%.200s'", argument);
        return err_hint(err, "commands stand in quotes: gt-diff 'gtsh a.gt' 'gtsh -w 4 a.gt'");
    } else {
        r->command.text = xstrdup(argument);
    }
    return true;
}

static bool make_dir(App *a, Err *err) {
    const char *where = getenv("TMPDIR");
    snprintf(a->dir, sizeof a->dir, "%.150s/gt-diff.XXXXXX", where && *where ? where : "/tmp");
    if (mkdtemp(a->dir)) return true;
    err_set(err, ERR_IO, "cannot make a folder '%.160s'", a->dir);
    a->dir[0] = 0;
    return false;
}

/* Runs the command, if it is one. number: of this run, for the names of its files. */
static bool run_go(App *a, Run *r, int number, Err *err) {
    if (!r->is_command) return true;
    if (!a->dir[0]) TRY(make_dir(a, err));
    snprintf(r->command.dir, sizeof r->command.dir, "%s/%d", a->dir, number);
    if (mkdir(r->command.dir, 0700) != 0)
        return err_set(err, ERR_IO, "cannot make a folder '%s'", r->command.dir);
    r->path = r->command.tape;
    return diff_run(&r->command, NULL, NULL, 0, err);
}

static void *read_tape(void *ctx) {
    Run *r = ctx;
    r->is_read = diff_tape_open(&r->tape, r->path, r->argument, &r->err);
    return NULL;
}

/* Reads the tapes of both at the same time. */
static bool read_both(Run *a, Run *b, Err *err) {
    pthread_t other;
    bool has_thread = pthread_create(&other, NULL, read_tape, b) == 0;
    read_tape(a);
    if (has_thread)
        pthread_join(other, NULL);
    else
        read_tape(b);
    *err = a->is_read ? b->err : a->err;
    return a->is_read && b->is_read;
}

/* ---- Values ---- */

static void add_first(void *ctx, const DiffRow *row) {
    DiffRow *first = ctx; /* [0]: the first one; [1]: the first one that differs from it */
    if (!first[0].n) first[0] = *row;
    if (!first[1].n && memcmp(row->hash, first[0].hash, sizeof row->hash[0] * (size_t)row->n))
        first[1] = *row;
}

/* Runs the command of r again and reads the value of s from what the workers kept. */
static bool fetch_value(Run *r, const DiffClient *c, const DiffStep *s, int result, int worker,
                        DiffValue *out) {
    const DiffHash *whole = diff_whole(&r->tape, c, s);
    uint64_t id = s->got.state == DIFF_PARTIAL ? s->sum : s->id + (uint64_t)result;
    char name[32], dir[280];
    Err err;
    DiffCommand again = r->command;
    snprintf(name, sizeof name, "t%llu", (unsigned long long)id);
    snprintf(dir, sizeof dir, "%.250s/kept", r->command.dir);
    snprintf(again.dir, sizeof again.dir, "%.240s/again", r->command.dir);
    if (access(dir, F_OK) != 0) {
        if (mkdir(dir, 0700) != 0 || mkdir(again.dir, 0700) != 0) return false;
        if (!diff_run(&again, name, dir, whole ? whole->n_rows : s->got.n_rows, &err)) return false;
    }
    return diff_value_read(dir, c->number, id, worker, out);
}

static void tell_values(App *a, Run *run[2], const DiffPairs *p, const DiffFound *f) {
    static const char *const names[2] = {"A", "B"};
    const DiffClient *client[2] = {p->a, p->b};
    const DiffStep *step[2] = {&p->a->step[f->at], &p->b->step[p->b_of[f->at]]};
    DiffValue v[2] = {{.data = NULL}, {.data = NULL}};
    DiffRow row[2] = {{.n = 0}, {.n = 0}};
    char label[2][16];
    const char *labels[2] = {label[0], label[1]};
    bool is_copies = f->kind == DIFF_COPIES, ok = true, is_same = true;
    if (is_copies) diff_rows(&run[f->run]->tape, client[f->run], step[f->run]->id, add_first, row);
    for (int i = 0; i < 2 && ok; i++) {
        int which = is_copies ? f->run : i;
        snprintf(label[i], sizeof label[i], "%s", names[i]);
        if (is_copies) snprintf(label[i], sizeof label[i], "w%u", row[i].worker);
        ok =
            run[which]->is_command && fetch_value(run[which], client[which], step[which], f->result,
                                                  is_copies ? (int)row[i].worker : -1, &v[i]);
        uint64_t hash = is_copies ? row[i].hash[0] : 0;
        if (!is_copies) diff_hash(&run[which]->tape, client[which], step[which], f->result, &hash);
        if (ok && diff_value_hash(&v[i]) != hash) {
            bytes_printf(&a->out, "  run again, %s gave other bits: it is not reproducible\n",
                         names[which]);
            is_same = false;
        }
    }
    if (ok && type_equal(&v[0].type, &v[1].type))
        diff_value_tell(&v[0], &v[1], labels, a->elements, &a->out);
    else if (run[0]->is_command && run[1]->is_command && is_same)
        bytes_puts(&a->out, "  the values could not be fetched by running the commands again\n");
    else if (is_same)
        bytes_puts(&a->out,
                   "  tapes hold no values: gt-diff shows them if it may run both commands\n");
    for (int i = 0; i < 2; i++) diff_value_fini(&v[i]);
}

/* ---- Comparing ---- */

static const DiffClient *client_at(const App *a, const DiffTape *t, int i) {
    for (int k = 0; k < t->n_clients; k++) {
        const DiffClient *c = &t->client[k];
        bool is_meant = !a->client || tape_client(a->client, strlen(a->client)) == c->number;
        if (c->n && is_meant && i-- == 0) return c;
    }
    return NULL;
}

static void tell_run(App *a, const char *name, const Run *r) {
    char line[160];
    bytes_printf(&a->out, "%s: %s: %zu lines, %zu hashes", name, r->argument, r->tape.n_lines,
                 r->tape.n_hashes);
    if (r->tape.is_cut) bytes_puts(&a->out, ", cut off in the last line");
    if (r->is_command && r->command.status != 0) {
        int status = r->command.status;
        bytes_printf(&a->out, WIFEXITED(status) ? "; exit code %d" : "; ended by signal %d",
                     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        bytes_printf(&a->out, ": %s", diff_last_words(&r->command, line, sizeof line));
    } else if (r->tape.failure) {
        bytes_printf(&a->out, "; it has an error: %.*s", (int)strcspn(r->tape.failure, "\n"),
                     r->tape.failure);
    }
    bytes_putc(&a->out, '\n');
}

static bool has_failed(const Run *r) {
    return r->tape.failure || (r->is_command && r->command.status != 0);
}

/* False, with an error, if --client names one that a run does not have. */
static bool has_client(const App *a, const Run *r, Err *err) {
    Bytes names = {0};
    if (!a->client || client_at(a, &r->tape, 0)) return true;
    for (int i = 0; i < r->tape.n_clients; i++)
        if (r->tape.client[i].n && names.n < 100)
            bytes_printf(&names, "%sc%u", names.n ? ", " : "", r->tape.client[i].number);
    err_set(err, ERR_ARG, "there is no client %s in '%.200s'", a->client, r->argument);
    if (names.n) err_hint(err, "it has %s", names.data);
    bytes_fini(&names);
    return false;
}

/* Says which clients, from the i-th on, only one run has. */
static void tell_alone(App *a, const DiffTape *const tape[2], int i) {
    for (int run = 0; run < 2; run++) {
        const DiffClient *c = client_at(a, tape[run], i);
        if (!c) continue;
        bytes_printf(&a->out, "only in %s, not compared:", run ? "B" : "A");
        for (int k = i; c && k < i + CLIENTS_SHOWN; c = client_at(a, tape[run], ++k))
            bytes_printf(&a->out, " c%u", c->number);
        bytes_puts(&a->out, c ? " ...\n" : "\n");
    }
}

/* Compares all clients of two tapes that are read. Returns the exit code. */
static int compare(App *a, Run *first, Run *second, Err *err) {
    const DiffTape *const tape[2] = {&first->tape, &second->tape};
    Run *run[2] = {first, second};
    int code = EXIT_EQUAL;
    size_t n_compared = 0;
    if (!has_client(a, first, err) || !has_client(a, second, err)) return EXIT_TROUBLE;
    for (int i = 0; code == EXIT_EQUAL; i++) {
        const DiffClient *c = client_at(a, tape[0], i), *d = client_at(a, tape[1], i);
        DiffPairs p;
        DiffFound f;
        if (!c || !d) {
            tell_alone(a, tape, i);
            break;
        }
        diff_align(&p, c, d);
        diff_find(tape[0], tape[1], &p, &f);
        n_compared += f.n_same + (f.kind != DIFF_EQUAL);
        if (f.kind != DIFF_EQUAL || p.has_parted) code = EXIT_DIFFERENT;
        if (f.kind != DIFF_EQUAL || p.n_gaps || f.n_same) {
            if (i) bytes_printf(&a->out, "c%u in A, c%u in B:\n", c->number, d->number);
            diff_tell_gaps(&p, &a->out);
            if (f.kind != DIFF_EQUAL || f.n_same) diff_tell(tape, &p, &f, &a->out);
        }
        if (f.kind == DIFF_BITS || f.kind == DIFF_COPIES) tell_values(a, run, &p, &f);
        diff_pairs_fini(&p);
    }
    if (code != EXIT_EQUAL) return code;
    if (n_compared && has_failed(first) != has_failed(second)) {
        const Run *bad = has_failed(first) ? first : second;
        err_set(err, ERR_ARG, "'%.200s' failed: only what came before was compared", bad->argument);
        return EXIT_TROUBLE;
    }
    if (n_compared) return code;
    const Run *bare = first->tape.n_hashes ? second : first;
    if (bare->tape.n_hashes)
        err_set(err, ERR_ARG, "no result has a hash in both runs");
    else
        err_set(err, ERR_ARG, "there are no hashes in '%.200s'", bare->argument);
    err_hint(err, "record both with the same --hash: gtsh --hash=all, gt-dispatcher --hash=all");
    return EXIT_TROUBLE;
}

static int diff_two(App *a, Err *err) {
    Run run[2] = {{.path = NULL}, {.path = NULL}};
    int code = EXIT_TROUBLE;
    bool ok = true;
    for (int i = 0; i < 2 && ok; i++) ok = run_init(&run[i], a->runs.at[i], err);
    for (int i = 0; i < 2 && ok; i++) ok = run_go(a, &run[i], i + 1, err);
    if (ok && read_both(&run[0], &run[1], err)) {
        tell_run(a, "A", &run[0]);
        tell_run(a, "B", &run[1]);
        code = compare(a, &run[0], &run[1], err);
    }
    for (int i = 0; i < 2; i++) {
        if (run[i].is_read) diff_tape_close(&run[i].tape);
        free(run[i].command.text);
    }
    return code;
}

/* Runs a command several times and compares the first run with each other one. */
static int diff_repeated(App *a, Err *err) {
    Run first = {.path = NULL};
    int code = EXIT_EQUAL, n = 1;
    if (!run_init(&first, a->runs.at[0], err)) return EXIT_TROUBLE;
    if (!first.is_command) {
        err_set(err, ERR_ARG, "--repeat needs a command, not a tape");
        code = EXIT_TROUBLE;
    } else if (!run_go(a, &first, 1, err)) {
        code = EXIT_TROUBLE;
    }
    for (; code == EXIT_EQUAL && n < a->repeat && !is_stopped; n++) {
        Run other = first;
        a->out.n = 0;
        bool ok = run_go(a, &other, n + 1, err) && read_both(&first, &other, err);
        if (ok) tell_run(a, "A (run 1)", &first);
        if (ok) bytes_printf(&a->out, "B: run %d\n", n + 1);
        code = ok ? compare(a, &first, &other, err) : EXIT_TROUBLE;
        if (first.is_read) diff_tape_close(&first.tape);
        if (other.is_read && ok) diff_tape_close(&other.tape);
        if (!a->keeps) unlink(other.command.tape);
        first.is_read = false;
    }
    if (code == EXIT_EQUAL) bytes_printf(&a->out, "%d runs, all equal\n", n);
    free(first.command.text);
    return code;
}

/* ---- The end ---- */

/* Removes a folder that this program made, and what is in it. */
static void remove_all(const char *dir, int depth) {
    char path[PATH_MAX];
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (unlink(path) != 0 && depth < 4) remove_all(path, depth + 1);
    }
    if (d) closedir(d);
    rmdir(dir);
}

int main(int argc, char **argv) {
    App *a = &app;
    Err err = {0};
    int code = flags_read("gt-diff", argc, argv, flags, sizeof flags / sizeof *flags, &err);
    if (code < 0 && a->repeat && a->runs.n != 1)
        err_set(&err, ERR_ARG, "--repeat takes one command"), code = FLAGS_USAGE;
    if (code < 0 && !a->repeat && a->runs.n != 2)
        err_set(&err, ERR_ARG, "two runs are compared: tapes, or commands in quotes"),
            code = FLAGS_USAGE;
    if (code < 0 && a->client && !tape_client(a->client, strlen(a->client)))
        err_set(&err, ERR_ARG, "--client names one as tapes do, such as c1"), code = FLAGS_USAGE;
    if (code >= 0) {
        if (err.code) err_report("gt-diff", &err);
        return code;
    }
    struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    code = a->repeat ? diff_repeated(a, &err) : diff_two(a, &err);
    if (a->keeps && a->dir[0]) bytes_printf(&a->out, "tapes and outputs are in %s\n", a->dir);
    if (!a->is_quiet && !is_stopped && a->out.n) fwrite(a->out.data, 1, a->out.n, stdout);
    if (code == EXIT_TROUBLE && err.code && !is_stopped) err_report("gt-diff", &err);
    if (a->dir[0] && !a->keeps) remove_all(a->dir, 0);
    bytes_fini(&a->out);
    return is_stopped ? 130 : code;
}
