/* timeline_sum.h: what a timeline amounts to: where the time went, what moved, what would help.
 * All functions take a settled timeline; arrays are malloc'ed, caller frees.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TIMELINE_SUM_H
#define GT_DISPATCHER_WATCH_TIMELINE_SUM_H
#include "dispatcher/watch/timeline.h"

/* Slices of one operation at one source position. */
typedef struct OpTotal {
    uint32_t name, file, line; /* as in Slice */
    uint8_t class_;
    uint64_t count, bytes;
    int64_t ns;
} OpTotal;
/* By time, the longest first. */
size_t timeline_ops(const Timeline *t, OpTotal **out);

/* Transfers into `to` that read from `from`. */
typedef struct LinkTotal {
    int from, to;
    uint64_t count, bytes;
    bool is_estimate; /* the tape does not say how much was moved: the results' bytes are counted */
} LinkTotal;
/* By bytes, the most first. A transfer that read from several workers counts in equal parts. */
size_t timeline_links(const Timeline *t, LinkTotal **out);

typedef struct Wait {
    int rank;
    Idle idle;
} Wait;
/* The longest, at most n, the longest first. Returns how many. */
size_t timeline_waits(const Timeline *t, Wait *out, size_t n);

/* The time of all workers, added, and how it divides; see WorkerTotals. */
WorkerTotals timeline_total(const Timeline *t);

/* What takes most of the workers' time and could be saved. Candidates are the causes of idleness,
 * each as a whole, and the operations by source position, each by half (twice as fast). gain_ns is
 * the candidate's time divided by the number of workers. The run gets shorter by that much if this
 * time is gone, all else takes as long as before, and the workers share the gain evenly; it is an
 * upper bound. If nothing was executed, nothing could be saved. */
typedef struct Win {
    int cause;  /* IdleWhy; -1: an operation, or nothing */
    bool is_op; /* op counts */
    OpTotal op;
    int rank, on; /* of a cause: the worker that waits longest, and the one it waits for, or -1 */
    int64_t worst_ns; /* ... and how long */
    double share;     /* of the workers' time that the cause or the operation takes, 0 to 1 */
    int64_t gain_ns;
} Win;
Win timeline_win(const Timeline *t);
#endif
