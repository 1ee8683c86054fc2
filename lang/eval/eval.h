/* eval.h: statements (eval.c) and expressions (expr.c), and where errors in them point.
 *
 * Values are owned by whoever holds them: eval gives a new reference; the stack owns arguments
 * and locals. Nothing is allocated for int and float arithmetic, nor for calls with positional
 * arguments.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_EVAL_H
#define GT_LANG_EVAL_EVAL_H
#include "lang/value/interp.h"

/* Functions that eval and exec call keep their locals out of the frames of the two, which nest
 * as deep as the program. */
#define OUTLINE __attribute__((noinline))

typedef enum Flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_ERROR } Flow;

bool eval(Interp *in, Node *n, Value *out, LangError *e); /* expr.c */
Flow exec(Interp *in, Node *n, LangError *e);             /* eval.c: one statement or block */
bool eval_safepoint(Interp *in, LangError *e); /* a back-edge: interrupts, failures, cycles */
/* Fails at n (or, in the prelude, at the user's call). Returns false. */
bool fail_at(Interp *in, const Node *n, LangError *e, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
Span node_span(Interp *in, const Node *n); /* n->at, folded out of the prelude */
Fn *fn_new(Interp *in, const AstFn *ast);  /* a closure over the running frame */
/* The truth of n's value; `what` names the asker: "if", "and" ... */
bool truth_at(Interp *in, const Node *n, const char *what, Value v, bool *out, LangError *e);
bool value_truth(Interp *in, Value v, bool *out, LangError *e); /* waits for a one-element tensor */
/* echo's form on stdout; waits for its tensors */
bool interp_echo(Interp *in, Value v, LangError *e);
#endif
