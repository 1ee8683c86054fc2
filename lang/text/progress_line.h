/* progress_line.h: the text of a progress line.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_PROGRESS_LINE_H
#define GT_LANG_TEXT_PROGRESS_LINE_H
#include "runtime/base/arena.h"

typedef struct BarLine {
    const char *label;
    int64_t done, total;
    double elapsed;      /* seconds */
    const char *tracked; /* "loss 0.1234  lr 0.001", or "" */
} BarLine;
/* Appends "train:  37% |███▌      | 37/100 [00:03<00:05, 11.2 it/s] loss 0.1234", without a
 * newline. columns: the most that it may take; 0: no limit. What does not fit goes: first of the
 * bar, then of the tracked values, at last of the line. Returns the columns taken. */
int progress_line(const BarLine *l, int columns, bool is_utf8, Bytes *out);
#endif
