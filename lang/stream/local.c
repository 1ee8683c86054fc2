/* local.c: the embedded cluster: one dispatcher, stepped in the client's thread, and workers in
 * their own threads, which run the code of the worker daemon. GT_NET=inproc connects them by ZeroMQ
 * instead of rings, for tests.
 *
 * Worker threads block all signals: Ctrl-C is for the client. This is the only file in lang/ that
 * calls dispatcher/ and worker/.
 * SPDX-License-Identifier: MIT */
#include "lang/stream/local.h"
#include "runtime/base/clock.h"
#include "dispatcher/dispatcher.h"
#include "dispatcher/door.h"
#include "runtime/base/env.h"
#include "worker/worker.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* More than so many workers on a processor do not start in time. */
enum { CROWD = 256, CROWD_PER_PROCESSOR = 64 };
enum { RECORD_BYTES = 4 << 20 };
enum { START_MS = 10000, STOP_MS = 5000, STEP_MS = 20 };

typedef struct Member {
    pthread_t thread;
    WorkerConfig config;
    Err why;         /* why it could not start, or has ended; valid after has_ended */
    bool is_running; /* the thread was created and is not yet joined */
    _Atomic bool has_ended;
} Member;

struct Local {
    Hub *hub;
    Dispatcher *dispatcher;
    Door *door; /* for programs that watch; NULL: there is none */
    char endpoint[64];
    char *engine;
    Member **member; /* allocated one by one: a worker that cannot be joined keeps its own */
    int n;
};

static void *member_main(void *ctx) {
    Member *m = ctx;
    worker_run(&m->config);
    atomic_store(&m->has_ended, true);
    return NULL;
}

static bool start_member(Local *l, const StreamConfig *config, Err *err) {
    Member *m = xcalloc(1, sizeof *m);
    m->config = (WorkerConfig){.engine = l->engine,
                               .threads = config->threads,
                               .memory_bytes = config->memory_bytes,
                               .workers_on_host = config->workers,
                               .device = l->n,
                               .endpoint = l->endpoint,
                               .spawned = (uint64_t)l->n + 1,
                               .why = &m->why};
    if (m->config.workers_on_host < 1) m->config.workers_on_host = 1;
    l->member[l->n++] = m;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&m->thread, NULL, member_main, m);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    m->is_running = rc == 0;
    return rc == 0 || err_set(err, ERR_IO, "cannot start a worker thread: %s", strerror(rc));
}

static bool is_crowd(int n) {
    return n > CROWD && n > CROWD_PER_PROCESSOR * sysconf(_SC_NPROCESSORS_ONLN);
}

static bool not_started(int n, Err *err) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (is_crowd(n))
        err_set(err, ERR_LIMIT, "%d workers are too many for %ld processor%s", n, cores,
                cores == 1 ? "" : "s");
    else
        err_set(err, ERR_TIMEOUT, "%d worker%s did not start within 10 s", n, n == 1 ? "" : "s");
    return n > cores && err_hint(err, "one worker per processor is enough: gtsh -w %ld", cores);
}

static bool await_members(Local *l, Err *err) {
    int64_t end = now_ms() + START_MS;
    while (dispatcher_workers(l->dispatcher) < l->n) {
        if (interrupt_count)
            return err_set(err, ERR_CANCELLED, "interrupted while the workers started");
        for (int i = 0; i < l->n; i++) {
            if (!atomic_load(&l->member[i]->has_ended)) continue;
            const Err *why = &l->member[i]->why;
            if (why->code == ERR_TIMEOUT) return not_started(l->n, err);
            err_set(err, why->code ? why->code : ERR_GONE, "worker w%d could not start%s%s", i,
                    why->text[0] ? ": " : "", why->text);
            return why->hint[0] ? err_hint(err, "%s", why->hint) : false;
        }
        if (now_ms() > end) return not_started(l->n, err);
        dispatcher_pump(l->dispatcher, l->hub, STEP_MS);
    }
    return true;
}

/* DispatcherConfig.lost. A thread ends a moment after its connection. */
static bool on_lost(void *ctx, uint64_t spawned, bool is_silent, char *why, size_t size) {
    Local *l = ctx;
    if (is_silent || spawned > (uint64_t)l->n) return true;
    const Member *m = l->member[spawned - 1];
    if (!atomic_load(&m->has_ended)) return false;
    if (m->why.text[0]) snprintf(why, size, "%s", m->why.text);
    return true;
}

Local *local_start(const StreamConfig *config, Err *err) {
    int n = config->workers > 0 ? config->workers : 1;
    Local *l = xcalloc(1, sizeof *l);
    const char *scheme = !strcmp(env_word("GT_NET"), "inproc") ? "inproc" : "ring";
    snprintf(l->endpoint, sizeof l->endpoint, "%s://gt-local-%p", scheme, (void *)l);
    l->engine = config->engine ? xstrdup(config->engine) : NULL;
    l->member = xcalloc((size_t)n, sizeof l->member[0]);
    /* .hot: not set, because the client detects hot bodies itself */
    l->door = door_open();
    DispatcherConfig dispatcher = {.workers_wanted = n,
                                   .hashing = config->hashing,
                                   .door = l->door,
                                   .record_bytes = l->door ? RECORD_BYTES : 0,
                                   .endpoint = l->door ? door_endpoint(l->door) : NULL,
                                   .lost = on_lost,
                                   .ctx = l,
                                   .pid = (uint32_t)getpid()};
    l->dispatcher = dispatcher_new(&dispatcher);
    const char *log = getenv("GT_INSTRUCTION_LOG");
    bool ok = !is_crowd(n) || not_started(n, err);
    ok = ok && (l->hub = hub_open(l->endpoint, err)) != NULL;
    if (ok && log && *log) ok = dispatcher_log(l->dispatcher, log, err);
    while (ok && l->n < n) ok = start_member(l, config, err);
    if (ok) ok = await_members(l, err);
    if (!ok) local_stop(&l);
    return l;
}

const char *local_endpoint(const Local *l) { return l->endpoint; }

void local_step(Local *l, int timeout_ms) { dispatcher_pump(l->dispatcher, l->hub, timeout_ms); }

/* Joins a worker before `end`. Detaches one that computes for longer; it ends with the process. */
static bool join_member(Member *m, const struct timespec *end) {
    if (!m->is_running) return true;
    if (pthread_timedjoin_np(m->thread, NULL, end) == 0) return true;
    pthread_detach(m->thread);
    return false;
}

void local_stop(Local **lp) {
    Local *l = *lp;
    *lp = NULL;
    if (!l) return;
    if (l->door && l->dispatcher && door_look(l->door, 0)) { /* tells those that watch */
        dispatcher_bye(l->dispatcher);
        dispatcher_pump(l->dispatcher, l->hub, 0);
    }
    hub_close(&l->hub); /* workers detect that the dispatcher is gone and return */
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += STOP_MS / 1000;
    bool all = true;
    for (int i = 0; i < l->n; i++) {
        if (join_member(l->member[i], &end))
            free(l->member[i]);
        else
            all = false;
    }
    dispatcher_free(&l->dispatcher);
    door_close(&l->door);
    if (!all) { /* a worker still uses the endpoint and the engine's name */
        worker_abandon();
        return;
    }
    free(l->engine);
    free(l->member);
    free(l);
}

void local_abandon(void) { worker_abandon(); }
