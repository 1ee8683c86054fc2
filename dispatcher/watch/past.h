/* past.h: converts the messages of a dispatcher's flight recorder (PAST, wire_watch.h) to lines of
 * a tape. The work is done here, by the program that asks, not by the dispatcher.
 *
 * The lines are in the order of their times. Frames give `>` lines without result types, workers
 * the `<` lines; there are no `=` lines. Instructions of a hot body that is not known any more are
 * left out, and counted in a note.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_PAST_H
#define GT_DISPATCHER_WATCH_PAST_H
#include "runtime/base/arena.h"
#include "runtime/base/msg.h"

enum { PAST_BYTES_MAX = 256 << 20 }; /* of messages, and of text */

typedef struct Past Past;
Past *past_begin(void);
void past_end(Past **p); /* NULL-safe */
/* Keeps the message. Ignores what is malformed, and what exceeds PAST_BYTES_MAX. Consumes m. */
void past_take(Past *p, Msg *m);
/* Appends all lines to *out, up to PAST_BYTES_MAX bytes; to be called once. */
void past_write(Past *p, Bytes *out);
#endif
