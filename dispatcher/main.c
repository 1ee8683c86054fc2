/* main.c: gt-dispatcher, the dispatcher as a process: flags, the socket, workers of its own,
 * signals. The dispatcher itself is in dispatcher.c, its loop in loop.c.
 *
 * SIGTERM drains: new clients are refused, and instructions in flight are finished (for at most
 * --drain seconds). Then all peers get BYE. A second SIGTERM ends the process at once.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/dispatcher.h"
#include "runtime/base/clock.h"
#include "runtime/base/heap.h"
#include "runtime/layout/config.h"
#include "runtime/net/endpoint.h"
#include "runtime/base/env.h"
#include "runtime/base/flags.h"
#include "runtime/base/log.h"
#include "runtime/wire/wire_hash.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 200, BEAT_MS = 2000, START_MS = 20000, SPAWN_MAX = 256 };
enum { RECORD_BYTES = 16 << 20 };
enum {
    LIVED_MS = 10000, /* a worker that lived this long is restarted at once, ... */
    PAUSE_MS = 500,   /* ... another after this pause, which doubles each time, ... */
    PAUSE_MAX_MS = 30000
};

/* A worker process of this dispatcher. If it ends by itself it is restarted: at once if it
 * lived for a while, else after a pause that doubles. */
typedef struct Child {
    pid_t pid;       /* 0: it has ended */
    uint64_t token;  /* identifies it to the dispatcher (Hello.spawned) */
    int64_t born_ms; /* when it was started */
    int64_t due_ms;  /* when to start it again; pid is 0 */
    int pause_ms;
    uint64_t ended_token; /* of its predecessor ... */
    char ended[64];       /* ... and how that ended, in words */
    int starts;           /* a pipe in which it says why it cannot start; 0: there is none */
} Child;

typedef struct App {
    DispatcherConfig config;
    Endpoint endpoint;
    const char *bind, *ipc, *file, *engine, *signals_file, *log, *hash;
    Config signals;
    int port, n_workers, threads, drain_s; /* port -1: none; threads 0: the worker's choice */
    uint64_t memory_bytes;                 /* of each worker; 0: its choice */
    bool is_insecure, is_quiet;
    Child child[SPAWN_MAX];
    int n_children;
    char program[PATH_MAX]; /* path of gt-worker */
    bool is_up;             /* from now on workers that end are restarted */
    Hub *hub;
    Dispatcher *d;
} App;

static App app = {.port = -1, .drain_s = 10};

static const Flag flags[] = {
    {'p', "port", "PORT", "listen for TCP on this port (0: any free one)", FLAG_INT, &app.port, 0,
     65535},
    {'b', "bind", "ADDRESS", "... at this address (127.0.0.1; *: all)", FLAG_TEXT, &app.bind},
    {0, "ipc", "PATH", "listen on this Unix socket (by default one of this user)", FLAG_TEXT,
     &app.ipc},
    {0, "insecure", "", "allow connections from other machines, with the token", FLAG_SET,
     &app.is_insecure},
    {0, "endpoint-file", "FILE", "write endpoint and token to FILE, for -d @FILE", FLAG_TEXT,
     &app.file},
    {'w', "workers", "N", "start N worker processes; restart those that end", FLAG_INT,
     &app.n_workers, 0, SPAWN_MAX},
    {0, "engine", "NAME", "... with this engine", FLAG_TEXT, &app.engine},
    {'t', "threads", "N", "... with N threads each", FLAG_INT, &app.threads, 1, 1024},
    {'m', "memory", "SIZE", "... with this much memory each", FLAG_SIZE, &app.memory_bytes},
    {0, "client-memory", "SIZE", "limit of live bytes per client (none)", FLAG_SIZE,
     &app.config.client_bytes_max},
    {0, "config", "FILE", "configuration of signals; a client's own overrides it", FLAG_TEXT,
     &app.signals_file},
    {0, "drain", "SECONDS", "at SIGTERM, time to finish pending work (10)", FLAG_INT, &app.drain_s,
     0, 86400},
    {0, "log", "FILE", "log every instruction to FILE (GT_INSTRUCTION_LOG)", FLAG_TEXT, &app.log},
    {0, "hash", "HOW", "... with hashes of some or all elements, for gt-diff (GT_HASH)", FLAG_TEXT,
     &app.hash},
    {'q', "quiet", "", "print only the ready line and errors", FLAG_SET, &app.is_quiet},
    FLAGS_COMMON};

