/* progress_line.h: the text of a progress line.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_PROGRESS_LINE_H
#define GT_LANG_TEXT_PROGRESS_LINE_H
#include "runtime/base/arena.h"

typedef struct BarLine {
    const char *label;
    int64_t done, total; /* total -1: unknown */
    double elapsed;      /* seconds */
    double rate;         /* recent iterations per second; 0: show the mean since the start */
    const char *tracked; /* "loss 0.1234  lr 0.001", or "" */
} BarLine;
/* The recent rate: a mean in which a count RATE_S seconds ago weighs 1/e. */
typedef struct Rate {
    double at, n, s; /* seconds of the last count; weighted iterations and seconds */
    int64_t done;
} Rate;
/* Takes a count at a time in seconds. Returns iterations a second, 0 before the first. */
double progress_rate(Rate *r, int64_t done, double at);
/* Appends "train:  37% |███▌      | 37/100 [00:03<00:05, 11.2 it/s] loss 0.1234", or without a
 * total "train: 37 it [00:03, 11.2 it/s] loss 0.1234", without a newline. columns: the most that it
 * may take; 0: no limit. What does not fit goes: first of the bar, then of the tracked values, at
 * last of the line. Returns the columns taken. */
int progress_line(const BarLine *l, int columns, bool is_utf8, Bytes *out);
#endif
