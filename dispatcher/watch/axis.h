/* axis.h: a time axis: where its ticks are and how they are labelled, and times and sizes in words.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_AXIS_H
#define GT_DISPATCHER_WATCH_AXIS_H
#include <stdint.h>

enum { AXIS_LABEL_MAX = 32 };

typedef struct Axis {
    int64_t from_ns, to_ns; /* what the axis shows */
    int64_t first_ns;       /* the first tick, at least from_ns; a multiple of step_ns */
    int64_t step_ns;        /* 1, 2 or 5 times a power of ten */
    int64_t zero_ns;        /* labels count from here: 0, or from_ns if that is far from 0 */
} Axis;

/* The axis of [from, to) with at most `most` ticks (at least 2). An empty range gets one
 * nanosecond. */
Axis axis_make(int64_t from_ns, int64_t to_ns, int most);
/* The label of a tick: "0", "20 ms", "1.5 s", "+20 ms" if labels do not count from 0. All labels of
 * an axis have one unit and as many decimals as the step needs. */
void axis_label(const Axis *a, int64_t at_ns, char out[AXIS_LABEL_MAX]);

/* A duration with three digits: "812 us", "0.0790 s" is "79.0 ms". */
void axis_time(int64_t ns, char out[AXIS_LABEL_MAX]);
/* A size: "512 B", "1.5 KiB", "4.0 MiB". */
void axis_size(uint64_t bytes, char out[AXIS_LABEL_MAX]);
#endif
