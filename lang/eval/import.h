/* import.h: imported files and the prelude: their globals, names and programs.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_IMPORT_H
#define GT_LANG_EVAL_IMPORT_H
#include "lang/eval/builtin.h"
#include "lang/value/frame.h"

Globals *globals_new(Interp *in, bool is_main, bool is_prelude);
GlobalVar *globals_var(Globals *g, const char *interned); /* created if new */
/* Writes the path, of PATH_MAX bytes, of the file that an N_IMPORT names: beside the importing file
 * or in GT_PATH. Fails if there is none, also for a namespace of the language. */
bool import_find(Interp *in, const Node *n, char *path, LangError *e);
bool import_statement(Interp *in, Node *n, Value *out, LangError *e);
/* Sets *out to a prelude function, or to V_UNDEF if there is none. */
bool prelude_value(Interp *in, const char *interned, Value *out, LangError *e);
/* Sets *out to a namespace (nn, optim ...), or to V_UNDEF if there is none. */
bool prelude_space(Interp *in, const char *interned, Value *out, LangError *e);
/* True if the prelude has a folder of that name: nn, optim. Loads nothing. */
bool prelude_has_space(const char *name);
void prelude_names(Interp *in, NameList *l);
/* True if the prelude defines the name for all. Loads nothing. */
bool prelude_has(Interp *in, const char *interned);
/* Returns "name(a, b=1)" of a prelude function or module that is visible everywhere, as the source
 * has it, *n bytes (borrowed), or NULL. Loads nothing. */
const char *prelude_signature(Interp *in, const char *interned, size_t *n);
/* Adds the prelude's functions that a tensor has as methods. */
void prelude_methods(Interp *in, NameList *l);
void import_init(Interp *in);
void import_fini(Interp *in); /* drops globals */
void import_free(Interp *in); /* then programs and sources */
bool run_program(Interp *in, Program *p, Globals *g, bool echo, LangError *e);

/* Registers the file that interp_run is about to run, so that importing it is reported as a
 * circular import. */
void import_main(Interp *in, const char *path);
/* Sets *name and *v, borrowed, to the i-th global variable in order of definition, `main` left out.
 * Returns false at the end. */
bool interp_global(Interp *in, size_t i, const char **name, Value *v);
/* Keeps v, a constant of a program, until the interpreter is freed. Consumes v. */
void keep_value(Interp *in, Value v);
Value name_str(Interp *in, const char *interned); /* borrowed V_STR, one per name and interpreter */
#endif
