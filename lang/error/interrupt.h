/* interrupt.h: Ctrl-C as the client's loops see it. A loop over a program's values or over a file
 * fails by not_interrupted. A loop that cannot fail stops early: builtin_call drops the result of a
 * builtin that ends after Ctrl-C, and fails. A file that was being written stays as it was before.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_ERROR_INTERRUPT_H
#define GT_LANG_ERROR_INTERRUPT_H
#include "lang/error/error.h"

/* How often Ctrl-C was pressed, 0 to 2. on_interrupt in lang/main.c counts; a third Ctrl-C ends the
 * process. Waits, builtins and loop edges see the first one and fail with E_INTERRUPT. Then a
 * script ends, and workers drop what it had pending (exec_on_gone). The prompt (repl.c) drops
 * pending prints (stream_hush), and cancels after the second. stream_cancel tells the dispatcher,
 * which tells the workers (on_cancel). A worker drops what has not started (exec_on_cancel) and
 * ends the running call early (worker/exec/cancel.h). */
extern volatile int interrupt_count;

/* What the client does meanwhile, about every 20 ms, when it writes a file; fn NULL: nothing.
 * The prompt takes keys. */
typedef struct WaitHook {
    void (*fn)(void *ctx);
    void *ctx;
} WaitHook;
extern WaitHook interrupt_meanwhile;
static inline void meanwhile(void) {
    if (interrupt_meanwhile.fn) interrupt_meanwhile.fn(interrupt_meanwhile.ctx);
}
/* True before Ctrl-C. For loops over what is written to a file: does that meanwhile, too. */
static inline bool goes_on(void) {
    static unsigned n;
    if (interrupt_meanwhile.fn && ++n % 256 == 0) meanwhile();
    return !interrupt_count;
}

/* Set e or err to "interrupted", with E_INTERRUPT or ERR_CANCELLED; return false. */
bool interrupt_fail(LangError *e);
bool interrupt_fail_io(Err *err);

/* Returns false, with an error, after Ctrl-C. Reads one variable, so loops call it for every
 * element. */
static inline bool not_interrupted(LangError *e) { return !interrupt_count || interrupt_fail(e); }
static inline bool not_interrupted_io(Err *err) {
    return !interrupt_count || interrupt_fail_io(err);
}
#endif
