/* eval.h: what the files of the evaluator share and nobody else needs: frames, the value stack,
 * globals, and the functions by which statements (eval.c), expressions (expr.c), operators
 * (operate.c), places (assign.c), containers (subscript.c), calls (call.c), objects (object.c)
 * and imports (import.c) reach each other.
 *
 * Values are owned by whoever holds them: eval gives a new reference; the stack owns arguments
 * and locals. Nothing is allocated for int and float arithmetic, nor for calls with positional
 * arguments.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_EVAL_H
#define GT_LANG_EVAL_EVAL_H
#include "lang/value/interp.h"
#include "runtime/base/map.h"

/* Functions that eval and exec call keep their locals out of the frames of the two, which nest
 * as deep as the program. */
#define OUTLINE __attribute__((noinline))

/* ---- state ---- */

/* v V_UNDEF: not assigned; builtin: what the name means then, looked up at the first use
 * (V_UNDEF: nothing) */
typedef struct GlobalVar {
    const char *name;
    Value v;
    Value builtin;
} GlobalVar;
typedef struct Globals {
    GlobalVar **var;
    size_t n, cap; /* in order of first mention; never moved */
    Map by_name;   /* interned name -> GlobalVar             */
    bool is_prelude;
    struct Globals *next; /* the interpreter's list                 */
} Globals;

typedef struct Frame {
    struct Frame *up;
    const AstFn *fn;
    Fn *callee; /* NULL at file level                     */
    Globals *globals;
    Value *slot;
    const Node *call; /* where the call stands, in the caller   */
    Value result;     /* of `return`                            */
} Frame;

/* Locals and arguments of all running calls, one block that never moves. */
typedef struct Stack {
    Value *base, *top, *end;
} Stack;

typedef enum Flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_ERROR } Flow;

/* ---- values (value.c, mapv.c) ---- */

typedef struct MapEntry {
    Value key, value;
    uint64_t hash;
} MapEntry; /* key V_UNDEF: a hole */
struct MapV {
    Container c;
    uint32_t n, n_live, cap, index_cap, version;
    bool is_space;     /* a name space (nn, an imported file): keys before methods, then builtins */
    bool has_builtins; /* of a space: names it lacks are looked for among the builtins */
    const char *name;  /* of a space: "nn", for errors and for builtins called nn.x */
    MapEntry *entry;
    uint32_t *index;
};
void *container_new(Interp *in, ValueKind kind, size_t size_bytes); /* zeroed, refs 1, linked */
void container_clear(Container *c);                                 /* drops what it holds */
void mapv_clear(MapV *m);
uint64_t str_hash(Str *s); /* odd, never 0 */
int64_t range_count(const Range *r);
int64_t range_at(const Range *r, int64_t i);
int number_compare(Value a, Value b); /* -1 0 1, 2 unordered; exact */
static inline double value_double(Value v) {
    return v.kind == V_FLOAT ? v.f : v.kind == V_INT ? (double)v.i : v.b;
}
static inline bool value_is_callable(Value v) {
    return v.kind == V_FN || v.kind == V_BUILTIN || v.kind == V_BOUND || v.kind == V_MODULE ||
           v.kind == V_OBJECT;
}
static inline int64_t sequence_count(Value v) {
    return v.kind == V_LIST ? v.list->n : range_count(v.range);
}
Value sequence_at(Value v, int64_t i); /* new reference; V_LIST or V_RANGE */
/* The string behind a V_STR or V_TEXT (waits for the latter's tensors): *out is a new reference
 * to a V_STR. */
bool value_look(Interp *in, Value v, Value *out, LangError *e);
/* consumes: a constant of the program, kept until the interpreter goes */
void keep_value(Interp *in, Value v);
Value name_str(Interp *in, const char *interned); /* borrowed V_STR, one per name and interpreter */

/* ---- evaluating ---- */

