/* path.h: the critical path of a run: the chain of work and waiting that its length consists of.
 *
 * It is found backwards from the slice that ended last. Before a slice comes whatever ended last of
 * what it had to wait for: the slice before it on its worker (a worker begins one thing after
 * another), the slices that made its operands (for a transfer those of the workers that it read),
 * or the instruction itself, when it was sent after all of these had ended: then the time since
 * the slice before on this worker is a wait for the program.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_PATH_H
#define GT_DISPATCHER_WATCH_PATH_H
#include "dispatcher/watch/timeline.h"

typedef struct PathStep {
    const Slice *slice;
    int worker;
    bool is_transfer;
    int64_t begin_ns, end_ns; /* what of the slice is on the path: steps do not overlap */
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
