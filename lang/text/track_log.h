/* track_log.h: the files under --log-dir: metrics.csv, and an event file of TensorBoard.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_TRACK_LOG_H
#define GT_LANG_TEXT_TRACK_LOG_H
#include "runtime/base/err.h"

typedef struct TrackLog TrackLog;
/* Makes the directory and begins both files; an older metrics.csv is replaced. NULL: err says why
 * not. */
TrackLog *track_log_open(const char *dir, Err *err);
void track_log_close(TrackLog **log); /* NULL-safe */
/* Adds n values of one step, so that other programs can read them at once. */
bool track_log_add(TrackLog *log, int64_t step, const char *const *name, const double *value, int n,
                   Err *err);
#endif
