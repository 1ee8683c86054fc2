/* compare.h: where two runs of a program spent their time: operations by their place in the source,
 * summed over all workers, and what got slower or faster.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_COMPARE_H
#define GT_DISPATCHER_WATCH_COMPARE_H
#include "dispatcher/watch/timeline.h"

typedef struct CompareRow {
    char what[128];         /* "matmul train.gt:41", or "idle: blocked" */
    int64_t old_ns, new_ns; /* on all workers */
    uint64_t old_n, new_n;  /* how often; idle: times of at least TIMELINE_IDLE_NS */
} CompareRow;

typedef struct Compare {
    CompareRow *row; /* by how much they differ, the largest first */
    size_t n;
    int64_t old_ns, new_ns; /* length of the runs */
} Compare;

Compare compare_runs(const Timeline *old, const Timeline *new_);
void compare_fini(Compare *c);
/* A sentence: "0.304 s -> 0.251 s: 17% faster". */
void compare_title(const Compare *c, Bytes *out);
/* A row as text: "+0.12 s  matmul train.gt:41: 0.12 s -> 0.24 s, 40 -> 80 times". */
void compare_row(const CompareRow *row, Bytes *out);
#endif
