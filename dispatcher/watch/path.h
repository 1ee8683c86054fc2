/* path.h: the critical path of a run: the chain of work and waiting that its length consists of.
 *
 * The search goes backwards from the slice that ended last. The step before a slice is the one that
 * ended last among those that it had to wait for: the previous slice on its worker (a worker does
 * one thing at a time), and the slices that made its operands (for a transfer: on the workers that
 * it read). If its instruction was sent after all of these had ended, it waited for the program:
 * the step before is then the previous slice on its worker, and the time between them counts as
 * program_ns.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_PATH_H
#define GT_DISPATCHER_WATCH_PATH_H
#include "dispatcher/watch/timeline.h"

typedef struct PathStep {
    const Slice *slice;
    int worker;
    bool is_transfer;
    int64_t begin_ns, end_ns; /* the part of the slice on the path: steps do not overlap */
} PathStep;

typedef struct Path {
    PathStep *step; /* in order of time */
    size_t n;
    int64_t length_ns; /* from the first slice's begin to the last one's end */
    int64_t class_ns[WATCH_CLASS_COUNT];
    int64_t program_ns; /* no instruction had been sent */
    int64_t gap_ns;     /* other time between steps: hand-over, switching */
} Path;

Path path_find(const Timeline *t);
void path_fini(Path *p);
/* "critical path 0.252 s: 78% matmul, 3% transfer, 10% waiting for the program; most of it: 0.12 s
 * matmul at pipeline.gt:31, ...". */
void path_text(const Timeline *t, const Path *p, Bytes *out);
#endif
