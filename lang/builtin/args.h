/* args.h: the script's own options: `arg("lr", 0.1, "learning rate")` reads --lr from the command
 * line, typed by its default. The set of options is known only after all arg()
 * calls have run. If all their names are literal, it is read from the tree instead: for --help, and
 * to refuse an unknown option before the first statement.
 *
 * Mistakes on the command line are errors of kind E_EXIT with exit code 2.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_BUILTIN_ARGS_H
#define GT_LANG_BUILTIN_ARGS_H
#include "lang/value/interp.h"

typedef struct Args Args;
Args *args_new(int argc, char *const *argv); /* the script's arguments; borrowed */
void args_free(Args **a);
bool args_wants_help(const Args *a); /* true if they contain --help or -h */
/* Appends the text of `gtsh script --help`: the comment at the script's head, then a line per
 * arg(). */
void args_help(const Program *p, Bytes *out);
/* Calls found for each option that the program reads with arg(), in its order. dflt, help: the
 * arguments of arg(), or NULL. */
typedef void (*ArgFound)(void *ctx, const char *name, const Node *dflt, const Node *help);
void args_each(const Program *p, ArgFound found, void *ctx);
/* Before the program runs: refuses options that no arg() names, if all names are literal and
 * nothing is imported by path. */
bool args_check(Args *a, const Program *p, LangError *e);
/* After the program has run: refuses options that no arg() consumed, if arg() was called at all. */
bool args_finish(Args *a, LangError *e);
/* After the program has run: warns of the first argument that no arg() consumed, unless the program
 * has read `args`, the list of all. script: its name, for the message. */
void args_warn(Interp *in, const Args *a, const char *script);
extern const Builtin builtins_args[]; /* arg() */
#endif