static volatile sig_atomic_t signals, is_repair_due;
static void on_signal(int number) {
    if (number == SIGUSR1)
        is_repair_due = 1;
    else if (number != SIGCHLD) /* SIGCHLD only ends a wait */
        signals++;
}

static void complain(const Err *err) { err_report("gt-dispatcher", err); }

static bool choose_endpoint(App *a, Err *err) {
    char word[ENDPOINT_MAX];
    if (a->ipc && (a->port >= 0 || a->bind))
        return err_set(err, ERR_ARG, "--ipc or --port, not both");
    if (a->bind && a->port < 0) {
        err_set(err, ERR_ARG, "--bind needs a port");
        return err_hint(err, "gt-dispatcher --bind %.60s -p 9000", a->bind);
    }
    if (a->ipc) {
        char full[PATH_MAX];
        if (a->ipc[0] == '/') return endpoint_find(a->ipc, &a->endpoint, err);
        if (!getcwd(full, sizeof full)) return err_set(err, ERR_IO, "%s", strerror(errno));
        snprintf(word, sizeof word, "%.200s/%.90s", full, a->ipc);
        return endpoint_find(word, &a->endpoint, err);
    }
    if (a->port < 0) return endpoint_find("local", &a->endpoint, err);
    const char *bind = a->bind ? a->bind : "127.0.0.1";
    endpoint_word(bind, a->port, word);
    TRY(endpoint_find(word, &a->endpoint, err));
    if (endpoint_is_private(&a->endpoint) || a->is_insecure) return true;
    err_set(err, ERR_ARG, "%s would be open to other machines that have the token", bind);
    return err_hint(err, "add --insecure if the network is trusted, or tunnel: ssh -L");
}

/* Warns of flags without effect beside the others. */
static void warn_of_idle(const App *a) {
    static const char no[] = "gt-dispatcher: warning: %s has no effect without %s\n";
    if (!a->n_workers && a->engine) fprintf(stderr, no, "--engine", "--workers");
    if (!a->n_workers && a->threads) fprintf(stderr, no, "--threads", "--workers");
    if (!a->n_workers && a->memory_bytes) fprintf(stderr, no, "--memory", "--workers");
    if (!a->log && a->hash) fprintf(stderr, no, "--hash", "--log");
    if (a->is_insecure && a->port < 0) fprintf(stderr, no, "--insecure", "--port");
}

/* ---- Worker processes ---- */

/* gt-worker beside this program, else found in PATH. */
static void worker_program(char path[PATH_MAX]) {
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = '\0';
        int length = snprintf(path, PATH_MAX, "%s/gt-worker", dirname(self));
        if (length < PATH_MAX && !access(path, X_OK)) return;
    }
    strcpy(path, "gt-worker");
}

/* In the new process: runs the worker, whose end of the pipe is `starts`. */
_Noreturn static void become_worker(const App *a, const Child *c, int starts, const char **argv) {
    char spawned[48];
    fcntl(starts, F_SETFD, 0);
    snprintf(spawned, sizeof spawned, "%llu:%d", (unsigned long long)c->token, starts);
    setenv("GT_SPAWNED", spawned, 1);
    setenv("GT_TOKEN", a->endpoint.token, 1);
    execvp(a->program, (char **)argv);
    fprintf(stderr, "gt-dispatcher: cannot run '%s': %s\n", a->program, strerror(errno));
    _exit(127);
}

