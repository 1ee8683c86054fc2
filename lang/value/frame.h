/* frame.h: the variables of a running program: the globals of each file, the frames of calls, and
 * the stack that holds their locals. Used by eval/ and cycles.c.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_VALUE_FRAME_H
#define GT_LANG_VALUE_FRAME_H
#include "lang/value/interp.h"
#include "runtime/base/map.h"

/* v: V_UNDEF if not assigned. builtin: the meaning of the name in that case, looked up at the first
 * use, or V_UNDEF. set_line: of the last assignment, or 0. */
typedef struct GlobalVar {
    const char *name;
    Value v;
    Value builtin;
    uint32_t set_line;
} GlobalVar;
typedef struct Globals {
    GlobalVar **var;
    size_t n, cap; /* in order of first mention; a GlobalVar never moves */
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
    const Node *call; /* the call expression, in the caller     */
    Value result;     /* of `return`                            */
    uint32_t trace;   /* trace.c: the number of this call stack */
} Frame;

/* Locals and arguments of all running calls, in one block that never moves. */
typedef struct Stack {
    Value *base, *top, *end;
} Stack;
#endif
