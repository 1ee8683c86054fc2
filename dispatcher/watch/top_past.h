/* top_past.h: the last instructions of one row of gt-top, out of the tape lines of the last
 * seconds. Each becomes a line to read:
 *
 *   8.077732    3.1 ms  t64444 = add t64443 t12 -> f32[512,512] @charlm.gt:99    done by a worker
 *   8.064402            t64444 = add t64443 t12 -> f32[512,512] @charlm.gt:99    sent by a client
 *
 * For a worker these are the instructions that it has done, with the time that each took, and why
 * it waited; for a client what it sent and what failed; for an operation where it was done; for a
 * signal what clients sent within it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TOP_PAST_H
#define GT_DISPATCHER_WATCH_TOP_PAST_H
#include "dispatcher/watch/top_model.h"
#include "runtime/base/arena.h"
#include "runtime/base/map.h"

enum {
    TOP_PAST_BYTES = 1 << 18, /* of lines: older ones are dropped, half of it remains */
    TOP_PAST_SENT = 1 << 26   /* of instructions that may yet be reported done */
};

typedef struct TopPast {
    TopKind kind;
    char name[TOP_TEXT]; /* "w0", "c1", the operation or signal */
    Bytes lines;
    bool is_whole;  /* all has come; set by the caller */
    bool is_inside; /* the lines are within the signal */
    Map sent;       /* the instructions received, by client and result: char *, owned */
    size_t sent_bytes;
} TopPast; /* zero-initialised is valid and empty */

void top_past_begin(TopPast *p, TopKind kind, const char *name); /* drops what there was */
/* Takes whole lines of a tape, n bytes. */
void top_past_take(TopPast *p, const char *text, size_t n);
void top_past_fini(TopPast *p);
#endif
