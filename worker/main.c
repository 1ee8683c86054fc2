/* main.c: gt-worker, the worker as a process: flags, signals, and reconnecting when the dispatcher
 * is not there yet or has gone. The work is done in worker.c and exec.c.
 *
 * A worker holds nothing that outlives its dispatcher's tables, so reconnecting means starting
 * anew.
 * SPDX-License-Identifier: MIT */
#include "runtime/net/endpoint.h"
#include "runtime/net/net.h"
#include "runtime/base/clock.h"
#include "runtime/base/env.h"
#include "runtime/base/heap.h"
#include "runtime/base/flags.h"
#include "runtime/base/log.h"
#include "runtime/wire/wire_hash.h"
#include "worker/prove/prove.h"
#include "worker/worker.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { EXIT_GONE = 69, EXIT_STOPPED = 130, AGAIN_MS = 500, AGAIN_MAX_MS = 5000 };

typedef struct App {
    WorkerConfig worker;
    Endpoint endpoint;
    const char *word, *host, *hash;
    const char *proves;     /* an engine; NULL: none */
    int port, wait_s, seed; /* 0: not given */
    bool is_once, is_quiet, is_quick;
    bool has_waited; /* a message has said that it waits */
    FILE *starts;    /* the dispatcher that started it reads here why it could not start; NULL: it
                        has started, or has no such dispatcher */
} App;

static volatile sig_atomic_t stop;
static void on_signal(int number) {
    (void)number;
    stop = 1;
}

/* Static, because on_welcome has no other access to it. */
static App app;

static const Flag flags[] = {
    {'d', "dispatcher", "WHERE", "HOST:PORT, ipc:///PATH, @FILE or local (GT_DISPATCHER; local)",
     FLAG_TEXT, &app.word},
    {'H', "host", "HOST", "host of the dispatcher, with -p (localhost)", FLAG_TEXT, &app.host},
    {'p', "port", "PORT", "port of the dispatcher", FLAG_INT, &app.port, 1, 65535},
    {0, "data-endpoint", "WHERE",
     "listen for other workers here (default: on the route to the dispatcher)", FLAG_TEXT,
     &app.worker.data_endpoint},
    {0, "engine", "NAME", "auto, cpu, cuda, reference or null (GT_BACKEND; auto)", FLAG_TEXT,
     &app.worker.engine},
    {'t', "threads", "N", "compute threads (its share of the cores)", FLAG_INT, &app.worker.threads,
     1, 1024},
    {'m', "memory", "SIZE", "memory for tensors, such as 4G (its share of 80 % of the free memory)",
     FLAG_SIZE, &app.worker.memory_bytes},
    {0, "device", "N", "the GPU that cuda uses, of those in CUDA_VISIBLE_DEVICES (0)", FLAG_INT,
     &app.worker.device, 0, 1023},
    {0, "share", "N", "number of workers on this machine, for these shares (1)", FLAG_INT,
     &app.worker.workers_on_host, 1, 1024},
    {'1', "once", "", "exit when the dispatcher ends, instead of waiting for another", FLAG_SET,
     &app.is_once},
    {0, "wait", "SECONDS", "exit if no dispatcher answers for this long (never)", FLAG_INT,
     &app.wait_s, 1, 1000000},
    {0, "hash", "HOW", "hash some or all elements of results for the log (GT_HASH)", FLAG_TEXT,
     &app.hash},
    {0, "prove", "NAME", "prove an engine on this machine, print a report and end", FLAG_TEXT,
     &app.proves},
    {0, "seed", "N", "of what --prove draws (1)", FLAG_INT, &app.seed, 1, INT_MAX},
    {0, "quick", "", "--prove only a part, in seconds instead of minutes", FLAG_SET, &app.is_quick},
    {'q', "quiet", "", "print errors only", FLAG_SET, &app.is_quiet},
    FLAGS_COMMON};

/* Sets the endpoint from the flags and the environment, and checks the flags. */
static bool choose(App *a, Err *err) {
    WorkerConfig *w = &a->worker;
    Endpoint where;
    char word[ENDPOINT_MAX];
    const char *backend = getenv("GT_BACKEND");
    TRY(watch_hashing(a->hash, &w->hashing, err));
    if (w->data_endpoint) TRY(endpoint_find(w->data_endpoint, &where, err));
    if (!w->engine && backend && *backend) w->engine = backend;
    if (w->engine && strcmp(w->engine, "auto") && !engine_find(w->engine)) {
        err_set(err, ERR_ARG, "there is no engine '%.60s'", w->engine);
        return err_hint(err, "%s", flag_engine_hint(w->engine));
    }
    if (a->word && (a->host || a->port))
        return err_set(err, ERR_ARG, "--dispatcher or --%s, not both", a->port ? "port" : "host");
    if (a->host && !a->port) {
        err_set(err, ERR_ARG, "--host needs a port");
        return err_hint(err, "gt-worker --host %s -p 9000", a->host);
    }
    if (a->port) {
        endpoint_word(a->host ? a->host : "localhost", a->port, word);
        a->word = word;
    }
    if (!a->word) a->word = getenv("GT_DISPATCHER");
    return endpoint_find(a->word, &a->endpoint, err);
}

