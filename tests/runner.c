/* runner.c: runs every test there is and compares its output with the output that it
 * expects.
 *
 * A test is a unit test program (build/test/X_test), a fuzz program run briefly
 * (build/fuzz/X_fuzz), a shell script (tests/.../X.sh) or a program of the language
 * (tests/.../X.gt) in one world. Exit code 0 means that it passed, 77 that it was skipped; a line
 * "skipped: WHY" of a test that passed is a part of it that was skipped. Expectations of a .gt file
 * are comments beside the line that prints; expect.c reads them. Each program, script or (script,
 * world) counts as one test, however many checks it holds. As many run at a time as there are
 * cores, each under a guard (guard.h), with a fresh directory $TMP and an environment without GT_*;
 * what they print goes to files. Time limits also suit a busy machine: they count CPU time, and how
 * long a test uses none. The last line of the output is "N passed, N failed". Usage: runner [-b
 * BUILD] [-j JOBS] [-t FACTOR] [-w WORLD,...] [-k] [-T] [KIND ...] [NAME-PART
 * ...]
 * SPDX-License-Identifier: MIT */
#include "tests/expect.h"
#include "tests/guard.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KIND_UNIT, KIND_FUZZ, KIND_SH, KIND_GT, KINDS };
static const char *const kind_name[KINDS] = {"unit", "fuzz", "sh", "gt"};
/* Limits of the CPU time, user and system, of a test and its processes: more than 1.5 times what
 * the dearest took on a processor of 2.9 GHz whose cores others share (unit tests 34 s, shell tests
 * 87, scripts 33). */
static const int kind_limit_s[KINDS] = {180, 150, 150, 60};
/* A test hangs if it uses less than IDLE_CPU_S of CPU time in IDLE_S; other tests get more, even on
 * a machine with a load of 100. LAST_LIMIT_S ends a test that uses a little CPU time for ever. */
enum { IDLE_S = 150, LAST_LIMIT_S = 3600 };
enum { HEAD_LINES = 60, TAIL_LINES = 40 }; /* lines shown of a failed test's output */
enum { REST_S = 30 };                      /* a process may outlive its test by this */
enum { SKIPPED = 77 };                     /* exit code of a test that cannot run here */
#define IDLE_CPU_S 0.3
enum { MAX_ARGS = 64, MAX_JOBS = 16, OUTPUT_BYTES = 1 << 22 };

typedef struct Test {
    int kind;
    char *path;
    char *world;        /* world of a .gt test; "": the default */
    Expect *expect;     /* expectations of a .gt test; owned by the first of its worlds */
    char dir[PATH_MAX]; /* $TMP of a running test */
    Guard guard;
    double started, looked, cpu_limit_s;
    double idle_since, idle_cpu_s; /* when it last used CPU time, and how much it had used then */
    char late[64];                 /* why it was stopped; NULL: it was not */
    double cpu_s, wall_s;          /* set once it has ended */
} Test;

typedef struct Runner {
    const char *build;
    char here[PATH_MAX];
    char gtsh[PATH_MAX];
    const char *worlds; /* further worlds for every .gt test, or "" */
    bool has_cuda;      /* the emulated device and NVRTC were found */
    bool keep;          /* keep $TMP of failed tests */
    bool shows_times;
    double factor;
    int jobs;
    bool kinds[KINDS];
    char **part;
    int n_parts;
    Test *test;
    int n, cap;
    int passed, failed, skipped, parts_skipped;
    bool is_interrupted;
} Runner;

/* Arguments of a test's process. */
typedef struct Start {
    const Runner *r;
    const Test *t;
} Start;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static _Noreturn void die(const char *what, const char *name) {
    fprintf(stderr, "runner: %s %s: %s\n", what, name, strerror(errno));
    exit(2);
}

/* ---- Finding ---- */

static bool ends_with(const char *s, const char *tail) {
    size_t n = strlen(s), m = strlen(tail);
    return n > m && !strcmp(s + n - m, tail);
}

static bool is_wanted(const Runner *r, const char *path) {
    if (!r->n_parts) return true;
    for (int i = 0; i < r->n_parts; i++)
        if (strstr(path, r->part[i])) return true;
    return false;
}

