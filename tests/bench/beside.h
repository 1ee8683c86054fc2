/* beside.h: PyTorch's (or NumPy's) time for a row of rows_bench or a product of products_bench, by
 * tests/bench/rows.py in a process of its own.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_BENCH_BESIDE_H
#define GT_TESTS_BENCH_BESIDE_H
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static FILE *beside_to, *beside_from;
static pid_t beside_pid;
static int beside_rest_ms; /* after an answer */

/* Starts the Python that GT_BENCH_PYTHON names. False: none is named, or it has no PyTorch. */
static inline bool beside_open(int threads, char *version, int size) {
    const char *python = getenv("GT_BENCH_PYTHON");
    int to[2], from[2];
    char count[16];
    beside_rest_ms = threads > 1 ? 150 : 0; /* OpenBLAS's threads keep a core busy for 110 */
    if (!python || !*python || pipe(to) || pipe(from)) return false;
    snprintf(count, sizeof count, "%d", threads);
    signal(SIGPIPE, SIG_IGN);
    beside_pid = fork();
    if (beside_pid == 0) {
        dup2(to[0], 0), dup2(from[1], 1);
        for (int i = 0; i < 2; i++) close(to[i]), close(from[i]);
        execlp(python, python, "-W", "ignore", "-B", "tests/bench/rows.py", count, (char *)NULL);
        _exit(127);
    }
    close(to[0]), close(from[1]);
    beside_to = fdopen(to[1], "w"), beside_from = fdopen(from[0], "r");
    bool has_answered = beside_from && fgets(version, size, beside_from);
    if (has_answered)
        version[strcspn(version, "\n")] = 0;
    else
        beside_to = NULL;
    return has_answered;
}

/* Returns the seconds of its best call; 0: PyTorch has no such row. */
static inline double beside_ask(const char *op, const char *dtype, double seconds,
                                const char *operands, const char *attrs) {
    char line[64];
    if (!beside_to) return 0;
    fprintf(beside_to, "%s %s %g %s|%s\n", op, dtype, seconds, operands, attrs);
    if (fflush(beside_to) || !fgets(line, sizeof line, beside_from)) {
        beside_to = NULL;
        return 0;
    }
    nanosleep(&(struct timespec){.tv_nsec = beside_rest_ms * 1000000}, NULL);
    return *line == '-' ? 0 : atof(line);
}

/* Ends the Python, so that another can be started. */
static inline void beside_close(void) {
    if (beside_to) {
        fclose(beside_to), fclose(beside_from);
        waitpid(beside_pid, NULL, 0);
    }
    beside_to = beside_from = NULL;
}
#endif
