/* builtin.h: builtins: their parsed signatures, lookup by name, and binding of arguments.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_BUILTIN_H
#define GT_LANG_EVAL_BUILTIN_H
#include "lang/error/habit.h"
#include "lang/value/interp.h"

typedef struct BuiltinParam {
    const char *name;
    Value dflt;
    bool is_required, is_star; /* is_star: *name or **name */
} BuiltinParam;
/* A builtin with its parsed signature. */
typedef struct BuiltinEntry {
    Builtin b; /* must be first: the Builtin * of a V_BUILTIN points to a BuiltinEntry */
    BuiltinParam *param;
    int n_params, star, map; /* star, map: indices of *rest and **rest, or -1 */
    /* the tensor builtin of the same name, called instead if the first argument is a tensor */
    const struct BuiltinEntry *twin;
} BuiltinEntry;
bool builtin_call(Interp *in, const Builtin *b, Value *base, int n_pos, int n_kw, const Node *call,
                  Value *out, LangError *e);
/* Looks up a name that no file defines: a constant, namespace, builtin or prelude function.
 * *out is V_UNDEF if there is none. Returns false if loading the prelude failed. */
bool builtin_value(Interp *in, const char *interned, Value *out, LangError *e);
/* True for pi, inf, nan, args and the names of dtypes. */
bool builtin_is_constant(const char *name);
/* True for gt, nn, optim and the other namespaces that are always there. Loads nothing. */
bool builtin_is_space(const char *name);
/* True if builtin_value finds this name. A HabitKnown; interp is an Interp. */
bool builtin_is_known(void *interp, const char *name);
/* The names for hints of habit.h. */
HabitNames builtin_habits(Interp *in);
/* Sets *out to the method of self's kind, or to V_UNDEF if there is none. */
bool builtin_method_value(Interp *in, Value self, const char *interned, Value *out, LangError *e);
/* Looks up a name in a namespace: its own names, then the builtin "space.name", then, if
 * has_builtins, all builtins. Fails if there is none. */
bool space_get(Interp *in, MapV *space, const char *interned, Value *out, LangError *e);
/* Returns the namespace among nn, optim and those inside them that defines the name,
 * "optim.lr_scheduler" for StepLR, or NULL. */
const char *space_with(Interp *in, const char *interned);
/* Names for near matches and for lists (dir, `?`). They are borrowed: interned or static. */
typedef struct NameList {
    const char **name;
    size_t n, cap;
} NameList;
void names_add(NameList *l, const char *name);
void names_of_builtins(Interp *in, NameList *l);
void names_of_dotted(NameList *l); /* builtins of namespaces: "signal.get" */
/* The methods of self's kind, and of its module; an object may be NULL. */
void names_of_methods(Interp *in, Value self, NameList *l);
/* Adds the names that only this namespace has, and returns their number. */
size_t names_of_space(const MapV *space, NameList *names);
void names_fini(NameList *l);

/* Sets the hint to the names that have no leading _, between two texts, unless they are long. */
void hint_names(const char *before, const NameList *names, const char *after, LangError *e);

const Builtin *builtin_find(const char *interned_name);                   /* or NULL */
const Builtin *builtin_method(ValueKind kind, const char *interned_name); /* or NULL */

/* bi_NAME: fn(in, arg, ..., out, e), for builtins that differ in an argument only. */
#define BUILTIN_AS(NAME, fn, ...)                                                                  \
    static bool bi_##NAME(Interp *in, const Value *arg, Value *out, LangError *e) {                \
        return fn(in, arg, __VA_ARGS__, out, e);                                                   \
    }

/* The tables, each ended by {NULL}; builtin.c joins them. */
extern const Builtin builtins_answer[], builtins_args[], builtins_class[], builtins_error[],
    builtins_file[], builtins_host[], builtins_io[], builtins_list[], builtins_map[],
    builtins_object[], builtins_picture[], builtins_progress[], builtins_random[],
    builtins_signal[], builtins_string[], builtins_system[], builtins_tensor[];
#endif
