/* axis.h: an axis of a figure: its range, its ticks and their labels.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_PICTURE_AXIS_H
#define GT_LANG_PICTURE_AXIS_H
#include "runtime/base/arena.h"

enum { AXIS_TICKS = 12, AXIS_LABEL = 24 };

typedef struct Axis {
    double lo, hi; /* lo < hi, finite; a logarithmic axis: 0 < lo */
    bool is_log;
    int n;
    double tick[AXIS_TICKS]; /* within the range, ascending */
    char label[AXIS_TICKS][AXIS_LABEL];
} Axis;

/* Chooses range and at most n_max (2 to AXIS_TICKS) ticks for data from lo to hi; lo > hi: there
 * are none. limit: ends that the user gave, nan where not. */
void axis_init(Axis *a, double lo, double hi, const double limit[2], bool is_log, int n_max);
/* Where v lies, 0 at lo and 1 at hi; nan if v is not finite, or <= 0 on a logarithmic axis. */
double axis_at(const Axis *a, double v);
/* v as a short decimal. */
void axis_number(double v, char out[AXIS_LABEL]);
#endif
