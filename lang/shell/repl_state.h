/* repl_state.h: the state of the prompt, for the files of the prompt only.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPL_STATE_H
#define GT_LANG_SHELL_REPL_STATE_H
#include "lang/shell/repl.h"
#include "lang/shell/repl_lost.h"
#include "lang/shell/repl_skip.h"

typedef struct Repl {
    Interp *in;
    const ReplConfig *config;
    bool is_terminal; /* true: readline; false: plain lines */
    Bytes statement;  /* lines of the statement being typed */
    Bytes pasted;     /* lines not yet fed */
    char open_with;
    Skip skip;          /* a refused block, whose rest is skipped */
    bool is_open;       /* the statement is incomplete; selects the prompt */
    uint32_t line;      /* number of the first line of `statement` */
    Lost *lost;         /* what a cancel lost, until all answers have arrived */
    uint64_t behind;    /* instructions before this one run behind the prompt, if not done yet */
    bool is_dropped;    /* they were cancelled, and the answer has not come */
    bool has_told_wait; /* the running statement has said that it waits for them */
    char *history;      /* path, or NULL */
    char *place;        /* of the dispatcher, as it was given, or NULL; owned */
    int exit_code;
    bool is_done;
} Repl;
#endif
