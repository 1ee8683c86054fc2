/* main.c: gt-worker, the worker as a process: flags, signals, and reconnecting when the dispatcher
 * is not there yet or has gone. The work is done in worker.c and exec.c.
 *
 * A worker holds nothing that outlives its dispatcher's tables, so reconnecting means starting
 * anew.
 * SPDX-License-Identifier: MIT */
#include "runtime/net/endpoint.h"
#include "runtime/net/net.h"
#include "runtime/base/env.h"
#include "runtime/base/flags.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_GONE = 69, AGAIN_MS = 500, AGAIN_MAX_MS = 5000 };

enum {
    F_DISPATCHER,
    F_HOST,
    F_PORT,
    F_DATA,
    F_ENGINE,
    F_THREADS,
    F_MEMORY,
    F_SHARE,
    F_ONCE,
    F_WAIT,
    F_QUIET,
    F_HELP,
    F_VERSION,
    F_COUNT
};
static const Flag flags[F_COUNT] = {
    [F_DISPATCHER] = {'d', "dispatcher", "WHERE",
                      "HOST:PORT, ipc:///PATH, @FILE or local (GT_DISPATCHER; local)"},
    [F_HOST] = {'H', "host", "HOST", "host of the dispatcher, with -p (localhost)"},
    [F_PORT] = {'p', "port", "PORT", "port of the dispatcher"},
    [F_DATA] = {0, "data-endpoint", "WHERE",
                "listen for other workers here (default: on the route to the dispatcher)"},
    [F_ENGINE] = {0, "engine", "NAME", "cpu, reference or null (GT_BACKEND; cpu)"},
    [F_THREADS] = {'t', "threads", "N", "compute threads (its share of the cores)"},
    [F_MEMORY] = {'m', "memory", "SIZE",
                  "memory for tensors, such as 4G (its share of 80 % of the free memory)"},
    [F_SHARE] = {0, "share", "N", "number of workers on this machine, for these shares (1)"},
    [F_ONCE] = {'1', "once", "", "exit when the dispatcher ends, instead of waiting for another"},
    [F_WAIT] = {0, "wait", "SECONDS", "exit if no dispatcher answers for this long (never)"},
    [F_QUIET] = {'q', "quiet", "", "print errors only"},
    [F_HELP] = {'h', "help", "", "print this and exit"},
    [F_VERSION] = {0, "version", "", "print the version and exit"},
};

typedef struct App {
    WorkerConfig worker;
    Endpoint endpoint;
    const char *word, *host;
    int64_t port, wait_s;
    bool is_once, is_quiet;
} App;

static volatile sig_atomic_t stop;
static void on_signal(int number) {
    (void)number;
    stop = 1;
}

/* Static, because on_welcome has no other access to it. */
static App app;

static bool read_flag(App *a, int flag, const char *v, Err *err) {
    int64_t n;
    Endpoint where;
    switch (flag) {
    case F_DISPATCHER: a->word = v; return true;
    case F_HOST: a->host = v; return true;
    case F_PORT: return flag_int("--port", v, 1, 65535, &a->port, err);
    case F_DATA: a->worker.data_endpoint = v; return endpoint_find(v, &where, err);
    case F_ENGINE:
        a->worker.engine = v;
        if (engine_find(v)) return true;
        err_set(err, ERR_ARG, "there is no engine '%.60s'", v);
        return err_hint(err, "cpu or reference");
    case F_THREADS:
        TRY(flag_int("--threads", v, 1, 1024, &n, err));
        a->worker.threads = (int)n;
        return true;
    case F_MEMORY: return flag_bytes("--memory", v, &a->worker.memory_bytes, err);
    case F_SHARE:
        TRY(flag_int("--share", v, 1, 1024, &n, err));
        a->worker.workers_on_host = (int)n;
        return true;
    case F_ONCE: return a->is_once = true;
    case F_WAIT: return flag_int("--wait", v, 1, 1000000, &a->wait_s, err);
    case F_QUIET: return a->is_quiet = true;
    }
    return true;
}

