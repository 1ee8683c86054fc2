/* interrupt.c: see interrupt.h.
 * SPDX-License-Identifier: MIT */
#include "lang/error/interrupt.h"

volatile int interrupt_count;
WaitHook interrupt_meanwhile;

bool interrupt_fail(LangError *e) {
    e->kind = E_INTERRUPT;
    return error_set(e, "interrupted");
}

bool interrupt_fail_io(Err *err) { return err_set(err, ERR_CANCELLED, "interrupted"); }