bool eval(Interp *in, Node *n, Value *out, LangError *e); /* expr.c */
Flow exec(Interp *in, Node *n, LangError *e);             /* eval.c: one statement or block */
bool eval_safepoint(Interp *in, LangError *e); /* a back-edge: interrupts, failures, cycles */
/* Fails at n (or, in the prelude, at the user's call). Returns false. */
bool fail_at(Interp *in, const Node *n, LangError *e, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
Span node_span(Interp *in, const Node *n); /* n->at, folded out of the prelude */
/* The text of an expression as it stands in the source, cut to fit: for messages. buf of 80
 * bytes. */
const char *node_text(const Node *n, char *buf);
Fn *fn_new(Interp *in, const AstFn *ast); /* a closure over the running frame */
/* The truth of n's value; `what` names the asker: "if", "and" ... */
bool truth_at(Interp *in, const Node *n, const char *what, Value v, bool *out, LangError *e);

/* operate.c: operators on host values and dispatch to tensors */
bool operate_binary(Interp *in, const Node *n, int oper, Value a, Value b, Value *out,
                    LangError *e);
bool operate_unary(Interp *in, const Node *n, int oper, Value a, Value *out, LangError *e);
bool value_contains(Interp *in, Value container, Value v, bool *out, LangError *e);
/* order for sorted, min, max */
bool value_less(Interp *in, Value a, Value b, bool *out, LangError *e);

/* subscript.c: host containers by index, and iteration */
bool subscript_get(Interp *in, const Node *n, Value a, const Value *sub, int n_subs, Value *out,
                   LangError *e);
/* list, map, object; consumes v */
bool subscript_set(Interp *in, const Node *n, Value a, Value sub, Value v, LangError *e);
bool subscript_del(Interp *in, const Node *n, Value a, Value sub, LangError *e);
/* of an N_INDEX; at most MAX_SUBS */
bool eval_subs(Interp *in, Node *n, Value *sub, int *n_subs, LangError *e);
enum { MAX_SUBS = 2 * MAX_DIMS + 1 };
typedef struct Iter {
    Value over;
    int64_t i, n;
    uint32_t version;
    size_t byte;
    struct Bar *bar;
} Iter;
bool iter_open(Interp *in, const Node *n, Value over, Iter *it, LangError *e); /* refs over */
int iter_next(Interp *in, Iter *it, Value *out, LangError *e); /* 1: *out; 0: end; -1: error */
void iter_close(Interp *in, Iter *it);

/* assign.c */
/* consumes v; fresh: cells are made anew */
bool assign(Interp *in, Node *target, Value v, bool fresh, LangError *e);
bool exec_assign(Interp *in, Node *n, LangError *e);
bool exec_augassign(Interp *in, Node *n, LangError *e);
bool exec_del(Interp *in, Node *n, LangError *e);
/* by n's scope and slot; consumes v */
bool bind_name(Interp *in, Node *n, const char *name, Value v, LangError *e);

/* call.c */
bool eval_call(Interp *in, Node *n, Value *out, LangError *e);
/* Calls f with n_pos values at base (the stack's top end), then n_kw keyword values in the order
 * of call's N_KEYWORDs. Consumes the values: the stack's top is base afterwards. call may be
 * NULL when n_kw is 0. */
bool call_value(Interp *in, Value f, Value *base, int n_pos, int n_kw, const Node *call, Value *out,
                LangError *e);
/* The same for a function of the language; self (borrowed) goes into its self slot, if it has
 * one. */
bool fn_call(Interp *in, Fn *f, Value self, Value *base, int n_pos, int n_kw, const Node *call,
             Value *out, LangError *e);
bool stack_room(Interp *in, size_t n, LangError *e);
bool eval_field(Interp *in, Node *n, Value *out, LangError *e); /* a.f not called */
/* the same for a base at hand */
bool field_get(Interp *in, Node *n, Value base, Value *out, LangError *e);
void fn_signature(const AstFn *f, Bytes *out); /* "f(a, b=1, *rest)" */

/* builtin_host.c: sorts a V_LIST in place, stably, by key(element) unless that is none */
bool list_sorted(Interp *in, Value xs, Value key, bool reverse, LangError *e);

/* builtin.c: a builtin with its signature parsed */
/* star: also ** */
typedef struct BuiltinParam {
    const char *name;
    Value dflt;
    bool is_required, is_star;
} BuiltinParam;
typedef struct BuiltinEntry {
    Builtin b; /* first: a Builtin * of V_BUILTIN is one of these */
    BuiltinParam *param;
    int n_params, star, map; /* indices of *rest and **rest, or -1 */
    /* the tensor builtin of the same name, taken when the first argument is a tensor */
    const struct BuiltinEntry *twin;
} BuiltinEntry;
bool builtin_call(Interp *in, const Builtin *b, Value *base, int n_pos, int n_kw, const Node *call,
                  Value *out, LangError *e);
/* What a name means that no file defines: function, constant, name space, prelude function.
 * false: nothing. */
bool builtin_value(Interp *in, const char *interned, Value *out, LangError *e);
/* V_UNDEF: none */
bool builtin_method_value(Interp *in, Value self, const char *interned, Value *out, LangError *e);
/* A name of a space: its own, "space.name" among the builtins, or any builtin if it falls back. */
bool space_get(Interp *in, MapV *space, const char *interned, Value *out, LangError *e);
/* All names that a near-match may offer are pushed to list (borrowed, interned or static). */
typedef struct NameList {
    const char **name;
    size_t n, cap;
} NameList;
void names_add(NameList *l, const char *name);
void names_of_builtins(Interp *in, NameList *l);
void names_of_methods(Interp *in, Value self, NameList *l);
void names_fini(NameList *l);

/* object.c */
bool module_new(Interp *in, Node *n, Value *out, LangError *e); /* N_MODULE */
bool module_call(Interp *in, Module *m, Value *base, int n_pos, int n_kw, const Node *call,
                 Value *out, LangError *e);
Value *object_find(Object *o, const char *interned);      /* a field, or NULL */
Fn *object_method(const Object *o, const char *interned); /* borrowed, or NULL */
/* field or bound method */
bool object_get(Interp *in, Object *o, const char *interned, Value *out, bool *found, LangError *e);
void object_set(Interp *in, Object *o, const char *interned, Value v); /* consumes v */
bool object_show(Interp *in, Object *o, int indent, Pieces *p, LangError *e);
/* _items of a container: a V_LIST or V_MAP, borrowed; NULL: it is none. The item of that name. */
Value *object_items(const Object *o);
Value *object_item(const Object *o, const char *interned);
/* m[sub]: a field by name, an item by name or place, a slice of the items */
bool object_subscript(Interp *in, const Node *n, Object *o, Value sub, Value *out, LangError *e);
/* Where m[sub] = v goes: to the items (a place in a map becomes its key); NULL: to the fields */
Value *object_target(Object *o, Value *sub);
bool object_holds(Value v); /* may v hold parameters? objects, lists, maps, tensors */

/* object_walk.c */
bool object_count(Interp *in, Object *o, int64_t *n, LangError *e); /* numbers in parameters */
extern const Builtin builtins_object[];
extern const Builtin builtins_class[]; /* builtin_object.c */

/* import.c */
Globals *globals_new(Interp *in, bool is_main, bool is_prelude);
GlobalVar *globals_var(Globals *g, const char *interned); /* made if it is new */
bool import_statement(Interp *in, Node *n, Value *out, LangError *e);
/* a function of the prelude; V_UNDEF: none */
bool prelude_value(Interp *in, const char *interned, Value *out, LangError *e);
/* nn, optim ...; V_UNDEF: none */
bool prelude_space(Interp *in, const char *interned, Value *out, LangError *e);
void prelude_names(Interp *in, NameList *l);
void import_init(Interp *in);
/* echo's form on stdout; waits for its tensors */
bool interp_echo(Interp *in, Value v, LangError *e);
void import_fini(Interp *in); /* drops globals */
void import_free(Interp *in); /* then programs and sources */
bool run_program(Interp *in, Program *p, Globals *g, bool echo, LangError *e);

/* progress.c */
void progress_step(Interp *in, struct Bar *b); /* one iteration done */
void progress_end(Interp *in, struct Bar *b);
/* the bar that was made for this value, or NULL */
struct Bar *progress_find(Interp *in, Value over);
void progress_move(Interp *in, Value from, Value to); /* enumerate(progress(xs)) keeps the bar */
void progress_drop(Interp *in);                       /* gives up values, before the stream goes */
void progress_fini(Interp *in);
extern const Builtin builtins_progress[], builtins_signal[], builtins_random[], builtins_file[];
#endif
