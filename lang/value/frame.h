/* frame.h: the variables of a running program: globals of each file, frames of calls and the
 * stack that holds their locals. eval/ runs them, cycles.c walks them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_VALUE_FRAME_H
#define GT_LANG_VALUE_FRAME_H
#include "lang/value/interp.h"
#include "runtime/base/map.h"

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
    uint32_t trace;   /* trace.c: the number of this chain of calls */
} Frame;

/* Locals and arguments of all running calls, one block that never moves. */
typedef struct Stack {
    Value *base, *top, *end;
} Stack;
#endif
