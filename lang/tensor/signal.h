/* signal.h: named scopes of the running program, and the client's copy of their configuration. A
 * scope tags the instructions between enter and exit. Leaving a block by return, break or error
 * closes the scopes opened in it; the innermost scope applies. The dispatcher decides what a scope
 * does. The client checks names, sends what the program and its files define, and knows under which
 * signal gradients run. Without a configuration scopes change nothing.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TENSOR_SIGNAL_H
#define GT_LANG_TENSOR_SIGNAL_H
#include "lang/value/interp.h"
#include "runtime/layout/config.h"

/* Enters a scope. backward "": from the configuration, else the scope itself. Unknown names give a
 * warning, once each, or with --strict an error. */
bool signal_enter(Interp *in, const char *label, size_t n, const char *backward, size_t n_backward,
                  LangError *e);
/* As signal_enter, for interned labels already checked. backward NULL: none given. */
bool signal_open(Interp *in, const char *label, const char *backward, LangError *e);
/* label "": the innermost */
bool signal_exit(Interp *in, const char *label, size_t n, LangError *e);
int signal_depth(const Interp *in);
const char *signal_innermost(const Interp *in); /* label of the innermost open scope, or NULL */
void signal_unwind(Interp *in, int depth);      /* after errors: closes scopes above depth */
/* An imported file has run: closes the scopes above depth that it left open, with a warning. */
void signal_warn_open(Interp *in, int depth);
/* Notes that a tensor of this rank was made. When a scope closes in which no tensor had the axis
 * that the scope splits, a warning says so, once per signal. */
void signal_made(Interp *in, int rank);
/* The backward scope of what is recorded now: an interned number (0: none), and its label. */
uint32_t signal_backward(const Interp *in);
const char *signal_label(const Interp *in, uint32_t number);
/* A copy of x in the layout of signal `name`: an instruction whose result equals its operand. Its
 * gradient is a copy under the backward signal, if one is given (back, may be NULL) or configured.
 * *out is a new reference. */
bool signal_tensor(Interp *in, Tensor *x, const Str *name, const Str *back, Tensor **out,
                   LangError *e);
void signal_fini(Interp *in);

/* ---- signal_config.c ---- */

/* Reads a YAML file, adds its signals and sends them. On failure e has the position in the file,
 * and nothing is added. */
bool signal_load(Interp *in, const char *path, LangError *e);
/* Adds the signals that the program defines at its current line, and sends them. */
bool signal_add(Interp *in, const Config *added, Err *err);
/* Adds the signal's position in its configuration file to an error about the signal. An explain
 * function of StreamConfig; interp is an Interp. */
void signal_explain(void *interp, LangError *e);
/* GT_AUTO_SHARD=1: splits large new tensors without a signal over all workers. */
void signal_auto_shard(Interp *in);
/* Checks a name against the configuration, if there is one. An unknown name gives a warning at the
 * running expression (once per name); with --strict it is an error. by: the signal whose
 * configuration names it as backward signal, or NULL. The configuration of a running dispatcher is
 * not known here. */
bool signal_check(Interp *in, const char *interned, const char *by, LangError *e);

typedef struct Signals {
    struct Scope {
        const char *label;
        uint32_t backward;
        Span at;      /* where it was entered */
        int max_rank; /* highest rank of a tensor made in it */
    } * scope;
    int depth, cap;
    const char **label;
    uint32_t n_labels, cap_labels; /* number - 1 -> interned label */
    Map number;                    /* interned label -> number */
    Config config;
    const Source **source; /* the files read, in order */
    size_t n_sources;
    const char *file;  /* interned name of the only configuration file, else NULL */
    bool has_config;   /* something was loaded or defined */
    Map checked;       /* interned labels already checked */
    Map axis_reported; /* labels whose axis was already checked */
} Signals;
Signals *signal_state(Interp *in);
#endif