/* Returns -1 to continue, else the exit code. */
static int read_flags(App *a, int argc, char **argv, Err *err) {
    const char *value;
    int flag;
    while ((flag = flags_next(argc, argv, flags, F_COUNT, &value, err)) >= 0) {
        if (flag == F_HELP) {
            Bytes b = {0};
            flags_help("gt-worker [options]", flags, F_COUNT, &b);
            fputs(b.data, stdout);
            bytes_fini(&b);
            return 0;
        }
        if (flag == F_VERSION) {
            printf("gt-worker %s\n", GTSH_VERSION);
            return 0;
        }
        if (!read_flag(a, flag, value, err)) return EXIT_USAGE;
    }
    if (flag == FLAGS_ERROR) return EXIT_USAGE;
    if (a->host && !a->port) {
        err_set(err, ERR_ARG, "--host needs a port");
        err_hint(err, "gt-worker --host %s -p 9000", a->host);
        return EXIT_USAGE;
    }
    char word[ENDPOINT_MAX];
    if (a->port) {
        const char *host = a->host ? a->host : "localhost";
        bool bare = strchr(host, ':') && host[0] != '['; /* IPv6 */
        snprintf(word, sizeof word, bare ? "[%s]:%d" : "%s:%d", host, (int)a->port);
        a->word = word;
    }
    const char *backend = getenv("GT_BACKEND");
    if (!a->worker.engine && backend && *backend && !read_flag(a, F_ENGINE, backend, err))
        return EXIT_USAGE;
    if (!a->word) a->word = getenv("GT_DISPATCHER");
    return endpoint_find(a->word, &a->endpoint, err) ? -1 : EXIT_USAGE;
}

static void complain(const Err *err) {
    fprintf(stderr, "gt-worker: %s\n", err->text);
    if (err->hint[0]) fprintf(stderr, "  hint: %s\n", err->hint);
}

static void on_welcome(const Worker *w) {
    if (app.is_quiet) return;
    printf("gt-worker: w%u at %s (%s, %d thread%s, %.1f GiB)\n", worker_rank(w), app.endpoint.text,
           worker_isa(w), worker_threads(w), worker_threads(w) == 1 ? "" : "s",
           (double)worker_memory_bytes(w) / (1u << 30));
    fflush(stdout);
}

static void pause_ms(int ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL); /* a signal ends it early, as intended */
}

/* Serves one dispatcher after another. */
static int serve(App *a) {
    for (int again = AGAIN_MS; !stop;) {
        Err why = {0};
        a->worker.why = &why;
        WorkerEnd end = worker_run(&a->worker);
        if (why.code) complain(&why);
        if (end == WORKER_FAILED || end == WORKER_REFUSED) return 1;
        if (stop || (a->is_once && end == WORKER_LEFT)) return 0;
        if (a->is_once || (end == WORKER_GONE && why.code)) return EXIT_GONE;
        if (!a->is_quiet)
            fprintf(stderr, "gt-worker: the dispatcher at %s is gone; waiting for another\n",
                    a->endpoint.text);
        pause_ms(again);
        again = 2 * again < AGAIN_MAX_MS ? 2 * again : AGAIN_MAX_MS;
    }
    return 0;
}

int main(int argc, char **argv) {
    Err err = {0};
    App *a = &app;
    log_environment();
    int code = read_flags(a, argc, argv, &err);
    if (code < 0 && !env_check(&err)) code = EXIT_USAGE;
    if (code >= 0) {
        if (err.code) complain(&err);
        return code;
    }
    if (!getenv("GT_SPAWNED")) env_tell_misspelt("gt-worker: ");
    struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    /* Started by gt-dispatcher: ends with it, however it ends. */
    const char *spawned = getenv("GT_SPAWNED");
    if (spawned) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        a->worker.spawned = strtoull(spawned, NULL, 10);
    }
    net_set_token(a->endpoint.token, a->endpoint.file);
    net_files_raise();
    a->worker.endpoint = a->endpoint.text;
    a->worker.is_shared = true;
    a->worker.stop = &stop;
    a->worker.on_welcome = on_welcome;
    a->worker.welcome_ms = a->wait_s ? (int)a->wait_s * 1000 : -1;
    code = serve(a);
    net_fini();
    return code;
}
