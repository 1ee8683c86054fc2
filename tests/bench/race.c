/* race: workloads by several programs in one run, alternating, so that all run under the same
 * conditions.
 *
 * Each racer is a process that reads lines "WAY NAME SECONDS" and answers each with the seconds
 * that one round of the workload took ("-": it has none), measured over about so many. While one
 * works the others sleep. After a first request, in which it may compile and warm up, every way of
 * a workload is requested once per round, in rotating order. Printed are its median, and the median
 * over the rounds of its ratio to gtsh in the same round.
 *
 * Output, a line for each: race THREADS NAME WAY SECONDS RATIO, and one for PyTorch's version.
 * Usage: race [-c] [-b BUILD] [-p PYTHON] [-t THREADS] [-r ROUNDS] [-s SECONDS] NAME ... PYTHON "":
 * without PyTorch and NumPy. -c: CPU time, of all threads of a racer, in place of wall time: for a
 * busy machine.
 * SPDX-License-Identifier: MIT */
#include <poll.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MAX = 101, FIRST_MS = 180000, NEXT_MS = 60000 };
/* The pause before each turn. Threads of OpenBLAS keep a core busy for some 110 ms after work. */
static int rest_ms = 4;
enum { THREADS_REST_MS = 150 };

typedef struct Racer {
    pid_t pid;
    int to, from;
} Racer;
enum { GTSH, PYTHON, FLOOR, RACERS };
static Racer racer[RACERS];
static bool by_cpu;

static const struct {
    const char *name;
    int racer;
} ways[] = {{"gtsh", GTSH},      {"eager", PYTHON}, {"numpy", PYTHON}, {"compile", PYTHON},
            {"foreach", PYTHON}, {"fused", PYTHON}, {"floor", FLOOR}};
enum { WAYS = sizeof ways / sizeof *ways };

static void start(Racer *r, char *const argv[]) {
    int in[2], out[2];
    if (pipe(in) || pipe(out)) exit(1);
    r->pid = fork();
    if (!r->pid) {
        dup2(in[0], 0), dup2(out[1], 1);
        for (int fd = 3; fd < 64; fd++) close(fd);
        execvp(argv[0], argv);
        perror(argv[0]);
        _exit(127);
    }
    close(in[0]), close(out[1]);
    r->to = in[1], r->from = out[0];
}
/* It exits after this line, or is ended. */
static void stop(Racer *r) {
    if (!r->pid) return;
    if (write(r->to, "end\n", 4) < 0) kill(r->pid, SIGKILL);
    close(r->to), close(r->from);
    for (int i = 0; i < 300 && waitpid(r->pid, NULL, WNOHANG) == 0; i++) {
        if (i == 200) kill(r->pid, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    *r = (Racer){0};
}
/* Reads a line, without its end; false: none in time, and that racer is dropped. */
static bool listen_to(Racer *r, char *line, size_t size, int timeout_ms) {
    size_t n = 0;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    for (time_t end = t.tv_sec + timeout_ms / 1000; n + 1 < size && t.tv_sec <= end;) {
        struct pollfd p = {.fd = r->from, .events = POLLIN};
        if (poll(&p, 1, 1000) > 0) {
            if (read(r->from, line + n, 1) != 1) break;
            if (line[n] == '\n') {
                line[n] = 0;
                return true;
            }
            n++;
        }
        clock_gettime(CLOCK_MONOTONIC, &t);
    }
    line[n] = 0;
    return false;
}

static double seconds_of(clockid_t id) {
    struct timespec t = {0};
    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Seconds; below 0: it has no such workload. */
static double ask(int way, const char *name, double seconds, bool is_first) {
    Racer *r = &racer[ways[way].racer];
    char line[128];
    if (!r->pid) return -1;
    nanosleep(&(struct timespec){.tv_nsec = rest_ms * 1000000}, NULL);
    clockid_t cpu = CLOCK_MONOTONIC;
    if (by_cpu) clock_getcpuclockid(r->pid, &cpu);
    double begin = seconds_of(CLOCK_MONOTONIC), cpu_begin = seconds_of(cpu);
    snprintf(line, sizeof line, "%s %s %g\n", ways[way].name, name, seconds);
    if (write(r->to, line, strlen(line)) < 0 ||
        !listen_to(r, line, sizeof line, is_first ? FIRST_MS : NEXT_MS)) {
        fprintf(stderr, "race: %s: no answer to %s\n", ways[way].name, name);
        kill(r->pid, SIGKILL);
        stop(r);
        return -1;
    }
    if (*line == '-') return -1;
    double share = (seconds_of(cpu) - cpu_begin) / (seconds_of(CLOCK_MONOTONIC) - begin);
    return by_cpu ? share * atof(line) : atof(line);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_size);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void race(const char *name, int threads, int rounds, double seconds) {
    static double took[WAYS][ROUNDS_MAX];
    double v[ROUNDS_MAX];
    bool has[WAYS];
    for (int w = 0; w < WAYS; w++) has[w] = ask(w, name, seconds, true) > 0;
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < WAYS; i++) {
            int w = r % 2 ? WAYS - 1 - i : i;
            if (has[w]) took[w][r] = ask(w, name, seconds, false);
            if (has[w] && took[w][r] <= 0) has[w] = false;
        }
    }
    for (int w = 0; w < WAYS; w++) {
        if (!has[w]) continue;
        memcpy(v, took[w], sizeof v);
        double m = median(v, rounds), ratio = 0;
        for (int r = 0; r < rounds && has[GTSH]; r++) v[r] = took[w][r] / took[GTSH][r];
        if (has[GTSH]) ratio = median(v, rounds);
        printf("race %d %s %s %.9f %.4f\n", threads, name, ways[w].name, m, ratio);
    }
    fflush(stdout);
}

int main(int argc, char **argv) {
    const char *build = "build", *python = "";
    int threads = 1, rounds = 9, option;
    double seconds = 0.06;
    while ((option = getopt(argc, argv, "cb:p:t:r:s:")) != -1) {
        if (option == 'c') by_cpu = true;
        if (option == 'b') build = optarg;
        if (option == 'p') python = optarg;
        if (option == 't') threads = atoi(optarg);
        if (option == 'r') rounds = atoi(optarg);
        if (option == 's') seconds = atof(optarg);
    }
    if (rounds < 1 || rounds > ROUNDS_MAX || threads < 1 || seconds <= 0 || optind >= argc) {
        fprintf(stderr, "usage: race [-c] [-b BUILD] [-p PYTHON] [-t THREADS] [-r ROUNDS] "
                        "[-s SECONDS] NAME ...\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    char gtsh[1024], bare[1024], count[16], line[128];
    snprintf(gtsh, sizeof gtsh, "%s/gtsh", build);
    snprintf(bare, sizeof bare, "%s/bench/floor", build);
    snprintf(count, sizeof count, "%d", threads);
    if (threads > 1) rest_ms = THREADS_REST_MS;
    start(&racer[GTSH], (char *[]){gtsh, "--threads", count, "tests/bench/race.gt", NULL});
    start(&racer[FLOOR], (char *[]){bare, count, NULL});
    if (*python) {
        start(&racer[PYTHON],
              (char *[]){(char *)python, "-W", "ignore", "-B", "tests/bench/race.py", count, NULL});
        if (listen_to(&racer[PYTHON], line, sizeof line, FIRST_MS))
            printf("versions %s\n", line);
        else
            stop(&racer[PYTHON]);
    }
    for (int i = optind; i < argc; i++) race(argv[i], threads, rounds, seconds);
    for (int i = 0; i < RACERS; i++) stop(&racer[i]);
    return 0;
}
