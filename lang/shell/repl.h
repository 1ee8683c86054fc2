/* repl.h: the prompt: reads lines by readline and runs statements as soon as they
 * are complete.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPL_H
#define GT_LANG_SHELL_REPL_H
#include "lang/value/interp.h"

typedef struct ReplConfig {
    bool quiet, norc;
    bool was_interrupted; /* the program before the prompt was; its instructions may be pending */
    const char *debug;
    const char *dispatcher; /* as the command line gives it, or NULL */
    /* For :run. begin_args makes argv, borrowed until the next call, the arguments of program p;
     * false with e of kind E_NONE: p was only asked for its options. end_args fails if p has not
     * read an option. */
    bool (*begin_args)(void *host, const Program *p, int argc, char **argv, LangError *e);
    bool (*end_args)(void *host, const char *name, LangError *e);
    void *host;
} ReplConfig;

/* Runs until the end of input, :q or exit(n). Returns the exit code. */
int repl_run(Interp *in, const ReplConfig *config);
/* Gives the terminal its mode back if a line is being typed; for handlers of signals that end the
 * process. */
void repl_restore_terminal(void);
/* After an interrupt: drops pending prints and freezes the progress lines; all else continues.
 * Returns the number of prints dropped. */
size_t repl_hush(Interp *in);
/* Prints an error or warning to standard error, after flushing standard output. main reports by it,
 * too. */
void repl_report(Interp *in, const LangError *e, const char *severity);
void repl_warn(void *interp, const LangError *w); /* a WarnFn */
/* Prints what the letters of --debug select: the tokens of src, the tree p. */
void repl_debug(const char *letters, const Source *src, const Program *p);
#endif
