/* repl.h: the prompt (LANGUAGE 1.1): lines by readline, statements run as soon as they are
 * complete. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPL_H
#define GT_LANG_SHELL_REPL_H
#include "lang/value/interp.h"

typedef struct ReplConfig {
    bool quiet, norc;
    bool was_interrupted; /* the program before it: its work may still be going on */
    const char *debug;
} ReplConfig;

/* Until end of input, :q or exit(n). Returns the exit code. */
int repl_run(Interp *in, const ReplConfig *config);
/* An interrupt: what was to be printed and has not been yet never is, and progress lines stay as
 * they are; all else goes on. How many prints those are. */
size_t repl_hush(Interp *in);
/* What main does with every error and warning, too: prints it to standard error, after what
 * standard output still holds. */
void repl_report(Interp *in, const LangError *e, const char *severity);
void repl_warn(void *interp, const LangError *w); /* a WarnFn */
/* Prints what --debug asks for: the tokens of src, the tree of p. */
void repl_debug(const char *letters, const Source *src, const Program *p);
#endif
