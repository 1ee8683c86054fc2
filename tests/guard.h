/* guard.h: runs one test so that its CPU time is known and nothing of it outlives it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_GUARD_H
#define GT_TESTS_GUARD_H
#include <stdbool.h>
#include <sys/types.h>

typedef struct Guard {
    pid_t pid; /* of the guard, whose child the test is; 0: none runs */
    int report;
} Guard;

typedef struct GuardReport {
    int status;   /* of the test, as waitpid() gives it */
    double cpu_s; /* of the test and all that it started, user and system */
    int n_left;   /* processes that it left running: ended now */
} GuardReport;

/* Forks a guard, and beneath it a process of an own group that calls run(arg), which never returns.
 * What the test leaves running may take rest_s seconds to end by itself. Everything is ended when
 * the caller ends. False: no process could be made. */
bool guard_start(Guard *g, double rest_s, void (*run)(const void *), const void *arg);
/* CPU seconds so far of the test and everything beneath it; negative: the system does not say. */
double guard_cpu_s(const Guard *g);
/* Ends the test and everything beneath it; guard_ended() is true soon after. */
void guard_stop(const Guard *g);
/* True once the test and everything beneath it are gone; then *r is filled in and g is free. Does
 * not wait. */
bool guard_ended(Guard *g, GuardReport *r);
#endif
