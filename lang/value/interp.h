/* interp.h: the interpreter: one state struct for everything a running program has, passed first
 * to every function. eval.c walks trees; call.c binds arguments; builtin.c offers functions;
 * tensor.c, grad.c and stream.c turn tensor expressions into instructions.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_VALUE_INTERP_H
#define GT_LANG_VALUE_INTERP_H
#include "lang/stream/stream.h"
#include "lang/value/value.h"

typedef struct InterpConfig {
    StreamConfig stream; /* how instructions leave: live, emit, check ...          */
    int argc;
    char **argv; /* the script's arguments                                 */
    uint64_t seed;
    bool interactive; /* at the prompt: backward waits, statements echo          */
    bool strict, color_out, color_err;
    const char *log_dir; /* --log-dir: metrics.csv goes there; NULL: nowhere        */
    int width;           /* columns for printing tensors; 80 off a terminal         */
} InterpConfig;

struct Interp {
    InterpConfig config;
    Stream *stream;
    const Node *at; /* the expression being evaluated: position of instructions and of errors */
    int no_grad_depth;
    const Handle *keep; /* p op= e: whose place the result takes, or NULL (tensor_op) */
    int call_depth;
    struct Frame *frame;        /* eval.h: the running call                                  */
    struct Stack *stack;        /* eval.h: locals and arguments of all calls                 */
    MapV *spread;               /* f(**m): keys and values of the call that binds now        */
    char *stack_end;            /* C stack: calls stop with an error before it               */
    struct Traces *traces;      /* trace.c                                                   */
    struct Signals *signals;    /* signal.c                                                  */
    struct Progress *progress;  /* progress.c                                                */
    struct Tape *tape;          /* grad.c: list of live nodes, for debug.tape only          */
    struct Globals *globals;    /* of the running file                                      */
    struct Modules *modules;    /* imported files by path, prelude included; sources, programs */
    struct Args *args;          /* arg(): declared options and what the command line gave   */
    struct PrintOptions *print; /* set_print; NULL: as it comes */
    uint64_t seed, rng_counter, host_rng_counter;
    DType float_dtype; /* set_default_dtype: of floats whose dtype nobody gives; DT_F32 at first */
    /* warnings about dead statements, printed when their statement has run (import.c) */
    LangError *dead_warning;
    size_t n_dead_warnings;
    Span *warned;
    size_t n_warned;       /* where warn() has spoken */
    LangError *last_error; /* that was reported, for :where; NULL: none */
    Container containers;  /* list head of cycle candidates                            */
    /* value.c: containers whose last reference went, not yet freed */
    Container *dead;
    bool is_freeing;
    size_t n_containers, collect_at;
    Value ans;
};

Interp *interp_new(const InterpConfig *config, LangError *e);
void interp_free(Interp **in);
/* Copies a text into the interpreter's table of sources, where it stays (spans point into it). */
Source *interp_source(Interp *in, const char *name, const char *text, size_t n, uint32_t first_line,
                      bool is_prelude);
/* Runs one source at file level in the started file's globals; at the prompt (echo) expression
 * statements print. Consumes p: functions point into it, so it lives as long as the interpreter.
 * false: e is set, and every local of the failed statement has been dropped. */
bool interp_run(Interp *in, Program *p, bool echo, LangError *e);
/* positional */
bool interp_call(Interp *in, Value f, const Value *arg, int n_args, Value *out, LangError *e);
/* where the user's program is now; prelude frames fold into the caller */
Span interp_span(const Interp *in);
void interp_warn(Interp *in, const LangError *w); /* prints a warning */
/* The same, once for each place in the program. */
void interp_warn_once(Interp *in, const LangError *w);
void interp_warn_ctx(void *interp, const LangError *w); /* the same as a WarnFn for parse_program */
/* A WarnFn for the started script: what a statement does not use is told once it has run, for an
 * error in it is the better news; other warnings at once. */
void interp_warn_late(void *interp, const LangError *w);
/* Prints those kept for text before `next` (NULL: all that is left). */
void interp_warn_until(Interp *in, const Node *next);

/* Names at file level, for completion and :who: i-th in order of definition, builtins not among
 * them; false at the end. */
bool interp_global(Interp *in, size_t i, const char **name, Value *v);

/* ---- builtins ---- */

/* A builtin gets its parameters in the order of its signature, defaults filled in; borrowed.
 * *out is a new reference. V_NONE for an optional parameter that was not given and whose default
 * is none. */
typedef bool (*BuiltinFn)(Interp *in, const Value *arg, Value *out, LangError *e);
struct Builtin {
    const char *name;
    /* "x, axis=none, keepdims=false"; "*shape, dtype=float32": star collects into a list */
    const char *signature;
    BuiltinFn fn;
    const char *doc;
    uint32_t kinds; /* method for these kinds: bit V_TENSOR, V_STR, ...; 0: function only */
    uint32_t facts; /* BI_xxx */
};
enum {
    BI_PURE = 1, /* gives its result and does nothing else: as a statement most likely a mistake */
    BI_METHOD = 2, /* a method only: as a bare name it would hide mistakes, or is something else */
    BI_TWIN = 4    /* hands over to the tensor function of its name if the first argument is one */
};
#endif
