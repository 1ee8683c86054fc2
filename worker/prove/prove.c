/* prove.c: runs the parts of a proof, each in a process of its own, watches them, and reports.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/prove.h"
#include "runtime/base/clock.h"
#include "worker/prove/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MEMORY = 256 << 20,
    STALL_S = 300, /* the slowest case takes seconds */
    LOOK_MS = 50,
    SHOW_MS = 200,
    SAY_MS = 60000, /* where it is no terminal */
    END_MS = 3000   /* for a part that was asked to end */
};

static const struct {
    const char *name;
    void (*run)(Part *p);
} parts[] = {{"operations", part_operations}, {"products", part_products},
             {"fusions", part_fusions},       {"streams", part_streams},
             {"memory", part_memory},         {"indices", part_indices},
             {"copies", part_copies},         {"graphs", part_graphs},
             {"peers", part_peers},           {"large", part_large}};
enum { PARTS = sizeof parts / sizeof *parts };

bool prove_find(const char *name, ProveConfig *c, Err *err) {
    c->ops = engine_find(name);
    c->oracle = &engine_cpu;
    c->agree = AGREE_NEAR;
    if (!c->ops || c->ops == &engine_null) {
        err_set(err, ERR_ARG,
                c->ops ? "the engine '%.40s' computes no values to be proved"
                       : "there is no engine '%.40s'",
                name);
        return err_hint(err, "cuda, or cpu, reference and late, against each other");
    }
    if (c->ops == &engine_cpu) c->oracle = &engine_reference;
    if (c->ops->is_ordered) c->agree = c->ops == &engine_cuda ? AGREE_DEVICE : AGREE_BITS;
    return true;
}

/* ---- In a part's process ---- */

_Noreturn static void run_part(const ProveConfig *config, int k, Tally *t) {
    Part p = {.config = config, .tally = t, .rand = {config->seed * 1000 + (uint64_t)k}};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigaction(SIGINT, &ignore, NULL); /* Ctrl-C: the other process asks this one to end */
    sigaction(SIGTERM, &ignore, NULL);
    parts[k].run(&p);
    fflush(NULL);
    _exit(EXIT_SUCCESS);
}

/* ---- In the process that reports ---- */

typedef struct Watched {
    const ProveConfig *config;
    const char *name;
    Tally *tally;
    pid_t pid;
    int64_t began, moved, shown; /* ms; moved: when `done` last changed */
    uint64_t done;
    bool is_stopped, is_stalled;
    int status; /* of waitpid */
} Watched;

static void clear_line(const Watched *w) {
    if (w->shown && w->config->progress == PROGRESS_TERMINAL) fputs("\r\033[K", stderr);
}

static void show(Watched *w, int64_t now) {
    const Tally *t = w->tally;
    bool is_terminal = w->config->progress == PROGRESS_TERMINAL;
    int64_t since = now - (w->shown || is_terminal ? w->shown : w->began);
    if (!w->config->progress || since < (is_terminal ? SHOW_MS : SAY_MS)) return;
    w->shown = now;
    unsigned long long done = t->done, all = t->all > done ? t->all : done;
    fprintf(stderr, "%s%s: %llu of %llu, %.0f s%s%s", is_terminal ? "\r\033[K" : "", w->name, done,
            all, (double)(now - w->began) / 1000, t->failed ? ", some have failed" : "",
            is_terminal ? "" : "\n");
    fflush(stderr);
}

/* Waits until the part's process has ended, which is asked to if the proof is to stop, and killed
 * if that takes long or it makes no progress. */
static void watch(Watched *w) {
    const ProveConfig *c = w->config;
    int64_t stall_ms = (c->stall_s ? c->stall_s : STALL_S) * INT64_C(1000), asked = 0;
    for (;;) {
        int64_t now = now_ms();
        pid_t ended = waitpid(w->pid, &w->status, WNOHANG);
        if (ended == w->pid || (ended < 0 && errno != EINTR)) return;
        if (w->tally->done != w->done) w->done = w->tally->done, w->moved = now;
        if (c->stop && *c->stop && !asked) {
            w->is_stopped = w->tally->stop = true;
            asked = now;
        }
        w->is_stalled = !asked && now - w->moved > stall_ms;
        if (w->is_stalled || (asked && now - asked > END_MS)) {
            kill(w->pid, SIGKILL);
            while (waitpid(w->pid, &w->status, 0) < 0 && errno == EINTR) {}
            return;
        }
        show(w, now);
        sleep_ms(LOOK_MS);
    }
}

/* A process that did not end by itself in good order is a failure of what it was at. */
static void judge(Watched *w) {
    Part p = {.config = w->config, .tally = w->tally};
    if (w->is_stopped) return;
    if (w->is_stalled)
        part_fail(&p, "no progress for %d s", w->config->stall_s ? w->config->stall_s : STALL_S);
    else if (WIFSIGNALED(w->status))
        part_fail(&p, "the process ended by signal %d (%s)", WTERMSIG(w->status),
                  strsignal(WTERMSIG(w->status)));
    else if (WEXITSTATUS(w->status))
        part_fail(&p, "the process ended with code %d", WEXITSTATUS(w->status));
    else if (!w->tally->is_finished && !w->tally->failed)
        part_fail(&p, "the part did not come to its end");
}

