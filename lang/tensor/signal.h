/* signal.h: named scopes of the running program, and what is known of their configuration. Scopes
 * tag the instructions between enter and exit; leaving by return, break or error closes what was
 * opened; innermost wins. What a scope does is the dispatcher's business: the client checks names,
 * says what the program and its files define, and knows under which signal gradients run. Without
 * a configuration all of this changes nothing.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TENSOR_SIGNAL_H
#define GT_LANG_TENSOR_SIGNAL_H
#include "lang/value/interp.h"
#include "runtime/layout/config.h"

/* backward "": what the configuration says, else the scope itself. The names are checked against
 * the configuration: a warning, once for each, or with --strict an error. */
bool signal_enter(Interp *in, const char *label, size_t n, const char *backward, size_t n_backward,
                  LangError *e);
/* The same for a label that was checked before, interned; backward NULL: none given. */
bool signal_open(Interp *in, const char *label, const char *backward, LangError *e);
/* label "" exits the innermost */
bool signal_exit(Interp *in, const char *label, size_t n, LangError *e);
int signal_depth(const Interp *in);
void signal_unwind(Interp *in, int depth); /* after errors: closes scopes above depth */
/* An imported file has run: scopes above depth that it left open end with it, which is said. */
void signal_warn_open(Interp *in, int depth);
/* A tensor of so many axes was made: when a scope closes whose axis none of its tensors had, that
 * is told, once. */
void signal_made(Interp *in, int rank);
/* The backward scope of what is recorded now: an interned number (0 = none) and its label. */
uint32_t signal_backward(const Interp *in);
const char *signal_label(const Interp *in, uint32_t number);
/* A copy of x elsewhere: an instruction with the operand's value as its result, laid out as the
 * signal `name` says. Its gradient is such a copy too, where a backward signal is given (back; or
 * NULL) or configured. *out is a new reference. */
bool signal_tensor(Interp *in, Tensor *x, const Str *name, const Str *back, Tensor **out,
                   LangError *e);
void signal_fini(Interp *in);

/* ---- signal_config.c ---- */

/* Reads a YAML file, adds what it says, and tells the stream. false: e has the place in the file,
 * and nothing of it counts. */
bool signal_load(Interp *in, const char *path, LangError *e);
/* Adds what the program says about signals at its present line, and tells the stream. */
bool signal_add(Interp *in, const Config *news, Err *err);
/* A failure that speaks of a signal gets the place in a file that asked for it. An explain of
 * StreamConfig; interp is an Interp. */
void signal_explain(void *interp, LangError *e);
/* GT_AUTO_SHARD=1: large tensors born where no signal speaks are split over all workers. */
void signal_auto_shard(Interp *in);
/* Is the name configured? If not, and there is a configuration: warns at the running expression
 * (once per name), or fails with --strict. by: whose configuration names it as its backward signal,
 * or NULL. What a dispatcher's daemon was configured with is not known here. */
bool signal_check(Interp *in, const char *interned, const char *by, LangError *e);

typedef struct Signals {
    struct Scope {
        const char *label;
        uint32_t backward;
        Span at;      /* where it was entered                         */
        int max_rank; /* most axes of a tensor that was made in it     */
    } * scope;
    int depth, cap;
    const char **label;
    uint32_t n_labels, cap_labels; /* number - 1 -> interned label */
    Map number;                    /* interned label -> number     */
    Config config;
    const Source **source; /* the files that were read, in order */
    size_t n_sources;
    const char *file; /* interned: of the configuration, when there is one only; else NULL */
    bool has_config;  /* something was loaded or defined */
    Map checked;      /* interned labels of which nothing more will be said */
    Map axis_told;    /* ... of whose axis */
} Signals;
Signals *signal_state(Interp *in);
#endif
