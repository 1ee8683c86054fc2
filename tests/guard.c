/* guard.c: a process between the runner and one test. It is the subreaper of every process that the
 * test starts, daemons in sessions of their own included. So it can sum up their CPU time, and it
 * ends those that are left when the test has ended or is stopped, or when the runner is gone.
 * SPDX-License-Identifier: MIT */
#include "tests/guard.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_DEPTH = 64 };

/* ---- The processes below a process ---- */

/* Calls each(child, arg) for every child of a process. Returns false if the system does not list
 * them. */
static bool for_children(pid_t parent, void (*each)(pid_t, void *), void *arg) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/task", (long)parent);
    DIR *tasks = opendir(path);
    bool is_known = false;
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        if (e->d_name[0] == '.') continue;
        char name[350];
        snprintf(name, sizeof name, "%s/%.200s/children", path, e->d_name);
        FILE *f = fopen(name, "r");
        long child;
        while (f && fscanf(f, "%ld", &child) == 1) each((pid_t)child, arg);
        is_known |= f != NULL;
        if (f) fclose(f);
    }
    if (tasks) closedir(tasks);
    return is_known;
}

typedef struct Sum {
    double ticks;
    int depth;
} Sum;

/* Its own CPU time, that of its ended children, and, recursively, that of its living ones. */
static void add_cpu(pid_t pid, void *arg) {
    Sum *sum = arg;
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *f = fopen(path, "r");
    if (!f) return;
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = 0;
    const char *after_name = strrchr(line, ')');
    unsigned long user, system, ended_user, ended_system;
    if (after_name &&
        sscanf(after_name, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &user,
               &system, &ended_user, &ended_system) == 4)
        sum->ticks += (double)(user + system + ended_user + ended_system);
    if (sum->depth == MAX_DEPTH) return;
    sum->depth++;
    for_children(pid, add_cpu, sum);
    sum->depth--;
}

static void ignore(pid_t pid, void *arg) { (void)pid, (void)arg; }

double guard_cpu_s(const Guard *g) {
    if (!for_children(g->pid, ignore, NULL)) return -1;
    Sum sum = {0};
    add_cpu(g->pid, &sum);
    return sum.ticks / (double)sysconf(_SC_CLK_TCK);
}

/* ---- The guard ---- */

static void count(pid_t pid, void *arg) {
    (void)pid;
    ++*(int *)arg;
}

static void end_it(pid_t pid, void *arg) {
    (void)arg;
    kill(pid, SIGKILL);
}

static int count_children(void) {
    int n = 0;
    while (waitpid(-1, NULL, WNOHANG) > 0) {}
    for_children(getpid(), count, &n);
    return n;
}

/* Reaps ended children. Returns how many are left. */
static int await_rest(double limit_s) {
    int n = count_children();
    for (double waited_s = 0; n && waited_s < limit_s; waited_s += 0.01) {
        nanosleep(&(struct timespec){0, 10 * 1000 * 1000}, NULL);
        n = count_children();
    }
    return n;
}

/* Orphans become children of this process, so repeated passes end all of them. */
static void end_all(pid_t group) {
    kill(-group, SIGKILL);
    while (count_children()) {
        for_children(getpid(), end_it, NULL);
        waitpid(-1, NULL, 0);
    }
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) {}
}

static _Noreturn void guard(pid_t runner, int report, double rest_s, void (*run)(const void *),
                            const void *arg) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT); /* the runner handles the terminal's signals */
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != runner) _exit(1);
    pid_t test = fork();
    if (test < 0) _exit(1);
    if (test == 0) {
        setpgid(0, 0);
        close(report);
        /* Also under nohup: every child process inherits ignored signals. */
        for (int sig = 1; sig < SIGRTMIN; sig++) signal(sig, SIG_DFL);
        sigemptyset(&set);
        sigprocmask(SIG_SETMASK, &set, NULL);
        run(arg);
        _exit(126);
    }
    setpgid(test, test);
    GuardReport r = {0};
    bool is_stopped = false, is_ended = false;
    while (!is_stopped && !is_ended) {
        int status, sig = 0;
        pid_t pid;
        while (!is_ended && (pid = waitpid(-1, &status, WNOHANG)) > 0)
            if ((is_ended = pid == test)) r.status = status;
        if (!is_ended && sigwait(&set, &sig) == 0) is_stopped = sig == SIGTERM;
    }
    if (is_ended) r.n_left = await_rest(rest_s);
    end_all(test);
    struct rusage use;
    getrusage(RUSAGE_CHILDREN, &use);
    r.cpu_s = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
              (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
    if (is_stopped) r.status = SIGKILL;
    _exit(write(report, &r, sizeof r) != sizeof r);
}

bool guard_start(Guard *g, double rest_s, void (*run)(const void *), const void *arg) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    pid_t runner = getpid();
    g->pid = fork();
    if (g->pid == 0) {
        close(ends[0]);
        guard(runner, ends[1], rest_s, run, arg);
    }
    close(ends[1]);
    g->report = ends[0];
    if (g->pid > 0) return true;
    close(ends[0]);
    return false;
}

void guard_stop(const Guard *g) { kill(g->pid, SIGTERM); }

bool guard_ended(Guard *g, GuardReport *r) {
    int status;
    if (waitpid(g->pid, &status, WNOHANG) != g->pid) return false;
    if (read(g->report, r, sizeof *r) != sizeof *r) *r = (GuardReport){.status = SIGKILL};
    close(g->report);
    *g = (Guard){0};
    return true;
}
