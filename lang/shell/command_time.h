/* command_time.h: `:time`, and the time of each statement.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_COMMAND_TIME_H
#define GT_LANG_SHELL_COMMAND_TIME_H
#include "lang/shell/repl_state.h"

/* The clocks at the beginning of a statement. */
typedef struct Timing {
    bool is_begun;
    int64_t wall_ns, client_ns, worker_us;
    uint64_t instructions;
} Timing;

/* :time EXPR, :time on, :time off; alone: says which. Prints the times of EXPR to standard
 * output. */
void command_time(Repl *r, const char *rest);
/* Waits for all earlier work, then reads the clocks. */
void timing_begin(Repl *r, Timing *t);
/* Prints the line of :time on to standard error. The statement's work is done. */
void timing_print(Repl *r, const Timing *t);
#endif