static Test *add_test(Runner *r, int kind, const char *path, const char *world) {
    if (r->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 256;
        r->test = realloc(r->test, (size_t)r->cap * sizeof *r->test);
        if (!r->test) die("no memory for", path);
    }
    Test *t = &r->test[r->n++];
    *t = (Test){.kind = kind, .path = strdup(path), .world = strdup(world)};
    return t;
}

static void add_worlds(Runner *r, const char *path, Expect *x, const char *list) {
    char *copy = strdup(list), *save = NULL;
    for (char *w = strtok_r(copy, " ,", &save); w; w = strtok_r(NULL, " ,", &save)) {
        bool there = false;
        for (int i = r->n - 1; i >= 0 && !strcmp(r->test[i].path, path); i--)
            there |= !strcmp(r->test[i].world, w);
        there |= !strcmp(x->not_world, w);
        if (!there) add_test(r, KIND_GT, path, w)->expect = x;
    }
    free(copy);
}

/* The scripts of these folders run on the engines `late` and `cuda` too. */
static bool is_about_tensors(const char *path) {
    static const char *const folder[] = {"tests/ops/", "tests/grad/", "tests/tensor/", "tests/nn/",
                                         "tests/error/"};
    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++)
        if (!strncmp(path, folder[i], strlen(folder[i]))) return true;
    return false;
}

static void add_file(Runner *r, const char *path) {
    if (!is_wanted(r, path)) return;
    if (ends_with(path, ".sh") && r->kinds[KIND_SH]) add_test(r, KIND_SH, path, "");
    if (!ends_with(path, ".gt") || !r->kinds[KIND_GT]) return;
    Expect *x = expect_read(path);
    if (!x) die("cannot read", path);
    if (x->nontest) {
        expect_free(&x);
        return;
    }
    add_test(r, KIND_GT, path, "")->expect = x;
    add_worlds(r, path, x, x->worlds);
    if (is_about_tensors(path)) {
        add_worlds(r, path, x, "late");
        if (r->has_cuda && strcmp(x->slow, "cuda")) add_worlds(r, path, x, "cuda");
    }
    add_worlds(r, path, x, r->worlds);
}

static void add_tree(Runner *r, const char *dir) {
    struct dirent **entry;
    int n = scandir(dir, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        char path[PATH_MAX];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, name);
        if (name[0] != '.' && stat(path, &st) == 0) {
            bool is_other =
                !strcmp(name, "data") || !strcmp(name, "fixtures") || !strcmp(name, "bench");
            if (S_ISDIR(st.st_mode) && !is_other) add_tree(r, path);
            if (S_ISREG(st.st_mode)) add_file(r, path);
        }
        free(entry[i]);
    }
    if (n >= 0) free(entry);
}

static void add_programs(Runner *r, int kind, const char *folder, const char *tail) {
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s/%s", r->build, folder);
    struct dirent **entry;
    int n = scandir(dir, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", dir, entry[i]->d_name);
        if (ends_with(path, tail) && r->kinds[kind] && is_wanted(r, path))
            add_test(r, kind, path, "");
        free(entry[i]);
    }
    if (n >= 0) free(entry);
}

/* ---- Starting ---- */

/* A world is a set of options of gtsh, or another way to pass it the script. */
static void world_args(const char *world, char **argv, int *n) {
    argv[(*n)++] = "--engine";
    bool is_engine =
        !strcmp(world, "reference") || !strcmp(world, "late") || !strcmp(world, "cuda");
    argv[(*n)++] = (char *)(is_engine ? world : "cpu");
    if (!strcmp(world, "cuda")) argv[(*n)++] = "--memory", argv[(*n)++] = "100M";
    argv[(*n)++] = "-w";
    argv[(*n)++] = strdup(!strncmp(world, "workers=", 8) ? world + 8 : "1");
    if (!strncmp(world, "threads=", 8)) {
        argv[(*n)++] = "--threads";
        argv[(*n)++] = strdup(world + 8);
    }
}

/* Splits at blanks; quotes of either kind keep words together. The strings live until exec. */
static void split_args(const char *s, char **argv, int *n) {
    while (*s && *n < MAX_ARGS - 1) {
        while (*s == ' ') s++;
        if (!*s) break;
        char *out = malloc(strlen(s) + 1), *o = out, quote = 0;
        for (; *s && (quote || *s != ' '); s++) {
            if (quote && *s == quote)
                quote = 0;
            else if (!quote && (*s == '"' || *s == '\''))
                quote = *s;
            else
                *o++ = *s;
        }
        *o = 0;
        argv[(*n)++] = out;
    }
}

