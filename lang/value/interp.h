/* interp.h: the interpreter: the one state struct of a running program, the first argument of every
 * function. eval.c walks the tree, call.c binds arguments, builtin.c looks up builtins; tensor.c,
 * autograd.c and stream.c turn tensor expressions into instructions.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_VALUE_INTERP_H
#define GT_LANG_VALUE_INTERP_H
#include "lang/stream/stream.h"
#include "lang/value/value.h"

/* How the prompt and -p show values: as print does, or for other programs. */
typedef enum OutputForm { OUTPUT_PLAIN, OUTPUT_JSON, OUTPUT_CSV, OUTPUT_NPY } OutputForm;

typedef struct InterpConfig {
    StreamConfig stream; /* where instructions go: live, emit, check ...           */
    int argc;
    char **argv; /* the script's arguments                                 */
    uint64_t seed;
    bool interactive; /* at the prompt: backward waits, expressions echo         */
    bool strict, color_out, color_err;
    const char *log_dir;  /* --log-dir: the directory of metrics.csv, or NULL        */
    int width;            /* columns for printing tensors; 80 off a terminal         */
    int (*columns)(void); /* of the terminal now: interp_width asks; NULL: width stays */
} InterpConfig;

struct Interp {
    InterpConfig config;
    Stream *stream;
    const Node *at; /* the expression being evaluated: position of instructions and of errors */
    int no_grad_depth;
    int call_depth;
    struct Frame *frame;        /* eval.h: the running call                                  */
    struct Stack *stack;        /* eval.h: locals and arguments of all calls                 */
    MapV *spread;               /* f(**m): keys and values, while the call binds its arguments */
    char *stack_end;            /* C stack: calls below this address fail                     */
    struct Traces *traces;      /* trace.c                                                   */
    struct Signals *signals;    /* signal.c                                                  */
    struct Progress *progress;  /* progress.c                                                */
    struct Tape *tape;          /* autograd.c: the graph's live nodes, and the walk over them */
    struct Globals *globals;    /* of the running file                                      */
    struct Modules *modules;    /* imported files by path, prelude included; programs       */
    struct Args *args;          /* arg(): declared options and their command-line values    */
    bool has_read_args;         /* the program has read `args`                               */
    struct PrintOptions *print; /* set_print; NULL: defaults */
    Source **source;            /* all texts: interp_source */
    size_t n_sources;
    /* Functions of folders that the callers may not include: interp_call, object_show and
     * progress_clear (NULL: there is no progress line). */
    bool (*call)(Interp *in, Value f, const Value *arg, int n_args, Value *out, LangError *e);
    bool (*show_object)(Interp *in, Object *o, int indent, Pieces *p, LangError *e);
    void (*clear_line)(Interp *in);
    /* At the prompt: gets the locals, in fn's slots, of the innermost of the user's calls that an
     * error leaves. May be NULL. */
    void (*keep_locals)(Interp *in, const AstFn *fn, const Value *slot);
    bool (*show_as)(Interp *in, Value v, LangError *e); /* output_value: unless output is plain */
    OutputForm output;
    uint64_t seed, rng_counter, host_rng_counter;
    DType float_dtype; /* set_default_dtype: the default for float tensors; initially DT_F32 */
    const char *allow; /* set_precision: the attribute of products of floats; NULL: none */
    /* warnings about dead statements, printed after their statement has run (import.c) */
    LangError *dead_warning;
    size_t n_dead_warnings;
    Span *warned;
    size_t n_warned; /* positions that interp_warn_once has warned of */
    Bytes locals;    /* of the last error, for :where; or those of an error not reported yet */
    bool has_new_locals;
    LangError *last_error; /* the last one reported, for :where, or NULL */
    bool has_full_trace;   /* errors show every call in the prelude (:set trace full) */
    const char *refused;   /* interned: the last definition that the prompt refused, or NULL */
    List *layers;          /* summary(): [object, shape of its result] of each call, or NULL */
    Container containers;  /* list head of cycle candidates                            */
    /* value.c: containers without references, not yet freed */
    Container *dead;
    bool is_freeing, is_ending; /* is_ending: interp_free; Ctrl-C does not stop what frees */
    size_t n_containers, collect_at;
    Value ans;
    bool took_branch;   /* the last if statement that ended ran one of its blocks */
    uint64_t n_answers; /* expressions at the prompt that had a value, which `ans` got */
};

/* Copies a text into the interpreter's table of sources, which keeps it, because spans point into
 * it. */
Source *interp_source(Interp *in, const char *name, const char *text, size_t n, uint32_t first_line,
                      bool is_prelude);
void interp_free_sources(Interp *in); /* at the end, after all that points into them */
/* The current position in the user's program; inside the prelude, the position of the call into
 * it. */
Span interp_span(const Interp *in);
Span node_span(Interp *in, const Node *n); /* n->at; in the prelude, the user's call instead */
/* Fails at n (or, in the prelude, at the user's call). Returns false. */
bool fail_at(Interp *in, const Node *n, LangError *e, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void interp_warn(Interp *in, const LangError *w); /* prints a warning */
/* The same, once per position in the program. */
void interp_warn_once(Interp *in, const LangError *w);
void interp_warn_ctx(void *interp, const LangError *w); /* the same as a WarnFn for parse_program */
/* A WarnFn for the main script. Keeps "result not used" until the statement has run, because an
 * error in it is more useful; prints other warnings at once. */
void interp_warn_late(void *interp, const LangError *w);
/* Prints the kept warnings of text before `next`, or all if it is NULL. */
void interp_warn_until(Interp *in, const Node *next);

/* Columns for printing: of the terminal, whose size may change, or config.width. */
int interp_width(Interp *in);

/* ---- builtins ---- */

/* arg: the parameters in the order of the signature, with defaults filled in (borrowed). *out is
 * none, or the function sets it to a new reference. */
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
    BI_PURE = 1,   /* has no side effects: as a statement it is probably a mistake */
    BI_METHOD = 2, /* only a method: as a bare name it would hide mistakes, or is something else */
    BI_TWIN = 4    /* calls the tensor function of its name if the first argument is a tensor */
};
#endif