static void print_failures(FILE *out, const Tally *t) {
    for (uint64_t k = 0; k < t->failed && k < TALLY_FAILURES; k++) {
        fputs("             ", out);
        for (const char *p = t->failure[k]; *p; p++) fputc(*p >= 0 && *p < ' ' ? '?' : *p, out);
        fputc('\n', out);
    }
    if (t->failed > TALLY_FAILURES)
        fprintf(out, "             ... and %llu more\n",
                (unsigned long long)t->failed - TALLY_FAILURES);
}

static void report(FILE *out, const Watched *w) {
    const Tally *t = w->tally;
    const char *word = w->is_stopped    ? "stopped"
                       : t->failed      ? "FAILED"
                       : t->is_left_out ? "-"
                                        : "passed";
    fprintf(out, "%-12s %-8s", w->name, word);
    if (t->failed)
        fprintf(out, "%llu failure%s; ", (unsigned long long)t->failed, t->failed > 1 ? "s" : "");
    fputs(t->what[0] ? t->what : "it did not come to its end", out);
    if (t->share > 0)
        fprintf(out, "; worst %.0f %% of the tolerance (%s)", 100 * t->share, t->share_of);
    fprintf(out, ", %.1f s\n", (double)(now_ms() - w->began) / 1000);
    print_failures(out, t);
    fflush(out);
}

static void *shared_memory(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) panic("no memory for %zu bytes", bytes);
    return p;
}

/* Returns how the part ended. */
static ProveEnd prove_part(const ProveConfig *config, int k, FILE *out) {
    Tally *t = shared_memory(sizeof *t);
    Watched w = {.config = config, .name = parts[k].name, .tally = t};
    w.began = w.moved = now_ms();
    if (config->progress == PROGRESS_LINES)
        fprintf(stderr, "%s: part %d of %d begins\n", w.name, k + 1, PARTS);
    fflush(NULL);
    w.pid = fork();
    if (w.pid == 0) run_part(config, k, t);
    if (w.pid < 0) {
        Part p = {.config = config, .tally = t};
        part_fail(&p, "no process for it: %s", strerror(errno));
    } else {
        watch(&w);
        judge(&w);
    }
    clear_line(&w);
    report(out, &w);
    ProveEnd end = w.is_stopped ? PROVE_STOPPED : t->failed ? PROVE_FAILED : PROVE_PASSED;
    munmap(t, sizeof *t);
    return end;
}

typedef struct Identity {
    bool is_known;
    EngineDevice device;
    Err err;
} Identity;

bool prove_identify(const ProveConfig *config, EngineDevice *out, Err *err) {
    const EngineOps *ops = config->ops;
    int status;
    *out = (EngineDevice){0};
    if (!ops->identify) return true;
    Identity *i = shared_memory(sizeof *i);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        i->is_known = ops->identify(&(EngineConfig){.device = config->device, .is_exact = true},
                                    &i->device, &i->err);
        _exit(0);
    }
    if (pid < 0) err_set(&i->err, ERR_IO, "no process: %s", strerror(errno));
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (!i->is_known && !i->err.code)
        err_set(&i->err, ERR_IO, "the process that looks for a device has died");
    *out = i->device;
    if (err) *err = i->err;
    bool is_known = i->is_known;
    munmap(i, sizeof *i);
    return is_known;
}

bool prove_has_room(const ProveConfig *config, Err *err) {
    EngineConfig one = {.memory_bytes = config->memory_bytes ? config->memory_bytes : MEMORY,
                        .device = config->device,
                        .threads = 1};
    int status;
    if (!config->ops->identify) return true;
    Err *why = shared_memory(sizeof *why);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) { /* a process that hangs or crashes says nothing: the parts will report it */
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm((unsigned)(config->stall_s ? config->stall_s : STALL_S));
        Engine *e = config->ops->open(&one, why);
        if (e) config->ops->close(&e);
        _exit(EXIT_SUCCESS);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    bool has_room = why->code != ERR_MEMORY;
    if (!has_room && err) {
        *err = *why;
        if (!config->memory_bytes)
            err_hint(err, "a proof needs that much; nvidia-smi lists what else uses the device");
    }
    munmap(why, sizeof *why);
    return has_room;
}

ProveEnd prove_run(const ProveConfig *given) {
    ProveConfig config = *given;
    ProveEnd end = PROVE_PASSED;
    if (!config.memory_bytes) config.memory_bytes = MEMORY;
    if (!config.threads) config.threads = 1;
    if (!config.seed) config.seed = 1;
    for (int k = 0; k < PARTS; k++) {
        if (config.only && strcmp(config.only, parts[k].name)) continue;
        ProveEnd one = prove_part(&config, k, config.out ? config.out : stdout);
        if (one == PROVE_STOPPED) return one;
        if (one == PROVE_FAILED) end = one;
    }
    return end;
}