/* Emits a program's instructions, up to the error if one ends it, and replays them. $0: how many
 * workers; then the command of the program. The exit code is that of the program, or SKIPPED if it
 * reads values, which --emit does not compute. */
static const char replay_command[] =
    "w=$0 gtsh=$1; shift\n"
    "\"$gtsh\" --emit \"$@\" > \"$TMP/a.gti\" 2> \"$TMP/a.err\"; code=$?\n"
    "if grep -h 'error: .*--emit\\|--emit computes none' \"$TMP/a.err\" \"$TMP/a.gti\"; then exit "
    "77; fi\n"
    "cat \"$TMP/a.err\" >&2\n"
    "\"$gtsh\" -q --engine cpu -w \"$w\" --replay \"$TMP/a.gti\" && exit $code";

static void gt_command(const Runner *r, const Test *t, char **argv) {
    int n = 0;
    bool is_replay = !strcmp(t->world, "replay"), is_stdin = !strcmp(t->world, "stdin");
    if (is_replay) {
        static char w[16]; /* with as many workers */
        const char *workers = strstr(t->expect->options, "-w ");
        snprintf(w, sizeof w, "%d", workers ? atoi(workers + 3) : 1);
        argv[n++] = "/bin/sh";
        argv[n++] = "-c";
        argv[n++] = (char *)replay_command;
        argv[n++] = w;
    }
    argv[n++] = (char *)r->gtsh;
    if (!is_replay) world_args(t->world, argv, &n);
    split_args(t->expect->options, argv, &n);
    argv[n++] = is_stdin ? "-" : t->path;
    split_args(t->expect->args, argv, &n);
    argv[n] = NULL;
}

/* Whether a variable would change what a test does. Some only name what a test runs; those of the
 * emulated device are for the world `cuda`. */
static bool is_setting(const char *variable, bool on_cuda) {
    static const char *const kept[] = {
        "GT_PYTHON=",     "GT_NVRTC=",          "GT_EMU_PTX=",    "GT_EMU_NVRTC_REAL=",
        "GT_EMU_MEMORY=", "GT_CUDA_LIBRARIES=", "XDG_CACHE_HOME="};
    size_t n = on_cuda ? sizeof kept / sizeof *kept : 4;
    for (size_t i = 0; i < n; i++)
        if (!strncmp(variable, kept[i], strlen(kept[i]))) return false;
    return !strncmp(variable, "GT_", 3) || !strncmp(variable, "XDG_", 4);
}

static void clean_environment(const Runner *r, const Test *t) {
    extern char **environ;
    bool on_cuda = !strcmp(t->world, "cuda");
    for (char **e = environ; *e;) {
        if (!is_setting(*e, on_cuda)) {
            e++;
            continue;
        }
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*e, "="), *e);
        unsetenv(name);
    }
    static const char *const own[] = {"TMP", "TMPDIR", "HOME", "XDG_RUNTIME_DIR"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) setenv(own[i], t->dir, 1);
    setenv("GTSH", r->gtsh, 1);
    setenv("B", r->build, 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("TERM", "dumb", 1);
    unsetenv("NO_COLOR");
    unsetenv("CLICOLOR_FORCE");
    setenv("GT_CC_SECONDS", "600", 1); /* compilers are slow on a busy machine */
    unsetenv("MAKEFLAGS");
    if (t->expect)
        for (int i = 0; i < t->expect->n_env; i++) putenv(t->expect->env[i]);
}

static void redirect(const Test *t, const char *name, int fd, int flags) {
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/%s", t->dir, name);
    int f = name[0] == '/' ? open(name, flags) : open(path, flags, 0600);
    if (f < 0 || dup2(f, fd) < 0) _exit(126);
    close(f);
}

