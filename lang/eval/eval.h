/* eval.h: runs statements (eval.c) and expressions (expr.c), and places their errors.
 *
 * eval returns a new reference; the stack owns arguments and locals. Int and float arithmetic and
 * calls with positional arguments allocate nothing.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_EVAL_H
#define GT_LANG_EVAL_EVAL_H
#include "lang/value/interp.h"

/* Keeps the locals of a helper of eval or exec out of the C frames of those two, which recurse as
 * deep as the program nests. */
#define OUTLINE __attribute__((noinline))

typedef enum Flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_ERROR } Flow;

bool eval(Interp *in, Node *n, Value *out, LangError *e); /* expr.c */
Flow exec(Interp *in, Node *n, LangError *e);             /* eval.c: one statement or block */
/* At a loop's back edge: checks for interrupts and failures, and collects cycles. */
bool eval_safepoint(Interp *in, LangError *e);
/* False, with an error at the statement n, once after bytes were read of a file that was cut off.
 * For file_map_news. */
bool eval_is_whole(Interp *in, const Node *n, LangError *e);
/* Returns ok. If false, places e at n, unless it has a position. */
bool at_node(Interp *in, const Node *n, bool ok, LangError *e);
/* Fails if n, a whole statement with value v, is the word backward without a loss. */
bool check_alone(Interp *in, const Node *n, Value v, LangError *e);
/* Warns of a statement whose value v is unused: opt.step without (), or a call without effects. */
void warn_unused(Interp *in, Node *n, Value v);
Fn *fn_new(Interp *in, const AstFn *ast); /* a closure over the running frame */
/* Converts v, n's value, to bool. what: the construct that needs it, for errors: "if", "and" ... */
bool truth_at(Interp *in, const Node *n, const char *what, Value v, bool *out, LangError *e);
bool value_truth(Interp *in, Value v, bool *out, LangError *e); /* waits for a one-element tensor */
#endif
