/* plan_record.h: records a segment while it is executed.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PLAN_PLAN_RECORD_H
#define GT_WORKER_PLAN_PLAN_RECORD_H
#include "worker/plan/plan_state.h"

/* Where a value lies: slot and offset; PLAN_NONE: nowhere. A shift on the way becomes a step. */
int recorder_place(Recorder *r, RecValue *v, int64_t *offset);
void recorder_fail(Recorder *r, const char *why);
Recorder *recorder_begin(Exec *x, Job *j, Spot *spot, uint32_t limit); /* x's observer */
void recorder_before(Recorder *r, Job *j);
void recorder_free(Recorder **r); /* x has no observer any more */
#endif