static void run_test(const void *start) {
    const Runner *r = ((const Start *)start)->r;
    const Test *t = ((const Start *)start)->t;
    char *argv[2 * MAX_ARGS] = {t->path, NULL};
    struct rlimit file;
    getrlimit(RLIMIT_FSIZE, &file);
    file.rlim_cur = (rlim_t)1 << 30; /* not the hard limit: an arena is a large, sparse file */
    setrlimit(RLIMIT_FSIZE, &file);
    bool has_stdin = t->kind == KIND_GT && (t->expect->stdin_text.n || t->expect->has_stdin);
    if (t->kind == KIND_GT && !strcmp(t->world, "stdin")) {
        int f = open(t->path, O_RDONLY);
        if (f < 0 || dup2(f, 0) < 0) _exit(126);
    } else {
        redirect(t, has_stdin ? ".stdin" : "/dev/null", 0, O_RDONLY);
    }
    redirect(t, ".stdout", 1, O_WRONLY | O_CREAT | O_TRUNC);
    redirect(t, ".stderr", 2, O_WRONLY | O_CREAT | O_TRUNC);
    if (t->kind == KIND_GT)
        gt_command(r, t, argv);
    else if (t->kind == KIND_SH) {
        argv[0] = "/bin/sh";
        argv[1] = t->path;
        argv[2] = NULL;
    } else if (t->kind == KIND_FUZZ) {
        argv[1] = "-n";
        argv[2] = "300";
        argv[3] = "-s";
        argv[4] = "1";
        argv[5] = NULL;
    }
    clean_environment(r, t);
    execv(argv[0], argv);
    fprintf(stderr, "runner: cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(126);
}

static void start(Runner *r, Test *t) {
    snprintf(t->dir, sizeof t->dir, "/tmp/gt-test-XXXXXX");
    if (!mkdtemp(t->dir)) die("cannot make", t->dir);
    if (t->kind == KIND_GT && t->expect->stdin_text.n) {
        char path[PATH_MAX + 16];
        snprintf(path, sizeof path, "%s/.stdin", t->dir);
        FILE *f = fopen(path, "w");
        if (!f) die("cannot write", path);
        fwrite(t->expect->stdin_text.data, 1, t->expect->stdin_text.n, f);
        fclose(f);
    }
    t->cpu_limit_s = kind_limit_s[t->kind] * r->factor;
    t->started = t->looked = t->idle_since = now();
    fflush(stdout);
    if (!guard_start(&t->guard, REST_S * r->factor, run_test, &(Start){r, t}))
        die("cannot fork for", t->path);
}

/* ---- Judging ---- */

static void remove_tree(const char *dir) {
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        char path[PATH_MAX + 300];
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (unlink(path) != 0 && (errno == EISDIR || errno == EPERM)) remove_tree(path);
    }
    if (d) closedir(d);
    rmdir(dir);
}

static Text read_output(const Test *t, const char *name) {
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/%s", t->dir, name);
    return text_read(path, OUTPUT_BYTES);
}

/* Returns the end of line `lines` from p on, or the end of s. */
static const char *after_lines(const Text *s, const char *p, int lines) {
    for (const char *end = s->data + s->n; lines-- && p < end;) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        p = nl ? nl + 1 : end;
    }
    return p;
}

/* Prints the first and the last lines: the first explain a failure, the last show how far the test
 * came. */
static void print_ends(const char *label, const Text *s) {
    if (!s->n) return;
    int n = s->data[s->n - 1] != '\n';
    for (size_t i = 0; i < s->n; i++) n += s->data[i] == '\n';
    bool all = n <= HEAD_LINES + TAIL_LINES;
    const char *cut = after_lines(s, s->data, all ? n : HEAD_LINES);
    printf("%s\n", label);
    fwrite(s->data, 1, (size_t)(cut - s->data), stdout);
    if (!all) {
        int hidden = n - HEAD_LINES - TAIL_LINES;
        const char *tail = after_lines(s, cut, hidden);
        printf("[%d lines are not shown]\n", hidden);
        fwrite(tail, 1, (size_t)(s->data + s->n - tail), stdout);
    }
    if (s->data[s->n - 1] != '\n') printf("\n");
}

static void print_way_out(const Runner *r, const Test *t) {
    const char *path = t->path, *build = r->build;
    size_t n = strlen(r->here);
    if (!strncmp(build, r->here, n) && build[n] == '/') build += n + 1;
    if (!strncmp(path, r->here, n) && path[n] == '/') path += n + 1;
    printf("    alone:           sh scripts/runtests %s %s\n"
           "    with more time:  GT_TEST_FACTOR=4 make test\n",
           build, path);
}

/* A program that says itself that it replays must. */
static bool can_skip(const Test *t) {
    if (t->kind == KIND_GT)
        return !strcmp(t->world, "replay") && !strstr(t->expect->worlds, "replay");
    return t->kind == KIND_SH || t->kind == KIND_UNIT;
}

