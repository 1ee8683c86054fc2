/* trace.h: a timeline as text: the summary of gt-trace, and the formats that it converts to.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TRACE_H
#define GT_DISPATCHER_WATCH_TRACE_H
#include "dispatcher/watch/timeline.h"
#include <stdio.h>

/* All take a settled timeline. Errors of writing are left in f (ferror). */

/* JSON for Perfetto and chrome://tracing, in the trace-event format: slices (ph X) of which no two
 * on one lane overlap, transfers and compilations as asynchronous pairs (b, e), counters (C),
 * instants (i) and names (M). Times are microseconds since the tape began. */
void trace_chrome(const Timeline *t, FILE *f);
/* A header, then a row per slice, transfer, idle time, compilation and memory sample. Fields with
 * commas, quotes or line breaks are quoted as RFC 4180 says. */
void trace_csv(const Timeline *t, FILE *f);
/* For people: how long, what each worker did with its time, the most expensive operations, the
 * longest waits, the traffic, and the largest win. name: of the tape or the dispatcher. */
void trace_summary(const Timeline *t, const char *name, FILE *f);
#endif
