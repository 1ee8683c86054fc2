/* builtin.h: builtins: their parsed signatures, how a name finds them, how arguments reach them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_BUILTIN_H
#define GT_LANG_EVAL_BUILTIN_H
#include "lang/value/interp.h"

/* A builtin with its signature parsed. */
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
/* Is there a builtin or prelude function of this name? A HabitKnown; interp: an Interp. */
bool builtin_is_known(void *interp, const char *name);
/* V_UNDEF: none */
bool builtin_method_value(Interp *in, Value self, const char *interned, Value *out, LangError *e);
/* A name of a space: its own, "space.name" among the builtins, or any builtin if it falls back. */
bool space_get(Interp *in, MapV *space, const char *interned, Value *out, LangError *e);
/* The space of nn, optim and their inner ones that has the name itself: "optim.lr_scheduler" for
 * StepLR; or NULL. */
const char *space_with(Interp *in, const char *interned);
/* All names that a near-match may offer are pushed to list (borrowed, interned or static). */
typedef struct NameList {
    const char **name;
    size_t n, cap;
} NameList;
void names_add(NameList *l, const char *name);
void names_of_builtins(Interp *in, NameList *l);
void names_of_methods(Interp *in, Value self, NameList *l);
void names_fini(NameList *l);

const Builtin *builtin_find(const char *interned_name);                   /* function, or NULL */
const Builtin *builtin_method(ValueKind kind, const char *interned_name); /* or NULL */

/* The tables, each ended by {NULL}; builtin.c joins them. */
extern const Builtin builtins_args[], builtins_class[], builtins_error[], builtins_file[],
    builtins_host[], builtins_io[], builtins_kernel[], builtins_list[], builtins_map[],
    builtins_object[], builtins_progress[], builtins_random[], builtins_signal[], builtins_string[],
    builtins_system[], builtins_tensor[];
#endif