/* What a test prints before the reason why it, or a part of it, cannot run here. */
static const char mark[] = "skipped: ";

/* Counts and prints the parts of a test that passed without them. */
static void count_parts(Runner *r, const Test *t, const Text *out) {
    for (const char *s = out->n ? out->data : "", *end; *s; s = end + (*end == '\n')) {
        end = s + strcspn(s, "\n");
        if (strncmp(s, mark, sizeof mark - 1)) continue;
        s += sizeof mark - 1;
        r->parts_skipped++;
        printf("skipped a part of %s: %.*s\n", t->path, (int)(end - s), s);
    }
}

static void judge(Runner *r, Test *t, const GuardReport *report) {
    int status = report->status;
    Text out = read_output(t, ".stdout"), err = read_output(t, ".stderr"), why = {0};
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    bool ok = !t->late[0] && !report->n_left;
    char title[PATH_MAX + 64];
    snprintf(title, sizeof title, "%.4000s%s%.40s", t->path, t->world[0] ? " in world " : "",
             t->world);
    if (ok && code == SKIPPED && can_skip(t)) {
        r->skipped++;
        const char *reason = out.n ? out.data : "\n";
        if (!strncmp(reason, mark, sizeof mark - 1)) reason += sizeof mark - 1;
        printf("skipped %s: %s", title, reason);
    } else {
        if (ok)
            ok = t->kind == KIND_GT
                     ? expect_check(t->expect, t->path, t->world, &out, &err, code, &why)
                     : code == 0;
        ok ? r->passed++ : r->failed++;
        if (ok && t->kind != KIND_GT) count_parts(r, t, &out);
    }
    if (!ok) {
        printf("FAILED %s", title);
        if (t->late[0])
            printf(": %s", t->late);
        else if (report->n_left)
            printf(": it left %d process%s running", report->n_left,
                   report->n_left > 1 ? "es" : "");
        else if (WIFSIGNALED(status))
            printf(": killed by signal %d (%s)", code - 128, strsignal(code - 128));
        else if (t->kind != KIND_GT)
            printf(": exit code %d", code);
        printf("\n");
        if (t->late[0]) print_way_out(r, t);
        if (why.n) printf("%s", why.data);
        if (t->kind != KIND_GT || !why.n) print_ends("--- its output", &out);
        if (t->kind != KIND_GT || !why.n) print_ends("--- its errors", &err);
        if (r->keep) printf("--- left in %s\n", t->dir);
        printf("\n");
    }
    if (ok || !r->keep) remove_tree(t->dir);
    text_free(&out);
    text_free(&err);
    text_free(&why);
}

/* Stops a test that has used its time or hangs. Checks once a second. */
static void check_time(const Runner *r, Test *t) {
    double at = now();
    if (t->late[0] || at - t->looked < 1) return;
    t->looked = at;
    double cpu_s = guard_cpu_s(&t->guard), idle_s = IDLE_S * r->factor;
    if (cpu_s < 0 || cpu_s - t->idle_cpu_s > IDLE_CPU_S * r->factor) {
        t->idle_since = at;
        t->idle_cpu_s = cpu_s;
    }
    if (cpu_s > t->cpu_limit_s)
        snprintf(t->late, sizeof t->late, "no end after %g s of CPU time", t->cpu_limit_s);
    else if (at - t->idle_since > idle_s)
        snprintf(t->late, sizeof t->late, "it hangs: nothing done for %g s", idle_s);
    else if (at - t->started > LAST_LIMIT_S * r->factor)
        snprintf(t->late, sizeof t->late, "no end after %g s", LAST_LIMIT_S * r->factor);
    if (t->late[0]) guard_stop(&t->guard);
}

/* Waits until one of the running tests ends. On an interrupt, stops all. */
static void reap(Runner *r, Test **running, int *n_running, const sigset_t *set) {
    for (;;) {
        for (int i = 0; i < *n_running; i++) {
            Test *t = running[i];
            GuardReport report;
            if (guard_ended(&t->guard, &report)) {
                t->wall_s = now() - t->started;
                t->cpu_s = report.cpu_s;
                if (r->is_interrupted)
                    remove_tree(t->dir);
                else
                    judge(r, t, &report);
                running[i] = running[--*n_running];
                return;
            }
            check_time(r, t);
        }
        int sig = sigtimedwait(set, NULL, &(struct timespec){0, 50 * 1000 * 1000});
        if (sig <= 0 || sig == SIGCHLD) continue;
        r->is_interrupted = true;
        for (int i = 0; i < *n_running; i++) guard_stop(&running[i]->guard);
    }
}