static bool spawn(App *a, Child *c, Err *err) {
    char share[32], device[32], threads[32], memory[32];
    int starts[2];
    const char *argv[20] = {"gt-worker",      "--once",  "--quiet", "--wait=20", "-d",
                            a->endpoint.text, "--share", share,     "--device",  device};
    int n = 10;
    snprintf(share, sizeof share, "%d", a->n_workers);
    snprintf(threads, sizeof threads, "%d", a->threads);
    snprintf(memory, sizeof memory, "%llu", (unsigned long long)a->memory_bytes);
    snprintf(device, sizeof device, "%d", (int)(c - a->child));
    if (a->engine) argv[n++] = "--engine", argv[n++] = a->engine;
    if (a->threads) argv[n++] = "--threads", argv[n++] = threads;
    if (a->memory_bytes) argv[n++] = "--memory", argv[n++] = memory;
    do
        if (getrandom(&c->token, sizeof c->token, 0) != sizeof c->token) c->token = 0;
    while (!c->token);
    if (pipe2(starts, O_CLOEXEC))
        return err_set(err, ERR_IO, "cannot start a worker: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) become_worker(a, c, starts[1], argv);
    int why = errno;
    close(starts[1]);
    if (pid < 0) {
        close(starts[0]);
        return err_set(err, ERR_IO, "cannot start a worker: %s", strerror(why));
    }
    c->pid = pid, c->starts = starts[0];
    c->born_ms = now_ms();
    return true;
}

/* Prints why a worker that has ended could not start. All that start at once may say the same: the
 * first is heard, and what is left is not waited for. */
static void hear(Child *c, bool is_expected) {
    char text[2048];
    fcntl(c->starts, F_SETFL, O_NONBLOCK); /* another process may hold the other end */
    ssize_t n = is_expected ? 0 : read(c->starts, text, sizeof text);
    if (n > 0) fwrite(text, 1, (size_t)n, stderr);
    close(c->starts);
    c->starts = 0;
}

/* Records that a worker process has ended, and when to start the next. */
static void child_ended(App *a, Child *c, int status, bool is_expected) {
    bool is_signal = WIFSIGNALED(status);
    int number = is_signal ? WTERMSIG(status) : WEXITSTATUS(status), pid = (int)c->pid;
    int64_t now = now_ms();
    c->pid = 0;
    c->ended_token = c->token;
    hear(c, is_expected);
    if (is_signal)
        snprintf(c->ended, sizeof c->ended, "ended by signal %d (%s)", number, strsignal(number));
    else
        snprintf(c->ended, sizeof c->ended, "ended with exit code %d", number);
    if (is_expected) return;
    int doubled = c->pause_ms ? 2 * c->pause_ms : PAUSE_MS;
    c->pause_ms = now - c->born_ms >= LIVED_MS ? 0 : doubled;
    if (c->pause_ms > PAUSE_MAX_MS) c->pause_ms = PAUSE_MAX_MS;
    c->due_ms = now + c->pause_ms;
    fprintf(stderr, "gt-dispatcher: worker process %d %s", pid, c->ended);
    bool is_again = a->is_up && !signals;
    if (is_again && c->pause_ms)
        fprintf(stderr, "; restarting it in %g s", c->pause_ms / 1000.0);
    else if (is_again)
        fputs("; restarting it", stderr);
    fputc('\n', stderr);
}

/* False: this worker's process is still running, or there is none. */
static bool reap_one(App *a, Child *c, bool is_expected) {
    int status;
    if (!c->pid || waitpid(c->pid, &status, WNOHANG) != c->pid) return false;
    child_ended(a, c, status, is_expected);
    return true;
}

/* Records the worker processes that have ended. Returns how many; at the start at most one. */
static int reap(App *a, bool is_expected) {
    int n = 0;
    for (int i = 0; i < a->n_children && (a->is_up || is_expected || !n); i++)
        n += reap_one(a, &a->child[i], is_expected);
    return n;
}

static int n_alive(const App *a) {
    int n = 0;
    for (int i = 0; i < a->n_children; i++) n += a->child[i].pid != 0;
    return n;
}

/* Restarts the workers that are due; after SIGUSR1 all that are missing. */
static void repair(App *a) {
    bool is_asked = is_repair_due;
    is_repair_due = 0;
    for (int i = 0; i < a->n_children; i++) {
        Child *c = &a->child[i];
        Err err = {0};
        if (is_asked) c->pause_ms = 0;
        if (c->pid || (!is_asked && now_ms() < c->due_ms) || spawn(a, c, &err)) continue;
        complain(&err);
        c->due_ms = now_ms() + PAUSE_MAX_MS;
    }
}

/* DispatcherConfig.lost. A process ends a moment after its connection. A silent one is killed,
 * because the dispatcher has forgotten it. */
static bool on_lost(void *ctx, uint64_t spawned, bool is_silent, char *why, size_t size) {
    App *a = ctx;
    Child *c = a->child;
    while (c < a->child + a->n_children && c->token != spawned && c->ended_token != spawned) c++;
    if (c == a->child + a->n_children) return true;
    if (is_silent && c->token == spawned && c->pid) kill(c->pid, SIGKILL);
    if (c->token == spawned && c->pid && !reap_one(a, c, false)) return false;
    if (!is_silent && c->ended_token == spawned) snprintf(why, size, "it %s", c->ended);
    size_t n = strlen(why);
    if (c->ended_token == spawned) snprintf(why + n, size - n, "; a new one is starting");
    return true;
}

static void stop_children(App *a) {
    int64_t end = now_ms() + 5000;
    while (n_alive(a) > 0 && now_ms() < end) {
        reap(a, true);
        usleep(20000);
    }
    for (int i = 0; i < a->n_children; i++)
        if (a->child[i].pid) kill(a->child[i].pid, SIGKILL);
    while (n_alive(a) > 0) {
        reap(a, true);
        usleep(20000);
    }
}

/* ---- Running ---- */

/* Prints what the dispatcher has reported since the last call. */
static void print_reports(App *a) {
    Bytes reports = {0};
    if (!dispatcher_take_reports(a->d, &reports)) return;
    for (char *line = reports.data, *next; !a->is_quiet && line < reports.data + reports.n;
         line = next) {
        next = memchr(line, '\n', (size_t)(reports.data + reports.n - line));
        next = next ? next + 1 : reports.data + reports.n;
        time_t now = time(NULL);
        char clock[16];
        strftime(clock, sizeof clock, "%H:%M:%S", localtime(&now));
        fprintf(stderr, "%s %.*s", clock, (int)(next - line), line);
    }
    bytes_fini(&reports);
}

static void step(App *a) {
    dispatcher_pump(a->d, a->hub, TICK_MS);
    print_reports(a);
}

static bool start_workers(App *a, Err *err) {
    worker_program(a->program);
    for (; a->n_children < a->n_workers; a->n_children++)
        TRY(spawn(a, &a->child[a->n_children], err));
    int64_t end = now_ms() + START_MS;
    while (dispatcher_workers(a->d) < a->n_workers && !signals) {
        if (reap(a, false)) return err_set(err, ERR_GONE, "a worker could not start");
        if (now_ms() > end)
            return err_set(err, ERR_TIMEOUT, "the workers did not start within %d s",
                           START_MS / 1000);
        step(a);
    }
    return true;
}

/* Writes the endpoint and its token, readable by this user alone. Writes a temporary file and
 * renames it, so that a reader sees the whole file or none. */
static bool write_file(const App *a, Err *err) {
    char aside[PATH_MAX];
    snprintf(aside, sizeof aside, "%s.%d", a->file, (int)getpid());
    unlink(aside);
    int fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool ok = f && fprintf(f, "%s\n%s\n", a->endpoint.text, a->endpoint.token) > 0;
    if (f && fclose(f)) ok = false;
    if (ok && !rename(aside, a->file)) return true;
    err_set(err, ERR_IO, "cannot write '%s': %s", a->file, strerror(errno));
    unlink(aside);
    return false;
}

/* Definitions for every client: a file, and GT_AUTO_SHARD. */
static bool read_signals(App *a, Err *err) {
    if (a->signals_file) TRY(config_read(&a->signals, a->signals_file, err));
    SignalConfig all = {.name = "*", .has = HAS_AXIS};
    if (env_is_on("GT_AUTO_SHARD") && !config_find(&a->signals, "*", 1))
        TRY(config_put(&a->signals, &all, err));
    a->config.signals = &a->signals;
    return true;
}

static bool start(App *a, Err *err) {
    TRY(read_signals(a, err));
    if (getrandom(&a->config.seed, sizeof a->config.seed, 0) < 0)
        a->config.seed = (uint64_t)time(NULL);
    a->config.beat_ms = BEAT_MS;
    a->config.lost = on_lost;
    a->config.ctx = a;
    a->config.hot = detector_config();
    a->config.workers_wanted = a->n_workers > 0 ? a->n_workers : 1;
    net_set_token(a->endpoint.token, a->endpoint.file);
    a->config.peers_max = net_files_raise();
    mode_t mask = umask(077); /* The socket must be accessible to this user alone. */
    a->hub = hub_open(a->endpoint.text, err);
    umask(mask);
    TRY(a->hub);
    snprintf(a->endpoint.text, sizeof a->endpoint.text, "%s", hub_endpoint(a->hub));
    a->config.endpoint = a->endpoint.text;
    a->config.record_bytes = RECORD_BYTES;
    a->config.pid = (uint32_t)getpid();
    TRY(watch_hashing(a->hash, &a->config.hashing, err));
    a->d = dispatcher_new(&a->config);
    if (a->log) TRY(dispatcher_log(a->d, a->log, err));
    TRY(start_workers(a, err));
    if (a->file) TRY(write_file(a, err));
    return true;
}

static void drain(App *a) {
    int64_t end = now_ms() + a->drain_s * INT64_C(1000);
    int seen = signals;
    dispatcher_drain(a->d);
    if (!a->is_quiet && !dispatcher_is_idle(a->d))
        fprintf(stderr, "gt-dispatcher: finishing pending work, %d s at most\n", a->drain_s);
    while (!dispatcher_is_idle(a->d) && now_ms() < end && signals == seen) step(a);
    dispatcher_bye(a->d);
    dispatcher_pump(a->d, a->hub, 1);
}

static void finish(App *a) {
    if (a->file) unlink(a->file);
    hub_close(&a->hub);
    stop_children(a);
    dispatcher_free(&a->d);
    config_fini(&a->signals);
    net_fini();
}

int main(int argc, char **argv) {
    App *a = &app;
    Err err = {0};
    heap_keep();
    a->log = getenv("GT_INSTRUCTION_LOG");
    if (a->log && !a->log[0]) a->log = NULL;
    log_environment();
    int code = flags_read("gt-dispatcher", argc, argv, flags, sizeof flags / sizeof *flags, &err);
    if (code < 0 && (!choose_endpoint(a, &err) || !env_check(&err))) code = FLAGS_USAGE;
    if (code >= 0) {
        if (err.code) complain(&err);
        return code;
    }
    env_warn_misspelt("gt-dispatcher: ");
    warn_of_idle(a);
    struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGUSR1, &act, NULL);
    sigaction(SIGCHLD, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* past ulimit -f, write(2) fails: an error with words */
    if (!start(a, &err)) {
        complain(&err);
        a->file = NULL; /* not ours to remove */
        finish(a);
        return 1;
    }
    int n = dispatcher_workers(a->d);
    if (!signals)
        printf("gt-dispatcher: ready at %s, %d worker%s\n", a->endpoint.text, n, n == 1 ? "" : "s");
    fflush(stdout);
    a->is_up = true;
    while (!signals) {
        step(a);
        reap(a, false);
        if (!signals) repair(a);
    }
    a->is_up = false;
    drain(a);
    finish(a);
    return 0;
}
