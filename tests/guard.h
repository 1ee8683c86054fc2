/* guard.h: runs one test, measures its CPU time, and ends every process that it leaves.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_GUARD_H
#define GT_TESTS_GUARD_H
#include <stdbool.h>
#include <sys/types.h>

typedef struct Guard {
    pid_t pid; /* the guard's, whose child is the test; 0: none runs */
    int report;
} Guard;

typedef struct GuardReport {
    int status;   /* status of the test, as of waitpid() */
    double cpu_s; /* CPU time of the test and its processes, user and system */
    int n_left;   /* processes that it left running and that were ended */
} GuardReport;

/* Forks a guard, and below it, in a process group of its own, a process that calls run(arg), which
 * never returns. Processes that the test leaves may run for rest_s more seconds. All are ended when
 * the caller ends. Returns false if no process could be made. */
bool guard_start(Guard *g, double rest_s, void (*run)(const void *), const void *arg);
/* CPU seconds so far of the test and its processes; negative: unknown. */
double guard_cpu_s(const Guard *g);
/* Ends the test and its processes; guard_ended() is true soon after. */
void guard_stop(const Guard *g);
/* Returns true once the test and its processes are gone; then *r is filled in and g is free. Does
 * not wait. */
bool guard_ended(Guard *g, GuardReport *r);
#endif