static void run_all(Runner *r, const sigset_t *set) {
    Test *running[MAX_JOBS];
    int n_running = 0;
    for (int i = 0; i < r->n && !r->is_interrupted; i++) {
        Test *t = &r->test[i];
        if (t->kind == KIND_GT && t->expect->skip[0]) {
            r->skipped++;
            printf("skipped %s: %s\n", t->path, t->expect->skip);
            continue;
        }
        while (n_running == r->jobs) reap(r, running, &n_running, set);
        if (r->is_interrupted) break;
        start(r, t);
        running[n_running++] = t;
    }
    while (n_running) reap(r, running, &n_running, set);
}

static void read_options(Runner *r, int argc, char **argv) {
    bool any_kind = false;
    for (int o; (o = getopt(argc, argv, "b:j:t:w:kT")) != -1;) {
        if (o == 'b')
            r->build = optarg;
        else if (o == 'j')
            r->jobs = atoi(optarg);
        else if (o == 't')
            r->factor = atof(optarg);
        else if (o == 'w')
            r->worlds = optarg;
        else if (o == 'k')
            r->keep = true;
        else if (o == 'T')
            r->shows_times = true;
        else
            exit(2);
    }
    if (r->jobs < 1) r->jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (r->jobs < 1) r->jobs = 1;
    if (r->jobs > MAX_JOBS) r->jobs = MAX_JOBS;
    if (r->factor <= 0) r->factor = 1;
    r->part = calloc((size_t)argc + 1, sizeof *r->part);
    for (int i = optind; i < argc; i++) {
        bool is_kind = false;
        for (int k = 0; k < KINDS; k++)
            if (!strcmp(argv[i], kind_name[k])) r->kinds[k] = is_kind = any_kind = true;
        if (!is_kind) r->part[r->n_parts++] = argv[i];
    }
    for (int k = 0; k < KINDS && !any_kind; k++) r->kinds[k] = true;
    if (!getcwd(r->here, sizeof r->here)) r->here[0] = 0;
    char build[PATH_MAX];
    if (!realpath(r->build, build)) die("no build in", r->build);
    r->build = strdup(build);
    snprintf(r->gtsh, sizeof r->gtsh, "%.4000s/gtsh", build);
}

static int by_cpu(const void *a, const void *b) {
    double x = ((const Test *)a)->cpu_s, y = ((const Test *)b)->cpu_s;
    return (x > y) - (x < y);
}

/* Sorts the longest tests first. The order by which worlds share expectations is lost. */
static void print_times(Runner *r) {
    double cpu_s = 0;
    qsort(r->test, (size_t)r->n, sizeof *r->test, by_cpu);
    for (int i = 0; i < r->n; i++) {
        const Test *t = &r->test[i];
        cpu_s += t->cpu_s;
        printf("%7.2f s CPU %7.2f s  %s %s\n", t->cpu_s, t->wall_s, t->path, t->world);
    }
    printf("%7.2f s CPU of all tests\n", cpu_s);
}

int main(int argc, char **argv) {
    Runner r = {.build = "build", .worlds = "", .factor = 1};
    read_options(&r, argc, argv);
    r.has_cuda = getenv("GT_CUDA_LIBRARIES") != NULL;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    add_programs(&r, KIND_UNIT, "test", "_test");
    add_programs(&r, KIND_FUZZ, "fuzz", "_fuzz");
    add_tree(&r, "tests");
    run_all(&r, &set);
    if (r.shows_times) print_times(&r);
    for (int i = 0; i < r.n; i++) {
        if (!r.test[i].world[0]) expect_free(&r.test[i].expect);
        free(r.test[i].path);
        free(r.test[i].world);
    }
    free(r.test);
    free(r.part);
    free((char *)r.build);
    if (r.is_interrupted) return 130;
    if (r.skipped) printf("%d skipped\n", r.skipped);
    if (r.parts_skipped) printf("%d parts of tests skipped\n", r.parts_skipped);
    printf("%d passed, %d failed\n", r.passed, r.failed);
    return r.failed != 0 || r.passed + r.skipped == 0;
}
