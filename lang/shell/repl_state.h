/* repl_state.h: the state of the prompt, for the files of the prompt only.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPL_STATE_H
#define GT_LANG_SHELL_REPL_STATE_H
#include "lang/shell/repl.h"
#include "lang/shell/repl_lost.h"
#include "lang/shell/repl_skip.h"

typedef struct Typed {
    char *text;    /* ends with a newline */
    char *comment; /* lines of comment before it: of a file, how it ran; or NULL */
    bool is_value; /* one expression with a value, */
    bool is_shown; /* which was shown: no semicolon */
} Typed;

enum { DEBUG_LETTERS = 16 };

typedef struct Repl {
    Interp *in;
    const ReplConfig *config;
    bool is_terminal; /* true: readline; false: plain lines */
    Bytes statement;  /* lines of the statement being typed */
    Bytes probe;      /* what decides whether the statement is open: parse_open_text */
    Bytes pasted;     /* from pasted_at on, lines not yet fed */
    size_t pasted_at;
    char open_with;
    Skip skip;           /* a refused block, whose rest is skipped */
    bool is_open;        /* the statement is incomplete; selects the prompt */
    uint32_t line;       /* number of the first line of `statement` */
    Lost *lost;          /* what a cancel lost, until all answers have arrived */
    uint64_t behind;     /* instructions before this one run behind the prompt, if not done yet */
    bool is_dropped;     /* they were cancelled, and the answer has not come */
    bool has_told_wait;  /* the running statement has said that it waits for them */
    char *history;       /* path, or NULL */
    char *place;         /* of the dispatcher, as it was given, or NULL; owned */
    struct Typed *typed; /* statements that succeeded, for :save */
    size_t n_typed;
    char *last;      /* the last statement, for :edit, or NULL */
    char *last_file; /* of the last :run, :load or :edit, or NULL */
    char **argv,
        **next_argv; /* of the last :run and of one that begins: owned, up to NULL, or NULL */
    char debug[DEBUG_LETTERS]; /* letters of --debug and :log */
    bool is_timed;             /* :time on */
    bool wants_cancel;         /* Ctrl-C came twice while the last statement ran */
    bool has_if;               /* the last statement was an if without else: one may follow */
    bool is_else;   /* `statement` is such an else, behind a line that stands for the if */
    bool has_asked; /* Ctrl-D was answered by a question */
    int exit_code;
    bool is_done;
} Repl;

/* How repl_source runs a text. */
enum {
    RUN_ECHO = 1, /* values of expressions are shown */
    RUN_KEEP = 2, /* :save has it if it succeeds */
    RUN_ARGS = 4, /* with r->argv as its arguments */
    RUN_FILE = 8  /* it is a file, named in its source */
};
/* Runs one complete text; its output and failures are shown before it returns. False if it
 * failed. */
bool repl_source(Repl *r, Source *src, unsigned how);
#endif