/* --prove, and what belongs to it. */
static bool check_prove(const App *a, Err *err) {
    if (!a->proves && (a->is_quick || a->seed)) {
        err_set(err, ERR_ARG, "--%s is for --prove", a->is_quick ? "quick" : "seed");
        return err_hint(err, "gt-worker --prove cuda --%s", a->is_quick ? "quick" : "seed 2");
    }
    if (a->proves && a->worker.engine)
        return err_set(err, ERR_ARG, "--prove or --engine, not both: --prove names the engine");
    return true;
}

static void end_start(void) {
    if (app.starts) fclose(app.starts);
    app.starts = NULL;
}

static void complain(const Err *err) {
    err_report_to(app.starts ? app.starts : stderr, "gt-worker", err);
}

/* Says once which dispatcher the worker waits for, and how to start that one. */
static void on_waiting(void) {
    static const char ipc[] = "ipc://";
    const char *text = app.endpoint.text, *port = strrchr(text, ':');
    Err err = {0};
    Endpoint own;
    if (app.is_quiet || app.has_waited) return;
    app.has_waited = true;
    err_set(&err, ERR_IO, "no dispatcher answers at %s; waiting for one", text);
    if (!strncmp(text, ipc, sizeof ipc - 1)) {
        bool is_own = endpoint_local(&own, NULL) && !strcmp(text, own.text);
        err_hint(&err, "gt-dispatcher%s%s starts it", is_own ? "" : " --ipc ",
                 is_own ? "" : text + sizeof ipc - 1);
    } else if (port) {
        bool is_here = endpoint_is_private(&app.endpoint);
        err_hint(&err, "gt-dispatcher -p %s%s", port + 1,
                 is_here ? " starts it" : " -b '*' --insecure starts it on that machine");
    }
    complain(&err);
}

static void on_welcome(const Worker *w) {
    end_start();
    if (app.is_quiet) return;
    const char *chosen = worker_chosen(w);
    Bytes device = {0};
    worker_device(w, &device);
    if (device.n) bytes_puts(&device, ", ");
    printf("gt-worker: w%u at %s (%s, %.*s%d thread%s, %.1f GiB%s%s)\n", worker_rank(w),
           app.endpoint.text, worker_isa(w), (int)device.n, device.n ? device.data : "",
           worker_threads(w), worker_threads(w) == 1 ? "" : "s",
           (double)worker_memory_bytes(w) / (1u << 30), chosen ? "; auto: " : "",
           chosen ? chosen : "");
    fflush(stdout);
    bytes_fini(&device);
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
        a->has_waited = true;
        if (!a->is_quiet)
            fprintf(stderr, "gt-worker: the dispatcher at %s is gone; waiting for another\n",
                    a->endpoint.text);
        sleep_ms(again); /* a signal ends it early */
        again = 2 * again < AGAIN_MAX_MS ? 2 * again : AGAIN_MAX_MS;
    }
    return 0;
}

/* gt-worker --prove: needs no dispatcher. */
static int prove(const App *a) {
    Err err = {0};
    ProveConfig c = {.seed = (uint64_t)a->seed,
                     .memory_bytes = a->worker.memory_bytes,
                     .device = a->worker.device,
                     .threads = a->worker.threads,
                     .is_quick = a->is_quick,
                     .records_quick = getenv("GT_PROVE_RECORD") != NULL,
                     .stop = &stop,
                     .progress = a->is_quiet             ? PROGRESS_NONE
                                 : isatty(STDERR_FILENO) ? PROGRESS_TERMINAL
                                                         : PROGRESS_LINES};
    if (!prove_find(a->proves, &c, &err)) {
        complain(&err);
        return FLAGS_USAGE;
    }
    switch (prove_all(&c)) {
    case PROVE_PASSED: return EXIT_SUCCESS;
    case PROVE_FAILED: return EXIT_FAILURE;
    default: return EXIT_STOPPED;
    }
}

/* Started by gt-dispatcher, by TOKEN:FD: ends with it, however it ends. */
static void take_spawned(App *a) {
    const char *spawned = getenv("GT_SPAWNED");
    a->worker.is_exact_device = !spawned; /* the dispatcher counts its workers */
    if (!spawned) return;
    char *end;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    a->worker.spawned = strtoull(spawned, &end, 10);
    int fd = *end == ':' ? atoi(end + 1) : -1;
    if (fd <= STDERR_FILENO || fcntl(fd, F_SETFD, FD_CLOEXEC)) return;
    a->starts = fdopen(fd, "w");
}

int main(int argc, char **argv) {
    Err err = {0};
    App *a = &app;
    heap_keep();
    log_environment();
    take_spawned(a);
    int code = flags_read("gt-worker", argc, argv, flags, sizeof flags / sizeof *flags, &err);
    if (code < 0 && (!check_prove(a, &err) || !choose(a, &err) || !env_check(&err)))
        code = FLAGS_USAGE;
    if (code >= 0) {
        if (err.code) complain(&err);
        return code;
    }
    if (!getenv("GT_SPAWNED")) env_warn_misspelt("gt-worker: ");
    struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* past ulimit -f, write(2) fails: an error with words */
    if (a->proves) return prove(a);
    net_set_token(a->endpoint.token, a->endpoint.file);
    net_files_raise();
    a->worker.endpoint = a->endpoint.text;
    a->worker.is_shared = true;
    a->worker.stop = &stop;
    a->worker.on_waiting = on_waiting;
    a->worker.on_welcome = on_welcome;
    a->worker.welcome_ms = a->wait_s ? a->wait_s * 1000 : -1;
    code = serve(a);
    net_fini();
    return code;
}
