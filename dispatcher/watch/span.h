/* span.h: a time as users write it: "1.5", "1.5s", "20ms", "300us".
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_SPAN_H
#define GT_DISPATCHER_WATCH_SPAN_H
#include "runtime/base/err.h"

/* Reads a time of at least 0 into nanoseconds; without a unit: seconds. `what` names the option. */
bool span_read(const char *what, const char *s, int64_t *out_ns, Err *err);
#endif
