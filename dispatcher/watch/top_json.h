/* top_json.h: what gt-top knows of a run as JSON, for scripts.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TOP_JSON_H
#define GT_DISPATCHER_WATCH_TOP_JSON_H
#include "dispatcher/watch/top_model.h"
#include "runtime/base/arena.h"

/* Appends one object on one line: now_us, dispatcher, workers, clients, signals, ops. Keys are
 * those of snapshots for what they have; `busy` and `idle` are fractions of the time by class and
 * cause, and names with _per_s are rates. What is not known is left out. */
void top_json(const TopModel *m, Bytes *out);
#endif
