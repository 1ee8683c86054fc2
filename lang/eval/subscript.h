/* subscript.h: host containers by index, and iteration.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_SUBSCRIPT_H
#define GT_LANG_EVAL_SUBSCRIPT_H
#include "lang/value/interp.h"

/* grad(y, x) of one tensor x is a tensor, not a list of one as in PyTorch: [0] of the call, or
 * unpacking it, takes a row. True if n calls the builtin grad. */
bool is_call_of_grad(Interp *in, const Node *n);
void hint_grad(LangError *e);
void warn_of_grad(Interp *in, const Node *n, const char *text); /* once per position */
bool subscript_get(Interp *in, const Node *n, Value a, const Value *sub, int n_subs, Value *out,
                   LangError *e);
/* Writes an element of a list, map or object. Consumes v. */
bool subscript_set(Interp *in, const Node *n, Value a, const Value *sub, int n_subs, Value v,
                   LangError *e);
bool subscript_del(Interp *in, const Node *n, Value a, const Value *sub, int n_subs, LangError *e);
/* Evaluates the subscripts of an N_INDEX into sub[MAX_SUBS]. */
bool eval_subs(Interp *in, Node *n, Value *sub, int *n_subs, LangError *e);
enum { MAX_SUBS = 2 * MAX_DIMS + 1 };
typedef struct Iter {
    Value over;
    int64_t i, n;
    uint32_t version;
    size_t byte;
    struct Bar *bar;
} Iter;
/* Takes its own reference to over. */
bool iter_open(Interp *in, const Node *n, Value over, Iter *it, LangError *e);
int iter_next(Interp *in, Iter *it, Value *out, LangError *e); /* 1: *out; 0: end; -1: error */
void iter_close(Interp *in, Iter *it);
/* Fails if l is a key of a map or set, because keys must not change. */
bool list_may_change(const List *l, LangError *e);
#endif
