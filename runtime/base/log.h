/* log.h: log lines on standard error, switched on by --debug=LETTERS, GT_DEBUG, or the
 * original's variables GT_VERBOSE, GT_DEBUG_CLIENT, _DISPATCHER, _WORKER, _COMPILE (env.h). One
 * line per fact, after the name of the process that logs it. Switched off, logging costs a load
 * and a branch.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_LOG_H
#define GT_RUNTIME_BASE_LOG_H
#include "runtime/base/buf.h"

enum {
    LOG_CLIENT = 1,     /* instructions, as the client emits them */
    LOG_DISPATCHER = 2, /* ... as the dispatcher reads them */
    LOG_WORKER = 4,     /* ... as a worker starts them; i is all three */
    LOG_COMPILE = 8,    /* kernels: k */
    LOG_VERBOSE = 16,   /* peers that come and go: s */
    LOG_WIRE = 32,      /* frames: w */
    LOG_TAPE = 64,      /* the walk of a backward: g */
    LOG_MEMORY = 128    /* objects left at the end: m */
};

/* The process's only mutable global apart from the interner: set by main before it starts
 * threads, and by :log of the prompt; read by all. */
extern unsigned log_on;
static inline bool log_is(unsigned what) {
    return __builtin_expect((__atomic_load_n(&log_on, __ATOMIC_RELAXED) & what) != 0, 0);
}

void log_environment(void);            /* adds those that the variables name */
void log_letters(const char *letters); /* adds those of i g w s k m */
void log_set(const char *letters);     /* turns these on and all others off; threads may run */
/* Writes "[STAGE] text\n" in one write. */
void log_line(const char *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));
#endif
